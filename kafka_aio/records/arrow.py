"""Columns and Arrow, both ways, without a Python object per row. Pure. Needs pyarrow (an extra)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import pyarrow as pa
import pyarrow.compute as pc

from kafka_aio.records.codec import Rows
from kafka_aio.records.columns import BinaryColumn, Columns, HeadersColumn, TimestampColumn

if TYPE_CHECKING:
    from typing_extensions import Buffer

_INT64_MAX: Final = 2**63 - 1
_TIMESTAMP: Final = pa.timestamp("us", tz="UTC")
HEADERS: Final = pa.list_(pa.struct([("key", pa.string()), ("value", pa.binary())]))

SCHEMA: Final = pa.schema(
    [
        ("key", pa.binary()),
        ("value", pa.binary()),
        ("topic", pa.string()),
        ("partition", pa.int32()),
        ("offset", pa.int64()),
        ("timestamp", _TIMESTAMP),
        ("timestampType", pa.int32()),
    ]
)
"""What Spark's Kafka source has; all nullable."""

SCHEMA_WITH_HEADERS: Final = SCHEMA.append(pa.field("headers", HEADERS))


def to_arrow(columns: Columns) -> pa.RecordBatch:
    """Decoded columns as an Arrow record batch; the buffers are shared, not copied."""
    rows = columns.rows
    arrays = [
        _binary_array(pa.binary(), rows, columns.key),
        _binary_array(pa.binary(), rows, columns.value),
        _binary_array(pa.string(), rows, columns.topic),
        _flat_array(pa.int32(), rows, columns.partition),
        _flat_array(pa.int64(), rows, columns.offset),
        _flat_array(_TIMESTAMP, rows, columns.timestamp),
        _flat_array(pa.int32(), rows, columns.timestamp_type),
    ]
    if columns.headers is None:
        return pa.RecordBatch.from_arrays(arrays, schema=SCHEMA)
    arrays.append(_headers_array(rows, columns.headers))
    return pa.RecordBatch.from_arrays(arrays, schema=SCHEMA_WITH_HEADERS)


def to_rows(batch: pa.RecordBatch, first_row: int = 0) -> Rows:
    """A batch to append from: column `value`, and `key`, `timestamp`, `headers` where they are.

    Values and keys may be binary or string, large or not, sliced, with nulls. Timestamps may be
    of any unit, or integers in milliseconds. Headers are lists of structs of key and value, or
    maps.

    Args:
        batch: The columns.
        first_row: What an error calls the first of the rows.

    Raises:
        TypeError: It is not a RecordBatch; a Table has `to_batches()`.
        ValueError: There is no column `value`, a column has another type, or a timestamp is out
            of range, or a header null.
    """
    if not isinstance(batch, pa.RecordBatch):
        raise TypeError(f"a RecordBatch is needed, not {type(batch).__name__}: see to_batches()")
    if "value" not in batch.schema.names:
        raise ValueError(f"a column `value` is needed; there are {batch.schema.names}")
    return Rows(
        batch.num_rows,
        binary_column(batch.column("value"), "value"),
        binary_column(batch.column("key"), "key") if "key" in batch.schema.names else None,
        _timestamp_column(batch, first_row) if "timestamp" in batch.schema.names else None,
        _headers_column(batch, first_row),
    )


def binary_column(array: pa.Array, name: str) -> BinaryColumn:
    """A column of that name to read from, whatever kind of bytes or text it holds.

    Raises:
        ValueError: It holds neither.
    """
    kind = array.type
    large = pa.types.is_large_binary(kind) or pa.types.is_large_string(kind)
    if not (large or pa.types.is_binary(kind) or pa.types.is_string(kind)):
        array = cast_column(array, pa.large_binary(), name)
        large = True
    validity, offsets, data = array.buffers()
    return BinaryColumn(
        offsets if offsets is not None and offsets.size else bytes(8 if large else 4),
        data if data is not None else b"",
        validity,
        array.offset,
        large,
    )


def milliseconds(column: pa.Array, first_row: int = 0) -> pa.Array:
    """A column of timestamps as int64, milliseconds since 1970.

    Raises:
        ValueError: It is of another type, or one is out of range: by its row.
    """
    _check_times(column, first_row)
    if pa.types.is_timestamp(column.type):
        # The same instants; floored by local time, the hour that a clock is set back is an error.
        instants = column.cast(pa.timestamp(column.type.unit, tz="UTC"))
        floored = pc.floor_temporal(instants, unit="millisecond")
        return floored.cast(pa.timestamp("ms", tz="UTC")).cast(pa.int64())
    return column if column.type == pa.int64() else cast_column(column, pa.int64(), "timestamp")


def cast_column(array: pa.Array, kind: pa.DataType, name: str) -> pa.Array:
    """A column of that name as another type.

    Raises:
        ValueError: It cannot be.
    """
    try:
        return array.cast(kind)
    except pa.ArrowException as problem:
        raise ValueError(f"column {name} is {array.type}: {problem}") from None


def _buffer(data: Buffer | None) -> pa.Buffer | None:
    return None if data is None else pa.py_buffer(data)


def _flat_array(kind: pa.DataType, rows: int, data: Buffer) -> pa.Array:
    return pa.Array.from_buffers(kind, rows, [None, _buffer(data)])


def _binary_array(kind: pa.DataType, rows: int, column: BinaryColumn) -> pa.Array:
    buffers = [_buffer(column.validity), _buffer(column.offsets), _buffer(column.data)]
    return pa.Array.from_buffers(kind, rows, buffers)


def _headers_array(rows: int, column: HeadersColumn) -> pa.Array:
    count = memoryview(column.keys.offsets).nbytes // 4 - 1
    pairs = pa.StructArray.from_arrays(
        [
            _binary_array(pa.string(), count, column.keys),
            _binary_array(pa.binary(), count, column.values),
        ],
        names=["key", "value"],
    )
    return pa.Array.from_buffers(
        HEADERS, rows, [_buffer(column.validity), _buffer(column.offsets)], children=[pairs]
    )


def _timestamp_column(batch: pa.RecordBatch, first_row: int) -> TimestampColumn:
    array = milliseconds(batch.column("timestamp"), first_row)
    validity, data = array.buffers()
    return TimestampColumn(data if data is not None else b"", validity, array.offset)


def _check_times(column: pa.Array, first_row: int) -> None:
    """Of two types, not all fit into 64 bits as milliseconds."""
    kind = column.type
    if kind == pa.uint64():
        numbers = column
        beyond = pc.greater(numbers, pa.scalar(_INT64_MAX, kind))
    elif pa.types.is_timestamp(kind) and kind.unit == "s":
        numbers = column.cast(pa.int64())
        most = _INT64_MAX // 1000
        beyond = pc.or_(pc.greater(numbers, most), pc.less(numbers, -most))
    else:
        return
    row = pc.index(beyond, True).as_py()
    if row >= 0:
        raise ValueError(
            f"row {first_row + row}: {numbers[row]} as {kind} is out of range: a timestamp is"
            " milliseconds since 1970, in 64 bits"
        )


def _headers_column(batch: pa.RecordBatch, first_row: int) -> HeadersColumn | None:
    if "headers" not in batch.schema.names or pa.types.is_null(batch.schema.field("headers").type):
        return None
    array = batch.column("headers")
    kind = array.type
    is_list = pa.types.is_list(kind) or pa.types.is_large_list(kind)
    is_map = pa.types.is_map(kind)  # a list of structs too, under any names
    if not (is_map or (is_list and pa.types.is_struct(kind.value_type))):
        raise ValueError(
            f"column headers is a list of structs of key and value, or a map, not {kind}"
        )
    if pa.types.is_large_list(kind):
        array = array.cast(pa.list_(kind.value_type))
    pairs = array.values
    if not is_map and array.flatten().null_count:
        header = pc.index(pc.is_null(array.flatten()), True)
        row = pc.list_parent_indices(array)[header.as_py()].as_py()
        raise ValueError(f"row {first_row + row}: a header is null")
    names = [field.name for field in pairs.type]
    if not is_map and sorted(names) != ["key", "value"]:
        raise ValueError(f"a header has the fields key and value, not {names}")
    validity, offsets = array.buffers()[:2]
    return HeadersColumn(
        offsets if offsets is not None and offsets.size else bytes(4),
        binary_column(pairs.field(0 if is_map else "key"), "headers.key"),
        binary_column(pairs.field(1 if is_map else "value"), "headers.value"),
        validity,
        array.offset,
    )
