"""The bridge of the Spark connector beside a plain asyncio program that does the same.

    python -m benchmarks.bridge [-b HOST:PORT] [--rounds N] [--batches N]

Both send the same Arrow batches of 10,000 rows, 100 bytes each, from a list, to a real Kafka. The
one does it as a task of Spark's does, from a thread without a loop, and joins them to larger chunks
on the way; the other does it on the loop itself, has these chunks beforehand, and sends them by as
many calls, as many of them under way. They take turns in one process, each with a producer that
stays connected; the medians of their rounds count. The bridge may cost a tenth more.
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import statistics
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from operator import truediv

import pyarrow as pa
import uvloop

from benchmarks import ratio
from benchmarks.cases import cluster
from benchmarks.ratio import Row
from kafka_aio import Admin, Deliveries, NewTopic, Producer
from spark_connector.options import WriteOptions
from spark_connector.sending import WINDOW
from spark_connector.writer import PartitionWrite, chunks

TOPIC = "bridge"
PARTITIONS = 6
ROWS = 10_000
SIZE = 100
MOST = 1.1
"""How many times the plain program's figure ours may be."""


@dataclass
class Figures:
    """What each round of one side has cost."""

    wall: list[float] = field(default_factory=list)
    cpu: list[float] = field(default_factory=list)
    """Of all threads of this process."""

    def time(self, work: Callable[[], None]) -> None:
        gc.collect()
        wall, cpu = time.perf_counter(), time.process_time()
        work()
        self.wall.append(time.perf_counter() - wall)
        self.cpu.append(time.process_time() - cpu)


def batches(count: int) -> list[pa.RecordBatch]:
    values = [b"%0*d" % (SIZE, number) for number in range(ROWS)]
    batch = pa.record_batch({"value": pa.array(values, pa.binary())})
    return [batch] * count


def bridged(options: WriteOptions, every: list[pa.RecordBatch]) -> Callable[[], None]:
    write = PartitionWrite(options, ("value",))

    def work() -> None:
        assert write.run(iter(every)).rows == len(every) * ROWS

    return work


def plain(
    runner: asyncio.Runner, producer: Producer, every: list[pa.RecordBatch]
) -> Callable[[], None]:
    joined = [chunk.batch for chunk in chunks(every, ("value",), clock=time.monotonic)]

    async def send_all() -> None:
        under_way: deque[Deliveries] = deque()
        for chunk in joined:
            if len(under_way) == WINDOW:
                await under_way.popleft()
            under_way.append(await producer.submit_many(TOPIC, chunk))
        await producer.flush()
        for deliveries in under_way:
            await deliveries

    return lambda: runner.run(send_all())


def measure(bootstrap: str, *, rounds: int, count: int) -> tuple[Figures, Figures]:
    """The bridge's figures, and those of the plain program."""
    options = WriteOptions.parse({"kafka.bootstrap.servers": bootstrap, "topic": TOPIC})
    every = batches(count)
    ours, theirs = Figures(), Figures()
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        producer = runner.run(_opened(bootstrap, options.producer_options()))
        sides = [
            (ours, bridged(options, every)),
            (theirs, plain(runner, producer, every)),
        ]
        for number in range(-2, rounds):
            for figures, work in sides if number % 2 else reversed(sides):
                if number < 0:  # not counted: a JVM compiles what is used often
                    work()
                else:
                    figures.time(work)
        runner.run(producer.aclose())
    return ours, theirs


async def _opened(bootstrap: str, options: dict[str, str]) -> Producer:
    async with Admin(bootstrap_servers=bootstrap) as admin:
        await admin.create_topics([NewTopic(TOPIC, partitions=PARTITIONS)])
    producer = Producer.from_kafka(options)
    await producer.start()
    return producer


def rows(ours: Figures, theirs: Figures, count: int) -> list[Row]:
    found = []
    for name, mine, peer in (("wall", ours.wall, theirs.wall), ("CPU", ours.cpu, theirs.cpu)):
        found.append(
            Row(
                name=f"a task of Spark's, {name}",
                peer_name="plain asyncio",
                ours=statistics.median(mine) / (count * ROWS) * 1e9,
                peer=statistics.median(peer) / (count * ROWS) * 1e9,
                goal=1 / MOST,
                unit="ns for a row",
            )
        )
    return found


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.bridge", description=__doc__)
    parser.add_argument("-b", "--bootstrap", help="a cluster that runs, instead of one of its own")
    parser.add_argument("--rounds", type=int, default=61)
    parser.add_argument("--batches", type=int, default=60)
    options = parser.parse_args()
    with cluster(options.bootstrap) as (bootstrap, kafka):
        ours, theirs = measure(bootstrap, rounds=options.rounds, count=options.batches)
    found = rows(ours, theirs, options.batches)
    print(ratio.table(found))
    for row, mine, peer in zip(
        found, (ours.wall, ours.cpu), (theirs.wall, theirs.cpu), strict=True
    ):
        low, middle, high = statistics.quantiles(map(truediv, mine, peer), n=4)
        print(
            f"{row.name}: {row.ours / row.peer - 1:+.1%}, of {MOST - 1:+.0%} allowed; round by"
            f" round {middle - 1:+.1%}, half of them between {low - 1:+.1%} and {high - 1:+.1%}"
        )
    each_round = {
        name: {side: [round(each, 4) for each in getattr(figures, name)] for side, figures in both}
        for name in ("wall", "cpu")
        for both in [(("bridge", ours), ("plain", theirs))]
    }
    measured = {"batches": options.batches, "rows": ROWS, "seconds of each round": each_round}
    saved = ratio.save("bridge", found, kafka=kafka, measured=measured)
    print(f"written to {saved.relative_to(ratio.RESULTS.parent.parent)}")


if __name__ == "__main__":
    main()
