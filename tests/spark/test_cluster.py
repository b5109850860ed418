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
HALF = held.ROWS // 2  # of what is written, or in each partition of a batch
OF_HELD_TASK = set(range(2 * HALF, 4 * HALF, 2))  # of a query; the keys of partition 0
MORE = 50  # for each partition, once the queries have gone on
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


def fill(topics: Topics, told: Told, count: int, *, first: int = 0) -> None:
    """The source: as many records in each of its partitions, each with a number as its key."""
    for partition in (0, 1):
        for i in range(first, first + count):
            key = b"%d" % (2 * i + partition)
            value = key.ljust(held.SIZE, b".")
            topics.send(short(topics, told.source), value, key=key, partition=partition, i=i)
    topics.flush()


def check_on_the_way(topics: Topics, topic: str, written: set[int], program: Running) -> None:
    """Some of what the task that stands still is to write is there, and not all."""
    wait(lambda: bool(written & {*keys(topics, topic)}), program.log)
    assert not written <= {*keys(topics, topic)}, "it is not on the way, but done"


@pytest.mark.spark_long
@pytest.mark.parametrize("way", ["write", "write_rdd"])
def test_nothing_is_lost_if_an_executor_is_killed_while_it_writes(
    way: str, topics: Topics, told: Told, cluster: Standalone, programs: list[Running]
) -> None:
    program = Running(cluster.place, held.__name__, doing(told, way))
    programs.append(program)
    program.wait_file(told.file("held"))
    check_on_the_way(topics, told.source, set(range(HALF)), program)

    kill_executor(told, cluster)

    answered(program.wait_end())
    assert told.file("attempt-0-1").exists()
    assert {*keys(topics, told.source)} == set(range(held.ROWS))


@pytest.mark.spark_long
@pytest.mark.parametrize("way", ["read", "read_rdd"])
def test_nothing_is_lost_or_read_twice_if_an_executor_is_killed_while_it_reads(
    way: str, topics: Topics, told: Told, cluster: Standalone, programs: list[Running]
) -> None:
    fill(topics, told, HALF)
    program = Running(cluster.place, held.__name__, doing(told, way))
    programs.append(program)
    program.wait_file(told.file("held"))

    kill_executor(told, cluster)

    found = answered(program.wait_end())["found"]
    assert told.file("attempt-0-1").exists()
    assert sorted(map(tuple, found)) == places({0: HALF, 1: HALF})


@pytest.mark.spark_long
@pytest.mark.parametrize("way", ["query_to_topic", "query_to_journal"])
def test_queries_go_on_and_lose_nothing_if_an_executor_is_killed_in_a_batch(
    way: str, topics: Topics, told: Told, cluster: Standalone, programs: list[Running]
) -> None:
    fill(topics, told, 3 * HALF)
    program = Running(cluster.place, held.__name__, doing(told, way))
    programs.append(program)
    program.wait_file(told.file("held"))
    if way == "query_to_topic":
        check_on_the_way(topics, told.target, OF_HELD_TASK, program)
    else:
        assert [batch for batch, _ in Journal(told.file("journal")).tries()] == [0]

    kill_executor(told, cluster)

    check_queries(topics, told, program)
    assert told.file("attempt-0-1").exists()
    twice = {key for key, count in Counter(keys(topics, told.target)).items() if count > 1}
    assert twice <= OF_HELD_TASK


def check_queries(topics: Topics, told: Told, program: Running) -> None:
    """They do what there is and what comes then; nothing is lost, and no batch comes again."""
    journal = Journal(told.file("journal"))
    wait_done(topics, told, program, 3 * HALF)
    fill(topics, told, MORE, first=3 * HALF)
    wait_done(topics, told, program, 3 * HALF + MORE)
    told.file("enough").touch()
    answered(program.wait_end())

    assert {*keys(topics, told.target)} == set(range(2 * (3 * HALF + MORE)))
    assert journal.kept() == places({0: 3 * HALF + MORE, 1: 3 * HALF + MORE})
    batches = dict(journal.tries())
    assert len(batches) == len(journal.tries())
    for number in range(3):
        assert batches[number] == places({0: HALF, 1: HALF}, first=number * HALF)


def wait_done(topics: Topics, told: Told, program: Running, count: int) -> None:
    """Until as many records of each partition have come to both ends."""

    def found() -> tuple[int, int]:
        kept = Journal(told.file("journal")).kept()
        return len(kept), len({*keys(topics, told.target)})

    def is_done() -> bool:
        assert program.process.is_running, program.log()
        # Before that is there, the whole topic has not to be read to know it.
        return told.file("checkpoint-topic/commits/2").exists() and min(found()) >= 2 * count

    wait(is_done, lambda: f"{found()} of {2 * count} each\n{program.log()}", 120)


# Tasks that are overtaken by a copy.


@pytest.fixture
def hasty(cluster: Standalone) -> Place:
    """A task that takes too long is begun once more, on the other host."""
    return Place(cluster.place.master, {**cluster.place.settings, **SPECULATION})


def check_overtaken(told: Told) -> None:
    """The task that stands still did not end, and its copy ran on the other host."""
    assert told.file("held").exists()
    assert not told.file("went-on").exists()
    assert told.file("attempt-0-0").read_text() != told.file("attempt-0-1").read_text()


@pytest.mark.spark_long
@pytest.mark.parametrize("way", ["write", "write_rdd"])
def test_nothing_is_lost_if_a_copy_of_a_task_overtakes_it(
    way: str, topics: Topics, told: Told, hasty: Place, programs: list[Running]
) -> None:
    program = Running(hasty, held.__name__, doing(told, way))
    programs.append(program)

    answered(program.wait_end())

    check_overtaken(told)
    assert {*keys(topics, told.source)} == set(range(held.ROWS))


@pytest.mark.spark_long
@pytest.mark.parametrize("way", ["read", "read_rdd"])
def test_nothing_is_lost_or_read_twice_if_a_copy_of_a_task_overtakes_it(
    way: str, topics: Topics, told: Told, hasty: Place, programs: list[Running]
) -> None:
    fill(topics, told, HALF)
    program = Running(hasty, held.__name__, doing(told, way))
    programs.append(program)

    found = answered(program.wait_end())["found"]

    check_overtaken(told)
    assert sorted(map(tuple, found)) == places({0: HALF, 1: HALF})


@pytest.mark.spark_long
@pytest.mark.parametrize("way", ["query_to_topic", "query_to_journal"])
def test_queries_go_on_and_lose_nothing_if_a_copy_of_a_task_overtakes_it_in_a_batch(
    way: str, topics: Topics, told: Told, hasty: Place, programs: list[Running]
) -> None:
    fill(topics, told, 3 * HALF)
    program = Running(hasty, held.__name__, doing(told, way))
    programs.append(program)
    program.wait_file(told.file("held"))

    check_queries(topics, told, program)
    check_overtaken(told)


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
