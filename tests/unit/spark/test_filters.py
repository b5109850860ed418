"""What filters of a query leave to be read."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

pytest.importorskip("pyspark")

from pyspark.sql.datasource import (
    EqualTo,
    Filter,
    GreaterThan,
    GreaterThanOrEqual,
    In,
    IsNotNull,
    LessThan,
    LessThanOrEqual,
    Not,
)

from spark_connector.filters import Bounds
from spark_connector.offsets import OffsetRange

WHOLE = OffsetRange("orders", 3, 100, 200)


def cut(*filters: Filter, first: int | None = 100) -> tuple[int, int]:
    found = Bounds.of(filters)[0].cut(WHOLE, first)
    return found.start, found.end


@pytest.mark.parametrize(
    ("given", "start", "end"),
    [
        (EqualTo(("offset",), 150), 150, 151),
        (GreaterThan(("offset",), 150), 151, 200),
        (GreaterThanOrEqual(("offset",), 150), 150, 200),
        (LessThan(("offset",), 150), 100, 150),
        (LessThanOrEqual(("offset",), 150), 100, 151),
        (GreaterThanOrEqual(("offset",), 5), 100, 200),
        (LessThan(("offset",), 900), 100, 200),
        (LessThan(("offset",), -4), 100, 100),
        (GreaterThan(("offset",), 900), 200, 200),
    ],
)
def test_a_filter_on_offsets_cuts_the_range(given: Filter, start: int, end: int) -> None:
    assert cut(given) == (start, end)


def test_filters_count_together() -> None:
    low, high = GreaterThanOrEqual(("offset",), 120), LessThan(("offset",), 130)

    assert cut(low, high, GreaterThan(("offset",), 110)) == (120, 130)


def test_filters_that_contradict_each_other_leave_nothing() -> None:
    start, end = cut(GreaterThan(("offset",), 150), LessThan(("offset",), 120))

    assert start == end


@pytest.mark.parametrize(
    ("given", "wanted"),
    [
        (EqualTo(("partition",), 3), {3}),
        (In(("partition",), (1, 3)), {1, 3}),
        (GreaterThan(("partition",), 3), {4, 5}),
        (GreaterThanOrEqual(("partition",), 3), {3, 4, 5}),
        (LessThan(("partition",), 2), {0, 1}),
        (LessThanOrEqual(("partition",), 2), {0, 1, 2}),
    ],
)
def test_a_filter_on_partitions_chooses_them(given: Filter, wanted: set[int]) -> None:
    bounds, _ = Bounds.of([given])

    assert {number for number in range(6) if bounds.has_partition(number)} == wanted


def test_two_lists_of_partitions_leave_what_is_in_both() -> None:
    bounds, _ = Bounds.of([In(("partition",), (1, 3)), In(("partition",), (3, 4))])

    assert [number for number in range(6) if bounds.has_partition(number)] == [3]


def test_spark_looks_at_times_and_at_all_that_we_do_not_understand() -> None:
    since = GreaterThanOrEqual(("timestamp",), datetime(2026, 1, 1, tzinfo=UTC))
    not_three = Not(EqualTo(("partition",), 3))
    text = EqualTo(("topic",), "orders")
    nothing = EqualTo(("offset",), None)
    known = IsNotNull(("partition",))
    ours = LessThan(("offset",), 150)

    _, left = Bounds.of([since, not_three, text, nothing, known, ours])

    assert left == [since, not_three, text, nothing, known]


def test_a_time_is_rounded_down_to_milliseconds() -> None:
    time = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=1_234_567)

    bounds, _ = Bounds.of([GreaterThan(("timestamp",), time)])

    assert bounds.since == 1_234


def test_the_later_of_two_times_counts() -> None:
    early, late = datetime(2026, 1, 1, tzinfo=UTC), datetime(2026, 1, 2, tzinfo=UTC)

    bounds, _ = Bounds.of([EqualTo(("timestamp",), late), GreaterThan(("timestamp",), early)])

    assert bounds.since == late.timestamp() * 1000


@pytest.mark.parametrize("time", [datetime(2026, 1, 1), datetime(1960, 1, 1, tzinfo=UTC), "2026"])
def test_a_time_that_says_nothing_to_kafka_is_no_bound(time: object) -> None:
    bounds, left = Bounds.of([GreaterThan(("timestamp",), time)])

    assert (bounds.since, len(left)) == (None, 1)


def test_a_range_begins_at_the_first_record_that_is_young_enough() -> None:
    assert cut(first=170) == (170, 200)


def test_a_range_of_old_records_is_empty() -> None:
    assert cut(first=None) == (200, 200)
