"""Topics with records for the tests of the consumer, and short ways to read them."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any

from kafka_aio import Consumer, Producer, TopicPartition
from kafka_aio.consumer.record import ReadRecord
from tests.kafka.cluster import Cluster
from tests.kafka.topic import Topic

SECONDS = 30.0
AnyRecord = ReadRecord[bytes, bytes]


async def new_topic(
    kafka: Cluster, purpose: str, partitions: int = 1, configs: Mapping[str, str] | None = None
) -> str:
    def create() -> str:
        with kafka.connect() as connection:
            return Topic.create(connection, purpose, partitions, configs).name

    return await asyncio.to_thread(create)


async def write(kafka: Cluster, topic: str, counts: Sequence[int], **options: Any) -> None:
    """So many records to each partition; the value of each is its number in this call."""
    async with Producer(bootstrap_servers=kafka.bootstrap, **options) as producer:
        deliveries = [
            await producer.submit(topic, b"%d" % number, partition=partition)
            for partition, count in enumerate(counts)
            for number in range(count)
        ]
        for delivery in deliveries:
            await delivery


async def topic_with(
    kafka: Cluster,
    purpose: str,
    counts: Sequence[int],
    configs: Mapping[str, str] | None = None,
) -> str:
    """A new topic: as many partitions as there are counts, each with so many records."""
    topic = await new_topic(kafka, purpose, len(counts), configs)
    await write(kafka, topic, counts)
    return topic


def partitions_of(topic: str, count: int) -> list[TopicPartition]:
    return [TopicPartition(topic, number) for number in range(count)]


def consumer_of(kafka: Cluster, *topics: str, **options: Any) -> Consumer:
    """One that begins with the first record, and hears soon that there is none."""
    given = {
        "bootstrap_servers": kafka.bootstrap,
        "auto_offset_reset": "earliest",
        "fetch_max_wait_ms": 100,
    }
    return Consumer(*topics, **(given | options))


async def take(consumer: Consumer, count: int) -> dict[TopicPartition, list[AnyRecord]]:
    """So many records, by partition, from as many polls as it takes."""
    taken: dict[TopicPartition, list[AnyRecord]] = {}
    left = count
    async with asyncio.timeout(SECONDS):
        while left > 0:
            for name, records in (await consumer.poll(max_records=left)).items():
                taken.setdefault(name, []).extend(records)
                left -= len(records)
    return taken


async def offsets_of(consumer: Consumer, count: int) -> list[int]:
    """The offsets of the next records, of one partition."""
    ((_, records),) = (await take(consumer, count)).items()
    return [record.offset for record in records]


async def nothing_comes(consumer: Consumer, seconds: float = 0.4) -> bool:
    """For the time of some fetches."""
    return await consumer.poll(timeout=seconds) == {}


async def wait_for(is_true: Callable[[], Awaitable[bool]]) -> None:
    async with asyncio.timeout(SECONDS):
        while not await is_true():  # noqa: ASYNC110 - a broker tells nobody
            await asyncio.sleep(0.02)
