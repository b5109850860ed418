"""What an embedded broker can be told, under the names that Kafka has for it. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from difflib import get_close_matches
from functools import cache
from typing import Annotated, Any, Final, Self

from kafka_aio.config.option import (
    INT32,
    INT64,
    Bytes,
    Choice,
    Count,
    Flag,
    Int,
    Milliseconds,
    Several,
    kinds,
)
from kafka_aio.errors import ConfigError

_MIB: Final = 2**20

_Assignors = Annotated[tuple[str, ...], Several(Choice("uniform", "range"), least=1)]
_Cleanup = Annotated[tuple[str, ...], Several(Choice("compact", "delete"))]
_Codec = Annotated[str, Choice("producer", "uncompressed", "gzip", "snappy", "lz4", "zstd")]
_Segment = Annotated[int, Int(1, INT32, unit=" of bytes")]
_Size = Annotated[int, Int(-1, INT64, unit=" of bytes")]
_Timestamps = Annotated[str, Choice("CreateTime", "LogAppendTime")]
_Age = Annotated[int, Int(0, INT64, unit=" of milliseconds")]


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """Options of the broker: Kafka's names with `_` for `.`, Kafka's defaults unless said.

    Raises:
        ConfigError: A value is not of its kind.
    """

    auto_create_topics_enable: Flag = True
    num_partitions: Count = 1
    default_replication_factor: Annotated[int, Int(1, 2**15 - 1)] = 1
    min_insync_replicas: Count = 1
    unclean_leader_election_enable: Flag = False
    delete_topic_enable: Flag = True
    max_request_partition_size_limit: Count = 2_000
    """The most partitions in an answer to DescribeTopicPartitions."""

    message_max_bytes: Bytes = 1_048_588
    compression_type: _Codec = "producer"
    log_message_timestamp_type: _Timestamps = "CreateTime"
    log_message_timestamp_before_max_ms: _Age = INT64
    log_message_timestamp_after_max_ms: _Age = 3_600_000
    log_cleanup_policy: _Cleanup = ("delete",)
    log_retention_bytes: _Size = 128 * _MIB
    """For each partition. Kafka has no limit by default; here it is memory."""
    log_segment_bytes: _Segment = 8 * _MIB
    """Kafka: 1 GiB, and never less than 1 MiB. Retention drops whole segments."""
    memory_max_bytes: Annotated[int, Int(1, INT64, unit=" of bytes")] = 1024 * _MIB
    """For all partitions together: the largest one loses its oldest segment. Ours alone.

    A sixteenth of it more is kept of dropped segments, for new ones.
    """
    memory_max_logs: Count = 100_000
    """Partitions of all topics together, as each takes memory. Ours alone."""
    memory_max_state_bytes: Annotated[int, Int(1, INT64, unit=" of bytes")] = 256 * _MIB
    """For groups with their members and offsets, for users, and for options that are set, roughly:
    more is refused. Ours alone."""
    memory_max_session_partitions: Count = 250_000
    """For the fetch sessions of a node together: who would be too many gets none. Ours alone."""
    memory_max_producers: Count = 100_000
    """Idempotent ones, for all partitions together: the oldest is forgotten. Ours alone."""
    producer_id_expiration_ms: Count = 86_400_000

    fetch_max_bytes: Annotated[int, Int(1024, INT32, unit=" of bytes")] = 55 * _MIB
    max_incremental_fetch_session_cache_slots: Annotated[int, Int(0, INT32)] = 1_000
    socket_request_max_bytes: Count = 100 * _MIB
    queued_max_request_bytes: Annotated[int, Int(1, INT64, unit=" of bytes")] = 512 * _MIB
    """For requests of more than 256 KiB that are being read or answered: who finds no room is not
    read from for a while. Kafka: no limit."""
    max_connections: Annotated[int, Int(0, INT32)] = 1_000
    """Kafka: no limit."""
    connections_max_reauth_ms: Annotated[int, Int(0, INT64)] = 0

    offsets_topic_num_partitions: Count = 1
    """Kafka: 50. They decide which node coordinates which group."""
    offsets_topic_replication_factor: Annotated[int, Int(1, 2**15 - 1)] = 3
    """At most: with fewer nodes, each has one. Kafka would not make the topic."""
    offset_metadata_max_bytes: Bytes = 4_096
    offsets_retention_minutes: Count = 10_080

    group_initial_rebalance_delay_ms: Milliseconds = 0
    """Kafka: 3,000, which every test would wait for."""
    group_min_session_timeout_ms: Milliseconds = 100
    """Kafka: 6,000, which every test of a lost member would wait for."""
    group_max_session_timeout_ms: Milliseconds = 1_800_000
    group_max_size: Count = INT32
    group_consumer_session_timeout_ms: Count = 45_000
    group_consumer_min_session_timeout_ms: Count = 100
    """Kafka: 45,000."""
    group_consumer_max_session_timeout_ms: Count = 60_000
    group_consumer_heartbeat_interval_ms: Count = 500
    """Kafka: 5,000: members of the consumer protocol hear of a rebalance by their heartbeats."""
    group_consumer_min_heartbeat_interval_ms: Count = 10
    """Kafka: 5,000."""
    group_consumer_max_heartbeat_interval_ms: Count = 15_000
    group_consumer_assignment_interval_ms: Milliseconds = 0
    """Kafka: 1,000, which every test of a second rebalance would wait for."""
    group_consumer_max_size: Count = INT32
    group_consumer_assignors: _Assignors = ("uniform", "range")

    def __post_init__(self) -> None:
        for name, kind in kinds(Settings).items():
            object.__setattr__(self, name, kind.checked(name, getattr(self, name)))

    @classmethod
    def from_kafka(cls, options: Mapping[Any, Any]) -> Self:
        """From Kafka's names, as in `{"num.partitions": 3}`; texts are read as Java reads them.

        Names with `_` work too.

        Raises:
            ConfigError: A name that is not known here, or a value that is wrong.
        """
        known = kinds(Settings)
        read: dict[str, Any] = {}
        for given, value in options.items():
            name = given.replace(".", "_") if isinstance(given, str) else ""
            if name not in known:
                raise ConfigError(_unknown(given))
            if name in read:
                raise ConfigError(f"{given} is given twice: leave one out")
            read[name] = known[name].checked(given, value, from_text=isinstance(value, str))
        return cls(**read)


def _unknown(name: object) -> str:
    near = get_close_matches(str(name).replace("_", "."), kafka_names(), n=3)
    hint = f"did you mean {' or '.join(near)}?" if near else "Settings has those that are"
    return f"{name!r} is no option of the embedded broker: {hint}"


@cache
def kafka_names() -> tuple[str, ...]:
    """Kafka's names of all settings."""
    return tuple(field.name.replace("_", ".") for field in fields(Settings))
