"""Behaviours B02, B09: records of a partition stay in their order, whatever goes wrong."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from kafka_aio.broker import EmbeddedBroker
from kafka_aio.errors import KafkaError, NotEnoughReplicas, NotLeaderOrFollower
from kafka_aio.producer.delivery import Delivery
from kafka_aio.testing import VirtualLoop
from tests.scenarios.producer.delivering import (
    TOPIC,
    delivering,
    leader_of,
    now,
    on_virtual_time,
    outcome,
    submitted,
    values,
)

ONE_AT_A_TIME: dict[str, Any] = {
    "enable_idempotence": False,
    "max_in_flight_requests_per_connection": 1,
}
LARGE = bytes(900)
"""One of them fills a batch of 1,000 bytes."""


def numbered(count: int) -> list[bytes]:
    return [number.to_bytes(4, "big") + LARGE for number in range(count)]


# -- B02: max_in_flight_requests_per_connection=1


@on_virtual_time
async def test_one_at_a_time_a_batch_that_is_refused_holds_up_the_next_ones() -> None:  # B02
    async with delivering(**ONE_AT_A_TIME, batch_size=1_000) as (broker, producer):
        broker.faults.fail("Produce", NotEnoughReplicas, times=3)
        records = numbered(5)
        for delivery in [await producer.submit(TOPIC, value) for value in records]:
            await delivery

        assert values(broker) == records


@on_virtual_time
async def test_one_at_a_time_there_is_one_request_of_a_partition() -> None:  # B02
    async with delivering(**ONE_AT_A_TIME, batch_size=1_000) as (broker, producer):
        held = broker.faults.hold("Produce")
        deliveries = [await producer.submit(TOPIC, value) for value in numbered(3)]
        await broker.wait_hits(held)
        await asyncio.sleep(5)

        assert producer.statistics().in_flight == held.held == 1
        held.release()
        assert [(await delivery).offset for delivery in deliveries] == [0, 1, 2]


@on_virtual_time
async def test_one_at_a_time_a_partition_is_muted_also_where_its_leader_moves() -> None:  # B02
    async with delivering(**ONE_AT_A_TIME, nodes=3, batch_size=1_000) as (broker, producer):
        leader = await leader_of(producer)
        held = broker.faults.hold("Produce", node=leader, times=1)
        records = numbered(2)
        deliveries = [await producer.submit(TOPIC, records[0])]
        await broker.wait_hits(held)
        broker.move_leader(TOPIC, 0, leader % 3 + 1)
        await producer._cluster.refresh()
        deliveries.append(await producer.submit(TOPIC, records[1]))
        await asyncio.sleep(5)
        assert values(broker) == []
        held.release()

        assert [(await delivery).offset for delivery in deliveries] == [0, 1]
        assert values(broker) == records


@on_virtual_time
async def test_without_that_a_batch_may_overtake_one_that_is_refused() -> None:
    # What the tests above are about: it is seen where neither idempotence nor muting is.
    async with delivering(enable_idempotence=False, batch_size=1_000) as (broker, producer):
        broker.faults.fail("Produce", NotEnoughReplicas, times=1)
        records = numbered(2)
        for delivery in [await producer.submit(TOPIC, value) for value in records]:
            await delivery

        assert values(broker) == [records[1], records[0]]


@on_virtual_time
async def test_a_node_has_no_more_requests_than_it_may() -> None:
    async with delivering(
        enable_idempotence=False, max_in_flight_requests_per_connection=3, batch_size=1_000
    ) as (broker, producer):
        held = broker.faults.hold("Produce")
        deliveries = [await producer.submit(TOPIC, value) for value in numbered(8)]
        await asyncio.sleep(5)
        assert producer.statistics().in_flight == 3
        held.release()

        assert [(await delivery).offset for delivery in deliveries] == list(range(8))


# -- B09: expiry


@on_virtual_time
async def test_one_at_a_time_expiry_of_a_batch_does_not_let_the_next_overtake() -> None:  # B09
    async with delivering(
        **ONE_AT_A_TIME, batch_size=1_000, delivery_timeout_ms=10_000, request_timeout_ms=9_000
    ) as (broker, producer):
        broker.faults.delay("Produce", 3.0, times=1)
        broker.faults.fail("Produce", NotEnoughReplicas, times=1)
        held = broker.faults.hold("Produce", after=1, times=1)
        records = numbered(2)
        first = await producer.submit(TOPIC, records[0])
        await asyncio.sleep(5)
        second = await producer.submit(TOPIC, records[1])
        await outcome(first)
        await asyncio.sleep(1)
        assert values(broker) == []  # the second is not sent while the first may still arrive
        held.release()
        await second

        assert values(broker) == records


# -- with idempotence: five requests at a time, and any fault


async def trouble(broker: EmbeddedBroker, loop: VirtualLoop, *, until: float) -> None:
    """Leaders move, nodes stop and connections close, now and then."""
    while now() < until:
        await asyncio.sleep(loop.rng.uniform(0.05, 0.6))
        match loop.rng.randrange(4):
            case 0:
                up = [node for node in (1, 2, 3) if node not in broker.stopped_nodes()]
                broker.move_leader(TOPIC, loop.rng.randrange(2), loop.rng.choice(up))
            case 1 if not broker.stopped_nodes():
                await broker.stop_node(loop.rng.randrange(1, 4))
            case 2:
                broker.close_connections()
            case _:
                for node in broker.stopped_nodes():
                    await broker.start_node(node)
    broker.faults.clear()
    for node in broker.stopped_nodes():
        await broker.start_node(node)


async def send_in_trouble(loop: VirtualLoop, **options: Any) -> tuple[list[Any], list[Any]]:
    """What was sent and acknowledged, and what is in the log, by partition."""
    async with delivering(nodes=3, topics={TOPIC: 2}, batch_size=1_000, **options) as (
        broker,
        producer,
    ):
        for error in (NotEnoughReplicas, NotLeaderOrFollower):
            broker.faults.fail("Produce", error, probability=0.1)
        for when in ("before", "after"):
            broker.faults.disconnect("Produce", when=when, probability=0.05)
        broker.faults.delay("Produce", 0.3, when="after", probability=0.1)
        broker.faults.drop("Produce", probability=0.02)
        worse = asyncio.create_task(trouble(broker, loop, until=now() + 8))
        sent: list[tuple[int, bytes, Delivery]] = []
        for number, value in enumerate(numbered(80)):
            delivery = await producer.submit(TOPIC, value, partition=number % 2)
            sent.append((number % 2, value, delivery))
            await asyncio.sleep(loop.rng.uniform(0, 0.1))
        await worse
        acknowledged: list[list[bytes]] = [[], []]
        for partition, value, delivery in sent:
            try:
                await delivery
            except KafkaError:
                continue
            acknowledged[partition].append(value)
        stored = [[each.value for each in broker.records(TOPIC, number)] for number in (0, 1)]
        return acknowledged, stored


@pytest.mark.parametrize("seed", range(8))
def test_idempotent_records_are_stored_once_and_in_their_order(seed: int) -> None:
    with VirtualLoop(seed=seed, time_limit=7_200) as loop:
        acknowledged, stored = loop.run_until_complete(
            send_in_trouble(loop, request_timeout_ms=2_000)
        )

    assert stored == acknowledged
    assert [len(each) for each in stored] == [40, 40]


@pytest.mark.parametrize("seed", range(4))
def test_records_that_expire_leave_the_others_in_their_order_and_once(seed: int) -> None:
    with VirtualLoop(seed=seed, time_limit=7_200) as loop:
        acknowledged, stored = loop.run_until_complete(
            send_in_trouble(loop, request_timeout_ms=600, delivery_timeout_ms=700)
        )

    for known, there in zip(acknowledged, stored, strict=True):
        assert there == sorted(set(there))
        assert set(known) <= set(there)
        assert len(known) < 40, "none has expired: this shows nothing"


@on_virtual_time
async def test_calls_beside_each_other_keep_their_order_where_one_does_not_fit() -> None:
    async with delivering(batch_size=1_000, linger_ms=50) as (broker, producer):
        sent = [b"0" * 600]
        await producer.submit(TOPIC, sent[0])
        for number in range(1, 20, 2):  # a large one, for which there is no room, and a small one
            sent += [b"%d" % number + bytes(600), b"%d" % (number + 1)]
            await asyncio.gather(*[producer.submit(TOPIC, value) for value in sent[-2:]])
        async with asyncio.TaskGroup() as group:
            sent += [b"20" + bytes(600), b"21"]
            for value in sent[-2:]:
                group.create_task(submitted(producer, value))
        await producer.flush()

        assert values(broker) == sent
