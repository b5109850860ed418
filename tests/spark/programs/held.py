"""A write, a read or a query whose first task stands still on the way, in its first attempt.

Its file `held` tells which process that is: the test kills it, or lets Spark see to it.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from pyspark import TaskContext

from spark_connector import OffsetRange, foreach_partition, records_rdd, register
from tests.spark import clusters
from tests.spark.programs.told import Told, answer
from tests.spark.queries import FORMAT, Journal, running, stream

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

ROWS = 2_000  # in two tasks, and in each batch of a query
SIZE = 1_000  # of a value, so that Spark's buffers of 64 KiB are soon full
BATCH = 100  # rows in an Arrow batch
HELD_SECONDS = 90
HELD_BATCH = 1  # of a query: the second one
QUERY_SECONDS = 300

Part = TypeVar("Part")


def holding(
    folder: Path, size: Callable[[Part], int], batch: int | None = None
) -> Callable[[Iterable[Part]], Iterator[Part]]:
    """What a task does with its rows: it stands still after the half of them, or not.

    Args:
        folder: Its files go there. Each attempt leaves one that has the name of its host.
        size: How many rows are in a part of them.
        batch: Of a query: the other batches pass.
    """

    def hold(parts: Iterable[Part]) -> Iterator[Part]:
        context = TaskContext.get()
        assert context is not None
        is_meant = batch is None or context.getLocalProperty("streaming.sql.batchId") == str(batch)
        task, attempt = context.partitionId(), context.attemptNumber()
        if is_meant:
            host = os.environ["SPARK_LOCAL_IP"]
            (folder / f"attempt-{task}-{attempt}").write_text(host)
        rows = 0
        for part in parts:
            yield part
            rows += size(part)
            if is_meant and task == attempt == 0 and rows >= ROWS // 4:
                is_meant = False
                (folder / "pid").write_text(str(os.getpid()))
                (folder / "pid").rename(folder / "held")
                time.sleep(HELD_SECONDS)
                (folder / "went-on").touch()

    return hold


def holding_frame(frame: DataFrame, told: Told, batch: int | None = None) -> DataFrame:
    def size(part: pa.RecordBatch) -> int:
        return int(part.num_rows)

    return frame.mapInArrow(holding(Path(told.folder), size, batch), frame.schema)


# Batches.


def write(spark: SparkSession, told: Told) -> None:
    """To the source; keys are numbers from 0 on."""
    rows = spark.range(0, ROWS, numPartitions=2).selectExpr(
        "string(id) AS key", f"rpad(string(id), {SIZE}, '.') AS value"
    )
    writer = holding_frame(rows, told).write.format(FORMAT)
    writer.options(**told.kafka, topic=told.source).mode("append").save()


def read(spark: SparkSession, told: Told) -> list[tuple[int, int]]:
    """Where the records of the source are."""
    frame = spark.read.format(FORMAT).options(**told.kafka, subscribe=told.source).load()
    held = holding_frame(frame.select("partition", "offset", "value"), told)
    return [(row[0], row[1]) for row in held.select("partition", "offset").collect()]


# RDDs.


def write_rdd(spark: SparkSession, told: Told) -> None:
    """As `write`, by the sink for RDDs."""

    def row(number: int) -> tuple[bytes, bytes]:
        key = str(number).encode()
        return key, key.ljust(SIZE, b".")

    rows = spark.sparkContext.range(ROWS, numSlices=2).map(row)
    held = rows.mapPartitions(holding(Path(told.folder), lambda _: 1))
    held.foreachPartition(foreach_partition(told.kafka, topic=told.source, chunk_rows=BATCH))


def read_rdd(spark: SparkSession, told: Told) -> list[tuple[int, int]]:
    """As `read`, by the source for RDDs."""
    ranges = [OffsetRange(told.source, partition, 0, ROWS // 2) for partition in (0, 1)]
    records = records_rdd(spark.sparkContext, ranges, told.kafka)
    held = records.mapPartitions(holding(Path(told.folder), lambda _: 1))
    return held.map(lambda record: (record.partition, record.offset)).collect()


# Queries: two over the source, to the target and to a journal, until there is a file `enough`.


def query_to_topic(spark: SparkSession, told: Told) -> None:
    """It is the one to the target that stands still."""
    _run(told, holding_frame(reading(spark, told), told, HELD_BATCH), reading(spark, told))


def query_to_journal(spark: SparkSession, told: Told) -> None:
    """It is the one to the journal that stands still."""
    _run(told, reading(spark, told), holding_frame(reading(spark, told), told, HELD_BATCH))


def reading(spark: SparkSession, told: Told) -> DataFrame:
    servers = told.kafka["kafka.bootstrap.servers"]
    frame = stream(spark, servers, told.source, maxOffsetsPerTrigger=ROWS)
    return frame.select("partition", "offset", "key", "value")


def _run(told: Told, to_topic: DataFrame, to_journal: DataFrame) -> None:
    sink, journal = {**told.kafka, "topic": told.target}, Journal(told.file("journal"))
    queries = to_topic.sparkSession.streams
    deadline = time.monotonic() + QUERY_SECONDS
    with (
        running(to_topic.select("key", "value"), told.file("checkpoint-topic"), sink),
        running(to_journal, told.file("checkpoint-journal"), journal),
    ):
        while not told.file("enough").exists():
            assert not queries.awaitAnyTermination(1), "a query has ended"
            assert time.monotonic() < deadline, "the test has not said that it is enough"


WAYS: dict[str, Callable[[SparkSession, Told], object]] = {
    each.__name__: each
    for each in (write, read, write_rdd, read_rdd, query_to_topic, query_to_journal)
}


def main() -> None:
    told = Told.read()
    with clusters.session(told.file("session")) as spark:
        register(spark)  # else two queries may not begin at the same time
        spark.conf.set("spark.sql.execution.arrow.maxRecordsPerBatch", str(BATCH))
        answer({"found": WAYS[told.what[0]](spark, told)})


if __name__ == "__main__":
    main()
