from __future__ import annotations

import gzip
import struct
import sys
from types import ModuleType

import cramjam
import lz4.frame
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kafka_aio.errors import CorruptRecord
from kafka_aio.records import _codec_py as twin
from kafka_aio.records.compression import Codec, Compression, compress, decompress
from tests.unit.records.samples import compiled

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

PACKED = [Codec.GZIP, Codec.SNAPPY, Codec.LZ4, Codec.ZSTD]
MUCH = 2**40
ZSTD_BLOCK = 128 * 1024
SLACK = {Codec.GZIP: 0, Codec.SNAPPY: 0, Codec.LZ4: 4 << 20, Codec.ZSTD: ZSTD_BLOCK}
"""What a payload may have beyond the size that is told: a block."""
TEXT = b"".join(b"line %d of a text that repeats itself\n" % (index % 999) for index in range(9000))


def packed(codec: Codec, data: bytes) -> bytes:
    return bytes(memoryview(compress(Compression(codec), data)))


def streamed(data: bytes) -> bytes:
    """zstd that does not say its size, as Java and librdkafka write it."""
    stream = zstd.ZstdCompressor()
    return stream.compress(data) + stream.flush()


def framed(data: bytes, block_size: int = lz4.frame.BLOCKSIZE_MAX4MB, **options: bool) -> bytes:
    """lz4 in large blocks, as Go writes it."""
    frame: bytes = lz4.frame.compress(data, block_size=block_size, **options)
    return frame


@pytest.mark.parametrize("number", [Codec.GZIP, Codec.SNAPPY, Codec.ZSTD])
@pytest.mark.parametrize("size", [1, 255, 256, 257, 65_791, 65_792, 131_072, 300_000])
def test_a_size_that_is_declared_is_told(codec: ModuleType, number: Codec, size: int) -> None:
    assert codec.inflated_size(number, packed(number, TEXT[:size]), MUCH) == size


def test_a_bare_block_of_snappy_says_its_size(codec: ModuleType) -> None:
    block = bytes(cramjam.snappy.compress_raw(TEXT))

    assert codec.inflated_size(Codec.SNAPPY, block, MUCH) == len(TEXT)


@pytest.mark.parametrize("size", [100_000, 300_000])
def test_blocks_are_counted_where_no_size_is_declared(codec: ModuleType, size: int) -> None:
    for number, payload, holds in (
        (Codec.ZSTD, streamed(TEXT[:size]), ZSTD_BLOCK),
        (Codec.LZ4, packed(Codec.LZ4, TEXT[:size]), 65_536),
        (Codec.LZ4, framed(TEXT[:size], block_checksum=True, store_size=True), 4 << 20),
    ):
        assert size - holds < codec.inflated_size(number, payload, MUCH) < size + holds


def test_blocks_that_are_repeated_or_kept_as_they_are_say_what_they_hold(codec: ModuleType) -> None:
    frame = struct.pack("<IBB", 0xFD2FB528, 0, 0x58)
    repeated = (1000 << 3 | 2).to_bytes(3, "little") + b"a"
    kept = (3 << 3 | 1).to_bytes(3, "little") + b"bcd"

    assert codec.inflated_size(Codec.ZSTD, frame + repeated + kept, MUCH) == 1003
    assert codec.inflated_size(Codec.LZ4, framed(bytes(range(256))), MUCH) == 256


def test_frames_of_zstd_are_added_up(codec: ModuleType) -> None:
    passed_over = struct.pack("<II", 0x184D2A53, 3) + b"abc"
    frames = (
        zstd.compress(TEXT) + passed_over + streamed(bytes(2 * ZSTD_BLOCK)) + zstd.compress(b"")
    )

    size = codec.inflated_size(Codec.ZSTD, frames, MUCH)
    assert len(TEXT) + ZSTD_BLOCK <= size <= len(TEXT) + 2 * ZSTD_BLOCK


def test_several_members_of_gzip_are_much(codec: ModuleType) -> None:
    member = gzip.compress(b"a", mtime=0)

    assert codec.inflated_size(Codec.GZIP, gzip.compress(TEXT) + member, MUCH) > MUCH


def test_beyond_what_is_enough_nothing_is_counted(codec: ModuleType) -> None:
    for number in PACKED:
        payload = packed(number, TEXT)
        assert codec.inflated_size(number, payload, 10_000) > 10_000
        assert codec.inflated_size(number, payload, len(payload) - 1) == len(payload)


def test_blocks_without_end_are_much(codec: ModuleType) -> None:
    empty = b"\0\0\0"  # of zstd: kept as it is, and not the last
    header = struct.pack("<IBB", 0xFD2FB528, 0, 0x58)
    one = struct.pack(">i", 1) + bytes(cramjam.snappy.compress_raw(b""))

    assert codec.inflated_size(Codec.ZSTD, header + empty * 20_000, 2**20) > 2**20
    assert codec.inflated_size(Codec.SNAPPY, packed(Codec.SNAPPY, b"") + one * 9_000, 2**20) > 2**20
    assert codec.inflated_size(Codec.LZ4, framed(b"")[:7] + b"\1\0\0\x80a" * 9_000, 2**20) > 2**20


def test_what_is_not_compressed_is_as_large_as_it_is(codec: ModuleType) -> None:
    assert codec.inflated_size(Codec.NONE, b"four", MUCH) == 4
    assert codec.inflated_size(7, b"four", MUCH) == 4


payloads = st.one_of(
    st.tuples(st.sampled_from(PACKED), st.binary(max_size=200), st.integers(0, 3000)).map(
        lambda case: (case[0], packed(case[0], case[1] * case[2]))
    ),
    st.tuples(st.binary(max_size=200), st.integers(0, 3000)).map(
        lambda case: (Codec.ZSTD, streamed(case[0] * case[1]) + streamed(case[0]))
    ),
    st.tuples(st.binary(max_size=200), st.integers(0, 3000), st.booleans()).map(
        lambda case: (Codec.LZ4, framed(case[0] * case[1], block_checksum=case[2]))
    ),
)


@st.composite
def damaged(draw: st.DrawFn) -> tuple[Codec, bytes]:
    codec, payload = draw(payloads)
    data = bytearray(payload)
    for _ in range(draw(st.integers(0, 3))):
        if data:
            data[draw(st.integers(0, min(len(data), 40) - 1))] = draw(st.integers(0, 255))
    return codec, bytes(data[: draw(st.none() | st.integers(0, len(data)))])


@given(case=damaged())
@settings(max_examples=300)
def test_nothing_inflates_to_more_than_is_told_but_for_a_block(case: tuple[Codec, bytes]) -> None:
    number, payload = case
    try:
        size = len(memoryview(decompress(number, payload, 16 << 20)))
    except CorruptRecord:
        return
    told = twin.inflated_size(number, payload, MUCH)

    assert size <= told + SLACK[number]


@pytest.mark.skipif(compiled is None, reason="nothing was compiled")
@given(
    case=damaged() | st.tuples(st.sampled_from(PACKED), st.binary(max_size=60)),
    enough=st.sampled_from([0, 100, 2**19, MUCH, 2**63 - 1]),
)
@settings(max_examples=300)
def test_both_tell_the_same(case: tuple[Codec, bytes], enough: int) -> None:
    assert compiled is not None

    assert compiled.inflated_size(*case, enough) == twin.inflated_size(*case, enough)
