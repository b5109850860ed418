"""The options of a group in Kafka 4.3, and the bounds that the broker sets to them. Pure.

Those of share groups and streams groups are told and kept; nothing reads them yet.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from kafka_aio.broker.configs.options import (
    Check,
    Option,
    Type,
    Value,
    at_least,
    declared,
    invalid,
    one_of,
)
from kafka_aio.config import duration
from kafka_aio.errors import InvalidConfig


def _offset_reset(name: str, value: Value) -> None:
    kind, _, text = str(value).partition(":")
    length = duration.seconds(text) if kind == "by_duration" else None
    if value not in ("earliest", "latest") and (length is None or length < 0):
        raise invalid(
            name,
            value,
            f"Invalid value `{value}` for configuration {name}. The value must be either"
            " 'earliest', 'latest' or of the format 'by_duration:<PnDTnHnMn.nS>'.",
        )


def _int(name: str, default: int, check: Check) -> Option:
    return Option(name, Type.INT, str(default), check)


GROUP_OPTIONS: Final = declared(
    (
        _int("consumer.session.timeout.ms", 45_000, at_least(1)),
        _int("consumer.heartbeat.interval.ms", 5_000, at_least(1)),
        _int("consumer.assignment.interval.ms", 1_000, at_least(0)),
        _int("share.session.timeout.ms", 45_000, at_least(1)),
        _int("share.heartbeat.interval.ms", 5_000, at_least(1)),
        _int("share.record.lock.duration.ms", 30_000, at_least(1_000)),
        _int("share.delivery.count.limit", 5, at_least(2)),
        _int("share.partition.max.record.locks", 2_000, at_least(100)),
        Option("share.auto.offset.reset", Type.STRING, "latest", _offset_reset),
        Option(
            "share.isolation.level",
            Type.STRING,
            "read_uncommitted",
            one_of("read_committed", "read_uncommitted"),
        ),
        Option("share.renew.acknowledge.enable", Type.BOOLEAN, "true"),
        _int("share.assignment.interval.ms", 1_000, at_least(0)),
        _int("streams.session.timeout.ms", 45_000, at_least(1)),
        _int("streams.heartbeat.interval.ms", 5_000, at_least(1)),
        _int("streams.num.standby.replicas", 0, at_least(0)),
        _int("streams.initial.rebalance.delay.ms", 3_000, at_least(0)),
        _int("streams.assignment.interval.ms", 1_000, at_least(0)),
    )
)

_OWN: Final = (
    "share.auto.offset.reset",
    "share.isolation.level",
    "share.renew.acknowledge.enable",
)

BROKER_NAMES: Final[Mapping[str, str]] = {
    name: f"group.{name}" for name in GROUP_OPTIONS if name not in _OWN
}
"""By option of a group, the option of the broker that gives its default."""

_BOUNDED: Final = (
    "consumer.heartbeat.interval.ms",
    "consumer.session.timeout.ms",
    "consumer.assignment.interval.ms",
    "share.heartbeat.interval.ms",
    "share.session.timeout.ms",
    "share.record.lock.duration.ms",
    "share.delivery.count.limit",
    "share.partition.max.record.locks",
    "share.assignment.interval.ms",
    "streams.heartbeat.interval.ms",
    "streams.session.timeout.ms",
    "streams.num.standby.replicas",
    "streams.assignment.interval.ms",
)
"""In the order in which Kafka looks at them."""


def check_group_configs(
    configs: Mapping[str, str], defaults: Mapping[str, Value], bound: Callable[[str], Value]
) -> None:
    """Raise what Kafka says of the options that are set for a group.

    Args:
        configs: The options that are set.
        defaults: The values of those that are not.
        bound: The value of an option of the broker.

    Raises:
        InvalidConfig: A name is unknown, a value is wrong or out of the bounds of the broker.
    """
    for name in configs:
        if name not in GROUP_OPTIONS:
            raise InvalidConfig(f"Unknown group config name: {name}")
    values = dict(defaults)
    for name, option in GROUP_OPTIONS.items():
        if name in configs:
            values[name] = option.read(configs[name])
    for name in _BOUNDED:
        if name in configs or not name.endswith("assignment.interval.ms"):
            _check_bounds(name, values[name], bound)
    for kind in ("consumer", "share", "streams"):
        longer, shorter = f"{kind}.session.timeout.ms", f"{kind}.heartbeat.interval.ms"
        if _number(values[longer]) <= _number(values[shorter]):
            raise InvalidConfig(f"{longer} must be greater than {shorter}")


def _check_bounds(name: str, value: Value, bound: Callable[[str], Value]) -> None:
    kind, _, rest = name.partition(".")
    least, most = f"group.{kind}.min.{rest}", f"group.{kind}.max.{rest}"
    if name == "streams.num.standby.replicas":  # which has no lower one, and a name of its own
        most = "group.streams.max.standby.replicas"
    elif _number(value) < _number(bound(least)):
        raise InvalidConfig(f"{name} must be greater than or equal to {least}")
    if _number(value) > _number(bound(most)):
        raise InvalidConfig(f"{name} must be less than or equal to {most}")


def _number(value: Value) -> int:
    assert isinstance(value, int)
    return value
