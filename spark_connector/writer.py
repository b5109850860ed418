"""Writing: each task sends the rows of its Spark partition, and waits for all of them.

At least once: a task that is tried again, or a batch of a stream that is, sends its rows again.
The message of a task to the driver (`Written`) and the driver's `commit` are where transactions
will have their place: until then a record is to be seen as soon as it is acknowledged.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pyspark import TaskContext
from pyspark.sql.datasource import (
    DataSourceArrowWriter,
    DataSourceStreamArrowWriter,
    WriterCommitMessage,
)

from spark_connector.bridge import loop_thread
from spark_connector.options import WriteOptions
from spark_connector.rows import Chunk, Rows
from spark_connector.sending import send_all
from spark_connector.workers import settle

if TYPE_CHECKING:
    from pyarrow import RecordBatch


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
        sent = send_all(loop_thread(), self._chunks(batches), rows, self.options.producer_options())
        settle()
        return Written(number, sent)

    def _chunks(self, batches: Iterator[RecordBatch]) -> Iterator[Chunk]:
        first_row = 0
        for batch in batches:
            has_others = len(self.columns) < batch.num_columns
            yield Chunk(first_row, batch.select(self.columns) if has_others else batch)
            first_row += batch.num_rows


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
