"""What is fetched, and what of it reaches the user: gaps, damage, seeks, pauses (B42 to B47)."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from kafka_aio.consumer import NoOffsetForPartition
from kafka_aio.errors import CorruptRecord, KafkaTimeoutError, OffsetOutOfRange
from kafka_aio.records.compression import Codec
from kafka_aio.types import TimestampType
from tests.scenarios.consumer.world import (
    T0,
    T1,
    TOPIC,
    batch_of,
    consuming,
    failure,
    fetches,
    in_batches,
    nothing_comes,
    now,
    offsets,
    places,
    polled,
    read,
    values,
    write,
)
from tests.scenarios.producer.delivering import on_virtual_time

READS = pytest.mark.parametrize("way", [read, polled, in_batches])


# B42
@READS
@on_virtual_time
async def test_the_position_goes_over_gaps_and_empty_batches(way: Any) -> None:
    async with consuming(T0) as (broker, consumer):
        write(broker, batch_of(values(2)), last_offset_delta=4)
        write(broker, batch_of(values(5)), is_empty=True)
        write(broker, batch_of(values(2)))
        write(broker, batch_of(values(3)), is_empty=True)
        found = await way(consumer, 4)
        await nothing_comes(consumer)

        assert offsets(found) == [0, 1, 10, 11]
        assert await consumer.position(T0) == 15
        assert consumer.current_lag(T0) == 0


# B41
@READS
@on_virtual_time
async def test_batches_for_brokers_alone_are_not_seen_and_the_position_passes_them(
    way: Any,
) -> None:
    async with consuming(T0, isolation_level="read_committed") as (broker, consumer):
        write(broker, batch_of(values(1), control=True))
        write(broker, batch_of(values(2)))
        write(broker, batch_of(values(1), control=True))
        write(broker, batch_of(values(1)))
        write(broker, batch_of(values(1), control=True))
        found = await way(consumer, 3)
        await nothing_comes(consumer)

        assert offsets(found) == [1, 2, 4]
        assert await consumer.position(T0) == 6


# B42
@on_virtual_time
async def test_a_log_that_is_empty_batches_alone_is_passed_without_a_loop() -> None:
    async with consuming(T0) as (broker, consumer):
        for _ in range(3):
            write(broker, batch_of(values(5)), is_empty=True)
        await nothing_comes(consumer, 10)

        assert await consumer.position(T0) == 15
        assert fetches(broker) < 30  # one for each half second that the broker waits, about
        broker.produce(TOPIC, [b"x"])
        assert offsets(await read(consumer, 1)) == [15]


# B43
@READS
@on_virtual_time
async def test_a_damaged_batch_is_told_once_and_the_partition_rests_until_a_seek(way: Any) -> None:
    async with consuming(T0, T1) as (broker, consumer):
        write(broker, batch_of(values(3)))
        write(broker, batch_of(values(4)), damage=True)
        write(broker, batch_of(values(2)))
        found = await way(consumer, 3)
        error = await failure(way(consumer, 1))
        position = await consumer.position(T0)
        before = fetches(broker)
        await nothing_comes(consumer, 60)
        broker.produce(TOPIC, values(2), partition=1)
        others = await way(consumer, 2)

        assert offsets(found) == [0, 1, 2]
        assert isinstance(error, CorruptRecord)
        assert (error.topic, error.partition, error.offset, error.next_offset) == (TOPIC, 0, 3, 7)
        assert position == 3
        assert fetches(broker) - before < 130  # those of the other partition
        assert places(others) == [(1, 0), (1, 1)]
        consumer.seek(T0, error.next_offset)
        assert places(await way(consumer, 2)) == [(0, 7), (0, 8)]


# B43
@READS
@on_virtual_time
async def test_what_is_damaged_on_its_way_is_good_when_it_is_sought_again(way: Any) -> None:
    async with consuming(T0) as (broker, consumer):
        broker.produce(TOPIC, values(3))
        with broker.faults.corrupt(TOPIC, times=1):
            error = await failure(way(consumer, 1))
            assert isinstance(error, CorruptRecord)
            consumer.seek(T0, await consumer.position(T0))

            assert offsets(await way(consumer, 3)) == [0, 1, 2]


@on_virtual_time
async def test_damage_is_not_looked_for_if_the_user_does_not_want_it() -> None:
    async with consuming(T0, check_crcs=False) as (broker, consumer):
        write(broker, batch_of([b"a"]), damage=True)
        (found,) = await read(consumer, 1)

        assert found.value == b"`"


@pytest.mark.parametrize("way", [read, polled])  # batches are inflated by who holds them
@on_virtual_time
async def test_a_batch_that_is_too_large_when_inflated_is_told_and_can_be_passed(way: Any) -> None:
    async with consuming(T0, max_decompressed_batch_bytes=10_000) as (broker, consumer):
        write(broker, batch_of([b"\0" * 20_000], codec=Codec.GZIP))
        write(broker, batch_of(values(1)))
        error = await failure(way(consumer, 1))

        assert isinstance(error, CorruptRecord)
        assert (error.partition, error.offset, error.next_offset) == (0, 0, 1)
        consumer.seek(T0, 1)
        assert offsets(await way(consumer, 1)) == [1]


# B45
@pytest.mark.parametrize(("policy", "expected"), [("earliest", 4), ("latest", 10)])
@on_virtual_time
async def test_a_position_outside_of_the_log_is_reset(policy: str, expected: int) -> None:
    async with consuming(T0, T1, auto_offset_reset=policy) as (broker, consumer):
        await consumer.position(T1)
        broker.produce(TOPIC, values(10))
        broker._state.topics.by_name[TOPIC].partitions[0].log.delete_before(4)
        for offset in (2, 50):
            consumer.seek(T0, offset)
            await nothing_comes(consumer, 2) if policy == "latest" else await read(consumer, 6)

            assert await consumer.position(T0) == (10 if policy == "earliest" else expected)
        if policy == "earliest":
            consumer.seek(T0, 1)
            assert offsets(await read(consumer, 1)) == [expected]


# B45
@on_virtual_time
async def test_a_position_outside_of_the_log_is_told_once_if_there_is_no_policy() -> None:
    async with consuming(T0, T1, auto_offset_reset="none") as (broker, consumer):
        consumer.seek(T0, 50)
        consumer.seek(T1, 0)
        broker.produce(TOPIC, values(3))
        error = await failure(read(consumer, 1))
        before = fetches(broker)
        await nothing_comes(consumer, 60)
        asked = fetches(broker) - before
        broker.produce(TOPIC, values(1), partition=1)
        others = await read(consumer, 1)

        assert isinstance(error, OffsetOutOfRange)
        assert "t-0" in str(error)
        assert "50" in str(error)
        assert asked < 130
        assert places(others) == [(1, 0)]
        assert await consumer.position(T0) == 50
        consumer.seek(T0, 1)
        assert places(await read(consumer, 2)) == [(0, 1), (0, 2)]


# B45
@on_virtual_time
async def test_an_answer_that_is_out_of_range_is_ignored_after_a_seek() -> None:
    async with consuming(T0, auto_offset_reset="none") as (broker, consumer):
        broker.produce(TOPIC, values(3))
        consumer.seek(T0, 50)
        with broker.faults.hold("Fetch", when="after") as hold:
            await broker.wait_hits(hold)
            consumer.seek(T0, 1)

        assert offsets(await read(consumer, 2)) == [1, 2]


@on_virtual_time
async def test_without_a_policy_and_a_commit_the_user_is_told_once_and_can_seek() -> None:
    async with consuming(T0, group_id="g", auto_offset_reset="none") as (broker, consumer):
        broker.produce(TOPIC, values(3))
        error = await failure(read(consumer, 1))
        await nothing_comes(consumer, 60)
        asked = await failure(consumer.position(T0))
        consumer.seek(T0, 1)

        assert isinstance(error, NoOffsetForPartition)
        assert error.partitions == (T0,)
        assert isinstance(asked, NoOffsetForPartition)
        assert offsets(await read(consumer, 2)) == [1, 2]


@on_virtual_time
async def test_a_reset_by_duration_begins_at_the_first_record_that_is_young_enough() -> None:
    async with consuming(T0, T1, auto_offset_reset="by_duration:PT1H") as (broker, consumer):
        from kafka_aio.net.clock import wall_time
        from kafka_aio.records.codec import Record

        ages = [7_200, 3_700, 3_500, 10]
        now_ms = int(wall_time() * 1000)
        old = [Record("", 0, 0, now_ms - age * 1000, None, b"x") for age in ages]
        broker.produce(TOPIC, old)
        broker.produce(TOPIC, old[:2], partition=1)
        found = await read(consumer, 2)

        assert places(found) == [(0, 2), (0, 3)]
        assert found[0].timestamp_type is TimestampType.CREATE_TIME
        assert await consumer.position(T1) == 2  # all are too old: the end


# B46
@READS
@on_virtual_time
async def test_what_was_fetched_before_a_seek_is_not_handed_over(way: Any) -> None:
    async with consuming(T0) as (broker, consumer):
        for number in range(5):
            broker.produce(TOPIC, values(10, 10 * number))
        await way(consumer, 10)
        consumer.seek(T0, 35)
        found = await way(consumer, 15)
        consumer.seek(T0, 3)
        again = await way(consumer, 7)

        assert offsets(found) == list(range(35, 50))
        assert offsets(again)[:7] == list(range(3, 10))


# B46
@on_virtual_time
async def test_who_seeks_waits_no_longer_than_the_fetch_that_is_out() -> None:
    async with consuming(T0, fetch_max_wait_ms=4_000) as (broker, consumer):
        broker.produce(TOPIC, values(3))
        await polled(consumer, 3)
        await asyncio.sleep(1)
        consumer.seek(T0, 0)
        before = now()
        found = await polled(consumer, 3)

        assert offsets(found) == [0, 1, 2]
        assert now() - before == pytest.approx(3, abs=0.1)


@READS
@on_virtual_time
async def test_an_answer_to_what_was_asked_before_a_seek_is_not_handed_over(way: Any) -> None:
    async with consuming(T0) as (broker, consumer):
        broker.produce(TOPIC, values(10))
        with broker.faults.hold("Fetch", when="after") as hold:
            await broker.wait_hits(hold)
            consumer.seek(T0, 7)
            await asyncio.sleep(0.1)

        assert offsets(await way(consumer, 3)) == [7, 8, 9]


# B46
@pytest.mark.parametrize("is_out", [False, True])
@on_virtual_time
async def test_what_was_fetched_for_an_earlier_assignment_is_not_handed_over(is_out: bool) -> None:
    async with consuming(T0) as (broker, consumer):
        broker.produce(TOPIC, values(10))
        broker.produce(TOPIC, values(2), partition=1)
        if is_out:
            hold = broker.faults.hold("Fetch", when="after")
            await broker.wait_hits(hold)
        else:
            await read(consumer, 2)
            hold = broker.faults.hold("Fetch", node=1, topic=TOPIC, partition=2)
        consumer.assign([T1])
        await asyncio.sleep(0.1)
        hold.release()
        others = await read(consumer, 2)
        consumer.assign([T0, T1])
        consumer.seek(T0, 6)

        assert places(others) == [(1, 0), (1, 1)]
        assert places(await read(consumer, 4)) == [(0, 6), (0, 7), (0, 8), (0, 9)]


# B47
@READS
@on_virtual_time
async def test_a_pause_keeps_what_was_fetched_and_resume_does_not_fetch_it_again(way: Any) -> None:
    async with consuming(T0) as (broker, consumer):
        for number in range(4):
            broker.produce(TOPIC, values(10, 10 * number))
        first = await way(consumer, 5)
        for number in range(4, 8):
            broker.produce(TOPIC, values(10, 10 * number))
        await asyncio.sleep(2)
        consumer.pause(T0)
        await nothing_comes(consumer, 10)
        with broker.faults.hold("Fetch"):
            consumer.resume(T0)
            found = first + await way(consumer, 80 - len(first), within=5)

        assert offsets(found) == list(range(80))


# B47
@on_virtual_time
async def test_what_comes_for_a_partition_that_was_paused_meanwhile_is_kept() -> None:
    async with consuming(T0) as (broker, consumer):
        broker.produce(TOPIC, values(10))
        hold = broker.faults.hold("Fetch", when="after")
        await broker.wait_hits(hold)
        consumer.pause(T0)
        hold.release()
        await nothing_comes(consumer, 10)
        with broker.faults.hold("Fetch"):
            consumer.resume(T0)

            assert offsets(await read(consumer, 10, within=5)) == list(range(10))


@on_virtual_time
async def test_a_pause_in_the_body_takes_effect_with_the_next_record() -> None:
    async with consuming(T0, T1) as (broker, consumer):
        broker.produce(TOPIC, values(10))
        first = (await read(consumer, 3))[-1]
        consumer.pause(T0)
        broker.produce(TOPIC, values(2), partition=1)
        others = await read(consumer, 2)
        await nothing_comes(consumer)
        consumer.resume(T0)

        assert places(others) == [(1, 0), (1, 1)]
        assert offsets(await read(consumer, 7)) == list(range(first.offset + 1, 10))


@READS
@on_virtual_time
async def test_chunks_of_very_many_batches_survive_a_pause_at_their_end(way: Any) -> None:
    async with consuming(T0) as (broker, consumer):
        for _ in range(2_500):  # so many that nobody knows where they end before they are read
            broker.produce(TOPIC, [b"x"])
        found = await way(consumer, 2_500)
        consumer.pause(T0)
        await nothing_comes(consumer, 1)
        consumer.resume(T0)
        await nothing_comes(consumer, 1)
        broker.produce(TOPIC, [b"y"])

        assert offsets(found) == list(range(2_500))
        assert offsets(await way(consumer, 1)) == [2_500]


@READS
@on_virtual_time
async def test_the_next_request_is_out_before_what_has_come_is_handed_over(way: Any) -> None:
    async with consuming(T0) as (broker, consumer):
        for _ in range(3):
            write(broker, batch_of(values(2)))
            await way(consumer, 2)

            assert consumer._parts.fetcher.fetches.out == 1


@on_virtual_time
async def test_a_record_larger_than_what_is_asked_for_comes_all_the_same() -> None:
    options: dict[str, Any] = {"fetch_max_bytes": 1_000, "max_partition_fetch_bytes": 500}
    async with consuming(T0, T1, **options) as (broker, consumer):
        broker.produce(TOPIC, [b"x" * 100_000, b"y"])
        broker.produce(TOPIC, [b"x" * 100_000, b"y"], partition=1)
        found = await read(consumer, 4)

        assert sorted(places(found)) == [(0, 0), (0, 1), (1, 0), (1, 1)]


@on_virtual_time
async def test_with_little_memory_and_many_partitions_all_are_read_and_little_is_held() -> None:
    most = 20_000
    names = [TOPIC] * 50
    options: dict[str, Any] = {"fetch_max_bytes": most, "max_partition_fetch_bytes": 4_000}
    async with consuming(*_partitions(50), topics={TOPIC: 50}, **options) as (broker, consumer):
        for number in range(len(names)):
            for _ in range(10):
                broker.produce(TOPIC, [b"x" * 900], partition=number)
        held, found = 0, []
        for _ in range(500):
            found.append(await anext(consumer))
            held = max(held, consumer.statistics().buffered_bytes)

        assert len(set(places(found))) == 500
        assert 0 < held <= most + 4_000


@on_virtual_time
async def test_paused_partitions_with_full_buffers_do_not_stall_the_others() -> None:
    options: dict[str, Any] = {"fetch_max_bytes": 20_000, "max_partition_fetch_bytes": 10_000}
    async with consuming(*_partitions(4), topics={TOPIC: 4}, **options) as (broker, consumer):
        for number in range(4):
            for _ in range(40):
                broker.produce(TOPIC, [b"x" * 900], partition=number)
        await asyncio.sleep(5)
        paused = _partitions(3)
        consumer.pause(*paused)
        found = await read(consumer, 40)
        consumer.resume(*paused)
        rest = await read(consumer, 120)

        assert places(found) == [(3, offset) for offset in range(40)]
        assert len(set(places(rest))) == 120


@on_virtual_time
async def test_an_error_of_one_partition_does_not_stop_the_others() -> None:
    from kafka_aio.errors import TopicAuthorizationFailed

    async with consuming(T0, T1) as (broker, consumer):
        broker.produce(TOPIC, values(1), partition=1)
        with broker.faults.fail("Fetch", TopicAuthorizationFailed, topic=TOPIC, partition=0):
            found: list[Any] = []
            errors: list[Any] = []
            while not (found and errors):
                try:
                    found += await read(consumer, 1)
                except TopicAuthorizationFailed as error:
                    errors.append(error)
        broker.produce(TOPIC, values(1))

        assert places(found) == [(1, 0)]
        assert "t-0" in str(errors[0])
        consumer._parts.handover.forget_told()
        assert places(await read(consumer, 1)) == [(0, 0)]


@on_virtual_time
async def test_a_position_that_cannot_be_known_says_why() -> None:
    async with consuming(T0, settings={"auto.create.topics.enable": False}) as (_, consumer):
        from kafka_aio.types import TopicPartition

        absent = TopicPartition(TOPIC, 7)
        consumer.assign([absent])
        error = await failure(consumer.position(absent, timeout=2))

        assert isinstance(error, KafkaTimeoutError)
        assert "no such partition" in str(error)


def _partitions(count: int) -> list[Any]:
    from kafka_aio.types import TopicPartition

    return [TopicPartition(TOPIC, number) for number in range(count)]
