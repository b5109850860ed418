"""What logs of a real Kafka can hold, read by our consumer: codecs, gaps, transactions."""

from __future__ import annotations

import asyncio
import os
import random
import time
from typing import NamedTuple

import confluent_kafka
import pytest

from kafka_aio import Consumer, Producer, TimestampType, TopicPartition
from tests.broker.consuming import (
    SECONDS,
    consumer_of,
    new_topic,
    nothing_comes,
    partitions_of,
    take,
    wait_for,
)
from tests.interop.sample import SMALL, Written
from tests.kafka.cluster import Cluster

# Whole clients run on both in tests/scenarios; here on one, unless somebody asks for both.
pytestmark = [] if "KAFKA_AIO_LOOP" in os.environ else [pytest.mark.loop("asyncio")]

CODECS = ("none", "gzip", "snappy", "lz4", "zstd")


async def in_batches(consumer: Consumer, name: TopicPartition, start: int, end: int) -> list[int]:
    """The offsets of a range, read as such."""
    batches = [batch async for batch in consumer.read_range(name, start, end)]
    return [record.offset for batch in batches for record in batch.records]


@pytest.mark.parametrize("codec", CODECS)
async def test_records_of_every_codec_with_all_that_they_have(
    each_kafka: Cluster, codec: str
) -> None:
    topic = await new_topic(each_kafka, f"codec-{codec}")
    (name,) = partitions_of(topic, 1)
    large = [Written(b"%d" % number, b"again " * 2_000, 1_700_000_000_000) for number in range(50)]
    written = [*SMALL, *large]
    async with Producer(
        bootstrap_servers=each_kafka.bootstrap, compression_type=codec, linger_ms=100
    ) as producer:
        deliveries = [
            await producer.submit(
                topic,
                each.value,
                key=each.key,
                partition=0,
                timestamp=each.timestamp,
                headers=each.headers,
            )
            for each in written
        ]
        for delivery in deliveries:
            await delivery
    async with consumer_of(each_kafka) as consumer:
        consumer.assign([name])
        records = (await take(consumer, len(written)))[name]
        found = await in_batches(consumer, name, 0, len(written))

    assert [Written.of(record) for record in records] == written  # type: ignore[arg-type]
    assert [record.offset for record in records] == found == list(range(len(written)))
    assert {record.timestamp_type for record in records} == {TimestampType.CREATE_TIME}
    assert {record.leader_epoch for record in records} == {0}


async def test_the_time_of_the_broker(each_kafka: Cluster) -> None:
    configs = {"message.timestamp.type": "LogAppendTime"}
    topic = await new_topic(each_kafka, "append-time", configs=configs)
    async with Producer(bootstrap_servers=each_kafka.bootstrap) as producer:
        await producer.send(topic, b"value", timestamp=1_000)
    async with consumer_of(each_kafka, topic) as consumer:
        record = await anext(consumer)

    assert record.timestamp_type is TimestampType.LOG_APPEND_TIME
    assert abs(record.timestamp - time.time() * 1_000) < 60_000


class Gaps(NamedTuple):
    """A compacted log: where it ends, and what is left of it."""

    name: TopicPartition
    end: int
    left: list[tuple[int, bytes | None]]


async def compacted(kafka: Cluster) -> Gaps:
    """300 writes of 20 keys, 25 in each of 12 segments: of each key the last one is left."""
    configs = {
        "cleanup.policy": "compact",
        "segment.ms": "1000",
        "min.cleanable.dirty.ratio": "0.001",
        "min.compaction.lag.ms": "0",
        "delete.retention.ms": "3600000",
    }
    topic = await new_topic(kafka, "compacted", configs=configs)
    (name,) = partitions_of(topic, 1)
    latest: dict[bytes, tuple[int, bytes | None]] = {}
    day, at = 86_400_000, 1_700_000_000_000
    async with Producer(bootstrap_servers=kafka.bootstrap, compression_type="lz4") as producer:
        for segment in range(12):
            keys = [b"%d" % ((7 * number + segment) % 20) for number in range(25)]
            at += day  # of another time: Kafka begins a new segment
            deliveries = [
                await producer.submit(
                    topic, None if key == b"3" else b"v", key=key, partition=0, timestamp=at
                )
                for key in keys
            ]
            for key, delivery in zip(keys, deliveries, strict=True):
                offset = (await delivery).offset
                latest[key] = (offset, None if key == b"3" else b"v")
        closed = sorted(latest.values())
        place = await producer.send(topic, b"v", key=b"end", partition=0, timestamp=at + day)
    left = [*closed, (place.offset, b"v")]
    async with consumer_of(kafka) as consumer:

        async def is_clean() -> bool:
            found = await in_batches(consumer, name, 0, place.offset + 1)
            return found == [offset for offset, _ in left]

        await wait_for(is_clean)
    return Gaps(name, place.offset + 1, left)


async def test_a_compacted_log_is_read_over_its_gaps(each_kafka: Cluster) -> None:
    name, end, left = await compacted(each_kafka)
    offsets = [offset for offset, _ in left]
    first = offsets[0]
    async with consumer_of(each_kafka) as consumer:
        consumer.assign([name])
        records = (await take(consumer, len(left)))[name]
        assert await consumer.position(name) == end
        assert consumer.current_lag(name) == 0
        assert await nothing_comes(consumer)
        consumer.seek(name, first - 1)  # a gap
        assert (await anext(consumer)).offset == first
        assert await in_batches(consumer, name, 0, first) == []
        assert await in_batches(consumer, name, 1, first + 1) == [first]
        for cut in (offsets[3], offsets[3] + 1, *range(25, 300, 25), offsets[-1], end):
            assert await in_batches(consumer, name, 0, cut) == [at for at in offsets if at < cut]

    assert [(record.offset, record.value) for record in records] == left
    assert len(left) < end / 5


class Transactions(NamedTuple):
    """A log of transactions side by side."""

    name: TopicPartition
    end: int
    committed: list[bytes]
    all: list[bytes]


def write_transactions(kafka: Cluster, topic: str) -> tuple[list[bytes], list[bytes]]:
    """30 of three producers, interleaved; a third is aborted, and so is the last one."""
    rng = random.Random(7)
    options = {"bootstrap.servers": kafka.bootstrap, "transaction.timeout.ms": 60_000}
    producers = [
        confluent_kafka.Producer(options | {"transactional.id": f"{topic}-{number}"})
        for number in range(3)
    ]
    plain = confluent_kafka.Producer({"bootstrap.servers": kafka.bootstrap})
    for each in producers:
        each.init_transactions(SECONDS)
    committed, everything = [], []
    for turn in range(10):
        values: list[list[bytes]] = [[], [], []]
        for each in producers:
            each.begin_transaction()
        for number in range(12):
            which = rng.randrange(3)
            value = b"%d-%d-%d" % (turn, which, number)
            producers[which].produce(topic, value, partition=0)
            assert producers[which].flush(SECONDS) == 0
            values[which].append(value)
            everything.append(value)
        plain.produce(topic, b"plain-%d" % turn, partition=0)
        assert plain.flush(SECONDS) == 0
        everything.append(b"plain-%d" % turn)
        committed.append(b"plain-%d" % turn)
        for which in rng.sample(range(3), 3):
            if which == turn % 3:
                producers[which].abort_transaction(SECONDS)
            else:
                producers[which].commit_transaction(SECONDS)
                committed += values[which]
    return committed, everything


async def transactions(kafka: Cluster) -> Transactions:
    topic = await new_topic(kafka, "transactions")
    (name,) = partitions_of(topic, 1)
    committed, everything = await asyncio.to_thread(write_transactions, kafka, topic)
    async with consumer_of(kafka) as consumer:
        end = (await consumer.end_offsets([name]))[name]
    return Transactions(name, end, committed, everything)


async def test_transactions_beside_aborted_ones(each_kafka: Cluster) -> None:
    name, end, committed, everything = await transactions(each_kafka)
    async with consumer_of(each_kafka) as consumer:
        consumer.assign([name])
        seen = (await take(consumer, len(everything)))[name]
        assert await nothing_comes(consumer)
        assert await consumer.position(name) == end
        ranged = await in_batches(consumer, name, 0, end)
    async with consumer_of(each_kafka, isolation_level="read_committed") as careful:
        careful.assign([name])
        stable = (await take(careful, len(committed)))[name]
        assert await nothing_comes(careful)
        assert await careful.position(name) == end
        assert careful.current_lag(name) == 0
        in_range = await in_batches(careful, name, 0, end)
        for cut in (end - 1, end - 2, end // 2):
            expected = [record.offset for record in stable if record.offset < cut]
            assert await in_batches(careful, name, 0, cut) == expected

    assert [record.value for record in seen] == everything
    assert sorted(str(record.value) for record in stable) == sorted(map(str, committed))
    assert [record.offset for record in stable] == in_range
    assert [record.offset for record in seen] == ranged
    assert end == len(everything) + 30  # a marker for each


async def test_an_open_transaction_keeps_the_careful_waiting(each_kafka: Cluster) -> None:
    topic = await new_topic(each_kafka, "open-transaction")
    (name,) = partitions_of(topic, 1)
    producer = confluent_kafka.Producer(
        {"bootstrap.servers": each_kafka.bootstrap, "transactional.id": topic}
    )

    def begin() -> None:
        producer.init_transactions(SECONDS)
        producer.begin_transaction()
        producer.produce(topic, b"value", partition=0)
        assert producer.flush(SECONDS) == 0

    await asyncio.to_thread(begin)
    async with consumer_of(each_kafka, isolation_level="read_committed") as consumer:
        consumer.assign([name])
        assert await nothing_comes(consumer)
        assert await consumer.position(name) == 0
        assert await consumer.end_offsets([name]) == {name: 0}
        await asyncio.to_thread(producer.commit_transaction, SECONDS)

        assert (await anext(consumer)).value == b"value"
        assert await consumer.end_offsets([name]) == {name: 2}
