"""Spark on several JVMs: `local-cluster`, and a standalone master with its workers, on loopback.

A session on one of them is opened in a process of its own: a test's own process has one already.
`start` runs a program there, which calls `session`.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from tests.kafka.node import free_ports
from tests.kafka.process import Process
from tests.spark import sessions

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

START_SECONDS = 90
RUN_SECONDS = 240

# Executors that are small, and import the checkout's modules.
SETTINGS = {
    "spark.executor.memory": "512m",
    "spark.executor.cores": "1",
    "spark.executorEnv.PYTHONPATH": str(sessions.CHECKOUT),
}

_PLACE = "KAFKA_AIO_SPARK_PLACE"  # of a program: a `Place` in JSON


class ProgramFailed(Exception):
    """A program ended with an error or not at all; the message ends with what it printed."""


@dataclass(frozen=True)
class Place:
    """Where a session runs.

    Attributes:
        master: What its `master` is told.
        settings: What it is told besides.
        home: Spark's own folder, if it is not that of the package.
    """

    master: str = sessions.LOCAL
    settings: Mapping[str, str] = field(default_factory=dict)
    home: str | None = None


@contextmanager
def local_cluster(folder: Path, workers: int = 2) -> Iterator[Place]:
    """Executors in JVMs of their own, under the driver's; they end with it."""
    place = f"local-cluster[{workers},1,1024]"
    yield Place(place, SETTINGS, home=str(_home(folder / "home")))


def _home(folder: Path) -> Path:
    """Spark's folder by links: workers under the driver write into it, and not into the package."""
    import pyspark

    folder.mkdir(parents=True, exist_ok=True)
    for part in Path(pyspark.__file__).parent.iterdir():
        if not (folder / part.name).exists():
            (folder / part.name).symlink_to(part)
    return folder


class Daemon:
    """A master or a worker: a JVM that can be killed, and what it printed."""

    def __init__(self, main: str, *arguments: str, host: str, folder: Path) -> None:
        import pyspark

        home = Path(pyspark.__file__).parent
        folder.mkdir(parents=True, exist_ok=True)
        self._log = folder / "daemon.log"
        self.process = Process(
            [str(home / "bin" / "spark-class"), f"org.apache.spark.deploy.{main}", *arguments],
            environment={
                **os.environ,
                **sessions.environment(host),
                "SPARK_HOME": str(home),
                "SPARK_WORKER_DIR": str(folder),
                "SPARK_DAEMON_MEMORY": "256m",
                "SPARK_DAEMON_JAVA_OPTS": sessions.QUICK,
                "SPARK_NO_DAEMONIZE": "1",
            },
            log=self._log,
        )

    @property
    def pid(self) -> int:
        """That of the JVM: the script becomes it."""
        return self.process.pid

    def log(self, last: int = 8_000) -> str:
        return self._log.read_text(errors="replace")[-last:]

    def wait(self, words: str) -> None:
        """Until it has printed them."""
        deadline = time.monotonic() + START_SECONDS
        while words not in self.log(last=200_000):
            assert self.process.is_running, f"it ended:\n{self.log()}"
            assert time.monotonic() < deadline, f"no {words!r} in time:\n{self.log()}"
            time.sleep(0.1)


@dataclass(frozen=True)
class Standalone:
    """A master, and workers of one core each, every one of them on another host of loopback.

    Spark does not run a task twice at a time on one host, so hosts have to be two to see that.
    """

    place: Place
    master: Daemon
    workers: Sequence[Daemon]

    def executors(self) -> dict[int, int]:
        """The pid of each executor, and the number of the worker that it belongs to."""
        return {
            pid: number
            for number, worker in enumerate(self.workers)
            for pid in executors(worker.pid)
        }


@contextmanager
def standalone(
    folder: Path, workers: int = 2, *, settings: Mapping[str, str] | None = None
) -> Iterator[Standalone]:
    """A master and workers that are ended with what they have started."""
    (port,) = free_ports(1)
    master = f"spark://{sessions.HOST}:{port}"
    place = Place(master, {**SETTINGS, **(settings or {})})
    with ExitStack() as ends:
        first = _master(folder / "master", port)
        ends.callback(first.process.stop)
        first.wait("I have been elected leader")
        others = []
        for number in range(1, workers + 1):
            others.append(_worker(folder / f"worker-{number}", f"127.0.0.{number}", master))
            ends.callback(others[-1].process.stop)
        for worker in others:
            worker.wait("Successfully registered with master")
        yield Standalone(place, first, others)


def _master(folder: Path, port: int) -> Daemon:
    where = ("--host", sessions.HOST, "--port", str(port), "--webui-port", "0")
    return Daemon("master.Master", *where, host=sessions.HOST, folder=folder)


def _worker(folder: Path, host: str, master: str) -> Daemon:
    where = ("--host", host, "--port", "0", "--webui-port", "0")
    size = ("--cores", "1", "--memory", "1g")
    return Daemon("worker.Worker", *where, *size, master, host=host, folder=folder)


def executors(parent: int) -> list[int]:
    """The pids of the executors that a JVM has started: a worker, or the driver of a local one."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            status, command = (folder / "status").read_text(), (folder / "cmdline").read_bytes()
        except OSError:  # it is gone
            continue
        if f"\nPPid:\t{parent}\n" in status and b"CoarseGrainedExecutorBackend" in command:
            found.append(int(folder.name))
    return sorted(found)


# Programs.


@contextmanager
def session(folder: Path) -> Iterator[SparkSession]:
    """The session of a program that was started by `start`."""
    place = Place(**json.loads(os.environ[_PLACE]))
    with sessions.running(folder, place.master, extra=place.settings, home=place.home) as spark:
        yield spark


def start(place: Place, log: Path, module: str, *arguments: str) -> Process:
    """Run `python -m module` in a process of its own, whose `session` is at that place."""
    return Process(_command(module, *arguments), environment=_environment(place), log=log)


def run(place: Place, module: str, *arguments: str) -> str:
    """What the program has written to its standard output, when it has ended well.

    Raises:
        ProgramFailed: It ended with an error, or went on for too long.
    """
    try:
        done = subprocess.run(
            _command(module, *arguments),
            env=_environment(place),
            capture_output=True,
            text=True,
            timeout=RUN_SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired as late:
        raise ProgramFailed(f"{module} went on for {RUN_SECONDS} s:\n{late.stderr!r}") from None
    if done.returncode:
        printed = f"{done.stdout[-4_000:]}\n{done.stderr[-8_000:]}"
        raise ProgramFailed(f"{module} ended with {done.returncode}:\n{printed}")
    return done.stdout


def _command(module: str, *arguments: str) -> list[str]:
    return [sys.executable, "-m", module, *arguments]


def _environment(place: Place) -> dict[str, str]:
    told = {"master": place.master, "settings": dict(place.settings), "home": place.home}
    return {**os.environ, **sessions.environment(), _PLACE: json.dumps(told)}
