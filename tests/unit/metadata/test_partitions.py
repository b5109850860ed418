from __future__ import annotations

import pytest

from kafka_aio.metadata.partitions import NO_PARTITIONS, NOBODY, Leader, Partitions
from tests.unit.metadata.samples import partition


def numbers(partitions: Partitions) -> list[int]:
    return [each.partition_index for each in partitions]


def with_numbers(*numbers: int) -> Partitions:
    return Partitions([partition(number, leader=number, epoch=number) for number in numbers])


@pytest.mark.parametrize(
    ("told", "expected"),
    [
        ((), []),
        ((0, 1, 2), [0, 1, 2]),
        ((2, 0, 1), [0, 1, 2]),
        ((7, 3), [3, 7]),
        ((1, 0, 1, 0, 1), [0, 1]),
        ((0, 0, 2, 2), [0, 2]),
    ],
)
def test_partitions_are_in_order_and_each_is_there_once(
    told: tuple[int, ...], expected: list[int]
) -> None:
    partitions = with_numbers(*told)

    assert numbers(partitions) == expected
    assert len(partitions) == len(expected)
    for number in range(-2, 10):
        leader = Leader(number, number) if number in expected else None
        assert partitions.leader(number) == leader
        assert partitions.epoch(number) == (number if leader else -1)


def test_of_equal_numbers_the_last_counts() -> None:
    told = [partition(1, 1), partition(0, 2), partition(1, 3), partition(0, 4), partition(1, 5)]

    partitions = Partitions(told)

    assert [each.leader_id for each in partitions] == [4, 5]


def test_what_is_known_otherwise_counts() -> None:
    partitions = with_numbers(0, 1, 2)
    partitions.know(1, Leader(7, 5))
    partitions.know(2, Leader(NOBODY, 6))

    assert [partitions.leader(number) for number in range(3)] == [Leader(0, 0), Leader(7, 5), None]
    assert [partitions.epoch(number) for number in range(3)] == [0, 5, 6]
    assert list(partitions.nodes()) == [0, 7, NOBODY]


def test_what_is_known_otherwise_of_one_topic_is_not_known_of_another() -> None:
    with_numbers(0).know(0, Leader(7, 5))

    assert with_numbers(0).leader(0) == Leader(0, 0)
    assert NO_PARTITIONS.leader(0) is None


def test_what_was_known_otherwise_stays_when_an_answer_is_behind() -> None:
    known = with_numbers(0, 1)
    known.know(0, Leader(7, 5))
    known.know(1, Leader(NOBODY, 6))
    late = with_numbers(0, 1)

    assert late.keep_newer(known, known) == (0, 1)
    assert late.leader(0) == Leader(7, 5)
    assert late.leader(1) is None
    assert [late.epoch(0), late.epoch(1)] == [5, 6]


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        ((0, 1), (0, 1), True),
        ((0, 1), (0, 1, 2), False),
        ((0, 2), (0, 2), True),
        ((0, 2), (0, 3), False),
        ((0, 2), (0, 1), False),
        ((0, 2), (0, 1, 2), False),
    ],
)
def test_numbers_are_compared(one: tuple[int, ...], other: tuple[int, ...], expected: bool) -> None:
    assert with_numbers(*one).has_same_numbers(with_numbers(*other)) == expected
    assert with_numbers(*other).has_same_numbers(with_numbers(*one)) == expected


def test_an_epoch_known_otherwise_is_progress() -> None:
    known, newer = with_numbers(0, 1), with_numbers(0, 1)
    newer.know(1, Leader(1, 9))

    assert newer.is_progress(known)
    assert not newer.is_progress(newer)
