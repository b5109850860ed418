"""Arrow tables to send: which rows go to which partition, without a Python object per row. Pure.

A table is taken in blocks of about a millisecond's work, whatever its own batches are: the event
loop is not held up, the bytes are still in the cache when they are written, and all partitions get
some of theirs from the beginning. Needs pyarrow (an extra).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Final

try:
    import pyarrow as pa
    import pyarrow.compute as pc

    from kafka_aio.records import arrow
except ImportError as missing:
    raise ImportError(f"{missing}: pip install 'kafka-aio[arrow]'") from missing

from kafka_aio.producer import partition

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from typing_extensions import Buffer

    from kafka_aio.records.codec import BatchBuilder, Rows
    from kafka_aio.records.columns import BinaryColumn

COLUMNS: Final = ("value", "key", "headers", "partition", "timestamp", "topic")
"""What a table may have; `value` it must have."""

_BLOCK_ROWS: Final = 8192
_BLOCK_BYTES: Final = 1 << 20
_NO_TEXT: Final = "\udcff"
"""What no text of UTF-8 is."""


class Times:
    """The timestamps of a block's rows, worked out when somebody looks at them."""

    def __init__(self, batch: pa.RecordBatch) -> None:
        self._batch = batch

    def __getitem__(self, row: int) -> int | None:
        """Milliseconds; None where a row has none."""
        time: int | None = None if self._column is None else self._column[row].as_py()
        return time

    @cached_property
    def _column(self) -> pa.Array | None:
        names = self._batch.schema.names
        return arrow.milliseconds(self._batch["timestamp"]) if "timestamp" in names else None


@dataclass(frozen=True, slots=True)
class Portion:
    """Rows for one partition, in their order; or for any, chosen batch by batch."""

    topic: str
    partition: int | None
    """None where neither a column nor a key says."""
    rows: Rows
    indices: memoryview[int] | None
    """Numbers of rows, of which those from `start` to `stop` are meant; None: these rows."""
    start: int
    stop: int
    first_row: int
    """The number in the table of the first of `rows`."""
    times: Times

    def __len__(self) -> int:
        return self.stop - self.start

    def row_at(self, place: int) -> int:
        """The number in the table of the row at a place from `start` to `stop`."""
        return self.first_row + self._at(place)

    def time_at(self, place: int) -> int | None:
        """The row's own timestamp, in milliseconds; None where it has none."""
        return self.times[self._at(place)]

    def name_at(self, place: int) -> str:
        """What an error calls the row."""
        return f"row {self.row_at(place)}"

    def size_at(self, place: int) -> int:
        """The bytes of the row at a place: its key, value and headers.

        Raises:
            ValueError: It cannot be written.
        """
        try:
            return self.rows.payload(self._at(place))
        except ValueError as problem:
            raise self._refused(place, problem) from None

    def append_to(self, builder: BatchBuilder, start: int, timestamp: int) -> int:
        """Write from a place on, while there is room. Returns the first place not written.

        Args:
            builder: The batch.
            start: The place: `self.start`, or what the call before has returned.
            timestamp: Milliseconds, for rows that have none.

        Raises:
            ValueError: A row cannot be written. Those before it are.
        """
        before = builder.count
        try:
            if self.indices is None:
                return builder.append_rows(self.rows, start, self.stop, timestamp)
            return builder.append_taken(self.rows, self.indices, start, self.stop, timestamp)
        except ValueError as problem:
            raise self._refused(start + builder.count - before, problem) from None

    def _at(self, place: int) -> int:
        """The number in `rows` of the row at a place."""
        return place if self.indices is None else self.indices[place]

    def _refused(self, place: int, problem: ValueError) -> ValueError:
        reason = str(problem).removeprefix(f"row {self._at(place)}: ")
        return ValueError(f"{self.name_at(place)}: {reason}")


@dataclass(frozen=True, slots=True)
class Block:
    """Rows of a table that are dealt out together."""

    topics: Sequence[str]
    """Where they go, by first use."""
    batch: pa.RecordBatch
    first_row: int
    """The number in the table of its first row."""
    numbers: Buffer | None
    """int32: which of the topics each row goes to; None: all to the first."""

    def name_of(self, topic: str) -> str:
        """What an error calls the first row that goes to one of the topics."""
        number = self.topics.index(topic)
        row = 0 if self.numbers is None else _numbers(self.numbers).tolist().index(number)
        return f"row {self.first_row + row}"

    def scatter(
        self,
        partition_counts: Mapping[str, int],
        *,
        ignore_keys: bool = False,
        default: int | None = None,
    ) -> list[Portion]:
        """Deal the rows out: to the partition that a row names, else that of its key, else any.

        Args:
            partition_counts: How many partitions each of the topics has.
            ignore_keys: Whether keys have no say.
            default: The partition of rows that name none, whatever their key is.

        Returns:
            The portions in the order of their first rows.

        Raises:
            ValueError: A row names a partition that is not there, or a column has another type.
        """
        rows = arrow.to_rows(self.batch, self.first_row)
        partitions = _partitions(self.batch, default)
        keys = None if ignore_keys or default is not None else _keys(self.batch)
        count = self.batch.num_rows
        times = Times(self.batch)
        if self.numbers is None and partitions is None and keys is None:
            return [Portion(self.topics[0], default, rows, None, 0, count, self.first_row, times)]
        counts = [partition_counts[topic] for topic in self.topics]
        shares, raw = partition.scatter(
            count, counts, self.numbers, partitions, keys, self.first_row
        )
        indices = _numbers(raw)
        portions = []
        for topic, number, start, stop in shares:
            taken, begin, end = _taken(indices[start:stop])
            to = default if number < 0 else number
            portions.append(
                Portion(self.topics[topic], to, rows, taken, begin, end, self.first_row, times)
            )
        return sorted(portions, key=lambda portion: portion.row_at(portion.start))


def blocks(data: pa.Table | pa.RecordBatch, default_topic: str | None) -> Iterator[Block]:
    """The rows of a table in blocks, in their order; nothing is copied.

    Args:
        data: With a column `value`, and those of `COLUMNS` that there are. Values, keys and topics
            may be binary or string, large or not, or dictionaries of these; partitions are of any
            integer type; times are timestamps, or integers in milliseconds; headers are lists of
            structs of key and value, or maps.
        default_topic: For rows that name none.

    Raises:
        TypeError: It is not a Table or RecordBatch.
        ValueError: A column is unknown or missing, or a row names no topic.
    """
    if not isinstance(data, pa.Table | pa.RecordBatch):
        raise TypeError(f"a pyarrow Table or RecordBatch is needed, not {type(data).__name__}")
    _check_names(data.schema.names, default_topic)
    first_row = 0
    for batch in data.to_batches() if isinstance(data, pa.Table) else [data]:
        size = _rows_per_block(batch)
        for start in range(0, batch.num_rows, size):
            part = batch.slice(start, size)
            topics, numbers = _topics(part, default_topic, first_row)
            yield Block(topics, part, first_row, numbers)
            first_row += part.num_rows


def _check_names(names: list[str], default_topic: str | None) -> None:
    unknown = [name for name in names if name not in COLUMNS]
    if unknown:
        raise ValueError(f"unknown columns {', '.join(unknown)}; known are {', '.join(COLUMNS)}")
    for name in names:
        if names.count(name) > 1:
            raise ValueError(f"column {name} is there twice")
    if "value" not in names:
        raise ValueError(f"a column `value` is needed; there are {', '.join(names) or 'none'}")
    if "topic" not in names and default_topic is None:
        raise ValueError("no topic is given, and there is no column `topic`")


def _rows_per_block(batch: pa.RecordBatch) -> int:
    bytes_per_row: int = batch.nbytes // max(batch.num_rows, 1) + 1
    return min(_BLOCK_ROWS, _BLOCK_BYTES // bytes_per_row + 1)


def _numbers(data: Buffer) -> memoryview[int]:
    """int32."""
    return memoryview(data).cast("B").cast("i")


def _taken(indices: memoryview[int]) -> tuple[memoryview[int] | None, int, int]:
    """Which rows a portion has: its `indices`, `start` and `stop`."""
    first, count = indices[0], len(indices)
    if indices[-1] - first == count - 1:  # beside each other: no need to take them one by one
        return None, first, first + count
    return indices, 0, count


def _topics(
    batch: pa.RecordBatch, default_topic: str | None, first_row: int
) -> tuple[list[str], Buffer | None]:
    """The topics by first use, and which of them each row goes to; None: all to the first."""
    if "topic" not in batch.schema.names:
        return [str(default_topic)], None
    encoded = _encoded(batch.column("topic"))
    found = arrow.cast_column(encoded.dictionary, pa.large_binary(), "topic").to_pylist()
    # A dictionary may hold null too, a word twice, or words that no row uses.
    words = [default_topic if data is None else _decoded(data) for data in [*found, None]]
    codes = encoded.indices.cast(pa.int32()).fill_null(len(found))
    used = list(dict.fromkeys(words[code] for code in codes.unique().to_pylist()))
    for wrong, reason in (
        (None, "the topic is null, and no topic is given"),
        (_NO_TEXT, "the topic is not UTF-8"),
    ):
        if wrong in used:
            row = pc.index(pa.array([word == wrong for word in words]).take(codes), True).as_py()
            raise ValueError(f"row {first_row + row}: {reason}")
    if len(used) < 2:
        return used, None
    numbers = {word: number for number, word in enumerate(used)}
    by_code = pa.array([numbers.get(word, 0) for word in words], pa.int32())
    return used, _flat(by_code.take(codes), 4)


def _decoded(data: bytes) -> str:
    try:
        return data.decode()
    except UnicodeDecodeError:
        return _NO_TEXT


def _encoded(column: pa.Array) -> pa.DictionaryArray:
    kind = column.type
    if pa.types.is_dictionary(kind):
        return column
    if kind not in (pa.string(), pa.binary(), pa.large_string(), pa.large_binary()):
        column = arrow.cast_column(column, pa.large_binary(), "topic")
    return column.dictionary_encode()


def _partitions(batch: pa.RecordBatch, default: int | None) -> Buffer | None:
    """int64; None where no row names a partition."""
    if "partition" not in batch.schema.names:
        return None
    column = batch.column("partition")
    if column.null_count == len(column):
        return None
    if not pa.types.is_integer(column.type):
        raise ValueError(f"column partition is {column.type}: a partition is an integer")
    wide = arrow.cast_column(column, pa.int64(), "partition")
    if wide.null_count:
        wide = wide.fill_null(partition.NO_PARTITION if default is None else default)
    return _flat(wide, 8)


def _flat(array: pa.Array, width: int) -> Buffer:
    data: Buffer = array.buffers()[1].slice(array.offset * width)
    return data


def _keys(batch: pa.RecordBatch) -> BinaryColumn | None:
    """None where no row has a key."""
    if "key" not in batch.schema.names or batch.column("key").null_count == batch.num_rows:
        return None
    return arrow.binary_column(batch.column("key"), "key")
