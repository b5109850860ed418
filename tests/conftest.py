"""Settings and fixtures of the whole suite."""

from __future__ import annotations

import os
import platform
import time
from collections import defaultdict
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

pytest_plugins = ["tests.kafka.fixtures", "tests.loops"]

# CI repeats what was seen on a desk; `make fuzz` is where new inputs are looked for.
settings.register_profile("ci", derandomize=True, deadline=None, database=None)
settings.register_profile(
    "desk", deadline=None, suppress_health_check=[HealthCheck.too_slow], print_blob=True
)
settings.load_profile("ci" if os.environ.get("CI") else "desk")


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: object) -> object:
    """Deal out whole files, so that what a module builds is built once.

    `interop` is one piece and `broker` another: each has its Kafka, and there is one build of the
    sdist: two in one checkout remove each other's files. `--dist loadgroup` would do, but xdist
    3.8 cannot write its groups into the ids of pytest 9.2.
    """
    from xdist.scheduler import LoadScopeScheduling  # type: ignore[import-untyped]

    scheduler = LoadScopeScheduling(config, log)
    scheduler._split_scope = _piece
    return scheduler


def _piece(nodeid: str) -> str:
    pieces = ("tests/interop/", "tests/broker/")
    whole = (folder for folder in pieces if nodeid.startswith(folder))
    return next(whole, nodeid.partition("::")[0])


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
