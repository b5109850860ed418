"""Ranges of one partition at the same time: each has fetches of its own, and they end with it."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from kafka_aio.broker import EmbeddedBroker
from kafka_aio.consumer.ranges import LINGER
from kafka_aio.errors import StateError
from tests.scenarios.consumer.world import (
    T0,
    T1,
    TOPIC,
    consumer_of,
    consuming,
    failure,
    nothing_comes,
    offsets,
    ranged,
    values,
)
from tests.scenarios.producer.delivering import on_virtual_time


def connections(consumer: Any) -> int:
    return int(consumer.metrics()["connections"])


def sessions(broker: EmbeddedBroker) -> int:
    """How many fetch sessions the brokers keep."""
    return sum(len(each._by_id) for each in broker._state.sessions._by_node.values())


def running(consumer: Any) -> list[str]:
    """The names of the consumer's tasks."""
    return [each.name for each in consumer._tasks._running]


@on_virtual_time
async def test_lanes_and_connections_of_ranges_that_have_ended_are_closed() -> None:
    async with consuming(T1) as (broker, consumer):
        broker.produce(TOPIC, values(100))
        await nothing_comes(consumer, 1)
        before = connections(consumer)
        ranges = [consumer.read_range(T0, number, number + 50) for number in range(20)]
        found = await asyncio.gather(*map(ranged, ranges))
        most = connections(consumer)
        await asyncio.sleep(LINGER + 2)

        assert [offsets(each)[0] for each in found] == list(range(20))
        assert most == before + 20
        assert connections(consumer) == before + 1
        assert len(consumer._parts.ranges._lanes) == 1
        assert sessions(broker) == 2  # that of the assignment, and that of the first lane
        assert sorted(each for each in running(consumer) if "ranges" in each) == [
            "fetch ranges 0 connection to node 1",
            "fetcher of ranges 0",
        ]
        again = await asyncio.gather(*(ranged(consumer.read_range(T0, 0, 9)) for _ in range(3)))
        assert [len(each) for each in again] == [9, 9, 9]


@on_virtual_time
async def test_a_lane_is_used_again_while_ranges_follow_each_other() -> None:
    async with consuming(T1) as (broker, consumer):
        broker.produce(TOPIC, values(100))
        held_open = consumer.read_range(T0, 0, 100)
        first = await anext(held_open)
        counts = set()
        for number in range(20):
            found = await ranged(consumer.read_range(T0, number, number + 5))
            assert len(found) == 5
            counts.add(consumer.metrics()["connections_opened"])
            await asyncio.sleep(LINGER / 2)
        rest = await ranged(held_open)

        assert len(counts) == 1
        assert offsets(first.records) + offsets(rest) == list(range(100))


@on_virtual_time
async def test_many_ranges_that_are_held_open_do_not_block_each_other() -> None:
    async with consuming(T1) as (broker, consumer):
        for _ in range(10):
            broker.produce(TOPIC, values(10))
        ranges = [consumer.read_range(T0, 0, 100) for _ in range(12)]
        async with asyncio.timeout(10):
            begun = [(await anext(each)).records for each in ranges]
        await asyncio.sleep(2 * LINGER)
        rest = [await ranged(each) for each in ranges]

        for some, others in zip(begun, rest, strict=True):
            assert offsets(some) + offsets(others) == list(range(100))


@on_virtual_time
async def test_a_lane_whose_fetch_is_not_answered_ends_after_it() -> None:
    async with consuming(T1, request_timeout_ms=30_000) as (broker, consumer):
        broker.produce(TOPIC, values(10))
        await nothing_comes(consumer, 1)
        before = connections(consumer)
        first = consumer.read_range(T0, 0, 10)
        await anext(first)
        with broker.faults.hold("Fetch"):
            second = consumer.read_range(T0, 0, 10)
            reading = asyncio.create_task(ranged(second))
            await asyncio.sleep(1)
            reading.cancel()
            await second.aclose()
            await asyncio.sleep(LINGER + 2)
            still = len(consumer._parts.ranges._lanes)
        await asyncio.sleep(2 * LINGER + 2)

        assert still == 2
        assert len(consumer._parts.ranges._lanes) == 1
        assert connections(consumer) == before + 1
        assert sessions(broker) == 2


@pytest.mark.parametrize("lane", [0, 1])
@on_virtual_time
async def test_who_waits_for_a_range_is_told_when_its_lane_fails(
    lane: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with EmbeddedBroker(topics={TOPIC: 1}) as broker, consumer_of(broker) as consumer:
        broker.produce(TOPIC, values(3))
        broker.faults.hold("Fetch")
        reading = [
            asyncio.create_task(failure(anext(consumer.read_range(T0, 0, 3)))) for _ in range(2)
        ]
        await asyncio.sleep(1)

        def fail() -> None:
            raise RuntimeError("a bug")

        fetcher = consumer._parts.ranges._lanes[lane].fetcher
        monkeypatch.setattr(fetcher, "see_leaders", fail)
        fetcher.wake()
        async with asyncio.timeout(5):
            errors = await asyncio.gather(*reading)

        assert [type(each) for each in errors] == [StateError, StateError]
