"""Interceptors see each record that is handed over, once, and no other."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from tests.scenarios.consumer.world import (
    T0,
    T1,
    TOPIC,
    consuming,
    failure,
    nothing_comes,
    offsets,
    places,
    polled,
    read,
    values,
)
from tests.scenarios.producer.delivering import on_virtual_time


class Notes:
    """Notes the places of the records that it sees, call by call."""

    def __init__(self) -> None:
        self.calls: list[list[tuple[int, int]]] = []

    def on_consume(self, records: list[Any]) -> None:
        self.calls.append(places(records))

    @property
    def seen(self) -> list[tuple[int, int]]:
        return [place for call in self.calls for place in call]


class Even:
    """Leaves out each second record."""

    def on_consume(self, records: list[Any]) -> list[Any]:
        return [record for record in records if record.offset % 2 == 0]


@on_virtual_time
async def test_poll_shows_them_what_it_returns_in_one_call_for_each_partition() -> None:
    notes = Notes()
    async with consuming(T0, T1, interceptors=[notes]) as (broker, consumer):
        for number in range(2):
            broker.produce(TOPIC, values(200), partition=number)
        await asyncio.sleep(1)
        first = await consumer.poll(max_records=1)
        more = await consumer.poll(max_records=350)

        assert notes.calls[:1] == [places(first[T0])]
        assert notes.calls[1:] == [places(records) for records in more.values()]
        assert set(more) == {T0, T1}


@pytest.mark.parametrize("way", [read, polled])
@on_virtual_time
async def test_what_is_put_back_by_a_pause_or_a_seek_was_not_seen(way: Any) -> None:
    notes = Notes()
    async with consuming(T0, T1, interceptors=[notes]) as (broker, consumer):
        broker.produce(TOPIC, values(100))
        found = await way(consumer, 1)
        for _ in range(3):
            consumer.pause(T0)
            await nothing_comes(consumer, 1)
            consumer.resume(T0)
            found += await way(consumer, 1)
        consumer.seek(T0, 50)
        found += await way(consumer, 2)

        assert offsets(found) == [0, 1, 2, 3, 50, 51]
        assert notes.seen == places(found)


@on_virtual_time
async def test_ways_of_reading_can_be_mixed_and_they_see_each_record_once() -> None:
    notes = Notes()
    async with consuming(T0, interceptors=[notes]) as (broker, consumer):
        broker.produce(TOPIC, values(100))
        found = await polled(consumer, 10)
        found += await read(consumer, 10)
        found += await polled(consumer, 10)
        async for record in consumer:
            found.append(record)
            if len(found) == 100:
                break

        assert offsets(found) == list(range(100))
        assert notes.seen == places(found)
        assert await consumer.position(T0) == 100


@pytest.mark.parametrize("way", [read, polled])
@on_virtual_time
async def test_what_they_leave_out_is_passed_and_committed(way: Any) -> None:
    async with consuming(T0, interceptors=[Even()], group_id="g") as (broker, consumer):
        broker.produce(TOPIC, values(6))
        found = await way(consumer, 3)
        await nothing_comes(consumer, 1)
        await consumer.unsubscribe()

        assert offsets(found) == [0, 2, 4]
        assert broker.committed("g")[T0].offset == 6


@on_virtual_time
async def test_poll_waits_on_when_they_leave_nothing() -> None:
    async with consuming(T0, interceptors=[Even()]) as (broker, consumer):
        broker.produce(TOPIC, values(2))
        await polled(consumer, 1)
        polling = asyncio.create_task(consumer.poll())
        await asyncio.sleep(1)
        waits = not polling.done()
        broker.produce(TOPIC, values(1))

        assert waits
        assert offsets((await polling)[T0]) == [2]


@on_virtual_time
async def test_who_waits_while_all_is_left_out_has_nothing_in_hand() -> None:
    class Nothing:
        def on_consume(self, records: list[Any]) -> list[Any]:
            return []

    options: dict[str, Any] = {"interceptors": [Nothing()], "group_id": "g"}
    async with consuming(**options) as (broker, consumer):
        broker.produce(TOPIC, values(3))
        reading = asyncio.create_task(read(consumer, 1, within=300))
        await asyncio.sleep(30)
        consumer.subscribe(["u"])
        await asyncio.sleep(60)
        assigned = consumer.assignment()
        reading.cancel()
        await asyncio.wait([reading])

        assert T0 not in assigned
        assert broker.committed("g")[T0].offset == 3


@pytest.mark.parametrize("way", [read, polled])
@on_virtual_time
async def test_they_see_nothing_of_a_record_that_cannot_be_read(way: Any) -> None:
    notes = Notes()
    async with consuming(T0, interceptors=[notes], value_deserializer=int) as (broker, consumer):
        broker.produce(TOPIC, [b"1", b"2", b"x"])
        found = await way(consumer, 2)
        await failure(way(consumer, 1))

        assert [record.value for record in found] == [1, 2]
        assert notes.seen == [(0, 0), (0, 1)]


@pytest.mark.parametrize("way", [read, polled])
@on_virtual_time
async def test_what_only_looks_like_a_record_is_passed_over(
    way: Any, caplog: pytest.LogCaptureFixture
) -> None:
    class Thin:
        """Has an offset, and that is all."""

        def __init__(self, offset: int) -> None:
            self.offset = offset

    class Thins:
        def on_consume(self, records: list[Any]) -> list[Any]:
            return [Thin(record.offset) for record in records]

    async with consuming(T0, interceptors=[Thins()]) as (broker, consumer):
        broker.produce(TOPIC, values(2))
        found = await way(consumer, 2)

        assert [record.value for record in found] == values(2)
        assert "Thins.on_consume gave no list of records" in caplog.text


@pytest.mark.parametrize("way", [read, polled])
@on_virtual_time
async def test_records_that_are_added_are_passed_over(
    way: Any, caplog: pytest.LogCaptureFixture
) -> None:
    class Doubles:
        def on_consume(self, records: list[Any]) -> list[Any]:
            return records * 2

    async with consuming(T0, interceptors=[Doubles()]) as (broker, consumer):
        broker.produce(TOPIC, values(2))
        found = await way(consumer, 2)
        await nothing_comes(consumer, 1)

        assert offsets(found) == [0, 1]
        assert "Doubles.on_consume gave more records than it was given" in caplog.text
