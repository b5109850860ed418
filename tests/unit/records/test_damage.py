from __future__ import annotations

import struct
from types import ModuleType
from typing import Any

import pytest

from kafka_aio.errors import CorruptRecord
from kafka_aio.records.compression import Codec
from kafka_aio.types import TimestampType
from tests.unit.records.samples import (
    CONTROL,
    Failure,
    batch,
    good_batch,
    message,
    offsets_of,
    record,
    span,
    summed,
    varint,
)

GREATEST = 2**63 - 1


def failure(codec: ModuleType, data: bytes, **options: Any) -> Failure:
    """What is wrong with some bytes: the same in records and columns, and each time anew."""
    reader = codec.RecordReader(data, "orders", 3, **options)
    in_columns = codec.RecordReader(data, "orders", 3, **options)
    failures = set()
    for read in (reader.read, reader.columns, reader.read, reader.open_batch, in_columns.columns):
        try:
            read()
        except CorruptRecord as error:
            failures.add(Failure.of(error))
    assert len(failures) == 1
    return failures.pop()


def drain(reader: Any, seen: list[Any]) -> None:
    while not reader.is_done:
        seen += reader.read(1)


def test_a_checksum_off_by_one_names_the_place_and_the_way_past_it(codec: ModuleType) -> None:
    sound = good_batch(40, 5)
    crc = struct.unpack_from(">I", sound, 17)[0]
    broken = good_batch(40, 5, crc=crc ^ 1)
    error = failure(codec, broken)

    assert error == Failure("the checksum (CRC-32C) does not match", "orders", 3, 40, 45)


def test_what_to_do_is_in_the_message(codec: ModuleType) -> None:
    with pytest.raises(CorruptRecord) as caught:
        codec.RecordReader(good_batch(40, 5, crc=1), "orders", 3).read()

    assert str(caught.value) == (
        "orders-3 at offset 40: the checksum (CRC-32C) does not match; seek to 45 to skip it"
    )


def test_a_checksum_is_not_looked_at_where_the_check_is_off(codec: ModuleType) -> None:
    reader = codec.RecordReader(good_batch(40, 5, crc=1), check_crcs=False)

    assert len(reader.read()) == 5


def test_good_records_before_the_damage_come_first(codec: ModuleType) -> None:
    reader = codec.RecordReader(good_batch(0) + good_batch(3, crc=1) + good_batch(6), "t", 0)

    assert offsets_of(reader.read()) == [0, 1, 2]
    for _ in range(3):
        with pytest.raises(CorruptRecord) as caught:
            reader.read()
        assert (caught.value.offset, caught.value.next_offset) == (3, 6)
    with pytest.raises(CorruptRecord):
        reader.columns()
    assert (reader.next_offset, reader.is_done) == (3, False)


def test_good_rows_before_the_damage_come_first(codec: ModuleType) -> None:
    reader = codec.RecordReader(good_batch(0) + good_batch(3, crc=1))

    assert reader.columns().rows == 3
    with pytest.raises(CorruptRecord):
        reader.columns()
    assert reader.next_offset == 3


def test_good_records_of_the_damaged_batch_come_first(codec: ModuleType) -> None:
    data = batch(record(0), record(1), varint(5) + b"\0\0\4\1", base_offset=10)
    reader = codec.RecordReader(data)

    assert offsets_of(reader.read()) == [10, 11]
    with pytest.raises(CorruptRecord) as caught:
        reader.read()
    assert (caught.value.offset, caught.value.next_offset) == (12, 13)
    assert reader.next_offset == 12


def test_a_reader_that_starts_behind_the_damage_reads_on(codec: ModuleType) -> None:
    data = good_batch(0) + good_batch(3, crc=1) + good_batch(6)
    reader = codec.RecordReader(data, start_offset=6)

    assert offsets_of(reader.read()) == [6, 7, 8]


@pytest.mark.parametrize("count", [4, 5, 7, 1000, 2**31 - 1])
def test_a_count_too_high_is_an_error(codec: ModuleType, count: int) -> None:
    data = good_batch(0, 3, count=count, last_delta=2**31 - 1)
    reader = codec.RecordReader(data)
    seen: list[Any] = []
    with pytest.raises(CorruptRecord, match=r"record count|cut short"):
        drain(reader, seen)

    assert offsets_of(seen) in ([], [0, 1, 2])
    assert reader.next_offset in (-1, 3)


@pytest.mark.parametrize("count", [0, 1, 2])
def test_a_count_too_low_is_an_error(codec: ModuleType, count: int) -> None:
    reader = codec.RecordReader(good_batch(0, 3, count=count))
    seen: list[Any] = []
    with pytest.raises(CorruptRecord, match="bytes after the last record"):
        drain(reader, seen)

    assert offsets_of(seen) == list(range(count))


@pytest.mark.parametrize("count", [-1, -(2**31)])
def test_a_negative_count_is_an_error(codec: ModuleType, count: int) -> None:
    error = failure(codec, good_batch(0, 3, count=count))

    assert error == Failure(f"record count {count}", "orders", 3, 0, 3)


@pytest.mark.parametrize("length", [-1, 0, 13, -(2**31)])
def test_a_length_that_no_format_has_is_an_error(codec: ModuleType, length: int) -> None:
    error = failure(codec, good_batch(9, 3, length=length))

    assert error == Failure(f"batch length {length}", "orders", 3, 9, -1)


@pytest.mark.parametrize("length", [14, 30, 48])
def test_a_length_shorter_than_the_header_is_an_error(codec: ModuleType, length: int) -> None:
    error = failure(codec, good_batch(9, 3, length=length))

    assert error == Failure(f"batch length {length}", "orders", 3, 9, -1)


def test_a_length_beyond_the_bytes_is_a_batch_cut_off(codec: ModuleType) -> None:
    reader = codec.RecordReader(good_batch(9, 3, length=2**31 - 1))

    assert reader.read() == []
    assert reader.is_incomplete


@pytest.mark.parametrize("magic", [3, 9, 127, -1])
def test_a_format_of_the_future_is_an_error(codec: ModuleType, magic: int) -> None:
    error = failure(codec, good_batch(9, 3, magic=magic))

    assert error == Failure(f"unknown record format {magic}", "orders", 3, 9, -1)


@pytest.mark.parametrize("number", [5, 6, 7])
def test_a_codec_that_kafka_does_not_have_is_an_error(codec: ModuleType, number: int) -> None:
    error = failure(codec, good_batch(9, 3, attributes=number))

    assert error == Failure(f"unknown codec {number}", "orders", 3, 9, 12)


@pytest.mark.parametrize("offset", [-1, -(2**63)])
def test_a_negative_base_offset_is_an_error(codec: ModuleType, offset: int) -> None:
    assert failure(codec, good_batch(offset)).reason == f"base offset {offset}"
    assert failure(codec, message(offset)).reason == f"base offset {offset}"


@pytest.mark.parametrize("delta", [-1, -(2**31)])
def test_a_negative_last_offset_delta_is_an_error(codec: ModuleType, delta: int) -> None:
    assert failure(codec, good_batch(7, last_delta=delta)).reason == f"last offset delta {delta}"


@pytest.mark.parametrize("base", [GREATEST, GREATEST - 1, GREATEST - 2])
def test_offsets_that_overflow_are_an_error(codec: ModuleType, base: int) -> None:
    assert failure(codec, good_batch(base)) == Failure("last offset delta 2", "orders", 3, base, -1)


def test_the_greatest_offset_that_leaves_room_for_a_next_one_is_read(codec: ModuleType) -> None:
    reader = codec.RecordReader(good_batch(GREATEST - 3))

    assert offsets_of(reader.read()) == [GREATEST - 3, GREATEST - 2, GREATEST - 1]
    assert reader.next_offset == GREATEST


def test_an_old_message_without_room_for_a_next_offset_is_an_error(codec: ModuleType) -> None:
    assert failure(codec, message(GREATEST)).reason == f"base offset {GREATEST}"
    reader = codec.RecordReader(message(GREATEST - 1))
    assert offsets_of(reader.read()) == [GREATEST - 1]
    assert reader.next_offset == GREATEST


@pytest.mark.parametrize("deltas", [(0, 0), (1, 0), (0, 3), (-1, 0), (0, -(2**31)), (0, 2**31 - 1)])
def test_an_offset_out_of_order_or_outside_of_the_batch_is_an_error(
    codec: ModuleType, deltas: tuple[int, int]
) -> None:
    reader = codec.RecordReader(batch(*map(record, deltas), last_delta=2), start_offset=0)
    seen: list[Any] = []
    with pytest.raises(CorruptRecord, match="offset of a record is out of order"):
        drain(reader, seen)

    assert len(seen) < 2


def wrapped(body: bytes) -> bytes:
    return varint(len(body)) + body


START = b"\0\0\0"  # attributes, timestamp delta, offset delta
NULLS = b"\1\1"


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"\x80" * 7, "a number has too many bytes"),
        (varint(-1) + bytes(7), "the length of a record runs past its batch"),
        (varint(2**31 - 1) + bytes(7), "the length of a record runs past its batch"),
        (varint(9) + bytes(7), "the length of a record runs past its batch"),
        (varint(0) + bytes(7), "a record is cut short"),
        (wrapped(b"\0\x80\x80") + bytes(7), "a record is cut short"),
        (wrapped(b"\0" + b"\x80" * 10 + b"\0"), "a number has too many bytes"),
        (wrapped(START + varint(-2) + bytes(7)), "the length of a key runs past its record"),
        (wrapped(START + varint(9) + bytes(7)), "the length of a key runs past its record"),
        (wrapped(START + b"\1" + varint(-2) + b"0123"), "the length of a value runs past"),
        (wrapped(START + b"\1" + varint(5) + b"0123"), "the length of a value runs past"),
        (wrapped(START + NULLS + varint(-1)) + bytes(7), "the count of headers does not fit"),
        (wrapped(START + NULLS + varint(2**31 - 1)), "the count of headers does not fit"),
        (wrapped(START + NULLS + varint(3) + bytes(5)), "the count of headers does not fit"),
        (wrapped(START + NULLS + varint(1) + varint(-1) + b"0"), "a header's key runs past"),
        (wrapped(START + NULLS + varint(1) + varint(9) + b"0"), "a header's key runs past"),
        (wrapped(START + NULLS + varint(1) + b"\0" + varint(-2)), "a header's value runs past"),
        (wrapped(START + NULLS + varint(1) + b"\0" + varint(1)), "a header's value runs past"),
        (wrapped(START + NULLS + varint(1) + b"\2a"), "a record is cut short"),
        (wrapped(START + NULLS + b"\0\0"), "the length of a record is not that of its fields"),
    ],
)
def test_a_damaged_record_says_what_is_wrong(
    codec: ModuleType, content: bytes, reason: str
) -> None:
    error = failure(codec, batch(content, base_offset=50))

    assert reason in error.reason
    assert (error.offset, error.next_offset) == (50, 51)


@pytest.mark.parametrize("count", [2**20, 2**24, 2**31 - 1])
def test_headers_promised_and_not_sent_take_no_memory(codec: ModuleType, count: int) -> None:
    error = failure(codec, batch(record(headers=[(b"k", b"v")], header_count=count)))

    assert error.reason == "the count of headers does not fit its record"


def test_a_length_of_five_bytes_with_more_bits_than_a_number_has_is_cut_to_32(
    codec: ModuleType,
) -> None:
    body = START + NULLS + b"\0"
    length = bytes([len(body) << 1 | 0x80, 0x80, 0x80, 0x80, 0x70])  # bits beyond the 32nd
    reader = codec.RecordReader(batch(length + body))

    assert offsets_of(reader.read()) == [0]


def test_bytes_behind_a_batch_without_records_are_an_error(codec: ModuleType) -> None:
    error = failure(codec, batch(span(b"left over"), count=0, last_delta=4))

    assert error == Failure("bytes after the last record of the batch", "orders", 3, 0, 5)


def test_damage_among_control_records_asked_for_is_an_error(codec: ModuleType) -> None:
    data = batch(wrapped(START), base_offset=5, attributes=CONTROL)

    assert failure(codec, data, control_records=True).offset == 5


@pytest.mark.parametrize("number", [Codec.GZIP, Codec.SNAPPY, Codec.LZ4, Codec.ZSTD])
def test_a_compressed_payload_cut_short_is_an_error(codec: ModuleType, number: Codec) -> None:
    whole = good_batch(0, 30, codec=number)
    for size in range(61, len(whole) - 1):
        cut = bytearray(whole[:size])
        struct.pack_into(">i", cut, 8, size - 12)
        error = failure(codec, summed(bytes(cut)))
        assert (error.offset, error.next_offset) == (0, 30)


@pytest.mark.parametrize("number", [Codec.GZIP, Codec.SNAPPY, Codec.LZ4, Codec.ZSTD])
def test_a_batch_that_inflates_beyond_the_cap_is_an_error(codec: ModuleType, number: Codec) -> None:
    data = batch(record(value=bytes(100_000)), codec=number, base_offset=8)
    error = failure(codec, data, max_inflated=50_000)

    assert error.reason == "the batch inflates beyond 50000 bytes (max_decompressed_batch_bytes)"
    assert (error.offset, error.next_offset) == (8, 9)


@pytest.mark.parametrize("number", list(Codec))
def test_the_cap_is_the_greatest_size_that_is_read(codec: ModuleType, number: Codec) -> None:
    content = record(value=bytes(1000))
    data = batch(content, codec=number)

    assert len(codec.RecordReader(data, max_inflated=len(content)).read()) == 1


def test_the_kind_of_an_old_time_is_kept(codec: ModuleType) -> None:
    (only,) = codec.RecordReader(message(0, magic=0)).read()

    assert (only.timestamp, only.timestamp_type) == (-1, TimestampType.NO_TIMESTAMP)
