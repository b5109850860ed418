"""Columns while they are filled: `ColumnsOut`. Pure."""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, Final

from kafka_aio.records.columns import BinaryColumn, Columns, HeadersColumn

if TYPE_CHECKING:
    from kafka_aio.records._codec_py.record import Record

_INT64_MAX: Final = 2**63 - 1


class _BinaryOut:
    """A binary column being filled."""

    def __init__(self) -> None:
        self._offsets = [0]
        self._data = bytearray()
        self._valid: list[bool] = []

    @property
    def size(self) -> int:
        return len(self._data)

    def put(self, part: bytes | None) -> None:
        self._data += part or b""
        self._offsets.append(len(self._data))
        self._valid.append(part is not None)

    @property
    def rows(self) -> int:
        return len(self._valid)

    def column(self) -> BinaryColumn:
        validity = None
        if not all(self._valid):
            validity = bytearray((self.rows + 7) // 8)
            for row, is_valid in enumerate(self._valid):
                validity[row >> 3] |= is_valid << (row & 7)
        return BinaryColumn(_packed("i", self._offsets), bytes(self._data), validity)


class ColumnsOut:
    """The columns of one call, being filled."""

    def __init__(self, with_headers: bool, max_bytes: int) -> None:
        self.rows = 0
        self._max_bytes = max_bytes
        self._key = _BinaryOut()
        self._value = _BinaryOut()
        self._offsets: list[int] = []
        self._timestamps: list[int] = []
        self._timestamp_types: list[int] = []
        self._with_headers = with_headers
        self._header_offsets = [0]
        self._header_keys = _BinaryOut()
        self._header_values = _BinaryOut()

    def has_room(self, record: Record, header_bytes: int) -> bool:
        """Whether a row fits; the first does. A byte that is not UTF-8 becomes three."""
        if self.rows == 0:
            return True
        sizes = [
            self._key.size + len(record.key or b""),
            self._value.size + len(record.value or b""),
        ]
        if self._with_headers:
            filled = max(self._header_keys.size, self._header_values.size, self._header_keys.rows)
            sizes.append(filled + 3 * header_bytes)
        return max(sizes) <= self._max_bytes

    def put(self, record: Record) -> None:
        self._key.put(record.key)
        self._value.put(record.value)
        self._offsets.append(record.offset)
        self._timestamps.append(_microseconds(record.timestamp))
        self._timestamp_types.append(record.timestamp_type)
        if self._with_headers:
            for key, value in record.headers:
                self._header_keys.put(key.encode())
                self._header_values.put(value)
            self._header_offsets.append(self._header_keys.rows)
        self.rows += 1

    def columns(self, topic: str, partition: int) -> Columns:
        headers = None
        if self._with_headers:
            headers = HeadersColumn(
                _packed("i", self._header_offsets),
                self._header_keys.column(),
                self._header_values.column(),
            )
        return Columns(
            self.rows,
            self._key.column(),
            self._value.column(),
            _repeated(topic.encode(), self.rows),
            _packed("i", [partition] * self.rows),
            _packed("q", self._offsets),
            _packed("q", self._timestamps),
            _packed("i", self._timestamp_types),
            headers,
        )


def _packed(letter: str, numbers: list[int]) -> bytes:
    return struct.pack(f"={len(numbers)}{letter}", *numbers)


def _repeated(part: bytes, rows: int) -> BinaryColumn:
    offsets = [row * len(part) for row in range(rows + 1)]
    return BinaryColumn(_packed("i", offsets), part * rows)


def _microseconds(timestamp: int) -> int:
    if timestamp > _INT64_MAX // 1000:
        return _INT64_MAX
    if timestamp < -(_INT64_MAX // 1000):
        return -_INT64_MAX - 1
    return timestamp * 1000
