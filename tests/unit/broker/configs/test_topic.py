from __future__ import annotations

import pytest

from kafka_aio.broker.configs.broker import BROKER_OPTIONS
from kafka_aio.broker.configs.options import Value
from kafka_aio.broker.configs.topic import BROKER_NAMES, TOPIC_OPTIONS, check_topic_configs
from kafka_aio.errors import InvalidConfig

DEFAULTS: dict[str, Value] = {
    name: option.parse(option.default)
    for name, option in TOPIC_OPTIONS.items()
    if option.default is not None
}


def test_every_default_is_one_that_the_option_takes() -> None:
    read = [each.read(each.default) for each in TOPIC_OPTIONS.values() if each.default is not None]

    assert len(read) == 33


def test_the_options_of_the_broker_that_stand_behind_are_there() -> None:
    names = [name for names in BROKER_NAMES.values() for name, _ in names]

    assert set(names) <= set(BROKER_OPTIONS)
    assert set(BROKER_NAMES) <= set(TOPIC_OPTIONS)


@pytest.mark.parametrize(("topic", "names"), BROKER_NAMES.items())
def test_defaults_of_topic_and_broker_are_the_same(
    topic: str, names: tuple[tuple[str, int], ...]
) -> None:
    defaults = [(BROKER_OPTIONS[name].default, unit) for name, unit in names]
    first, unit = next((text, unit) for text, unit in defaults if text is not None)

    in_our_unit = first if unit == 1 else str(int(first) * unit)

    assert in_our_unit == TOPIC_OPTIONS[topic].default


@pytest.mark.parametrize(
    "configs",
    [
        {},
        {"retention.ms": "-1"},
        {"cleanup.policy": ""},
        {"cleanup.policy": "compact,delete"},
        {"compression.gzip.level": "-1"},
        {"leader.replication.throttled.replicas": "*"},
        {"leader.replication.throttled.replicas": "0:1, 1:2"},
        {"internal.segment.bytes": "100"},
        {"min.compaction.lag.ms": "5", "max.compaction.lag.ms": "5"},
    ],
)
def test_options_that_a_topic_may_have(configs: dict[str, str]) -> None:
    check_topic_configs(configs, DEFAULTS)


@pytest.mark.parametrize(
    ("configs", "message"),
    [
        ({"nope": "1", "retention.ms": "x"}, "Unknown topic config name: nope"),
        (
            {"retention.ms": "-2"},
            "Invalid value -2 for configuration retention.ms: Value must be at least -1",
        ),
        (
            {"cleanup.policy": "compact,shrink"},
            "Invalid value shrink for configuration cleanup.policy:"
            " String must be one of: compact, delete",
        ),
        (
            {"compression.type": "none"},
            "Invalid value none for configuration compression.type: String must be one of:"
            " uncompressed, zstd, lz4, snappy, gzip, producer",
        ),
        (
            {"compression.gzip.level": "0"},
            "Invalid value 0 for configuration compression.gzip.level:"
            " Value must be between 1 and 9 or equal to -1",
        ),
        (
            {"leader.replication.throttled.replicas": "0:1,all"},
            "Invalid value [0:1, all] for configuration leader.replication.throttled.replicas:"
            " leader.replication.throttled.replicas must be the literal '*' or a list of replicas"
            " in the following format: [partitionId]:[brokerId],[partitionId]:[brokerId],...",
        ),
        (
            {"max.compaction.lag.ms": "4", "min.compaction.lag.ms": "5"},
            "conflict topic config setting min.compaction.lag.ms (5) > max.compaction.lag.ms (4)",
        ),
        (
            {"remote.storage.enable": "true"},
            "Tiered Storage functionality is disabled in the broker."
            " Topic cannot be configured with remote log storage.",
        ),
    ],
)
def test_options_that_no_topic_may_have(configs: dict[str, str], message: str) -> None:
    with pytest.raises(InvalidConfig) as raised:
        check_topic_configs(configs, DEFAULTS)

    assert raised.value.message == message


def test_what_is_not_set_counts_in_a_contradiction() -> None:
    defaults = DEFAULTS | {"max.compaction.lag.ms": 3}

    with pytest.raises(InvalidConfig, match=r"min\.compaction\.lag\.ms \(5\) > max"):
        check_topic_configs({"min.compaction.lag.ms": "5"}, defaults)
