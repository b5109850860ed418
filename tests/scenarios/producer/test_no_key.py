"""Behaviour B18: records without a key spread by bytes; a slow broker gets fewer of them."""

from __future__ import annotations

import asyncio
import random
from collections import Counter
from itertools import pairwise
from typing import Any

import pytest

from kafka_aio.broker import EmbeddedBroker
from kafka_aio.producer import Producer
from tests.scenarios.producer.delivering import TOPIC, delivering, now, on_virtual_time

BATCH = 1_000
FOUR: dict[str, Any] = {"nodes": 2, "topics": {TOPIC: 4}, "batch_size": BATCH}
"""Four partitions, of which each node leads two."""
LARGE = bytes(BATCH)
"""One of them fills a batch."""


def shares(broker: EmbeddedBroker) -> dict[int, float]:
    """The part of all bytes that each partition has."""
    sizes = {
        partition: sum(len(record.value or b"") for record in broker.records(TOPIC, partition))
        for partition in range(4)
    }
    return {partition: size / sum(sizes.values()) for partition, size in sizes.items()}


async def led_by(producer: Producer[Any, Any], node: int) -> set[int]:
    """The partitions that a node leads."""
    known = await producer.partitions_for(TOPIC)
    return {each.partition for each in known if each.leader is not None and each.leader.id == node}


async def written(producer: Producer[Any, Any], *, seconds: float) -> None:
    """Submit a record every millisecond."""
    end = now() + seconds
    while now() < end:
        await producer.submit(TOPIC, LARGE)
        await asyncio.sleep(0.001)


@pytest.mark.parametrize("adaptive", [True, False])
@on_virtual_time
async def test_records_of_any_size_spread_by_their_bytes(adaptive: bool) -> None:
    sizes = random.Random(18)
    async with delivering(**FOUR, partitioner_adaptive_partitioning_enable=adaptive) as (
        broker,
        producer,
    ):
        for _ in range(10_000):
            await producer.submit(TOPIC, bytes(sizes.choice([10, 100, 700])))
        await producer.flush()

        assert all(0.22 < share < 0.28 for share in shares(broker).values()), shares(broker)


@on_virtual_time
async def test_a_partition_has_its_batch_before_the_next_is_chosen() -> None:
    async with delivering(**FOUR, linger_ms=1_000) as (_, producer):
        deliveries = [await producer.submit(TOPIC, bytes(100)) for _ in range(900)]
        went = [(await delivery).partition for delivery in deliveries]

        assert set(went) == {0, 1, 2, 3}
        assert sum(one != other for one, other in pairwise(went)) <= 900 * 100 / BATCH


@on_virtual_time
async def test_a_slow_broker_gets_fewer() -> None:
    async with delivering(**FOUR, max_in_flight_requests_per_connection=1) as (broker, producer):
        with broker.faults.delay("Produce", 0.2, node=2):
            await written(producer, seconds=2)
        await producer.flush()

        slow = sum(shares(broker)[partition] for partition in await led_by(producer, 2))
        assert 0.01 < slow < 0.2


@on_virtual_time
async def test_without_adaptive_partitioning_it_gets_as_much() -> None:
    async with delivering(
        **FOUR,
        max_in_flight_requests_per_connection=1,
        partitioner_adaptive_partitioning_enable=False,
    ) as (broker, producer):
        with broker.faults.delay("Produce", 0.2, node=2):
            await written(producer, seconds=2)
        await producer.flush()

        slow = sum(shares(broker)[partition] for partition in await led_by(producer, 2))
        assert 0.4 < slow < 0.6


@on_virtual_time
async def test_a_broker_that_takes_nothing_for_too_long_gets_none_until_it_does() -> None:
    async with delivering(
        **FOUR,
        max_in_flight_requests_per_connection=1,
        partitioner_availability_timeout_ms=1_000,
    ) as (broker, producer):
        theirs = await led_by(producer, 2)
        held = broker.faults.hold("Produce", node=2)
        await written(producer, seconds=3)
        avoiding = Counter([await placed(producer) for _ in range(200)])
        held.remove()
        await producer.flush()
        after = Counter([await placed(producer) for _ in range(200)])

        assert not theirs & set(avoiding)
        assert theirs <= set(after)


async def placed(producer: Producer[Any, Any]) -> int:
    """The partition of one more record."""
    return (await producer.send(TOPIC, LARGE)).partition
