"""Message sets of formats 0 and 1, as old topics still hold them: read, never written. Pure.

A message: offset (8), size (4), CRC-32 of what follows it (4), magic (1), attributes (1),
timestamp (8, format 1 only), key length (4), key, value length (4), value. A compressed message
is a wrapper: its value inflates to the messages themselves. In format 1 these count their offsets
from 0, and the wrapper has the offset of the last.
"""

from __future__ import annotations

import struct
import zlib
from typing import Final, NamedTuple

from kafka_aio.errors import CorruptRecord
from kafka_aio.records.compression import Codec, decompress
from kafka_aio.records.layout import CODEC_MASK, LOG_APPEND_TIME
from kafka_aio.types import TimestampType

_HEAD: Final = struct.Struct(">qiIbb")
_LENGTH: Final = struct.Struct(">i")
_TIMESTAMP: Final = struct.Struct(">q")
_CRC_FROM: Final = 16
_GREATEST_OFFSET: Final = 2**63 - 1


class Message(NamedTuple):
    """A record of an old format."""

    offset: int
    timestamp: int
    timestamp_type: TimestampType
    key: bytes | None
    value: bytes | None


class _Entry(NamedTuple):
    magic: int
    codec: int
    message: Message


def read_message(data: memoryview, check_crc: bool, limit: int) -> list[Message]:
    """The records of one entry of a message set: its own, or those it wraps.

    Raises:
        CorruptRecord: The entry is damaged, or inflates beyond `limit` bytes.
    """
    outer = _read_entry(data, check_crc)
    if outer.codec == Codec.NONE:
        return [outer.message]
    if outer.codec > Codec.LZ4:
        raise CorruptRecord(f"unknown codec {outer.codec}")
    if outer.message.value is None:
        raise CorruptRecord("a compressed message without a value")
    payload = memoryview(outer.message.value)
    if outer.codec == Codec.LZ4 and outer.magic == 0:
        payload = _mend_lz4_header(payload)
    inflated = memoryview(decompress(Codec(outer.codec), payload, limit))
    return _unwrap(outer, inflated, check_crc)


def _unwrap(outer: _Entry, inflated: memoryview, check_crc: bool) -> list[Message]:
    inner: list[Message] = []
    at = 0
    while at < len(inflated):
        if len(inflated) - at < 12:
            raise CorruptRecord("a message is cut short")
        (size,) = _LENGTH.unpack_from(inflated, at + 8)
        if size < 0 or size > len(inflated) - at - 12:
            raise CorruptRecord("a message is cut short")
        entry = _read_entry(inflated[at : at + 12 + size], check_crc)
        if entry.magic != outer.magic or entry.codec != Codec.NONE:
            raise CorruptRecord("a message inside of another has its own format or codec")
        inner.append(entry.message)
        at += 12 + size
    if not inner:
        raise CorruptRecord("a compressed message without messages")
    return _with_places(outer, inner)


def _with_places(outer: _Entry, inner: list[Message]) -> list[Message]:
    last = outer.message.offset
    shift = last - inner[-1].offset if outer.magic == 1 else 0
    append_time = outer.message.timestamp_type is TimestampType.LOG_APPEND_TIME
    placed: list[Message] = []
    before = -1
    for message in inner:
        offset = message.offset + shift
        if not before < offset <= last:
            raise CorruptRecord("the offset of a message is out of order or outside of its wrapper")
        before = offset
        placed.append(
            message._replace(
                offset=offset,
                timestamp=outer.message.timestamp if append_time else message.timestamp,
                timestamp_type=outer.message.timestamp_type,
            )
        )
    return placed


def _read_entry(data: memoryview, check_crc: bool) -> _Entry:
    if len(data) < _HEAD.size:
        raise CorruptRecord("a message is cut short")
    offset, _, crc, magic, attributes = _HEAD.unpack_from(data)
    if check_crc and zlib.crc32(data[_CRC_FROM:]) != crc:
        raise CorruptRecord("the checksum (CRC-32) does not match")
    if magic not in (0, 1):
        raise CorruptRecord(f"unknown record format {magic}")
    at = _HEAD.size
    timestamp, kind = -1, TimestampType.NO_TIMESTAMP
    if magic == 1:
        if len(data) < at + 8:
            raise CorruptRecord("a message is cut short")
        (timestamp,) = _TIMESTAMP.unpack_from(data, at)
        at += 8
        by_broker = attributes & LOG_APPEND_TIME
        kind = TimestampType.LOG_APPEND_TIME if by_broker else TimestampType.CREATE_TIME
    key, at = _read_part(data, at)
    value, at = _read_part(data, at)
    if at != len(data):
        raise CorruptRecord("the length of a message is not that of its fields")
    return _Entry(magic, attributes & CODEC_MASK, Message(offset, timestamp, kind, key, value))


def _read_part(data: memoryview, at: int) -> tuple[bytes | None, int]:
    if len(data) < at + 4:
        raise CorruptRecord("a message is cut short")
    (size,) = _LENGTH.unpack_from(data, at)
    at += 4
    if size == -1:
        return None, at
    if size < 0 or size > len(data) - at:
        raise CorruptRecord("the length of a key or value runs past its message")
    return bytes(data[at : at + size]), at + size


def _mend_lz4_header(frame: memoryview) -> memoryview:
    """Put the right checksum into an lz4 frame header (KAFKA-3160).

    Format 0 was written with a checksum over the magic number too, which no library accepts.
    """
    if len(frame) < 7:
        raise CorruptRecord("lz4 payload cut short")
    end = 6 + (8 if frame[4] & 0x08 else 0) + (4 if frame[4] & 0x01 else 0)
    if len(frame) <= end:
        raise CorruptRecord("lz4 payload cut short")
    mended = bytearray(frame)
    mended[end] = (xxh32_of_short(bytes(frame[4:end])) >> 8) & 0xFF
    return memoryview(mended)


_PRIMES: Final = (0x9E3779B1, 0x85EBCA77, 0xC2B2AE3D, 0x27D4EB2F, 0x165667B1)
_WORD: Final = 0xFFFFFFFF


def xxh32_of_short(data: bytes) -> int:
    """xxHash-32 with seed 0 of fewer than 16 bytes: all that a frame header has."""
    total = (_PRIMES[4] + len(data)) & _WORD
    words = len(data) // 4 * 4
    for (word,) in struct.iter_unpack("<I", data[:words]):
        total = _rotate((total + word * _PRIMES[2]) & _WORD, 17) * _PRIMES[3] & _WORD
    for byte in data[words:]:
        total = _rotate((total + byte * _PRIMES[4]) & _WORD, 11) * _PRIMES[0] & _WORD
    total = (total ^ total >> 15) * _PRIMES[1] & _WORD
    total = (total ^ total >> 13) * _PRIMES[2] & _WORD
    return total ^ total >> 16


def _rotate(word: int, bits: int) -> int:
    return (word << bits | word >> (32 - bits)) & _WORD
