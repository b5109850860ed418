"""What compressed payloads inflate to, by their headers alone: nothing is inflated. Pure.

Some writers say it. Otherwise blocks are counted, as large as they may be; but for the last one,
which is guessed at, as the batches of many writers are one block that is far from full. So a
payload may inflate to more by one block at most: 128 KiB of zstd, of lz4 up to 4 MiB.

Beyond `enough` nothing is counted, nor are blocks without end: that is much. What is damaged is of
any size, and soon refused. `_sizes.h` does the same.
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, Final

from kafka_aio.records.compression import XERIAL_HEADER, Codec

if TYPE_CHECKING:
    from typing_extensions import Buffer

_UNKNOWN: Final = 2**60
"""A size that nobody has said: much."""
_MOST_MEMBERS: Final = 64
_MOST_BLOCKS: Final = 64
_LEAST_LAST_BLOCK: Final = 4 * 1024
_USUAL_RATIO: Final = 8
_BLOCK: Final = struct.Struct(">I")
_GZIP_MEMBER: Final = b"\x1f\x8b\x08"
_LZ4_LEAST: Final = 7
_LZ4_GREATEST_RATIO: Final = 255
_ZSTD_LEAST: Final = 9
_ZSTD_MAGIC: Final = 0xFD2FB528
_ZSTD_SKIPPABLE: Final = 0x184D2A50
_ZSTD_REPEATED, _ZSTD_COMPRESSED = 1, 2
_ZSTD_BLOCK_HOLDS: Final = 128 * 1024


def inflated_size(codec: int, data: Buffer, enough: int) -> int:
    """About how many bytes a payload of that codec inflates to; not counted beyond `enough`."""
    held = memoryview(data).cast("B")
    if len(held) > enough:
        return len(held)
    match codec:
        case Codec.GZIP:
            return _of_gzip(held)
        case Codec.SNAPPY:
            return _of_snappy(held, enough)
        case Codec.LZ4:
            return _of_lz4(held, enough)
        case Codec.ZSTD:
            return _of_zstd(held, enough)
        case _:
            return len(held)


def _of_gzip(data: memoryview) -> int:
    """The last member says at its end what it holds. Others may be before it."""
    if _GZIP_MEMBER in bytes(data[1:]):
        return _UNKNOWN
    return _little(data, len(data) - 4, 4) if len(data) > 4 else 0


def _of_snappy(data: memoryview, enough: int) -> int:
    if data[:8] != XERIAL_HEADER[:8]:
        return _declared_by_snappy(data)
    at, total = len(XERIAL_HEADER), 0
    for _ in range(_MOST_BLOCKS):
        if at + 4 > len(data) or total > enough:
            return total
        (size,) = _BLOCK.unpack_from(data, at)
        if size >= 2**31:
            return total
        at += 4
        total += _declared_by_snappy(data[at : at + size])
        at += size
    return _UNKNOWN


def _declared_by_snappy(block: memoryview) -> int:
    """What a block says at its start, seven bits a byte, the lowest first."""
    number = 0
    for index, byte in enumerate(block[:5]):
        number |= (byte & 0x7F) << 7 * index
        if not byte & 0x80:
            return number
    return 0


def _of_lz4(data: memoryview, enough: int) -> int:
    if len(data) < _LZ4_LEAST:
        return 0
    flags, holds = data[4], 1 << 8 + 2 * (data[5] >> 4 & 7)
    at = _LZ4_LEAST + (flags & 0x08) + 4 * (flags & 0x01)
    total = last = 0
    for _ in range(_MOST_BLOCKS):
        if at + 4 > len(data) or total > enough:
            return total + min(holds, last * _LZ4_GREATEST_RATIO)
        size = _little(data, at, 4)
        if not size:
            return total + _last_block(last, holds)
        total += min(holds, last * _LZ4_GREATEST_RATIO)
        last, kept = (0, size & 0x7FFFFFFF) if size >> 31 else (size, 0)
        total += kept
        at += 4 + last + kept + (flags & 0x10) // 4
    return _UNKNOWN


def _of_zstd(data: memoryview, enough: int) -> int:
    at = total = 0
    for _ in range(_MOST_MEMBERS):
        if at + _ZSTD_LEAST > len(data) or total > enough:
            break
        magic = _little(data, at, 4)
        if magic == _ZSTD_MAGIC:
            size, at = _of_zstd_frame(data, at)
            total += size
        elif magic & ~0xF == _ZSTD_SKIPPABLE:
            at += 8 + _little(data, at + 4, 4)
        else:
            break
    return min(total, _UNKNOWN)


def _of_zstd_frame(data: memoryview, at: int) -> tuple[int, int]:
    """What a frame inflates to, and where it ends."""
    flags = data[at + 4]
    is_single = flags >> 5 & 1
    width = (is_single, 2, 4, 8)[flags >> 6]
    at += 6 - is_single + (0, 1, 2, 4)[flags & 3]
    declared = _little(data, at, width) + (256 if width == 2 else 0)
    at += width
    total = last = 0
    for _ in range(_MOST_BLOCKS):
        if at + 3 > len(data):
            return total + _ZSTD_BLOCK_HOLDS, len(data)
        block = _little(data, at, 3)
        kind, size = block >> 1 & 3, block >> 3
        at += 3 + (1 if kind == _ZSTD_REPEATED else size)
        total += _ZSTD_BLOCK_HOLDS if last else 0
        last, kept = (size, 0) if kind == _ZSTD_COMPRESSED else (0, size)
        total += kept
        if block & 1:
            size = declared if width else total + _last_block(last, _ZSTD_BLOCK_HOLDS)
            return min(size, _UNKNOWN), at + (flags & 0x04)
    return _UNKNOWN, len(data)


def _last_block(size: int, holds: int) -> int:
    """About what a block inflates to that need not be full."""
    return min(holds, max(_LEAST_LAST_BLOCK, size * _USUAL_RATIO)) if size else 0


def _little(data: memoryview, at: int, width: int) -> int:
    return int.from_bytes(data[at : at + width], "little")
