from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_aio.backoff import Backoff

SECONDS = st.floats(0.0, 1e10).filter(lambda seconds: seconds == 0 or seconds > 1e-6)
JITTERS = st.floats(-1.0, 1.0)


def test_each_pause_is_twice_the_one_before_until_the_longest() -> None:
    backoff = Backoff(first=0.1, longest=1.0)

    pauses = [backoff.delay(attempt, jitter=0.0) for attempt in range(6)]

    assert pauses == [0.1, 0.2, 0.4, 0.8, 1.0, 1.0]


def test_the_multiplier_can_be_another() -> None:
    backoff = Backoff(first=1.0, longest=50.0, multiplier=10)

    assert [backoff.delay(attempt, jitter=0.0) for attempt in range(3)] == [1.0, 10.0, 50.0]


@pytest.mark.parametrize(("jitter", "pause"), [(-1.0, 80.0), (-0.5, 90.0), (0.5, 110.0)])
def test_chance_moves_a_pause_by_a_fifth_at_most(jitter: float, pause: float) -> None:
    assert Backoff(first=100.0, longest=1_000.0).delay(0, jitter=jitter) == pytest.approx(pause)


def test_without_a_part_for_chance_it_changes_nothing() -> None:
    assert Backoff(first=100.0, longest=1_000.0, jitter=0.0).delay(0, jitter=1.0) == 100.0


def test_chance_makes_the_longest_pause_shorter_but_never_longer() -> None:
    backoff = Backoff(first=0.1, longest=1.0)

    assert backoff.delay(9, jitter=-1.0) == pytest.approx(0.8)
    assert backoff.delay(9, jitter=1.0) == 1.0


@pytest.mark.parametrize("longest", [2.0, 1.0])
def test_where_nothing_can_grow_the_pause_is_the_longest_and_chance_has_no_part(
    longest: float,
) -> None:
    backoff = Backoff(first=2.0, longest=longest)

    assert {backoff.delay(n, jitter=j) for n in (0, 5) for j in (-1.0, 1.0)} == {longest}


def test_no_pause_stays_no_pause() -> None:
    assert Backoff(first=0.0, longest=1.0).delay(5_000, jitter=1.0) == 0.0


@pytest.mark.parametrize("attempt", [2_000, 10**9])
def test_any_number_of_attempts_is_fine(attempt: int) -> None:
    assert Backoff(first=0.001, longest=1e12).delay(attempt, jitter=0.0) == 1e12


@given(SECONDS, SECONDS, st.floats(1.01, 100.0), st.integers(0, 10**6), JITTERS)
def test_a_pause_is_never_negative_nor_longer_than_the_longest(
    first: float, longest: float, multiplier: float, attempt: int, jitter: float
) -> None:
    backoff = Backoff(first, longest, multiplier)

    assert 0 <= backoff.delay(attempt, jitter=jitter) <= longest


@given(SECONDS, SECONDS, st.integers(0, 100), JITTERS)
def test_a_later_pause_is_never_shorter(
    first: float, longest: float, attempt: int, jitter: float
) -> None:
    backoff = Backoff(first, longest)

    assert backoff.delay(attempt + 1, jitter=jitter) >= backoff.delay(attempt, jitter=jitter)


@pytest.mark.parametrize(
    ("numbers", "problem"),
    [
        ({"first": -0.1, "longest": 1.0}, "not negative, not -0.1, 1.0"),
        ({"first": 0.1, "longest": -1.0}, "not negative, not 0.1, -1.0"),
        ({"first": 0.1, "longest": math.inf}, "finite and not negative, not 0.1, inf"),
        ({"first": math.inf, "longest": 1.0}, "finite and not negative, not inf, 1.0"),
        ({"first": math.nan, "longest": 1.0}, "finite and not negative, not nan"),
        ({"first": 0.1, "longest": 1.0, "multiplier": 1.0}, "a factor above 1, not 1.0"),
        ({"first": 0.1, "longest": 1.0, "multiplier": math.inf}, "a factor above 1, not inf"),
        ({"first": 0.1, "longest": 1.0, "jitter": 1.0}, "below 1, not 1.0"),
        ({"first": 0.1, "longest": 1.0, "jitter": -0.2}, "below 1, not -0.2"),
    ],
)
def test_numbers_that_make_no_sense_are_refused(numbers: dict[str, float], problem: str) -> None:
    with pytest.raises(ValueError, match=problem):
        Backoff(**numbers)


def test_a_backoff_does_not_change() -> None:
    with pytest.raises(AttributeError):
        Backoff(first=0.1, longest=1.0).first = 0.2  # type: ignore[misc]  # that is the point
