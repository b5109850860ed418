"""Headers that are maps, and timestamps that are out of range."""

from __future__ import annotations

from types import ModuleType
from typing import Any

import pytest

from kafka_aio.records import arrow

pa = pytest.importorskip("pyarrow")

from tests.unit.records.test_arrow import LISTS, PAIR, appended, table  # noqa: E402 - as above

VALUES = pa.array([b"v%d" % index for index in range(len(LISTS))], pa.binary())
ROWS: list[Any] = LISTS
MAPS = [row and [(pair["key"], pair["value"]) for pair in row] for row in ROWS]


@pytest.mark.parametrize(
    "kind",
    [
        pa.map_(pa.string(), pa.binary()),
        pa.map_(pa.large_string(), pa.large_binary()),
        pa.map_(pa.binary(), pa.string()),
        pa.map_(pa.string_view(), pa.binary_view()),
        pa.map_(pa.dictionary(pa.int32(), pa.string()), pa.binary()),
    ],
    ids=str,
)
def test_headers_may_be_maps(codec: ModuleType, kind: Any) -> None:
    lists = pa.array(LISTS, pa.list_(PAIR))
    maps = pa.array(MAPS, pa.map_(pa.string(), pa.binary())).cast(kind)

    for start, length in ((0, 15), (1, 14), (3, 5), (14, 1), (15, 0)):
        values = VALUES.slice(start, length)
        taken = appended(codec, table(value=values, headers=maps.slice(start, length)))
        assert taken == appended(codec, table(value=values, headers=lists.slice(start, length)))


def test_maps_of_something_else_are_refused_by_name() -> None:
    maps = pa.array([[("a", 1)]], pa.map_(pa.string(), pa.int64()))

    with pytest.raises(ValueError, match=r"column headers\.value is int64"):
        arrow.to_rows(table(value=VALUES.slice(0, 1), headers=maps))


@pytest.mark.parametrize("number", [2**62, -(2**62), 2**63 // 1000 + 1])
def test_seconds_that_are_too_many_milliseconds_are_refused_by_their_row(number: int) -> None:
    times = pa.array([5, None, number], pa.timestamp("s", tz="Europe/Berlin"))

    with pytest.raises(ValueError, match=rf"^row 102: {number} as timestamp\[s, .* out of range"):
        arrow.to_rows(table(value=VALUES.slice(0, 3), timestamp=times), 100)


def test_integers_of_more_than_63_bits_are_refused_by_their_row() -> None:
    times = pa.array([0, 5, None, 2**63 - 1, 2**63], pa.uint64())

    with pytest.raises(ValueError, match=rf"^row 3: {2**63} as uint64 is out of range"):
        arrow.to_rows(table(value=VALUES.slice(0, 4), timestamp=times.slice(1)))
    assert arrow.milliseconds(times.slice(0, 4)).to_pylist() == [0, 5, None, 2**63 - 1]
