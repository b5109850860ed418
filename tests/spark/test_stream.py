"""Streams on a real Kafka: what is read while topics grow, and what is written in every mode."""

from __future__ import annotations

import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

pytest.importorskip("pyspark")

import pyarrow as pa
from pyspark import TaskContext

from kafka_aio import TopicPartition
from kafka_aio.broker import BrokerThread
from spark_connector import LagListener, write_batch
from tests.spark.queries import FORMAT, Journal, places, run, running, stream, wait
from tests.spark.topics import Headers, Topics

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from spark_connector.lag import QueryLag

QUESTIONS_A_SECOND = 100
"""An idle query waits 10 ms before it asks again."""
WORDS = [b"one", b"two", b"one", b"three", b"one", b"three"]


@pytest.fixture
def source(topics: Topics) -> str:
    """A topic with two partitions, by its short name."""
    return created(topics, "source", 2)


@pytest.fixture
def target(topics: Topics) -> str:
    """A topic with one partition, by its short name."""
    return created(topics, "target", 1)


def created(topics: Topics, what: str, partitions: int) -> str:
    short = f"{what}-{uuid.uuid4().hex[:8]}"
    topics.create(short, partitions)
    return short


def reading(spark: SparkSession, topics: Topics, topic: str, **options: object) -> DataFrame:
    return stream(spark, topics.bootstrap, topics.name(topic), **options)


def writing(topics: Topics, topic: str) -> dict[str, str]:
    return {"kafka.bootstrap.servers": topics.bootstrap, "topic": topics.name(topic)}


# Reading.


def test_a_partition_that_is_new_is_read_from_its_beginning_while_the_query_runs(
    spark: SparkSession, topics: Topics, source: str, tmp_path: Path
) -> None:
    journal = Journal(tmp_path / "journal")
    frame = reading(spark, topics, source, startingOffsets="latest")
    with running(frame, tmp_path / "checkpoint", journal):
        wait(lambda: bool(journal.tries()), lambda: "no batch")
        topics.add_partitions(source, 4)
        topics.produce(source, {0: 2, 2: 3, 3: 1})

        journal.wait(6)

    assert journal.kept() == places({0: 2, 2: 3, 3: 1})


def test_a_query_that_reads_what_there_is_does_it_within_its_limit(
    spark: SparkSession, topics: Topics, source: str, tmp_path: Path
) -> None:
    journal = Journal(tmp_path / "journal")
    topics.produce(source, {0: 20, 1: 10})

    run(reading(spark, topics, source, maxOffsetsPerTrigger=12), tmp_path / "checkpoint", journal)

    assert journal.sizes() == [12, 12, 6]
    assert journal.kept() == places({0: 20, 1: 10})


def test_ranges_of_a_stream_are_split_into_as_many_tasks_as_are_wanted(
    spark: SparkSession, topics: Topics, source: str, tmp_path: Path
) -> None:
    journal, tasks = Journal(tmp_path / "journal"), []

    def sink(frame: DataFrame, batch: int) -> None:
        tasks.append(frame.rdd.getNumPartitions())
        journal(frame, batch)

    topics.produce(source, {0: 20, 1: 10})

    run(reading(spark, topics, source, minPartitions=6), tmp_path / "checkpoint", sink)

    assert tasks == [6]
    assert journal.kept() == places({0: 20, 1: 10})


def test_a_query_keeps_its_connections_and_asks_for_all_offsets_at_once_when_it_is_idle(
    spark: SparkSession, tmp_path: Path
) -> None:
    journal = Journal(tmp_path / "journal")
    made = []
    with BrokerThread(topics={"t": 8}) as broker:  # clients of other tests have nothing to ask it
        frame = stream(spark, broker.bootstrap_servers, "t")
        with running(frame, tmp_path / "checkpoint", journal):
            for count in range(1, 9):
                broker.produce("t", [b"%d" % count])
                journal.wait(count)
                made.append(broker.statistics().connections_made)
            time.sleep(1)  # the last batch ends
            before = broker.statistics()
            time.sleep(2)
            after = broker.statistics()

    asked = {api: each.requests - before.apis[api].requests for api, each in after.apis.items()}
    assert made[-1] == made[3], made  # the first batches may meet workers that have none yet
    assert after.connections_made == before.connections_made
    assert 0 < asked["ListOffsets"] <= 2 * QUESTIONS_A_SECOND
    assert 0 < asked["DescribeTopicPartitions"] <= 2 + 1  # for partitions that are new
    assert {api for api, count in asked.items() if count} == {
        *("ListOffsets", "DescribeTopicPartitions")
    }


def test_a_listener_is_told_how_far_a_query_is_behind(
    spark: SparkSession, topics: Topics, source: str, tmp_path: Path
) -> None:
    lags: list[QueryLag] = []
    listener = LagListener(lags.append)
    topics.produce(source, {0: 10})
    frame = reading(spark, topics, source, maxOffsetsPerTrigger=4)
    spark.streams.addListener(listener)
    try:
        with running(frame, tmp_path / "checkpoint", Journal(tmp_path / "j"), now=True) as query:
            wait(lambda: len(lags) == 3, lambda: f"{lags}")
    finally:
        spark.streams.removeListener(listener)

    of_source = [TopicPartition(topics.name(source), number) for number in (0, 1)]
    assert [lag.total for lag in lags] == [6, 2, 0]
    assert lags[0].by_partition == dict(zip(of_source, (6, 0), strict=True))
    assert listener.lag(query.id) == lags[-1]


# Writing.


def test_in_complete_mode_every_batch_writes_the_whole_result(
    spark: SparkSession, topics: Topics, source: str, target: str, tmp_path: Path
) -> None:
    counts = counted_words(spark, topics, source)

    run(counts, tmp_path / "checkpoint", writing(topics, target), mode="complete")

    first, second = results(topics, target, [2, 3])
    assert first == {b"one": b"2", b"two": b"1"}
    assert second == {b"one": b"3", b"two": b"1", b"three": b"2"}


def test_in_update_mode_write_batch_writes_what_a_batch_has_changed(
    spark: SparkSession, topics: Topics, source: str, target: str, tmp_path: Path
) -> None:
    counts = counted_words(spark, topics, source)

    run(counts, tmp_path / "checkpoint", write_batch(writing(topics, target)), mode="update")

    first, second = results(topics, target, [2, 2])
    assert first == {b"one": b"2", b"two": b"1"}
    assert second == {b"one": b"3", b"three": b"2"}


def test_write_batch_takes_the_format_that_spark_has_found(
    spark: SparkSession,
    topics: Topics,
    source: str,
    target: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # Where executors have a path of their own to Python, it is not one of the driver's; but a
    # format that is registered by hand is planned there with it.
    monkeypatch.setattr(spark.sparkContext, "pythonExec", "./environment/bin/python")
    topics.produce(source, {0: 3})
    frame = reading(spark, topics, source).select("value")

    run(frame, tmp_path / "checkpoint", write_batch(writing(topics, target)))

    assert len(topics.read(target)) == 3


def counted_words(spark: SparkSession, topics: Topics, source: str) -> DataFrame:
    """How often each word has come; there are three words in a batch."""
    for word in WORDS:
        topics.send(source, word)
    topics.flush()
    words = reading(spark, topics, source, maxOffsetsPerTrigger=3)
    return words.groupBy("value").count().selectExpr("value AS key", "string(count) AS value")


def results(
    topics: Topics, target: str, sizes: list[int]
) -> list[dict[bytes | None, bytes | None]]:
    """What each batch has written, if it is as much as that; tasks of one may be in any order."""
    found = [(record.key, record.value) for record in topics.read(target)]
    assert len(found) == sum(sizes), found
    starts = [sum(sizes[:number]) for number in range(len(sizes))]
    return [dict(found[start : start + size]) for start, size in zip(starts, sizes, strict=True)]


def test_headers_go_through_a_stream(
    spark: SparkSession, topics: Topics, source: str, target: str, tmp_path: Path
) -> None:
    headers: Headers = [("x", b"1"), ("x", b"2"), ("none", None), ("empty", b"")]
    topics.send(source, b"with", headers=headers)
    topics.send(source, b"without", i=1)
    topics.flush()
    frame = reading(spark, topics, source, includeHeaders=True)

    run(frame.select("value", "headers"), tmp_path / "checkpoint", writing(topics, target))

    assert [(record.value, record.headers) for record in topics.read(target)] == [
        (b"with", headers),
        (b"without", []),
    ]


def test_rows_of_a_task_that_failed_are_written_by_the_next_one(
    spark: SparkSession, topics: Topics, target: str, tmp_path: Path
) -> None:
    sent = tmp_path / "sent"

    def fail_once(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        context = TaskContext.get()
        assert context is not None
        for number, batch in enumerate(batches):
            if number == 3 and context.partitionId() == 0 and context.attemptNumber() == 0:
                sent.touch()
                raise ValueError("on purpose")
            yield batch

    rows = spark.range(0, 2_000, numPartitions=2).selectExpr(
        "string(id) AS key", "rpad(string(id), 1000, '.') AS value"
    )
    with small_batches(spark):
        frame = rows.mapInArrow(fail_once, rows.schema)
        frame.write.format(FORMAT).options(**writing(topics, target)).mode("append").save()

    found = [record.key for record in topics.read(target)]
    assert sent.exists()
    assert {int(key) for key in found if key is not None} == set(range(2_000))
    assert len(found) > 2_000  # what the first try had sent is there twice: at least once


@contextmanager
def small_batches(spark: SparkSession) -> Iterator[None]:
    """Arrow batches of 100 rows, so that some are sent before others are asked for."""
    spark.conf.set("spark.sql.execution.arrow.maxRecordsPerBatch", "100")
    try:
        yield
    finally:
        spark.conf.unset("spark.sql.execution.arrow.maxRecordsPerBatch")
