"""Records by `async for`, `poll` and `batches`; user code that sees them; one reader at a time."""

from __future__ import annotations

import asyncio
import json
import random
from typing import Any

import pytest

from kafka_aio.errors import DeserializationError, StateError, WakeupError
from kafka_aio.records.compression import Codec
from kafka_aio.types import OffsetAndTimestamp, TopicPartition
from tests.scenarios.consumer.grouped import PROTOCOLS, options_of
from tests.scenarios.consumer.world import (
    T0,
    T1,
    T2,
    TOPIC,
    batch_of,
    consuming,
    failure,
    in_batches,
    nothing_comes,
    offsets,
    places,
    polled,
    read,
    values,
    write,
)
from tests.scenarios.producer.delivering import on_virtual_time

ALL = [T0, T1, T2]


def number_of(data: bytes) -> int:
    """A deserializer with poison: it takes numbers only."""
    return int(data)


@on_virtual_time
async def test_a_record_has_all_that_was_written() -> None:
    from kafka_aio.records.codec import Record

    async with consuming(T0) as (broker, consumer):
        written = Record("", 0, 0, 1_234, b"k", b"v", [("h", b"1"), ("h", None)])
        broker.produce(TOPIC, [written, (None, None)])
        first, second = await read(consumer, 2)

        assert (first.topic, first.partition, first.offset) == (TOPIC, 0, 0)
        assert (first.key, first.value, first.timestamp) == (b"k", b"v", 1_234)
        assert list(first.headers) == [("h", b"1"), ("h", None)]
        assert first.leader_epoch == 0
        assert (second.key, second.value) == (None, None)


@on_virtual_time
async def test_poll_gives_no_more_than_was_asked_for_and_nothing_is_lost() -> None:
    async with consuming(*ALL, max_poll_records=7) as (broker, consumer):
        for number in range(3):
            broker.produce(TOPIC, values(20), partition=number)
        await asyncio.sleep(1)
        sizes: list[int] = []
        found: list[Any] = []
        while len(found) < 60:
            got = await consumer.poll(max_records=1 if len(found) < 5 else None)
            sizes.append(sum(map(len, got.values())))
            found += [record for records in got.values() for record in records]

        assert sizes[:5] == [1] * 5
        assert max(sizes) == 7
        for number in range(3):
            assert [at for which, at in places(found) if which == number] == list(range(20))


@on_virtual_time
async def test_poll_gives_records_of_several_partitions_by_partition() -> None:
    async with consuming(*ALL) as (broker, consumer):
        for number in range(3):
            broker.produce(TOPIC, values(2), partition=number)
        await asyncio.sleep(1)
        got = await consumer.poll()

        assert {name: offsets(records) for name, records in got.items()} == {
            T0: [0, 1],
            T1: [0, 1],
            T2: [0, 1],
        }


@pytest.mark.parametrize("count", [0, -1, "3", 1.5, True])
@on_virtual_time
async def test_what_is_no_number_of_records_is_refused(count: Any) -> None:
    async with consuming(T0) as (_, consumer):
        with pytest.raises((TypeError, ValueError), match="max_records"):
            await consumer.poll(timeout=0, max_records=count)


@on_virtual_time
async def test_batches_have_records_and_arrow_tables() -> None:
    pytest.importorskip("pyarrow")
    async with consuming(T0) as (broker, consumer):
        broker.produce(TOPIC, values(10))
        async for batch in consumer.batches():
            assert (batch.topic, batch.partition, batch.next_offset) == (TOPIC, 0, 10)
            assert offsets(batch.records) == list(range(10))
            assert batch.to_arrow().column("value").to_pylist() == values(10)
            break


@pytest.mark.parametrize("seed", range(5))
@on_virtual_time
async def test_ways_of_reading_can_be_mixed_without_loss_or_repetition(seed: int) -> None:
    async with consuming(*ALL) as (broker, consumer):
        rng = random.Random(seed)
        for _ in range(60):
            number = rng.randrange(3)
            codec = rng.choice([Codec.NONE, Codec.GZIP])
            count = rng.randrange(1, 200)
            write(broker, batch_of(values(count), codec=codec), partition=number)
        ends = broker.end_offsets(TOPIC)
        found: list[Any] = []
        while len(found) < sum(ends.values()):
            way = rng.choice([read, polled, in_batches])
            left = sum(ends.values()) - len(found)
            found += await way(consumer, min(rng.randrange(1, 100), left))
            if rng.random() < 0.2:
                name = rng.choice(ALL)
                consumer.pause(name)
                await asyncio.sleep(rng.choice([0, 0.1]))
                consumer.resume(name)
        await nothing_comes(consumer, 1)

        for number, name in enumerate(ALL):
            got = [at for which, at in places(found) if which == number]
            assert got == list(range(ends[name]))
            assert await consumer.position(name) == ends[name]


@on_virtual_time
async def test_who_waits_for_records_while_another_unsubscribes_is_told_so() -> None:
    async with consuming(group_id="g") as (_, consumer):
        waiting = asyncio.create_task(consumer.poll())
        await asyncio.sleep(1)

        await consumer.unsubscribe()

        with pytest.raises(StateError, match="nothing to read"):
            await waiting


@on_virtual_time
async def test_a_second_task_that_reads_is_told_so_and_the_first_goes_on() -> None:
    async with consuming(T0) as (broker, consumer):
        first = asyncio.create_task(read(consumer, 1))
        await asyncio.sleep(0.1)
        errors = [
            await failure(consumer.poll(timeout=1)),
            await failure(read(consumer, 1)),
            await failure(anext(consumer.batches())),
        ]
        broker.produce(TOPIC, values(1))

        assert {type(each) for each in errors} == {StateError}
        assert "another task" in str(errors[0])
        assert offsets(await first) == [0]
        await nothing_comes(consumer, 0)


@on_virtual_time
async def test_a_second_task_is_told_so_while_a_poll_is_about_to_take_records() -> None:
    async with consuming(T0) as (broker, consumer):
        broker.produce(TOPIC, values(10))
        await read(consumer, 2)
        first = asyncio.create_task(consumer.poll())
        await asyncio.sleep(0)
        error = await failure(read(consumer, 1))

        assert isinstance(error, StateError)
        assert offsets((await first)[T0]) == list(range(2, 10))


@on_virtual_time
async def test_a_task_that_is_to_read_is_not_refused_as_somebody_pauses_before_it_begins() -> None:
    async with consuming(T0, T1) as (broker, consumer):
        broker.produce(TOPIC, values(10))
        await read(consumer, 1)
        asyncio.get_running_loop().call_soon(consumer.pause, T1)
        found = [await asyncio.wait_for(anext(consumer), 5)]
        reading = asyncio.create_task(anext(consumer))
        consumer.seek(T0, 7)
        found.append(await reading)

        assert offsets(found) == [1, 7]


@on_virtual_time
async def test_other_tasks_may_do_all_else_meanwhile() -> None:
    async with consuming(T0, T1, group_id="g") as (broker, consumer):
        reading = asyncio.create_task(read(consumer, 1))
        await asyncio.sleep(1)
        consumer.pause(T0)
        consumer.seek(T1, 3)
        await consumer.commit({T1: 2})
        position = await consumer.position(T1)
        consumer.resume(T0)
        broker.produce(TOPIC, values(5), partition=1)

        assert position == 3
        assert places(await reading) == [(1, 3)]
        assert (await consumer.committed([T1]))[T1] is not None


@pytest.mark.parametrize("way", [polled, read, in_batches])
@pytest.mark.parametrize("protocol", PROTOCOLS)
@on_virtual_time
async def test_a_rebalance_callback_that_reads_is_told_so_and_does_not_wait_for_itself(
    protocol: str, way: Any
) -> None:
    errors = []

    class Reads:
        async def assigned(self, partitions: Any) -> None:
            errors.append(await failure(way(consumer, 1)))

    async with consuming(group_id="g", **options_of(protocol)) as (broker, consumer):
        broker.produce(TOPIC, values(1))
        consumer.subscribe([TOPIC], Reads())
        await consumer.poll(timeout=0)
        await asyncio.sleep(30)
        found = await way(consumer, 1)

        assert {type(error) for error in errors} == {StateError}
        assert "a rebalance callback cannot read from its consumer" in str(errors[0])
        assert offsets(found) == [0]


# Wake-ups.


@pytest.mark.parametrize("way", [read, polled, in_batches])
@on_virtual_time
async def test_wakeup_ends_the_wait_once(way: Any) -> None:
    async with consuming(T0) as (broker, consumer):
        asyncio.get_running_loop().call_later(3, consumer.wakeup)
        error = await failure(way(consumer, 1))
        broker.produce(TOPIC, values(3))

        assert isinstance(error, WakeupError)
        assert offsets(await way(consumer, 3)) == [0, 1, 2]


@on_virtual_time
async def test_wakeup_before_the_next_record_comes_first_and_costs_none() -> None:
    async with consuming(T0) as (broker, consumer):
        broker.produce(TOPIC, values(5))
        found = await read(consumer, 2)
        consumer.wakeup()
        error = await failure(read(consumer, 1))
        found += await read(consumer, 3)

        assert isinstance(error, WakeupError)
        assert offsets(found) == list(range(5))


# Code of the user's.


@pytest.mark.parametrize("way", [read, polled])
@on_virtual_time
async def test_a_poison_record_is_told_after_the_good_ones_and_can_be_passed(way: Any) -> None:
    async with consuming(T0, T1, value_deserializer=number_of) as (broker, consumer):
        broker.produce(TOPIC, [b"1", b"2", b"x", b"4"])
        found = await way(consumer, 2)
        error = await failure(way(consumer, 1))
        broker.produce(TOPIC, [b"7"], partition=1)
        others = await way(consumer, 1)
        await nothing_comes(consumer)

        assert [record.value for record in found] == [1, 2]
        assert isinstance(error, DeserializationError)
        assert (error.topic, error.partition, error.offset, error.part) == (TOPIC, 0, 2, "value")
        assert [record.value for record in others] == [7]
        assert await consumer.position(T0) == 2
        consumer.seek(T0, error.next_offset)
        assert [record.value for record in await way(consumer, 1)] == [4]


@on_virtual_time
async def test_a_poison_record_can_be_tried_again() -> None:
    tries = []

    def picky(data: bytes) -> Any:
        tries.append(data)
        if len(tries) < 3:
            raise ValueError("not yet")
        return json.loads(data)

    async with consuming(T0, key_deserializer=picky) as (broker, consumer):
        broker.produce(TOPIC, [("1", "a")])
        for _ in range(2):
            error = await failure(read(consumer, 1))
            assert isinstance(error, DeserializationError)
            assert error.part == "key"
            assert isinstance(error.__cause__, ValueError)
            consumer.seek(T0, error.offset)
        (record,) = await read(consumer, 1)

        assert (record.key, record.value) == (1, b"a")


@pytest.mark.parametrize("way", [read, polled])
@on_virtual_time
async def test_nothing_of_a_poison_record_is_in_the_log(
    way: Any, caplog: pytest.LogCaptureFixture
) -> None:
    async with consuming(T0, value_deserializer=number_of) as (broker, consumer):
        broker.produce(TOPIC, [b"4111-secret"])
        error = await failure(way(consumer, 1))

        assert "stuck" in caplog.text
        assert "at offset 0: the value cannot be deserialized: ValueError" in caplog.text
        assert "secret" not in caplog.text
        assert "secret" in str(error.__cause__)


@on_virtual_time
async def test_tombstones_are_not_deserialized() -> None:
    async with consuming(T0, value_deserializer=number_of) as (broker, consumer):
        broker.produce(TOPIC, [None, b"3"])

        assert [record.value for record in await read(consumer, 2)] == [None, 3]


@on_virtual_time
async def test_a_poison_record_is_not_committed() -> None:
    options: dict[str, Any] = {"group_id": "g", "value_deserializer": number_of}
    async with consuming(T0, **options) as (broker, consumer):
        broker.produce(TOPIC, [b"1", b"2", b"x", b"4"])
        await polled(consumer, 2)
        await failure(polled(consumer, 1))
        await consumer.commit()

        assert broker.committed("g")[T0].offset == 2


@on_virtual_time
async def test_interceptors_may_change_what_is_handed_over_and_their_errors_are_logged(
    caplog: pytest.LogCaptureFixture,
) -> None:
    class Even:
        def on_consume(self, records: list[Any]) -> list[Any]:
            return [record for record in records if record.offset % 2 == 0]

    class Broken:
        def on_consume(self, records: list[Any]) -> Any:
            raise RuntimeError("broken")

    async with consuming(T0, interceptors=[Broken(), Even()]) as (broker, consumer):
        broker.produce(TOPIC, values(6))
        broker.produce(TOPIC, values(1))
        found = await read(consumer, 4)
        await nothing_comes(consumer, 1)

        assert offsets(found) == [0, 2, 4, 6]
        assert await consumer.position(T0) == 7
        assert "Broken.on_consume raised" in caplog.text


@on_virtual_time
async def test_an_interceptor_that_gives_no_records_is_passed_over(
    caplog: pytest.LogCaptureFixture,
) -> None:
    class Bare:
        def on_consume(self, records: list[Any]) -> list[Any]:
            return [record.value for record in records]

    class Waiting:
        async def on_consume(self, records: list[Any]) -> list[Any]:
            return records

    async with consuming(T0, interceptors=[Bare(), Waiting()]) as (broker, consumer):
        broker.produce(TOPIC, values(3))

        assert offsets(await polled(consumer, 3)) == [0, 1, 2]
        assert "Bare.on_consume gave no list of records" in caplog.text
        assert "Waiting.on_consume gave no list of records" in caplog.text


@on_virtual_time
async def test_an_interceptor_that_drops_all_lets_the_position_go_on() -> None:
    class Nothing:
        def on_consume(self, records: list[Any]) -> list[Any]:
            return []

    async with consuming(T0, interceptors=[Nothing()]) as (broker, consumer):
        broker.produce(TOPIC, values(6))
        await nothing_comes(consumer, 1)

        assert await consumer.position(T0) == 6


# What is there.


@on_virtual_time
async def test_topics_and_offsets_can_be_asked_for() -> None:
    async with consuming(T0, topics={TOPIC: 3, "u": 1}) as (broker, consumer):
        broker.produce(TOPIC, values(5))
        broker._state.topics.by_name[TOPIC].partitions[0].log.delete_before(2)
        record = broker.records(TOPIC)[0]
        topics = await consumer.list_topics()
        infos = await consumer.partitions_for(TOPIC)

        assert {name: len(each) for name, each in topics.items()} == {TOPIC: 3, "u": 1}
        assert [each.partition for each in infos] == [0, 1, 2]
        assert await consumer.beginning_offsets([T0, T1]) == {T0: 2, T1: 0}
        assert await consumer.end_offsets([T0, T1]) == {T0: 5, T1: 0}
        at = await consumer.offsets_for_times({T0: record.timestamp, T1: 0})
        assert at == {T0: OffsetAndTimestamp(2, record.timestamp, 0), T1: None}
        assert (await consumer.offsets_for_times({T0: 2**50}))[T0] is None
        assert await consumer.beginning_offsets([]) == {}


@on_virtual_time
async def test_a_pattern_reads_what_matches_in_full() -> None:
    import re

    topics = {"abc": 1, "abcd": 1, "xabc": 1}
    async with consuming(T0, topics=topics) as (broker, consumer):
        await consumer.unsubscribe()
        consumer.subscribe(re.compile("ab.*"))
        for name in topics:
            broker.produce(name, [name])
        found = await read(consumer, 2)
        await nothing_comes(consumer)

        assert sorted(record.value for record in found) == [b"abc", b"abcd"]
        assert consumer.subscription() == {"abc", "abcd"}
        assert consumer.assignment() == {TopicPartition("abc", 0), TopicPartition("abcd", 0)}
