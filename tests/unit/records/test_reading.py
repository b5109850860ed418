from __future__ import annotations

import gzip
import threading
from types import ModuleType
from typing import Any

import pytest

from kafka_aio.errors import CorruptRecord
from kafka_aio.records.compression import Codec
from kafka_aio.types import TimestampType
from tests.unit.records.samples import (
    CONTROL,
    DELETE_HORIZON,
    LOG_APPEND_TIME,
    NOW,
    TRANSACTIONAL,
    batch,
    fields_of,
    good_batch,
    marker,
    message,
    offsets_of,
    plain,
    record,
    values_of,
)


def test_no_bytes_are_no_records(codec: ModuleType) -> None:
    reader = codec.RecordReader(b"")

    assert reader.read() == []
    assert reader.columns().rows == 0
    assert (reader.next_offset, reader.is_done, reader.is_incomplete) == (-1, True, False)


def test_null_and_empty_are_told_apart(codec: ModuleType) -> None:
    data = batch(
        record(0, None, None), record(1, b"", b""), record(2, None, b"v"), record(3, b"k", None)
    )
    records = codec.RecordReader(data).read()

    assert [(item.key, item.value) for item in records] == [
        (None, None),
        (b"", b""),
        (None, b"v"),
        (b"k", None),
    ]


def test_headers_keep_their_order_repeated_keys_and_null_values(codec: ModuleType) -> None:
    pairs = [(b"b", b"1"), (b"a", None), (b"b", b""), (b"", b"x"), ("grün".encode(), b"2")]
    (only,) = codec.RecordReader(batch(record(headers=pairs))).read()

    expected = (("b", b"1"), ("a", None), ("b", b""), ("", b"x"), ("grün", b"2"))
    assert only.headers == expected


def test_a_header_key_that_is_not_utf8_is_read_with_replacements(codec: ModuleType) -> None:
    data = batch(record(headers=[(b"a\xffb\xed\xa0\x80", b"1")]))
    (only,) = codec.RecordReader(data).read()
    columns = codec.RecordReader(data).columns(headers=True)

    text = "a\ufffdb\ufffd\ufffd\ufffd"
    assert only.headers == ((text, b"1"),)
    assert plain(columns.headers.keys)[1] == text.encode()


def test_the_producer_s_time_is_base_and_delta(codec: ModuleType) -> None:
    data = batch(record(0, time_delta=5), record(1, time_delta=-(2**40)))
    records = codec.RecordReader(data).read()

    assert [item.timestamp for item in records] == [NOW + 5, NOW - 2**40]
    assert {item.timestamp_type for item in records} == {TimestampType.CREATE_TIME}


def test_the_broker_s_time_replaces_that_of_all_records(codec: ModuleType) -> None:
    data = batch(
        record(0, time_delta=5),
        record(1),
        attributes=LOG_APPEND_TIME,
        max_timestamp=NOW + 777,
    )
    records = codec.RecordReader(data).read()

    assert {(item.timestamp, item.timestamp_type) for item in records} == {
        (NOW + 777, TimestampType.LOG_APPEND_TIME)
    }


def test_times_beyond_what_microseconds_can_say_end_at_the_greatest(codec: ModuleType) -> None:
    data = batch(record(0), record(1, time_delta=-(2**62)), base_timestamp=2**61)
    columns = codec.RecordReader(data).columns()

    assert list(memoryview(columns.timestamp).cast("B").cast("q")) == [2**63 - 1, -(2**63)]


def test_a_sum_of_times_that_overflows_wraps_as_in_java(codec: ModuleType) -> None:
    (only,) = codec.RecordReader(batch(record(time_delta=1), base_timestamp=2**63 - 1)).read()

    assert only.timestamp == -(2**63)


def test_a_record_knows_where_it_was_read(codec: ModuleType) -> None:
    (only,) = codec.RecordReader(batch(record(), base_offset=12, leader_epoch=8), "t", 5).read()

    assert (only.topic, only.partition, only.offset, only.leader_epoch) == ("t", 5, 12, 8)


def test_a_delete_horizon_is_not_a_timestamp_of_its_own(codec: ModuleType) -> None:
    data = batch(
        record(0, b"k", None, time_delta=-1000),
        attributes=DELETE_HORIZON,
        base_timestamp=NOW + 1000,
    )
    (tombstone,) = codec.RecordReader(data).read()

    assert tombstone.timestamp == NOW


def test_many_batches_are_read_in_one_call(codec: ModuleType) -> None:
    data = b"".join(
        good_batch(start, 10, codec=Codec(start // 10 % 5)) for start in range(0, 500, 10)
    )
    records = codec.RecordReader(data).read()
    columns = codec.RecordReader(data).columns(headers=True)

    assert offsets_of(records) == list(range(500))
    assert columns.rows == 500
    assert list(memoryview(columns.offset).cast("B").cast("q")) == list(range(500))
    assert plain(columns.value)[1] == b"".join(item.value for item in records)


def test_many_small_batches_of_rising_size_fill_columns_without_a_gap(codec: ModuleType) -> None:
    parts, offset = [], 0
    for count in [1, 1, 2, 40, 3, 200, 1, 7, 1000, 1, 1, 1]:
        parts.append(good_batch(offset, count))
        offset += count
    columns = codec.RecordReader(b"".join(parts)).columns()

    assert list(memoryview(columns.offset).cast("B").cast("q")) == list(range(offset))
    assert list(memoryview(columns.timestamp).cast("B").cast("q")) == [NOW * 1000] * offset
    assert list(memoryview(columns.timestamp_type).cast("B").cast("i")) == [0] * offset


def test_many_messages_of_old_formats_fill_columns_without_a_gap(codec: ModuleType) -> None:
    data = b"".join(message(offset, None, b"%d" % offset) for offset in range(300))
    columns = codec.RecordReader(data).columns()

    assert list(memoryview(columns.offset).cast("B").cast("q")) == list(range(300))
    assert list(memoryview(columns.timestamp).cast("B").cast("q")) == [NOW * 1000] * 300


def test_gaps_after_compaction_are_read_over(codec: ModuleType) -> None:
    data = batch(record(2), record(5), base_offset=100, last_delta=9)
    reader = codec.RecordReader(data)

    assert offsets_of(reader.read()) == [102, 105]
    assert reader.next_offset == 110


def test_the_position_moves_past_records_that_compaction_took(codec: ModuleType) -> None:
    data = batch(last_delta=9, base_offset=100) + batch(record(0), base_offset=200, last_delta=4)
    reader = codec.RecordReader(data, start_offset=100)

    assert offsets_of(reader.read()) == [200]
    assert (reader.next_offset, reader.is_done) == (205, True)


def test_an_empty_batch_alone_moves_the_position(codec: ModuleType) -> None:
    reader = codec.RecordReader(batch(last_delta=9, base_offset=100), start_offset=100)

    assert reader.read(1) == []
    assert (reader.next_offset, reader.is_done) == (110, True)


def test_an_empty_batch_alone_moves_the_position_of_columns(codec: ModuleType) -> None:
    reader = codec.RecordReader(batch(last_delta=9, base_offset=100), start_offset=100)

    assert reader.columns(1).rows == 0
    assert (reader.next_offset, reader.is_done) == (110, True)


@pytest.mark.parametrize("number", [Codec.NONE, Codec.ZSTD])
def test_records_before_the_start_are_left_out(codec: ModuleType, number: Codec) -> None:
    data = good_batch(0, 5, codec=number) + good_batch(5, 5, codec=number)

    for start in range(11):
        reader = codec.RecordReader(data, start_offset=start)
        assert offsets_of(reader.read()) == list(range(start, 10))
        assert reader.next_offset == max(10, start)
        columns = codec.RecordReader(data, start_offset=start).columns(headers=True)
        assert list(memoryview(columns.offset).cast("B").cast("q")) == list(range(start, 10))


def test_old_messages_before_the_start_are_left_out(codec: ModuleType) -> None:
    data = b"".join(message(offset) for offset in range(5))
    reader = codec.RecordReader(data, start_offset=3)

    assert offsets_of(reader.read()) == [3, 4]


def test_a_damaged_batch_before_the_start_is_not_looked_at(codec: ModuleType) -> None:
    reader = codec.RecordReader(good_batch(0, 3, crc=1) + good_batch(3), start_offset=3)

    assert offsets_of(reader.read()) == [3, 4, 5]


def test_offsets_that_go_backwards_are_never_handed_over_twice(codec: ModuleType) -> None:
    reader = codec.RecordReader(good_batch(10) + good_batch(5) + good_batch(11) + good_batch(30))

    assert offsets_of(reader.read()) == [10, 11, 12, 13, 30, 31, 32]
    assert reader.next_offset == 33


def test_control_records_are_not_handed_over_and_the_position_moves(codec: ModuleType) -> None:
    data = good_batch(0) + batch(marker(), base_offset=3, attributes=CONTROL, producer_id=1)
    reader = codec.RecordReader(data)

    assert offsets_of(reader.read()) == [0, 1, 2]
    assert (reader.next_offset, reader.is_done) == (4, True)


def test_control_records_are_handed_over_where_asked_for(codec: ModuleType) -> None:
    data = batch(marker(), base_offset=3, attributes=CONTROL, producer_id=1)
    (only,) = codec.RecordReader(data, control_records=True).read()

    assert (only.offset, only.key) == (3, b"\0\0\0\0")


@pytest.mark.parametrize("number", list(Codec))
def test_a_batch_cut_off_at_any_byte_is_left_for_the_next_fetch(
    codec: ModuleType, number: Codec
) -> None:
    whole, cut = good_batch(0), good_batch(3, codec=number)

    for size in range(1, len(cut)):
        reader = codec.RecordReader(whole + cut[:size])
        assert offsets_of(reader.read()) == [0, 1, 2]
        assert reader.read() == []
        assert (reader.next_offset, reader.is_done, reader.is_incomplete) == (3, True, True)


def test_a_first_batch_cut_off_gives_nothing_and_says_so(codec: ModuleType) -> None:
    cut = good_batch(7)

    for size in range(1, len(cut)):
        reader = codec.RecordReader(cut[:size], start_offset=7)
        assert reader.read() == []
        assert reader.columns().rows == 0
        assert (reader.next_offset, reader.is_done, reader.is_incomplete) == (7, True, True)


def test_an_old_message_cut_off_at_any_byte_is_left_for_the_next_fetch(codec: ModuleType) -> None:
    whole, cut = message(0), message(1)

    for size in range(1, len(cut)):
        reader = codec.RecordReader(whole + cut[:size])
        assert offsets_of(reader.read()) == [0]
        assert reader.read() == []
        assert reader.is_incomplete


@pytest.mark.parametrize("limit", [1, 2, 3, 4, 7, 100])
def test_records_are_read_in_pieces(codec: ModuleType, limit: int) -> None:
    data = good_batch(0, 5) + batch(last_delta=4, base_offset=5) + message(10) + message(11)
    whole = codec.RecordReader(data, "t", 0).read()
    reader = codec.RecordReader(data, "t", 0)
    pieces = []
    while not reader.is_done:
        piece = reader.read(limit)
        assert len(piece) <= limit
        if piece:
            assert reader.next_offset >= piece[-1].offset + 1
        pieces += piece

    assert [fields_of(item) for item in pieces] == [fields_of(item) for item in whole]


def test_the_position_inside_a_batch_is_behind_the_last_record_handed_over(
    codec: ModuleType,
) -> None:
    reader = codec.RecordReader(good_batch(20, 5))
    reader.read(2)

    assert reader.next_offset == 22
    assert reader.columns(1).rows == 1
    assert reader.next_offset == 23
    assert not reader.is_done


def test_asking_for_none_opens_nothing(codec: ModuleType) -> None:
    reader = codec.RecordReader(good_batch(20, 5, crc=1))

    assert reader.read(0) == []
    assert reader.columns(0).rows == 0
    assert reader.next_offset == -1


MUCH = 2**30


def large(base_offset: int, size: int = 100_000, **fields: Any) -> bytes:
    """One record, compressed to little."""
    return batch(
        record(value=bytes(size)), base_offset=base_offset, **{"codec": Codec.GZIP, **fields}
    )


def test_what_the_next_batch_inflates_to_is_told(codec: ModuleType) -> None:
    packed = good_batch(0, 50, codec=Codec.GZIP)
    plain_size = len(good_batch(0, 50)) - 61
    reader = codec.RecordReader(packed + good_batch(50))

    assert reader.to_inflate(MUCH) == plain_size
    assert reader.to_inflate(10) > 10
    reader.read(1)
    assert reader.to_inflate(MUCH) == 0
    reader.read(49)
    assert reader.to_inflate(MUCH) == 0  # the next one is not compressed
    reader.read()
    assert reader.to_inflate(MUCH) == 0


def test_batches_that_are_passed_over_are_not_what_comes_next(codec: ModuleType) -> None:
    passed = good_batch(0, 3) + batch(marker(), base_offset=3, attributes=CONTROL)
    reader = codec.RecordReader(passed + large(4), start_offset=3)

    assert reader.to_inflate(MUCH) > 100_000
    assert codec.RecordReader(passed + large(4)).to_inflate(MUCH) == 0
    assert codec.RecordReader(passed + large(4)[:-1], start_offset=3).to_inflate(MUCH) > 100_000
    assert codec.RecordReader(passed, start_offset=3).to_inflate(MUCH) == 0
    control = codec.RecordReader(passed[-90:] + large(4), control_records=True)
    assert control.to_inflate(MUCH) == 0


def test_a_compressed_message_of_an_old_format_is_much(codec: ModuleType) -> None:
    wrapper = message(5, value=gzip.compress(message(0)), attributes=Codec.GZIP)

    assert codec.RecordReader(wrapper).to_inflate(MUCH) > MUCH
    assert codec.RecordReader(message(5)).to_inflate(MUCH) == 0
    assert codec.RecordReader(wrapper).read(max_inflate=MUCH) == []


def test_it_ends_before_a_batch_that_inflates_to_much(codec: ModuleType) -> None:
    small = [good_batch(at, 3, codec=Codec.GZIP) for at in (0, 3, 7)]
    data = small[0] + small[1] + large(6) + small[2] + large(10, codec=Codec.ZSTD)
    reader = codec.RecordReader(data)

    assert len(reader.read(max_inflate=50_000)) == 6
    for _ in range(2):
        assert reader.read(max_inflate=50_000) == []
        assert (reader.is_done, reader.next_offset) == (False, 6)
    assert reader.open_batch()
    assert len(reader.read(max_inflate=50_000)) == 4
    assert reader.open_batch()
    assert len(reader.read(max_inflate=50_000)) == 1
    assert reader.is_done


def test_one_call_inflates_so_much_in_all(codec: ModuleType) -> None:
    reader = codec.RecordReader(b"".join(large(at) for at in range(5)))

    assert [len(reader.read(max_inflate=250_000)) for _ in range(4)] == [2, 2, 1, 0]


def test_what_is_aborted_before_a_large_batch_does_not_let_it_in(codec: ModuleType) -> None:
    aborted = good_batch(0, 3, producer_id=7, attributes=TRANSACTIONAL, codec=Codec.GZIP)
    end = batch(marker(), base_offset=3, producer_id=7, attributes=TRANSACTIONAL | CONTROL)
    reader = codec.RecordReader(aborted + end + large(4), aborted=[(7, 0)])

    assert reader.read(max_inflate=50_000) == []
    assert reader.to_inflate(50_000) > 50_000


def test_large_records_come_in_small_numbers(codec: ModuleType) -> None:
    records = [record(index, value=bytes(1000)) for index in range(10)]
    for data in (batch(*records), batch(*records, codec=Codec.ZSTD)):
        reader = codec.RecordReader(data)

        assert [len(reader.read(max_bytes=2500)) for _ in range(5)] == [3, 3, 3, 1, 0]
    reader = codec.RecordReader(batch(*records))
    assert len(reader.read(2, max_bytes=2500)) == 2
    assert len(reader.read(max_bytes=1)) == 1
    assert reader.read(max_bytes=0) == []
    assert len(reader.read(max_bytes=MUCH)) == 7


def test_records_before_the_start_count_too(codec: ModuleType) -> None:
    records = [record(index, value=bytes(1000)) for index in range(10)]
    reader = codec.RecordReader(batch(*records), start_offset=6)

    assert reader.read(max_bytes=2500) == []
    assert not reader.is_done
    assert reader.read(max_bytes=2500) == []
    assert offsets_of(reader.read(max_bytes=2500)) == [6, 7, 8]


def test_large_messages_of_old_formats_come_in_small_numbers(codec: ModuleType) -> None:
    reader = codec.RecordReader(b"".join(message(at, value=bytes(1000)) for at in range(5)))

    seen = []
    while not reader.is_done:
        seen.append(len(reader.read(max_bytes=2500)))
    assert sum(seen) == 5
    assert max(seen) <= 3


def test_a_batch_is_inflated_in_a_thread_and_read_here(codec: ModuleType) -> None:
    reader = codec.RecordReader(good_batch(0, 500, codec=Codec.ZSTD))
    answers: list[bool] = []
    thread = threading.Thread(target=lambda: answers.append(reader.open_batch()))
    thread.start()
    thread.join()

    assert answers == [True]
    assert reader.to_inflate(0) == 0
    assert len(reader.read()) == 500
    assert reader.open_batch() is False


def test_what_is_wrong_with_a_batch_is_raised_by_opening_it(codec: ModuleType) -> None:
    reader = codec.RecordReader(good_batch(0, 500, codec=Codec.ZSTD, payload=b"broken"))

    with pytest.raises(CorruptRecord, match="zstd"):
        reader.open_batch()


def test_opening_goes_over_batches_without_records(codec: ModuleType) -> None:
    reader = codec.RecordReader(batch(last_delta=9) + good_batch(10))

    assert reader.open_batch()
    assert reader.next_offset == 10
    assert reader.open_batch()
    assert offsets_of(reader.read()) == [10, 11, 12]


@pytest.mark.parametrize("kind", [bytes, bytearray, memoryview])
def test_any_buffer_is_read(codec: ModuleType, kind: type) -> None:
    assert len(codec.RecordReader(kind(good_batch(0, 3, codec=Codec.LZ4))).read()) == 3


def test_a_buffer_of_wider_items_is_read_as_its_bytes(codec: ModuleType) -> None:
    padded = record(0, value=b"x" * 20, headers=[(b"h", None)])
    data = batch(padded, codec=Codec.SNAPPY)
    data += bytes(-len(data) % 4)
    reader = codec.RecordReader(memoryview(data).cast("I"))

    assert values_of(reader.read()) == [b"x" * 20]


def test_bytes_that_are_not_in_a_row_are_refused(codec: ModuleType) -> None:
    with pytest.raises((BufferError, TypeError), match="contiguous"):
        codec.RecordReader(memoryview(good_batch())[::2])


def test_a_str_is_refused(codec: ModuleType) -> None:
    with pytest.raises(TypeError):
        codec.RecordReader("batch")


def test_the_reader_shows_where_it_is_and_no_payload(codec: ModuleType) -> None:
    data = good_batch(5)
    reader = codec.RecordReader(data, "orders", 3)
    reader.read()

    where = f"byte {len(data)} of {len(data)}"
    assert repr(reader) == f"<RecordReader orders-3 next offset 8, {where}>"
