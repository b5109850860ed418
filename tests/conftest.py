"""Settings and fixtures of the whole suite."""

from __future__ import annotations

import os
import platform
import time
from collections import defaultdict
from collections.abc import Generator, Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from tests.kafka import cluster, jars

# CI repeats what was seen on a desk; `make fuzz` is where new inputs are looked for.
settings.register_profile("ci", derandomize=True, deadline=None, database=None)
settings.register_profile(
    "desk", deadline=None, suppress_health_check=[HealthCheck.too_slow], print_blob=True
)
settings.load_profile("ci" if os.environ.get("CI") else "desk")


@pytest.fixture(scope="session")
def kafka_libs() -> Path:
    """The folder with Apache Kafka's jars. With CI set, their absence is a failure."""
    try:
        return jars.libs()
    except jars.JarsMissing as missing:
        if os.environ.get("CI"):
            pytest.fail(str(missing))
        pytest.skip(str(missing))


@pytest.fixture(scope="session")
def kafka(kafka_libs: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[cluster.Cluster]:
    """A real Apache Kafka of one node, for all tests of this process marked `kafka`."""
    with cluster.running(tmp_path_factory.mktemp("kafka")) as running:
        yield running


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if "kafka_libs" in getattr(item, "fixturenames", ()):
            item.add_marker("kafka")
            if not item.get_closest_marker("timeout"):  # the first one bears the start
                item.add_marker(pytest.mark.timeout(cluster.START_SECONDS + 60))


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: object) -> object:
    """Deal out whole files, so that what a module builds is built once; `interop` is one piece.

    So there is one broker, and one build of the sdist: two in one checkout remove each other's
    files. `--dist loadgroup` would do, but xdist 3.8 cannot write its groups into the ids of
    pytest 9.2.
    """
    from xdist.scheduler import LoadScopeScheduling  # type: ignore[import-untyped]

    scheduler = LoadScopeScheduling(config, log)
    scheduler._split_scope = lambda nodeid: (
        "interop" if nodeid.startswith("tests/interop/") else nodeid.partition("::")[0]
    )
    return scheduler


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item,
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    running = getattr(item, "funcargs", {}).get("kafka")
    if report.failed and isinstance(running, cluster.Cluster):
        report.sections.append(("the end of Kafka's log", running.log()))
    return report


class TimePerPart:
    """The table at the end of `make test`: its earlier parts, then the folders of the suite."""

    def __init__(self) -> None:
        self.start = time.monotonic()
        self.folders: defaultdict[str, float] = defaultdict(float)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        file = report.nodeid.partition("::")[0]
        folder = file.rpartition("/")[0]
        self.folders[file if folder == "tests" else folder] += report.duration

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        times = os.environ.get("KAFKA_AIO_TIMES")
        if times is None:
            return
        terminalreporter.section("time per part")
        for line in Path(times).read_text().splitlines():
            part, seconds = line.split("\t")
            terminalreporter.write_line(f"{float(seconds):7.1f} s  {part}")
        whole, python = time.monotonic() - self.start, platform.python_version()
        terminalreporter.write_line(f"{whole:7.1f} s  test-here (Python {python}), of it:")
        for folder, busy in sorted(self.folders.items()):
            terminalreporter.write_line(f"{busy:17.1f} s  {folder}")


def pytest_configure(config: pytest.Config) -> None:
    if not hasattr(config, "workerinput"):  # not a worker of xdist
        config.pluginmanager.register(TimePerPart())
