"""Rows that `kafka_aio.cli.bench` measures on a real Kafka, beside the peers, and their goals.

    python -m benchmarks.produce [--only TEXT] [--seconds N] [--repetitions N] [-b HOST:PORT]

One node with 6 partitions, warmed up. A goal is a ratio to a peer of the same run, or a limit.
"""

from __future__ import annotations

import argparse
import asyncio
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from benchmarks import ratio
from benchmarks.ratio import Row
from kafka_aio import Admin
from kafka_aio.cli import terminal
from kafka_aio.cli.bench import summary
from kafka_aio.cli.bench.clients import CEILING, OURS, Client, peers
from kafka_aio.cli.bench.plan import Workload
from kafka_aio.cli.bench.rounds import Match, play
from kafka_aio.cli.bench.summary import Summary

CONFLUENT, AIOKAFKA, KAFKA_PYTHON = "confluent-kafka", "aiokafka", "kafka-python"
IDLE = Client("idle process", "benchmarks.idle")
"""Who does nothing, for comparison: by how much is a timer late on this machine anyway?"""
UNITS = {
    "rate": "records/s",
    "cpu": "CPU s/M",
    "p50": "us, p50",
    "p99": "us, p99",
    "callback": "ms, longest callback",
    "callback p99": "ms, p99 of callbacks",
    "tick p99": "ms, p99 of a 1 ms ticker",
}


@dataclass(frozen=True)
class Goal:
    """How many times better than others we are to be."""

    times: float
    than: tuple[str, ...]
    """Clients; the best of them counts."""
    measure: str = "rate"
    row: str = ""
    """Where their figures are, if not in the same row."""


@dataclass(frozen=True)
class Limit:
    """What a figure of ours is to be below."""

    below: float
    measure: str


@dataclass(frozen=True)
class Case:
    """A row of the table: what is measured, with whom, and what is to be reached."""

    name: str
    workload: Workload
    peers: tuple[str, ...]
    goals: tuple[Goal | Limit, ...]
    note: str = ""
    """What bounds the row; shown where a goal is not reached."""


def case(
    name: str,
    peers: Sequence[str],
    *goals: Goal | Limit,
    note: str = "",
    loop: str = "uvloop",
    **options: object,
) -> Case:
    workload = Workload(loop=loop, **options)  # type: ignore[arg-type]  # checked by its class
    return Case(name, workload, tuple(peers), goals, note)


Found = Mapping[str, Mapping[str, Summary]]
"""By row, and by client."""


def verdicts(cases: Sequence[Case], found: Found) -> tuple[list[Row], list[str]]:
    """Each goal with what was reached; and the goals that nothing can be said about."""
    rows: list[Row] = []
    unknown: list[str] = []
    for each in cases:
        for goal in each.goals:
            row = verdict(each, goal, found)
            if row is not None:
                rows.append(row)
            else:
                whom = f": {' or '.join(goal.than)}" if isinstance(goal, Goal) else ""
                unknown.append(f"{each.name}, {UNITS[goal.measure]}{whom}")
    return rows, unknown


def verdict(case: Case, goal: Goal | Limit, found: Found) -> Row | None:
    """None where there is no figure of ours, or of theirs.

    Where the ceiling of a row is below what a goal asks for, the broker is what is full, and the
    goal is judged on the client's CPU for a million records instead. No broker is full of who reads
    from it: it gives more than a gigabyte a second.
    """
    own = found.get(case.name, {})
    ours = own.get(OURS.name)
    if isinstance(goal, Limit):
        return _row(case, goal.measure, ours, {"the limit": goal.below})
    others = found.get(goal.row or case.name, {})
    theirs = [others[name] for name in goal.than if name in others]
    row = _row(case, goal.measure, ours, _figures(theirs, goal.measure), goal)
    ceiling = own[CEILING.name].rate if CEILING.name in own else None
    if row is None or goal.measure != "rate" or case.workload.reads:
        return row
    if ceiling is None or ceiling >= goal.times * row.peer:
        return row
    judged = _row(case, "cpu", ours, _figures(theirs, "cpu"), goal)
    return judged and replace(judged, name=f"{case.name} (the broker is full)")


def _figures(found: Sequence[Summary], measure: str) -> dict[str, float | None]:
    return {each.client.name: figure(each, measure) for each in found}


def _row(
    case: Case,
    measure: str,
    ours: Summary | None,
    theirs: Mapping[str, float | None],
    goal: Goal | None = None,
) -> Row | None:
    own = None if ours is None else figure(ours, measure)
    known = {name: value for name, value in theirs.items() if value is not None}
    if not own or not known:
        return None
    best = (max if measure == "rate" else min)(known, key=lambda name: known[name])
    return Row(
        name=case.name,
        peer_name=f"{best}, {goal.row}" if goal and goal.row else best,
        ours=own,
        peer=known[best],
        goal=goal.times if goal else 1,
        unit=UNITS[measure],
        note=case.note,
    )


def figure(found: Summary, measure: str) -> float | None:
    if measure == "rate":
        return found.rate
    if measure == "cpu":
        return found.cpu
    times, name, factor = {
        "callback": (found.callbacks, "longest", 1e3),
        "callback p99": (found.callbacks, "p99", 1e3),
        "tick p99": (found.ticks, "p99", 1e3),
    }.get(measure, (found.latency, measure, 1e6))
    return times[name] * factor if times else None


async def measure(
    cases: Sequence[Case], first: Case, bootstrap: str, *, seconds: float, repetitions: int
) -> dict[str, list[Summary]]:
    """All rows, one after the other."""
    every, notes = peers()
    every.append(IDLE)
    for note in notes:
        print(note)
    found: dict[str, list[Summary]] = {}
    async with Admin(bootstrap_servers=bootstrap) as admin:

        async def row(case: Case, repetitions: int) -> list[Summary]:
            ceiling = [] if case.workload.kind == "end-to-end" else [CEILING]
            match = Match(
                workload=replace(case.workload, seconds=seconds),
                clients=[OURS, *ceiling, *(peer for peer in every if peer.name in case.peers)],
                connection={"bootstrap_servers": bootstrap},
                repetitions=repetitions,
            )
            return summary.summaries(await play(match, admin, terminal.show))

        await row(first, 1)  # not counted: a JVM compiles what is used often
        for each in cases:
            found[each.name] = await row(each, repetitions)
            shown = [client for client in found[each.name] if client.client != IDLE]
            print(f"\n{each.name}", *summary.lines(shown), sep="\n", flush=True)
            for client in found[each.name]:
                print(*client.errors, sep="\n", end="\n" if client.errors else "", flush=True)
    return found


@contextmanager
def cluster(bootstrap: str | None) -> Iterator[tuple[str, str]]:
    """Where to write, and what it is."""
    if bootstrap is not None:
        yield bootstrap, "given"
        return
    from tests.kafka import jars  # late: a cluster that is given needs no JDK
    from tests.kafka.cluster import running

    with tempfile.TemporaryDirectory() as scratch, running(Path(scratch)) as kafka:
        yield kafka.bootstrap, f"Apache Kafka {jars.VERSION}, one node"


def main(name: str, about: str | None, every: Sequence[Case]) -> None:
    """Measure, print, and write benchmarks/results/NAME.json."""
    parser = argparse.ArgumentParser(prog=f"python -m benchmarks.{name}", description=about)
    parser.add_argument("-b", "--bootstrap", help="a cluster that runs, instead of one of its own")
    parser.add_argument("--only", default="", help="the rows with this in their names; not saved")
    parser.add_argument("--seconds", type=float, default=4.0)
    parser.add_argument("--repetitions", type=int, default=3)
    options = parser.parse_args()
    cases = [each for each in every if options.only in each.name]
    times = {"seconds": options.seconds, "repetitions": options.repetitions}
    with cluster(options.bootstrap) as (bootstrap, kafka):
        found = asyncio.run(measure(cases, every[0], bootstrap, **times))
    rows, unknown = verdicts(
        cases,
        {name: {each.client.name: each for each in row} for name, row in found.items()},
    )
    print("", ratio.table(rows), *(f"no figure: {each}" for each in unknown), sep="\n")
    if options.only:
        return
    measured = {
        name: [each.document(summary.ours_of(row)) for each in row] for name, row in found.items()
    }
    saved = ratio.save(name, rows, kafka=kafka, unknown=unknown, measured=measured)
    print(f"written to {saved.relative_to(ratio.RESULTS.parent.parent)}")
