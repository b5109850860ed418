"""Batch and streaming writes of the table, with Spark's own connector or with ours."""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from aiokafka.partitioner import murmur2

from tests.spark import sessions
from tests.spark.cases import (
    Failed,
    Fails,
    Options,
    Record,
    StreamWrite,
    Write,
    Written,
    assert_fails,
    options,
)
from tests.spark.cases_write import STREAM_WRITES, WRITES
from tests.spark.topics import Topics

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

pytestmark = pytest.mark.spark_peer

SECONDS = 60


@pytest.mark.parametrize("case", WRITES, ids=lambda case: case.id)
def test_batch_write(case: Write, spark: SparkSession, connector: str, topics: Topics) -> None:
    out = Out(case, topics)
    topics.produce(out.short, {0: case.before})

    found = save(case, out, spark, connector)

    check(found, case, out, connector)
    assert case.afterwards(topics)


@pytest.mark.parametrize("case", STREAM_WRITES, ids=lambda case: case.id)
def test_streaming_write(
    case: StreamWrite, spark: SparkSession, connector: str, topics: Topics, tmp_path: Path
) -> None:
    out = Out(case, topics)

    found = stream(case, out, spark, connector, tmp_path)

    check(found, case, out, connector)


class Out:
    """The topic that a case writes to."""

    def __init__(self, case: Write | StreamWrite, topics: Topics) -> None:
        self.topics = topics
        self.short = f"out-{case.id}"
        self.partitions = case.partitions
        self.begun = time.time()
        topics.create(self.short, case.partitions)

    def named(self, text: str) -> str:
        return self.topics.filled(text.replace("<out>", f"<{self.short}>"))

    def options(self, given: Options, **always: str) -> dict[str, str]:
        named = {name: value and self.named(value) for name, value in given.items()}
        return options({"topic": self.topics.name(self.short), **always, **named}, self.topics)

    def place(self, record: Record) -> tuple[bytes | None, bytes | None, int]:
        """Key, value and partition, which the key decides if nothing else does."""
        partition = record.partition
        if partition is None:
            assert record.key is not None or self.partitions == 1
            hashed = 0 if record.key is None else murmur2(record.key) & 0x7FFFFFFF
            partition = hashed % self.partitions
        return record.key, record.value, partition


def check(found: Failed | None, case: Write | StreamWrite, out: Out, connector: str) -> None:
    """The error, or the records that are there now and were not before."""
    expected = case.theirs if connector == "kafka" or case.ours is None else case.ours
    if isinstance(expected, Fails):
        assert_fails(found, replace(expected, words=out.named(expected.words)), out.topics)
        return
    assert found is None, found
    stored = out.topics.read(out.short)[case.before if isinstance(case, Write) else 0 :]
    assert sorted(((s.key, s.value, s.partition) for s in stored), key=repr) == sorted(
        map(out.place, expected.records), key=repr
    )
    assert all(record.timestamp > 1000 * (out.begun - 1) for record in stored)


def save(case: Write, out: Out, spark: SparkSession, connector: str) -> Failed | None:
    writer = spark.sql(out.named(case.frame)).write.format(connector)
    writer = writer.options(**out.options(case.options))
    try:
        (writer if case.mode is None else writer.mode(case.mode)).save()
    except sessions.errors() as error:
        return Failed("save", str(error))
    return None


def stream(
    case: StreamWrite, out: Out, spark: SparkSession, connector: str, folder: Path
) -> Failed | None:
    source = {"subscribe": case.subscribe, "startingOffsets": "earliest"}
    frame: Any = spark.readStream.format(connector).options(**options(source, out.topics)).load()
    if case.mode != "append":
        frame = frame.groupBy("partition").count()
    sink = frame.selectExpr(*case.select).writeStream.format(connector)
    checkpoint = str(folder / "checkpoint")
    sink = sink.options(**out.options(case.options, checkpointLocation=checkpoint))
    call = "start"
    try:
        query = sink.outputMode(case.mode).trigger(**case.trigger).start()
        call = "query"
        wait(query, case, out)
    except sessions.errors() as error:
        return Failed(call, str(error))
    return None


def wait(query: StreamingQuery, case: StreamWrite, out: Out) -> None:
    """Until it has ended by itself, or all is written."""
    deadline = time.monotonic() + SECONDS
    try:
        if "continuous" not in case.trigger:
            assert query.awaitTermination(SECONDS), "it goes on"
            if isinstance(case.theirs, Written):
                progress = query.lastProgress
                assert progress is not None
                assert progress["sink"]["numOutputRows"] == len(case.theirs.records)
            return
        assert isinstance(case.theirs, Written)
        while len(out.topics.read(out.short)) < len(case.theirs.records):
            assert time.monotonic() < deadline, "not all is written"
            query.awaitTermination(1)
    finally:
        query.stop()
