"""Executors in processes of their own: every way to read and to write, and executors that die."""

from __future__ import annotations

import os
import signal
import uuid
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

pytest.importorskip("pyspark")

from tests.kafka.process import Process
from tests.spark import clusters
from tests.spark.clusters import Place, Standalone
from tests.spark.programs import held, kinds, query
from tests.spark.programs.told import Told, answered
from tests.spark.queries import Journal, places, wait
from tests.spark.topics import Topics

pytestmark = pytest.mark.timeout(400)

ALL_KINDS = tuple(kinds.WAYS)
SPECULATION = {
    "spark.speculation": "true",
    "spark.speculation.interval": "200ms",
    "spark.speculation.minTaskRuntime": "1s",
    "spark.speculation.multiplier": "1.5",
    "spark.speculation.quantile": "0.5",
}


@pytest.fixture(autouse=True)
def _with_spark(spark_here: None) -> None:
    """Skipped where Spark cannot be had."""


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Standalone]:
    """A master, and two workers on two hosts."""
    with clusters.standalone(tmp_path_factory.mktemp("standalone")) as started:
        yield started


@pytest.fixture
def told(topics: Topics, tmp_path: Path) -> Told:
    """What every program is told; its topics have two partitions."""
    shorts = [f"{what}-{uuid.uuid4().hex[:8]}" for what in ("source", "target")]
    for short in shorts:
        topics.create(short, 2)
    source, target = map(topics.name, shorts)
    kafka = {"kafka.bootstrap.servers": topics.bootstrap}
    return Told(folder=str(tmp_path), kafka=kafka, source=source, target=target)


def doing(told: Told, *what: str) -> Told:
    return Told(**{**vars(told), "what": what})


def short(topics: Topics, name: str) -> str:
    return name.removeprefix(f"{topics.stem}-")


def keys(topics: Topics, topic: str) -> list[int]:
    """Of all records there, in order."""
    return sorted(int(record.key or b"-1") for record in topics.read(short(topics, topic)))


def check_kinds(place: Place, told: Told, topics: Topics, *what: str) -> None:
    printed = clusters.run(place, kinds.__name__, doing(told, *what).as_argument())

    found = answered(printed)
    written = list(range(kinds.ROWS))
    assert keys(topics, told.source) == written
    assert sorted(map(int, found["read"])) == written
    if what == ALL_KINDS:
        counts = Counter(record.partition for record in topics.read(short(topics, told.source)))
        assert sorted(map(tuple, found["read_stream"])) == places(counts)
        assert sorted(map(int, found["read_rdd"])) == written
        assert keys(topics, told.target) == list(range(2 * kinds.ROWS))


def test_executors_of_another_process_write_and_read(
    topics: Topics, told: Told, tmp_path: Path
) -> None:
    with clusters.local_cluster(tmp_path) as place:
        check_kinds(place, told, topics, "write", "read")


@pytest.mark.spark_long
def test_a_local_cluster_does_all_kinds(topics: Topics, told: Told, tmp_path: Path) -> None:
    with clusters.local_cluster(tmp_path) as place:
        check_kinds(place, told, topics, *ALL_KINDS)


@pytest.mark.spark_long
def test_a_standalone_cluster_does_all_kinds(
    topics: Topics, told: Told, cluster: Standalone
) -> None:
    check_kinds(cluster.place, told, topics, *ALL_KINDS)


# Executors that die.


class Running:
    """A program that is on its way."""

    def __init__(self, place: Place, module: str, told: Told) -> None:
        self._log = told.file("log")
        self.process: Process = clusters.start(place, self._log, module, told.as_argument())

    def wait_file(self, file: Path) -> None:
        wait(lambda: file.exists() or not self.process.is_running, self.log, 240)
        assert file.exists(), self.log()

    def wait_end(self) -> str:
        wait(lambda: not self.process.is_running, self.log, 240)
        return self._log.read_text(errors="replace")

    def log(self) -> str:
        return self._log.read_text(errors="replace")[-12_000:]


@pytest.fixture
def programs() -> Iterator[list[Running]]:
    """Those that are in it are ended."""
    started: list[Running] = []
    yield started
    for each in started:
        each.process.kill()


def executor_of(pid: int) -> int:
    """The JVM that a worker of Python belongs to."""
    while b"CoarseGrainedExecutorBackend" not in Path(f"/proc/{pid}/cmdline").read_bytes():
        status = Path(f"/proc/{pid}/status").read_text()
        pid = int(status.partition("PPid:")[2].split()[0])
        assert pid > 1, "it has no executor"
    return pid


def kill_executor(told: Told, cluster: Standalone) -> None:
    """The one whose task stands still."""
    pid = executor_of(int(told.file("held").read_text()))
    assert pid in cluster.executors()
    os.kill(pid, signal.SIGKILL)


@pytest.mark.spark_long
def test_nothing_is_lost_if_an_executor_is_killed_while_it_writes(
    topics: Topics, told: Told, cluster: Standalone, programs: list[Running]
) -> None:
    program = Running(cluster.place, held.__name__, doing(told, "write"))
    programs.append(program)
    program.wait_file(told.file("held"))
    written = set(range(held.ROWS // 2))  # by the task that stands still, if it did not
    wait(lambda: bool(written & {*keys(topics, told.source)}), program.log)
    assert not written <= {*keys(topics, told.source)}, "it is not on the way, but done"

    kill_executor(told, cluster)

    answered(program.wait_end())
    assert {*keys(topics, told.source)} == set(range(held.ROWS))


@pytest.mark.spark_long
def test_nothing_is_lost_or_read_twice_if_an_executor_is_killed_while_it_reads(
    topics: Topics, told: Told, cluster: Standalone, programs: list[Running]
) -> None:
    half, source = held.ROWS // 2, short(topics, told.source)
    for partition in (0, 1):
        for i in range(half):
            topics.send(source, b"%d" % i + held.SIZE * b".", partition=partition, i=i)
    topics.flush()
    program = Running(cluster.place, held.__name__, doing(told, "read"))
    programs.append(program)
    program.wait_file(told.file("held"))

    kill_executor(told, cluster)

    found = answered(program.wait_end())["found"]
    assert sorted(map(tuple, found)) == places({0: half, 1: half})


@pytest.mark.spark_long
def test_nothing_is_lost_if_a_copy_of_a_task_overtakes_it(
    topics: Topics, told: Told, cluster: Standalone, programs: list[Running]
) -> None:
    place = Place(cluster.place.master, {**cluster.place.settings, **SPECULATION})
    program = Running(place, held.__name__, doing(told, "write"))
    programs.append(program)

    seconds = answered(program.wait_end())["seconds"]

    assert told.file("held").exists()
    assert told.file("attempt-0-1").exists()
    assert seconds < held.HELD_SECONDS
    assert {*keys(topics, told.source)} == set(range(held.ROWS))


# A driver that dies.


@pytest.mark.spark_long
def test_queries_whose_process_is_killed_go_on_where_they_were(
    topics: Topics, told: Told, cluster: Standalone, programs: list[Running]
) -> None:
    journal, values = Journal(told.file("journal")), set()
    for first, enough in ((0, 100), (300, 400)):  # in the middle of what there is then
        topics.produce(short(topics, told.source), {0: 200, 1: 100}, first=first)
        values |= {f"0:{i}" for i in range(first, first + 200)}
        values |= {f"1:{i}" for i in range(first, first + 100)}
        programs.append(Running(cluster.place, query.__name__, told))
        journal.wait(enough, 120)
        os.killpg(programs[-1].process.pid, signal.SIGKILL)  # its JVM, too
        programs[-1].wait_end()
    before = len(journal.kept())
    programs.append(Running(cluster.place, query.__name__, told))

    journal.wait(600, 120)
    wait(lambda: written(topics, told.target) == values, programs[-1].log)

    assert before < 600
    assert journal.kept() == places({0: 400, 1: 200})
    journal.check_tries()


def written(topics: Topics, topic: str) -> set[str]:
    return {(record.value or b"").decode() for record in topics.read(short(topics, topic))}
