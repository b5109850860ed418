"""The adapter of our own clients."""

from __future__ import annotations

from functools import partial
from typing import Any

from kafka_aio.cli.bench import crossing, workloads
from kafka_aio.cli.bench.plan import configured
from kafka_aio.cli.bench.work import Chunk, Work
from kafka_aio.cli.bench.workloads import LIST, PAUSE
from kafka_aio.config import ConsumerConfig, ProducerConfig
from kafka_aio.consumer import Consumer
from kafka_aio.producer import Producer


async def submit(work: Work) -> None:
    """`await submit`, then the deliveries."""
    async with _producer(work) as producer:
        await workloads.submit(work, producer.submit)


async def many(work: Work) -> None:
    """`send_many` of lists."""
    async with _producer(work) as producer:

        async def send(rows: Chunk) -> None:
            values, keys = rows
            await producer.send_many(work.topic, values, keys=keys)

        await workloads.many(work, send, lambda *rows: rows)


async def arrow(work: Work) -> None:
    """`send_many` of Arrow columns."""
    async with _producer(work) as producer:
        await workloads.many(work, partial(producer.send_many, work.topic), _columns)


async def tasks(work: Work) -> None:
    """`await send`, many at a time."""
    async with _producer(work) as producer:
        await workloads.tasks(work, producer.send)


async def latency(work: Work) -> None:
    """`await send`, one at a time."""
    async with _producer(work) as producer:
        await workloads.latency(work, producer.send)


async def read_lists(work: Work) -> None:
    """`poll`."""
    async with _consumer(work) as consumer:

        async def read(count: int) -> int:
            return sum(map(len, (await consumer.poll(PAUSE, count)).values()))

        await workloads.read_lists(work, read)
        await _check(work, consumer)


async def read_each(work: Work) -> None:
    """`async for`."""
    async with _consumer(work) as consumer:
        await workloads.read_each(work, consumer)
        await _check(work, consumer)


async def read_arrow(work: Work) -> None:
    """`batches`, each as columns."""
    async with _consumer(work) as consumer:
        batches = consumer.batches()

        async def read(_: int) -> int:
            rows: int = (await anext(batches)).to_arrow().num_rows
            return rows

        await workloads.read_lists(work, read)
        await _check(work, consumer)


async def end_to_end(work: Work) -> None:
    """`submit` here, `poll` there."""
    async with _producer(work) as producer, _consumer(work) as consumer:

        async def receive() -> list[bytes | None]:
            found = await consumer.poll(crossing.PAUSE)
            return [record.key for records in found.values() for record in records]

        await crossing.end_to_end(work, producer.submit, receive)


def _consumer(work: Work) -> Consumer[bytes, bytes]:
    config = configured(
        ConsumerConfig,
        work.connection,
        group_id=work.group,
        auto_offset_reset="earliest",
        enable_auto_commit=False,
        max_poll_records=LIST,
        max_partition_fetch_bytes=work.load.max_partition_fetch_bytes,
    )
    consumer: Consumer[bytes, bytes] = Consumer(config)
    consumer.subscribe([work.topic])
    return consumer


async def _check(work: Work, consumer: Consumer[bytes, bytes]) -> None:
    work.check([await consumer.position(each) for each in consumer.assignment()])


def _producer(work: Work) -> Producer[bytes, bytes]:
    """With the settings that all clients have."""
    load = work.load
    config = configured(
        ProducerConfig,
        work.connection,
        acks=load.acks,
        linger_ms=load.linger_ms,
        batch_size=load.batch_size,
        compression_type=load.codec,
    )
    return Producer(config)


def _columns(values: list[bytes], keys: list[bytes] | None) -> Any:
    import pyarrow as pa  # late: an extra

    columns = {"value": pa.array(values, pa.binary())}
    if keys is not None:
        columns["key"] = pa.array(keys, pa.binary())
    return pa.RecordBatch.from_pydict(columns)
