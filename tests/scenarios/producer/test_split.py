"""Behaviours B11, B12: batches that are too large, and records that the broker blames."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from kafka_aio.errors import (
    DeliveryError,
    InvalidRecord,
    InvalidTimestamp,
    KafkaTimeoutError,
    MessageTooLarge,
    NotEnoughReplicas,
    OutOfOrderSequenceNumber,
    Persistence,
    RecordListTooLarge,
)
from kafka_aio.producer.delivery import Delivery
from kafka_aio.records.batch import read_header
from tests.scenarios.producer.delivering import (
    TOPIC,
    delivering,
    failure,
    on_virtual_time,
    outcome,
    submitted,
    values,
)

CODECS = ["none", "gzip", "snappy", "lz4", "zstd"]


def topic_of(max_bytes: int, **configs: str) -> dict[str, Any]:
    return {TOPIC: {"configs": {"max.message.bytes": str(max_bytes), **configs}}}


def in_order(is_idempotent: bool) -> dict[str, Any]:
    """One of the two ways to keep records in their order."""
    if is_idempotent:
        return {}
    return {"enable_idempotence": False, "max_in_flight_requests_per_connection": 1}


def noise(count: int, size: int) -> list[bytes]:
    """Records that no codec makes much smaller."""
    return [
        b"".join(hash((number, at)).to_bytes(8, "big", signed=True) for at in range(size // 8))
        for number in range(count)
    ]


# -- B11


@pytest.mark.parametrize("is_idempotent", [True, False])
@pytest.mark.parametrize("codec", CODECS)
@on_virtual_time
async def test_a_batch_that_is_too_large_is_split_and_stored_in_order(
    codec: str, is_idempotent: bool
) -> None:
    async with delivering(
        topics=topic_of(3_000),
        linger_ms=100,
        compression_type=codec,
        **in_order(is_idempotent),
    ) as (broker, producer):
        records = noise(20, 480)
        headers = [("name", b"data")]
        deliveries = [
            await producer.submit(TOPIC, value, key=b"k%d" % at, timestamp=at, headers=headers)
            for at, value in enumerate(records)
        ]
        offsets = [(await delivery).offset for delivery in deliveries]
        stored = broker.records(TOPIC)
        log = broker._state.topics.by_name[TOPIC].partitions[0].log

        assert offsets == list(range(20))
        assert [record.value for record in stored] == records
        assert [record.key for record in stored] == [b"k%d" % at for at in range(20)]
        assert [record.timestamp for record in stored] == list(range(20))
        assert {tuple(record.headers) for record in stored} == {(("name", b"data"),)}
        codecs = {read_header(memoryview(batch)).codec for batch in log.batches()}
        assert codecs == {CODECS.index(codec)}
        assert len(list(log.batches())) > 1
        assert producer.statistics().buffered_bytes == 0


@pytest.mark.parametrize("error", [MessageTooLarge, RecordListTooLarge])
@on_virtual_time
async def test_a_batch_is_split_whatever_the_broker_calls_it(error: Any) -> None:
    async with delivering(linger_ms=100) as (broker, producer):
        fault = broker.faults.fail("Produce", error, times=1)
        for delivery in await submitted(producer, b"a", b"b"):
            await delivery

        assert fault.hits == 1
        assert values(broker) == [b"a", b"b"]
        assert producer.statistics().retried == 0


@on_virtual_time
async def test_a_record_that_is_too_large_fails_alone() -> None:
    async with delivering(topics=topic_of(2_000), linger_ms=100) as (broker, producer):
        small, large = b"small", bytes(5_000)
        before, alone, after = await submitted(producer, small, large, small)

        assert await outcome(alone) == (MessageTooLarge, Persistence.NOT_PERSISTED)
        assert [(await before).offset, (await after).offset] == [0, 1]
        assert values(broker) == [small, small]
        assert producer.statistics().failed == 1


@on_virtual_time
async def test_a_topic_with_room_for_little_gets_batches_of_one() -> None:
    async with delivering(topics=topic_of(100), linger_ms=100) as (broker, producer):
        records = [b"%03d" % number for number in range(300)]
        deliveries = await submitted(producer, *records)
        offsets = [(await delivery).offset for delivery in deliveries]

        assert offsets == list(range(300))
        assert values(broker) == records


@pytest.mark.parametrize("is_idempotent", [True, False])
@on_virtual_time
async def test_parts_that_are_refused_for_now_keep_their_order(is_idempotent: bool) -> None:
    async with delivering(
        topics=topic_of(1_000),
        linger_ms=100,
        **in_order(is_idempotent),
    ) as (broker, producer):
        broker.faults.fail("Produce", NotEnoughReplicas, after=1, times=20, probability=0.5)
        records = noise(12, 240)
        for delivery in await submitted(producer, *records):
            await delivery

        assert values(broker) == records


@on_virtual_time
async def test_a_batch_that_is_split_behind_one_that_is_sent_again_stays_behind_it() -> None:
    async with delivering(linger_ms=0, batch_size=1_000) as (broker, producer):
        await producer.send(TOPIC, b"first of all")
        held = broker.faults.hold("Produce", times=1)
        records = [*noise(1, 800), *noise(8, 80)]
        deliveries = await submitted(producer, *records)
        await broker.wait_hits(held)
        await asyncio.sleep(1)
        assert producer.statistics().in_flight == 2
        broker.faults.fail("Produce", NotEnoughReplicas, times=1)
        broker.faults.fail("Produce", MessageTooLarge, times=1)
        held.release()
        for delivery in deliveries:
            await delivery

        assert values(broker) == [b"first of all", *records]


@on_virtual_time
async def test_flushing_waits_for_the_parts() -> None:  # B14
    async with delivering(topics=topic_of(1_000), linger_ms=100) as (_, producer):
        deliveries = await submitted(producer, *noise(12, 240))
        await producer.flush()

        assert all(delivery.done() for delivery in deliveries)


@on_virtual_time
async def test_callbacks_of_records_in_parts_are_called_once_each() -> None:
    async with delivering(topics=topic_of(1_000), linger_ms=100) as (_, producer):
        told: list[Delivery] = []
        deliveries = await submitted(producer, *noise(12, 240))
        for delivery in deliveries:
            delivery.add_done_callback(told.append)
        await producer.flush()
        await asyncio.sleep(0.1)

        assert told == deliveries
        assert [delivery.result().offset for delivery in told] == list(range(12))


@on_virtual_time
async def test_without_numbers_what_may_be_in_the_log_is_not_split() -> None:
    async with delivering(linger_ms=100, enable_idempotence=False) as (broker, producer):
        broker.faults.disconnect("Produce", when="after", times=1)
        broker.faults.fail("Produce", MessageTooLarge, after=1, times=1)
        deliveries = await submitted(producer, b"a", b"b")

        found = [await outcome(delivery) for delivery in deliveries]
        assert found == [(MessageTooLarge, Persistence.POSSIBLY_PERSISTED)] * 2
        assert values(broker) == [b"a", b"b"]
        assert (await producer.send(TOPIC, b"c")).offset == 2


@on_virtual_time
async def test_parts_are_not_written_again_where_the_whole_is_in_the_log() -> None:
    async with delivering(linger_ms=100) as (broker, producer):
        broker.faults.disconnect("Produce", when="after", times=1)
        broker.faults.fail("Produce", MessageTooLarge, after=1, times=1)  # the limit was lowered
        deliveries = await submitted(producer, b"a", b"b")

        found = [await outcome(delivery) for delivery in deliveries]
        assert found == [(OutOfOrderSequenceNumber, Persistence.POSSIBLY_PERSISTED)] * 2
        assert values(broker) == [b"a", b"b"]
        assert (await producer.send(TOPIC, b"c")).offset == 2


@on_virtual_time
async def test_a_batch_is_split_also_where_the_answer_to_it_was_lost() -> None:
    async with delivering(topics=topic_of(1_000), linger_ms=100) as (broker, producer):
        broker.faults.disconnect("Produce", when="after", times=1)
        records = noise(12, 240)
        for delivery in await submitted(producer, *records):
            await delivery

        assert values(broker) == records


@on_virtual_time
async def test_parts_have_the_time_of_the_whole() -> None:  # B07
    async with delivering(
        topics=topic_of(1_000), linger_ms=100, delivery_timeout_ms=10_000, request_timeout_ms=9_000
    ) as (broker, producer):
        broker.faults.delay("Produce", 6.0, times=1)
        broker.faults.fail("Produce", NotEnoughReplicas, after=1)
        loop = asyncio.get_running_loop()
        start = loop.time()
        deliveries = await submitted(producer, *noise(12, 240))
        found = {type(await failure(delivery)) for delivery in deliveries}

        assert found == {KafkaTimeoutError}
        assert 10.0 <= loop.time() - start < 10.2


# -- B12: records that the broker blames (KIP-467)


@on_virtual_time
async def test_a_record_that_the_broker_blames_fails_with_its_words() -> None:
    topics = {TOPIC: {"configs": {"cleanup.policy": "compact"}}}
    async with delivering(topics=topics, linger_ms=100) as (broker, producer):
        good = await producer.submit(TOPIC, b"v", key=b"k")
        bad = await producer.submit(TOPIC, b"v")
        blamed, other = await failure(bad), await failure(good)

        assert isinstance(blamed, InvalidRecord)
        assert "Compacted topic cannot accept message without key" in str(blamed)
        assert isinstance(other, DeliveryError)
        assert "refused for the sake of other records of its batch" in str(other)
        assert isinstance(other.__cause__, InvalidRecord)
        known = {blamed.persistence, other.persistence}
        assert known == {Persistence.NOT_PERSISTED}
        assert values(broker) == []


@on_virtual_time
async def test_a_record_that_is_blamed_for_its_time_fails_with_that() -> None:
    topics = {TOPIC: {"configs": {"message.timestamp.before.max.ms": "1000"}}}
    async with delivering(topics=topics, linger_ms=100) as (_, producer):
        good = await producer.submit(TOPIC, b"v")
        bad = await producer.submit(TOPIC, b"v", timestamp=5)
        error = await failure(bad)

        assert isinstance(error, InvalidTimestamp)
        assert "Timestamp 5 of message with offset 1 is out of range" in str(error)
        assert isinstance(await failure(good), DeliveryError)


@on_virtual_time
async def test_what_was_refused_for_the_sake_of_others_can_be_sent_again() -> None:
    topics = {TOPIC: {"configs": {"cleanup.policy": "compact"}}}
    async with delivering(topics=topics, linger_ms=100) as (broker, producer):
        good = await producer.submit(TOPIC, b"v", key=b"k")
        await failure(await producer.submit(TOPIC, b"v"))
        await failure(good)
        metadata = await producer.send(TOPIC, b"v", key=b"k")

        assert metadata.offset == 0
        assert values(broker) == [b"v"]
