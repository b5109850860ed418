from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from kafka_aio.broker.reservations import Reservations

LIMIT = 100


def test_bytes_are_had_while_there_are_some() -> None:
    large = Reservations[str](LIMIT)

    assert large.reserve("a", 60)
    assert large.reserve("b", 40)
    assert not large.reserve("c", 1)
    assert [large.of(each) for each in "abc"] == [60, 40, 0]


def test_the_last_may_take_more_than_is_left_so_that_nothing_is_too_large() -> None:
    large = Reservations[str](LIMIT)

    assert large.reserve("a", 99)
    assert large.reserve("b", 1_000)
    assert not large.reserve("c", 1)


def test_who_has_something_already_needs_the_rest_only() -> None:
    large = Reservations[str](LIMIT)
    large.reserve("a", 60)

    assert large.reserve("a", 50)
    assert large.reserve("a", 100)
    assert large.used == 100
    assert large.reserve("a", 100)
    assert not large.reserve("a", 101)


def test_who_waits_is_called_in_turn_once_there_is_something() -> None:
    large = Reservations[str](LIMIT)
    large.reserve("a", 100)
    for each in "bcd":
        large.reserve(each, 70)
    assert large.next is None

    large.release("a")

    assert large.next == "b"
    assert not large.reserve("c", 1)
    assert large.reserve("b", 70)
    assert large.next == "c"
    assert large.reserve("c", 70)
    assert large.next is None


def test_who_steps_out_is_not_called_and_keeps_what_it_has() -> None:
    large = Reservations[str](LIMIT)
    large.reserve("b", 10)
    large.reserve("a", 90)
    large.reserve("b", 20)
    large.reserve("c", 20)

    large.step_out("b")
    large.release("a")

    assert (large.next, large.of("b")) == ("c", 10)


def test_half_of_it_is_scarce() -> None:
    large = Reservations[str](LIMIT)

    large.reserve("a", 50)
    assert not large.are_scarce
    large.reserve("b", 1)
    assert large.are_scarce


@given(st.lists(st.tuples(st.sampled_from("abcde"), st.integers(0, 150))))
def test_nobody_waits_for_ever_and_all_is_given_back(turns: list[tuple[str, int]]) -> None:
    large = Reservations[str](LIMIT)
    wanted: dict[str, int] = {}
    for who, size in turns:
        if size == 0:
            large.release(who)
            wanted.pop(who, None)
        elif large.of(who) == 0:
            wanted[who] = size
            large.reserve(who, size)
        assert large.used < LIMIT + 150

    while wanted:
        for who in [each for each in wanted if large.of(each)]:
            large.release(who)
            del wanted[who]
        while (called := large.next) is not None:
            assert large.reserve(called, wanted[called])

    assert large.used == 0
