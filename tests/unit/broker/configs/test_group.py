from __future__ import annotations

import pytest

from kafka_aio.broker.configs.broker import BROKER_OPTIONS
from kafka_aio.broker.configs.group import BROKER_NAMES, GROUP_OPTIONS, check_group_configs
from kafka_aio.broker.configs.options import Value
from kafka_aio.errors import InvalidConfig

DEFAULTS: dict[str, Value] = {
    name: option.parse(option.default or "") for name, option in GROUP_OPTIONS.items()
}


def bound(name: str) -> Value:
    option = BROKER_OPTIONS[name]
    return option.parse(option.default or "")


@pytest.mark.parametrize(("group", "broker"), BROKER_NAMES.items())
def test_defaults_of_group_and_broker_are_the_same(group: str, broker: str) -> None:
    assert GROUP_OPTIONS[group].default == BROKER_OPTIONS[broker].default


@pytest.mark.parametrize(
    "configs",
    [
        {},
        {"consumer.session.timeout.ms": "60000", "consumer.heartbeat.interval.ms": "15000"},
        {"share.auto.offset.reset": "earliest"},
        {"share.auto.offset.reset": "by_duration:P1DT2H"},
        {"share.auto.offset.reset": "by_duration:PT0S"},
        {"streams.num.standby.replicas": "2"},
        {"consumer.assignment.interval.ms": "0"},
    ],
)
def test_options_that_a_group_may_have(configs: dict[str, str]) -> None:
    check_group_configs(configs, DEFAULTS, bound)


@pytest.mark.parametrize(
    ("configs", "message"),
    [
        ({"nope": "1"}, "Unknown group config name: nope"),
        (
            {"consumer.session.timeout.ms": "0"},
            "Invalid value 0 for configuration consumer.session.timeout.ms:"
            " Value must be at least 1",
        ),
        (
            {"consumer.session.timeout.ms": "44999"},
            "consumer.session.timeout.ms must be greater than or equal to"
            " group.consumer.min.session.timeout.ms",
        ),
        (
            {"consumer.heartbeat.interval.ms": "15001"},
            "consumer.heartbeat.interval.ms must be less than or equal to"
            " group.consumer.max.heartbeat.interval.ms",
        ),
        (
            {"share.record.lock.duration.ms": "60001"},
            "share.record.lock.duration.ms must be less than or equal to"
            " group.share.max.record.lock.duration.ms",
        ),
        (
            {"streams.num.standby.replicas": "3"},
            "streams.num.standby.replicas must be less than or equal to"
            " group.streams.max.standby.replicas",
        ),
        (
            {"streams.assignment.interval.ms": "15001"},
            "streams.assignment.interval.ms must be less than or equal to"
            " group.streams.max.assignment.interval.ms",
        ),
        (
            {"share.isolation.level": "serializable"},
            "Invalid value serializable for configuration share.isolation.level:"
            " String must be one of: read_committed, read_uncommitted",
        ),
    ],
)
def test_options_that_no_group_may_have(configs: dict[str, str], message: str) -> None:
    with pytest.raises(InvalidConfig) as raised:
        check_group_configs(configs, DEFAULTS, bound)

    assert raised.value.message == message


@pytest.mark.parametrize("text", ["none", "Latest", "by_duration", "by_duration:-PT1S", "PT1S"])
def test_an_offset_reset_of_a_share_group_that_means_nothing(text: str) -> None:
    with pytest.raises(InvalidConfig) as raised:
        check_group_configs({"share.auto.offset.reset": text}, DEFAULTS, bound)

    assert raised.value.message.endswith("or of the format 'by_duration:<PnDTnHnMn.nS>'.")


def test_an_interval_of_assignments_is_held_to_its_bounds_only_where_it_is_set() -> None:
    defaults = DEFAULTS | {"consumer.assignment.interval.ms": 20_000}

    check_group_configs({}, defaults, bound)


def test_a_session_outlasts_the_heartbeats() -> None:
    configs = {"consumer.session.timeout.ms": "9000", "consumer.heartbeat.interval.ms": "9000"}
    looser = {"group.consumer.min.session.timeout.ms": 1}

    with pytest.raises(InvalidConfig) as raised:
        check_group_configs(configs, DEFAULTS, lambda name: looser.get(name) or bound(name))

    expected = "consumer.session.timeout.ms must be greater than consumer.heartbeat.interval.ms"
    assert raised.value.message == expected
