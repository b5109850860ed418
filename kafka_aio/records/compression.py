"""The four codecs of Kafka: gzip, snappy (xerial framing), lz4 (frame), zstd. Pure.

Reading is bounded: a size that the payload declares is held against the limit before a byte is
inflated, and the output against the limit while it grows. Memory follows what was received.
No payload inflates to more than it declares.
"""

from __future__ import annotations

import enum
import struct
import sys
import zlib
from typing import TYPE_CHECKING, Final, NamedTuple

import cramjam
import lz4.frame

from kafka_aio.errors import ConfigError, CorruptRecord

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

if TYPE_CHECKING:
    from collections.abc import Callable

    from typing_extensions import Buffer


class Codec(enum.IntEnum):
    """A codec's number in the attributes of a batch."""

    NONE = 0
    GZIP = 1
    SNAPPY = 2
    LZ4 = 3
    ZSTD = 4


class Levels(NamedTuple):
    """The levels Kafka allows for a codec."""

    least: int
    greatest: int
    default: int


LEVELS: Final = {
    Codec.GZIP: Levels(1, 9, -1),
    Codec.LZ4: Levels(1, 17, 9),
    Codec.ZSTD: Levels(-131072, 22, 3),
}


class Compression(NamedTuple):
    """How the batches of a producer are compressed."""

    codec: Codec = Codec.NONE
    level: int | None = None
    """The codec's own default where None."""

    @classmethod
    def checked(cls, name: str, level: int | None = None) -> Compression:
        """From Kafka's option values, as `compression.type` and `compression.zstd.level` are.

        Raises:
            ConfigError: No such codec, or the level is out of its range.
        """
        try:
            codec = Codec[name.upper()]
        except KeyError:
            names = ", ".join(codec.name.lower() for codec in Codec)
            raise ConfigError(f"compression.type {name!r} is not one of {names}") from None
        if level is None:
            return cls(codec)
        if codec not in LEVELS:
            raise ConfigError(f"compression.type {name} has no levels; leave the level out")
        least, greatest, default = LEVELS[codec]
        if not (least <= level <= greatest or level == default):
            raise ConfigError(
                f"compression.{name}.level {level} is out of range: {least} to {greatest},"
                f" {default} by default"
            )
        return cls(codec, level)


UNCOMPRESSED: Final = Compression()

XERIAL_HEADER: Final = b"\x82SNAPPY\x00" + struct.pack(">ii", 1, 1)
_XERIAL_BLOCK = 32 * 1024
_INT32 = struct.Struct(">i")
# A snappy copy of three bytes yields at most 64: whatever claims more is lying.
_SNAPPY_GREATEST_RATIO = 22
_LZ4_GREATEST_RATIO = 255
_MOST_MEMBERS = 64
"""Writers make one; each costs a copy of what follows it."""
_GZIP_MEMBER = b"\x1f\x8b\x08"
_UNDECLARED = sys.maxsize - 1
_LZ4_FASTEST = 0
_LZ4_WEAKEST_HIGH = 3
_LZ4_STRONGEST_HIGH = 12


def compress(compression: Compression, data: Buffer) -> Buffer:
    """`data` as one block of that codec, readable by every Kafka client."""
    return _COMPRESSORS[compression.codec](data, compression.level)


def decompress(codec: Codec, data: Buffer, limit: int) -> Buffer:
    """What `data` inflates to, never more than `limit` bytes.

    Raises:
        CorruptRecord: The payload is damaged or cut short, or would pass the limit.
    """
    return _DECOMPRESSORS[codec](memoryview(data), limit)


def _keep(data: Buffer, level: int | None) -> Buffer:
    return data


def _compress_gzip(data: Buffer, level: int | None) -> bytes:
    deflate = zlib.compressobj(-1 if level is None else level, zlib.DEFLATED, wbits=31)
    return deflate.compress(data) + deflate.flush()


def _compress_snappy(data: Buffer, level: int | None) -> bytes:
    view = memoryview(data)
    parts = [XERIAL_HEADER]
    for start in range(0, len(view), _XERIAL_BLOCK):
        block = bytes(cramjam.snappy.compress_raw(view[start : start + _XERIAL_BLOCK]))
        parts += (_INT32.pack(len(block)), block)
    return b"".join(parts)


def _compress_lz4(data: Buffer, level: int | None) -> bytes:
    # Java's reader refuses blocks that are linked, which is the library's default.
    compressed: bytes = lz4.frame.compress(
        data,
        compression_level=_lz4_level(level),
        block_size=lz4.frame.BLOCKSIZE_MAX64KB,
        block_linked=False,
        store_size=False,
    )
    return compressed


def _lz4_level(level: int | None) -> int:
    """Kafka's level in the library's terms: 9, the default, is Java's fast compressor."""
    if level is None or level == LEVELS[Codec.LZ4].default:
        return _LZ4_FASTEST
    return min(max(level, _LZ4_WEAKEST_HIGH), _LZ4_STRONGEST_HIGH)


def _compress_zstd(data: Buffer, level: int | None) -> bytes:
    return zstd.compress(data, LEVELS[Codec.ZSTD].default if level is None else level)


def _pass(data: memoryview, limit: int) -> memoryview:
    if len(data) > limit:
        raise _too_large(limit)
    return data


def _decompress_gzip(data: memoryview, limit: int) -> bytes:
    parts: list[bytes] = []
    room = limit
    declared = int.from_bytes(data[-4:], "little")
    rest: bytes | memoryview = data
    while rest or not parts:  # a gzip file may be several members, one behind the other
        inflate = zlib.decompressobj(wbits=31)
        try:
            part = inflate.decompress(rest, min(room, declared) + 1)
        except zlib.error as problem:
            raise CorruptRecord(f"damaged gzip payload: {problem}") from None
        if declared < len(part) <= room:
            if _GZIP_MEMBER not in bytes(data[1:]):
                raise CorruptRecord(f"gzip payload of more than {declared} bytes, as its end says")
            declared = _UNDECLARED  # that was said of the last one
            continue
        room -= len(part)
        if room < 0:
            raise _too_large(limit)
        if not inflate.eof:
            raise CorruptRecord("gzip payload cut short")
        parts.append(part)
        if len(parts) > _MOST_MEMBERS:
            raise CorruptRecord(f"gzip payload of more than {_MOST_MEMBERS} members")
        rest = inflate.unused_data
    return parts[0] if len(parts) == 1 else b"".join(parts)


def _decompress_snappy(data: memoryview, limit: int) -> Buffer:
    if data[: len(XERIAL_HEADER) - 8] != XERIAL_HEADER[:-8]:
        return _inflate_snappy(data, limit, limit)  # librdkafka writes one bare block
    if len(data) < len(XERIAL_HEADER):
        raise CorruptRecord("snappy payload cut short")
    parts: list[Buffer] = []
    at, room = len(XERIAL_HEADER), limit
    while at < len(data):
        if at + 4 > len(data):
            raise CorruptRecord("snappy payload cut short")
        (size,) = _INT32.unpack_from(data, at)
        at += 4
        if size < 0 or at + size > len(data):
            raise CorruptRecord(f"snappy block of {size} bytes in {len(data) - at}")
        part = _inflate_snappy(data[at : at + size], room, limit)
        room -= len(part)
        parts.append(part)
        at += size
    return parts[0] if len(parts) == 1 else b"".join(parts)


def _inflate_snappy(block: memoryview, room: int, limit: int) -> bytes:
    try:
        declared = cramjam.snappy.decompress_raw_len(block)
    except cramjam.DecompressionError as problem:
        raise CorruptRecord(f"damaged snappy payload: {problem}") from None
    if declared > room:
        raise _too_large(limit)
    if declared > len(block) * _SNAPPY_GREATEST_RATIO:
        raise CorruptRecord(f"snappy block of {len(block)} bytes claims to hold {declared}")
    try:
        return bytes(cramjam.snappy.decompress_raw(block))
    except cramjam.DecompressionError as problem:
        raise CorruptRecord(f"damaged snappy payload: {problem}") from None


def _decompress_lz4(data: memoryview, limit: int) -> bytes:
    try:
        declared = lz4.frame.get_frame_info(data)["content_size"]
        if declared > limit:
            raise _too_large(limit)
        inflate = lz4.frame.LZ4FrameDecompressor()
        # The library allocates all of it at once.
        most = min(limit, len(data) * _LZ4_GREATEST_RATIO)
        inflated: bytes = inflate.decompress(data, max_length=most + 1)
    except RuntimeError as problem:
        raise CorruptRecord(f"damaged lz4 payload: {problem}") from None
    if len(inflated) > limit:
        raise _too_large(limit)
    if not inflate.eof:
        raise CorruptRecord("lz4 payload cut short")
    return inflated


def _decompress_zstd(data: memoryview, limit: int) -> bytes:
    parts: list[bytes] = []
    room = limit
    rest: bytes | memoryview = data
    while rest or not parts:  # a zstd stream may be several frames, one behind the other
        inflate = zstd.ZstdDecompressor()
        try:
            declared = _declared_by_zstd(rest)
            if declared is None:
                declared = _UNDECLARED
            elif declared > room:
                raise _too_large(limit)
            part = inflate.decompress(rest, min(room, declared) + 1)
        except zstd.ZstdError as problem:
            raise CorruptRecord(f"damaged zstd payload: {problem}") from None
        if len(part) > declared:
            raise CorruptRecord(f"zstd frame of more than {declared} bytes, which it declares")
        room -= len(part)
        if room < 0:
            raise _too_large(limit)
        if not inflate.eof:
            raise CorruptRecord("zstd payload cut short")
        parts.append(part)
        if len(parts) > _MOST_MEMBERS:
            raise CorruptRecord(f"zstd payload of more than {_MOST_MEMBERS} frames")
        rest = inflate.unused_data
    return parts[0] if len(parts) == 1 else b"".join(parts)


def _declared_by_zstd(frame: Buffer) -> int | None:
    return zstd.get_frame_info(frame).decompressed_size


def _too_large(limit: int) -> CorruptRecord:
    return CorruptRecord(f"the batch inflates beyond {limit} bytes (max_decompressed_batch_bytes)")


_COMPRESSORS: Final[dict[Codec, Callable[[Buffer, int | None], Buffer]]] = {
    Codec.NONE: _keep,
    Codec.GZIP: _compress_gzip,
    Codec.SNAPPY: _compress_snappy,
    Codec.LZ4: _compress_lz4,
    Codec.ZSTD: _compress_zstd,
}
_DECOMPRESSORS: Final[dict[Codec, Callable[[memoryview, int], Buffer]]] = {
    Codec.NONE: _pass,
    Codec.GZIP: _decompress_gzip,
    Codec.SNAPPY: _decompress_snappy,
    Codec.LZ4: _decompress_lz4,
    Codec.ZSTD: _decompress_zstd,
}
