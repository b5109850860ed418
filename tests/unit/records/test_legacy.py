from __future__ import annotations

import gzip
from types import ModuleType
from typing import Any

import lz4.frame
import pytest

from kafka_aio.errors import CorruptRecord
from kafka_aio.records.compression import Codec, Compression, compress
from kafka_aio.records.legacy import xxh32_of_short
from kafka_aio.types import TimestampType
from tests.unit.records.samples import NOW, message, offsets_of, values_of

PACKED = [Codec.GZIP, Codec.SNAPPY, Codec.LZ4]


def wrapper(
    offset: int,
    *messages: bytes,
    codec: Codec = Codec.GZIP,
    magic: int = 1,
    attributes: int = 0,
    **fields: Any,
) -> bytes:
    payload = bytes(memoryview(compress(Compression(codec), b"".join(messages))))
    return message(offset, None, payload, magic, attributes | codec, **fields)


def failure(codec: ModuleType, data: bytes, **options: Any) -> CorruptRecord:
    with pytest.raises(CorruptRecord) as caught:
        codec.RecordReader(data, "old", 1, **options).read()
    return caught.value


@pytest.mark.parametrize("number", PACKED)
def test_a_wrapper_of_format_1_counts_from_its_last_message(
    codec: ModuleType, number: Codec
) -> None:
    inner = [message(index, None, b"%d" % index) for index in (0, 1, 2)]
    reader = codec.RecordReader(wrapper(102, *inner, codec=number))

    assert offsets_of(reader.read()) == [100, 101, 102]
    assert reader.next_offset == 103


def test_a_wrapper_of_format_1_with_gaps_after_compaction_counts_right(codec: ModuleType) -> None:
    reader = codec.RecordReader(wrapper(109, message(3), message(7), message(9)))

    assert offsets_of(reader.read()) == [103, 107, 109]


@pytest.mark.parametrize("number", [Codec.GZIP, Codec.SNAPPY])
def test_a_wrapper_of_format_0_has_messages_with_their_own_offsets(
    codec: ModuleType, number: Codec
) -> None:
    inner = [message(index, magic=0) for index in (100, 105)]
    reader = codec.RecordReader(wrapper(105, *inner, codec=number, magic=0))

    assert offsets_of(reader.read()) == [100, 105]


@pytest.mark.parametrize("options", [{}, {"store_size": True}, {"content_checksum": True}])
def test_lz4_of_format_0_is_read_whatever_its_header_checksum_says(
    codec: ModuleType, options: dict[str, bool]
) -> None:
    frame = bytearray(lz4.frame.compress(message(5, magic=0), **{"store_size": False, **options}))
    at = 14 if options.get("store_size") else 6
    for checksum in (frame[at], frame[at] ^ 0xFF):  # right, and wrong as in KAFKA-3160
        frame[at] = checksum
        reader = codec.RecordReader(message(5, None, bytes(frame), 0, Codec.LZ4))
        assert offsets_of(reader.read()) == [5]


def test_lz4_of_format_1_must_have_the_right_header_checksum(codec: ModuleType) -> None:
    frame = bytearray(lz4.frame.compress(message(0), store_size=False))
    frame[6] ^= 0xFF

    assert "lz4" in failure(codec, message(5, None, bytes(frame), 1, Codec.LZ4)).reason


@pytest.mark.parametrize("size", range(7))
def test_lz4_of_format_0_cut_short_is_refused(codec: ModuleType, size: int) -> None:
    frame = lz4.frame.compress(message(0))[:size]

    assert failure(codec, message(5, None, frame, 0, Codec.LZ4)).reason == "lz4 payload cut short"


@pytest.mark.parametrize(
    ("data", "digest"),
    [(b"", 0x02CC5D05), (b"a", 0x550D7456), (b"abc", 0x32D153FF), (b"0123456789", 0x950C9C0A)],
)
def test_the_hash_of_a_frame_header_is_xxhash(data: bytes, digest: int) -> None:
    assert xxh32_of_short(data) == digest


def test_the_broker_s_time_of_a_wrapper_is_that_of_its_messages(codec: ModuleType) -> None:
    inner = [message(0, timestamp=1), message(1, timestamp=2)]
    records = codec.RecordReader(wrapper(1, *inner, attributes=8, timestamp=NOW + 5)).read()

    assert {(item.timestamp, item.timestamp_type) for item in records} == {
        (NOW + 5, TimestampType.LOG_APPEND_TIME)
    }


def test_the_kind_of_time_of_a_wrapper_is_that_of_its_messages(codec: ModuleType) -> None:
    inner = message(0, timestamp=1, attributes=8)
    (only,) = codec.RecordReader(wrapper(0, inner, timestamp=NOW)).read()

    assert (only.timestamp, only.timestamp_type) == (1, TimestampType.CREATE_TIME)


def test_messages_of_a_wrapper_before_the_start_are_left_out(codec: ModuleType) -> None:
    data = wrapper(102, *(message(index) for index in range(3)))

    for start in range(99, 105):
        reader = codec.RecordReader(data, start_offset=start)
        assert offsets_of(reader.read()) == [n for n in (100, 101, 102) if n >= start]
        assert reader.next_offset == max(103, start)
        columns = codec.RecordReader(data, start_offset=start).columns(headers=True)
        assert columns.rows == len([n for n in (100, 101, 102) if n >= start])


def test_a_wrapper_is_read_in_pieces(codec: ModuleType) -> None:
    data = wrapper(2, *(message(index, None, b"%d" % index) for index in range(3))) + message(3)
    reader = codec.RecordReader(data)

    assert values_of(reader.read(2)) == [b"0", b"1"]
    assert reader.next_offset == 2
    assert reader.columns(1).rows == 1
    assert values_of(reader.read()) == [b"value"]
    assert reader.is_done


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (message(5, crc=1), "the checksum (CRC-32) does not match"),
        (wrapper(5, message(0), crc=1), "the checksum (CRC-32) does not match"),
        (wrapper(5, message(0, crc=1)), "the checksum (CRC-32) does not match"),
        (wrapper(5, message(0, magic=0)), "a message inside of another has its own format"),
        (wrapper(5, wrapper(0, message(0))), "a message inside of another has its own format"),
        (wrapper(5), "a compressed message without messages"),
        (message(5, None, None, 1, Codec.GZIP), "a compressed message without a value"),
        (message(5, None, b"x", 1, Codec.ZSTD), "unknown codec 4"),
        (message(5, None, b"x", 1, 7), "unknown codec 7"),
        (message(5, None, b"no gzip at all", 1, Codec.GZIP), "damaged gzip payload"),
        (message(5, None, gzip.compress(message(0)[:-1], mtime=0), 1, 1), "a message is cut short"),
        (message(5, None, gzip.compress(b"x", mtime=0), 1, 1), "a message is cut short"),
        (wrapper(5, message(1), message(0)), "the offset of a message is out of order"),
        (wrapper(5, message(0), message(0)), "the offset of a message is out of order"),
        (wrapper(1, message(0), message(2)), "the offset of a message is out of order"),
        (wrapper(5, message(9, magic=0), magic=0), "the offset of a message is out of order"),
        (wrapper(5, message(-1, magic=0), magic=0), "the offset of a message is out of order"),
    ],
)
def test_a_damaged_message_says_what_is_wrong(codec: ModuleType, data: bytes, reason: str) -> None:
    error = failure(codec, data)

    assert reason in error.reason
    assert (error.topic, error.partition) == ("old", 1)
    assert error.next_offset == error.offset + 1


def test_a_message_without_its_checksum_checked_is_read(codec: ModuleType) -> None:
    data = wrapper(5, message(0, crc=1), crc=2)

    assert offsets_of(codec.RecordReader(data, check_crcs=False).read()) == [5]


@pytest.mark.parametrize(
    ("at", "number"), [(26, -2), (26, 100), (26, 2**31 - 1), (30, -2), (30, 6), (30, 4)]
)
def test_a_length_inside_of_a_message_that_does_not_fit_is_refused(
    codec: ModuleType, at: int, number: int
) -> None:
    data = bytearray(message(5))  # null key at 26, value at 30
    data[at : at + 4] = number.to_bytes(4, "big", signed=True)

    assert "length of a" in failure(codec, bytes(data), check_crcs=False).reason


@pytest.mark.parametrize("size", [14, 15, 17, 18, 21])
def test_a_message_shorter_than_its_fields_is_refused(codec: ModuleType, size: int) -> None:
    data = bytearray(message(5)[: 12 + size])
    data[8:12] = size.to_bytes(4, "big")

    assert failure(codec, bytes(data), check_crcs=False).reason == "a message is cut short"


def test_good_messages_before_the_damage_come_first(codec: ModuleType) -> None:
    reader = codec.RecordReader(message(0) + message(1, crc=1))

    assert offsets_of(reader.read()) == [0]
    for _ in range(2):
        with pytest.raises(CorruptRecord) as caught:
            reader.read()
        assert (caught.value.offset, caught.value.next_offset) == (1, 2)


def test_a_wrapper_that_inflates_beyond_the_cap_is_refused(codec: ModuleType) -> None:
    data = wrapper(0, message(0, None, bytes(100_000)))

    assert "inflates beyond 1000 bytes" in failure(codec, data, max_inflated=1000).reason
