"""The leaves of the protocol: lengths, varints, strings, tagged fields. Pure.

Each reader takes a buffer, a position and the end of what it may read, and checks a promised length
or count against the bytes that are there before anything is allocated: memory follows the bytes
received, never the bytes promised. The figures are those of Kafka 4.4.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from kafka_aio.errors import ProtocolError
from kafka_aio.protocol.schema import Buffer, Scalar

MAX_ELEMENTS: Final = 1_000_000
"""The most items that one array may have."""
MAX_TAGS: Final = 10_000
"""The most tagged fields that one struct may have."""
FIRST_ROOM: Final = 1_000
"""For so many items there is room in a list before the first of them was read."""
SMALL: Final = 17
"""Arrays of fewer scalars have a struct of their own, made once for each count; and those of int32,
which are replicas or partitions, are shared within a message."""


class Malformed(ProtocolError):
    """A leaf cannot be read. Raised without the field's name: `trace` finds that out."""


def read_uvarint(buffer: Buffer, position: int, end: int) -> tuple[int, int]:
    """An unsigned varint of at most 31 bits, as lengths and tags are: the value, and what is next.

    Padded forms (80 00 for 0) are read, as Kafka does.
    """
    value = 0
    for shift in range(0, 35, 7):
        if position >= end:
            raise Malformed("1 byte missing")
        byte = buffer[position]
        position += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            if value > 0x7FFFFFFF:
                raise Malformed(f"varint {value} does not fit in 31 bits")
            return value, position
    raise Malformed("varint of more than 5 bytes")


def read_length(
    buffer: Buffer, position: int, end: int, *, size: int, nullable: bool
) -> tuple[int, int]:
    """A length or count: -1 where it is null. `size` is 2 or 4 bytes, or 0 for a varint."""
    if size:
        if end - position < size:
            raise Malformed(f"{byte_count(size - (end - position))} missing")
        length = int.from_bytes(buffer[position : position + size], "big", signed=True)
        position += size
    else:
        length, position = read_uvarint(buffer, position, end)
        length -= 1
    if length < -1:
        raise Malformed(f"negative length {length}")
    if length == -1 and not nullable:
        raise Malformed("null where a value must be")
    return length, position


def take(position: int, end: int, length: int) -> int:
    """The position after `length` bytes."""
    if length > end - position:
        raise Malformed(f"{byte_count(length - (end - position))} missing")
    return position + length


def check_count(count: int, position: int, end: int, item_size: int) -> None:
    """Refuse a count that the bytes at hand cannot hold."""
    if count > MAX_ELEMENTS:
        raise Malformed(f"{count:,} items, more than {MAX_ELEMENTS:,}")
    if count * item_size > end - position:
        raise Malformed(f"{count:,} items promised in {byte_count(end - position)}")


def read_text(buffer: Buffer, position: int, stop: int) -> str:
    """The UTF-8 text between two positions."""
    try:
        return str(buffer[position:stop], "utf-8")
    except UnicodeDecodeError as error:
        raise Malformed(f"not UTF-8: {error.reason} at byte {error.start}") from None


def read_tags(buffer: Buffer, position: int, end: int) -> tuple[list[tuple[int, int, int]], int]:
    """A tagged section: tag, start and stop of each field, and the position after the section."""
    count, position = read_uvarint(buffer, position, end)
    if count > MAX_TAGS:
        raise Malformed(f"{count:,} tagged fields, more than {MAX_TAGS:,}")
    if count * 2 > end - position:
        raise Malformed(f"{count:,} tagged fields promised in {byte_count(end - position)}")
    spans = []
    last = -1
    for _ in range(count):
        tag, position = read_uvarint(buffer, position, end)
        if tag <= last:
            raise Malformed(f"tag {tag} after tag {last}")
        length, position = read_uvarint(buffer, position, end)
        stop = take(position, end, length)
        spans.append((tag, position, stop))
        position, last = stop, tag
    return spans, position


def byte_count(count: int) -> str:
    """A number of bytes, in words."""
    return f"{count:,} byte{'s' if count != 1 else ''}"


_ONE_BYTE: Final = tuple(bytes([value]) for value in range(128))


def uvarint(value: int) -> bytes:
    """The varint of a length or tag."""
    if value < 128:
        return _ONE_BYTE[value]
    encoded = bytearray()
    while value > 0x7F:
        encoded.append(value & 0x7F | 0x80)
        value >>= 7
    encoded.append(value)
    return bytes(encoded)


def write_tags(out: list[Buffer], tags: Mapping[int, bytes]) -> None:
    """A tagged section."""
    out.append(uvarint(len(tags)))
    for tag in sorted(tags):
        payload = tags[tag]
        out += (uvarint(tag), uvarint(len(payload)), payload)


def format_of(scalar: Scalar, count: int) -> str:
    """The struct format of an array of scalars."""
    return f">{count}{scalar.format}" if len(scalar.format) == 1 else f">{scalar.format * count}"
