"""Partitions to fetch and answers with records, for the tests of `Fetches` and its buffer."""

from __future__ import annotations

import struct
from collections.abc import Mapping
from dataclasses import dataclass
from math import inf

from kafka_aio.consumer.fetches import Fetch, Fetches
from kafka_aio.metadata import Leader
from kafka_aio.protocol.messages.fetch import PartitionData
from kafka_aio.records.layout import HEADER, HEADER_BYTES, LENGTH_FROM, MAGIC
from kafka_aio.types import TopicPartition

A, B, C = (TopicPartition("t", number) for number in range(3))
NODES = range(1, 4)
OVERHEAD = 50
"""The bytes of a frame beside its records."""


@dataclass
class Place:
    """A position."""

    offset: int


@dataclass
class Owned:
    """As much of a partition as is needed."""

    era: int = 0
    position: Place | None = None
    leader: Leader | None = None
    is_paused: bool = False
    stop: float = inf

    @property
    def is_fetchable(self) -> bool:
        return self.position is not None and not self.is_paused

    def seek(self, offset: int) -> None:
        self.era += 1
        self.position = Place(offset)


def owned(*names: TopicPartition, node: int = 1) -> dict[TopicPartition, Owned]:
    return {name: Owned(position=Place(0), leader=Leader(node, 5)) for name in names}


def fetches(*, limit: int = 10_000, max_bytes: int = 5_000, partition: int = 1_000) -> Fetches:
    return Fetches(
        limit=limit,
        max_bytes=max_bytes,
        partition_max_bytes=partition,
        replica_age=300.0,
        error_pause=1.0,
    )


def batch(offset: int, count: int = 1, size: int = 100) -> bytes:
    """A batch of that many bytes, with a header that holds true and no records."""
    head = HEADER.pack(
        offset, size - LENGTH_FROM, 0, MAGIC, 0, 0, count - 1, 0, 0, -1, -1, -1, count
    )
    return head + bytes(size - HEADER_BYTES)


def message(offset: int, size: int = 40) -> bytes:
    """A message of format 1."""
    return struct.pack(">qiIb", offset, size - 12, 0, 1) + bytes(size - 17)


def data(records: bytes | None = None, *, code: int = 0, replica: int = -1) -> PartitionData:
    return PartitionData(
        partition_index=0,
        error_code=code,
        high_watermark=100,
        aborted_transactions=None,
        preferred_read_replica=replica,
        records=records,
    )


def send(
    state: Fetches, partitions: Mapping[TopicPartition, Owned], *, now: float = 0.0
) -> list[Fetch]:
    """All that the plan has."""
    planned = list(state.plan(partitions, NODES, now=now).fetches)
    for fetch in planned:
        state.sent(fetch)
    return planned


def answer(
    state: Fetches,
    fetch: Fetch,
    partitions: Mapping[TopicPartition, Owned],
    told: Mapping[TopicPartition, PartitionData],
    *,
    now: float = 0.0,
) -> list[TopicPartition]:
    """Of which partitions the answer was heard."""
    size = OVERHEAD + sum(len(memoryview(each.records or b"")) for each in told.values())
    heard = state.add(fetch, told, size=size, partitions=partitions, now=now)
    return [name for name, _ in heard]


def fill(
    state: Fetches, partitions: Mapping[TopicPartition, Owned], sizes: Mapping[TopicPartition, int]
) -> None:
    """Fetch one batch of that size for each of these partitions, all from one node."""
    (fetch,) = send(state, partitions)
    told = {name: data(batch(fetch.asks[name].offset, size=size)) for name, size in sizes.items()}
    answer(state, fetch, partitions, told)
