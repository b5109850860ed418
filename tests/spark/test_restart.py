"""Queries that fail and go on: each record is handed to Spark once, whatever happens to a batch."""

from __future__ import annotations

import uuid
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

pytest.importorskip("pyspark")

from pyspark import TaskContext
from pyspark.errors import StreamingQueryException
from pyspark.sql.functions import udf

from tests.spark.queries import SECONDS, Journal, places, run, running, stream
from tests.spark.topics import Topics

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


@pytest.fixture
def topic(topics: Topics) -> str:
    """A topic with two partitions, by its short name."""
    short = f"restart-{uuid.uuid4().hex[:8]}"
    topics.create(short, 2)
    return short


def reading(spark: SparkSession, topics: Topics, topic: str, **options: object) -> DataFrame:
    return stream(spark, topics.bootstrap, topics.name(topic), **options)


def test_a_query_goes_on_where_its_checkpoint_ends(
    spark: SparkSession, topics: Topics, topic: str, tmp_path: Path
) -> None:
    journal, checkpoint = Journal(tmp_path / "journal"), tmp_path / "checkpoint"
    topics.produce(topic, {0: 10, 1: 5})
    run(reading(spark, topics, topic), checkpoint, journal)
    topics.produce(topic, {0: 3}, first=10)

    run(reading(spark, topics, topic), checkpoint, journal)

    assert journal.tries() == [(0, places({0: 10, 1: 5})), (1, places({0: 3}, first=10))]


def test_each_record_is_handed_over_once_though_batches_fail(
    spark: SparkSession, topics: Topics, topic: str, tmp_path: Path
) -> None:
    journal = Journal(tmp_path / "journal", failing={1: "before", 2: "after"})
    topics.produce(topic, {0: 30, 1: 10})
    for more in (30, 33):
        frame = reading(spark, topics, topic, maxOffsetsPerTrigger=16)
        with pytest.raises(StreamingQueryException, match=r"fails (before|after) it is kept"):
            run(frame, tmp_path / "checkpoint", journal)
        topics.produce(topic, {0: 3}, first=more)  # while nobody reads

    run(reading(spark, topics, topic, maxOffsetsPerTrigger=16), tmp_path / "checkpoint", journal)

    assert journal.kept() == places({0: 36, 1: 10})
    assert [batch for batch, _ in journal.tries()][:5] == [0, 1, 1, 2, 2]
    journal.check_tries()


def test_a_first_batch_that_fails_loses_nothing_though_it_began_at_the_end(
    spark: SparkSession, topics: Topics, topic: str, tmp_path: Path
) -> None:
    journal = Journal(tmp_path / "journal", failing={0: "before"})
    topics.produce(topic, {0: 3})
    frame = reading(spark, topics, topic, startingOffsets="latest")
    with (
        pytest.raises(StreamingQueryException, match="batch 0 fails"),
        running(frame, tmp_path / "checkpoint", journal) as query,
    ):
        query.awaitTermination(SECONDS)
    topics.produce(topic, {0: 5}, first=3)  # while nobody reads

    with running(frame, tmp_path / "checkpoint", journal):
        topics.produce(topic, {0: 2}, first=8)
        journal.wait(7)

    assert journal.kept() == places({0: 7}, first=3)


def test_what_a_task_has_read_is_read_again_if_it_fails(
    spark: SparkSession, topics: Topics, topic: str, tmp_path: Path
) -> None:
    failed = tmp_path / "failed"

    def fail_once(partition: int, offset: int) -> int:
        context = TaskContext.get()
        assert context is not None
        if (partition, offset) == (0, 30) and context.attemptNumber() == 0:
            failed.touch()
            raise ValueError("on purpose")
        return offset

    journal = Journal(tmp_path / "journal")
    topics.produce(topic, {0: 40, 1: 40})
    frame = reading(spark, topics, topic)
    tried = frame.select(
        "partition", udf(fail_once, "long", useArrow=False)("partition", "offset").alias("offset")
    )

    run(tried, tmp_path / "checkpoint", journal)

    assert failed.exists()
    assert journal.tries() == [(0, places({0: 40, 1: 40}))]
