from __future__ import annotations

import sys
from types import ModuleType

import pytest

from kafka_aio.errors import CorruptRecord
from kafka_aio.records.batch import FetchedBatch, read_header, restamp, split, verify
from kafka_aio.records.columns import Columns
from kafka_aio.records.compression import Codec, Compression
from kafka_aio.records.layout import ProducerStamp
from tests.unit.records.samples import (
    NOW,
    TRANSACTIONAL,
    batch,
    good_batch,
    message,
    offsets_of,
    record,
    values_of,
    varint,
)

DAMAGED = varint(5) + b"\0\0\2\1"
ALL = [Compression(codec) for codec in Codec]


def built(
    codec: ModuleType, count: int, compression: Compression, stamp: ProducerStamp
) -> memoryview:
    builder = codec.BatchBuilder(1 << 20)
    for index in range(count):
        headers = [("n", b"%d" % index), ("n", None)] if index % 2 else []
        builder.append(b"k%d" % index, b"v" * index, NOW - index, headers)
    wire: memoryview = builder.finish(compression, stamp, leader_epoch=3)
    return wire


# -- headers


def test_a_header_is_read_field_by_field() -> None:
    data = good_batch(
        10,
        3,
        attributes=TRANSACTIONAL,
        producer_id=5,
        producer_epoch=6,
        base_sequence=7,
        codec=Codec.LZ4,
    )
    header = read_header(b"xx" + data, 2)

    assert (header.base_offset, header.last_offset, header.record_count) == (10, 12, 3)
    assert (header.size, header.leader_epoch, header.codec) == (len(data), 4, Codec.LZ4)
    assert header.stamp == ProducerStamp(5, 6, 7, transactional=True)
    assert (header.is_control, header.is_log_append_time, header.delete_horizon) == (
        False,
        False,
        None,
    )


def test_a_delete_horizon_is_told() -> None:
    header = read_header(good_batch(0, 1, attributes=0x40, base_timestamp=77))

    assert header.delete_horizon == 77


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"", "0 bytes are no batch header"),
        (good_batch()[:60], "60 bytes are no batch header"),
        (good_batch(magic=1), "record format 1 instead of 2"),
        (good_batch(length=48), "batch length 48"),
        (good_batch(length=-1), "batch length -1"),
        (good_batch(count=-1), "record count -1"),
        (good_batch(last_delta=-1), "last offset delta -1"),
        (good_batch(attributes=7), "unknown codec 7"),
    ],
)
def test_a_header_that_makes_no_sense_is_refused(data: bytes, words: str) -> None:
    with pytest.raises(CorruptRecord, match=words):
        read_header(data)


# -- verify


def test_sound_batches_are_verified_one_after_the_other(codec: ModuleType) -> None:
    data = good_batch(0, 3) + good_batch(3, 2, codec=Codec.GZIP)

    assert [header.base_offset for header in verify(data)] == [0, 3]
    assert verify(b"") == []


def test_a_checksum_that_does_not_match_names_the_offset(codec: ModuleType) -> None:
    with pytest.raises(CorruptRecord, match="checksum") as caught:
        verify(good_batch(0) + good_batch(3, crc=1))
    assert caught.value.offset == 3


def test_a_batch_cut_short_is_not_sound(codec: ModuleType) -> None:
    data = good_batch(0)

    for size in range(1, len(data)):
        with pytest.raises(CorruptRecord):
            verify(data[:size])


def test_bytes_behind_the_last_batch_are_not_sound(codec: ModuleType) -> None:
    with pytest.raises(CorruptRecord, match="1 bytes are no batch header"):
        list(verify(good_batch(0) + b"x"))


# -- restamp


@pytest.mark.parametrize("compression", ALL)
def test_a_batch_takes_another_stamp_and_is_summed_up_again(
    codec: ModuleType, compression: Compression
) -> None:
    old, new = ProducerStamp(1, 2, 3), ProducerStamp(2**40, 0, 0, transactional=True)
    wire = built(codec, 5, compression, old)
    before = codec.RecordReader(wire).read()
    restamp(wire, new)
    (header,) = verify(wire)

    assert header.stamp == new
    assert header.codec == compression.codec
    assert codec.RecordReader(wire).read() == before


def test_a_stamp_is_taken_off_again(codec: ModuleType) -> None:
    wire = built(codec, 2, ALL[0], ProducerStamp(1, 2, 3, transactional=True))
    restamp(wire, ProducerStamp())

    assert wire == built(codec, 2, ALL[0], ProducerStamp())


# -- split


@pytest.mark.parametrize("compression", ALL)
def test_a_split_keeps_order_headers_times_codec_and_sequences(
    codec: ModuleType, compression: Compression
) -> None:
    stamp = ProducerStamp(9, 1, 100, transactional=True)
    whole = built(codec, 50, compression, stamp)
    parts = split(whole, 400, compression)

    assert len(parts) > 3
    sequence, seen = 100, []
    for part in parts:
        (header,) = verify(part)
        assert header.stamp == stamp._replace(base_sequence=sequence)
        assert (header.base_offset, header.leader_epoch) == (0, 3)
        assert header.codec == compression.codec
        records = codec.RecordReader(part).read()
        assert offsets_of(records) == list(range(header.record_count))
        sequence += header.record_count
        seen += [(item.key, item.value, item.timestamp, item.headers) for item in records]
    records = codec.RecordReader(whole).read()
    assert seen == [(item.key, item.value, item.timestamp, item.headers) for item in records]


def test_no_part_of_a_split_passes_the_limit(codec: ModuleType) -> None:
    parts = split(built(codec, 50, ALL[0], ProducerStamp()), 300, ALL[0])

    assert all(len(part) <= 300 for part in parts)


def test_sequences_wrap_inside_of_a_split(codec: ModuleType) -> None:
    whole = built(codec, 4, ALL[0], ProducerStamp(1, 0, 2**31 - 2))
    parts = split(whole, 1, ALL[0])

    assert [read_header(part).base_sequence for part in parts] == [2**31 - 2, 2**31 - 1, 0, 1]


def test_a_split_without_a_stamp_stays_without(codec: ModuleType) -> None:
    parts = split(built(codec, 4, ALL[0], ProducerStamp()), 1, ALL[0])

    assert [read_header(part).stamp for part in parts] == [ProducerStamp()] * 4


def test_a_single_record_beyond_the_limit_splits_to_itself(codec: ModuleType) -> None:
    builder = codec.BatchBuilder(100)
    builder.append(b"k", bytes(1000), NOW, [("h", None)])
    whole = builder.finish(stamp=ProducerStamp(1, 2, 3))

    assert split(whole, 50, ALL[0]) == [whole]


def test_records_beyond_the_limit_are_batches_by_themselves(codec: ModuleType) -> None:
    builder = codec.BatchBuilder(1 << 20)
    for size in (10, 500, 10, 10, 500):
        builder.append(None, bytes(size), NOW)
    parts = split(builder.finish(), 100, ALL[0])

    assert [read_header(part).record_count for part in parts] == [1, 1, 2, 1]


def test_a_damaged_batch_is_not_split(codec: ModuleType) -> None:
    with pytest.raises(CorruptRecord, match="checksum"):
        split(good_batch(crc=1), 100, ALL[0])


def test_a_batch_damaged_behind_good_records_is_not_split_in_part(codec: ModuleType) -> None:
    with pytest.raises(CorruptRecord, match="runs past its batch"):
        split(batch(record(0), DAMAGED), 100, ALL[0])


# -- what a fetch brought


def test_fetched_bytes_are_decoded_each_time_anew(codec: ModuleType) -> None:
    fetched = FetchedBatch(good_batch(0, 5), "orders", 3, start_offset=2)

    assert offsets_of(fetched.records) == offsets_of(fetched.records) == [2, 3, 4]
    assert {(item.topic, item.partition) for item in fetched.records} == {("orders", 3)}


def test_fetched_bytes_that_are_damaged_are_an_error_and_the_reader_gives_the_rest(
    codec: ModuleType,
) -> None:
    fetched = FetchedBatch(good_batch(0) + good_batch(3, crc=1), "orders", 3)

    with pytest.raises(CorruptRecord, match="orders-3 at offset 3"):
        _ = fetched.records
    with pytest.raises(CorruptRecord, match="orders-3 at offset 3"):
        fetched.to_arrow()
    assert offsets_of(fetched.reader().read()) == [0, 1, 2]


def test_fetched_bytes_may_end_in_the_middle_of_a_batch(codec: ModuleType) -> None:
    fetched = FetchedBatch(good_batch(0) + good_batch(3)[:70], "orders", 3)

    assert offsets_of(fetched.records) == [0, 1, 2]
    assert fetched.to_arrow().num_rows == 3


def test_fetched_bytes_beyond_what_a_column_holds_are_refused_and_not_cut(
    codec: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = codec.RecordReader(good_batch(0, 20), "t", 0)

    class Bounded:
        """The same reader, with columns of 20 bytes: 2 GiB take too long to make."""

        is_done = False

        def columns(self, max_rows: int = -1, *, headers: bool = False) -> Columns:
            columns: Columns = whole.columns(max_rows, headers=headers, max_bytes=20)
            return columns

    monkeypatch.setattr(FetchedBatch, "reader", lambda self: Bounded())
    with pytest.raises(ValueError, match="more than Arrow columns can hold"):
        FetchedBatch(good_batch(0, 20), "t", 0).to_arrow()


def test_fetched_bytes_are_read_as_told(codec: ModuleType) -> None:
    aborted = good_batch(0, 1, producer_id=1, attributes=TRANSACTIONAL)
    plain = good_batch(1, 1, crc=5)
    fetched = FetchedBatch(aborted + plain, "t", 0, check_crcs=False, aborted=[(1, 0)])
    capped = FetchedBatch(good_batch(0, 9, codec=Codec.GZIP), "t", 0, max_inflated=10)

    assert offsets_of(fetched.records) == [1]
    with pytest.raises(CorruptRecord, match="inflates beyond 10 bytes"):
        _ = capped.records


def test_fetched_bytes_show_their_place_and_no_payload() -> None:
    fetched = FetchedBatch(good_batch(0), "orders", 3, start_offset=7)

    assert repr(fetched) == f"<FetchedBatch orders-3 from 7, {len(good_batch(0))} bytes>"


# -- old formats


@pytest.mark.parametrize("magic", [0, 1])
def test_old_messages_are_decoded_too(codec: ModuleType, magic: int) -> None:
    data = b"".join(message(offset, b"k", b"%d" % offset, magic) for offset in range(5))

    assert values_of(FetchedBatch(data, "old", 0).records) == [b"%d" % n for n in range(5)]


def test_a_batch_cut_short_is_not_stamped_again(codec: ModuleType) -> None:
    batch = memoryview(bytearray(good_batch(0)))

    with pytest.raises(CorruptRecord, match="bytes in"):
        restamp(batch[:-1], ProducerStamp(1, 2, 3))


def test_without_pyarrow_the_error_says_what_to_install(
    codec: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delitem(sys.modules, "kafka_aio.records.arrow", raising=False)
    monkeypatch.delattr("kafka_aio.records.arrow", raising=False)
    monkeypatch.setitem(sys.modules, "pyarrow", None)

    with pytest.raises(ImportError, match=r"pip install 'kafka-aio\[arrow\]'"):
        FetchedBatch(good_batch(0), "t", 0).to_arrow()
