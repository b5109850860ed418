"""Behaviours B06, B07, B08, B17: time that is over, for batches, for topics."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from kafka_aio.broker import EmbeddedBroker
from kafka_aio.broker.faults.rules import Hold
from kafka_aio.errors import (
    BrokerError,
    KafkaTimeoutError,
    MessageTooLarge,
    NotEnoughReplicas,
    Persistence,
    TopicAuthorizationFailed,
)
from kafka_aio.producer.delivery import Delivery
from tests.scenarios.producer.delivering import (
    TOPIC,
    delivering,
    failure,
    now,
    on_virtual_time,
    outcome,
    submitted,
    values,
)

HASTY: dict[str, Any] = {"delivery_timeout_ms": 10_000, "request_timeout_ms": 9_000}
IN_VAIN = (KafkaTimeoutError, Persistence.NOT_PERSISTED)
WHO_KNOWS = (KafkaTimeoutError, Persistence.POSSIBLY_PERSISTED)


# -- B06: delivery_timeout_ms


@on_virtual_time
async def test_the_time_of_a_batch_ends_also_while_a_request_has_it() -> None:  # B06
    async with delivering(**HASTY) as (broker, producer):
        start = now()
        broker.faults.fail("Produce", NotEnoughReplicas, times=4)  # some of the time is gone
        broker.faults.hold("Produce", after=4)
        delivery = await producer.submit(TOPIC, b"v")

        assert await outcome(delivery) == WHO_KNOWS
        assert 10.0 <= now() - start < 10.1


@on_virtual_time
async def test_the_time_of_a_batch_ends_while_it_waits_for_its_node() -> None:  # B06
    async with delivering(**HASTY) as (broker, producer):
        await broker.stop_node(1)
        await asyncio.sleep(1)
        start = now()
        delivery = await producer.submit(TOPIC, b"v")

        assert await outcome(delivery) == IN_VAIN
        assert 10.0 <= now() - start < 10.1


@on_virtual_time
async def test_batches_of_several_partitions_expire_each_at_its_time() -> None:  # B06
    async with delivering(topics={TOPIC: 3}, **HASTY) as (broker, producer):
        broker.faults.fail("Produce", NotEnoughReplicas)
        start = now()
        ended: list[float] = []
        deliveries = []
        for partition in range(3):
            deliveries += await submitted(producer, b"v", partition=partition)
            deliveries[-1].add_done_callback(lambda _: ended.append(now() - start))
            await asyncio.sleep(1)

        assert [await outcome(delivery) for delivery in deliveries] == [IN_VAIN] * 3
        await asyncio.sleep(0.01)  # the last callback
        assert ended == pytest.approx([10, 11, 12], abs=0.1)


@on_virtual_time
async def test_the_error_tells_of_the_last_attempt() -> None:
    async with delivering(**HASTY) as (broker, producer):
        broker.faults.fail("Produce", NotEnoughReplicas)
        (delivery,) = await submitted(producer, b"v")
        text = str(await failure(delivery))

        assert "t-0: 1 records were not acknowledged within 10 s (delivery_timeout_ms)" in text
        assert "NOT_ENOUGH_REPLICAS" in text


# -- B07: answers that come too late


def hold_past_the_time(broker: EmbeddedBroker) -> Hold:
    """The first attempt fails after 3 s, the second is held: its own time outlasts the batch's."""
    broker.faults.delay("Produce", 3.0, times=1)
    broker.faults.fail("Produce", NotEnoughReplicas, times=1)
    return broker.faults.hold("Produce", after=1)


@pytest.mark.parametrize("error", [None, MessageTooLarge, NotEnoughReplicas, "disconnect"])
@on_virtual_time
async def test_a_late_answer_for_an_expired_batch_changes_nothing(error: Any) -> None:  # B07
    async with delivering(**HASTY, enable_idempotence=False) as (broker, producer):
        held = hold_past_the_time(broker)
        told: list[Delivery] = []
        deliveries = await submitted(producer, b"a", b"b")
        deliveries[0].add_done_callback(told.append)
        assert [await outcome(delivery) for delivery in deliveries] == [WHO_KNOWS] * 2
        before = producer.statistics()
        if error == "disconnect":
            broker.close_connections()
        elif error is not None:
            broker.faults.fail("Produce", error, times=1)
        held.release()
        await asyncio.sleep(1)
        after = producer.statistics()

        assert (before.in_flight, after.in_flight) == (1, 0)
        assert (after.failed, after.retried) == (before.failed, before.retried) == (2, 1)
        assert told == [deliveries[0]]
        with pytest.raises(KafkaTimeoutError):
            deliveries[0].result()


@pytest.mark.parametrize("error", [None, NotEnoughReplicas])
@on_virtual_time
async def test_after_a_late_answer_an_idempotent_producer_goes_on(error: Any) -> None:  # B07
    async with delivering(**HASTY) as (broker, producer):
        await producer.send(TOPIC, b"before")
        held = hold_past_the_time(broker)
        (delivery,) = await submitted(producer, b"a")
        assert await outcome(delivery) == WHO_KNOWS
        (later,) = await submitted(producer, b"b")
        if error is not None:
            broker.faults.fail("Produce", error, times=1)
        held.release()
        await later

        there = [b"before", b"b"] if error else [b"before", b"a", b"b"]
        assert values(broker) == there


# -- B08: memory


@on_virtual_time
async def test_memory_of_an_expired_batch_is_free_when_its_request_has_ended() -> None:  # B08
    async with delivering(**HASTY, batch_size=1_000, buffer_memory=1_000) as (broker, producer):
        await producer.send(TOPIC, b"before")
        held = hold_past_the_time(broker)
        (delivery,) = await submitted(producer, b"a")
        assert await outcome(delivery) == WHO_KNOWS
        waiting = asyncio.create_task(submitted(producer, b"b"))
        await asyncio.sleep(0.2)
        assert producer.statistics().buffered_bytes == 1_000
        assert not waiting.done()
        held.release()
        (later,) = await waiting
        await later

        assert producer.statistics().buffered_bytes == 0


# -- B17: topics


@on_virtual_time
async def test_an_unknown_topic_is_waited_for_until_it_is_there() -> None:  # B17
    async with delivering(max_block_ms=5_000) as (broker, producer):
        broker.faults.fail("Metadata", 3, topic="late")
        start = now()
        sending = asyncio.create_task(producer.send("late", b"v"))
        await asyncio.sleep(2)
        broker.faults.clear()

        assert (await sending).topic == "late"
        assert 2.0 <= now() - start < 4.0


@on_virtual_time
async def test_an_unknown_topic_fails_after_max_block_ms() -> None:  # B17
    async with delivering(max_block_ms=5_000) as (broker, producer):
        broker.faults.fail("Metadata", 3, topic="never")
        start = now()
        with pytest.raises(KafkaTimeoutError, match=r"'never' was not found within 5 s"):
            await producer.send("never", b"v")

        assert 5.0 <= now() - start < 5.1


@on_virtual_time
async def test_a_partition_that_is_not_there_is_waited_for() -> None:  # B17
    async with delivering(max_block_ms=5_000) as (_, producer):
        start = now()
        with pytest.raises(KafkaTimeoutError, match="has 1 partitions, and no partition 1 within"):
            await producer.send(TOPIC, b"v", partition=1)

        assert 5.0 <= now() - start < 5.1


@on_virtual_time
async def test_a_topic_that_is_forbidden_fails_at_once() -> None:  # B17
    async with delivering() as (broker, producer):
        broker.faults.fail("Metadata", TopicAuthorizationFailed, topic="secret")
        start = now()
        with pytest.raises(BrokerError) as caught:
            await producer.send("secret", b"v")

        assert isinstance(caught.value, TopicAuthorizationFailed)
        assert now() - start < 1.0


@on_virtual_time
async def test_a_topic_that_nothing_is_sent_to_is_not_asked_for_any_more() -> None:  # B17
    options: dict[str, Any] = {"metadata_max_idle_ms": 60_000, "metadata_max_age_ms": 30_000}
    async with delivering(topics={TOPIC: 1, "other": 1}, **options) as (broker, producer):
        for _ in range(10):
            await producer.send(TOPIC, b"v")
            await asyncio.sleep(30)
        asked_for_other = broker.faults.delay("Metadata", 0, topic="other")
        asked = broker.faults.delay("Metadata", 0, topic=TOPIC)
        await producer.send(TOPIC, b"v")
        await asyncio.sleep(35)

        assert asked.hits > 0
        assert asked_for_other.hits == 0
        assert (await producer.send("other", b"v")).offset == 0


@on_virtual_time
async def test_records_that_linger_are_no_trouble(caplog: pytest.LogCaptureFixture) -> None:
    async with delivering(linger_ms=10_000) as (_, producer):
        delivery = await producer.submit(TOPIC, b"a")
        await asyncio.sleep(9)
        health = producer.health()
        await delivery

    assert health.is_healthy
    assert caplog.text == ""
