from __future__ import annotations

from kafka_aio.broker.log.segment import Segment, Spare


def filled(*sizes: int) -> Segment:
    """Batches of so many bytes and two records each, from offset 10 on."""
    segment = Segment(10, bytearray(100))
    for index, size in enumerate(sizes):
        segment.write(bytes([65 + index]) * size, size, 11 + 2 * index, 1_000 + index)
    return segment


def read(segment: Segment, offset: int, max_bytes: int, *, at_least_one: bool = False) -> bytes:
    return bytes(segment.read(offset, max_bytes, at_least_one=at_least_one))


def test_a_batch_begins_where_the_one_before_ends() -> None:
    segment = Segment(10, bytearray(100))

    assert segment.write(b"AAA", 3, 11, 0) == 0
    assert segment.write(b"BB", 2, 12, 0) == 3
    assert bytes(segment.view[:5]) == b"AAABB"


def test_reading_begins_at_the_batch_that_holds_the_offset() -> None:
    segment = filled(3, 4, 5)

    assert read(segment, 10, 100) == b"AAABBBBCCCCC"
    assert read(segment, 11, 100) == b"AAABBBBCCCCC"
    assert read(segment, 12, 100) == b"BBBBCCCCC"
    assert read(segment, 15, 100) == b"CCCCC"
    assert read(segment, 16, 100) == b""


def test_an_offset_in_a_gap_reads_the_batch_after_it() -> None:
    segment = Segment(0, bytearray(100))
    segment.write(b"AAA", 3, 4, 0)
    segment.write(b"BBB", 3, 9, 0)

    assert read(segment, 5, 100) == b"BBB"


def test_the_last_batch_is_cut_at_the_limit() -> None:
    segment = filled(3, 4, 5)

    assert read(segment, 10, 7) == b"AAABBBB"
    assert read(segment, 10, 8) == b"AAABBBBC"
    assert read(segment, 12, 6) == b"BBBBCC"


def test_the_first_batch_comes_whole_or_not_at_all() -> None:
    segment = filled(3, 4, 5)

    assert read(segment, 12, 3) == b""
    assert read(segment, 12, 0) == b""
    assert read(segment, 12, 3, at_least_one=True) == b"BBBB"
    assert read(segment, 12, 0, at_least_one=True) == b"BBBB"
    assert read(segment, 16, 0, at_least_one=True) == b""


def test_what_is_handed_out_can_not_be_written_to() -> None:
    assert filled(3).read(10, 100, at_least_one=True).readonly


def test_batches_that_reach_beyond_the_end_are_forgotten() -> None:
    segment = filled(3, 4, 5)
    handed_out = segment.read(10, 100, at_least_one=True)

    segment.truncate(13)

    assert read(segment, 10, 100) == b"AAA"
    assert segment.last_offset == 11
    assert segment.used == segment.capacity == 3
    assert bytes(handed_out) == b"AAABBBBCCCCC"


def test_one_without_batches_ends_before_its_first_offset() -> None:
    assert Segment(10, bytearray(100)).last_offset == 9


def test_dropped_memory_is_used_again_piece_by_piece() -> None:
    spare = Spare(1000)
    pieces = [bytearray(100) for _ in range(3)]
    for each in pieces:
        spare.give(each)

    taken = [spare.take(100) for _ in range(4)]

    assert {id(each) for each in taken[:3]} == {id(each) for each in pieces}
    assert all(taken[3] is not each for each in pieces)
    assert [len(each) for each in taken] == [100] * 4
    assert spare.size == 0


def test_dropped_memory_is_kept_within_its_limit() -> None:
    spare = Spare(250)
    pieces = [bytearray(100) for _ in range(3)]
    for each in pieces:
        spare.give(each)
    size = spare.size
    spare.give(bytearray(251))

    assert size == spare.size == 200
    taken = {id(spare.take(100)) for _ in range(2)}
    assert taken == {id(each) for each in pieces[:2]}


def test_memory_of_another_size_is_not_used_and_goes_first_when_the_limit_is_reached() -> None:
    spare = Spare(250)
    small, large = bytearray(100), bytearray(200)
    spare.give(small)

    assert len(spare.take(200)) == 200
    assert spare.size == 100
    spare.give(large)
    assert spare.size == 200
    assert spare.take(100) is not small
    assert spare.take(200) is large
