"""Behaviour B45: an error of a position that is gone is not raised."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from kafka_aio.errors import DeserializationError, OffsetOutOfRange
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

POISON = [b"1", b"2", b"x", b"4", b"5"]


@pytest.mark.parametrize("way", [read, polled])
@on_virtual_time
async def test_a_seek_past_poison_that_was_not_told_yet_is_heeded(way: Any) -> None:
    async with consuming(T0, value_deserializer=int) as (broker, consumer):
        broker.produce(TOPIC, POISON)
        first = await consumer.poll()
        consumer.seek(T0, 3)
        found = await way(consumer, 2)

        assert offsets(first[T0]) == [0, 1]
        assert offsets(found) == [3, 4]
        await nothing_comes(consumer)


@on_virtual_time
async def test_poison_that_is_read_once_more_is_told_once_more() -> None:
    async with consuming(T0, value_deserializer=int) as (broker, consumer):
        broker.produce(TOPIC, POISON)
        await consumer.poll()
        consumer.seek(T0, 1)
        again = await consumer.poll()
        error = await failure(consumer.poll())

        assert offsets(again[T0]) == [1]
        assert isinstance(error, DeserializationError)
        assert error.offset == 2
        await nothing_comes(consumer)


@on_virtual_time
async def test_poison_of_what_is_not_assigned_any_more_is_not_told() -> None:
    async with consuming(T0, value_deserializer=int) as (broker, consumer):
        broker.produce(TOPIC, POISON)
        broker.produce(TOPIC, values(2), partition=1)
        await consumer.poll()
        consumer.assign([T1])
        found = await polled(consumer, 2)

        assert places(found) == [(1, 0), (1, 1)]


@on_virtual_time
async def test_poison_of_what_stays_assigned_is_told_after_the_records_before_it() -> None:
    async with consuming(T0, value_deserializer=int) as (broker, consumer):
        broker.produce(TOPIC, POISON)
        await consumer.poll()
        consumer.assign([T0, T1])
        error = await failure(consumer.poll())

        assert isinstance(error, DeserializationError)


@on_virtual_time
async def test_an_offset_out_of_range_is_forgotten_by_a_seek() -> None:
    async with consuming(T0, auto_offset_reset="none") as (broker, consumer):
        broker.produce(TOPIC, values(5))
        consumer.seek(T0, 1_000)
        await asyncio.sleep(5)
        consumer.seek(T0, 0)
        found = await polled(consumer, 5)
        consumer.seek(T0, 1_000)
        error = await failure(consumer.poll())

        assert offsets(found) == [0, 1, 2, 3, 4]
        assert isinstance(error, OffsetOutOfRange)


@on_virtual_time
async def test_that_there_is_no_offset_is_forgotten_by_a_seek() -> None:
    async with consuming(T0, auto_offset_reset="none") as (broker, consumer):
        broker.produce(TOPIC, values(5))
        await asyncio.sleep(5)  # nobody asks: it is to be told
        consumer.seek(T0, 2)
        found = await polled(consumer, 3)

        assert offsets(found) == [2, 3, 4]
