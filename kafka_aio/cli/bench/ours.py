"""The adapter of our own producer."""

from __future__ import annotations

from functools import partial
from typing import Any

from kafka_aio.cli.bench import workloads
from kafka_aio.cli.bench.plan import configured
from kafka_aio.cli.bench.work import Chunk, Work
from kafka_aio.config import ProducerConfig
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
