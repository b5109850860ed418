"""The producer beside its peers on a real Kafka: every row of the table "Produce", and its goals.

    python -m benchmarks.produce [--only TEXT] [--seconds N] [--repetitions N] [-b HOST:PORT]

One node with 6 partitions, warmed up; `kafka_aio.cli.bench` does the measuring. A goal is a ratio
to a peer of the same run. Where the ceiling of a row is below what the goal asks for, the broker is
what is full, and the goal is judged on the client's CPU for a million records instead.
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
from kafka_aio.cli.bench.clients import CEILING, OURS, peers
from kafka_aio.cli.bench.plan import Workload
from kafka_aio.cli.bench.rounds import Match, play
from kafka_aio.cli.bench.summary import Summary

CONFLUENT, AIOKAFKA, KAFKA_PYTHON = "confluent-kafka", "aiokafka", "kafka-python"
UNITS = {"rate": "records/s", "cpu": "CPU s/M", "p50": "us, p50", "p99": "us, p99"}
ONE_BY_ONE, TASKS, MANY = "one call per record", "1,000 tasks", "many in one call"


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
class Case:
    """A row of the table: what is measured, with whom, and what is to be reached."""

    name: str
    workload: Workload
    peers: tuple[str, ...]
    goals: tuple[Goal, ...]


def case(name: str, peers: Sequence[str], *goals: Goal, **options: object) -> Case:
    workload = Workload(loop="uvloop", **options)  # type: ignore[arg-type]  # checked by its class
    return Case(name, workload, tuple(peers), goals)


CASES = (
    case(
        ONE_BY_ONE,
        (CONFLUENT, AIOKAFKA, KAFKA_PYTHON),
        Goal(1.5, (CONFLUENT,)),
        Goal(1.5, (CONFLUENT,), "cpu"),
        Goal(6, (AIOKAFKA,)),
        Goal(6, (AIOKAFKA,), "cpu"),
    ),
    case(
        TASKS,
        (CONFLUENT, AIOKAFKA),
        Goal(4, (CONFLUENT,)),
        Goal(4, (AIOKAFKA,)),
        Goal(3, (CONFLUENT,), "p99"),
        Goal(3, (AIOKAFKA,), "p99"),
        kind="tasks",
    ),
    case(
        "20,000 tasks",
        (AIOKAFKA,),
        Goal(0.8, (OURS.name,), row=TASKS),
        kind="tasks",
        tasks=20_000,
    ),
    case(MANY, (CONFLUENT, AIOKAFKA), Goal(4, (CONFLUENT, AIOKAFKA)), path="many"),
    case("from Arrow columns", (), Goal(4, (CONFLUENT,), row=MANY), path="arrow"),
    case(
        "1 KiB, one call per record",
        (CONFLUENT, AIOKAFKA, KAFKA_PYTHON),
        Goal(1.2, (CONFLUENT,)),
        Goal(4, (AIOKAFKA,)),
        record_size=1024,
    ),
    case(
        "keyed, one call per record",
        (CONFLUENT, AIOKAFKA, KAFKA_PYTHON),
        Goal(1.4, (CONFLUENT,)),
        Goal(7, (AIOKAFKA,)),
        keyed=True,
    ),
    case("lz4", (CONFLUENT, AIOKAFKA), Goal(1, (CONFLUENT,)), codec="lz4"),
    case("zstd", (CONFLUENT, AIOKAFKA), Goal(1, (CONFLUENT,)), codec="zstd"),
    case(
        "one awaited record at a time",
        (CONFLUENT, AIOKAFKA, KAFKA_PYTHON),
        Goal(2, (AIOKAFKA,), "p50"),
        Goal(2, (AIOKAFKA,), "p99"),
        kind="latency",
        linger_ms=0,
    ),
)

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
                unknown.append(f"{each.name}, {UNITS[goal.measure]}: {' or '.join(goal.than)}")
    return rows, unknown


def verdict(case: Case, goal: Goal, found: Found) -> Row | None:
    """None where there is no figure of ours, or of theirs."""
    own = found.get(case.name, {})
    others = found.get(goal.row or case.name, {})
    theirs = [others[name] for name in goal.than if name in others]
    row = _row(case, goal, goal.measure, own.get(OURS.name), theirs)
    ceiling = own[CEILING.name].rate if CEILING.name in own else None
    if row is None or goal.measure != "rate" or ceiling is None or ceiling >= goal.times * row.peer:
        return row
    judged = _row(case, goal, "cpu", own.get(OURS.name), theirs)
    return judged and replace(judged, name=f"{case.name} (the broker is full)")


def _row(
    case: Case, goal: Goal, measure: str, ours: Summary | None, theirs: Sequence[Summary]
) -> Row | None:
    own = None if ours is None else figure(ours, measure)
    figures = {each.client.name: figure(each, measure) for each in theirs}
    known = {name: value for name, value in figures.items() if value is not None}
    if not own or not known:
        return None
    best = (max if measure == "rate" else min)(known, key=lambda name: known[name])
    return Row(
        name=case.name,
        peer_name=f"{best}, {goal.row}" if goal.row else best,
        ours=own,
        peer=known[best],
        goal=goal.times,
        unit=UNITS[measure],
    )


def figure(found: Summary, measure: str) -> float | None:
    if measure == "rate":
        return found.rate
    if measure == "cpu":
        return found.cpu
    seconds = found.percentile(measure)
    return None if seconds is None else seconds * 1e6


async def measure(
    cases: Sequence[Case], bootstrap: str, *, seconds: float, repetitions: int
) -> dict[str, list[Summary]]:
    """All rows, one after the other."""
    every, notes = peers()
    for note in notes:
        print(note)
    found: dict[str, list[Summary]] = {}
    async with Admin(bootstrap_servers=bootstrap) as admin:

        async def row(case: Case, repetitions: int) -> list[Summary]:
            match = Match(
                workload=replace(case.workload, seconds=seconds),
                clients=[OURS, CEILING, *(peer for peer in every if peer.name in case.peers)],
                connection={"bootstrap_servers": bootstrap},
                repetitions=repetitions,
            )
            return summary.summaries(await play(match, admin, terminal.show))

        await row(CASES[0], 1)  # not counted: a JVM compiles what is used often
        for each in cases:
            found[each.name] = await row(each, repetitions)
            print(f"\n{each.name}", *summary.lines(found[each.name]), sep="\n", flush=True)
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


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.produce", description=__doc__)
    parser.add_argument("-b", "--bootstrap", help="a cluster that runs, instead of one of its own")
    parser.add_argument("--only", default="", help="the rows with this in their names; not saved")
    parser.add_argument("--seconds", type=float, default=4.0)
    parser.add_argument("--repetitions", type=int, default=3)
    options = parser.parse_args()
    cases = [each for each in CASES if options.only in each.name]
    with cluster(options.bootstrap) as (bootstrap, kafka):
        found = asyncio.run(
            measure(cases, bootstrap, seconds=options.seconds, repetitions=options.repetitions)
        )
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
    saved = ratio.save("produce", rows, kafka=kafka, unknown=unknown, measured=measured)
    print(f"written to {saved.relative_to(ratio.RESULTS.parent.parent)}")


if __name__ == "__main__":
    main()
