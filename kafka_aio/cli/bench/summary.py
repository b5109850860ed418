"""What has come of a benchmark: medians and spread of each client, and ratios to ours. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from statistics import median
from typing import Any, Final, Self

from kafka_aio.cli.bench.clients import CEILING, OURS, Client
from kafka_aio.cli.bench.plan import Workload
from kafka_aio.cli.output import table

_NEAR: Final = 0.8

Times = Mapping[str, float]
"""Seconds: p50 and others."""

KEYS: Final = (
    "workload    what was done: the options of the command",
    "clients     for each: name, version (text or null), repetitions (how many are a result);",
    "            medians: records_per_second, megabytes_per_second, cpu_seconds_per_million,",
    "            memory_bytes; null without a loop, and where single records are timed:",
    "            stall_seconds, tick_seconds (from one tick of a 1 ms timer to the next: an object",
    "            of p50, p99, p999, longest); callback_seconds (null without --watch, or an object",
    "            of the same); latency_seconds (null, or an object: p50, p99, p999); spread (of",
    "            the records per second: greatest less least, by the median); ratio (null for",
    "            ourselves, or an object, above 1 where we are the better: records_per_second,",
    "            cpu_seconds_per_million, p50, p99); errors (texts)",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """One run of one client, as its worker has told it."""

    records: int
    bytes: int
    seconds: float
    cpu_seconds: float
    memory_bytes: int
    stall_seconds: float | None = None
    ticks: Times | None = None
    callbacks: Times | None = None
    latency: Times | None = None
    failures: int = 0
    error: str = ""

    @classmethod
    def of(cls, result: Mapping[str, Any]) -> Self:
        return cls(**result)

    @property
    def rate(self) -> float:
        return self.records / self.seconds

    @property
    def cpu(self) -> float:
        """Seconds for a million records."""
        return self.cpu_seconds / self.records * 1e6


@dataclass(frozen=True, slots=True, kw_only=True)
class Summary:
    """The runs of one client: medians."""

    client: Client
    repetitions: int
    """How many runs are a result; if none, there are no numbers."""
    rate: float | None = None
    spread: float | None = None
    """Of the rates: the greatest less the least, by the median."""
    megabytes: float | None = None
    cpu: float | None = None
    memory_bytes: int | None = None
    stall: float | None = None
    ticks: Times | None = None
    callbacks: Times | None = None
    latency: Times | None = None
    errors: Sequence[str] = ()

    @classmethod
    def of(cls, client: Client, outcomes: Iterable[Measured | Exception]) -> Self:
        every = list(outcomes)
        runs = [each for each in every if isinstance(each, Measured)]
        errors = [str(each) for each in every if isinstance(each, Exception)]
        if not runs:
            return cls(client=client, repetitions=0, errors=errors)
        rates = [run.rate for run in runs]
        stalls = [run.stall_seconds for run in runs if run.stall_seconds is not None]
        return cls(
            client=client,
            repetitions=len(runs),
            rate=median(rates),
            spread=(max(rates) - min(rates)) / median(rates),
            megabytes=median(run.bytes / run.seconds / 1e6 for run in runs),
            cpu=median(run.cpu for run in runs),
            memory_bytes=round(median(run.memory_bytes for run in runs)),
            stall=median(stalls) if stalls else None,
            ticks=_medians(run.ticks for run in runs),
            callbacks=_medians(run.callbacks for run in runs),
            latency=_medians(run.latency for run in runs),
            errors=errors,
        )

    def percentile(self, name: str) -> float | None:
        return self.latency[name] if self.latency else None

    def ratios(self, ours: Summary | None) -> dict[str, float | None]:
        """How much better we are, in each respect: above 1 we are."""
        if ours is None or ours is self:
            return {}
        return {
            "records_per_second": _ratio(ours.rate, self.rate),
            "cpu_seconds_per_million": _ratio(self.cpu, ours.cpu),
            **{
                name: _ratio(self.percentile(name), ours.percentile(name))
                for name in ("p50", "p99")
            },
        }

    def document(self, ours: Summary | None) -> dict[str, Any]:
        return {
            "name": self.client.name,
            "version": self.client.version or None,
            "repetitions": self.repetitions,
            "records_per_second": _rounded(self.rate, 0),
            "spread": _rounded(self.spread, 3),
            "megabytes_per_second": _rounded(self.megabytes, 2),
            "cpu_seconds_per_million": _rounded(self.cpu, 3),
            "memory_bytes": self.memory_bytes,
            "stall_seconds": _rounded(self.stall, 6),
            "tick_seconds": _all_rounded(self.ticks),
            "callback_seconds": _all_rounded(self.callbacks),
            "latency_seconds": _all_rounded(self.latency),
            "ratio": {name: _rounded(each, 3) for name, each in self.ratios(ours).items()} or None,
            "errors": list(self.errors),
        }


def summaries(outcomes: Mapping[Client, Iterable[Measured | Exception]]) -> list[Summary]:
    return [Summary.of(client, runs) for client, runs in outcomes.items()]


def document(workload: Workload, found: Sequence[Summary]) -> dict[str, Any]:
    """For `--json`."""
    ours = ours_of(found)
    return {
        "workload": asdict(workload),
        "clients": [summary.document(ours) for summary in found],
    }


def lines(found: Sequence[Summary]) -> list[str]:
    """For people: a table, without the columns in which nobody has a value."""
    ours = ours_of(found)
    rows = [_cells(summary, ours) for summary in found]
    names = [name for name in rows[0] if any(row[name] is not None for row in rows)]
    shown = table(names, [[row[name] for name in names] for row in rows])
    if any(name.startswith("x ") for name in names):
        shown += ["", "x: by how much kafka-aio is the better one."]
    full = _near_the_ceiling(found)
    if full:
        shown.append(f"Near the ceiling, so the broker is what is full: {', '.join(full)}.")
    return shown


def ours_of(found: Iterable[Summary]) -> Summary | None:
    return next((each for each in found if each.client == OURS and each.repetitions), None)


def _near_the_ceiling(found: Sequence[Summary]) -> list[str]:
    """Whom the broker has held up; where single records are timed it is always the broker."""
    ceiling = next((each.rate for each in found if each.client == CEILING), None)
    if any(each.latency for each in found):
        return []
    return [
        each.client.name
        for each in found
        if ceiling and each.rate and each.client != CEILING and each.rate > _NEAR * ceiling
    ]


def _cells(summary: Summary, ours: Summary | None) -> dict[str, object]:
    ratios = summary.ratios(ours)
    return {
        "client": " ".join(filter(None, [summary.client.name, summary.client.version])),
        "records/s": None if summary.rate is None else round(summary.rate),
        "spread": None if summary.spread is None else f"{summary.spread:.0%}",
        "MB/s": summary.megabytes,
        "CPU s/M": summary.cpu,
        **{
            f"{label} ms": _times(summary.percentile(name), 1e3)
            for name, label in (("p50", "p50"), ("p99", "p99"), ("p999", "p99.9"))
        },
        "memory MB": _times(summary.memory_bytes, 1e-6),
        "stall ms": _times(summary.stall, 1e3),
        "callback p99 ms": _times((summary.callbacks or {}).get("p99"), 1e3),
        "longest ms": _times((summary.callbacks or {}).get("longest"), 1e3),
        "x records/s": ratios.get("records_per_second"),
        "x CPU": ratios.get("cpu_seconds_per_million"),
        "x p50": ratios.get("p50"),
        "x p99": ratios.get("p99"),
    }


def _ratio(better: float | None, worse: float | None) -> float | None:
    return better / worse if better is not None and worse else None


def _rounded(value: float | None, digits: int) -> float | None:
    return None if value is None else round(value, digits)


def _all_rounded(times: Times | None) -> dict[str, float] | None:
    return {name: round(value, 6) for name, value in times.items()} if times else None


def _medians(runs: Iterable[Times | None]) -> dict[str, float] | None:
    """Of the longest times the longest: one is enough to be held up."""
    found = [each for each in runs if each is not None]
    if not found:
        return None
    medians = {name: median(each[name] for each in found) for name in found[0]}
    if "longest" in medians:
        medians["longest"] = max(each["longest"] for each in found)
    return medians


def _times(value: float | None, factor: float) -> float | None:
    return None if value is None else value * factor
