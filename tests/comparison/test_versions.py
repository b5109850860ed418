"""ApiVersions; and that the comparison sees a difference."""

from __future__ import annotations

from operator import attrgetter

import pytest

from kafka_aio.broker import BrokerThread
from kafka_aio.broker.api import SERVED
from kafka_aio.errors import CoordinatorLoadInProgress
from kafka_aio.protocol.messages.api_versions import ApiVersionsRequest
from kafka_aio.protocol.messages.groups import ListGroupsRequest
from tests.comparison.sides import Both

HERE = {"group.version", "metadata.version"}
"""The features that the embedded broker has, too: it names no others."""
by_name = attrgetter("name")


@pytest.mark.parametrize("version", range(5))
def test_versions_of_what_is_served(both: Both, version: int) -> None:
    for side in both:
        asked = ApiVersionsRequest(client_software_name="a-client", client_software_version="1.0")
        answer = side.quietly(asked, version)
        side.keep("error", answer.error_code)
        # The real one serves more.
        served = [each for each in answer.api_keys if each.api_key in SERVED]
        for features in (answer.supported_features, answer.finalized_features):
            side.keep("features", sorted((f for f in features if f.name in HERE), key=by_name))
        side.keep("migration", answer.zk_migration_ready)
        side.keep("versions", sorted(served, key=attrgetter("api_key")))

    both.agree()


@pytest.mark.parametrize(
    ("name", "number"), [("", ""), ("a client", "1"), ("-a", "1"), ("a", "1 0"), ("a", "")]
)
def test_names_of_software(both: Both, name: str, number: str) -> None:
    for side in both:
        asked = ApiVersionsRequest(client_software_name=name, client_software_version=number)
        answer = side.quietly(asked, 3)
        side.keep("error", answer.error_code)
        side.keep("number of versions", len(answer.api_keys) > 0)

    both.agree()


def test_a_difference_is_seen(both: Both, embedded: BrokerThread) -> None:
    with embedded.faults.fail("ListGroups", CoordinatorLoadInProgress):
        for side in both:
            side.ask(ListGroupsRequest(states_filter=["Unheard"]))

    with pytest.raises(AssertionError, match="error_code: Kafka says 0, the embedded broker 14"):
        both.agree()


def test_an_answer_that_is_missing_is_seen(both: Both) -> None:
    kafka, _ = both
    kafka.ask(ListGroupsRequest(states_filter=["Unheard"]))

    with pytest.raises(AssertionError, match="the embedded broker"):
        both.agree()
