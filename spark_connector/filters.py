"""What the filters of a query say about which records to read. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, Final

from pyspark.sql.datasource import (
    EqualTo,
    Filter,
    GreaterThan,
    GreaterThanOrEqual,
    In,
    LessThan,
    LessThanOrEqual,
)

from spark_connector.offsets import OffsetRange

_LARGEST: Final = 2**63 - 1


@dataclass(frozen=True)
class Bounds:
    """Which records can be in the answer."""

    partitions: frozenset[int] | None = None
    """None: all."""
    least_partition: int = 0
    most_partition: int = _LARGEST
    start: int = 0
    """The first offset."""
    end: int = _LARGEST
    """The offset after the last one."""
    since: int | None = None
    """In milliseconds: no older records. None: all."""

    @classmethod
    def of(cls, filters: Iterable[Filter]) -> tuple[Bounds, list[Filter]]:
        """What they say, all together, and those that Spark has to look at itself.

        Times are among these: younger records may stand before older ones, so a time says where to
        begin, but not that all after it are young enough.
        """
        bounds, left = cls(), []
        for each in filters:
            narrower = _narrowed(bounds, each)
            if narrower is None or each.attribute == ("timestamp",):  # type: ignore[attr-defined]
                left.append(each)
            bounds = narrower or bounds
        return bounds, left

    def has_partition(self, number: int) -> bool:
        """Whether anything of a partition is wanted."""
        is_named = self.partitions is None or number in self.partitions
        return is_named and self.least_partition <= number <= self.most_partition

    def cut(self, wanted: OffsetRange, first: int | None) -> OffsetRange:
        """What is left of a range.

        Args:
            wanted: The range.
            first: The offset of the first record that is not too old; None if all are.
        """
        begin = max(wanted.start, self.start, wanted.end if first is None else first)
        end = min(wanted.end, self.end)
        begin = min(begin, wanted.end)
        return replace(wanted, start=begin, end=max(begin, end))


def _narrowed(bounds: Bounds, given: Filter) -> Bounds | None:
    """The bounds with one more filter; None if it says nothing that we understand."""
    attribute: tuple[str, ...] = getattr(given, "attribute", ())
    narrow = _NARROW.get((attribute, type(given)))
    value = getattr(given, "value", None)
    if narrow is None or value is None:
        return None
    return narrow(bounds, value)


def _in(bounds: Bounds, numbers: Iterable[int]) -> Bounds:
    named = frozenset(numbers)
    return replace(
        bounds, partitions=named if bounds.partitions is None else named & bounds.partitions
    )


def _from(bounds: Bounds, offset: int) -> Bounds:
    return replace(bounds, start=max(bounds.start, offset))


def _before(bounds: Bounds, offset: int) -> Bounds:
    return replace(bounds, end=min(bounds.end, offset))


def _at_least(bounds: Bounds, number: int) -> Bounds:
    return replace(bounds, least_partition=max(bounds.least_partition, number))


def _at_most(bounds: Bounds, number: int) -> Bounds:
    return replace(bounds, most_partition=min(bounds.most_partition, number))


def _since(bounds: Bounds, time: object) -> Bounds | None:
    if not isinstance(time, datetime) or time.tzinfo is None:
        return None
    milliseconds = int(time.timestamp() * 1000)
    if milliseconds < 0:
        return None
    return replace(bounds, since=max(bounds.since or 0, milliseconds))


_Narrow = Callable[[Bounds, Any], Bounds | None]

_NARROW: Final[dict[tuple[tuple[str, ...], type[Filter]], _Narrow]] = {
    (("partition",), EqualTo): lambda bounds, value: _in(bounds, [value]),
    (("partition",), In): _in,
    (("partition",), GreaterThan): lambda bounds, value: _at_least(bounds, value + 1),
    (("partition",), GreaterThanOrEqual): _at_least,
    (("partition",), LessThan): lambda bounds, value: _at_most(bounds, value - 1),
    (("partition",), LessThanOrEqual): _at_most,
    (("offset",), EqualTo): lambda bounds, value: _before(_from(bounds, value), value + 1),
    (("offset",), GreaterThan): lambda bounds, value: _from(bounds, value + 1),
    (("offset",), GreaterThanOrEqual): _from,
    (("offset",), LessThan): _before,
    (("offset",), LessThanOrEqual): lambda bounds, value: _before(bounds, value + 1),
    (("timestamp",), EqualTo): _since,
    (("timestamp",), GreaterThan): _since,
    (("timestamp",), GreaterThanOrEqual): _since,
}
