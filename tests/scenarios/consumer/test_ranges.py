"""`read_range`: each range ends exactly where it should, whatever the log has there."""

from __future__ import annotations

import asyncio
import gc
import pickle
from typing import Any

import pytest

from kafka_aio.broker import EmbeddedBroker
from kafka_aio.errors import (
    CorruptRecord,
    KafkaTimeoutError,
    NotLeaderOrFollower,
    OffsetOutOfRange,
    StateError,
)
from kafka_aio.records.compression import Codec
from kafka_aio.types import TopicPartition
from tests.scenarios.consumer.test_fetch_nodes import leader_of, other_than
from tests.scenarios.consumer.world import (
    T0,
    T1,
    T2,
    TOPIC,
    batch_of,
    consumer_of,
    consuming,
    failure,
    fetches,
    large_batch,
    nothing_comes,
    now,
    offsets,
    places,
    ranged,
    read,
    values,
    write,
)
from tests.scenarios.producer.api_world import Cut, cut_everywhere
from tests.scenarios.producer.delivering import on_virtual_time


def lanes(consumer: Any) -> int:
    """How many ranges are being fetched."""
    return sum(len(lane.subscription) for lane in consumer._parts.ranges._lanes)


def held(consumer: Any) -> int:
    """The bytes that are held for ranges."""
    buffers = [lane.fetcher.fetches.buffer for lane in consumer._parts.ranges._lanes]
    return sum(buffer.held for buffer in buffers)


@pytest.mark.parametrize(
    ("start", "end"), [(0, 20), (0, 1), (3, 17), (9, 11), (10, 20), (19, 20), (5, 5), (20, 20)]
)
@on_virtual_time
async def test_a_range_has_all_records_from_its_start_to_before_its_end(
    start: int, end: int
) -> None:
    async with consuming(T1) as (broker, consumer):
        broker.produce(TOPIC, values(10))
        broker.produce(TOPIC, values(10))
        found = await ranged(consumer.read_range(T0, start, end))

        assert offsets(found) == list(range(start, end))
        assert lanes(consumer) == held(consumer) == 0


@on_virtual_time
async def test_it_needs_neither_a_subscription_nor_a_group_and_does_not_touch_them() -> None:
    async with consuming(T0, group_id="g") as (broker, consumer):
        broker.produce(TOPIC, values(10))
        first = await read(consumer, 3)
        found = await ranged(consumer.read_range(T0, 2, 5))
        rest = await read(consumer, 7)

        assert offsets(found) == [2, 3, 4]
        assert offsets(first + rest) == list(range(10))


@pytest.mark.parametrize("end", [4, 5, 7, 9, 10, 12, 15])
@on_virtual_time
async def test_it_ends_where_records_at_its_end_were_compacted_away(end: int) -> None:
    async with consuming(T1) as (broker, consumer):
        write(broker, batch_of(values(3)), last_offset_delta=4)  # 0 1 2 . .
        write(broker, batch_of(values(5)), is_empty=True)  # . . . . .
        write(broker, batch_of(values(2)), last_offset_delta=4)  # 10 11 . . .
        async with asyncio.timeout(5):
            found = await ranged(consumer.read_range(T0, 1, end))

        assert offsets(found) == [each for each in (1, 2, 10, 11) if each < end]


@on_virtual_time
async def test_arrow_tables_of_a_range_end_there_too() -> None:
    pytest.importorskip("pyarrow")
    async with consuming(T1) as (broker, consumer):
        broker.produce(TOPIC, values(10))
        tables = [batch.to_arrow() async for batch in consumer.read_range(T0, 2, 5)]

        assert [each for table in tables for each in table.column("offset").to_pylist()] == [
            2,
            3,
            4,
        ]


@on_virtual_time
async def test_ranges_of_several_partitions_share_their_fetches() -> None:
    names = [TopicPartition(TOPIC, number) for number in range(20)]
    async with consuming(names[0], topics={TOPIC: 21}) as (broker, consumer):
        await nothing_comes(consumer, 1)
        consumer.pause(names[0])
        for number in range(20):
            broker.produce(TOPIC, values(10), partition=number)
        await asyncio.sleep(2)
        before = fetches(broker)
        ranges = (ranged(consumer.read_range(name, 0, 10)) for name in names)
        found = await asyncio.gather(*ranges)

        assert [offsets(each) for each in found] == [list(range(10))] * 20
        assert fetches(broker) - before < 8


@on_virtual_time
async def test_ranges_in_turn_that_end_with_their_logs_do_not_wait_for_more() -> None:
    async with consuming(T0, T1, fetch_max_wait_ms=10_000) as (broker, consumer):
        for number in (0, 1):
            broker.produce(TOPIC, values(10), partition=number)
        began = now()

        found = [await ranged(consumer.read_range(each, 0, 10)) for each in (T0, T1)]

        assert [len(each) for each in found] == [10, 10]
        assert now() - began < 5


@on_virtual_time
async def test_two_ranges_of_one_partition_are_read_beside_each_other() -> None:
    async with consuming(T1) as (broker, consumer):
        for number in range(4):
            broker.produce(TOPIC, values(10, 10 * number))
        first, second = consumer.read_range(T0, 0, 40), consumer.read_range(T0, 15, 30)
        found = await asyncio.gather(ranged(first), ranged(second))
        third = await ranged(consumer.read_range(T0, 5, 8))

        assert [offsets(each) for each in found] == [list(range(40)), list(range(15, 30))]
        assert offsets(third) == [5, 6, 7]
        assert len(consumer._parts.ranges._lanes) == 2  # the third has used one of them


@pytest.mark.parametrize(
    ("start", "end", "text"),
    [
        (2, 8, "begins at 4"),
        (5, 11, "ends at 10"),
        (30, 40, "ends at 10"),
        (30, 30, "ends at 10"),
        (2, 2, "begins at 4"),
    ],
)
@on_virtual_time
async def test_a_range_that_the_log_does_not_have_is_an_error(
    start: int, end: int, text: str
) -> None:
    async with consuming(T1) as (broker, consumer):
        broker.produce(TOPIC, values(10))
        broker._state.topics.by_name[TOPIC].partitions[0].log.delete_before(4)
        error = await failure(ranged(consumer.read_range(T0, start, end)))

        assert isinstance(error, OffsetOutOfRange)
        assert str(error) == f"t-0 from {start} to {end}: the log {text}"
        assert pickle.loads(pickle.dumps(error)).args == error.args
        assert lanes(consumer) == 0


@on_virtual_time
async def test_records_that_are_deleted_while_it_reads_are_an_error_and_not_left_out() -> None:
    options: dict[str, Any] = {"fetch_max_bytes": 1_000, "max_partition_fetch_bytes": 1_000}
    async with consuming(T1, **options) as (broker, consumer):
        for number in range(40):
            broker.produce(TOPIC, [b"x" * 400])
            assert number >= 0
        batches = consumer.read_range(T0, 0, 40)
        found = (await anext(batches)).records
        broker._state.topics.by_name[TOPIC].partitions[0].log.delete_before(39)
        error = await failure(ranged(batches))

        assert offsets(found)[0] == 0
        assert isinstance(error, OffsetOutOfRange)
        at = offsets(found)[-1] + 1
        assert f"t-0 from {at} to 40: offset {at} is not in the log any more" in str(error)
        assert lanes(consumer) == held(consumer) == 0


@on_virtual_time
async def test_a_damaged_batch_ends_the_range_with_an_error() -> None:
    async with consuming(T1) as (broker, consumer):
        broker.produce(TOPIC, values(3))
        write(broker, batch_of(values(2)), damage=True)
        broker.produce(TOPIC, values(3))
        batches = consumer.read_range(T0, 0, 8)
        found = (await anext(batches)).records
        error = await failure(anext(batches))

        assert offsets(found) == [0, 1, 2]
        assert isinstance(error, CorruptRecord)
        assert (error.topic, error.partition, error.offset) == (TOPIC, 0, 3)
        assert lanes(consumer) == held(consumer) == 0
        with pytest.raises(StopAsyncIteration):
            await anext(batches)
        assert offsets(await ranged(consumer.read_range(T0, 5, 8))) == [5, 6, 7]


@on_virtual_time
async def test_large_compressed_batches_are_read_in_ranges_too() -> None:
    async with consuming(T1) as (broker, consumer):
        large = [b"%d" % (number * 7_919 % 100_003) for number in range(40_000)]
        write(broker, batch_of(large, codec=Codec.GZIP))
        found = await ranged(consumer.read_range(T0, 39_000, 39_010))

        assert [record.value for record in found] == large[39_000:39_010]


@pytest.mark.parametrize("way", ["aclose", "dropped"])
@on_virtual_time
async def test_a_range_that_is_broken_off_is_fetched_no_more(way: str) -> None:
    options: dict[str, Any] = {"fetch_max_bytes": 1_000, "max_partition_fetch_bytes": 1_000}
    async with consuming(T2, **options) as (broker, consumer):
        for number in range(100):
            broker.produce(TOPIC, [b"x" * 400])
            broker.produce(TOPIC, [b"%d" % number], partition=1)
        batches = consumer.read_range(T0, 0, 100)
        async for _ in batches:
            break
        if way == "aclose":
            await batches.aclose()
        del batches, _
        gc.collect()
        await asyncio.sleep(1)

        assert lanes(consumer) == held(consumer) == 0
        assert offsets(await ranged(consumer.read_range(T1, 0, 100))) == list(range(100))


@pytest.mark.parametrize("seconds", [0.0, 0.001, 0.2])
@on_virtual_time
async def test_a_range_that_is_closed_while_a_task_waits_for_it_ends_there(seconds: float) -> None:
    async with consuming(T2) as (broker, consumer):
        broker.produce(TOPIC, values(10))
        hold = broker.faults.hold("Fetch")
        if seconds == 0.001:
            broker.faults.delay("ListOffsets", 1)
        batches = consumer.read_range(T0, 0, 10)
        reading = asyncio.create_task(ranged(batches))
        await asyncio.sleep(seconds)
        await batches.aclose()
        async with asyncio.timeout(5):
            found = await reading
        hold.release()
        await asyncio.sleep(1)

        assert found == []
        assert lanes(consumer) == held(consumer) == 0


@on_virtual_time
async def test_a_range_that_nobody_reads_does_not_stall_the_others() -> None:
    names = [TopicPartition(TOPIC, number) for number in range(10)]
    options: dict[str, Any] = {"fetch_max_bytes": 20_000, "max_partition_fetch_bytes": 10_000}
    async with consuming(T0, topics={TOPIC: 10}, **options) as (broker, consumer):
        consumer.pause(T0)
        for number in range(10):
            for _ in range(60):
                broker.produce(TOPIC, [b"x" * 900], partition=number)
        slow = [consumer.read_range(name, 0, 60) for name in names[1:]]
        began = [(await anext(each)).records for each in slow]
        async with asyncio.timeout(30):
            found = await ranged(consumer.read_range(names[0], 0, 60))

        assert offsets(found) == list(range(60))
        rest = [await ranged(each) for each in slow]
        for first, others in zip(began, rest, strict=True):
            assert offsets(first + others) == list(range(60))


@on_virtual_time
async def test_two_tasks_do_not_read_one_range() -> None:
    async with consuming(T1) as (broker, consumer):
        broker.produce(TOPIC, values(3))
        batches = consumer.read_range(T0, 0, 3)
        first = asyncio.create_task(anext(batches))
        await asyncio.sleep(0)
        error = await failure(anext(batches))

        assert isinstance(error, StateError)
        assert offsets((await first).records) == [0, 1, 2]


@on_virtual_time
async def test_a_range_goes_on_at_another_leader() -> None:
    options: dict[str, Any] = {"fetch_max_bytes": 1_000, "max_partition_fetch_bytes": 1_000}
    async with consuming(T1, nodes=3, **options) as (broker, consumer):
        for number in range(40):
            broker.produce(TOPIC, [b"x" * 400])
            assert number >= 0
        found = []
        async for batch in consumer.read_range(T0, 0, 40):
            found += batch.records
            if len(found) in (6, 20):
                broker.move_leader(TOPIC, 0, other_than(broker, leader_of(broker)))

        assert offsets(found) == list(range(40))


@on_virtual_time
async def test_errors_that_pass_are_passed() -> None:
    async with consuming(T1) as (broker, consumer):
        broker.produce(TOPIC, values(3))
        with broker.faults.fail("Fetch", NotLeaderOrFollower, topic=TOPIC, partition=0, times=3):
            found = await ranged(consumer.read_range(T0, 0, 3))

        assert offsets(found) == [0, 1, 2]


@on_virtual_time
async def test_a_node_that_does_not_answer_is_a_timeout_that_says_so() -> None:
    async with consuming(T1, default_api_timeout_ms=5_000) as (broker, consumer):
        broker.produce(TOPIC, values(3))
        with broker.faults.hold("Fetch"):
            began_at = now()
            error = await failure(ranged(consumer.read_range(T0, 0, 3)))

            assert isinstance(error, KafkaTimeoutError)
            assert "t-0" in str(error)
            assert 5 <= now() - began_at < 6


@pytest.mark.parametrize("end", [3, 0])
@on_virtual_time
async def test_a_topic_that_is_not_there_is_a_timeout_that_says_so(end: int) -> None:
    settings = {"auto.create.topics.enable": False}
    async with consuming(T1, settings=settings, default_api_timeout_ms=3_000) as (_, consumer):
        began_at = now()
        error = await failure(ranged(consumer.read_range(TopicPartition("absent", 0), 0, end)))

        assert isinstance(error, KafkaTimeoutError)
        assert "absent" in str(error)
        assert now() - began_at < 4


@on_virtual_time
async def test_who_waits_for_a_range_is_told_when_the_consumer_closes() -> None:
    async with consuming(T1) as (broker, consumer):
        broker.produce(TOPIC, values(3))
        broker.faults.hold("Fetch")
        batches = consumer.read_range(T0, 0, 3)
        reading = asyncio.create_task(failure(anext(batches)))
        await asyncio.sleep(1)
        await consumer.aclose()

        assert isinstance(await reading, StateError)


def test_a_range_that_is_cancelled_anywhere_goes_on_without_loss() -> None:
    large = large_batch()

    async def scenario(cut: Cut) -> None:
        async with EmbeddedBroker(topics={TOPIC: 1}) as broker, consumer_of(broker) as consumer:
            for number in range(3):
                broker.produce(TOPIC, values(5, number * 5))
            write(broker, large)
            batches = consumer.read_range(T0, 2, 200)
            found: list[Any] = []

            async def take() -> None:
                while True:
                    try:
                        batch = await anext(batches)
                    except StopAsyncIteration:
                        return
                    found.extend(batch.records)

            await cut(take())
            async with asyncio.timeout(10):
                found.extend(await ranged(batches))

            assert offsets(found) == list(range(2, 200))
            assert lanes(consumer) == held(consumer) == 0

    cut_everywhere(scenario)


@on_virtual_time
async def test_wrong_ranges_are_refused_at_once() -> None:
    async with consuming(T1) as (_, consumer):
        for start, end in [(-1, 3), (3, -1), (4, 3)]:
            with pytest.raises(ValueError, match="t-0"):
                consumer.read_range(T0, start, end)
        wrong: list[tuple[Any, Any]] = [("0", 3), (0, None), (0.5, 3), (True, 3)]
        for first, last in wrong:
            with pytest.raises(TypeError, match="int"):
                consumer.read_range(T0, first, last)
        with pytest.raises(TypeError, match="TopicPartition"):
            consumer.read_range("t", 0, 1)  # type: ignore[arg-type]  # that is the point
        assert places(await ranged(consumer.read_range(T0, 0, 0))) == []
