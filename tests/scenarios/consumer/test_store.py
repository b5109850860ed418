"""Consumers that read on from offsets in a store of the user's own, in groups of all protocols."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Collection
from contextlib import asynccontextmanager
from typing import Any

import pytest

from kafka_aio.broker import EmbeddedBroker
from kafka_aio.consumer.consumer import Consumer
from kafka_aio.consumer.store import OffsetConflict, StoredOffsets
from kafka_aio.types import TopicPartition
from tests.scenarios.consumer.committing import T0, T1, on_virtual_time
from tests.scenarios.consumer.grouped import PROTOCOLS, committed, member, numbers, until

by_protocol = pytest.mark.parametrize("protocol", PROTOCOLS)


class Kept:
    """A store in memory: results and offsets. What happens between two awaits is a transaction."""

    def __init__(self) -> None:
        self.offsets: dict[TopicPartition, int] = {}
        self.seen: list[tuple[int, int]] = []

    def load(
        self, connection: object, partitions: Collection[TopicPartition]
    ) -> dict[TopicPartition, int]:
        return {each: self.offsets[each] for each in partitions if each in self.offsets}

    def advance(
        self, connection: object, partition: TopicPartition, begin: int | None, end: int
    ) -> None:
        if self.offsets.get(partition) != begin:
            raise OffsetConflict(partition, begin, self.offsets.get(partition))
        self.offsets[partition] = end


class Adding:
    """A member that keeps what it reads."""

    def __init__(self, consumer: Consumer[Any, Any], kept: Kept) -> None:
        self.consumer = consumer
        self.kept = kept
        self.offsets = StoredOffsets(consumer, kept, lambda some: kept.load(None, some))
        consumer.subscribe(["t"], self.offsets)

    def settle(self, records: dict[TopicPartition, list[Any]]) -> None:
        self.offsets.advance(None, records)
        for some in records.values():
            self.kept.seen += [(each.partition, each.offset) for each in some]

    async def add(self, timeout: float = 1, max_records: int = 100) -> None:
        records = await self.consumer.poll(timeout=timeout, max_records=max_records)
        self.settle(records)

    async def add_until(self, count: int, max_records: int = 100) -> None:
        """Until so many are kept, whoever has kept them."""
        async with asyncio.timeout(60):
            while len(self.kept.seen) < count:
                await self.add(max_records=max_records)


@asynccontextmanager
async def adding(
    broker: EmbeddedBroker, protocol: str, kept: Kept, **options: Any
) -> AsyncIterator[Adding]:
    async with member(broker, protocol, enable_auto_commit=False, **options) as consumer:
        yield Adding(consumer, kept)


@by_protocol
@on_virtual_time
async def test_a_member_goes_on_where_the_one_before_has_stopped(protocol: str) -> None:
    kept = Kept()
    async with EmbeddedBroker(topics={"t": 2}) as broker:
        broker.produce("t", [b"x"] * 10)
        broker.produce("t", [b"x"] * 10, partition=1)
        async with adding(broker, protocol, kept) as first:
            await first.add_until(8, max_records=3)
            await first.consumer.poll(timeout=1, max_records=3)  # these are read, and not kept
        async with adding(broker, protocol, kept) as second:
            await second.add_until(20, max_records=3)

        assert sorted(kept.seen) == [(number, each) for number in range(2) for each in range(10)]
        assert kept.offsets == {T0: 10, T1: 10}
        assert committed(broker) == {}


@by_protocol
@on_virtual_time
async def test_partitions_change_hands_and_nothing_is_kept_twice(protocol: str) -> None:
    kept = Kept()
    async with (
        EmbeddedBroker(topics={"t": 4}) as broker,
        adding(broker, protocol, kept) as first,
        adding(broker, protocol, kept) as second,
    ):
        for turn in range(30):
            for number in range(4):
                broker.produce("t", [b"x"] * 5, partition=number)
            await first.add(max_records=7)
            if turn > 10:  # the second comes to the group
                await second.add(max_records=7)
            if turn == 20:
                first.consumer.enforce_rebalance()
        async with adding(broker, protocol, kept) as third:
            async with asyncio.timeout(300):
                while len(kept.seen) < 4 * 30 * 5:
                    for each in (first, second, third):
                        await each.add()

        everything = [(number, offset) for number in range(4) for offset in range(150)]
        assert sorted(kept.seen) == everything
        assert len(numbers(second.consumer)) < 4


@by_protocol
@on_virtual_time
async def test_who_was_away_for_too_long_gets_a_conflict_and_reads_on(protocol: str) -> None:
    kept = Kept()
    async with (
        EmbeddedBroker(topics={"t": 1}) as broker,
        adding(broker, protocol, kept, max_poll_interval_ms=10_000) as late,
        adding(broker, protocol, kept) as other,
    ):
        broker.produce("t", [b"x"] * 10)
        in_hand = await late.consumer.poll(max_records=4)
        await until(lambda: numbers(other.consumer) == [0], other.consumer)
        await other.offsets.reload()  # nothing was kept of what it has read up to now
        await other.add()

        with pytest.raises(OffsetConflict) as caught:
            late.settle(in_hand)
        await late.offsets.reload()
        broker.produce("t", [b"x"] * 10)
        await other.consumer.aclose()
        await late.add_until(20)

        assert caught.value.partition == T0
        assert kept.seen == [(0, offset) for offset in range(20)]


@by_protocol
@on_virtual_time
async def test_what_was_rolled_back_is_read_again(protocol: str) -> None:
    kept = Kept()
    async with (
        EmbeddedBroker(topics={"t": 1}) as broker,
        adding(broker, protocol, kept) as one,
    ):
        broker.produce("t", [b"x"] * 10)
        await one.consumer.poll(max_records=4)  # a transaction fails before it has begun
        await one.offsets.reload()
        await one.add(max_records=2)
        await one.consumer.poll(max_records=4)
        await one.offsets.reload()
        await one.add_until(10, max_records=3)

        assert kept.seen == [(0, offset) for offset in range(10)]


@on_virtual_time
async def test_partitions_assigned_by_hand_are_read_from_what_is_stored() -> None:
    kept = Kept()
    kept.offsets[T0] = 7
    async with EmbeddedBroker(topics={"t": 2}) as broker:
        broker.produce("t", [b"x"] * 10)
        async with Consumer[Any, Any](
            bootstrap_servers=broker.bootstrap_servers, auto_offset_reset="earliest"
        ) as consumer:
            offsets = StoredOffsets(consumer, kept, lambda some: kept.load(None, some))
            consumer.assign([T0, T1])
            await offsets.reload()

            records = await consumer.poll(timeout=5)
            offsets.advance(None, records)

    assert [each.offset for each in records[T0]] == [7, 8, 9]
    assert kept.offsets == {T0: 10}
