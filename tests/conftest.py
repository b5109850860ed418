"""Settings and fixtures of the whole suite."""

from __future__ import annotations

import os
import platform
import signal
import time
from collections import defaultdict
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

pytest_plugins = ["tests.kafka.fixtures", "tests.loops"]

# A shell starts what it runs in the background deaf to Ctrl-C, and so would be all that the tests
# start in their turn and then interrupt.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# CI repeats what was seen on a desk; `make fuzz` is where new inputs are looked for.
settings.register_profile("ci", derandomize=True, deadline=None, database=None)
settings.register_profile(
    "desk", deadline=None, suppress_health_check=[HealthCheck.too_slow], print_blob=True
)
# On other Pythons and without a compiler: what can differ there shows itself soon.
settings.register_profile("elsewhere", parent=settings.get_profile("ci"), max_examples=20)
settings.load_profile(
    os.environ.get("KAFKA_AIO_EXAMPLES") or ("ci" if os.environ.get("CI") else "desk")
)


# What is run as one piece, by one worker: tests that share their Kafka. Those that take longest
# come first, lest all wait for them in the end; then the other files, by how many tests they have.
PIECES = (
    (
        "tests/broker/test_faults.py",
        "tests/broker/test_consumer_groups.py",
        "tests/broker/test_launcher.py",
        "tests/broker/test_launcher_providers.py",
    ),
    ("tests/broker/", "tests/interop/test_partitions_of_keys.py"),
    ("tests/interop/test_", "tests/comparison/"),
    ("tests/interop/embedded/",),
    ("tests/packaging/",),
    ("tests/hostile/test_mutations.py",),
)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers() -> int:
    """With `-n auto`: half of the time, a test waits for a time-out or for another process."""
    return 2 * (os.cpu_count() or 1)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: object) -> object:
    """Deal out whole files, or several, so that what they share is built once.

    There is one build of the sdist: two in one checkout remove each other's files.
    `--dist loadgroup` would do, but xdist 3.8 cannot write its groups into the ids of pytest 9.2.
    """
    from xdist.scheduler import LoadScopeScheduling  # type: ignore[import-untyped]

    class Longest(LoadScopeScheduling):  # type: ignore[misc]  # it has no types
        """Begins with the pieces that take longest."""

        def _split_scope(self, nodeid: str) -> str:
            return _piece(nodeid)

        def _assign_work_unit(self, node: object) -> None:
            """Once it is filled, the queue is in order of size; sorting keeps that."""
            for piece in sorted(self.workqueue, key=_turn):
                self.workqueue.move_to_end(piece)
            super()._assign_work_unit(node)

    return Longest(config, log)


def _piece(nodeid: str) -> str:
    whole = (" ".join(parts) for parts in PIECES if nodeid.startswith(parts))
    return next(whole, nodeid.partition("::")[0])


def _turn(piece: str) -> int:
    names = [" ".join(parts) for parts in PIECES]
    return names.index(piece) if piece in names else len(names)


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
