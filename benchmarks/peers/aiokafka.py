"""aiokafka: `send` and its futures, `send_batch`, `send_and_wait`; `getmany`, `async for`."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from itertools import count

from aiokafka import AIOKafkaConsumer, AIOKafkaProducer

from benchmarks.peers import consumer_options, producer_options
from kafka_aio.cli.bench import crossing, workloads
from kafka_aio.cli.bench.work import Chunk, Work
from kafka_aio.cli.bench.workloads import PAUSE

LIST = 500
"""Records in a call. More cost it more: 1.3 CPU s/M with 500, 1.9 with 10,000, 2.4 with all."""


@asynccontextmanager
async def producer(work: Work) -> AsyncIterator[AIOKafkaProducer]:
    made = AIOKafkaProducer(max_batch_size=work.load.batch_size, **producer_options(work))
    await made.start()
    try:
        yield made
    finally:
        await made.stop()


async def submit(work: Work) -> None:
    async with producer(work) as aio:
        await workloads.submit(work, aio.send)


async def many(work: Work) -> None:
    turns = count()

    async def send(rows: Chunk) -> None:
        """Fill batches, one for each partition in turn, and wait for all of them."""
        values, keys = rows
        futures = []
        at = 0
        while at < len(values):
            batch = aio.create_batch()
            while at < len(values):
                key = None if keys is None else keys[at]
                if batch.append(key=key, value=values[at], timestamp=None) is None:
                    break
                at += 1
            partition = next(turns) % work.load.partitions
            futures.append(await aio.send_batch(batch, work.topic, partition=partition))
        for future in futures:
            await future

    async with producer(work) as aio:
        await workloads.many(work, send, lambda *rows: rows)


async def tasks(work: Work) -> None:
    async with producer(work) as aio:
        await workloads.tasks(work, aio.send_and_wait)


async def latency(work: Work) -> None:
    async with producer(work) as aio:
        await workloads.latency(work, aio.send_and_wait)


@asynccontextmanager
async def consumer(work: Work) -> AsyncIterator[AIOKafkaConsumer]:
    made = AIOKafkaConsumer(work.topic, **consumer_options(work))
    await made.start()
    try:
        yield made
        if work.load.reads:
            work.check([await made.position(each) for each in made.assignment()])
    finally:
        await made.stop()


async def read_lists(work: Work) -> None:
    async with consumer(work) as aio:

        async def read(count: int) -> int:
            most = min(count, LIST)
            found = await aio.getmany(timeout_ms=round(PAUSE * 1000), max_records=most)
            return sum(map(len, found.values()))

        await workloads.read_lists(work, read)


async def read_each(work: Work) -> None:
    async with consumer(work) as aio:
        await workloads.read_each(work, aio)


async def end_to_end(work: Work) -> None:
    async with producer(work) as sender, consumer(work) as reader:

        async def receive() -> list[bytes | None]:
            found = await reader.getmany(timeout_ms=round(crossing.PAUSE * 1000))
            return [record.key for records in found.values() for record in records]

        await crossing.end_to_end(work, sender.send, receive)
