"""Consumers that read on from offsets in a store of the user's own, in groups of all protocols."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Collection
from contextlib import asynccontextmanager
from typing import Any

import pytest

from kafka_aio.admin import Admin
from kafka_aio.broker import EmbeddedBroker
from kafka_aio.consumer.consumer import Consumer
from kafka_aio.consumer.store import OffsetConflict, StoredOffsets
from kafka_aio.errors import DeserializationError
from kafka_aio.types import TopicPartition
from tests.scenarios.consumer.committing import T0, T1, on_virtual_time
from tests.scenarios.consumer.grouped import PROTOCOLS, committed, member, numbers, until
from tests.scenarios.consumer.world import batch_of, values, write

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


@pytest.mark.parametrize("before", [0, 4], ids=["its first batch", "a later batch"])
@by_protocol
@on_virtual_time
async def test_what_comes_after_records_that_were_not_settled_is_refused_until_they_are_read_again(
    protocol: str, before: int
) -> None:
    kept = Kept()
    async with (
        EmbeddedBroker(topics={"t": 1}) as broker,
        adding(broker, protocol, kept) as one,
    ):
        broker.produce("t", [b"x"] * 20)
        await one.add_until(before, max_records=4)
        await one.consumer.poll(max_records=4)  # a transaction fails before it has begun
        for _ in range(3):
            with pytest.raises(OffsetConflict):
                await one.add(max_records=4)
        stored = dict(kept.offsets)
        await one.offsets.reload()
        await one.add_until(20, max_records=4)

        assert stored == ({T0: before} if before else {})
        assert kept.seen == [(0, offset) for offset in range(20)]


@on_virtual_time
async def test_two_batches_in_hand_are_settled_in_their_order_alone() -> None:
    kept = Kept()
    async with EmbeddedBroker(topics={"t": 1}) as broker, adding(broker, "classic", kept) as one:
        broker.produce("t", [b"x"] * 20)
        first, second = [await one.consumer.poll(max_records=5) for _ in range(2)]
        with pytest.raises(OffsetConflict):
            one.settle(second)
        one.settle(first)
        one.settle(second)

        assert kept.seen == [(0, offset) for offset in range(10)]


@on_virtual_time
async def test_what_async_for_has_handed_over_and_was_not_settled_is_not_passed_over() -> None:
    kept = Kept()
    async with EmbeddedBroker(topics={"t": 1}) as broker, adding(broker, "classic", kept) as one:
        broker.produce("t", [b"x"] * 10)
        for _ in range(3):
            record = await anext(one.consumer)
            one.settle({T0: [record]})
        await anext(one.consumer)

        with pytest.raises(OffsetConflict):
            await one.add()
        assert kept.offsets == {T0: 3}


@on_virtual_time
async def test_what_batches_have_handed_over_and_was_not_settled_is_not_passed_over() -> None:
    kept = Kept()
    async with EmbeddedBroker(topics={"t": 1}) as broker, adding(broker, "classic", kept) as one:
        broker.produce("t", [b"x"] * 10)
        batch = await anext(one.consumer.batches())
        broker.produce("t", [b"x"] * 10)

        with pytest.raises(OffsetConflict):
            await one.add()
        one.settle({T0: batch.records})
        assert kept.offsets == {T0: 10}


@by_protocol
@on_virtual_time
async def test_offsets_that_no_record_has_are_in_nobody_s_way(protocol: str) -> None:
    kept = Kept()
    async with (
        EmbeddedBroker(topics={"t": 1}) as broker,
        adding(broker, protocol, kept) as one,
    ):
        write(broker, batch_of(values(1), control=True))  # nothing before the first record
        for _ in range(3):
            write(broker, batch_of(values(4)), last_offset_delta=5)  # two were compacted away
            write(broker, batch_of(values(1), control=True))
        await one.add_until(6, max_records=3)
        await one.consumer.poll(timeout=5, max_records=3)
        with pytest.raises(OffsetConflict):
            await one.add(max_records=3)
        await one.offsets.reload()
        await one.add_until(12, max_records=3)

        everything = [1, 2, 3, 4, 8, 9, 10, 11, 15, 16, 17, 18]
        assert kept.seen == [(0, offset) for offset in everything]


@on_virtual_time
async def test_what_is_sought_past_is_passed_over_and_what_was_in_hand_is_not() -> None:
    def not_five(value: bytes) -> bytes:
        if value == b"5":
            raise ValueError
        return value

    kept = Kept()
    async with (
        EmbeddedBroker(topics={"t": 1}) as broker,
        adding(broker, "classic", kept, value_deserializer=not_five) as one,
    ):
        broker.produce("t", values(20))
        await one.add_until(5)
        with pytest.raises(DeserializationError):
            await one.add()
        one.consumer.seek(T0, 6)
        await one.add(max_records=4)
        await one.consumer.poll(max_records=4)
        one.consumer.seek(T0, 16)
        with pytest.raises(OffsetConflict):
            await one.add()

        assert kept.seen == [(0, offset) for offset in (0, 1, 2, 3, 4, 6, 7, 8, 9)]
        assert kept.offsets == {T0: 10}


@on_virtual_time
async def test_who_goes_back_to_what_is_stored_by_a_seek_reads_on() -> None:
    kept = Kept()
    async with EmbeddedBroker(topics={"t": 1}) as broker, adding(broker, "classic", kept) as one:
        broker.produce("t", [b"x"] * 20)
        await one.add(max_records=5)
        await one.consumer.poll(max_records=5)
        one.consumer.seek_to_beginning(T0)
        await one.consumer.poll(max_records=2)
        one.consumer.seek(T0, 5)
        await one.add(max_records=5)

        assert kept.seen == [(0, offset) for offset in range(10)]


@on_virtual_time
async def test_what_the_log_has_deleted_meanwhile_is_passed_over() -> None:
    kept = Kept()
    kept.offsets[T0] = 3
    async with EmbeddedBroker(topics={"t": 1}) as broker:
        broker.produce("t", [b"x"] * 20)
        async with Admin(bootstrap_servers=broker.bootstrap_servers) as admin:
            await admin.delete_records({T0: 12})
        async with adding(broker, "classic", kept) as one:
            await one.add_until(8)

        assert kept.seen == [(0, offset) for offset in range(12, 20)]


@on_virtual_time
async def test_what_interceptors_leave_out_is_in_nobody_s_way() -> None:
    class Thirds:
        def on_consume(self, records: list[Any]) -> list[Any]:
            return [each for each in records if each.offset % 3 == 0]

    kept = Kept()
    async with (
        EmbeddedBroker(topics={"t": 1}) as broker,
        adding(broker, "classic", kept, interceptors=[Thirds()]) as one,
    ):
        broker.produce("t", [b"x"] * 20)
        for most in (1, 1, 2, 5):
            await one.add(max_records=most)
        await one.consumer.poll(max_records=3)
        with pytest.raises(OffsetConflict):
            await one.add()

        assert kept.seen == [(0, offset) for offset in (0, 3, 6, 9, 12)]
