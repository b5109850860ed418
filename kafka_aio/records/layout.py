"""The header of a record batch, format 2, and the marks a producer puts into it. Pure.

offset  bytes  field
     0      8  base offset            written by the broker, outside the CRC
     8      4  batch length           what follows this field
    12      4  leader epoch           written by the broker, outside the CRC
    16      1  magic (2)
    17      4  CRC-32C of all that follows
    21      2  attributes             bits 0-2 codec, 3 log append time, 4 transactional,
                                      5 control, 6 delete horizon
    23      4  last offset delta
    27      8  base timestamp         the delete horizon where bit 6 is set (KIP-534)
    35      8  max timestamp
    43      8  producer id
    51      2  producer epoch
    53      4  base sequence
    57      4  record count
    61         records, compressed as one block
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Mapping
from typing import NamedTuple, TypeAlias

Header: TypeAlias = tuple[str, bytes | None]
Headers: TypeAlias = Iterable[Header] | Mapping[str, bytes | None]

MAGIC = 2
HEADER_BYTES = 61
HEADER = struct.Struct(">qiibIhiqqqhii")
CRC_FROM = 21
"""The CRC covers the bytes from here on."""
LENGTH_FROM = 12
"""The batch length counts the bytes from here on."""
LEGACY_BYTES = 14
"""The least a message of format 0 holds after its length field."""

CODEC_MASK = 0x07
LOG_APPEND_TIME = 0x08
TRANSACTIONAL = 0x10
CONTROL = 0x20
DELETE_HORIZON = 0x40

LEAST_RECORD_BYTES = 7
"""Length, attributes, two deltas, two lengths and a header count, a byte each."""
GREATEST_SEQUENCE = 2**31 - 1
MAX_INFLATED = 128 * 1024 * 1024
"""What a batch may inflate to, unless told otherwise."""


class ProducerStamp(NamedTuple):
    """Who wrote a batch: what makes it idempotent or part of a transaction."""

    producer_id: int = -1
    producer_epoch: int = -1
    base_sequence: int = -1
    transactional: bool = False


UNSTAMPED = ProducerStamp()


class BatchHeader(NamedTuple):
    """The fields of a batch's header, in their order on the wire."""

    base_offset: int
    length: int
    leader_epoch: int
    magic: int
    crc: int
    attributes: int
    last_offset_delta: int
    base_timestamp: int
    max_timestamp: int
    producer_id: int
    producer_epoch: int
    base_sequence: int
    record_count: int

    @property
    def size(self) -> int:
        """Bytes of the whole batch."""
        return LENGTH_FROM + self.length

    @property
    def last_offset(self) -> int:
        return self.base_offset + self.last_offset_delta

    @property
    def codec(self) -> int:
        """The number of the codec; `Codec(header.codec)` refuses one that Kafka does not have."""
        return self.attributes & CODEC_MASK

    @property
    def is_log_append_time(self) -> bool:
        return bool(self.attributes & LOG_APPEND_TIME)

    @property
    def is_transactional(self) -> bool:
        return bool(self.attributes & TRANSACTIONAL)

    @property
    def is_control(self) -> bool:
        return bool(self.attributes & CONTROL)

    @property
    def delete_horizon(self) -> int | None:
        """When the tombstones of a compacted batch may go, in milliseconds (KIP-534)."""
        return self.base_timestamp if self.attributes & DELETE_HORIZON else None

    @property
    def stamp(self) -> ProducerStamp:
        return ProducerStamp(
            self.producer_id, self.producer_epoch, self.base_sequence, self.is_transactional
        )


def advance_sequence(sequence: int, count: int) -> int:
    """The sequence `count` records further on; after 2^31 - 1 comes 0."""
    return (sequence + count) & GREATEST_SEQUENCE


def checked_headers(headers: Headers) -> tuple[Header, ...]:
    """The headers of a record as they are kept, from pairs or from a mapping.

    Raises:
        TypeError: A header is no pair, its key not a str, or its value neither bytes nor None.
    """
    pairs = headers.items() if isinstance(headers, Mapping) else headers
    return tuple([_checked_header(pair) for pair in pairs])


def _checked_header(pair: Header) -> Header:
    try:
        key, value = pair
    except (TypeError, ValueError):
        raise TypeError(
            "headers are pairs of a str and bytes or None, or a mapping of these:"
            f" this {type(pair).__name__} is no pair"
        ) from None
    if type(key) is not str:
        raise TypeError(f"the key of a header is a str, not {type(key).__name__}")
    if value is None or type(value) is bytes:
        return key, value
    if isinstance(value, (bytes, bytearray, memoryview)):
        return key, bytes(value)
    raise TypeError(
        f"the value of header {key!r} is bytes or None, not {type(value).__name__}: encode it first"
    )
