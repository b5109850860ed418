"""Streaming queries of the tests, and a sink that remembers what it was given, by batch id."""

from __future__ import annotations

import json
import sqlite3
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

FORMAT = "kafka_aio"
SECONDS = 60  # for what takes one or two on a quiet machine

Place = tuple[int, int]
"""Partition and offset of a record."""
When = Literal["before", "after"]


class OnPurposeError(Exception):
    """What a sink raises that was told to fail."""


class Journal:
    """A sink for `foreachBatch` that keeps each batch once, in a file that outlives the process.

    A batch that comes again takes the place of the one that was there, as an exactly-once sink
    does it. So what was read twice in two batches is there twice, and what was lost is not there.
    Beside that, each try of a batch is remembered: all of one batch have to be the same.

    Args:
        file: An SQLite database.
        failing: Batches whose first try fails in this process, before or after they are kept.
    """

    def __init__(self, file: Path, *, failing: Mapping[int, When] | None = None) -> None:
        self._file = file
        self._failing = dict(failing or {})
        with self._open() as database:
            database.execute("CREATE TABLE IF NOT EXISTS tries (batch, places)")
            database.execute("CREATE TABLE IF NOT EXISTS kept (batch, partition, offset)")

    def __call__(self, frame: DataFrame, batch: int) -> None:
        """What Spark calls for each batch, in the process of the driver."""
        places = sorted((row[0], row[1]) for row in frame.select("partition", "offset").collect())
        with self._open() as database:
            database.execute("INSERT INTO tries VALUES (?, ?)", (batch, json.dumps(places)))
        self._fail(batch, "before")
        with self._open() as database:
            database.execute("DELETE FROM kept WHERE batch = ?", (batch,))
            database.executemany("INSERT INTO kept VALUES (?, ?, ?)", [(batch, *p) for p in places])
        self._fail(batch, "after")

    def _fail(self, batch: int, when: When) -> None:
        if self._failing.get(batch) == when:
            del self._failing[batch]
            raise OnPurposeError(f"batch {batch} fails {when} it is kept")

    def kept(self) -> list[Place]:
        """All that the batches hold; what is in two of them is there twice."""
        with self._open() as database:
            return sorted(database.execute("SELECT partition, offset FROM kept"))

    def tries(self) -> list[tuple[int, list[Place]]]:
        """Each batch that came, in this order, and what was in it."""
        with self._open() as database:
            found = database.execute("SELECT batch, places FROM tries ORDER BY rowid").fetchall()
        return [(batch, [(p, o) for p, o in json.loads(places)]) for batch, places in found]

    def sizes(self) -> list[int]:
        return [len(places) for _, places in self.tries()]

    def check_tries(self) -> None:
        """A batch that came again is the same as it was."""
        first: dict[int, list[Place]] = {}
        for batch, places in self.tries():
            assert first.setdefault(batch, places) == places, f"batch {batch} has changed"

    def wait(self, count: int, seconds: float = SECONDS) -> None:
        """Until so many records are kept."""
        wait(
            lambda: len(self.kept()) >= count,
            lambda: f"{len(self.kept())} of {count} are kept",
            seconds,
        )

    @contextmanager
    def _open(self) -> Iterator[sqlite3.Connection]:
        with closing(sqlite3.connect(self._file, timeout=SECONDS)) as database, database:
            yield database


def wait(is_there: Callable[[], bool], what: Callable[[], str], seconds: float = SECONDS) -> None:
    """Until it is there; `what` is said if it does not come."""
    deadline = time.monotonic() + seconds
    while not is_there():
        assert time.monotonic() < deadline, what()
        time.sleep(0.05)


def places(counts: Mapping[int, int], *, first: int = 0) -> list[Place]:
    """Those of as many records in each partition, from an offset on."""
    return [
        (partition, offset)
        for partition in sorted(counts)
        for offset in range(first, first + counts[partition])
    ]


def stream(spark: SparkSession, bootstrap: str, topic: str, **options: object) -> DataFrame:
    """A topic as a stream, from its beginning if nothing else is said."""
    told = {"startingOffsets": "earliest", "subscribe": topic, **options}
    plain = {name: str(value) for name, value in told.items()}
    return (
        spark.readStream.format(FORMAT)
        .option("kafka.bootstrap.servers", bootstrap)
        .options(**plain)
        .load()
    )


@contextmanager
def running(
    frame: DataFrame,
    folder: Path,
    sink: Callable[[DataFrame, int], None] | Mapping[str, str],
    *,
    mode: str = "append",
    now: bool = False,
) -> Iterator[StreamingQuery]:
    """A query, stopped at the end.

    Args:
        folder: Where its checkpoint is; with one that is there, it goes on from it.
        sink: A function for each batch, or the options of `format("kafka_aio")`.
        now: It reads what there is, and ends.
    """
    writer = frame.writeStream.outputMode(mode).option("checkpointLocation", str(folder))
    writer = writer.foreachBatch(sink) if callable(sink) else writer.format(FORMAT).options(**sink)
    query = (writer.trigger(availableNow=True) if now else writer).start()
    try:
        yield query
    finally:
        query.stop()


def run(
    frame: DataFrame,
    folder: Path,
    sink: Callable[[DataFrame, int], None] | Mapping[str, str],
    *,
    mode: str = "append",
) -> None:
    """Let a query read what there is, and end.

    Raises:
        StreamingQueryException: It failed.
    """
    with running(frame, folder, sink, mode=mode, now=True) as query:
        assert query.awaitTermination(SECONDS), f"it has not ended: {query.status}"
