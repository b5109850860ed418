"""The Spark connector beside its peers, on a real Kafka and a real Spark; and its goals.

    python -m benchmarks.spark [--only TEXT] [--rows N] [--rounds N] [-b HOST:PORT]

One node of Kafka, topics of 6 partitions, `local[2]`; rows have keys of 8 bytes, and values of 100
bytes like JSON with random fields. What is written is cached in the JVM, as text; each time it goes
to a new topic, and is counted there. What is read was written by the JVM connector, and its values
are used: their lengths are added up. All take turns, in another order in each round.

"JVM connector" is tuned as the goals say. It reads faster with short waits: see spark_rows.py.

CPU is that of Spark: its JVM, and its Python (driver, daemons, workers); not that of the broker.
"""

from __future__ import annotations

import argparse
import asyncio
import random
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from statistics import median
from typing import Any

from pyspark import StorageLevel
from pyspark.sql import DataFrame, SparkSession

from benchmarks import ratio, spark_session
from benchmarks.cases import cluster
from benchmarks.ratio import Row
from benchmarks.spark_ceiling import PARTITIONS, VALUE_BYTES
from benchmarks.spark_rows import (
    AIOKAFKA,
    CONFLUENT,
    DROPPED,
    ENCODED,
    FETCHED,
    GENERATED,
    JVM,
    JVM_DEFAULT,
    JVM_SHORT,
    OURS,
    OURS_DEFAULT,
    READERS,
    TUNED_WRITE,
    WRITERS,
    Place,
    Reader,
    Writer,
    register,
    rows_of,
    to_format,
    use,
)
from benchmarks.spark_session import CORES, Cpu, Meter
from kafka_aio import Admin, KafkaError, NewTopic, OffsetSpec, TopicPartition
from kafka_aio.cli.output import table

ROWS, ROUNDS, WARM_UPS = 1_000_000, 5, 2

GOALS = {
    ("write", AIOKAFKA): 10.0,
    ("write", CONFLUENT): 4.0,
    ("write", JVM): 1.0,
    ("read", JVM): 2.0,
    # Stated alone:
    ("write", JVM_DEFAULT): 0,
    ("write", DROPPED): 0,
    ("write", ENCODED): 0,
    ("read", JVM_SHORT): 0,
    ("read", JVM_DEFAULT): 0,
    ("read", GENERATED): 0,
    ("read", FETCHED): 0,
}
"""How many times as many rows a second as whom."""


@dataclass(frozen=True)
class Measured:
    """One run."""

    rows: int
    seconds: float
    cpu: Cpu

    @property
    def rate(self) -> float:
        return self.rows / self.seconds

    def per_million(self, part: str) -> float:
        """Seconds of CPU."""
        seconds: float = getattr(self.cpu, part)
        return seconds / self.rows * 1e6


@dataclass(frozen=True)
class Summary:
    """All runs of one: medians."""

    name: str
    runs: Sequence[Measured]

    @property
    def rate(self) -> float:
        return median(run.rate for run in self.runs)

    @property
    def spread(self) -> float:
        """Greatest less least, by the median."""
        rates = [run.rate for run in self.runs]
        return (max(rates) - min(rates)) / self.rate

    def cpu(self, part: str) -> float:
        return median(run.per_million(part) for run in self.runs)

    def document(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "rounds": len(self.runs),
            "rows": self.runs[0].rows,
            "rows_per_second": round(self.rate),
            "spread": round(self.spread, 3),
            "cpu_seconds_per_million": {
                part: round(self.cpu(part), 3) for part in ("total", "jvm", "python")
            },
        }


Turn = Callable[[], Measured]
Found = dict[str, dict[str, Summary]]
"""By what is done, and by who does it."""


class Bench:
    """A Spark, a Kafka, and what is written and read."""

    def __init__(self, spark: SparkSession, bootstrap: str, rows: int) -> None:
        self._spark = spark
        self._jvm = spark_session.jvm_of(spark)
        self._bootstrap = bootstrap
        self._topics = 0
        register(spark)
        self._rows = rows
        self._given = self._cached(rows)
        self._filled = self._fill()

    def _cached(self, rows: int) -> DataFrame:
        made = rows_of(self._spark, rows, CORES)
        text = made.selectExpr("cast(key as string) key", "cast(value as string) value")
        kept = text.persist(StorageLevel.MEMORY_ONLY)
        assert kept.count() == rows
        return kept

    def _fill(self) -> Place:
        place = self._new_place()
        to_format("kafka", **TUNED_WRITE)(self._given, place)
        return replace(place, ends=asyncio.run(ends_of(place)))

    def _new_place(self) -> Place:
        self._topics += 1
        place = Place(self._bootstrap, f"spark-{self._topics}-{time.time_ns() // 1_000_000}")
        asyncio.run(create(place))
        return place

    def write(self, writer: Writer) -> Measured:
        place = self._new_place()
        measured = self._measure(self._rows, lambda: writer.write(self._given, place))
        there = sum(asyncio.run(ends_of(place)))
        asyncio.run(delete(place))
        expected = 0 if writer.drops else self._rows
        if there != expected:
            raise RuntimeError(f"{writer.name}: {there} records are there, not {expected}")
        return measured

    def read(self, reader: Reader) -> Measured:
        found: list[tuple[int, int]] = []
        rows = self._filled.rows
        measured = self._measure(
            rows, lambda: found.append(use(reader.read(self._spark, self._filled)))
        )
        if found != [(rows, rows * VALUE_BYTES)]:
            raise RuntimeError(f"{reader.name}: {found} rows and bytes have come, of {rows} rows")
        return measured

    def _measure(self, rows: int, work: Callable[[], object]) -> Measured:
        spark_session.collect_garbage(self._spark)
        meter = Meter(self._jvm)
        began_at = time.perf_counter()
        work()
        seconds = time.perf_counter() - began_at
        return Measured(rows, seconds, meter.read())


async def create(place: Place) -> None:
    async with Admin(bootstrap_servers=place.bootstrap) as admin:
        new = NewTopic(place.topic, partitions=PARTITIONS, replication_factor=1)
        _check(await admin.create_topics([new]))


async def delete(place: Place) -> None:
    async with Admin(bootstrap_servers=place.bootstrap) as admin:
        _check(await admin.delete_topics([place.topic]))


async def ends_of(place: Place) -> list[int]:
    """How many records each partition has."""
    every = [TopicPartition(place.topic, number) for number in range(PARTITIONS)]
    async with Admin(bootstrap_servers=place.bootstrap) as admin:
        found = await admin.list_offsets(dict.fromkeys(every, OffsetSpec.latest()))
    _check(found)
    return [getattr(found[each], "offset", 0) for each in every]


def _check(found: dict[Any, Any]) -> None:
    for error in found.values():
        if isinstance(error, KafkaError):
            raise error


def measure(bench: Bench, only: str, rounds: int, warm_ups: int) -> Found:
    """All of them, taking turns."""
    turns = dict(_turns(bench, only))
    found: dict[tuple[str, str], list[Measured]] = defaultdict(list)
    for number in range(-warm_ups, rounds):
        called = f"round {number + 1} of {rounds}" if number >= 0 else "warm-up"
        order = list(turns)
        random.Random(number).shuffle(order)
        for what, name in order:
            run = turns[what, name]()
            print(f"{called}: {what}, {name}: {run.rate:,.0f} rows/s", flush=True)
            if number >= 0:
                found[what, name].append(run)
    summaries: Found = {"write": {}, "read": {}}
    for what, name in turns:
        summaries[what][name] = Summary(name, found[what, name])
    return summaries


def _turns(bench: Bench, only: str) -> Iterator[tuple[tuple[str, str], Turn]]:
    for writer in WRITERS:
        if only in f"write, {writer.name}":
            yield ("write", writer.name), lambda writer=writer: bench.write(writer)  # type: ignore[misc]  # its type is known
    for reader in READERS:
        if only in f"read, {reader.name}":
            yield ("read", reader.name), lambda reader=reader: bench.read(reader)  # type: ignore[misc]  # its type is known


def verdicts(found: Found) -> list[Row]:
    """Ours beside each of the others, in rows a second and in CPU."""
    rows = []
    for (what, name), goal in GOALS.items():
        if not {OURS, name} <= found[what].keys():
            continue
        ours, theirs = found[what][OURS], found[what][name]
        if not goal and name == JVM_DEFAULT:
            ours = found[what].get(OURS_DEFAULT, ours)
        row = Row(
            name=f"{what}{', defaults' if ours.name == OURS_DEFAULT else ''}",
            peer_name=name,
            ours=ours.rate,
            peer=theirs.rate,
            goal=goal,
            unit="rows/s",
        )
        cpu = replace(row, ours=ours.cpu("total"), peer=theirs.cpu("total"), goal=0, unit="CPU s/M")
        rows += [row, cpu]
    return rows


def lines(what: str, summaries: Sequence[Summary]) -> list[str]:
    """For people."""
    names = (what, "rows/s", "spread", "CPU s/M", "JVM", "Python", "rows", "rounds")
    return table(
        names,
        [
            (
                each.name,
                round(each.rate),
                f"{each.spread:.0%}",
                *(each.cpu(part) for part in ("total", "jvm", "python")),
                each.runs[0].rows,
                len(each.runs),
            )
            for each in summaries
        ],
    )


def options() -> argparse.Namespace:
    form = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.spark", description=__doc__, formatter_class=form
    )
    parser.add_argument("-b", "--bootstrap", help="a cluster that runs, instead of one of its own")
    parser.add_argument(
        "--only", default="", help='those with this in "write, NAME" or "read, NAME"; not saved'
    )
    parser.add_argument("--rows", type=int, default=ROWS, help=f"{ROWS:,} if not given")
    parser.add_argument("--rounds", type=int, default=ROUNDS, help="that count, after a warm-up")
    parser.add_argument("--warm-ups", type=int, default=WARM_UPS, help="rounds that do not count")
    return parser.parse_args()


def main() -> None:
    """Measure, print, and write benchmarks/results/spark.json."""
    wanted = options()
    from tests.kafka import jars  # late: --help needs no JDK

    with (
        cluster(wanted.bootstrap) as (bootstrap, kafka),
        spark_session.session(jars.spark_connector()) as spark,
    ):
        print(f"{kafka}, Spark {spark.version}: caching {wanted.rows:,} rows", flush=True)
        bench = Bench(spark, bootstrap, wanted.rows)
        found = measure(bench, wanted.only, wanted.rounds, wanted.warm_ups)
        version = spark.version
    for what, summaries in found.items():
        if summaries:
            print("", *lines(what, list(summaries.values())), sep="\n")
    rows = verdicts(found)
    print("", ratio.table(rows), sep="\n")
    if wanted.only:
        return
    measured = {
        what: [each.document() for each in summaries.values()] for what, summaries in found.items()
    }
    saved = ratio.save("spark", rows, kafka=kafka, spark=version, measured=measured)
    print(f"written to {saved.relative_to(ratio.RESULTS.parent.parent)}")


if __name__ == "__main__":
    main()
