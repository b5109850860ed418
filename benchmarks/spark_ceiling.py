"""Data sources of Spark that do less than ours: what its Python path leaves to reach.

* `bench_drop` drops the Arrow batches that it is to write.
* `bench_encoded` writes as many rows as it gets, in requests that were encoded beforehand.
* `bench_generated` reads columns that were made beforehand.
* `bench_fetched` fetches a topic, looks at the headers of its batches alone, and gives as many rows
  of columns that were made beforehand.

All of it runs in Spark's Python workers; what is made beforehand is kept there from one task to the
next, and so is the connection.
"""

from __future__ import annotations

import asyncio
import random
import threading
from collections import deque
from collections.abc import Coroutine, Iterator, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from functools import cache
from itertools import cycle
from time import time
from typing import Any, TypeVar

import pyarrow as pa
import uvloop
from pyspark.sql.datasource import (
    DataSource,
    DataSourceArrowWriter,
    DataSourceReader,
    InputPartition,
    WriterCommitMessage,
)
from pyspark.sql.types import StructType

from kafka_aio.cli.bench.ceiling import IN_FLIGHT, LAST_WITH_NAMES, advance, batch, check, request
from kafka_aio.cli.bench.work import Chunk, values
from kafka_aio.config import ProducerConfig
from kafka_aio.net.cluster import Cluster
from kafka_aio.net.tasks import Tasks
from kafka_aio.protocol.messages.fetch import (
    FetchPartition,
    FetchRequest,
    FetchResponse,
    FetchTopic,
)
from kafka_aio.records.arrow import SCHEMA
from kafka_aio.types import TopicPartition
from spark_connector.workers import settle

PARTITIONS = 6
VALUE_BYTES, KEY_BYTES = 100, 8
BATCH_BYTES = 128 * 1024
FETCH_BYTES = 8 * 2**20
ARROW_ROWS = 10_000
"""Rows of an Arrow batch: as many as Spark gives to a writer."""

COLUMNS = (
    "key binary, value binary, topic string, partition int, offset long, timestamp timestamp,"
    " timestampType int"
)
"""What Spark's Kafka source has."""

_POOL = 20_000
"""So many different records there are, which come again and again."""
_FETCH_MS = 500

T = TypeVar("T")


@cache
def pool() -> Chunk:
    """Values like JSON with random fields, and keys."""
    rng = random.Random(1)
    keys = [b"%0*x" % (KEY_BYTES, rng.getrandbits(32)) for _ in range(_POOL)]
    return values(VALUE_BYTES, _POOL, rng), keys


@cache
def columns() -> Sequence[pa.RecordBatch]:
    """The records of the pool as a Kafka source gives them."""
    every, keys = pool()
    assert keys is not None
    return [
        _columns(every[start : start + ARROW_ROWS], keys[start : start + ARROW_ROWS])
        for start in range(0, _POOL, ARROW_ROWS)
    ]


def _columns(every: list[bytes], keys: list[bytes]) -> pa.RecordBatch:
    rows = len(every)
    now = int(time() * 1e6)
    data = [keys, every, ["generated"] * rows, [0] * rows, range(rows), [now] * rows, [0] * rows]
    return pa.RecordBatch.from_arrays(
        [pa.array(each, kind) for each, kind in zip(data, SCHEMA.types, strict=True)], schema=SCHEMA
    )


# -- a loop and a connection in a worker process


@cache
def _loop() -> asyncio.AbstractEventLoop:
    loop = uvloop.new_event_loop()
    threading.Thread(target=loop.run_forever, daemon=True).start()
    return loop


def _submit(work: Coroutine[Any, Any, T]) -> Future[T]:
    return asyncio.run_coroutine_threadsafe(work, _loop())


@cache
def _cluster(bootstrap: str) -> Cluster:
    return _submit(_connected(bootstrap)).result()


async def _connected(bootstrap: str) -> Cluster:
    """For the rest of the process: nobody closes it."""
    tasks = Tasks("bench")
    await tasks.start()
    config = ProducerConfig(bootstrap_servers=bootstrap)
    cluster = Cluster(config, tasks, max_in_flight=IN_FLIGHT)
    await cluster.start()
    return cluster


async def _leader(cluster: Cluster, topic: str) -> int:
    """The node of a topic's first partition; there is one node alone.

    What is known is not asked for again: who refreshes in every task is made to wait.
    """
    for _ in range(50):
        found = cluster.metadata.leader(TopicPartition(topic, 0))
        if found is not None:
            return found.node
        await cluster.refresh([topic])
    raise RuntimeError(f"topic {topic!r} has no leader")


# -- writing


class DropWriter(DataSourceArrowWriter):
    def write(self, iterator: Iterator[pa.RecordBatch]) -> WriterCommitMessage:
        for _ in iterator:
            pass
        settle()
        return WriterCommitMessage()


class Drop(DataSource):
    @classmethod
    def name(cls) -> str:
        return "bench_drop"

    def writer(self, schema: StructType, overwrite: bool) -> DropWriter:
        settle()
        return DropWriter()


@cache
def _full_batch() -> tuple[bytes, int]:
    return batch(pool(), BATCH_BYTES)


class Sending:
    """Requests that are due: some at a time are on their way."""

    def __init__(self, bootstrap: str, topic: str) -> None:
        self._cluster = _cluster(bootstrap)
        self._topic = topic
        self._node = _submit(_leader(self._cluster, topic)).result()
        self._data, self._records = _full_batch()
        self._sent: deque[Future[None]] = deque()
        self._due = 0

    def add(self, rows: int) -> None:
        self._due += rows
        while self._due >= PARTITIONS * self._records:
            self._send(dict.fromkeys(range(PARTITIONS), self._data))
            self._due -= PARTITIONS * self._records

    def finish(self) -> None:
        """What does not fill a request, and the answers to all."""
        rest: dict[int, bytes] = {}
        every, keys = pool()
        while self._due:
            count = min(self._due, self._records)
            part = (every[:count], keys and keys[:count])
            rest[len(rest)], _ = batch(part, BATCH_BYTES)
            self._due -= count
        if rest:
            self._send(rest)
        while self._sent:
            self._sent.popleft().result()

    def _send(self, batches: Mapping[int, bytes]) -> None:
        while len(self._sent) >= IN_FLIGHT:
            self._sent.popleft().result()
        self._sent.append(_submit(self._ask(batches)))

    async def _ask(self, batches: Mapping[int, bytes]) -> None:
        made = request(self._topic, batches, acks=-1)
        check(await self._cluster.send(self._node, made, at_most=LAST_WITH_NAMES))


@dataclass
class EncodedWriter(DataSourceArrowWriter):
    bootstrap: str
    topic: str

    def write(self, iterator: Iterator[pa.RecordBatch]) -> WriterCommitMessage:
        sending = Sending(self.bootstrap, self.topic)
        for rows in iterator:
            sending.add(rows.num_rows)
        sending.finish()
        settle()
        return WriterCommitMessage()


class Encoded(DataSource):
    @classmethod
    def name(cls) -> str:
        return "bench_encoded"

    def writer(self, schema: StructType, overwrite: bool) -> EncodedWriter:
        settle()
        return EncodedWriter(self.options["bootstrap"], self.options["topic"])


# -- reading


class Range(InputPartition):
    """Rows of a partition, from the beginning."""

    def __init__(self, partition: int, rows: int) -> None:
        self.partition = partition
        self.rows = rows


@dataclass
class GeneratedReader(DataSourceReader):
    partitions_wanted: int
    rows: int

    def partitions(self) -> list[Range]:
        settle()
        share, rest = divmod(self.rows, self.partitions_wanted)
        return [Range(each, share + (each < rest)) for each in range(self.partitions_wanted)]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        assert isinstance(partition, Range)
        yield from canned(partition.rows)
        settle()


def canned(rows: int) -> Iterator[pa.RecordBatch]:
    """So many rows, made beforehand."""
    for each in cycle(columns()):
        if rows <= 0:
            return
        yield each if rows >= each.num_rows else each.slice(0, rows)
        rows -= each.num_rows


class Generated(DataSource):
    @classmethod
    def name(cls) -> str:
        return "bench_generated"

    def schema(self) -> str:
        return COLUMNS

    def reader(self, schema: StructType) -> GeneratedReader:
        return GeneratedReader(int(self.options["partitions"]), int(self.options["rows"]))


@dataclass
class FetchedReader(DataSourceReader):
    bootstrap: str
    topic: str
    ends: Sequence[int]
    """How many records each partition has."""

    def partitions(self) -> list[Range]:
        settle()
        return [Range(number, end) for number, end in enumerate(self.ends)]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """One fetch is on its way while the rows of the one before are given."""
        assert isinstance(partition, Range)
        cluster = _cluster(self.bootstrap)
        node = _submit(_leader(cluster, self.topic)).result()
        offsets = {partition.partition: 0}

        def fetch() -> Future[FetchResponse]:
            asked = _fetch(self.topic, partition.partition, offsets[partition.partition])
            return _submit(cluster.send(node, asked, at_most=LAST_WITH_NAMES))

        due = fetch() if partition.rows else None
        while due is not None:
            rows, _ = advance(due.result(), offsets)
            due = fetch() if offsets[partition.partition] < partition.rows else None
            yield from canned(rows)
        settle()


def _fetch(topic: str, partition: int, offset: int) -> FetchRequest:
    wanted = FetchPartition(
        partition=partition, fetch_offset=offset, partition_max_bytes=FETCH_BYTES
    )
    return FetchRequest(
        max_wait_ms=_FETCH_MS, min_bytes=1, topics=[FetchTopic(topic=topic, partitions=[wanted])]
    )


class Fetched(DataSource):
    @classmethod
    def name(cls) -> str:
        return "bench_fetched"

    def schema(self) -> str:
        return COLUMNS

    def reader(self, schema: StructType) -> FetchedReader:
        ends = [int(each) for each in self.options["ends"].split(",")]
        return FetchedReader(self.options["bootstrap"], self.options["topic"], ends)


SOURCES = (Drop, Encoded, Generated, Fetched)
