"""A write or a read whose first task stands still on the way, in its first attempt.

Its file `held` tells which process that is, and where: the test kills it, or lets Spark see to it.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from pyspark import TaskContext

from tests.spark import clusters
from tests.spark.programs.told import Told, answer
from tests.spark.queries import FORMAT

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import SparkSession

ROWS = 2_000  # in two tasks
SIZE = 1_000  # of a value, so that Spark's buffers of 64 KiB are soon full
BATCH = 100  # rows in an Arrow batch
HELD_SECONDS = 90

Batches = Iterator["pa.RecordBatch"]


def holding(folder: Path) -> Callable[[Batches], Batches]:
    """What a task does with its batches: it stands still after the half of them, or not."""

    def hold(batches: Batches) -> Batches:
        context = TaskContext.get()
        assert context is not None
        attempt = context.attemptNumber()
        (folder / f"attempt-{context.partitionId()}-{attempt}").touch()
        rows = 0
        for batch in batches:
            yield batch
            rows += batch.num_rows
            if context.partitionId() == 0 and attempt == 0 and rows >= ROWS // 4:
                (folder / "pid").write_text(str(os.getpid()))
                (folder / "pid").rename(folder / "held")
                time.sleep(HELD_SECONDS)

    return hold


def write(spark: SparkSession, told: Told) -> None:
    """To the source; keys are numbers from 0 on."""
    rows = spark.range(0, ROWS, numPartitions=2).selectExpr(
        "string(id) AS key", f"rpad(string(id), {SIZE}, '.') AS value"
    )
    held = rows.mapInArrow(holding(Path(told.folder)), rows.schema)
    held.write.format(FORMAT).options(**told.kafka, topic=told.source).mode("append").save()


def read(spark: SparkSession, told: Told) -> list[tuple[int, int]]:
    """Where the records of the source are."""
    frame = spark.read.format(FORMAT).options(**told.kafka, subscribe=told.source).load()
    rows = frame.selectExpr("partition", "offset", "value")
    held = rows.mapInArrow(holding(Path(told.folder)), rows.schema)
    return [(row[0], row[1]) for row in held.select("partition", "offset").collect()]


def main() -> None:
    told = Told.read()
    with clusters.session(told.file("session")) as spark:
        spark.conf.set("spark.sql.execution.arrow.maxRecordsPerBatch", str(BATCH))
        begun = time.monotonic()
        found = {"write": write, "read": read}[told.what[0]](spark, told)
        answer({"found": found, "seconds": time.monotonic() - begun})


if __name__ == "__main__":
    main()
