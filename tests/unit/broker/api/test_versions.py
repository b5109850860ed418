from __future__ import annotations

import pytest

from kafka_aio.broker.api import SERVED
from kafka_aio.broker.api.versions import unsupported_version
from kafka_aio.protocol.codec import decode, encode
from kafka_aio.protocol.messages import for_key
from kafka_aio.protocol.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse
from kafka_aio.protocol.schema import schema_of
from kafka_aio.protocol.versions import Negotiation
from tests.unit.broker import clusters

GOOD = ApiVersionsRequest(client_software_name="tests", client_software_version="1.0")


def asked(version: int, request: ApiVersionsRequest = GOOD) -> ApiVersionsResponse:
    answer = clusters.call(clusters.made(), request, version=version)
    assert isinstance(answer, ApiVersionsResponse)
    return answer


@pytest.mark.parametrize("version", range(5))
def test_what_is_served_is_named_in_the_order_of_the_keys(version: int) -> None:
    answer = asked(version)

    assert answer.error_code == 0
    assert [api.api_key for api in answer.api_keys] == sorted(SERVED)
    for api in answer.api_keys:
        first, last = schema_of(for_key(api.api_key)).stable_versions
        assert api.max_version == last
        assert api.min_version == (first if api.api_key else 0)


def test_produce_is_named_from_version_0_on_for_the_sake_of_librdkafka() -> None:
    assert (asked(4).api_keys[0].min_version, asked(4).api_keys[0].max_version) == (0, 13)


def test_the_features_of_the_cluster_are_those_that_it_has() -> None:
    answer = asked(4)

    supported = {
        each.name: (each.min_version, each.max_version) for each in answer.supported_features
    }
    finalized = {
        each.name: (each.min_version_level, each.max_version_level)
        for each in answer.finalized_features
    }
    assert supported == {"group.version": (0, 1), "metadata.version": (7, 30)}
    assert finalized == {"group.version": (1, 1), "metadata.version": (30, 30)}
    assert answer.finalized_features_epoch == 0


def test_features_that_begin_at_level_0_are_not_shown_to_clients_that_cannot_read_that() -> None:
    answer = asked(3)

    assert [each.name for each in answer.supported_features] == ["metadata.version"]
    assert len(answer.finalized_features) == 2


@pytest.mark.parametrize("version", [0, 1, 2])
def test_older_versions_have_no_features(version: int) -> None:
    answer = asked(version)

    assert answer.supported_features == []
    assert answer.finalized_features == []


@pytest.mark.parametrize(
    ("name", "software_version"),
    [("", "1"), ("a", ""), ("-a", "1"), ("a-", "1"), ("a b", "1"), ("ä", "1"), ("a", "1\n")],
)
@pytest.mark.parametrize("version", [3, 4])
def test_software_with_a_name_that_is_none_is_refused(
    version: int, name: str, software_version: str
) -> None:
    request = ApiVersionsRequest(
        client_software_name=name, client_software_version=software_version
    )

    answer = asked(version, request)

    assert (answer.error_code, answer.api_keys) == (42, [])


@pytest.mark.parametrize("name", ["a", "apache-kafka-java", "librdkafka", "a.b-1"])
def test_the_usual_names_are_accepted(name: str) -> None:
    request = ApiVersionsRequest(client_software_name=name, client_software_version="2.11.0-rc1")

    assert asked(4, request).error_code == 0


def test_older_clients_do_not_say_what_they_are() -> None:
    nothing = ApiVersionsRequest(client_software_name="", client_software_version="")

    assert asked(2, nothing).error_code == 0


def test_who_asks_in_a_version_of_the_future_is_told_which_one_to_use() -> None:
    negotiation = Negotiation("tests", "1")
    negotiation.version = 99

    again = negotiation.receive(encode(unsupported_version(), 0))

    assert again is None
    assert negotiation.version == 4
    refused = decode(ApiVersionsResponse, encode(unsupported_version(), 0), 0)
    assert refused.error_code == 35
    assert [(api.api_key, api.min_version) for api in refused.api_keys] == [(18, 0)]
