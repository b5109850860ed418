"""The options of a topic in Kafka 4.3, and those of the broker that stand behind them. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from kafka_aio.broker.configs.options import (
    Check,
    Option,
    Type,
    Value,
    at_least,
    between,
    declared,
    invalid,
    list_of,
    one_of,
)
from kafka_aio.errors import InvalidConfig

_LONG: Final = str(2**63 - 1)
_HOUR: Final = 3_600_000
_CODECS: Final = ("uncompressed", "zstd", "lz4", "snappy", "gzip", "producer")


def _gzip_level(name: str, value: Value) -> None:
    if value != -1 and value not in range(1, 10):
        raise invalid(name, value, "Value must be between 1 and 9 or equal to -1")


def _throttled_replicas(name: str, value: Value) -> None:
    assert isinstance(value, tuple)
    if "".join(value) != "*" and not all(re.fullmatch("([0-9]+:[0-9]+)?", each) for each in value):
        raise invalid(
            name,
            f"[{', '.join(value)}]",
            f"{name} must be the literal '*' or a list of replicas in the following format:"
            " [partitionId]:[brokerId],[partitionId]:[brokerId],...",
        )


def _int(name: str, default: int, check: Check) -> Option:
    return Option(name, Type.INT, str(default), check)


def _long(name: str, default: str, check: Check | None = None) -> Option:
    return Option(name, Type.LONG, default, check)


def _flag(name: str) -> Option:
    return Option(name, Type.BOOLEAN, "false")


TOPIC_OPTIONS: Final = declared(
    (
        _int("segment.bytes", 2**30, at_least(2**20)),
        _long("segment.ms", "604800000", at_least(1)),
        _long("segment.jitter.ms", "0", at_least(0)),
        _int("segment.index.bytes", 10_485_760, at_least(4)),
        _long("flush.messages", _LONG, at_least(1)),
        _long("flush.ms", _LONG, at_least(0)),
        _long("retention.bytes", "-1"),
        _long("retention.ms", "604800000", at_least(-1)),
        _int("max.message.bytes", 1_048_588, at_least(0)),
        _int("index.interval.bytes", 4_096, at_least(0)),
        _long("delete.retention.ms", "86400000", at_least(0)),
        _long("min.compaction.lag.ms", "0", at_least(0)),
        _long("max.compaction.lag.ms", _LONG, at_least(1)),
        _long("file.delete.delay.ms", "60000", at_least(0)),
        Option("min.cleanable.dirty.ratio", Type.DOUBLE, "0.5", between(0, 1)),
        Option("cleanup.policy", Type.LIST, "delete", list_of("compact", "delete")),
        _flag("unclean.leader.election.enable"),
        _int("min.insync.replicas", 1, at_least(1)),
        Option("compression.type", Type.STRING, "producer", one_of(*_CODECS)),
        _int("compression.gzip.level", -1, _gzip_level),
        _int("compression.lz4.level", 9, between(1, 17)),
        _int("compression.zstd.level", 3, between(-131_072, 22)),
        _flag("preallocate"),
        Option(
            "message.timestamp.type",
            Type.STRING,
            "CreateTime",
            one_of("CreateTime", "LogAppendTime"),
        ),
        _long("message.timestamp.before.max.ms", _LONG, at_least(0)),
        _long("message.timestamp.after.max.ms", "3600000", at_least(0)),
        Option("leader.replication.throttled.replicas", Type.LIST, "", _throttled_replicas),
        Option("follower.replication.throttled.replicas", Type.LIST, "", _throttled_replicas),
        _flag("remote.storage.enable"),
        _long("local.retention.ms", "-2", at_least(-2)),
        _long("local.retention.bytes", "-2", at_least(-2)),
        _flag("remote.log.copy.disable"),
        _flag("remote.log.delete.on.disable"),
        Option("internal.segment.bytes", Type.INT, None, is_internal=True),
    )
)

BROKER_NAMES: Final[Mapping[str, tuple[tuple[str, int], ...]]] = {
    "segment.bytes": (("log.segment.bytes", 1),),
    "segment.ms": (("log.roll.ms", 1), ("log.roll.hours", _HOUR)),
    "segment.jitter.ms": (("log.roll.jitter.ms", 1), ("log.roll.jitter.hours", _HOUR)),
    "segment.index.bytes": (("log.index.size.max.bytes", 1),),
    "flush.messages": (("log.flush.interval.messages", 1),),
    "flush.ms": (("log.flush.interval.ms", 1), ("log.flush.scheduler.interval.ms", 1)),
    "retention.bytes": (("log.retention.bytes", 1),),
    "retention.ms": (
        ("log.retention.ms", 1),
        ("log.retention.minutes", 60_000),
        ("log.retention.hours", _HOUR),
    ),
    "max.message.bytes": (("message.max.bytes", 1),),
    "index.interval.bytes": (("log.index.interval.bytes", 1),),
    "delete.retention.ms": (("log.cleaner.delete.retention.ms", 1),),
    "min.compaction.lag.ms": (("log.cleaner.min.compaction.lag.ms", 1),),
    "max.compaction.lag.ms": (("log.cleaner.max.compaction.lag.ms", 1),),
    "file.delete.delay.ms": (("log.segment.delete.delay.ms", 1),),
    "min.cleanable.dirty.ratio": (("log.cleaner.min.cleanable.ratio", 1),),
    "cleanup.policy": (("log.cleanup.policy", 1),),
    "unclean.leader.election.enable": (("unclean.leader.election.enable", 1),),
    "min.insync.replicas": (("min.insync.replicas", 1),),
    "compression.type": (("compression.type", 1),),
    "compression.gzip.level": (("compression.gzip.level", 1),),
    "compression.lz4.level": (("compression.lz4.level", 1),),
    "compression.zstd.level": (("compression.zstd.level", 1),),
    "preallocate": (("log.preallocate", 1),),
    "message.timestamp.type": (("log.message.timestamp.type", 1),),
    "message.timestamp.before.max.ms": (("log.message.timestamp.before.max.ms", 1),),
    "message.timestamp.after.max.ms": (("log.message.timestamp.after.max.ms", 1),),
    "local.retention.ms": (("log.local.retention.ms", 1),),
    "local.retention.bytes": (("log.local.retention.bytes", 1),),
}
"""By option of a topic, the options of the broker that give its default: the strongest first, each
with the number of milliseconds in its unit where that is not one."""


def check_topic_configs(configs: Mapping[str, str], defaults: Mapping[str, Value]) -> None:
    """Raise what Kafka says of the options that are set for a topic.

    Args:
        configs: The options that are set.
        defaults: The values of those that are not.

    Raises:
        InvalidConfig: A name is unknown, a value is wrong, or two contradict each other.
    """
    for name in configs:
        if name not in TOPIC_OPTIONS:
            raise InvalidConfig(f"Unknown topic config name: {name}")
    values = dict(defaults)
    for name, option in TOPIC_OPTIONS.items():
        if name in configs:
            values[name] = option.read(configs[name])
    least, most = values["min.compaction.lag.ms"], values["max.compaction.lag.ms"]
    assert isinstance(least, int)
    assert isinstance(most, int)
    if least > most:
        raise InvalidConfig(
            "conflict topic config setting"
            f" min.compaction.lag.ms ({least}) > max.compaction.lag.ms ({most})"
        )
    if values["remote.storage.enable"]:
        raise InvalidConfig(
            "Tiered Storage functionality is disabled in the broker."
            " Topic cannot be configured with remote log storage."
        )
