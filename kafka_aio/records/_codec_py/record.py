"""Records of a batch, byte by byte: varints, CRC-32C, `Record`. Pure."""

from __future__ import annotations

from types import GenericAlias
from typing import TYPE_CHECKING, Final, NamedTuple, final

from kafka_aio.records import layout, text
from kafka_aio.types import TimestampType

if TYPE_CHECKING:
    from typing_extensions import Buffer

    from kafka_aio.records.layout import Header, Headers

CRC32C_BY: Final = "python"

_WORD64: Final = 2**64 - 1


def _crc_table() -> tuple[int, ...]:
    table = []
    for byte in range(256):
        crc = byte
        for _ in range(8):
            crc = crc >> 1 ^ 0x82F63B78 if crc & 1 else crc >> 1
        table.append(crc)
    return tuple(table)


_CRC_TABLE: Final = _crc_table()


def crc32c(data: Buffer, crc: int = 0) -> int:
    """CRC-32C of a buffer, going on from `crc`."""
    crc ^= 0xFFFFFFFF
    table = _CRC_TABLE
    for byte in memoryview(data).cast("B"):
        crc = table[(crc ^ byte) & 0xFF] ^ crc >> 8
    return crc ^ 0xFFFFFFFF


# -- varints


def put_varint(out: bytearray, number: int) -> None:
    bits = (number << 1 ^ number >> 63) & _WORD64
    while bits >= 0x80:
        out.append(bits & 0x7F | 0x80)
        bits >>= 7
    out.append(bits)


def put_span(out: bytearray, part: Buffer | None) -> None:
    if part is None:
        out.append(1)
    else:
        view = memoryview(part)
        put_varint(out, view.nbytes)
        out += view


class Damage(Exception):
    """Something is wrong with a record; the argument is an index into `text.DAMAGE`."""

    @property
    def reason(self) -> str:
        return text.DAMAGE[self.args[0]]


(
    _CUT_SHORT,
    _LONG_VARINT,
    _BAD_LENGTH,
    _BAD_KEY,
    _BAD_VALUE,
    _BAD_HEADER_COUNT,
    _BAD_HEADER_KEY,
    _BAD_HEADER_VALUE,
    _WRONG_LENGTH,
    BAD_OFFSET,
) = range(1, len(text.DAMAGE))


def _take_varint(data: memoryview, at: int, end: int, bits_wide: int = 32) -> tuple[int, int]:
    bits = shift = 0
    while True:
        if shift >= bits_wide:
            raise Damage(_LONG_VARINT)
        if at >= end:
            raise Damage(_CUT_SHORT)
        byte = data[at]
        at += 1
        bits |= (byte & 0x7F) << shift
        if byte < 0x80:
            break
        shift += 7
    bits &= (1 << bits_wide) - 1
    return bits >> 1 ^ -(bits & 1), at


def _take_span(
    data: memoryview, at: int, end: int, least: int, otherwise: int
) -> tuple[bytes | None, int]:
    size, at = _take_varint(data, at, end)
    if size < least or size > end - at:
        raise Damage(otherwise)
    if size < 0:
        return None, at
    return bytes(data[at : at + size]), at + size


class Parsed(NamedTuple):
    """A record as it stands in its batch."""

    timestamp_delta: int
    offset_delta: int
    key: bytes | None
    value: bytes | None
    headers: tuple[Header, ...]
    header_bytes: int
    end: int


def parse_record(data: memoryview, at: int) -> Parsed:
    """Check one record from front to back; what it raises is the first thing that is wrong."""
    length, at = _take_varint(data, at, len(data))
    if length < 0 or length > len(data) - at:
        raise Damage(_BAD_LENGTH)
    end = at + length
    if at >= end:
        raise Damage(_CUT_SHORT)
    at += 1  # attributes, unused
    timestamp_delta, at = _take_varint(data, at, end, 64)
    offset_delta, at = _take_varint(data, at, end)
    key, at = _take_span(data, at, end, -1, _BAD_KEY)
    value, at = _take_span(data, at, end, -1, _BAD_VALUE)
    count, at = _take_varint(data, at, end)
    header_bytes = end - at
    headers, at = _parse_headers(data, at, end, count)
    if at != end:
        raise Damage(_WRONG_LENGTH)
    return Parsed(timestamp_delta, offset_delta, key, value, headers, header_bytes, end)


def _parse_headers(
    data: memoryview, at: int, end: int, count: int
) -> tuple[tuple[Header, ...], int]:
    if count < 0 or count > (end - at) // 2:
        raise Damage(_BAD_HEADER_COUNT)
    headers = []
    for _ in range(count):
        key, at = _take_span(data, at, end, 0, _BAD_HEADER_KEY)
        value, at = _take_span(data, at, end, -1, _BAD_HEADER_VALUE)
        headers.append(((key or b"").decode("utf-8", "replace"), value))
    return tuple(headers), at


# -- one record


@final
class Record:
    """A record as it was read: key, value and headers are bytes."""

    __slots__ = (
        "_timestamp_type",
        "headers",
        "key",
        "leader_epoch",
        "offset",
        "partition",
        "timestamp",
        "topic",
        "value",
    )

    topic: str
    partition: int
    offset: int
    timestamp: int
    key: bytes | None
    value: bytes | None
    headers: tuple[Header, ...]
    leader_epoch: int
    _timestamp_type: TimestampType

    def __init__(  # noqa: PLR0913 - a record has that many parts
        self,
        topic: str,
        partition: int,
        offset: int,
        timestamp: int,
        key: bytes | None = None,
        value: bytes | None = None,
        headers: Headers = (),
        timestamp_type: TimestampType = TimestampType.CREATE_TIME,
        leader_epoch: int = -1,
    ) -> None:
        for what, part in (("key", key), ("value", value)):
            if part is not None and type(part) is not bytes:
                raise TypeError(f"the {what} of a record is bytes or None")
        put = object.__setattr__
        put(self, "topic", topic)
        put(self, "partition", partition)
        put(self, "offset", offset)
        put(self, "timestamp", timestamp)
        put(self, "key", key)
        put(self, "value", value)
        put(self, "headers", layout.checked_headers(headers))
        put(self, "_timestamp_type", TimestampType(timestamp_type))
        put(self, "leader_epoch", leader_epoch)

    def __class_getitem__(cls, item: object) -> GenericAlias:
        return GenericAlias(cls, item)

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"a record does not change: {name}")

    def __delattr__(self, name: str) -> None:
        raise AttributeError(f"a record does not change: {name}")

    @property
    def timestamp_type(self) -> TimestampType:
        """Whether the producer or the broker set the timestamp."""
        return self._timestamp_type

    def _fields(self) -> tuple[object, ...]:
        return (
            self.topic,
            self.partition,
            self.offset,
            self.timestamp,
            self.key,
            self.value,
            self.headers,
            self.timestamp_type,
            self.leader_epoch,
        )

    def __eq__(self, other: object) -> bool:
        return self._fields() == other._fields() if isinstance(other, Record) else NotImplemented

    def __hash__(self) -> int:
        return hash(self._fields())

    def __reduce__(self) -> tuple[object, ...]:
        return Record, self._fields()

    def __repr__(self) -> str:
        return text.describe_record(self)
