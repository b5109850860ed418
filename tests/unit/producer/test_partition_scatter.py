"""Rows dealt out to partitions, on plain buffers; test_rows has them from Arrow."""

from __future__ import annotations

import array
from types import ModuleType
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kafka_aio.producer import _partition_py as twin
from kafka_aio.records.columns import BinaryColumn
from tests.unit.producer.test_partition import both, compiled, module

__all__ = ["module"]  # the fixture


def i32(*numbers: int) -> array.array[int]:
    return array.array("i", numbers)


def i64(*numbers: int) -> array.array[int]:
    return array.array("q", numbers)


def binary(*parts: bytes | None, start: int = 0, large: bool = False) -> BinaryColumn:
    """A column whose first rows are left out."""
    offsets = [0]
    bits = bytearray(len(parts) // 8 + 1)
    for row, part in enumerate(parts):
        offsets.append(offsets[-1] + len(part or b""))
        bits[row >> 3] |= (part is not None) << (row & 7)
    data = b"".join(part or b"" for part in parts)
    return BinaryColumn(i64(*offsets) if large else i32(*offsets), data, bits, start, large)


def scattered(module: ModuleType, *arguments: Any, **options: Any) -> Any:
    shares, indices = module.scatter(*arguments, **options)
    return shares, list(memoryview(indices).cast("B").cast("i"))


def test_rows_are_in_the_order_of_topics_and_partitions_then_in_their_own(
    module: ModuleType,
) -> None:
    none = module.NO_PARTITION
    shares, indices = scattered(
        module, 7, [2, 3], i32(1, 0, 1, 1, 0, 1, 1), i64(2, 1, none, 0, none, 2, 0)
    )

    assert shares == [(0, -1, 0, 1), (0, 1, 1, 2), (1, -1, 2, 3), (1, 0, 3, 5), (1, 2, 5, 7)]
    assert indices == [4, 1, 2, 3, 6, 0, 5]


@pytest.mark.parametrize("large", [False, True])
@pytest.mark.parametrize("start", [0, 1, 9])
def test_keys_of_a_sliced_column_decide(module: ModuleType, start: int, large: bool) -> None:
    keys = [b"left out"] * start + [b"a", None, b"", b"longer than a word"]
    shares, indices = scattered(module, 4, [6], keys=binary(*keys, start=start, large=large))
    to = {row: partition for _, partition, begin, end in shares for row in indices[begin:end]}

    assert to == {
        0: twin.partition_of_key(b"a", 6),
        1: -1,
        2: twin.partition_of_key(b"", 6),
        3: twin.partition_of_key(b"longer than a word", 6),
    }


def test_no_rows_are_no_shares(module: ModuleType) -> None:
    assert scattered(module, 0, [3], b"", b"", binary()) == ([], [])
    assert scattered(module, 0, []) == ([], [])


def test_rows_without_anything_are_one_share(module: ModuleType) -> None:
    assert scattered(module, 3, [3]) == ([(0, -1, 0, 3)], [0, 1, 2])


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ((-1, [1]), "0 to 2147483647 rows are dealt out at once, not -1"),
        ((2**31, [1]), "0 to 2147483647 rows are dealt out at once, not 2147483648"),
        ((1, [1, 0]), "a topic has 1 partition or more, not 0"),
        ((1, [2**31 - 1]), "more than 2147483647 partitions"),
        ((2, [1], i32(0)), "column topic has 1 rows of 2"),
        ((2, [1], None, i32(0, 0)), "column partition has 1 rows of 2"),
        ((2, [1], None, None, binary(b"a")), "column key has 1 rows of 2"),
        ((1, [1], None, None, binary(b"a", start=1)), "column key has 0 rows of 1"),
        ((1, [1], None, None, binary(b"a", start=-1)), "column key starts at -1"),
        ((9, [1], None, None, BinaryColumn(i32(*[0] * 10), b"", b"\xff")), "has 8 rows of 9"),
        ((1, []), "row 0: topic 0 of 0"),
        ((2, [1, 1], i32(1, 2)), "row 1: topic 2 of 2"),
        ((2, [1, 1], i32(1, -1)), "row 1: topic -1 of 2"),
        ((2, [3], None, i64(2, 3)), "row 1: partition 3 of a topic with 3 partitions"),
        ((1, [3], None, i64(-1)), "row 0: partition -1 of a topic with 3 partitions"),
        ((1, [3], None, i64(2**32)), "row 0: partition 4294967296 of a topic with 3"),
        ((1, [3], None, None, BinaryColumn(i32(0, 2), b"a")), "row 0: its offsets lie outside"),
        ((1, [3], None, None, BinaryColumn(i32(-1, 0), b"a")), "row 0: its offsets lie outside"),
        ((1, [3], None, None, BinaryColumn(i32(1, 0), b"a")), "row 0: its offsets lie outside"),
    ],
)
def test_what_makes_no_sense_is_refused(
    module: ModuleType, arguments: tuple[Any, ...], words: str
) -> None:
    with pytest.raises(ValueError, match=words):
        module.scatter(*arguments)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ((2, [1], i32(0, 1)), "row 101: topic 1 of 1"),
        ((2, [1], None, i64(0, 1)), "row 101: partition 1 of a topic with 1 partitions"),
        ((2, [1], None, None, BinaryColumn(i32(0, 0, 2), b"a")), "row 101: its offsets lie outs"),
    ],
)
def test_an_error_counts_from_the_number_of_the_first_row(
    module: ModuleType, arguments: tuple[Any, ...], words: str
) -> None:
    with pytest.raises(ValueError, match=words):
        module.scatter(*arguments, first=100)


def test_a_key_whose_row_names_a_partition_is_not_looked_at(module: ModuleType) -> None:
    broken = BinaryColumn(i32(0, 99), b"")

    assert scattered(module, 1, [3], None, i64(2), broken) == ([(0, 2, 0, 1)], [0])


@both
@given(
    rows=st.lists(
        st.tuples(st.integers(0, 2), st.integers(-1, 3), st.none() | st.binary(max_size=9)),
        max_size=40,
    ),
    counts=st.lists(st.integers(1, 5), min_size=2, max_size=3),
    columns=st.tuples(st.booleans(), st.booleans(), st.booleans()),
    absent=st.integers(0, 3),
)
@settings(max_examples=200)
def test_both_deal_alike(
    rows: list[tuple[int, int, bytes | None]],
    counts: list[int],
    columns: tuple[bool, bool, bool],
    absent: int,
) -> None:
    assert compiled is not None
    named = (twin.NO_PARTITION if partition == absent else partition for _, partition, _ in rows)
    arguments = (
        len(rows),
        counts,
        i32(*(topic for topic, _, _ in rows)) if columns[0] else None,
        i64(*named) if columns[1] else None,
        binary(*(key for _, _, key in rows)) if columns[2] else None,
    )
    seen = []
    for each in (compiled, twin):
        try:
            seen.append(scattered(each, *arguments))
        except ValueError as problem:
            seen.append(str(problem))

    assert seen[0] == seen[1]
