"""Rows of an RDD as records for Kafka, in Arrow columns; and which row an error is about. Pure.

A row is a value, a pair of key and value, a `ProducerRecord`, or a Spark `Row` or a dict with the
columns of the DataFrame writer. Columns are quicker than objects: they are sent by compiled code.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import chain, islice
from typing import Any, Final, NamedTuple

import pyarrow as pa

from kafka_aio import ProducerRecord
from kafka_aio.errors import DeliveryError, SendManyError
from spark_connector.errors import RowError
from spark_connector.option_names import by_kafkas_names

CHUNK_BYTES: Final = 1 << 20
"""About so many bytes are sent together."""
CHUNK_SECONDS: Final = 0.1
"""Rows wait about so long for others to be sent with; it is looked at when the next one comes."""
SLICE_ROWS: Final = 100
"""So many rows at most are taken before anybody looks at how large they are."""

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_MILLISECOND: Final = timedelta(milliseconds=1)
_HEADERS: Final = pa.list_(pa.struct([("key", pa.string()), ("value", pa.binary())]))
_COLUMNS: Final = {
    "value": (pa.binary(), "bytes or a str"),
    "key": (pa.binary(), "bytes or a str"),
    "topic": (pa.string(), "a str"),
    "partition": (pa.int32(), "a whole number of 32 bits"),
    "timestamp": (pa.int64(), "milliseconds since 1970, or a datetime"),
    "headers": (_HEADERS, "pairs of a str and bytes"),
}
"""What a column is in Arrow, and in words."""


class WrongRow(ValueError):
    """A row is nothing that can be sent."""

    def __init__(self, index: int, reason: str) -> None:
        super().__init__(index, reason)
        self.index = index
        self.reason = reason


class Chunk(NamedTuple):
    """Rows that are sent together, and where they stand in their Spark partition."""

    first_row: int
    batch: pa.RecordBatch | pa.Table


@dataclass(frozen=True, kw_only=True)
class Rows:
    """Makes records of rows."""

    topic: str | None
    """Of all rows but those that are a `ProducerRecord`."""
    use_timestamp: bool
    """Whether a column `timestamp` counts; that of a `ProducerRecord` always does."""
    where: str = ""
    """What an error says before the number of a row: `Spark partition 3, `, or nothing."""

    def chunks(
        self, rows: Iterable[Any], most_rows: int, *, clock: Callable[[], float]
    ) -> Iterator[Chunk]:
        """The rows in chunks of about `CHUNK_BYTES`, or of what comes in about `CHUNK_SECONDS`.

        Args:
            rows: Those of a partition.
            most_rows: So many are in a chunk at most.
            clock: Tells the time, in seconds.

        Raises:
            RowError: A row is nothing that can be sent.
        """
        left = iter(rows)
        first_row = 0
        while taken := _taken(left, most_rows, clock):
            try:
                batch = self.batch(taken)
            except WrongRow as wrong:
                place = self.place(first_row + wrong.index, self.topic)
                raise RowError(f"{place}: {wrong.reason}") from None
            yield Chunk(first_row, batch)
            first_row += len(taken)

    def batch(self, rows: list[Any]) -> pa.RecordBatch:
        """The rows as columns.

        Raises:
            WrongRow: One is nothing that can be sent.
        """
        columns = self._columns(rows)
        if self.topic is None:
            named = columns.get("topic", (None,))
            if None in named:
                raise WrongRow(
                    named.index(None),
                    "where to? Give topic=..., or the option 'topic', or name it in each row",
                )
        return pa.record_batch({name: _array(name, values) for name, values in columns.items()})

    def _columns(self, rows: list[Any]) -> dict[str, Sequence[Any]]:
        kinds = set(map(type, rows))
        if kinds <= {bytes, str}:
            return {"value": rows}
        if kinds == {tuple} and set(map(len, rows)) == {2}:
            keys, values = zip(*rows, strict=True)
            return {"value": values, "key": keys}
        records = [self._record(index, row) for index, row in enumerate(rows)]
        columns = dict(zip(ProducerRecord._fields, zip(*records, strict=True), strict=True))
        return {
            name: column
            for name, column in columns.items()
            if name == "value" or any(each is not None for each in column)
        }

    def _record(self, index: int, row: Any) -> tuple[Any, ...]:
        """What it is of a `ProducerRecord`, whose topic may be None here."""
        match row:
            case ProducerRecord():
                return (*row[:-1], _headers(index, row.headers))
            case bytes() | bytearray() | memoryview() | str():
                return (None, row, None, None, None, None)
            case tuple() if hasattr(row, "__fields__"):  # a Row of Spark's
                return self._named(index, dict(zip(row.__fields__, row, strict=False)))
            case tuple() if hasattr(row, "_fields"):  # a named tuple
                return self._named(index, dict(zip(row._fields, row, strict=True)))
            case Mapping():
                return self._named(index, row)
            case (key, value) if isinstance(row, tuple):
                return (None, value, key, None, None, None)
        raise WrongRow(
            index,
            "a row is bytes or a str, a pair of key and value, a ProducerRecord, or a Row or dict"
            f" with a column 'value', not {_kind(row)}",
        )

    def _named(self, index: int, row: Mapping[Any, Any]) -> tuple[Any, ...]:
        if "value" not in row:
            names = ", ".join(map(str, row)) or "none"
            raise WrongRow(index, f"a column 'value' is needed; there are {names}")
        return (
            row.get("topic") if self.topic is None else None,
            row["value"],
            row.get("key"),
            row.get("partition"),
            _milliseconds(index, row.get("timestamp")) if self.use_timestamp else None,
            _headers(index, row.get("headers")),
        )

    def error(self, chunk: Chunk, error: Exception) -> RowError:
        """What to say of a chunk that was not sent, or not as a whole."""
        index, reason = _place(error)
        if index is None:
            first, last = chunk.first_row, chunk.first_row + chunk.batch.num_rows - 1
            rows = f"row {first}" if first == last else f"rows {first} to {last}"
            return RowError(f"{self._where(rows, self.topic)}: {reason}")
        topic = self.topic
        if "topic" in chunk.batch.schema.names:
            named = chunk.batch.column("topic").slice(index, 1).cast(pa.binary())[0].as_py()
            topic = named.decode(errors="replace") if named else topic  # Spark's may be no UTF-8
        return RowError(f"{self.place(chunk.first_row + index, topic)}: {reason}")

    def place(self, row: int, topic: str | None = None) -> str:
        """Where a row stands; rows are counted from 0."""
        return self._where(f"row {row}", topic)

    def _where(self, rows: str, topic: str | None) -> str:
        return self.where + rows + ("" if topic is None else f", topic {topic}")


def _taken(left: Iterator[Any], most_rows: int, clock: Callable[[], float]) -> list[Any]:
    """The next rows, about `CHUNK_BYTES` of them, or fewer where they are slow to come."""
    taken: list[Any] = []
    size, fitting = 0, 1
    until = clock() + CHUNK_SECONDS
    while size < CHUNK_BYTES and len(taken) < most_rows:
        before = len(taken)
        for row in islice(left, min(fitting, SLICE_ROWS, most_rows - before)):
            taken.append(row)
            if clock() >= until:  # looked at for each: it may be long before the next one comes
                return taken
        if len(taken) == before:
            break
        size += _size(taken[before:])
        fitting = 1 + min(len(taken), (CHUNK_BYTES - size) * len(taken) // max(size, 1))
    return taken


def _size(rows: list[Any]) -> int:
    """About how many bytes they have: what is neither bytes nor text counts little."""
    kinds = set(map(type, rows))
    with suppress(TypeError):  # None has no length
        if kinds <= {bytes, str}:
            return sum(map(len, rows))
        if kinds == {tuple}:
            return sum(map(len, chain.from_iterable(rows)))
    return sum(map(_weight, rows))


def _weight(part: Any) -> int:
    """About how many bytes a row has, or what is in it: headers are lists of pairs."""
    if isinstance(part, memoryview):
        return part.nbytes
    if isinstance(part, bytes | bytearray | str):
        return len(part)
    if isinstance(part, Mapping):
        return sum(map(_weight, part.values()))
    return sum(map(_weight, part)) if isinstance(part, tuple | list) else 0


def _place(error: Exception) -> tuple[int | None, str]:
    """The index of the first row that an error of `send_many` is about, and what it says of it."""
    if isinstance(error, SendManyError) and error.failed:
        # Its own text counts the rows of a chunk, and that of its cause those of a batch.
        failed = error.failed
        # Where the broker blames some of a batch, the others were refused with them.
        blamed = [row for row in failed if not isinstance(failed[row], DeliveryError)]
        first, count = min(blamed or failed), len(failed)
        said = _said(failed[first])
        if blamed and count > 1:
            more = "1 more row was" if count == 2 else f"{count - 1} more rows were"
            return first, f"{said}; {more} not delivered"
        others = "" if count == 1 else f"the first of {count} rows that were not delivered: "
        return first, others + said
    is_of_row = isinstance(error, SendManyError) and error.__cause__ is not None
    text = _said(error.__cause__ if is_of_row else error)
    named = re.search(r"\brow ([0-9]+): ", text)
    if named is None:
        return None, text
    return int(named[1]), text[: named.start()] + text[named.end() :]


def _said(error: BaseException | None) -> str:
    return by_kafkas_names(str(error)) or type(error).__name__


def _array(name: str, values: Sequence[Any]) -> pa.Array:
    kind, wanted = _COLUMNS[name]
    # What Arrow says of a value that does not fit is of many types, and has no place.
    if (array := _converted(values, kind)) is not None:
        return array
    wrong = (index for index, each in enumerate(values) if _converted([each], kind) is None)
    index = next(wrong)
    if _has_surrogate(values[index]):
        raise WrongRow(index, f"its {name} has half of a surrogate pair: that is no text in UTF-8")
    raise WrongRow(index, f"its {name} is {_kind(values[index])}, and has to be {wanted}")


def _has_surrogate(part: Any) -> bool:
    if isinstance(part, str):
        return any("\ud800" <= each <= "\udfff" for each in part)
    return isinstance(part, list | tuple) and any(map(_has_surrogate, part))


def _converted(values: Sequence[Any], kind: pa.DataType) -> pa.Array | None:
    # Arrow would cut off what comes after the point.
    if pa.types.is_integer(kind) and not all(map(_is_whole, set(map(type, values)))):
        return None
    try:
        return pa.array(values, kind)
    except (pa.ArrowException, TypeError, ValueError, OverflowError):
        return None


def _is_whole(kind: type) -> bool:
    """Whether it is that of a whole number, be it numpy's, or of None."""
    return kind is type(None) or (hasattr(kind, "__index__") and kind is not bool)


def _kind(value: object) -> str:
    """What it is, and not what is in it, but for a number."""
    is_number = isinstance(value, int) and not isinstance(value, bool)
    return str(value)[:40] if is_number else f"of type {type(value).__name__}"


def _milliseconds(index: int, value: Any) -> Any:
    """A time as Kafka has it. One without a zone is in that of the process, as Spark gives it."""
    if not isinstance(value, datetime):
        return value
    try:
        return (value.astimezone(UTC) - _EPOCH) // _MILLISECOND
    except (ValueError, OverflowError) as error:  # no time at all, or beyond what can be
        raise WrongRow(index, f"its timestamp is no time that Kafka can have: {error}") from None


def _headers(index: int, value: Any) -> list[tuple[Any, Any]] | None:
    if value is None:
        return None
    pairs = value.items() if isinstance(value, Mapping) else value
    try:
        return [_header(pair) for pair in pairs]
    except (KeyError, TypeError, ValueError):
        raise WrongRow(index, "its headers have to be pairs of a str and bytes") from None


def _header(pair: Any) -> tuple[Any, Any]:
    if hasattr(pair, "__fields__") or isinstance(pair, Mapping):  # a Row has them in any order
        return pair["key"], pair["value"]
    if isinstance(pair, str | bytes | bytearray):  # two letters are no pair
        raise TypeError
    key, value = pair
    return key, value
