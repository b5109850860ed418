from __future__ import annotations

import pytest

from kafka_aio.broker.log import PartitionLog, Spare
from kafka_aio.broker.log.partition_log import NOTHING, SMALLEST_SEGMENT
from kafka_aio.errors import OffsetOutOfRange
from kafka_aio.records.batch import verify
from kafka_aio.records.codec import RecordReader
from kafka_aio.records.compression import Codec
from kafka_aio.records.layout import ProducerStamp
from tests.unit.broker.producing import batch, idempotent, patched, values, write

MANY = 2**30


def begun(*batches: memoryview, segment_bytes: int = MANY) -> PartitionLog:
    log = PartitionLog(segment_bytes=segment_bytes)
    log.begin_epoch(0)
    for data in batches:
        write(log, data)
    return log


def large(mark: bytes) -> memoryview:
    """A batch that fills the first segment by itself."""
    return batch(mark * (SMALLEST_SEGMENT - 200))


def read(log: PartitionLog, offset: int, max_bytes: int = MANY) -> memoryview:
    return log.read(offset, max_bytes=max_bytes, at_least_one=True)


def read_all(log: PartitionLog) -> list[bytes | None]:
    """The values of all records, read as a consumer does."""
    found: list[bytes | None] = []
    offset = log.start_offset
    while data := read(log, offset):
        found += values(data)
        offset = verify(data)[-1].last_offset + 1
    return found


def test_a_batch_gets_the_next_offset_and_the_leader_epoch() -> None:
    log = begun()

    first = write(log, batch(b"a", b"b"))
    log.begin_epoch(4)
    second = write(log, batch(b"c"))

    assert (first, second) == (0, 2)
    headers = verify(read(log, 0))
    assert [(each.base_offset, each.leader_epoch) for each in headers] == [(0, 0), (2, 4)]
    assert log.end_offset == 3


def test_all_else_is_stored_as_it_came() -> None:
    sent = batch(b"a" * 1_000, b"b", codec=Codec.LZ4)
    log = begun(batch(), sent)

    stored = read(log, 1)

    assert bytes(stored[16:]) == bytes(sent[16:])


def test_the_time_of_the_append_is_stamped_on_a_batch() -> None:
    log = begun()

    write(log, batch(b"a", b"b", timestamp=5), append_time=77)

    (header,) = verify(read(log, 0))
    assert header.is_log_append_time
    assert (header.base_timestamp, header.max_timestamp) == (5, 77)


@pytest.mark.parametrize("offset", [-1, 4])
def test_an_offset_outside_of_the_log_cannot_be_read(offset: int) -> None:
    log = begun(batch(b"a", b"b"), batch(b"c"))

    with pytest.raises(OffsetOutOfRange, match="not within 0 to 3"):
        read(log, offset)


def test_there_is_nothing_at_the_end() -> None:
    assert not read(begun(), 0)
    assert not read(begun(batch(b"a", b"b")), 2)


def test_an_empty_log_has_no_memory() -> None:
    assert not begun()._segments


def test_each_segment_is_twice_as_large_up_to_the_limit() -> None:
    log = begun(*[batch(b"x" * 30_000)] * 30, segment_bytes=4 * SMALLEST_SEGMENT)

    assert [segment.capacity for segment in log._segments][:4] == [
        SMALLEST_SEGMENT,
        2 * SMALLEST_SEGMENT,
        4 * SMALLEST_SEGMENT,
        4 * SMALLEST_SEGMENT,
    ]


def test_a_batch_that_is_larger_than_a_segment_has_one_of_its_own() -> None:
    log = begun(batch(b"small"), batch(b"x" * 300_000), batch(b"small"), segment_bytes=1_000)

    assert read_all(log) == [b"small", b"x" * 300_000, b"small"]


def test_a_read_ends_with_its_segment_and_the_next_one_goes_on() -> None:
    log = begun(large(b"a"), large(b"b"), large(b"c"))

    assert len(verify(read(log, 0))) == 1
    assert len(read_all(log)) == 3


def test_what_was_handed_out_does_not_change() -> None:
    log = begun(batch(b"a"), batch(b"b"), batch(b"c"))
    handed_out = read(log, 0)

    log.truncate(1)
    write(log, batch(b"z"))
    log.delete_before(2)

    assert values(handed_out) == [b"a", b"b", b"c"]


def test_what_can_be_read_is_counted_over_all_segments() -> None:
    log = begun(large(b"a"), large(b"b"), batch(b"c"))
    one = len(large(b"a"))

    assert log.available(0) == log.size == 2 * one + len(batch(b"c"))
    assert log.available(1) == one + len(batch(b"c"))
    assert log.available(3) == 0


# Timestamps


def test_the_first_record_that_is_not_older_is_found_inside_its_batch() -> None:
    log = begun(
        batch(b"a", b"b", b"c", timestamp=1_000),
        batch(b"d", timestamp=500),
        batch(b"e", b"f", timestamp=1_002, codec=Codec.GZIP),
    )

    assert log.find_timestamp(0)[:2] == (1_000, 0)
    assert log.find_timestamp(1_001)[:2] == (1_001, 1)
    assert log.find_timestamp(1_003)[:2] == (1_003, 5)
    assert log.find_timestamp(1_004) == NOTHING


def test_the_newest_record_is_the_first_of_those() -> None:
    log = begun(batch(b"a", b"b", timestamp=7), batch(b"c", timestamp=8), batch(timestamp=1))
    log.begin_epoch(3)

    assert log.find_newest() == (8, 1, 0)
    assert begun().find_newest() == NOTHING


def test_records_without_timestamps_are_not_the_newest() -> None:
    log = begun(patched(batch(timestamp=1), base_timestamp=-1, max_timestamp=-1))

    assert log.find_newest() == NOTHING


def test_deleted_records_are_not_found() -> None:
    log = begun(batch(b"a", b"b", b"c", timestamp=1_000), batch(b"d", timestamp=5))

    log.delete_before(2)

    assert log.find_timestamp(0)[:2] == (1_002, 2)
    log.delete_before(3)
    assert log.find_newest()[:2] == (5, 3)


def test_what_is_found_has_its_leader_epoch() -> None:
    log = begun(batch(b"a", timestamp=10))
    log.begin_epoch(6)
    write(log, batch(b"b", timestamp=20))

    assert log.find_timestamp(15) == (20, 1, 6)


# Going back


def test_a_log_that_went_back_is_written_again_from_there() -> None:
    log = begun(batch(b"a", b"b"), batch(b"c"), batch(b"d"))

    log.truncate(3)
    write(log, batch(b"e"))

    assert read_all(log) == [b"a", b"b", b"c", b"e"]
    assert log.end_offset == 4


def test_of_a_batch_that_reaches_beyond_the_new_end_the_first_records_stay() -> None:
    log = begun(batch(b"a", b"b"), batch(b"c", b"d", b"e"))

    log.truncate(4)
    write(log, batch(b"f"))

    assert read_all(log) == [b"a", b"b", b"c", b"d", b"f"]
    assert [each.base_offset for each in verify(read(log, 0)) + verify(read(log, 2))] == [0, 2, 4]
    assert log.size == sum(map(len, log.batches()))


@pytest.mark.parametrize("codec", Codec)
def test_a_batch_that_was_cut_is_as_it_was_but_for_its_end(codec: Codec) -> None:
    stamp = ProducerStamp(7, 1, 20)
    log = begun(batch(b"a"))
    log.begin_epoch(3)
    write(log, batch(b"b", b"c", b"d", timestamp=100, codec=codec, stamp=stamp))

    log.truncate(3)
    log.begin_epoch(4)

    (header,) = verify(read(log, 1))
    assert (header.base_offset, header.last_offset_delta, header.record_count) == (1, 1, 2)
    assert (header.base_timestamp, header.max_timestamp, header.leader_epoch) == (100, 101, 3)
    assert (header.stamp, header.codec) == (stamp, codec)
    (producer,) = log.producers
    assert producer.last_sequence == 21
    first, second = RecordReader(read(log, 1)).read()
    assert (first.key, first.value, first.timestamp) == (b"key", b"b", 100)
    assert (second.offset, second.value, second.timestamp) == (2, b"c", 101)


def test_a_batch_that_was_cut_keeps_the_time_at_which_it_came() -> None:
    log = begun()
    write(log, batch(b"a", b"b", timestamp=100), append_time=5_000)

    log.truncate(1)

    (header,) = verify(read(log, 0))
    assert (header.is_log_append_time, header.max_timestamp) == (True, 5_000)
    assert [record.timestamp for record in RecordReader(read(log, 0)).read()] == [5_000]


def test_a_batch_that_cannot_be_read_is_lost_as_a_whole() -> None:
    broken = bytearray(batch(b"a", b"b", codec=Codec.GZIP))
    broken[70:80] = bytes(10)
    log = begun(batch(b"first"), patched(memoryview(broken)))

    log.truncate(2)

    assert read_all(log) == [b"first"]
    assert log.end_offset == 2


def test_a_log_may_go_back_over_segments() -> None:
    log = begun(large(b"a"), large(b"b"), large(b"c"))

    log.truncate(1)

    assert log.end_offset == 1
    assert log.size == log.available(0) == len(large(b"a"))


def test_what_is_before_the_start_is_gone_when_the_log_goes_back_to_it() -> None:
    log = begun(batch(b"a"), batch(b"b"))
    log.delete_before(1)

    log.truncate(1)

    assert (log.start_offset, log.end_offset, log.size) == (1, 1, 0)


def test_nothing_goes_before_the_start() -> None:
    log = begun(batch(b"a", b"b", b"c"))
    log.delete_before(2)

    log.truncate(0)

    assert (log.start_offset, log.end_offset) == (2, 2)
    assert not read(log, 2)


def test_going_back_to_what_was_not_written_yet_is_nothing() -> None:
    log = begun(batch(b"a"))

    log.truncate(5)

    assert log.end_offset == 1


def test_epochs_end_where_the_log_went_back_to() -> None:
    log = begun(batch(b"a"))
    log.begin_epoch(1)
    write(log, batch(b"b"))

    log.truncate(1)
    log.begin_epoch(2)
    write(log, batch(b"c"))

    assert log.end_of_epoch(0) == (0, 1)
    assert log.end_of_epoch(1) == (0, 1)
    assert log.end_of_epoch(2) == (2, 2)


def test_what_a_producer_wrote_is_known_up_to_the_new_end() -> None:
    log = begun(*(idempotent(7, 0, sequence) for sequence in range(8)))

    log.truncate(3)

    (producer,) = log.producers
    assert producer.last_sequence == 2
    assert [each.base_offset for each in producer.batches] == [0, 1, 2]


def test_a_producer_whose_batches_are_gone_is_not_known() -> None:
    log = begun(batch(b"a"), idempotent(7, 0, 0))

    log.truncate(1)

    assert list(log.producers) == []


# Dropping


def test_a_log_begins_where_it_is_told() -> None:
    log = begun(batch(b"a", b"b", b"c"), batch(b"d"))

    log.delete_before(2)

    assert (log.start_offset, log.end_offset) == (2, 4)
    assert verify(read(log, 2))[0].base_offset == 0
    with pytest.raises(OffsetOutOfRange):
        read(log, 1)


def test_it_does_not_begin_earlier_again() -> None:
    log = begun(batch(b"a", b"b", b"c"))
    log.delete_before(2)

    log.delete_before(1)

    assert log.start_offset == 2


def test_it_cannot_begin_after_its_end() -> None:
    log = begun(batch(b"a"))

    with pytest.raises(OffsetOutOfRange, match="offset 2 is after the end, 1"):
        log.delete_before(2)

    assert log.start_offset == 0


def test_segments_before_the_start_are_dropped() -> None:
    log = begun(large(b"a"), large(b"b"), large(b"c"), segment_bytes=1)

    log.delete_before(2)

    assert log.size == len(large(b"c"))
    assert len(log._segments) == 1


def test_a_log_of_which_all_is_deleted_goes_on() -> None:
    log = begun(batch(b"a"), batch(b"b"))

    log.delete_before(2)
    write(log, batch(b"c"))

    assert read_all(log) == [b"c"]
    assert log.start_offset == 2


def test_producers_are_known_after_their_records_were_deleted() -> None:
    log = begun(idempotent(7, 0, 0))

    log.delete_before(1)

    assert [each.id for each in log.producers] == [7]


def test_the_oldest_segment_goes_first() -> None:
    log = begun(large(b"a"), large(b"b"), large(b"c"), segment_bytes=1)

    log.drop_oldest_segment()
    assert (log.start_offset, log.size) == (1, 2 * len(large(b"a")))
    log.drop_oldest_segment()
    assert (log.start_offset, log.size) == (2, len(large(b"a")))
    log.drop_oldest_segment()
    assert (log.start_offset, log.end_offset, log.size) == (3, 3, 0)
    log.drop_oldest_segment()
    assert log.start_offset == 3


def test_segments_are_dropped_while_enough_remains() -> None:
    log = begun(*(large(mark) for mark in (b"a", b"b", b"c", b"d", b"e")), segment_bytes=1)
    one = len(large(b"a"))

    log.enforce_retention(3 * one + 1)
    assert log.start_offset == 1
    log.enforce_retention(3 * one)
    assert log.start_offset == 2
    log.enforce_retention(-1)
    assert log.start_offset == 2


def test_the_segment_that_is_written_to_is_kept() -> None:
    log = begun(*(large(mark) for mark in (b"a", b"b")), segment_bytes=1)

    log.enforce_retention(0)

    assert read_all(log) == values(large(b"b"))


def test_retention_ends_after_the_log_went_back_to_its_start() -> None:
    log = begun(batch(b"a", b"b"), segment_bytes=1)
    log.delete_before(1)
    log.truncate(1)
    write(log, batch(b"c"))

    log.enforce_retention(0)

    assert read_all(log) == [b"c"]


def test_the_memory_of_a_dropped_segment_is_used_again() -> None:
    log = PartitionLog(segment_bytes=SMALLEST_SEGMENT, spare=Spare(SMALLEST_SEGMENT))
    for value in (b"a", b"b"):
        write(log, large(value))
    memory = log._segments[0]._memory
    log.enforce_retention(1)

    write(log, large(b"c"))

    assert log._segments[-1]._memory is memory
    assert [value and value[:1] for value in read_all(log)] == [b"b", b"c"]


def test_what_somebody_reads_is_not_written_over_when_its_segment_is_dropped() -> None:
    log = begun(large(b"a"), large(b"b"), segment_bytes=SMALLEST_SEGMENT)
    handed_out = read(log, 0)
    before = bytes(handed_out)
    log.enforce_retention(1)

    write(log, large(b"c"))

    assert bytes(handed_out) == before
    assert [value and value[:1] for value in read_all(log)] == [b"b", b"c"]
