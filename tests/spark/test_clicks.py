"""`examples/clicks.py`: killed and begun again, it loses no click."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

pytest.importorskip("pyspark")

from examples import clicks
from kafka_aio.broker import BrokerThread
from tests.kafka.process import Process
from tests.spark import sessions

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

EXAMPLE = sessions.CHECKOUT / "examples" / "clicks.py"
PATIENCE = 180.0  # seconds, for what takes twenty on a quiet machine
NOON = datetime(2026, 11, 18, 12, tzinfo=UTC).timestamp()
Counts = dict[tuple[str, str], int]
"""By page and begin of the window."""


@pytest.fixture
def broker() -> Iterator[BrokerThread]:
    with BrokerThread(topics={"clicks": 2, "counts": 2}) as started:
        yield started


def expected(broker: BrokerThread, *, before: float) -> Counts:
    """What is to be counted of the clicks that are in Kafka, up to a time."""
    found: Counter[tuple[str, str]] = Counter()
    for record in broker.records("clicks"):
        click = json.loads(record.value or b"{}")
        when = datetime.fromisoformat(click["time"]).timestamp()
        begin = datetime.fromtimestamp(when - when % clicks.WINDOW, UTC)
        if when < before:
            found[click["page"], f"{begin:%Y-%m-%dT%H:%M:%S.000Z}"] += 1
    return dict(found)


class Written:
    """The counts that are in Kafka: by key, each as it was written, repeated or not."""

    def __init__(self, broker: BrokerThread) -> None:
        self.by_key: dict[bytes, list[bytes]] = {}
        for record in broker.records("counts"):
            assert record.key is not None
            assert record.value is not None
            self.by_key.setdefault(record.key, []).append(record.value)

    def once(self) -> Counts:
        """Each key once; those that came again have to be the same."""
        assert [values for values in self.by_key.values() if len(set(values)) > 1] == []
        found = [json.loads(values[0]) for values in self.by_key.values()]
        counts = {(each["page"], each["start"]): each["clicks"] for each in found}
        assert len(counts) == len(found), "a window has two keys"
        return counts


def wait(
    condition: Callable[[], bool], is_running: Callable[[], bool], what: Callable[[], str]
) -> None:
    until = time.monotonic() + PATIENCE
    while not condition():
        is_late = time.monotonic() > until or not is_running()
        assert not is_late or condition(), what()
        time.sleep(0.01)


# In the session of all tests: a query that is stopped.


def run_until(
    condition: Callable[[], bool], spark: SparkSession, broker: BrokerThread, checkpoint: Path
) -> None:
    kafka = {"bootstrap.servers": broker.bootstrap_servers}
    query = clicks.start(spark, kafka, checkpoint=str(checkpoint))
    try:
        wait(condition, lambda: query.isActive, lambda: f"{query.exception()} {query.lastProgress}")
    finally:
        query.stop()


@pytest.mark.timeout(400)
def test_counts_that_are_written_again_are_the_same_and_no_click_is_lost(
    spark: SparkSession, broker: BrokerThread, tmp_path: Path
) -> None:
    checkpoint = tmp_path / "checkpoint"
    broker.produce("clicks", [clicks.click("/home", NOON + n, "anna") for n in range(20)])
    broker.produce("clicks", [clicks.click("/cart", NOON + n, "bert") for n in range(26)])
    broker.produce("clicks", [b"not JSON"])
    # The first batch moves the watermark on, so that the second writes the counts it has closed.
    run_until((checkpoint / "commits" / "1").exists, spark, broker, checkpoint)
    first = Written(broker).once()
    # As if it had been killed between writing them and noting that.
    for name in ("1", ".1.crc"):
        (checkpoint / "commits" / name).unlink()
    broker.produce("clicks", [clicks.click("/home", NOON + n, "cleo") for n in (22, 45)])

    run_until(lambda: len(Written(broker).by_key) >= 6, spark, broker, checkpoint)

    written = Written(broker)
    closed_first = {
        ("/home", "2026-11-18T12:00:00.000Z"): 10,
        ("/home", "2026-11-18T12:00:10.000Z"): 10,
        ("/cart", "2026-11-18T12:00:00.000Z"): 10,
        ("/cart", "2026-11-18T12:00:10.000Z"): 10,
    }
    closed_then = {
        ("/home", "2026-11-18T12:00:20.000Z"): 1,
        ("/cart", "2026-11-18T12:00:20.000Z"): 6,
    }
    assert first == closed_first
    assert written.once() == closed_first | closed_then
    assert sorted(map(len, written.by_key.values())) == [1, 1, 2, 2, 2, 2]
    assert clicks.key_of("/cart", NOON + 25).encode() in written.by_key


# As processes of their own.


class Run:
    """`run` or `feed` as a process, and what it has printed."""

    def __init__(self, log: Path, words: Sequence[str]) -> None:
        self._log = log
        self.process = Process(
            [sys.executable, str(EXAMPLE), *words],
            environment={**os.environ, **sessions.environment()},
            log=log,
        )

    def wait(self, condition: Callable[[], bool], what: Callable[[], str] = str) -> None:
        wait(condition, lambda: self.process.is_running, lambda: f"{what()}\n{self.log()}")

    def log(self) -> str:
        return self._log.read_text(errors="replace")[-5_000:]

    def kill(self, *, java: bool) -> None:
        """Kill it; with `java`, its JVM as well, which otherwise ends when it notices."""
        if java:
            with suppress(ProcessLookupError):
                os.killpg(self.process.pid, signal.SIGKILL)
        self.process.kill()


class Shop:
    """Clicks that come in, and pipelines that count them."""

    def __init__(self, broker: BrokerThread, folder: Path) -> None:
        self.broker = broker
        self._folder = folder
        self._runs: list[Run] = []

    def start(self, mode: str) -> Run:
        words = [mode, "-b", self.broker.bootstrap_servers]
        if mode == "run":
            settings = {**sessions.settings(self._folder), "spark.master": "local[2]"}
            words += [word for pair in settings.items() for word in ("--conf", "=".join(pair))]
            words += ["--checkpoint", str(self._folder / "checkpoint")]
        started = Run(self._folder / f"{len(self._runs)}-{mode}.log", words)
        self._runs.append(started)
        return started

    def counts(self) -> int:
        return sum(self.broker.end_offsets("counts").values())

    def close(self) -> None:
        for each in self._runs:
            each.kill(java=True)


@pytest.fixture
def shop(broker: BrokerThread, tmp_path: Path) -> Iterator[Shop]:
    if why := sessions.missing():
        pytest.skip(why)
    opened = Shop(broker, tmp_path)
    try:
        yield opened
    finally:
        opened.close()


@pytest.mark.spark_long
@pytest.mark.timeout(600)
def test_a_pipeline_that_is_killed_again_and_again_loses_no_click(shop: Shop) -> None:
    feeder = shop.start("feed")
    # As soon as it has written counts, which it has not noted yet; and somewhere later.
    for later, java in [(0, True), (random.uniform(0, 3), True), (0, False)]:
        victim = shop.start("run")
        before = shop.counts()
        victim.wait(lambda: shop.counts() > before)  # noqa: B023 - called before the next
        time.sleep(later)
        victim.kill(java=java)
    feeder.kill(java=False)
    closing = int(time.time()) + 3_600  # a whole number: a fraction may be rounded on its way
    shop.broker.produce("clicks", [clicks.click("/home", closing, "nobody")])
    sent = expected(shop.broker, before=closing)

    last = shop.start("run")
    last.wait(
        lambda: Written(shop.broker).once().keys() >= sent.keys(),
        lambda: f"missing: {sorted(sent.keys() - Written(shop.broker).once().keys())}",
    )

    assert Written(shop.broker).once() == sent
    assert sum(sent.values()) > 10_000


@pytest.mark.spark_long
@pytest.mark.timeout(400)
def test_the_demo_kills_spark_loses_no_click_and_ends_by_itself() -> None:
    if why := sessions.missing():
        pytest.skip(why)
    done = subprocess.run(
        [sys.executable, str(EXAMPLE)],
        env={**os.environ, **sessions.environment()},
        capture_output=True,
        text=True,
        timeout=360,
        check=False,
    )

    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stderr == ""
    told = " ".join(done.stdout.split())
    assert "Spark is killed" in told
    assert "it has gone on where it was" in told.partition("Spark is killed")[2]
    assert "clicks were sent, and each was counted" in told


# Without Spark.


def said(words: Sequence[str], **environment: str) -> subprocess.CompletedProcess[str]:
    kept = {name: value for name, value in os.environ.items() if name != "JAVA_HOME"}
    return subprocess.run(
        [sys.executable, str(EXAMPLE), *words],
        env={**kept, "PYTHONPATH": str(sessions.CHECKOUT), **environment},
        capture_output=True,
        text=True,
        timeout=50,
        check=False,
    )


def test_without_java_it_says_what_to_install(tmp_path: Path) -> None:
    done = said([], PATH=str(tmp_path))

    assert done.returncode == 1
    assert done.stderr == "Spark needs Java: install a JDK 17 (`java -version` does not run)\n"


def test_with_an_old_java_it_says_so(tmp_path: Path) -> None:
    java = tmp_path / "bin" / "java"
    java.parent.mkdir()
    java.write_text("#!/bin/sh\necho 'openjdk version \"11.0.2\" 2019-01-15' >&2\n")
    java.chmod(0o755)

    done = said([], JAVA_HOME=str(tmp_path))

    assert (done.returncode, done.stderr) == (
        1,
        f"Spark needs Java 17 or newer, and `{java}` is 11\n",
    )


def test_without_pyspark_it_says_what_to_install(tmp_path: Path) -> None:
    (tmp_path / "pyspark.py").write_text("raise ModuleNotFoundError(\"No module named 'pyspark'\")")

    done = said([], PYTHONPATH=f"{tmp_path}{os.pathsep}{sessions.CHECKOUT}")

    assert done.returncode == 1
    assert done.stderr.startswith("This example needs pyspark 4.2 or newer")
    assert "No module named 'pyspark'" in done.stderr


@pytest.mark.parametrize(
    ("counted", "again", "is_right", "told"),
    [
        (3, 0, True, "3 clicks were sent, and each was counted. No count was written twice"),
        (3, 2, True, "2 counts were written twice"),
        (2, 0, False, "These counts are wrong: /home 2026-11-18T12:00:00Z: 2, sent 3"),
    ],
    ids=["right", "again", "lost"],
)
def test_the_demo_says_of_its_counts_what_is_true(
    capsys: pytest.CaptureFixture[str], counted: int, again: int, is_right: bool, told: str
) -> None:
    demo = clicks.Demo()
    demo.sent.update({clicks.key_of("/home", NOON + 7): 3})
    demo.counts.clicks = {"/home 2026-11-18T12:00:00Z": counted}
    demo.counts.again = again

    assert demo.conclude() == is_right
    assert told in " ".join(capsys.readouterr().out.split())
