"""Behaviour B18: records without a key spread by bytes, and less to brokers that are slow."""

from __future__ import annotations

import itertools
import random
from collections import Counter
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_aio.producer.partitioner import RoundRobin, StickyPartitioner


def sticky(
    partitions: Sequence[int] = range(4),
    queued: Sequence[int] | None = None,
    *,
    batch_size: int = 1,
    adaptive: bool = True,
    leaderless: Sequence[int] = (),
    slow: Sequence[int] = (),
) -> StickyPartitioner:
    partitioner = StickyPartitioner(batch_size=batch_size, adaptive=adaptive)
    queues = [0] * len(partitions) if queued is None else queued
    partitioner.update(partitions, queues, leaderless=leaderless, slow=slow)
    return partitioner


def chosen(partitioner: StickyPartitioner, times: int) -> Counter[int]:
    """How often each partition is chosen, by chances that are spread evenly."""
    seen: Counter[int] = Counter()
    for turn in range(times):
        seen[partitioner.current(chance=turn / times)] += 1
        partitioner.added(1)
    return seen


# -- sticky


def test_a_partition_is_kept_until_it_has_had_a_batch() -> None:
    partitioner = sticky(batch_size=100)
    seen = []
    for chance in (0.0, 0.99, 0.99, 0.99, 0.5):
        seen.append(partitioner.current(chance=chance))
        partitioner.added(40)

    assert seen == [0, 0, 0, 3, 3]


def test_bytes_count_not_records() -> None:
    partitioner = sticky(batch_size=100)
    partitioner.current(chance=0)
    partitioner.added(100)

    assert partitioner.current(chance=0.99) == 3


def test_bytes_of_the_partition_before_do_not_count() -> None:
    partitioner = sticky(batch_size=100)
    partitioner.current(chance=0)
    partitioner.added(190)
    partitioner.current(chance=0.99)
    partitioner.added(99)

    assert partitioner.current(chance=0) == 3


def test_a_batch_that_is_not_full_yet_keeps_the_partition_up_to_twice_the_size() -> None:
    partitioner = sticky(batch_size=100)
    partitioner.current(chance=0)
    seen = []
    for _ in range(4):
        partitioner.added(50, may_switch=False)
        seen.append(partitioner.current(chance=0.99))

    assert seen == [0, 0, 0, 3]


def test_what_was_kept_back_is_made_up_for_when_the_batch_is_full() -> None:
    partitioner = sticky(batch_size=100)
    partitioner.current(chance=0)
    partitioner.added(120, may_switch=False)
    partitioner.added(1)

    assert partitioner.current(chance=0.99) == 3


def test_whether_another_must_be_chosen_is_told() -> None:
    partitioner = sticky(batch_size=100)
    told = [partitioner.must_choose]
    for size in (99, 1):
        partitioner.current(chance=0)
        told.append(partitioner.must_choose)
        partitioner.added(size)
        told.append(partitioner.must_choose)

    assert told == [True, False, False, False, True]


def test_one_partition_is_chosen_again_and_again() -> None:
    assert chosen(sticky([0]), 10) == {0: 10}


def test_without_load_each_partition_gets_as_much() -> None:
    assert chosen(sticky(range(4)), 400) == dict.fromkeys(range(4), 100)


def test_records_of_any_size_spread_by_bytes() -> None:
    rng = random.Random(18)
    partitioner = sticky(range(6), batch_size=1000)
    seen: Counter[int] = Counter()
    for _ in range(60_000):
        size = rng.choice([10, 100, 700])
        seen[partitioner.current(chance=rng.random())] += size
        partitioner.added(size)

    share = seen.total() / 6
    assert sorted(seen) == list(range(6))
    assert all(abs(taken - share) < share * 0.06 for taken in seen.values())


def test_a_partition_takes_a_run_of_records_not_one() -> None:
    rng = random.Random(4)
    partitioner = sticky(range(50), batch_size=1000)
    seen = []
    for _ in range(5000):
        seen.append(partitioner.current(chance=rng.random()))
        partitioner.added(100)
    switches = sum(1 for before, after in itertools.pairwise(seen) if before != after)

    assert 480 <= switches <= 500


# -- adaptive


def test_a_longer_queue_gets_less() -> None:
    assert chosen(sticky(range(5), [5, 0, 3, 0, 1]), 21) == {0: 1, 1: 6, 2: 3, 3: 6, 4: 5}


def test_by_chance_it_comes_out_the_same() -> None:
    rng = random.Random(18)
    partitioner = sticky(range(3), [0, 3, 1])
    seen: Counter[int] = Counter()
    for _ in range(80_000):
        seen[partitioner.current(chance=rng.random())] += 1
        partitioner.added(1)

    assert [round(seen[partition] / 10_000, 1) for partition in range(3)] == [4.0, 1.0, 3.0]


def test_queues_of_equal_length_are_no_reason_to_choose() -> None:
    assert chosen(sticky(range(4), [7, 7, 7, 7]), 40) == dict.fromkeys(range(4), 10)


def test_queues_do_not_count_where_they_shall_not() -> None:
    partitioner = sticky(range(4), [9, 0, 0, 0], adaptive=False)

    assert chosen(partitioner, 40) == dict.fromkeys(range(4), 10)


def test_the_last_update_counts() -> None:
    partitioner = sticky(range(2), [9, 0])
    partitioner.update(range(2), [0, 1])

    assert chosen(partitioner, 30) == {0: 20, 1: 10}


def test_the_numbers_of_partitions_need_not_be_in_a_row() -> None:
    assert chosen(sticky([7, 2, 5], [0, 1, 0]), 50) == {7: 20, 2: 10, 5: 20}


@given(
    queued=st.lists(st.integers(0, 1000), min_size=1, max_size=30),
    chance=st.floats(0, 1, exclude_max=True),
)
def test_every_chance_chooses_a_partition(queued: list[int], chance: float) -> None:
    partitioner = sticky(range(len(queued)), queued)

    assert 0 <= partitioner.current(chance=chance) < len(queued)


def test_the_greatest_chance_chooses_the_last_partition() -> None:
    greatest = 1 - 2**-53

    for count in (1, 3, 7, 1000, 100_001):
        assert sticky(range(count)).current(chance=greatest) == count - 1
        assert sticky(range(count), [*[1] * (count - 1), 2]).current(chance=greatest) == count - 1


# -- which partitions can be had


def test_partitions_without_a_leader_are_left_out() -> None:
    assert chosen(sticky(range(4), leaderless=[1, 3]), 40) == {0: 20, 2: 20}
    assert chosen(sticky(range(4), [0, 9, 1, 9], leaderless=[1, 3]), 30) == {0: 20, 2: 10}


def test_where_none_has_a_leader_all_are_taken() -> None:
    assert chosen(sticky(range(3), leaderless=range(3)), 30) == dict.fromkeys(range(3), 10)


def test_partitions_of_slow_brokers_are_left_out() -> None:
    assert chosen(sticky(range(4), [0, 5, 5, 5], slow=[0, 3]), 30) == {1: 15, 2: 15}


def test_where_all_are_slow_those_with_a_leader_are_taken() -> None:
    partitioner = sticky(range(4), leaderless=[2], slow=[0, 1, 3])

    assert chosen(partitioner, 30) == {0: 10, 1: 10, 3: 10}


def test_slow_brokers_do_not_count_where_they_shall_not() -> None:
    partitioner = sticky(range(4), adaptive=False, leaderless=[1], slow=[0])

    assert chosen(partitioner, 30) == {0: 10, 2: 10, 3: 10}


def test_a_partition_that_lost_its_leader_is_left_at_once() -> None:
    partitioner = sticky(range(3), batch_size=1000)
    assert partitioner.current(chance=0) == 0
    partitioner.added(10)
    partitioner.update(range(3), [0, 0, 0], leaderless=[0])

    assert partitioner.current(chance=0) == 1


def test_a_partition_that_can_still_be_had_is_kept_through_an_update() -> None:
    partitioner = sticky(range(3), batch_size=1000)
    partitioner.current(chance=0)
    partitioner.update(range(3), [5, 0, 0], leaderless=[1])

    assert partitioner.current(chance=0.99) == 0


def test_the_only_partition_is_kept_when_it_loses_its_leader() -> None:
    partitioner = sticky([0], batch_size=1000)
    partitioner.current(chance=0)
    partitioner.update([0], [3], leaderless=[0])

    assert partitioner.current(chance=0) == 0


def test_partitions_that_are_added_are_chosen() -> None:
    partitioner = sticky(range(2))
    partitioner.update(range(4), [0, 0, 0, 0])

    assert chosen(partitioner, 40) == dict.fromkeys(range(4), 10)


# -- what cannot be


def test_there_is_nothing_to_choose_from_before_the_first_update() -> None:
    with pytest.raises(ValueError, match="no partitions"):
        StickyPartitioner(batch_size=1, adaptive=True).current(chance=0)
    with pytest.raises(ValueError, match="no partitions"):
        RoundRobin().next()


@pytest.mark.parametrize("size", [0, -1])
def test_a_batch_has_a_size(size: int) -> None:
    with pytest.raises(ValueError, match=f"a batch has 1 byte or more, not {size}"):
        StickyPartitioner(batch_size=size, adaptive=True)


@pytest.mark.parametrize("queued", [[1], [1, 2, 3]])
def test_each_partition_has_one_queue(queued: list[int]) -> None:
    partitioner = sticky(range(2))
    with pytest.raises(ValueError, match=f"2 partitions and {len(queued)} queues"):
        partitioner.update(range(2), queued)

    assert chosen(partitioner, 20) == {0: 10, 1: 10}


# -- round robin


def test_round_robin_takes_each_in_turn() -> None:
    turns = RoundRobin()
    turns.update([0, 1, 2])

    assert [turns.next() for _ in range(7)] == [0, 1, 2, 0, 1, 2, 0]


def test_round_robin_leaves_out_partitions_without_a_leader() -> None:
    turns = RoundRobin()
    turns.update(range(4), leaderless=[1])
    assert [turns.next() for _ in range(4)] == [0, 2, 3, 0]
    turns.update(range(2), leaderless=range(2))

    assert {turns.next(), turns.next()} == {0, 1}


def test_round_robin_goes_on_where_it_was_after_an_update() -> None:
    turns = RoundRobin()
    turns.update(range(4))
    seen = []
    for _ in range(8):
        seen.append(turns.next())
        turns.update(range(4))

    assert seen == [0, 1, 2, 3, 0, 1, 2, 3]
