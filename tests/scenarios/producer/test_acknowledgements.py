"""What an acknowledgement says for each `acks`, and that every codec arrives."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from kafka_aio.errors import NotEnoughReplicas, Persistence, SerializationError
from kafka_aio.producer import sender
from kafka_aio.producer.requests import produce
from kafka_aio.records.batch import read_header
from kafka_aio.types import TimestampType
from tests.scenarios.producer.delivering import (
    TOPIC,
    batch_sizes,
    delivering,
    now,
    on_virtual_time,
    outcome,
    submitted,
    values,
)

CODECS = ["none", "gzip", "snappy", "lz4", "zstd"]
UNSEEN: dict[str, Any] = {"acks": 0}


@pytest.mark.parametrize("acks", [1, "all"])
@on_virtual_time
async def test_an_acknowledgement_tells_where_the_record_is(acks: Any) -> None:
    async with delivering(nodes=3, acks=acks) as (broker, producer):
        await producer.send(TOPIC, b"a")
        metadata = await producer.send(TOPIC, b"b", timestamp=7)

        assert tuple(metadata) == (TOPIC, 0, 1, 7, TimestampType.CREATE_TIME)
        assert values(broker) == [b"a", b"b"]


@on_virtual_time
async def test_where_the_broker_stamps_records_its_time_is_told() -> None:
    topics = {TOPIC: {"configs": {"message.timestamp.type": "LogAppendTime"}}}
    async with delivering(topics=topics) as (broker, producer):
        metadata = await producer.send(TOPIC, b"a", timestamp=7)

        assert metadata.timestamp_type is TimestampType.LOG_APPEND_TIME
        assert metadata.timestamp == broker.records(TOPIC)[0].timestamp


@on_virtual_time
async def test_too_few_replicas_stop_who_asks_for_all_and_nobody_else() -> None:
    topics = {TOPIC: {"configs": {"min.insync.replicas": "2"}}}
    async with delivering(nodes=2, topics=topics, acks=1) as (broker, producer):
        await broker.stop_node(2)
        assert (await producer.send(TOPIC, b"a")).offset == 0

    async with delivering(nodes=2, topics=topics) as (broker, producer):
        await broker.stop_node(2)
        delivery = await producer.submit(TOPIC, b"a")
        await asyncio.sleep(20)
        assert not delivery.done()
        await broker.start_node(2)

        assert (await delivery).offset == 0


@on_virtual_time
async def test_without_acknowledgements_a_record_is_done_when_it_is_sent() -> None:
    async with delivering(**UNSEEN) as (broker, producer):
        held = broker.faults.hold("Produce")
        start = now()
        metadata = await producer.send(TOPIC, b"v")
        assert now() - start < 0.1
        assert metadata.offset == -1
        held.release()
        await asyncio.sleep(1)

        assert values(broker) == [b"v"]
        assert producer.statistics().in_flight == 0


@on_virtual_time
async def test_without_acknowledgements_records_keep_their_order() -> None:
    async with delivering(**UNSEEN, batch_size=1_000) as (broker, producer):
        records = [b"%03d" % number + bytes(300) for number in range(100)]
        for delivery in await submitted(producer, *records):
            await delivery
        await asyncio.sleep(1)

        assert values(broker) == records


@on_virtual_time
async def test_without_acknowledgements_a_refusal_costs_the_connection_and_no_more() -> None:
    async with delivering(**UNSEEN) as (broker, producer):
        broker.faults.fail("Produce", NotEnoughReplicas, times=1)
        await producer.send(TOPIC, b"lost")
        await asyncio.sleep(1)
        await producer.send(TOPIC, b"there")
        await asyncio.sleep(1)

        assert values(broker) == [b"there"]


@on_virtual_time
async def test_without_acknowledgements_what_was_not_sent_is_sent_later() -> None:
    async with delivering(**UNSEEN) as (broker, producer):
        await broker.stop_node(1)
        await asyncio.sleep(1)
        delivery = await producer.submit(TOPIC, b"v")
        await asyncio.sleep(10)
        assert not delivery.done()
        await broker.start_node(1)
        await delivery
        await asyncio.sleep(1)

        assert values(broker) == [b"v"]


@pytest.mark.parametrize("size", [100, 3 * sender.COMPRESSED_IN_PLACE])
@pytest.mark.parametrize("codec", CODECS)
@on_virtual_time
async def test_records_arrive_in_every_codec(codec: str, size: int) -> None:
    async with delivering(compression_type=codec, batch_size=1_000_000, linger_ms=10) as (
        broker,
        producer,
    ):
        records = [bytes([number]) * (size // 10) for number in range(10)]
        for delivery in await submitted(producer, *records):
            await delivery
        log = broker._state.topics.by_name[TOPIC].partitions[0].log
        (batch,) = log.batches()

        assert values(broker) == records
        assert batch_sizes(broker) == [10]
        assert read_header(memoryview(batch)).codec == CODECS.index(codec)


@on_virtual_time
async def test_a_compressed_batch_that_is_sent_again_is_the_same() -> None:
    async with delivering(compression_type="zstd", linger_ms=10) as (broker, producer):
        broker.faults.fail("Produce", NotEnoughReplicas, times=3)
        broker.faults.disconnect("Produce", when="after", times=1)
        for delivery in await submitted(producer, b"a", b"b"):
            await delivery

        assert values(broker) == [b"a", b"b"]


@pytest.mark.parametrize("codec", ["none", "lz4"])
async def test_records_arrive_over_real_sockets(codec: str) -> None:
    async with (
        asyncio.timeout(20),
        delivering(nodes=2, topics={TOPIC: 4}, compression_type=codec, batch_size=100_000) as (
            broker,
            producer,
        ),
    ):
        deliveries = [
            await producer.submit(TOPIC, b"%05d" % number, key=b"%d" % (number % 17))
            for number in range(300)
        ]
        await producer.flush()
        offsets = [delivery.result().offset for delivery in deliveries]

        assert sorted(each or b"" for each in values(broker)) == [b"%05d" % n for n in range(300)]
        for partition in range(4):
            stored = [record.value for record in broker.records(TOPIC, partition)]
            assert stored == sorted(stored, key=lambda each: each or b"")
        assert min(offsets) == 0


@on_virtual_time
async def test_a_request_that_cannot_be_encoded_fails_its_records_at_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with delivering() as (broker, producer):
        await producer.send(TOPIC, b"before")

        def broken(*arguments: Any, **options: Any) -> Any:
            return produce(*arguments, **{**options, "timeout": 2**31})

        with monkeypatch.context() as patched:
            patched.setattr(sender, "produce", broken)
            start = now()
            error, persistence = await outcome(await producer.submit(TOPIC, b"lost"))

        assert (error, persistence) == (SerializationError, Persistence.NOT_PERSISTED)
        assert now() - start < 1
        await producer.send(TOPIC, b"after")
        assert values(broker) == [b"before", b"after"]
