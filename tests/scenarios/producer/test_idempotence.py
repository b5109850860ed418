"""Behaviours B19, B20, B22 to B25: the numbers of an idempotent producer, as the log has them."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from kafka_aio.broker import EmbeddedBroker
from kafka_aio.broker.faults.rules import Hold
from kafka_aio.errors import (
    KafkaTimeoutError,
    NotEnoughReplicas,
    OutOfOrderSequenceNumber,
    Persistence,
    UnknownProducerId,
)
from kafka_aio.producer import Producer
from kafka_aio.records.batch import read_header
from kafka_aio.records.layout import GREATEST_SEQUENCE
from kafka_aio.types import TopicPartition
from tests.scenarios.producer.delivering import (
    TOPIC,
    delivering,
    leader_of,
    on_virtual_time,
    outcome,
    submitted,
    values,
)

ALONE: dict[str, Any] = {"batch_size": 0}
"""Every record is a batch of its own."""
HASTY: dict[str, Any] = {**ALONE, "delivery_timeout_ms": 10_000, "request_timeout_ms": 9_000}
WHO_KNOWS = (KafkaTimeoutError, Persistence.POSSIBLY_PERSISTED)
IN_VAIN = (KafkaTimeoutError, Persistence.NOT_PERSISTED)


def numbers(broker: EmbeddedBroker, partition: int = 0) -> list[tuple[int, int]]:
    """The epoch and the first number of each batch in the log; all are of one producer."""
    log = broker._state.topics.by_name[TOPIC].partitions[partition].log
    headers = [read_header(memoryview(batch)) for batch in log.batches()]
    assert len({header.producer_id for header in headers}) == 1
    return [(header.producer_epoch, header.base_sequence) for header in headers]


async def let_lead(broker: EmbeddedBroker, producer: Producer[Any, Any], node: int) -> None:
    """Let another node lead the partition, and the producer know it."""
    broker.move_leader(TOPIC, 0, node)
    await producer._cluster.refresh()


# -- B19: several in flight


@on_virtual_time
async def test_five_batches_are_in_flight_and_are_sent_again_in_their_order() -> None:  # B19
    async with delivering(**ALONE) as (broker, producer):
        await producer.send(TOPIC, b"first")
        held = broker.faults.hold("Produce", times=5)
        again = broker.faults.hold("Produce", after=5)
        refusal = broker.faults.fail("Produce", NotEnoughReplicas, times=1)
        records = [b"%d" % number for number in range(8)]
        deliveries = await submitted(producer, *records)
        await asyncio.sleep(5)
        in_flight = producer.statistics().in_flight
        held.release()
        await broker.wait_hits(again)
        await asyncio.sleep(5)
        in_flight_again = producer.statistics().in_flight
        again.remove()
        offsets = [(await delivery).offset for delivery in deliveries]

        assert (in_flight, in_flight_again) == (5, 1)
        assert refusal.hits == 1
        assert producer.statistics().retried == 5  # the others were out of order
        assert offsets == list(range(1, 9))
        assert values(broker) == [b"first", *records]
        assert numbers(broker) == [(0, number) for number in range(9)]


@on_virtual_time
async def test_what_is_sent_again_is_one_that_the_broker_remembers() -> None:  # B19
    async with delivering(nodes=2, **ALONE) as (broker, producer):
        await producer.send(TOPIC, b"first")
        leader = await leader_of(producer)
        held = broker.faults.hold("Produce", when="after", node=leader, times=1)
        records = [b"%d" % number for number in range(9)]
        deliveries = await submitted(producer, records[0])
        await broker.wait_hits(held)
        await let_lead(broker, producer, 3 - leader)
        deliveries += await submitted(producer, *records[1:])
        await asyncio.sleep(5)
        done = [delivery.done() for delivery in deliveries]
        broker.close_connections(leader)
        offsets = [(await delivery).offset for delivery in deliveries]

        assert done == [False, *[True] * 4, *[False] * 4]
        assert offsets == list(range(1, 10))
        assert values(broker) == [b"first", *records]
        assert numbers(broker) == [(0, number) for number in range(10)]


# -- B20: answers in any order


@pytest.mark.parametrize("when", ["before", "after"])
@on_virtual_time
async def test_answers_that_come_in_another_order_leave_that_of_the_log(when: Any) -> None:  # B20
    async with delivering(nodes=2, **ALONE) as (broker, producer):
        await producer.send(TOPIC, b"first")
        leader = await leader_of(producer)
        held = broker.faults.hold("Produce", when=when, node=leader, times=1)
        (early,) = await submitted(producer, b"a")
        await broker.wait_hits(held)
        await let_lead(broker, producer, 3 - leader)
        answered = broker.faults.delay("Produce", 0, node=3 - leader)
        (late,) = await submitted(producer, b"b")
        await broker.wait_hits(answered)
        await asyncio.sleep(1)
        done = early.done(), late.done()
        held.release()

        assert done == (False, when == "after")  # before: it was out of order
        assert [(await early).offset, (await late).offset] == [1, 2]
        assert values(broker) == [b"first", b"a", b"b"]
        assert numbers(broker) == [(0, 0), (0, 1), (0, 2)]


# -- B22, B24: the broker misses numbers, or knows no number of ours


@pytest.mark.parametrize(
    "error",
    [
        OutOfOrderSequenceNumber,  # B22
        UnknownProducerId,  # B24
    ],
)
@on_virtual_time
async def test_a_batch_that_does_not_follow_is_sent_again_in_a_new_epoch(error: Any) -> None:
    async with delivering(**ALONE) as (broker, producer):
        await producer.send(TOPIC, b"first")
        refusal = broker.faults.fail("Produce", error, times=1)
        metadata = await producer.send(TOPIC, b"a")
        await producer.send(TOPIC, b"b")

        assert refusal.hits == 1
        assert metadata.offset == 1
        assert values(broker) == [b"first", b"a", b"b"]
        assert numbers(broker) == [(0, 0), (1, 0), (1, 1)]


@pytest.mark.parametrize(
    "error",
    [
        OutOfOrderSequenceNumber,  # B22
        UnknownProducerId,  # B24
    ],
)
@pytest.mark.parametrize("taken", [0, 1, 2])
@on_virtual_time
async def test_a_new_epoch_renumbers_what_is_left_of_those_in_flight(
    taken: int, error: Any
) -> None:
    async with delivering(**ALONE) as (broker, producer):
        await producer.send(TOPIC, b"first")
        held = broker.faults.hold("Produce")
        broker.faults.fail("Produce", error, after=taken, times=1)
        records = [b"a", b"b", b"c"]
        deliveries = await submitted(producer, *records)
        await asyncio.sleep(1)
        in_flight = producer.statistics().in_flight
        held.remove()
        offsets = [(await delivery).offset for delivery in deliveries]

        left = 3 - taken
        assert in_flight == 3
        assert offsets == [1, 2, 3]
        assert values(broker) == [b"first", *records]
        assert numbers(broker) == [
            *((0, number) for number in range(1 + taken)),
            *((1, number) for number in range(left)),
        ]


@on_virtual_time
async def test_a_new_epoch_of_one_partition_is_that_of_others_when_they_are_settled() -> None:
    # B22
    async with delivering(topics={TOPIC: 2}, **ALONE) as (broker, producer):
        for partition in (0, 1):
            await producer.send(TOPIC, b"first", partition=partition)
        broker.faults.fail("Produce", OutOfOrderSequenceNumber, topic=TOPIC, partition=0, times=1)
        broker.faults.fail("Produce", NotEnoughReplicas, topic=TOPIC, partition=1, times=1)
        both = [*await submitted(producer, b"a", partition=0)]
        both += await submitted(producer, b"a", partition=1)
        for delivery in both:
            await delivery
        await producer.send(TOPIC, b"b", partition=1)

        assert numbers(broker, 0) == [(0, 0), (1, 0)]
        assert numbers(broker, 1) == [(0, 0), (0, 1), (1, 0)]


# -- B23: batches whose time is over


@on_virtual_time
async def test_a_later_success_tells_that_an_expired_batch_was_taken() -> None:  # B23
    async with delivering(**HASTY) as (broker, producer):
        await producer.send(TOPIC, b"first")
        held = past_its_time(broker)
        (early,) = await submitted(producer, b"a")
        await asyncio.sleep(5)
        (late,) = await submitted(producer, b"b")
        assert await outcome(early) == WHO_KNOWS
        (last,) = await submitted(producer, b"c")
        await asyncio.sleep(1)
        in_flight = producer.statistics().in_flight
        held.release()

        assert in_flight == 2  # the last one waits for what is told
        assert [(await late).offset, (await last).offset] == [2, 3]
        assert values(broker) == [b"first", b"a", b"b", b"c"]
        assert numbers(broker) == [(0, 0), (0, 1), (0, 2), (0, 3)]


def past_its_time(broker: EmbeddedBroker) -> Hold:
    """The first attempt fails after 3 s; the second is held: its own time outlasts the batch's."""
    broker.faults.delay("Produce", 3.0, times=1)
    broker.faults.fail("Produce", NotEnoughReplicas, times=1)
    return broker.faults.hold("Produce", after=1, times=1)


@on_virtual_time
async def test_a_batch_behind_one_that_expired_untaken_begins_a_new_epoch() -> None:  # B23
    async with delivering(**HASTY) as (broker, producer):
        await producer.send(TOPIC, b"first")
        refusal = broker.faults.fail("Produce", NotEnoughReplicas)
        held = broker.faults.hold("Produce")
        (early,) = await submitted(producer, b"a")
        await asyncio.sleep(5)
        (late,) = await submitted(producer, b"b")
        held.remove()
        assert await outcome(early) == IN_VAIN
        refusal.remove()
        metadata = await late
        await producer.send(TOPIC, b"c")

        assert metadata.offset == 1
        assert values(broker) == [b"first", b"b", b"c"]
        assert numbers(broker) == [(0, 0), (1, 0), (1, 1)]


@on_virtual_time
async def test_an_expired_batch_of_which_nothing_can_tell_begins_a_new_epoch() -> None:  # B23
    async with delivering(**HASTY) as (broker, producer):
        await producer.send(TOPIC, b"first")
        refusal = broker.faults.fail("Produce", NotEnoughReplicas)
        (delivery,) = await submitted(producer, b"a")
        assert await outcome(delivery) == IN_VAIN
        refusal.remove()
        await producer.send(TOPIC, b"b")

        assert values(broker) == [b"first", b"b"]
        assert numbers(broker) == [(0, 0), (1, 0)]


@on_virtual_time
async def test_a_batch_that_expires_unsent_has_taken_no_number() -> None:  # B23
    async with delivering(**HASTY) as (broker, producer):
        await producer.send(TOPIC, b"first")
        await broker.stop_node(1)
        await asyncio.sleep(1)
        (delivery,) = await submitted(producer, b"a")
        assert await outcome(delivery) == IN_VAIN
        await broker.start_node(1)
        await producer.send(TOPIC, b"b")

        assert values(broker) == [b"first", b"b"]
        assert numbers(broker) == [(0, 0), (0, 1)]


# -- B25: numbers wrap


@on_virtual_time
async def test_after_the_greatest_number_comes_0_also_for_what_is_sent_again() -> None:  # B25
    async with delivering(topics={TOPIC: 2}, **ALONE) as (broker, producer):
        await producer.send(TOPIC, b"", partition=1)  # there is an id now
        count_from(producer, GREATEST_SEQUENCE - 1)
        await producer.send(TOPIC, b"first", partition=0)
        held = broker.faults.hold("Produce")
        refusal = broker.faults.fail("Produce", NotEnoughReplicas, times=1)
        deliveries = await submitted(producer, b"a", b"b", b"c", partition=0)
        await asyncio.sleep(1)
        in_flight = producer.statistics().in_flight
        held.remove()
        offsets = [(await delivery).offset for delivery in deliveries]

        assert (in_flight, refusal.hits) == (3, 1)
        assert offsets == [1, 2, 3]
        assert [record.value for record in broker.records(TOPIC, 0)] == [b"first", b"a", b"b", b"c"]
        wrapped = [GREATEST_SEQUENCE - 1, GREATEST_SEQUENCE, 0, 1]
        assert numbers(broker) == [(0, number) for number in wrapped]


def count_from(producer: Producer[Any, Any], number: int) -> None:
    """As if so many records were written long ago: a broker that has forgotten takes any number."""
    sequences = producer._sender.sequences
    assert sequences is not None
    assert sequences.identity is not None
    sequences._current(TopicPartition(TOPIC, 0), sequences.identity).next_sequence = number
