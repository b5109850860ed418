"""Writing: each task sends the rows of its Spark partition, and waits for all of them.

At least once: a task that is tried again, or a batch of a stream that is, sends its rows again.
The message of a task to the driver (`Written`) and the driver's `commit` are where transactions
will have their place: until then a record is to be seen as soon as it is acknowledged.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from pyspark import TaskContext
from pyspark.sql.datasource import (
    DataSourceArrowWriter,
    DataSourceStreamArrowWriter,
    WriterCommitMessage,
)

from spark_connector.bridge import clock, loop_thread
from spark_connector.options import WriteOptions
from spark_connector.rows import CHUNK_SECONDS, Chunk, Rows
from spark_connector.sending import send_all
from spark_connector.workers import settle

if TYPE_CHECKING:
    from pyarrow import RecordBatch


CHUNK_BYTES: Final = 2 << 20
"""About so many bytes are sent together."""


@dataclass(frozen=True)
class Written(WriterCommitMessage):
    """What a task has done."""

    partition: int
    rows: int


@dataclass(frozen=True)
class PartitionWrite:
    """Sends the rows of one Spark partition; it travels to the executors."""

    options: WriteOptions
    columns: tuple[str, ...]

    def run(self, batches: Iterator[RecordBatch]) -> Written:
        """Send all rows; a partition without any connects to nothing.

        Raises:
            RowError: One could not be written; those before it may have been.
        """
        context = TaskContext.get()
        number = 0 if context is None else context.partitionId()
        rows = Rows(
            topic=self.options.topic,
            use_timestamp=self.options.use_timestamp_column,
            where=f"Spark partition {number}, ",
        )
        given = chunks(batches, self.columns, clock=clock)
        sent = send_all(loop_thread(), given, rows, self.options.producer_options())
        settle()
        return Written(number, sent)


def chunks(
    batches: Iterable[RecordBatch], columns: Sequence[str], *, clock: Callable[[], float]
) -> Iterator[Chunk]:
    """What Spark gives, in chunks of about `CHUNK_BYTES`, or of what comes in `CHUNK_SECONDS`.

    Spark's own batches have 10,000 rows at most. The first goes by itself: so sending begins. One
    that comes quickly waits for the next one, as only then the time is looked at.

    Args:
        batches: As Spark gives them.
        columns: Those that are written.
        clock: Tells the time, in seconds.
    """
    first_row = 0
    taken: list[RecordBatch] = []
    size, most, until = 0, 0, clock()
    for batch in batches:
        if not batch.num_rows:
            continue
        taken.append(batch)
        size += batch.get_total_buffer_size()  # nbytes would let go of the GIL, and wait for it
        if size >= most or clock() >= until:
            chunk = _chunk(first_row, taken, columns)
            yield chunk
            first_row += chunk.batch.num_rows
            taken = []
            size, most, until = 0, CHUNK_BYTES, clock() + CHUNK_SECONDS
    if taken:
        yield _chunk(first_row, taken, columns)


def _chunk(first_row: int, batches: list[RecordBatch], columns: Sequence[str]) -> Chunk:
    import pyarrow as pa

    whole = batches[0] if len(batches) == 1 else pa.Table.from_batches(batches)
    has_others = len(columns) < whole.num_columns
    return Chunk(first_row, whole.select(columns) if has_others else whole)


class BatchWriter(DataSourceArrowWriter):
    """Writes a frame."""

    def __init__(self, options: WriteOptions, columns: tuple[str, ...]) -> None:
        self._partition_write = PartitionWrite(options, columns)

    def write(self, iterator: Iterator[RecordBatch]) -> Written:
        """On an executor, for each Spark partition."""
        return self._partition_write.run(iterator)


class StreamWriter(DataSourceStreamArrowWriter):
    """Writes the results of a stream, one micro-batch after the other."""

    def __init__(self, options: WriteOptions, columns: tuple[str, ...]) -> None:
        self._partition_write = PartitionWrite(options, columns)

    def write(self, iterator: Iterator[RecordBatch]) -> Written:
        """On an executor, for each Spark partition of a micro-batch."""
        return self._partition_write.run(iterator)
