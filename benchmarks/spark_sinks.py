"""Sinks for `DataFrame.foreachPartition`, row by row, as one writes them with the peers.

Each makes its producer in the partition, reports every delivery, and ends when all are there. All
have the settings of the JVM connector that is tuned.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Iterable
from itertools import islice
from typing import Any

Rows = Iterable[tuple[str, str]]
"""A key and a value each: a `Row` is a tuple, and taking it apart is the quickest way."""

LINGER_MS = 5
BATCH_BYTES = 128 * 1024
CHUNK = 500
"""So many rows are given before anybody looks at deliveries."""
BEHIND = 100
"""So many chunks may wait for theirs."""
PATIENCE = 60


def with_aiokafka(bootstrap: str, topic: str) -> Callable[[Rows], None]:
    """`send`, and its futures; on uvloop, which is the faster one."""

    def sink(rows: Rows) -> None:
        import uvloop

        uvloop.run(_send_all(bootstrap, topic, rows))

    return sink


async def _send_all(bootstrap: str, topic: str, rows: Rows) -> None:
    from aiokafka import AIOKafkaProducer

    producer = AIOKafkaProducer(
        bootstrap_servers=bootstrap,
        acks="all",
        enable_idempotence=True,
        linger_ms=LINGER_MS,
        max_batch_size=BATCH_BYTES,
    )
    await producer.start()
    try:
        send = producer.send
        waiting: deque[list[asyncio.Future[Any]]] = deque()
        every = iter(rows)
        while chunk := list(islice(every, CHUNK)):
            waiting.append(
                [await send(topic, value.encode(), key=key.encode()) for key, value in chunk]
            )
            if len(waiting) > BEHIND:
                await _settle(waiting.popleft())
        for futures in waiting:
            await _settle(futures)
    finally:
        await producer.stop()


async def _settle(futures: list[asyncio.Future[Any]]) -> None:
    for future in futures:
        await future


def with_confluent_kafka(bootstrap: str, topic: str) -> Callable[[Rows], None]:
    """`produce` with a callback, `poll` from time to time, `flush`."""

    def sink(rows: Rows) -> None:
        from confluent_kafka import Producer

        failures: list[Any] = []

        def on_delivery(error: Any, _: object) -> None:
            if error is not None:
                failures.append(error)

        producer = Producer(
            {
                "bootstrap.servers": bootstrap,
                "acks": "all",
                "enable.idempotence": True,
                "linger.ms": LINGER_MS,
                "batch.size": BATCH_BYTES,
                "partitioner": "murmur2_random",
                "queue.buffering.max.messages": 2 * CHUNK * BEHIND,
            }
        )
        produce = producer.produce
        every = iter(rows)
        while chunk := list(islice(every, CHUNK)):
            for key, value in chunk:
                produce(topic, value, key, on_delivery=on_delivery)
            producer.poll(0)
            while len(producer) > CHUNK * BEHIND:
                producer.poll(0.01)
        left = producer.flush(PATIENCE)
        if left or failures:
            raise RuntimeError(f"{left} not delivered in time, {len(failures)} failed")

    return sink
