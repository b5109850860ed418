"""What the tests of the whole consumer share: a broker with records, and a consumer of it."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator, Awaitable, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from typing import Any

from kafka_aio import Consumer
from kafka_aio.broker import EmbeddedBroker
from kafka_aio.errors import KafkaError
from kafka_aio.records.batch import FetchedBatch, read_header
from kafka_aio.records.codec import BatchBuilder
from kafka_aio.records.compression import Codec, Compression
from kafka_aio.records.layout import HEADER, ProducerStamp
from kafka_aio.types import TopicPartition

TOPIC = "t"
NOBODY = ProducerStamp()
T0, T1, T2 = (TopicPartition(TOPIC, number) for number in range(3))


def consumer_of(broker: EmbeddedBroker, *topics: str, **options: Any) -> Consumer[Any, Any]:
    """One that reads from the beginning."""
    given = {
        "bootstrap_servers": broker.bootstrap_servers,
        "auto_offset_reset": "earliest",
        **options,
    }
    return Consumer(*topics, **given)


@asynccontextmanager
async def consuming(
    *partitions: TopicPartition,
    nodes: int = 1,
    topics: Mapping[str, Any] | None = None,
    settings: Mapping[str, Any] | None = None,
    **options: Any,
) -> AsyncIterator[tuple[EmbeddedBroker, Consumer[Any, Any]]]:
    """A broker with a topic "t" of three partitions, and a consumer that is started.

    The partitions are assigned to it; without any, it subscribes to "t".
    """
    topics = topics or {TOPIC: 3}
    async with EmbeddedBroker(nodes=nodes, topics=topics, options=settings) as broker:
        consumer = consumer_of(broker, **options)
        if partitions:
            consumer.assign(partitions)
        else:
            consumer.subscribe([TOPIC])
        await consumer.start()
        try:
            yield broker, consumer
        finally:
            with suppress(KafkaError):
                await consumer.aclose(timeout=1)
            assert consumer.health().state == "closed"  # and not failed


def values(count: int, begin: int = 0) -> list[bytes]:
    return [b"%d" % number for number in range(begin, begin + count)]


def places(records: Iterable[Any]) -> list[tuple[int, int]]:
    """The partition and offset of each."""
    return [(each.partition, each.offset) for each in records]


def offsets(records: Iterable[Any]) -> list[int]:
    return [each.offset for each in records]


async def read(consumer: Consumer[Any, Any], count: int, *, within: float = 30) -> list[Any]:
    """So many records, by `anext`."""
    async with asyncio.timeout(within):
        return [await anext(consumer) for _ in range(count)]


async def polled(consumer: Consumer[Any, Any], count: int, *, within: float = 30) -> list[Any]:
    """So many records, by `poll`."""
    found: list[Any] = []
    async with asyncio.timeout(within):
        while len(found) < count:
            for records in (await consumer.poll(max_records=count - len(found))).values():
                found += records
    return found


async def in_batches(consumer: Consumer[Any, Any], count: int, *, within: float = 30) -> list[Any]:
    """So many records or more, by `batches`."""
    found: list[Any] = []
    async with asyncio.timeout(within):
        async for batch in consumer.batches():
            found += batch.records
            if len(found) >= count:
                break
    return found


async def ranged(batches: AsyncIterator[FetchedBatch]) -> list[Any]:
    """All records of a range."""
    return [record async for batch in batches for record in batch.records]


async def nothing_comes(consumer: Consumer[Any, Any], seconds: float = 5) -> None:
    assert await consumer.poll(timeout=seconds) == {}


async def failure(awaited: Awaitable[Any]) -> KafkaError:
    """The error of something that has to fail."""
    try:
        found = await awaited
    except KafkaError as error:
        return error
    raise AssertionError(f"it did not fail: {found!r}")


def now() -> float:
    return asyncio.get_running_loop().time()


def fetches(broker: EmbeddedBroker) -> int:
    """How many Fetch requests there were."""
    traffic = broker.statistics().apis.get("Fetch")
    return 0 if traffic is None else traffic.requests


def committed(broker: EmbeddedBroker, group: str = "g") -> dict[TopicPartition, int]:
    with suppress(KafkaError):
        return {name: each.offset for name, each in broker.committed(group).items()}
    return {}


# Batches that no client would write.


def batch_of(
    payloads: Sequence[bytes | None],
    *,
    codec: Codec = Codec.NONE,
    stamp: ProducerStamp = NOBODY,
    control: bool = False,
) -> memoryview:
    builder = BatchBuilder(1 << 30)
    for payload in payloads:
        builder.append(None, payload, 1_000)
    return builder.finish(Compression(codec), stamp, control=control)


def large_batch() -> memoryview:
    """One of 300 records that is so large that a thread inflates it."""
    chance = random.Random(1)
    return batch_of([chance.randbytes(400) for _ in range(300)], codec=Codec.GZIP)


def write(
    broker: EmbeddedBroker,
    batch: memoryview,
    *,
    partition: int = 0,
    last_offset_delta: int | None = None,
    is_empty: bool = False,
    damage: bool = False,
) -> int:
    """Put a batch into the log as it is; its base offset.

    Args:
        broker: Whose log.
        batch: The batch.
        partition: Of topic "t".
        last_offset_delta: As if records at its end had been compacted away.
        is_empty: As if all had been.
        damage: Whether its checksum is wrong.
    """
    log = broker._state.topics.by_name[TOPIC].partitions[partition].log
    data = bytearray(batch)
    header = read_header(data)
    if last_offset_delta is not None:
        header = header._replace(last_offset_delta=last_offset_delta)
    if is_empty:
        del data[HEADER.size :]
        header = header._replace(record_count=0, length=HEADER.size - 12)
    _sum_up(data, header)
    if damage:
        data[-2] ^= 1  # of the last value
    base: int = broker._do(lambda: log.append(bytes(data), read_header(data)))
    return base


def _sum_up(data: bytearray, header: Any) -> None:
    from kafka_aio.records.codec import crc32c
    from kafka_aio.records.layout import CRC_FROM

    HEADER.pack_into(data, 0, *header)
    HEADER.pack_into(data, 0, *header._replace(crc=crc32c(memoryview(data)[CRC_FROM:])))
