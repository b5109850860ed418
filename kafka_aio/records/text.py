"""The words of the codec, said alike by the compiled one and its twin. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Protocol

if TYPE_CHECKING:
    from kafka_aio.records.layout import Header

DAMAGE: Final = (
    "sound",
    "a record is cut short",
    "a number has too many bytes",
    "the length of a record runs past its batch",
    "the length of a key runs past its record",
    "the length of a value runs past its record",
    "the count of headers does not fit its record",
    "the length of a header's key runs past its record",
    "the length of a header's value runs past its record",
    "the length of a record is not that of its fields",
    "the offset of a record is out of order or outside of its batch",
)
"""What can be wrong with a record; the codecs know the numbers."""


class _Record(Protocol):
    @property
    def topic(self) -> str: ...
    @property
    def partition(self) -> int: ...
    @property
    def offset(self) -> int: ...
    @property
    def timestamp(self) -> int: ...
    @property
    def key(self) -> bytes | None: ...
    @property
    def value(self) -> bytes | None: ...
    @property
    def headers(self) -> tuple[Header, ...]: ...


class _BatchBuilder(Protocol):
    @property
    def count(self) -> int: ...
    @property
    def size(self) -> int: ...
    @property
    def limit(self) -> int: ...
    @property
    def is_finished(self) -> bool: ...


class _RecordReader(Protocol):
    @property
    def topic(self) -> str: ...
    @property
    def partition(self) -> int: ...
    @property
    def next_offset(self) -> int: ...


def describe_record(record: _Record) -> str:
    """A record in one line, its payload by size only."""
    return (
        f"<Record {record.topic}-{record.partition}@{record.offset} timestamp={record.timestamp}"
        f" key={_size(record.key)} value={_size(record.value)} headers={len(record.headers)}>"
    )


def describe_builder(builder: _BatchBuilder) -> str:
    state = "finished" if builder.is_finished else f"of {builder.limit}"
    return f"<BatchBuilder {builder.count} records, {builder.size} bytes {state}>"


def describe_reader(reader: _RecordReader, at: int, size: int) -> str:
    return (
        f"<RecordReader {reader.topic}-{reader.partition} next offset {reader.next_offset},"
        f" byte {at} of {size}>"
    )


def not_bytes(what: str, value: object) -> str:
    """What to say to someone who hands over something else than bytes."""
    return (
        f"a {what} is bytes, bytearray, memoryview or None, not {type(value).__name__}:"
        " encode it first, or give the client a serializer"
    )


def _size(part: bytes | None) -> str:
    return "null" if part is None else f"{len(part)} bytes"
