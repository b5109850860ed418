"""Spark on this machine, and the CPU that it takes."""

from __future__ import annotations

import os
import sys
from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from pyspark.sql import SparkSession

ROOT = Path(__file__).parent.parent
CORES = 2
_TICK = os.sysconf("SC_CLK_TCK")


@contextmanager
def session(jars: Sequence[Path]) -> Iterator[SparkSession]:
    """`local[2]`, with these jars for the JVM."""
    os.environ |= {
        "SPARK_LOCAL_IP": "127.0.0.1",
        "PYSPARK_PYTHON": sys.executable,
        # Workers import the benchmark's data sources, and the connector, from here.
        "PYTHONPATH": os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")])),
    }
    settings: dict[str, bool | float | int | str | None] = {
        "spark.jars": ",".join(map(str, jars)),
        "spark.driver.memory": "4g",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.log.level": "ERROR",
        "spark.sql.shuffle.partitions": str(CORES),
    }
    made = SparkSession.builder.master(f"local[{CORES}]").appName("benchmarks.spark")
    spark = made.config(map=settings).getOrCreate()
    try:
        yield spark
    finally:
        spark.stop()


def jvm_of(spark: SparkSession) -> int:
    """The process of the driver's JVM, which in local mode is that of the executor too."""
    return int(spark.sparkContext._gateway.proc.pid)  # type: ignore[union-attr]  # it was started


def collect_garbage(spark: SparkSession) -> None:
    """So that nobody pays for what others have left."""
    spark.sparkContext._jvm.System.gc()  # type: ignore[union-attr]  # it was started


@dataclass(frozen=True)
class Cpu:
    """Seconds, of the user and of the system."""

    jvm: float
    python: float
    """The driver's Python, the daemons of Spark, and their workers."""

    @property
    def total(self) -> float:
        return self.jvm + self.python


class Meter:
    """What Spark takes from now on, by its processes: this one, its JVM, and all below the JVM.

    A worker that ends on the way takes its seconds with it, as its daemon does not wait for it.
    Spark ends a worker after a minute in which it had nothing to do, so these are next to none.
    """

    def __init__(self, jvm: int) -> None:
        self._jvm = jvm
        self._before = self._seconds()

    def read(self) -> Cpu:
        spent = {
            process: seconds - self._before.get(process, 0)
            for process, seconds in self._seconds().items()
        }
        jvm = sum(seconds for (pid, _), seconds in spent.items() if pid == self._jvm)
        return Cpu(jvm, sum(spent.values()) - jvm)

    def _seconds(self) -> dict[tuple[int, int], float]:
        """By process: its number, which may be given again, and when it has started."""
        every = {pid: process for pid in _pids() if (process := _process(pid)) is not None}
        children = defaultdict(list)
        for pid, process in every.items():
            children[process.parent].append(pid)
        found = {}
        below = [self._jvm]
        while below:
            pid = below.pop()
            found[pid, every[pid].started] = every[pid].seconds
            below += children[pid]
        own = every[os.getpid()]
        return {**found, (os.getpid(), own.started): own.seconds}


@dataclass(frozen=True)
class _Process:
    parent: int
    seconds: float
    started: int


def _pids() -> Iterator[int]:
    return (int(name) for name in os.listdir("/proc") if name.isdigit())


def _process(pid: int) -> _Process | None:
    """None where it has just ended."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return None
    fields = text.rpartition(")")[2].split()  # its name may hold anything
    return _Process(int(fields[1]), (int(fields[11]) + int(fields[12])) / _TICK, int(fields[19]))
