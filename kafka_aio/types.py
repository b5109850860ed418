"""The small values that calls take and return; `Record` is the codec's (`records`). Pure."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from typing import NamedTuple


class TopicPartition(NamedTuple):
    """A partition of a topic: a tuple, so that it is cheap as the key of a dict."""

    topic: str
    partition: int

    def __str__(self) -> str:
        return f"{self.topic}-{self.partition}"


class TimestampType(IntEnum):
    """What a record's timestamp tells; the numbers are those of the wire."""

    NO_TIMESTAMP = -1
    CREATE_TIME = 0
    LOG_APPEND_TIME = 1


class RecordMetadata(NamedTuple):
    """Where a record was stored. A tuple, because one is made for every record awaited."""

    topic: str
    partition: int
    offset: int
    """Its offset; -1 where the broker was not asked to acknowledge (acks=0)."""
    timestamp: int
    """Milliseconds since 1970, as the producer or the broker set it; -1 where there is none."""
    timestamp_type: TimestampType = TimestampType.CREATE_TIME

    @property
    def topic_partition(self) -> TopicPartition:
        return TopicPartition(self.topic, self.partition)

    def __str__(self) -> str:
        return f"{self.topic}-{self.partition}@{self.offset}"


@dataclass(frozen=True, slots=True)
class OffsetAndMetadata:
    """An offset to commit, or one committed: that of the next record to read."""

    offset: int
    metadata: str = ""
    """Any text to keep with it."""
    leader_epoch: int | None = None
    """The leader's epoch of the record before it, by which a truncated log is found out."""

    def __post_init__(self) -> None:
        if self.offset < 0:
            raise ValueError(f"an offset to commit is 0 or more, not {self.offset}")


@dataclass(frozen=True, slots=True)
class OffsetAndTimestamp:
    """The first record at or after a time that was asked for."""

    offset: int
    timestamp: int
    """The record's own timestamp, in milliseconds since 1970."""
    leader_epoch: int | None = None


@dataclass(frozen=True, slots=True)
class Node:
    """A broker of the cluster, at the address that it advertises."""

    id: int
    host: str
    port: int
    rack: str | None = None

    def __str__(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{host}:{self.port} (node {self.id})"


@dataclass(frozen=True, slots=True)
class PartitionInfo:
    """A partition as the cluster last described it."""

    topic: str
    partition: int
    leader: Node | None
    """The node that takes writes; None during an election."""
    replicas: tuple[Node, ...] = ()
    in_sync_replicas: tuple[Node, ...] = ()
    offline_replicas: tuple[Node, ...] = ()

    @property
    def topic_partition(self) -> TopicPartition:
        return TopicPartition(self.topic, self.partition)


@dataclass(frozen=True, slots=True)
class ConsumerGroupMetadata:
    """A member's place in its group, by which a transaction's offset commit is fenced (KIP-447)."""

    group_id: str
    generation_id: int = -1
    """The generation of a classic group, or the member epoch of a consumer group (KIP-848)."""
    member_id: str = ""
    group_instance_id: str | None = None


@dataclass(frozen=True, slots=True)
class SubscriptionPattern:
    """A pattern of topic names in RE2 syntax, which the broker matches itself (KIP-848)."""

    pattern: str
