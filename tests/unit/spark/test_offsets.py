"""The numbers are those of the cases that the JVM connector was observed in."""

from __future__ import annotations

import json
import pickle
from collections.abc import Mapping

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from kafka_aio.errors import ConfigError
from kafka_aio.types import TopicPartition
from spark_connector.offsets import (
    Admission,
    Changes,
    OffsetRange,
    Offsets,
    between,
    changes,
    from_json,
    limited,
    split,
    to_json,
)

LARGEST = 2**63 - 1

partitions = st.builds(
    TopicPartition, st.text("ab.-_Z09", min_size=1, max_size=3), st.integers(0, 12)
)
some_offsets = st.dictionaries(partitions, st.integers(0, LARGEST), max_size=12)


def a(number: int) -> TopicPartition:
    return TopicPartition("a", number)


def ranges(*sizes: int, start: int = 0) -> list[OffsetRange]:
    """Of topic a: as long as that, for one partition after the other."""
    return [OffsetRange("a", number, start, start + size) for number, size in enumerate(sizes)]


def sizes(found: list[OffsetRange]) -> list[int]:
    return [len(each) for each in found]


# JSON.


@given(some_offsets)
def test_offsets_come_back_from_their_json(offsets: Offsets) -> None:
    written = to_json(offsets)

    assert from_json(written) == offsets
    assert from_json(json.dumps(written)) == offsets


@given(some_offsets, st.randoms())
def test_equal_offsets_have_the_same_text(offsets: Offsets, order: object) -> None:
    names = list(offsets)
    order.shuffle(names)  # type: ignore[attr-defined]  # a random.Random

    assert json.dumps(to_json({name: offsets[name] for name in names})) == json.dumps(
        to_json(offsets)
    )


def test_topics_are_sorted_by_name_and_partitions_by_number() -> None:
    offsets = {TopicPartition("b", 0): 1, a(10): 2, a(9): 3}

    assert json.dumps(to_json(offsets)) == '{"a": {"9": 3, "10": 2}, "b": {"0": 1}}'


@pytest.mark.parametrize(
    ("value", "sentence"),
    [
        (None, "None is no JSON object"),
        ("5", "5 is no JSON object"),
        ("null", "None is no JSON object"),
        ({"a": {"0": -1}}, "topic 'a', partition '0': -1 is not from 0 on"),
        ({"a": {0: 1}}, "topic 'a', partition 0: a partition is a number in quotes"),
        ({5: {"0": 1}}, "5 is not the name of a topic"),
        ({"a": {"0": 10**5000}}, "a very large number is more than 9223372036854775807"),
    ],
)
def test_json_that_has_no_offsets_is_an_error_with_the_place(value: object, sentence: str) -> None:
    with pytest.raises(ConfigError, match="the offsets: ") as caught:
        from_json(value)

    assert sentence in str(caught.value)
    assert "expected is JSON such as" in str(caught.value)


# Ranges.


def test_a_range_counts_offsets_and_travels() -> None:
    found = OffsetRange("a", 1, 5, 8)

    assert len(found) == 3
    assert found.topic_partition == a(1)
    assert pickle.loads(pickle.dumps(found)) == found
    assert str(found) == "a-1 5..8"
    assert not OffsetRange("a", 1, 5, 5)
    assert sorted([OffsetRange("b", 0, 0, 1), found]) == [found, OffsetRange("b", 0, 0, 1)]


@pytest.mark.parametrize(
    ("partition", "start", "end", "sentence"),
    [
        (0, 5, 4, "a-0 5..4 ends before it begins"),
        (-1, 0, 1, "partition of an offset range is 0 or more, not -1"),
        (0, -2, 1, "start of an offset range is 0 or more, not -2"),
        (0, 0, 2**63, "end of an offset range"),
    ],
)
def test_there_is_no_range_that_ends_before_it_begins(
    partition: int, start: int, end: int, sentence: str
) -> None:
    with pytest.raises(ValueError, match=sentence):
        OffsetRange("a", partition, start, end)


def test_an_offset_is_an_int() -> None:
    with pytest.raises(TypeError, match="start of an offset range is an int, not '0'"):
        OffsetRange("a", 0, "0", 5)  # type: ignore[arg-type]


def test_ranges_lie_between_a_start_and_an_end() -> None:
    start = {a(0): 3, a(1): 20, a(2): 4}
    end = {a(3): 7, a(1): 5, a(0): 9}

    # a-1 went back: none of it; a-2 is gone; of a-3 nobody knows the beginning.
    assert between(start, end) == [OffsetRange("a", 0, 3, 9), OffsetRange("a", 1, 5, 5)]


# Splitting.


@pytest.mark.parametrize(
    ("given_sizes", "least", "expected"),
    [
        ((10, 20, 0), 10, [3, 3, 4, 2, 3, 3, 3, 3, 3, 3]),  # 51
        ((10, 20, 0), 2, [10, 20, 0]),  # 52: never merged, and the empty one is kept
        ((10, 20, 0), 3, [10, 20, 0]),
        ((10, 20, 0), None, [10, 20, 0]),  # 8
        ((0, 0), 5, []),
        ((1, 1), 10, [1, 1]),
    ],
)
def test_a_batch_has_about_as_many_tasks_as_asked_for(
    given_sizes: tuple[int, ...], least: int | None, expected: list[int]
) -> None:
    found = split(ranges(*given_sizes), min_partitions=least, max_records=None)

    assert sizes(found) == expected


def test_a_small_range_takes_nothing_from_the_share_of_a_large_one() -> None:
    found = split(
        [OffsetRange("a", 0, 8, 10), OffsetRange("a", 1, 0, 20)],
        min_partitions=10,
        max_records=None,
    )

    assert len(found) == 10  # 51
    assert found[0] == OffsetRange("a", 0, 8, 10)


@pytest.mark.parametrize(
    ("least", "most", "tasks"),
    [
        (8, None, 8),  # 56
        (None, 4, 8),  # 56: 3 + 5
        (None, None, 2),  # 56: the empty one is dropped
        (2, None, 2),
        (3, None, 3),
        (None, 100, 2),
        (12, 4, 13),
    ],
)
def test_a_stream_has_no_task_for_an_empty_range(
    least: int | None, most: int | None, tasks: int
) -> None:
    found = split(ranges(10, 20, 0), min_partitions=least, max_records=most, keep_empty=False)

    assert len(found) == tasks
    assert all(found)


def test_whether_a_batch_is_cut_by_a_limit_depends_on_the_offsets_as_they_were_given() -> None:
    there = ranges(10, 20, 0)

    by_words = split(there, min_partitions=None, max_records=4, asked=[1, 1, 1])
    by_offsets = split(there, min_partitions=None, max_records=4, asked=[10, 20, 0])

    assert sizes(by_words) == [10, 20, 0]  # 54: from earliest, -2, to latest, -1
    assert sizes(by_offsets) == [3, 3, 4, 4, 4, 4, 4, 4]


many_ranges = st.dictionaries(
    partitions, st.tuples(st.integers(0, 10**12), st.integers(0, 10**4)), max_size=8
).map(
    lambda found: [OffsetRange(*name, start, start + size) for name, (start, size) in found.items()]
)


@given(
    many_ranges,
    st.none() | st.integers(1, 200),
    st.none() | st.integers(50, 10**5),
    st.booleans(),
)
def test_pieces_cover_the_ranges_exactly(
    there: list[OffsetRange], least: int | None, most: int | None, keep_empty: bool
) -> None:
    found = split(there, min_partitions=least, max_records=most, keep_empty=keep_empty)

    assert found == sorted(found)
    joined: dict[TopicPartition, OffsetRange] = {}
    for piece in found:
        before = joined.get(piece.topic_partition)
        begin = piece.start if before is None else before.start
        assert before is None or before.end == piece.start
        joined[piece.topic_partition] = OffsetRange(*piece.topic_partition, begin, piece.end)
    assert [each for each in joined.values() if each] == sorted(each for each in there if each)
    assert all(most is None or len(piece) <= most for piece in found)
    if keep_empty and len(found) <= len(there) and all(each in there for each in found):
        assert found == sorted(there) or all(found)


@given(many_ranges, st.integers(1, 50))
def test_there_are_as_many_pieces_as_asked_for_but_for_rounding(
    there: list[OffsetRange], least: int
) -> None:
    filled = [each for each in there if each]

    found = split(there, min_partitions=least, max_records=None, keep_empty=False)

    assert len(found) >= len(filled)
    most = sum(len(each) for each in filled)
    assert min(least, most) - len(filled) <= len(found) <= max(least, len(filled)) + len(filled)


# Limits.


@pytest.mark.parametrize(
    ("backlog", "most", "shares"),
    [
        ((10, 20), 7, (2, 4)),  # 75
        ((4, 6), 1, (1, 1)),  # 76
        ((10, 20, 0), 12, (4, 8, 0)),  # 82
        ((10, 20), 0, (0, 0)),  # 77
        ((10, 20), 100, (10, 20)),
        ((0, 0), 5, (0, 0)),
        ((), 5, ()),
    ],
)
def test_each_partition_has_its_share_of_a_limit(
    backlog: tuple[int, ...], most: int, shares: tuple[int, ...]
) -> None:
    start = {a(number): 100 for number in range(len(backlog))}
    end = {a(number): 100 + size for number, size in enumerate(backlog)}

    found = limited(start, end, most)

    assert found == {a(number): 100 + share for number, share in enumerate(shares)}


starts_and_sizes = st.dictionaries(
    partitions, st.tuples(st.integers(0, 2**40), st.integers(0, 2**40)), min_size=1
)


@given(starts_and_sizes, st.integers(0, 2**41))
@example({a(0): (0, 1), a(1): (0, 2**40)}, 1)
def test_a_limit_leaves_no_partition_behind_and_goes_beyond_no_end(
    there: Mapping[TopicPartition, tuple[int, int]], most: int
) -> None:
    start = {name: begin for name, (begin, _) in there.items()}
    end = {name: begin + size for name, (begin, size) in there.items()}

    found = limited(start, end, most)

    assert found.keys() == end.keys()
    assert all(start[name] <= found[name] <= end[name] for name in end)
    if most > 0:
        assert all(found[name] > start[name] for name in end if end[name] > start[name])
    else:
        assert found == start
    taken = sum(found.values()) - sum(start.values())
    assert taken <= most + len(end)


@given(starts_and_sizes, st.integers(1, 2**41))
def test_a_backlog_is_read_in_the_end(
    there: Mapping[TopicPartition, tuple[int, int]], most: int
) -> None:
    at = {name: begin for name, (begin, _) in there.items()}
    end = {name: begin + size for name, (begin, size) in there.items()}
    left = sum(end.values()) - sum(at.values())

    at = limited(at, end, most)

    now_left = sum(end.values()) - sum(at.values())
    assert now_left < left or left == 0
    assert limited(at, end, left + 1) == end or now_left == 0


def test_an_end_that_went_back_stays_as_it_is() -> None:
    assert limited({a(0): 20, a(1): 0}, {a(0): 5, a(1): 10}, 4) == {a(0): 5, a(1): 4}


def test_a_partition_without_a_start_is_an_error() -> None:
    with pytest.raises(ValueError, match="a-1 has no start"):
        limited({a(0): 0}, {a(0): 1, a(1): 1}, 5)


# Admission.

START = {a(0): 0, a(1): 0, a(2): 0}
LATEST = {a(0): 10, a(1): 20, a(2): 0}


def test_without_limits_a_batch_has_all_there_is() -> None:
    admission = Admission()

    assert admission.end(START, LATEST, now=0.0) == LATEST
    assert admission.end(LATEST, LATEST, now=1.0) == LATEST


def test_a_batch_is_no_larger_than_the_limit() -> None:
    admission = Admission(most=12)

    assert admission.end(START, LATEST, now=0.0) == {a(0): 4, a(1): 8, a(2): 0}


def test_the_trigger_once_has_all_whatever_the_limits_are() -> None:
    admission = Admission(most=7, least=100)

    admission.end(START, START, now=0.0)

    assert admission.end(START, LATEST, now=0.1, everything=True) == LATEST  # 81


def test_an_available_now_query_ends_where_the_logs_ended_at_first() -> None:
    admission = Admission(most=12)
    admission.fix_end()
    seen, at = [], START

    for more in range(4):  # 82: 5 records arrive after the first batch
        latest = {**LATEST, a(2): 5 * min(more, 1)}
        end = admission.end(at, latest, now=float(more))
        seen.append(sum(end.values()) - sum(at.values()))
        at = end

    assert seen == [12, 12, 6, 0]
    assert at == LATEST == admission.fixed


def test_an_available_now_query_without_any_limit_to_reach_reads_nothing() -> None:
    admission = Admission(most=0)
    admission.fix_end()

    assert admission.end(START, LATEST, now=0.0) == START  # 77


def test_an_available_now_query_does_not_wait_for_more() -> None:
    admission = Admission(most=12, least=10, delay=900.0)
    admission.fix_end()
    at = START

    for second in range(3):
        at = admission.end(at, LATEST, now=float(second))

    assert at == LATEST  # 79; the JVM connector leaves the last 6 behind


def test_the_first_batch_does_not_wait_and_later_ones_wait_for_the_delay() -> None:
    admission = Admission(least=100, delay=12.0)

    first = admission.end({a(0): 0}, {a(0): 20}, now=1000.0)
    early = admission.end({a(0): 20}, {a(0): 23}, now=1011.9)
    late = admission.end({a(0): 20}, {a(0): 23}, now=1012.0)

    assert (first, early, late) == ({a(0): 20}, {a(0): 20}, {a(0): 23})  # 80


def test_a_batch_that_is_large_enough_does_not_wait_and_the_delay_begins_anew() -> None:
    admission = Admission(least=10, delay=12.0)
    admission.end({a(0): 0}, {a(0): 0}, now=0.0)

    assert admission.end({a(0): 0}, {a(0): 9}, now=11.0) == {a(0): 0}
    assert admission.end({a(0): 0}, {a(0): 10}, now=11.5) == {a(0): 10}
    assert admission.end({a(0): 10}, {a(0): 11}, now=23.0) == {a(0): 10}
    assert admission.end({a(0): 10}, {a(0): 11}, now=23.5) == {a(0): 11}


def test_lower_and_upper_limit_go_together() -> None:
    admission = Admission(least=5, most=6, delay=12.0)
    admission.end({a(0): 0}, {a(0): 0}, now=0.0)

    assert admission.end({a(0): 0}, {a(0): 4}, now=1.0) == {a(0): 0}
    assert admission.end({a(0): 0}, {a(0): 30}, now=1.0) == {a(0): 6}


def test_a_new_partition_counts_from_its_beginning_and_is_not_in_a_batch_that_waits() -> None:
    admission = Admission(least=5, most=100, delay=12.0)
    admission.end({a(0): 7}, {a(0): 7}, now=0.0)

    few = admission.end({a(0): 7}, {a(0): 7, a(1): 44}, now=1.0, beginnings={a(1): 40})
    enough = admission.end({a(0): 7}, {a(0): 7, a(1): 45}, now=2.0, beginnings={a(1): 40})

    assert few == {a(0): 7}
    assert enough == {a(0): 7, a(1): 45}


def test_a_partition_that_is_gone_is_not_in_the_end() -> None:
    assert Admission(most=5).end({a(0): 3, a(1): 3}, {a(0): 4}, now=0.0) == {a(0): 4}


# What has changed.


def test_nothing_is_lost_where_logs_only_grow() -> None:
    found = changes({a(0): 5, a(1): 7}, {a(0): 5, a(1): 9})

    assert found == Changes()
    assert found.losses == []


def test_new_partitions_lose_nothing() -> None:
    found = changes({a(0): 5}, {a(0): 5, a(2): 1, a(1): 9}, earliest={a(1): 0, a(2): 0})

    assert found == Changes()  # 85, 86


@pytest.mark.parametrize(
    ("known", "latest", "earliest", "sentence"),
    [
        (  # 87
            {a(0): 5, a(2): 1, a(1): 1},
            {a(0): 5},
            None,
            "a-1, a-2: the partition is not there any more",
        ),
        (  # 88
            {a(0): 20},
            {a(0): 5},
            None,
            "a-0: the log ends at offset 5, but was read up to 20 before",
        ),
        (
            {},
            {a(0): 9},
            {a(0): 3},
            "a-0: the partition is new, and its log begins at offset 3, not at 0",
        ),
    ],
)
def test_a_loss_of_records_is_told_with_its_place(
    known: Offsets, latest: Offsets, earliest: Offsets | None, sentence: str
) -> None:
    losses = changes(known, latest, earliest=earliest).losses

    assert len(losses) == 1
    assert sentence in losses[0]


@given(some_offsets, some_offsets)
def test_each_known_partition_is_there_or_gone(known: Offsets, latest: Offsets) -> None:
    found = changes(known, latest)

    assert {*found.vanished, *(known.keys() & latest.keys())} == known.keys()
    assert all(end < at for at, end in found.went_back.values())
