"""What a call says for the rows that do not, and how errors name a row."""

from __future__ import annotations

from types import ModuleType
from typing import Any

import pytest

pa = pytest.importorskip("pyarrow")

from kafka_aio.producer import rows  # noqa: E402 - it needs pyarrow
from tests.unit.producer.test_rows import (  # noqa: E402 - as above
    NOW,
    PAIR,
    VALUES,
    batch,
    codec,
    names,
    portions_of,
    refused,
    scattered,
)

__all__ = ["codec"]  # a fixture

KEYS = pa.array([b"%d" % number for number in range(8)], pa.binary())
MANY = pa.array([b"v"] * 9001, pa.binary())


def test_the_default_partition_goes_before_keys(codec: ModuleType) -> None:
    expected = {("t", 4): names(range(8))}

    assert scattered(codec, batch(value=VALUES), default=4) == expected
    assert scattered(codec, batch(value=VALUES, key=KEYS), default=4) == expected


def test_the_default_partition_is_for_rows_that_name_none(codec: ModuleType) -> None:
    partitions = pa.array([4, None, 5, None, 4, 0, None, 4], pa.int32())

    # In the order of the table, whether a row names the partition or not.
    assert scattered(codec, batch(value=VALUES, key=KEYS, partition=partitions), default=4) == {
        ("t", 4): names([0, 1, 3, 4, 6, 7]),
        ("t", 5): names([2]),
        ("t", 0): names([5]),
    }


def test_the_default_partition_is_that_of_each_topic(codec: ModuleType) -> None:
    data = batch(value=VALUES, key=KEYS, topic=pa.array(["a", "b"] * 4))

    assert scattered(codec, data, {"a": 6, "b": 9}, default=4) == {
        ("a", 4): names([0, 2, 4, 6]),
        ("b", 4): names([1, 3, 5, 7]),
    }


@pytest.mark.parametrize(
    ("times", "expected"),
    [
        (pa.array([5, None, 7, 8], pa.int64()), [5, None, 7, 8]),
        (pa.array([5, None, 7, 8], pa.timestamp("s")), [5_000, None, 7_000, 8_000]),
        (pa.array([5_999, None, 7_000, 8_001], pa.timestamp("us")), [5, None, 7, 8]),
        (pa.nulls(4), [None] * 4),
        (None, [None] * 4),
    ],
    ids=["int64", "s", "us", "null", "no column"],
)
def test_the_timestamp_of_a_row_can_be_told_of_each_place(
    codec: ModuleType, times: Any, expected: list[int | None]
) -> None:
    columns = {} if times is None else {"timestamp": times}
    partitions = pa.array([1, 0, 0, 1], pa.int32())
    portions = portions_of(
        batch(value=VALUES.slice(0, 4), partition=partitions, **columns), {"t": 2}
    )
    told = {
        portion.row_at(place): portion.time_at(place)
        for portion in portions
        for place in range(portion.start, portion.stop)
    }

    assert [told[row] for row in range(4)] == expected


def test_a_topic_that_is_not_utf8_is_refused_by_its_row() -> None:
    topics = pa.array([b"t"] * 9000 + [b"\xff"], pa.binary())
    data = batch(value=MANY, topic=topics)

    refused(data, "^row 9000: the topic is not UTF-8$")
    refused(pa.Table.from_batches([data.slice(0, 100), data]), "^row 9100: the topic is not UTF-8$")


def test_bytes_that_are_not_utf8_and_that_no_row_names_are_no_topic(codec: ModuleType) -> None:
    topics = pa.DictionaryArray.from_arrays(pa.array([1] * 8), pa.array([b"\xff", b"t"]))

    assert scattered(codec, batch(value=VALUES, topic=topics)) == {("t", None): names(range(8))}


def test_a_timestamp_that_is_out_of_range_is_refused_by_its_row() -> None:
    times = pa.array([0] * 9000 + [2**63], pa.uint64())

    refused(batch(value=MANY, timestamp=times), f"^row 9000: {2**63} as uint64 is out of range")


def test_the_first_row_of_each_topic_is_known() -> None:
    topics = pa.array(["a"] * 8192 + ["b", "b", "a"] + ["c"] * 806)
    first, second = rows.blocks(batch(value=MANY, topic=topics), None)

    assert [first.name_of(name) for name in first.topics] == ["row 0"]
    assert [second.name_of(name) for name in "abc"] == ["row 8194", "row 8192", "row 8195"]


def test_a_row_whose_size_cannot_be_told_is_named_by_its_number_in_the_table(
    codec: ModuleType,
) -> None:
    headers = pa.array([[]] * 9000 + [[{"key": None, "value": b"1"}]], pa.list_(PAIR))
    portion = portions_of(batch(value=MANY, headers=headers), {"t": 1})[-1]

    assert portion.name_at(portion.stop - 1) == "row 9000"
    with pytest.raises(ValueError, match=r"^row 9000: the key of a header is null$"):
        portion.size_at(portion.stop - 1)
    with pytest.raises(ValueError, match=r"^row 9000: the key of a header is null$"):
        portion.append_to(codec.BatchBuilder(1 << 20), portion.start, NOW)
