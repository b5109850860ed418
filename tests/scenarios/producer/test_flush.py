"""Behaviours B10, B13, B14, B15: lingering, flushing, closing, and callbacks."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from kafka_aio.errors import (
    DeliveryError,
    KafkaTimeoutError,
    NotEnoughReplicas,
    Persistence,
    StateError,
)
from kafka_aio.producer.delivery import Delivery
from tests.scenarios.producer.delivering import (
    TOPIC,
    batch_sizes,
    delivering,
    failure,
    now,
    on_virtual_time,
    outcome,
    submitted,
    values,
)

LINGERING: dict[str, Any] = {"linger_ms": 10_000}


# -- B13: lingering


@on_virtual_time
async def test_records_within_linger_ms_share_a_batch() -> None:  # B13
    async with delivering(linger_ms=100) as (broker, producer):
        start = now()
        deliveries = []
        for _ in range(5):
            deliveries += await submitted(producer, b"v")
            await asyncio.sleep(0.01)
        for delivery in deliveries:
            await delivery

        assert 0.1 <= now() - start < 0.15
        assert batch_sizes(broker) == [5]


@on_virtual_time
async def test_a_full_batch_does_not_linger() -> None:  # B13
    async with delivering(**LINGERING, batch_size=1_000) as (broker, producer):
        start = now()
        first, second, third = await submitted(producer, bytes(400), bytes(400), bytes(400))
        await first
        await second

        assert now() - start < 0.1
        assert not third.done()
        assert batch_sizes(broker) == [2]


@on_virtual_time
async def test_a_record_that_is_larger_than_a_batch_does_not_linger() -> None:  # B13
    async with delivering(**LINGERING, batch_size=1_000) as (_, producer):
        start = now()
        await producer.send(TOPIC, bytes(2_000))

        assert now() - start < 0.1


@on_virtual_time
async def test_nothing_lingers_while_somebody_waits_for_room() -> None:  # B13
    async with delivering(**LINGERING, batch_size=1_000, buffer_memory=1_000) as (_, producer):
        start = now()
        await submitted(producer, bytes(600), bytes(600))

        assert now() - start < 0.1


@on_virtual_time
async def test_no_partition_waits_for_ever_where_requests_are_small() -> None:  # B13
    async with delivering(
        topics={TOPIC: 4},
        batch_size=1_000,
        max_request_size=1_500,
        max_in_flight_requests_per_connection=1,
    ) as (broker, producer):
        broker.faults.delay("Produce", 0.1)
        deliveries: list[list[Delivery]] = [[], [], [], []]
        for _ in range(10):
            for partition in range(4):
                deliveries[partition] += await submitted(producer, bytes(900), partition=partition)
        await asyncio.sleep(2.05)

        assert [sum(each.done() for each in some) for some in deliveries] == [5, 5, 5, 5]


# -- B14: flushing


@on_virtual_time
async def test_flushing_sends_at_once_and_waits_for_all() -> None:  # B14
    async with delivering(**LINGERING, topics={TOPIC: 3}) as (broker, producer):
        broker.faults.fail("Produce", NotEnoughReplicas, times=2)
        deliveries = []
        for partition in range(3):
            deliveries += await submitted(producer, b"a", b"b", partition=partition)
        start = now()
        await producer.flush()

        assert now() - start < 1.0
        assert all(delivery.done() for delivery in deliveries)
        assert len(values(broker)) == 6


@on_virtual_time
async def test_flushing_does_not_wait_for_what_comes_later() -> None:  # B14
    async with delivering(**LINGERING) as (broker, producer):
        held = broker.faults.hold("Produce", after=1)
        (before,) = await submitted(producer, b"a")
        flushing = asyncio.create_task(producer.flush())
        await asyncio.sleep(0)
        (after,) = await submitted(producer, b"b")
        await flushing

        assert before.done()
        assert not after.done()
        held.release()


@on_virtual_time
async def test_what_comes_after_flushing_lingers_again() -> None:
    async with delivering(**LINGERING) as (_, producer):
        await submitted(producer, b"a")
        await producer.flush()
        start = now()
        await producer.send(TOPIC, b"b")

        assert 10.0 <= now() - start < 10.1


@on_virtual_time
async def test_flushing_with_nothing_to_send_returns_at_once() -> None:
    async with delivering(**LINGERING) as (_, producer):
        start = now()
        await producer.flush()

        assert now() == start


@on_virtual_time
async def test_flushing_ends_also_if_records_fail_and_does_not_raise_it() -> None:
    async with delivering(delivery_timeout_ms=10_000, request_timeout_ms=9_000) as (
        broker,
        producer,
    ):
        broker.faults.fail("Produce", NotEnoughReplicas)
        (delivery,) = await submitted(producer, b"v")
        start = now()
        await producer.flush()

        assert 10.0 <= now() - start < 10.1
        assert isinstance(await failure(delivery), KafkaTimeoutError)


@on_virtual_time
async def test_flushing_may_have_a_time_of_its_own() -> None:
    async with delivering() as (broker, producer):
        held = broker.faults.hold("Produce")
        (delivery,) = await submitted(producer, b"v")
        start = now()
        with pytest.raises(KafkaTimeoutError, match="1 batches are not settled after 3 s"):
            await producer.flush(timeout=3)
        assert now() - start == 3.0
        held.release()

        assert (await delivery).offset == 0


@on_virtual_time
async def test_two_may_flush_at_once() -> None:
    async with delivering(**LINGERING) as (broker, producer):
        held = broker.faults.hold("Produce")
        await submitted(producer, b"a")
        first = asyncio.create_task(producer.flush())
        await asyncio.sleep(1)
        await submitted(producer, b"b")
        second = asyncio.create_task(producer.flush())
        await asyncio.sleep(1)
        held.release(1)
        await first
        assert not second.done()
        held.release()
        await second

        assert values(broker) == [b"a", b"b"]


# -- B15: closing


@on_virtual_time
async def test_closing_delivers_what_was_accepted() -> None:  # B15
    async with delivering(**LINGERING) as (broker, producer):
        broker.faults.fail("Produce", NotEnoughReplicas, times=2)
        deliveries = await submitted(producer, b"a", b"b")
        start = now()
        await producer.aclose()

        assert now() - start < 1.0
        assert [delivery.result().offset for delivery in deliveries] == [0, 1]
        with pytest.raises(StateError):
            await producer.send(TOPIC, b"c")


@pytest.mark.parametrize("timeout", [0, 3])
@on_virtual_time
async def test_a_forced_close_tells_every_record_once(timeout: float) -> None:  # B15
    async with delivering(batch_size=1_000) as (broker, producer):
        broker.faults.hold("Produce")
        told: list[Delivery] = []
        deliveries = await submitted(producer, *[bytes(900)] * 4)
        await asyncio.sleep(0.1)
        deliveries += await submitted(producer, b"a", b"b")
        for delivery in deliveries:
            delivery.add_done_callback(told.append)
        start = now()
        with pytest.raises(DeliveryError, match="6 records were not delivered") as caught:
            await producer.aclose(timeout=timeout)
        assert now() - start == pytest.approx(timeout, abs=0.1)
        await asyncio.sleep(60)

        assert caught.value.count == 6
        assert len(told) == 6
        assert set(told) == set(deliveries)
        known = [(await outcome(delivery))[1] for delivery in deliveries]
        assert set(known) == {Persistence.POSSIBLY_PERSISTED, Persistence.NOT_PERSISTED}
        assert known == sorted(known, key=lambda each: each is Persistence.NOT_PERSISTED)
        assert producer.statistics().buffered_bytes == 0


@on_virtual_time
async def test_who_waits_for_room_is_refused_when_the_producer_closes() -> None:  # B15
    async with delivering(batch_size=1_000, buffer_memory=1_000) as (broker, producer):
        broker.faults.hold("Produce")
        (first,) = await submitted(producer, bytes(800))
        waiting = asyncio.create_task(submitted(producer, bytes(800)))
        await asyncio.sleep(1)
        with pytest.raises(DeliveryError):
            await producer.aclose(timeout=1)

        with pytest.raises(StateError):
            await waiting
        assert first.done()


@on_virtual_time
async def test_flushing_ends_when_the_producer_is_closed_by_force() -> None:
    async with delivering() as (broker, producer):
        broker.faults.hold("Produce")
        (delivery,) = await submitted(producer, b"v")
        flushing = asyncio.create_task(producer.flush())
        await asyncio.sleep(1)
        with pytest.raises(DeliveryError):
            await producer.aclose(timeout=0)

        async with asyncio.timeout(1):
            await asyncio.wait([flushing])
        assert delivery.done()
        flushing.exception()


# -- B10: callbacks


@on_virtual_time
async def test_a_callback_may_send_again() -> None:  # B10
    async with delivering(delivery_timeout_ms=10_000, request_timeout_ms=9_000) as (
        broker,
        producer,
    ):
        refusal = broker.faults.fail("Produce", NotEnoughReplicas)
        again: list[Delivery] = []

        def send_again(_: Delivery) -> None:
            refusal.remove()
            again.append(producer.submit_nowait(TOPIC, b"again"))

        (delivery,) = await submitted(producer, b"v")
        delivery.add_done_callback(send_again)
        await failure(delivery)
        await asyncio.sleep(1)

        assert [each.result().offset for each in again] == [0]
        assert values(broker) == [b"again"]


@on_virtual_time
async def test_a_callback_that_raises_hurts_nobody_else() -> None:  # B10
    async with delivering(linger_ms=100) as (broker, producer):
        told: list[Delivery] = []

        def raises(_: Delivery) -> None:
            raise ZeroDivisionError

        deliveries = await submitted(producer, b"a", b"b")
        for callback in (raises, told.append):
            deliveries[0].add_done_callback(callback)
        deliveries[1].add_done_callback(told.append)
        await producer.flush()
        await asyncio.sleep(0.1)

        assert told == deliveries
        await producer.send(TOPIC, b"c")
        assert values(broker) == [b"a", b"b", b"c"]
