"""Rows that are appended by their numbers, in an order of the caller's."""

from __future__ import annotations

import array
from collections.abc import Sequence
from types import ModuleType
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kafka_aio.errors import StateError
from kafka_aio.records import arrow
from kafka_aio.records.columns import BinaryColumn
from tests.unit.records.samples import NOW

PAIR = pa.struct([("key", pa.string()), ("value", pa.binary())])


def numbers(*rows: int) -> array.array[int]:
    return array.array("i", rows)


def appended(
    codec: ModuleType, rows: Any, indices: Any, start: int, stop: int, limit: int = 1 << 20
) -> tuple[int, bytes]:
    builder = codec.BatchBuilder(limit)
    end = builder.append_taken(rows, indices, start, stop, NOW)
    return end, bytes(builder.finish()) if builder.count else b""


def one_by_one(
    codec: ModuleType, rows: Any, indices: Sequence[int], start: int, stop: int, limit: int
) -> tuple[int, bytes]:
    builder = codec.BatchBuilder(limit)
    end = start
    for row in indices[start:stop]:
        if builder.append_rows(rows, row, row + 1, NOW) == row:
            break
        end += 1
    return end, bytes(builder.finish()) if builder.count else b""


def values_of(codec: ModuleType, wire: bytes) -> list[bytes | None]:
    return [item.value for item in codec.RecordReader(wire).read()]


@pytest.fixture
def letters(codec: ModuleType) -> Any:
    values = pa.array([b"a", b"b", None, b"d", b"e"], pa.binary())
    return arrow.to_rows(pa.record_batch({"value": values}))


def test_rows_are_taken_in_the_order_of_their_numbers(codec: ModuleType, letters: Any) -> None:
    end, wire = appended(codec, letters, numbers(4, 0, 0, 2, 3), 0, 5)

    assert end == 5
    assert values_of(codec, wire) == [b"e", b"a", b"a", None, b"d"]


def test_numbers_are_taken_from_start_to_stop(codec: ModuleType, letters: Any) -> None:
    end, wire = appended(codec, letters, numbers(4, 3, 1, 0), 1, 3)

    assert end == 3
    assert values_of(codec, wire) == [b"d", b"b"]
    assert appended(codec, letters, numbers(), 0, 0) == (0, b"")


def test_the_first_place_not_written_is_told(codec: ModuleType, letters: Any) -> None:
    builder = codec.BatchBuilder(61 + 2 * 8)
    end = builder.append_taken(letters, numbers(4, 3, 1, 0), 0, 4, NOW)

    assert end == 2
    assert builder.append_taken(letters, numbers(4, 3, 1, 0), end, 4, NOW) == 2
    assert values_of(codec, bytes(builder.finish())) == [b"e", b"d"]


@pytest.mark.parametrize("headers", [False, True])
@pytest.mark.parametrize("row", [5, -1, 2**31 - 1, -(2**31)])
@pytest.mark.parametrize("place", [0, 1, 3])
def test_a_number_of_no_row_is_refused_and_what_is_before_it_written(
    codec: ModuleType, place: int, row: int, headers: bool
) -> None:
    columns = {"value": pa.array([b"%d" % n for n in range(5)], pa.binary())}
    if headers:
        columns["headers"] = pa.array([[]] * 5, pa.list_(PAIR))
    rows = arrow.to_rows(pa.record_batch(columns))
    indices = numbers(0, 1, 2, 3)
    indices[place] = row
    builder = codec.BatchBuilder(1000)
    with pytest.raises(ValueError, match=f"^row {row} of 5$"):
        builder.append_taken(rows, indices, 0, 4, NOW)

    assert builder.count == place


@pytest.mark.parametrize(("start", "stop"), [(-1, 2), (2, 1), (0, 4), (4, 4)])
def test_places_outside_of_the_numbers_are_refused(
    codec: ModuleType, letters: Any, start: int, stop: int
) -> None:
    with pytest.raises(ValueError, match=f"^indices {start} to {stop} of 3$"):
        appended(codec, letters, numbers(0, 1, 2), start, stop)


def test_a_part_of_a_number_is_none(codec: ModuleType, letters: Any) -> None:
    with pytest.raises(ValueError, match=r"^indices 0 to 2 of 1$"):
        appended(codec, letters, numbers(0, 1).tobytes()[:7], 0, 2)


def test_a_row_that_cannot_be_written_is_told_by_its_number(codec: ModuleType) -> None:
    times = pa.array([5, -5, 5, 5], pa.timestamp("ms"))
    rows = arrow.to_rows(pa.record_batch({"value": pa.array([b""] * 4), "timestamp": times}))
    with pytest.raises(ValueError, match=r"^row 1: a timestamp is milliseconds since 1970"):
        appended(codec, rows, numbers(3, 2, 1), 0, 3)


def test_offsets_outside_of_the_data_are_told_by_the_row(codec: ModuleType) -> None:
    offsets = array.array("i", [0, 1, 9, 3])
    rows = codec.Rows(3, BinaryColumn(offsets, b"abc"))
    with pytest.raises(ValueError, match=r"^row 1: its offsets lie outside"):
        appended(codec, rows, numbers(0, 0, 1), 0, 3)


def test_nothing_is_taken_into_a_finished_batch(codec: ModuleType, letters: Any) -> None:
    builder = codec.BatchBuilder(1000)
    builder.append_taken(letters, numbers(1), 0, 1, NOW)
    builder.finish()
    with pytest.raises(StateError):
        builder.append_taken(letters, numbers(1), 0, 1, NOW)


@given(
    rows=st.lists(
        st.fixed_dictionaries(
            {
                "key": st.none() | st.binary(max_size=70),
                "value": st.none() | st.binary(max_size=140),
                "timestamp": st.none() | st.integers(0, 2**62),
                "headers": st.none() | st.just([{"key": "a", "value": b"1"}]),
            }
        ),
        min_size=1,
        max_size=20,
    ),
    left_out=st.sets(st.sampled_from(["key", "timestamp", "headers"])),
    places=st.lists(st.integers(0, 10**6), max_size=60),
    bounds=st.tuples(st.integers(0, 60), st.integers(0, 60)),
    limit=st.sampled_from([62, 200, 1000, 1 << 20]),
)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=80)
def test_taken_rows_are_written_as_one_by_one(
    codec: ModuleType,
    rows: list[dict[str, Any]],
    left_out: set[str],
    places: list[int],
    bounds: tuple[int, int],
    limit: int,
) -> None:
    schema = pa.schema(
        [
            ("key", pa.binary()),
            ("value", pa.large_binary()),
            ("timestamp", pa.int64()),
            ("headers", pa.list_(PAIR)),
        ]
    )
    whole = pa.RecordBatch.from_pylist(rows, schema).drop_columns(sorted(left_out))
    indices = numbers(*(place % len(rows) for place in places))
    start, stop = sorted(min(bound, len(indices)) for bound in bounds)
    taken = arrow.to_rows(whole)

    assert appended(codec, taken, indices, start, stop, limit) == one_by_one(
        codec, taken, indices, start, stop, limit
    )


@pytest.mark.parametrize("kind", [pa.binary(), pa.large_binary()])
def test_rows_of_usual_size_are_taken_as_one_by_one(codec: ModuleType, kind: pa.DataType) -> None:
    values = pa.array([bytes(60 + n % 9) if n % 50 else None for n in range(200)], kind)
    rows = arrow.to_rows(pa.record_batch({"value": values}))
    indices = numbers(*(n * 7 % 200 for n in range(200)))

    assert appended(codec, rows, indices, 0, 200, 9000) == one_by_one(
        codec, rows, indices, 0, 200, 9000
    )
