"""ListConfigResources."""

from __future__ import annotations

from kafka_aio.broker.state import State
from kafka_aio.errors import (
    UnsupportedByBroker,
)
from kafka_aio.protocol.messages.configs import (
    ListConfigResourcesRequest,
)
from tests.unit.broker.api.administration import (
    BROKER,
    BROKER_LOGGER,
    CLIENT_METRICS,
    GROUP,
    TOPIC,
)
from tests.unit.broker.clusters import call, made

UNKNOWN_KIND = 77


def listed(state: State, *kinds: int) -> list[tuple[int, str]]:
    response = call(state, ListConfigResourcesRequest(resource_types=list(kinds)))
    assert response.error_code == 0
    return [(each.resource_type, each.resource_name) for each in response.config_resources]


def test_everything_that_has_options_is_listed() -> None:
    state = made(2, {"t": 1})
    state.configs.groups["g"] = {"consumer.session.timeout.ms": "50000"}
    state.configs.metrics["m"] = {"interval.ms": "500"}
    state.node_down(2)

    assert listed(state) == [
        (GROUP, "g"),
        (CLIENT_METRICS, "m"),
        (BROKER_LOGGER, "1"),
        (BROKER_LOGGER, "2"),
        (BROKER, "1"),
        (BROKER, "2"),
        (TOPIC, "t"),
    ]


def test_kinds_may_be_chosen() -> None:
    assert listed(made(1, {"t": 1}), TOPIC, GROUP) == [(TOPIC, "t")]


def test_the_first_version_knows_subscriptions_only() -> None:
    state = made(1, {"t": 1})
    state.configs.metrics["m"] = {"interval.ms": "500"}

    response = call(state, ListConfigResourcesRequest(), version=0)

    assert [each.resource_name for each in response.config_resources] == ["m"]


def test_an_unknown_kind_cannot_be_listed() -> None:
    response = call(made(), ListConfigResourcesRequest(resource_types=[TOPIC, UNKNOWN_KIND]))

    assert response.error_code == UnsupportedByBroker.code
    assert response.config_resources == []
