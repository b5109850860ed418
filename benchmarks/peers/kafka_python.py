"""kafka-python: `send` and its futures."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from kafka import KafkaProducer

from benchmarks.peers import python_options
from kafka_aio.cli.bench.work import Run, Work
from kafka_aio.cli.bench.workloads import BEHIND, CHUNK, blocking_latency

PATIENCE = 60


@contextmanager
def producer(work: Work) -> Iterator[Any]:
    made = KafkaProducer(batch_size=work.load.batch_size, **python_options(work))
    try:
        yield made
    finally:
        made.close(timeout=PATIENCE)


def submit(work: Work) -> None:
    with producer(work) as client:
        for run in work.runs():
            waiting: deque[list[Any]] = deque()
            for values, keys in run.chunks(CHUNK):
                if keys is None:
                    waiting.append([client.send(work.topic, value) for value in values])
                else:
                    pairs = zip(values, keys, strict=True)
                    waiting.append([client.send(work.topic, value, key) for value, key in pairs])
                if len(waiting) > BEHIND:
                    settle(run, waiting.popleft())
            for futures in waiting:
                settle(run, futures)


def settle(run: Run, futures: list[Any]) -> None:
    for future in futures:
        try:
            future.get(timeout=PATIENCE)
        except Exception as error:
            run.failed(error)


def latency(work: Work) -> None:
    with producer(work) as client:

        def send(topic: str, value: bytes, key: bytes | None) -> None:
            client.send(topic, value, key).get(timeout=PATIENCE)

        blocking_latency(work, send)
