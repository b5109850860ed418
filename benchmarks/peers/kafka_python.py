"""kafka-python: `send` and its futures; `poll`."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from kafka import KafkaConsumer, KafkaProducer

from benchmarks.peers import consumer_options, producer_options
from kafka_aio.cli.bench.work import Run, Work
from kafka_aio.cli.bench.workloads import (
    BEHIND,
    CHUNK,
    LIST,
    PAUSE,
    blocking_each,
    blocking_latency,
    blocking_lists,
)

PATIENCE = 60


@contextmanager
def producer(work: Work) -> Iterator[Any]:
    made = KafkaProducer(batch_size=work.load.batch_size, **producer_options(work))
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


@contextmanager
def consumer(work: Work) -> Iterator[Any]:
    made = KafkaConsumer(work.topic, max_poll_records=LIST, **consumer_options(work))
    try:
        yield made
        work.check(made.position(each) for each in made.assignment())
    finally:
        made.close()


def read_lists(work: Work) -> None:
    with consumer(work) as client:

        def read(count: int) -> int:
            found = client.poll(timeout_ms=round(PAUSE * 1000), max_records=count)
            return sum(map(len, found.values()))

        blocking_lists(work, read)


def read_each(work: Work) -> None:
    with consumer(work) as client:
        blocking_each(work, client.__next__)
