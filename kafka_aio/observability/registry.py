"""Counters, gauges and histograms, by name and labels. Pure.

    sent = registry.counter("requests", "Requests sent.", node=1)
    sent.value += 1

Who counts asks for a metric once, and keeps it: on the way of a record nothing is looked up. Who
shows the numbers asks for a `snapshot`, which is plain values in an order that stays the same.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Callable
from dataclasses import dataclass, field
from enum import Enum
from typing import Final, TypeVar

Labels = tuple[tuple[str, str], ...]
"""Names and values, sorted by name."""

BOUNDS: Final = tuple(10 ** (step / 5) for step in range(-30, 51))
"""The upper ends of the buckets of every histogram, five for each power of ten: of seconds, from a
microsecond to three centuries; of bytes, up to 10 GB. What is larger falls into one more bucket."""

_NAME: Final = re.compile("[a-z][a-z0-9_]*")
_OTHER: Final = "other"


class Kind(Enum):
    """What a number means; the words are those of Prometheus."""

    COUNTER = "counter"
    GAUGE = "gauge"
    HISTOGRAM = "histogram"


class _Number:
    """A number that is kept here, or read where it is kept."""

    __slots__ = ("read", "value")

    def __init__(self) -> None:
        self.value: float = 0
        self.read: Callable[[], float] | None = None

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.now:g}>"

    @property
    def now(self) -> float:
        return self.value if self.read is None else self.read()


class Counter(_Number):
    """A number that only grows. It is as good to add to `value` itself, and cheaper."""

    __slots__ = ()

    def add(self, amount: float = 1) -> None:
        self.value += amount


class Gauge(_Number):
    """A number that goes up and down."""

    __slots__ = ()

    def set(self, value: float) -> None:
        self.value = value


class Histogram:
    """How often values fell between the bounds, and their sum."""

    __slots__ = ("counts", "sum")

    def __init__(self) -> None:
        self.counts = [0] * (len(BOUNDS) + 1)
        self.sum: float = 0

    def __repr__(self) -> str:
        return f"<Histogram of {sum(self.counts)}>"

    def observe(self, value: float) -> None:
        self.counts[bisect_left(BOUNDS, value)] += 1
        self.sum += value

    @property
    def now(self) -> Distribution:
        return Distribution(tuple(self.counts), self.sum)


@dataclass(frozen=True, slots=True)
class Distribution:
    """What a histogram had seen at some time."""

    counts: tuple[int, ...]
    """How many values were up to each of the `BOUNDS`, from the one before it; then the larger."""
    sum: float

    @property
    def count(self) -> int:
        return sum(self.counts)

    def quantile(self, part: float) -> float:
        """The value that `part` of all are at most: an estimate, off by a factor of 1.6 or less.

        Returns:
            The estimate; 0 where there are no values, the last bound where it is above that.

        Raises:
            ValueError: `part` is not from 0 to 1.
        """
        if not 0 <= part <= 1:
            raise ValueError(f"a quantile is from 0 to 1, not {part}")
        rank = part * self.count
        below = 0
        for bound, low, count in zip(BOUNDS, (0.0, *BOUNDS), self.counts, strict=False):
            if count and below + count >= rank:
                return low + (bound - low) * (rank - below) / count
            below += count
        return BOUNDS[-1] if below < self.count else 0.0


@dataclass(frozen=True, slots=True)
class Sample:
    """The number of one set of labels at some time."""

    labels: Labels
    value: float | Distribution


@dataclass(frozen=True, slots=True)
class Family:
    """All the numbers of one name at some time."""

    name: str
    kind: Kind
    help: str
    samples: tuple[Sample, ...]


Metric = Counter | Gauge | Histogram
M = TypeVar("M", Counter, Gauge, Histogram)

_KINDS: Final[dict[type[Metric], Kind]] = {
    Counter: Kind.COUNTER,
    Gauge: Kind.GAUGE,
    Histogram: Kind.HISTOGRAM,
}


@dataclass(slots=True)
class _Series:
    """The metrics of one name."""

    kind: Kind
    help: str
    label_names: tuple[str, ...]
    metrics: dict[Labels, Metric] = field(default_factory=dict)


class Registry:
    """The metrics of one client, or of several that have labels to tell them apart."""

    def __init__(self, *, max_series: int = 1_000) -> None:
        """Begin with none.

        Args:
            max_series: How many different labels a name may have. All beyond share one metric,
                whose labels are "other": who names topics after users does not fill the memory.
        """
        self._max_series = max_series
        self._series: dict[str, _Series] = {}

    def __repr__(self) -> str:
        metrics = sum(len(series.metrics) for series in self._series.values())
        return f"<Registry: {len(self._series)} names, {metrics} metrics>"

    def counter(
        self,
        name: str,
        help: str,
        /,
        *,
        read: Callable[[], float] | None = None,
        **labels: str | int,
    ) -> Counter:
        """The counter of that name and labels, always the same one.

        Args:
            name: What is counted, in snake case.
            help: A sentence about it.
            read: Gives the number when somebody looks, where it is counted elsewhere already.
            labels: What tells it from others of the name.

        Raises:
            ValueError: The name is another kind's, has other labels, or is not in snake case.
        """
        found = self._metric(Counter, name, help, labels)
        found.read = read or found.read
        return found

    def gauge(
        self,
        name: str,
        help: str,
        /,
        *,
        read: Callable[[], float] | None = None,
        **labels: str | int,
    ) -> Gauge:
        """The gauge of that name and labels; as `counter`."""
        found = self._metric(Gauge, name, help, labels)
        found.read = read or found.read
        return found

    def histogram(self, name: str, help: str, /, **labels: str | int) -> Histogram:
        """The histogram of that name and labels; as `counter`."""
        return self._metric(Histogram, name, help, labels)

    def snapshot(self) -> tuple[Family, ...]:
        """All numbers as they are now, in the order of names and labels."""
        return tuple(
            Family(
                name,
                series.kind,
                series.help,
                tuple(Sample(at, series.metrics[at].now) for at in sorted(series.metrics)),
            )
            for name, series in sorted(self._series.items())
        )

    def _metric(self, cls: type[M], name: str, help: str, given: dict[str, str | int]) -> M:
        labels = tuple(sorted((label, str(value)) for label, value in given.items()))
        series = self._series_of(_KINDS[cls], name, help, tuple(label for label, _ in labels))
        if labels not in series.metrics and len(series.metrics) >= self._max_series:
            labels = tuple((label, _OTHER) for label in series.label_names)
        found = series.metrics.setdefault(labels, cls())
        assert isinstance(found, cls)
        return found

    def _series_of(self, kind: Kind, name: str, help: str, label_names: tuple[str, ...]) -> _Series:
        series = self._series.get(name)
        if series is None:
            for each in (name, *label_names):
                if not _NAME.fullmatch(each):
                    raise ValueError(f"metric {name!r}: {each!r} is not in snake case")
            series = self._series[name] = _Series(kind, help, label_names)
        if series.kind is not kind:
            raise ValueError(f"metric {name!r} is a {series.kind.value}, not a {kind.value}")
        if series.label_names != label_names:
            raise ValueError(
                f"metric {name!r} has the labels {series.label_names}, not {label_names}"
            )
        return series
