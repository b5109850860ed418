from __future__ import annotations

import contextlib
import gzip
import struct
import sys
import tracemalloc

import cramjam
import lz4.frame
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_aio.errors import ConfigError, CorruptRecord
from kafka_aio.records.compression import (
    LEVELS,
    XERIAL_HEADER,
    Codec,
    Compression,
    compress,
    decompress,
)

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

PACKED = [Codec.GZIP, Codec.SNAPPY, Codec.LZ4, Codec.ZSTD]
TEXT = b"".join(b"line %d of a text that repeats itself\n" % (index % 100) for index in range(5000))
LIMIT = 1 << 20


def packed(codec: Codec, data: bytes, level: int | None = None) -> bytes:
    return bytes(memoryview(compress(Compression(codec, level), data)))


def unpacked(codec: Codec, data: bytes, limit: int = LIMIT) -> bytes:
    return bytes(memoryview(decompress(codec, data, limit)))


@given(st.sampled_from(list(Codec)), st.binary(max_size=5000), st.integers(1, 50))
def test_what_was_compressed_inflates_to_the_same(codec: Codec, data: bytes, times: int) -> None:
    assert unpacked(codec, packed(codec, data * times)) == data * times


@pytest.mark.parametrize("codec", PACKED)
@pytest.mark.parametrize(
    "size", [1, 32 * 1024 - 1, 32 * 1024, 32 * 1024 + 1, 65536, 65537, 200_000]
)
def test_sizes_around_the_borders_of_blocks_come_back(codec: Codec, size: int) -> None:
    data = (TEXT * 2)[:size]

    assert unpacked(codec, packed(codec, data)) == data


# -- levels


@pytest.mark.parametrize(
    ("name", "least", "greatest", "default"),
    [("gzip", 1, 9, -1), ("lz4", 1, 17, 9), ("zstd", -131072, 22, 3)],
)
def test_levels_have_kafka_s_ranges(name: str, least: int, greatest: int, default: int) -> None:
    codec = Codec[name.upper()]

    assert LEVELS[codec] == (least, greatest, default)
    for level in (least, greatest, default):
        assert Compression.checked(name, level) == (codec, level)
        assert unpacked(codec, packed(codec, TEXT, level)) == TEXT
    for level in (least - 1, greatest + 1):
        if level != default:
            with pytest.raises(ConfigError, match=rf"compression.{name}.level {level} is out of"):
                Compression.checked(name, level)


def test_the_default_of_gzip_lies_outside_of_its_range_and_zero_is_no_level() -> None:
    assert Compression.checked("gzip", -1).level == -1
    with pytest.raises(ConfigError, match="1 to 9, -1 by default"):
        Compression.checked("gzip", 0)


@pytest.mark.parametrize("name", ["none", "snappy"])
def test_a_codec_without_levels_takes_none(name: str) -> None:
    assert Compression.checked(name).level is None
    with pytest.raises(ConfigError, match="has no levels; leave the level out"):
        Compression.checked(name, 1)


def test_a_codec_that_kafka_does_not_have_is_refused_by_name() -> None:
    with pytest.raises(ConfigError, match="'brotli' is not one of none, gzip, snappy, lz4, zstd"):
        Compression.checked("brotli")


@pytest.mark.parametrize("codec", [Codec.GZIP, Codec.LZ4, Codec.ZSTD])
def test_no_level_is_the_default_level(codec: Codec) -> None:
    assert packed(codec, TEXT) == packed(codec, TEXT, LEVELS[codec].default)


def test_a_level_changes_what_is_written() -> None:
    for codec, low, high in ((Codec.GZIP, 1, 9), (Codec.ZSTD, -5, 19), (Codec.LZ4, 1, 17)):
        assert len(packed(codec, TEXT, low)) > len(packed(codec, TEXT, high))


def test_level_9_of_lz4_is_the_fast_compressor_and_the_others_are_not() -> None:
    fast = lz4.frame.compress(
        TEXT, compression_level=0, block_linked=False, store_size=False,
        block_size=lz4.frame.BLOCKSIZE_MAX64KB,
    )  # fmt: skip

    assert packed(Codec.LZ4, TEXT, 9) == fast
    for level in (*range(1, 9), *range(10, 18)):
        assert len(packed(Codec.LZ4, TEXT, level)) < len(fast)


# -- what is written


def test_lz4_is_written_in_independent_blocks_without_a_size_or_checksums() -> None:
    frame = packed(Codec.LZ4, TEXT)

    assert frame[:4] == bytes.fromhex("04224d18")
    assert frame[4] == 0b01_1_0_0_0_0_0  # version 1, independent, no checksum, no size
    assert frame[5] == 0x40  # blocks of 64 KiB


def test_snappy_is_written_in_xerial_frames_of_32_kib() -> None:
    frame = packed(Codec.SNAPPY, TEXT)

    assert frame.startswith(b"\x82SNAPPY\x00\x00\x00\x00\x01\x00\x00\x00\x01")
    (size,) = struct.unpack_from(">i", frame, 16)
    assert bytes(cramjam.snappy.decompress_raw(frame[20 : 20 + size])) == TEXT[: 32 * 1024]


def test_gzip_is_written_without_the_time_of_day() -> None:
    frame = packed(Codec.GZIP, TEXT)

    assert frame[:8] == b"\x1f\x8b\x08\x00\x00\x00\x00\x00"
    assert gzip.decompress(frame) == TEXT


def test_zstd_declares_its_size() -> None:
    assert zstd.get_frame_info(packed(Codec.ZSTD, TEXT)).decompressed_size == len(TEXT)


# -- what others write


def test_snappy_in_one_bare_block_is_read_as_librdkafka_writes_it() -> None:
    assert unpacked(Codec.SNAPPY, bytes(cramjam.snappy.compress_raw(TEXT))) == TEXT


def test_lz4_with_linked_blocks_is_read() -> None:
    frame = lz4.frame.compress(
        TEXT, block_linked=True, content_checksum=True, block_checksum=True,
        block_size=lz4.frame.BLOCKSIZE_MAX64KB,
    )  # fmt: skip

    assert not frame[4] & 0x20
    assert unpacked(Codec.LZ4, frame) == TEXT


def test_gzip_in_several_members_is_read() -> None:
    assert (
        unpacked(Codec.GZIP, gzip.compress(b"one", mtime=0) + gzip.compress(b"two", mtime=0))
        == b"onetwo"
    )


def test_zstd_in_several_frames_is_read() -> None:
    skipped = struct.pack("<II", 0x184D2A50, 3) + b"any"
    frames = zstd.compress(b"one") + skipped + zstd.compress(b"two")

    assert unpacked(Codec.ZSTD, frames) == b"onetwo"


def test_zstd_without_a_declared_size_is_read() -> None:
    stream = zstd.ZstdCompressor()
    frame = stream.compress(TEXT) + stream.flush()

    assert zstd.get_frame_info(frame).decompressed_size is None
    assert unpacked(Codec.ZSTD, frame) == TEXT


# -- bounds


def streamed(codec: Codec, size: int) -> bytes:
    """Zeros in a frame that does not tell its size, where the codec can do that."""
    if codec is Codec.ZSTD:
        stream = zstd.ZstdCompressor()
        return stream.compress(bytes(size)) + stream.flush()
    return packed(codec, bytes(size))


@pytest.mark.parametrize("codec", PACKED)
def test_a_bomb_is_refused_at_the_cap_and_takes_no_more_memory(codec: Codec) -> None:
    bomb = streamed(codec, 64 << 20)
    tracemalloc.start()
    with pytest.raises(CorruptRecord, match="inflates beyond 1048576 bytes"):
        decompress(codec, bomb, LIMIT)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()

    assert peak < 4 * LIMIT


def test_a_bomb_of_many_members_is_refused_at_the_cap() -> None:
    for codec, part in (
        (Codec.GZIP, gzip.compress(bytes(LIMIT // 4), mtime=0)),
        (Codec.ZSTD, zstd.compress(bytes(LIMIT // 4))),
    ):
        assert len(unpacked(codec, part * 4)) == LIMIT
        with pytest.raises(CorruptRecord, match="inflates beyond"):
            decompress(codec, part * 5, LIMIT)


def test_a_size_declared_beyond_the_cap_is_refused_before_a_byte_is_inflated() -> None:
    lz4_frame = lz4.frame.compress(bytes(LIMIT + 1), store_size=True)[:20]
    zstd_frame = zstd.compress(bytes(LIMIT + 1))[:12]
    snappy_block = bytes(cramjam.snappy.compress_raw(bytes(LIMIT + 1)))[:8]

    for codec, start in (
        (Codec.LZ4, lz4_frame),
        (Codec.ZSTD, zstd_frame),
        (Codec.SNAPPY, snappy_block),
        (Codec.SNAPPY, XERIAL_HEADER + struct.pack(">i", 8) + snappy_block),
    ):
        with pytest.raises(CorruptRecord, match="inflates beyond"):
            decompress(codec, start, LIMIT)


def test_snappy_that_claims_more_than_its_bytes_can_hold_takes_no_memory() -> None:
    lie = b"\xff\xff\xff\x07" + b"\x00a"  # 16,777,215 bytes, and then one
    tracemalloc.start()
    with pytest.raises(CorruptRecord, match="6 bytes claims to hold 16777215"):
        decompress(Codec.SNAPPY, lie, 128 << 20)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()

    assert peak < 100_000


@pytest.mark.parametrize("codec", PACKED)
def test_memory_follows_the_bytes_received_and_not_the_cap(codec: Codec) -> None:
    frame = packed(codec, b"short")
    tracemalloc.start()
    decompress(codec, frame, 128 << 20)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()

    assert peak < 300_000


@pytest.mark.parametrize(
    ("codec", "member"),
    [(Codec.GZIP, gzip.compress(b"", mtime=0)), (Codec.ZSTD, struct.pack("<II", 0x184D2A50, 0))],
)
def test_empty_members_without_end_are_refused(codec: Codec, member: bytes) -> None:
    # Each costs a copy of all that follow it: a megabyte of them would take minutes.
    with pytest.raises(CorruptRecord, match="more than 64"):
        decompress(codec, member * 50_000, LIMIT)


@pytest.mark.parametrize("codec", [*PACKED])
def test_the_cap_itself_is_allowed_and_one_byte_more_is_not(codec: Codec) -> None:
    assert len(unpacked(codec, packed(codec, bytes(1000)), 1000)) == 1000
    with pytest.raises(CorruptRecord, match="inflates beyond 1000 bytes"):
        decompress(codec, packed(codec, bytes(1001)), 1000)


def test_no_codec_is_bounded_too() -> None:
    with pytest.raises(CorruptRecord, match="inflates beyond 3 bytes"):
        decompress(Codec.NONE, b"four", 3)


def test_what_inflates_to_more_than_it_declares_is_refused_there() -> None:
    # Who inflates it on the loop goes by what is declared.
    bomb = bytes(16 << 20)
    gzip_lie = gzip.compress(bomb, mtime=0)[:-4] + struct.pack("<I", 100_000)
    # With a window that is smaller than what it declares, the library looks at the end only.
    zstd_lie = bytearray(zstd.compress(bomb, options={zstd.CompressionParameter.window_log: 15}))
    zstd_lie[6:10] = struct.pack("<I", 100_000)
    for codec, lie in ((Codec.GZIP, gzip_lie), (Codec.ZSTD, bytes(zstd_lie))):
        tracemalloc.start()
        with pytest.raises(CorruptRecord, match="of more than 100000 bytes"):
            decompress(codec, lie, 128 << 20)
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()

        assert peak < 500_000


def test_a_short_member_of_gzip_may_follow_a_long_one() -> None:
    members = gzip.compress(TEXT, mtime=0) + gzip.compress(b"a", mtime=0)

    assert unpacked(Codec.GZIP, members) == TEXT + b"a"


# -- damage


@pytest.mark.parametrize("codec", PACKED)
def test_a_payload_cut_short_at_any_byte_is_refused(codec: Codec) -> None:
    frame = packed(codec, TEXT[:300])

    for size in range(len(frame)):
        if codec is Codec.SNAPPY and size == len(XERIAL_HEADER):
            continue  # no block at all is what an empty payload looks like
        with pytest.raises(CorruptRecord):
            decompress(codec, frame[:size], LIMIT)


@pytest.mark.parametrize("codec", PACKED)
@given(data=st.binary(max_size=200))
def test_any_bytes_inflate_or_are_refused(codec: Codec, data: bytes) -> None:
    start = packed(codec, b"some text")[:12]
    for payload in (data, start + data):
        with contextlib.suppress(CorruptRecord):
            assert len(unpacked(codec, payload, 5000)) <= 5000


@pytest.mark.parametrize("size", [-1, -(2**31), 5, 2**31 - 1])
def test_a_snappy_block_that_runs_past_the_payload_is_refused(size: int) -> None:
    with pytest.raises(CorruptRecord, match=f"snappy block of {size} bytes in 4"):
        decompress(Codec.SNAPPY, XERIAL_HEADER + struct.pack(">i", size) + b"abcd", LIMIT)


def test_bytes_behind_a_gzip_member_are_refused() -> None:
    with pytest.raises(CorruptRecord, match="gzip"):
        decompress(Codec.GZIP, gzip.compress(b"one", mtime=0) + b"two", LIMIT)
