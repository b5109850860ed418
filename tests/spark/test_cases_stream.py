"""Streaming reads of the table, with Spark's own connector or with ours."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.spark import sessions
from tests.spark.cases import (
    Batches,
    Create,
    Delete,
    Failed,
    Fails,
    Grow,
    Produce,
    Run,
    Step,
    Stream,
    assert_fails,
    options,
    places,
)
from tests.spark.cases_stream import STREAMS
from tests.spark.topics import Topics

pytestmark = pytest.mark.spark_peer

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

SECONDS = 60


@pytest.mark.parametrize("case", STREAMS, ids=lambda case: case.id)
def test_streaming_read(
    case: Stream,
    spark: SparkSession,
    connector: str,
    topics: Topics,
    spark_says: Callable[[str], bool],
    tmp_path: Path,
) -> None:
    for step in case.steps:
        if not isinstance(step, Run):
            perform(step, topics)
            continue
        expected = step.theirs if connector == "kafka" or step.ours is None else step.ours

        seen = Seen(step, topics)
        found = outcome(step, seen, spark.readStream.format(connector), tmp_path)

        if isinstance(expected, Fails):
            assert_fails(found, expected, topics)
        else:
            assert found is None, found
            check(seen, expected, tmp_path, topics)
    assert connector == "kafka" or spark_says(topics.filled(case.says))


def test_progress_has_offsets_and_lag_where_spark_has_a_place_for_it(
    spark: SparkSession, connector: str, topics: Topics, tmp_path: Path
) -> None:
    source = {"subscribe": "<a>", "startingOffsets": "earliest", "maxOffsetsPerTrigger": "15"}
    frame = spark.readStream.format(connector).options(**options(source, topics)).load()
    sink: Any = frame.writeStream.format("noop")
    sink = sink.option("checkpointLocation", str(tmp_path / "checkpoint"))
    query = sink.trigger(availableNow=True).start()
    assert query.awaitTermination(SECONDS)

    (found,) = query.recentProgress[0].sources

    assert found.numInputRows == 15
    assert json.loads(found.endOffset) == whole({"a-0": 5, "a-1": 10, "a-2": 0}, topics)
    assert json.loads(found.latestOffset) == whole({"a-0": 10, "a-1": 20, "a-2": 0}, topics)
    lags = {"minOffsetsBehindLatest": "0", "maxOffsetsBehindLatest": "10"}
    # Spark has no way for a Python source to say it; spark_connector.LagListener tells.
    expected = {} if connector == "kafka_aio" else lags | {"avgOffsetsBehindLatest": "5.0"}
    assert found.metrics == expected


def perform(step: Step, topics: Topics) -> None:
    match step:
        case Create(topic, counts):
            topics.create(topic, len(counts))
            topics.produce(topic, dict(enumerate(counts)))
        case Produce(topic, more):
            topics.produce(topic, more)
        case Grow(topic, partitions):
            topics.add_partitions(topic, partitions)
        case Delete(topic):
            topics.delete(topic)


class Seen:
    """A sink that remembers the batches of a run: ids, records, partitions and when they came."""

    def __init__(self, run: Run, topics: Topics) -> None:
        self._run = run
        self._topics = topics
        self.batches: list[tuple[int, list[tuple[str, int, int]]]] = []
        self.partitions: int | None = None
        self.times: list[float] = []

    def __call__(self, frame: DataFrame, batch: int) -> None:
        self.times.append(time.monotonic())
        if self._run.during is not None and len(self.times) == 1:
            perform(self._run.during, self._topics)
        rows = frame.select("topic", "partition", "offset").rdd
        found = [(row[0], row[1], row[2]) for row in rows.collect()]
        if found and self.partitions is None:
            self.partitions = rows.getNumPartitions()
        self.batches.append((batch, found))


def outcome(run: Run, seen: Seen, reader: Any, folder: Path) -> Failed | None:
    """The error that the run ended with, if it did."""
    call = "load"
    try:
        frame = reader.options(**options(run.options, seen._topics)).load()
        call = "start"
        query = (
            frame.writeStream.foreachBatch(seen)
            .option("checkpointLocation", str(folder / "checkpoint"))
            .trigger(**run.trigger)
            .start()
        )
        call = "query"
        wait(query, run, seen)
    except sessions.errors() as error:
        return Failed(call, str(error))
    return None


def wait(query: StreamingQuery, run: Run, seen: Seen) -> None:
    """Until it has ended by itself, or has had the batches that are expected of it."""
    deadline = time.monotonic() + SECONDS
    try:
        if "processingTime" not in run.trigger:
            assert query.awaitTermination(SECONDS), "it goes on"
            return
        assert isinstance(run.theirs, Batches)
        while len(seen.batches) < len(run.theirs.rows):
            assert time.monotonic() < deadline, seen.batches
            query.awaitTermination(0.05)  # type: ignore[arg-type]  # it takes a float
    finally:
        query.stop()


def check(seen: Seen, expected: Batches, folder: Path, topics: Topics) -> None:
    assert [len(rows) for _, rows in seen.batches] == list(expected.rows)
    if expected.places is not None:
        found = sorted(place for _, rows in seen.batches for place in rows)
        assert found == places(expected.places, topics)
    if expected.partitions is not None:
        assert seen.partitions == expected.partitions
    ends = list(expected.ends) or ([expected.end] if expected.end else [])
    for (batch, _), end in zip(seen.batches[-len(ends) :], ends, strict=True):
        assert offsets_of(batch, folder) == whole(end, topics)
    if expected.later:
        assert seen.times[1] - seen.times[0] >= expected.later


def offsets_of(batch: int, folder: Path) -> object:
    """What the checkpoint says where a batch ends."""
    *_, last = (folder / "checkpoint" / "offsets" / str(batch)).read_text().splitlines()
    return json.loads(last)


def whole(end: Any, topics: Topics) -> dict[str, dict[str, int]]:
    found: dict[str, dict[str, int]] = {}
    for place, offset in end.items():
        topic, _, partition = place.rpartition("-")
        found.setdefault(topics.name(topic), {})[partition] = offset
    return found
