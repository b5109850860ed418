"""Batches and message sets made by hand, so that a test can break any of their bytes."""

from __future__ import annotations

import importlib
import os
import struct
import zlib
from collections.abc import Iterable, Sequence
from types import ModuleType
from typing import Any, NamedTuple

from kafka_aio.errors import CorruptRecord
from kafka_aio.records import _codec_py as twin
from kafka_aio.records.compression import Codec, Compression, compress
from kafka_aio.records.layout import HEADER, HEADER_BYTES, Header

NOW = 1_700_000_000_000
ABORT, COMMIT = 0, 1
TRANSACTIONAL, CONTROL, LOG_APPEND_TIME, DELETE_HORIZON = 0x10, 0x20, 0x08, 0x40


def _is_set(name: str) -> bool:
    return os.environ.get(name, "0") not in ("", "0")


def _find_compiled() -> ModuleType | None:
    if _is_set("KAFKA_AIO_PURE"):
        return None
    try:
        return importlib.import_module("kafka_aio.records._codec")
    except ImportError:
        if _is_set("KAFKA_AIO_REQUIRE_COMPILED"):
            raise
        return None


compiled = _find_compiled()
codecs: Sequence[ModuleType] = [twin] if compiled is None else [compiled, twin]


def crc32c(data: bytes) -> int:
    """Bit by bit, from the definition: slow, and nobody's copy."""
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82F63B78 if crc & 1 else 0)
    return crc ^ 0xFFFFFFFF


def varint(number: int) -> bytes:
    bits = number << 1 if number >= 0 else (-number << 1) - 1
    out = bytearray()
    while bits >= 0x80:
        out.append(bits & 0x7F | 0x80)
        bits >>= 7
    return bytes(out) + bytes([bits])


def span(part: bytes | None) -> bytes:
    return varint(-1) if part is None else varint(len(part)) + part


def record(
    delta: int = 0,
    key: bytes | None = None,
    value: bytes | None = b"value",
    headers: Sequence[tuple[bytes, bytes | None]] = (),
    time_delta: int = 0,
    header_count: int | None = None,
) -> bytes:
    count = len(headers) if header_count is None else header_count
    pairs = b"".join(span(name) + span(content) for name, content in headers)
    body = b"\x00" + varint(time_delta) + varint(delta) + span(key) + span(value)
    return varint(len(body + varint(count) + pairs)) + body + varint(count) + pairs


def marker(kind: int = ABORT, delta: int = 0) -> bytes:
    return record(delta, struct.pack(">hh", 0, kind), struct.pack(">hi", 0, 0))


def batch(
    *records: bytes,
    count: int | None = None,
    last_delta: int | None = None,
    base_offset: int = 0,
    length: int | None = None,
    leader_epoch: int = 4,
    magic: int = 2,
    crc: int | None = None,
    attributes: int = 0,
    base_timestamp: int = NOW,
    max_timestamp: int = NOW + 9,
    producer_id: int = -1,
    producer_epoch: int = -1,
    base_sequence: int = -1,
    codec: Codec = Codec.NONE,
    payload: bytes | None = None,
) -> bytes:
    """A batch, format 2; whatever is not given is as it should be."""
    content = b"".join(records)
    if payload is None:
        payload = bytes(memoryview(compress(Compression(codec), content)))
    fields = [
        base_offset,
        HEADER_BYTES - 12 + len(payload) if length is None else length,
        leader_epoch,
        magic,
        0,
        attributes | codec,
        max(0, len(records) - 1) if last_delta is None else last_delta,
        base_timestamp,
        max_timestamp,
        producer_id,
        producer_epoch,
        base_sequence,
        len(records) if count is None else count,
    ]
    unsummed = HEADER.pack(*fields) + payload
    fields[4] = crc32c(unsummed[21:]) if crc is None else crc
    return HEADER.pack(*fields) + payload


def summed(data: bytes) -> bytes:
    """One batch with the checksum that its bytes ask for."""
    return data[:17] + struct.pack(">I", twin.crc32c(data[21:])) + data[21:]


def good_batch(base_offset: int = 0, written: int = 3, **fields: Any) -> bytes:
    records = (record(index, b"k%d" % index, b"v%d" % index) for index in range(written))
    return batch(*records, base_offset=base_offset, **fields)


def message(
    offset: int,
    key: bytes | None = None,
    value: bytes | None = b"value",
    magic: int = 1,
    attributes: int = 0,
    timestamp: int = NOW,
    crc: int | None = None,
) -> bytes:
    """An entry of a message set, format 0 or 1."""
    body = struct.pack(">bb", magic, attributes)
    if magic == 1:
        body += struct.pack(">q", timestamp)
    for part in (key, value):
        body += struct.pack(">i", -1) if part is None else struct.pack(">i", len(part)) + part
    checksum = zlib.crc32(body) if crc is None else crc
    return struct.pack(">qiI", offset, 4 + len(body), checksum) + body


class Failure(NamedTuple):
    """What an error says, to compare two of them."""

    reason: str
    topic: str
    partition: int
    offset: int
    next_offset: int

    @classmethod
    def of(cls, error: CorruptRecord) -> Failure:
        return cls(error.reason, error.topic, error.partition, error.offset, error.next_offset)


def fields_of(record: Any) -> tuple[Any, ...]:
    return (
        record.topic,
        record.partition,
        record.offset,
        record.timestamp,
        record.timestamp_type,
        record.key,
        record.value,
        record.headers,
        record.leader_epoch,
    )


def plain(part: Any) -> Any:
    """Columns with their buffers as bytes, to compare them."""
    if isinstance(part, tuple):
        return tuple(plain(item) for item in part)
    if part is None or isinstance(part, int):
        return part
    return bytes(memoryview(part).cast("B")) if memoryview(part).nbytes else b""


def values_of(records: Iterable[Any]) -> list[bytes | None]:
    return [item.value for item in records]


def offsets_of(records: Iterable[Any]) -> list[int]:
    return [item.offset for item in records]


class Outcome(NamedTuple):
    """All that a reader can tell of some bytes."""

    parts: list[Any]
    failures: list[Failure | None]
    next_offset: int
    is_done: bool
    is_incomplete: bool


def outcome(codec: ModuleType, data: bytes, *, columns: bool = False, **options: Any) -> Outcome:
    """Read all that can be read, and three times what comes then."""
    reader = codec.RecordReader(data, "orders", 3, **options)
    parts: list[Any] = []
    failures: list[Failure | None] = []
    for _ in range(3):
        try:
            if columns:
                parts.append(plain(reader.columns(headers=True)))
            else:
                parts.append([fields_of(item) for item in reader.read()])
            failures.append(None)
        except CorruptRecord as error:
            failures.append(Failure.of(error))
    return Outcome(parts, failures, reader.next_offset, reader.is_done, reader.is_incomplete)


def written(
    codec: ModuleType,
    records: Iterable[tuple[bytes | None, bytes | None, int, Sequence[Header]]],
    **options: Any,
) -> bytes:
    builder = codec.BatchBuilder(1 << 20)
    for key, value, timestamp, headers in records:
        assert builder.append(key, value, timestamp, headers)
    return bytes(builder.finish(**options))
