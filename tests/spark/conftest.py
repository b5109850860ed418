"""Real Spark as fixtures, started when first asked for, and the topics of the cases."""

from __future__ import annotations

import os
import time
import uuid
from collections.abc import Callable, Generator, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

import pytest

from tests.kafka import jars
from tests.kafka.cluster import Cluster
from tests.kafka.provider import Borrowed
from tests.spark import sessions
from tests.spark.topics import Topics, fill

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

HERE = Path(__file__).parent
WHICH = "KAFKA_AIO_SPARK"  # `long`: also what takes minutes
PEER = "KAFKA_AIO_SPARK_PEER"  # `jvm`: the table is checked on Spark's own connector
START_SECONDS = 120
SAID_SECONDS = 10  # a thread of the JVM brings it


def _missing(why: str) -> NoReturn:
    """With CI set, the absence of Spark is a failure."""
    if os.environ.get("CI"):
        pytest.fail(why, pytrace=False)
    pytest.skip(why)


@pytest.fixture(scope="session")
def peer() -> bool:
    """Whether Spark's own connector is at work in place of ours."""
    return os.environ.get(PEER) == "jvm"


@pytest.fixture(scope="session")
def spark_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the session has its files and its log."""
    return tmp_path_factory.mktemp("spark")


@pytest.fixture(scope="session")
def spark_here() -> None:
    """For what starts a Spark of its own: skipped where that cannot be had."""
    if why := sessions.missing():
        _missing(why)


@pytest.fixture(scope="session")
def spark(spark_here: None, peer: bool, spark_folder: Path) -> Iterator[SparkSession]:
    """The one session of this process, `local[2,4]`; in a run with the peer, it has its jars."""
    try:
        theirs = jars.spark_connector() if peer else []
    except jars.JarsMissing as missing:
        _missing(str(missing))
    with sessions.running(spark_folder, jars=theirs) as session:
        yield session


@pytest.fixture(scope="session")
def connector(peer: bool) -> str:
    """The format that the cases are run with."""
    return "kafka" if peer else "kafka_aio"


@pytest.fixture(scope="session")
def topics(kafka: Cluster | Borrowed) -> Iterator[Topics]:
    """The topics of the cases, and how to make others."""
    found = Topics(kafka.bootstrap, f"cases-{uuid.uuid4().hex[:8]}")
    try:
        fill(found)
        yield found
    finally:
        found.close()


@pytest.fixture
def spark_says(spark: SparkSession, spark_folder: Path) -> Callable[[str], bool]:
    """Whether the words are in what Spark's Python processes print in the time of the test."""
    before = len(sessions.printed(spark_folder))

    def says(words: str) -> bool:
        deadline = time.monotonic() + SAID_SECONDS
        while words not in (found := sessions.printed(spark_folder)[before:]):
            if time.monotonic() > deadline:
                return False
            time.sleep(0.05)
        return words in found

    return says


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if not item.path.is_relative_to(HERE):
            continue
        item.add_marker("spark")
        if not item.get_closest_marker("timeout"):  # the first one bears the starts
            item.add_marker(pytest.mark.timeout(START_SECONDS + 120))
        if item.get_closest_marker("spark_long") and os.environ.get(WHICH) != "long":
            item.add_marker(pytest.mark.skip(reason=f"for `make test-spark`, with {WHICH}=long"))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item,
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    folder = getattr(item, "funcargs", {}).get("spark_folder")
    if report.failed and folder is not None:
        report.sections.append(("the end of Spark's log", sessions.log(folder)))
    return report
