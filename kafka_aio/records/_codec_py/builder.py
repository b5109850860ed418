"""Writing a batch: `BatchBuilder`, and the columns it may take its records from. Pure."""

from __future__ import annotations

import operator
import struct
from typing import TYPE_CHECKING, Final, final

from kafka_aio.errors import StateError
from kafka_aio.records import layout, text
from kafka_aio.records._codec_py.record import crc32c, put_span, put_varint
from kafka_aio.records.compression import UNCOMPRESSED, Compression, compress
from kafka_aio.records.layout import HEADER, HEADER_BYTES, UNSTAMPED, Headers, ProducerStamp

if TYPE_CHECKING:
    from collections.abc import Iterable

    from typing_extensions import Buffer

    from kafka_aio.records.columns import BinaryColumn, HeadersColumn, TimestampColumn

_INT32_MAX: Final = 2**31 - 1
_NO_HEADERS: Final = b"\x00"


def _checked(what: str, part: Buffer | None) -> Buffer | None:
    if part is None or type(part) is bytes:
        return part
    try:
        view = memoryview(part)
    except TypeError:
        raise TypeError(text.not_bytes(what, part)) from None
    if not view.contiguous:
        raise BufferError(f"the bytes of a {what} are not contiguous")
    return view


def _encode_headers(headers: Headers) -> bytes:
    pairs = layout.checked_headers(headers)
    section = bytearray()
    put_varint(section, len(pairs))
    for key, value in pairs:
        put_span(section, key.encode())
        put_span(section, value)
    return bytes(section)


@final
class BatchBuilder:
    """Writes records into one batch, each byte once, and finishes it for the wire."""

    def __init__(self, limit: int) -> None:
        if not 0 < limit <= _INT32_MAX:
            raise ValueError(f"a batch has room for 1 to {_INT32_MAX} bytes: limit is {limit}")
        self._limit = limit
        self._buffer = bytearray(HEADER_BYTES)
        self._count = 0
        self._base_timestamp = -1
        self._max_timestamp = -1
        self._finished = False
        self._size = HEADER_BYTES

    def __repr__(self) -> str:
        return text.describe_builder(self)

    def __len__(self) -> int:
        return self._count

    @property
    def limit(self) -> int:
        return self._limit

    @property
    def count(self) -> int:
        return self._count

    @property
    def size(self) -> int:
        return self._size

    @property
    def base_timestamp(self) -> int:
        return self._base_timestamp

    @property
    def max_timestamp(self) -> int:
        return self._max_timestamp

    @property
    def is_finished(self) -> bool:
        return self._finished

    def append(
        self,
        key: Buffer | None,
        value: Buffer | None,
        timestamp: int,
        headers: Headers | None = None,
    ) -> bool:
        """Write one record. False where the batch has no room for it.

        The first record always has room, however long it is.
        """
        section = _encode_headers(headers) if headers else _NO_HEADERS
        return self._add(_checked("key", key), _checked("value", value), section, timestamp)

    def _add(self, key: Buffer | None, value: Buffer | None, headers: bytes, time: int) -> bool:
        time = operator.index(time)
        if not -(2**63) <= time < 2**63:
            raise OverflowError(f"a timestamp has 64 bits: {time}")
        body = bytearray(1)  # attributes, unused
        put_varint(body, time - self._base_timestamp if self._count else 0)
        put_varint(body, self._count)
        put_span(body, key)
        put_span(body, value)
        body += headers
        record = bytearray()
        put_varint(record, len(body))
        record += body
        if time < 0:
            raise ValueError(f"a timestamp is milliseconds since 1970, not {time}")
        if self._finished:
            raise StateError("the batch is finished; open another")
        if len(body) > _INT32_MAX - HEADER_BYTES - 16:
            raise ValueError(f"a record of {len(body)} bytes does not fit a batch")
        if self._count and self._size + len(record) > self._limit:
            return False
        self._buffer += record
        if not self._count:
            self._base_timestamp = time
        self._max_timestamp = max(self._max_timestamp, time)
        self._count += 1
        self._size = len(self._buffer)
        return True

    def append_many(
        self,
        values: Iterable[Buffer | None],
        timestamp: int,
        keys: Iterable[Buffer | None] | None = None,
        start: int = 0,
    ) -> int:
        """Write records from `start` on while there is room. Returns the first one not written."""
        value_list = list(values)
        key_list = [None] * len(value_list) if keys is None else list(keys)
        if len(key_list) != len(value_list):
            raise ValueError(f"{len(key_list)} keys for {len(value_list)} values")
        if start < 0:
            raise ValueError(f"start is {start}")
        for index in range(start, len(value_list)):
            if not self.append(key_list[index], value_list[index], timestamp):
                return index
        return max(start, len(value_list))

    def append_rows(self, rows: Rows, start: int, stop: int, timestamp: int) -> int:
        """Write rows of columns while there is room. Returns the first row not written.

        `timestamp` is for rows that have none.
        """
        if not 0 <= start <= stop <= rows.length:
            raise ValueError(f"rows {start} to {stop} of {rows.length}")
        for row in range(start, stop):
            if not self._append_row(rows, row, timestamp):
                return row
        return stop

    def append_taken(
        self, rows: Rows, indices: Buffer, start: int, stop: int, timestamp: int
    ) -> int:
        """Write the rows that the indices from `start` to `stop` name, while there is room.

        These are int32. Returns the first place among them that was not written. `timestamp` is
        for rows that have none.
        """
        data = memoryview(indices).cast("B")
        taken = data[: len(data) // 4 * 4].cast("i")
        if not 0 <= start <= stop <= len(taken):
            raise ValueError(f"indices {start} to {stop} of {len(taken)}")
        for at in range(start, stop):
            if not 0 <= taken[at] < rows.length:
                raise ValueError(f"row {taken[at]} of {rows.length}")
            if not self._append_row(rows, taken[at], timestamp):
                return at
        return stop

    def _append_row(self, rows: Rows, row: int, timestamp: int) -> bool:
        key, value = rows.key(row), rows.value(row)
        headers = rows.headers(row)
        try:
            return self._add(key, value, headers, rows.time(row, timestamp))
        except ValueError as problem:
            raise ValueError(f"row {row}: {problem}") from None

    def finish(
        self,
        compression: Compression = UNCOMPRESSED,
        stamp: ProducerStamp = UNSTAMPED,
        *,
        base_offset: int = 0,
        leader_epoch: int = -1,
        control: bool = False,
    ) -> memoryview:
        """Close the batch: compress, write the header, sum it up. Returns the bytes to send."""
        if self._finished:
            raise StateError("the batch is finished; `restamp` changes its stamp")
        if self._count == 0:
            raise StateError("an empty batch cannot be finished; append a record first")
        records = compress(compression, bytes(memoryview(self._buffer)[HEADER_BYTES:]))
        batch = bytearray(HEADER_BYTES)
        batch += records
        attributes = (
            compression.codec
            | (layout.TRANSACTIONAL if stamp.transactional else 0)
            | (layout.CONTROL if control else 0)
        )
        fields = (
            base_offset,
            len(batch) - layout.LENGTH_FROM,
            leader_epoch,
            layout.MAGIC,
            0,
            attributes,
            self._count - 1,
            self._base_timestamp,
            self._max_timestamp,
            stamp.producer_id,
            stamp.producer_epoch,
            stamp.base_sequence,
            self._count,
        )
        try:
            HEADER.pack_into(batch, 0, *fields)
        except struct.error as problem:
            raise OverflowError(f"a number does not fit the batch header: {problem}") from None
        crc = crc32c(memoryview(batch)[layout.CRC_FROM :])
        HEADER.pack_into(batch, 0, *fields[:4], crc, *fields[5:])
        self._finished = True
        self._limit = 0
        return memoryview(batch)


class _Binary:
    """A binary column to read from; a column that is absent is all null."""

    def __init__(self, column: BinaryColumn | None, what: str) -> None:
        self._column = column
        self.rows = 0
        if column is None:
            return
        if column.start < 0:
            raise ValueError(f"column {what} starts at {column.start}")
        offsets = memoryview(column.offsets).cast("B")
        width = 8 if column.large else 4
        whole = offsets[: len(offsets) // width * width]
        self._offsets = whole.cast("q") if column.large else whole.cast("i")
        self._data = memoryview(column.data).cast("B")
        self.rows = len(self._offsets) - 1 - column.start
        if column.validity is not None:
            self.rows = min(self.rows, _bits(column.validity) - column.start)

    def __call__(self, row: int, problem: str) -> memoryview | None:
        if self._column is None:
            return None
        row += self._column.start
        if not _is_valid(self._column.validity, row):
            return None
        begin, end = self._offsets[row], self._offsets[row + 1]
        if begin < 0 or end < begin or end > len(self._data):
            raise ValueError(problem)
        return self._data[begin:end]


@final
class Rows:
    """Columns to append from, checked and held; `length` rows of them."""

    def __init__(
        self,
        length: int,
        value: BinaryColumn,
        key: BinaryColumn | None = None,
        timestamp: TimestampColumn | None = None,
        headers: HeadersColumn | None = None,
    ) -> None:
        self._length = length
        self._value = _Binary(value, "value")
        self._key = _Binary(key, "key")
        for what, column, wanted in (("value", self._value, value), ("key", self._key, key)):
            if wanted is not None and column.rows < length:
                raise ValueError(f"column {what} has {column.rows} rows of {length}")
        self._timestamp = timestamp
        if timestamp is not None:
            self._hold_times(timestamp)
        self._headers = headers
        if headers is not None:
            self._hold_headers(headers)

    def __len__(self) -> int:
        return self._length

    @property
    def length(self) -> int:
        return self._length

    def _hold_times(self, column: TimestampColumn) -> None:
        data = memoryview(column.data).cast("B")
        self._times = data[: len(data) // 8 * 8].cast("q")
        stop = column.start + self._length
        if column.start < 0 or len(self._times) < stop or _bits(column.validity, stop) < stop:
            raise ValueError(f"column timestamp is shorter than {self._length} rows")

    def _hold_headers(self, column: HeadersColumn) -> None:
        offsets = memoryview(column.offsets).cast("B")
        self._header_offsets = offsets[: len(offsets) // 4 * 4].cast("i")
        self._header_keys = _Binary(column.keys, "headers.key")
        self._header_values = _Binary(column.values, "headers.value")
        stop = column.start + self._length
        is_short = len(self._header_offsets) < stop + 1 or _bits(column.validity, stop) < stop
        if column.start < 0 or is_short:
            raise ValueError(f"column headers is shorter than {self._length} rows")

    def payload(self, row: int) -> int:
        """The bytes of a row's key, value and headers."""
        if not 0 <= row < self._length:
            raise IndexError(f"row {row} of {self._length}")
        return len(self.key(row) or b"") + len(self.value(row) or b"") + len(self.headers(row))

    def key(self, row: int) -> memoryview | None:
        return self._key(row, f"row {row}: its offsets lie outside of the column's data")

    def value(self, row: int) -> memoryview | None:
        return self._value(row, f"row {row}: its offsets lie outside of the column's data")

    def time(self, row: int, otherwise: int) -> int:
        if self._timestamp is None:
            return otherwise
        row += self._timestamp.start
        return self._times[row] if _is_valid(self._timestamp.validity, row) else otherwise

    def headers(self, row: int) -> bytes:
        """The row's header section."""
        if self._headers is None:
            return _NO_HEADERS
        at = row + self._headers.start
        if not _is_valid(self._headers.validity, at):
            return _NO_HEADERS
        begin, end = self._header_offsets[at], self._header_offsets[at + 1]
        problem = f"row {row}: its offsets lie outside of the column's headers"
        if begin < 0 or end < begin or end > min(self._header_keys.rows, self._header_values.rows):
            raise ValueError(problem)
        section = bytearray()
        put_varint(section, end - begin)
        for entry in range(begin, end):
            key = self._header_keys(entry, problem)
            value = self._header_values(entry, problem)
            if key is None:
                raise ValueError(f"row {row}: the key of a header is null")
            put_span(section, key)
            put_span(section, value)
        return bytes(section)


def _bits(validity: Buffer | None, otherwise: int = 0) -> int:
    return otherwise if validity is None else memoryview(validity).nbytes * 8


def _is_valid(validity: Buffer | None, row: int) -> bool:
    return validity is None or bool(memoryview(validity).cast("B")[row >> 3] >> (row & 7) & 1)
