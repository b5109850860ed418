"""The loops of async tests and the guards around them (tests/loops.py), seen at work."""

from __future__ import annotations

import asyncio
import os
import re
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest

from tests import loops

ROOT = Path(__file__).parent.parent
LOOPS = ("asyncio", "uvloop")
# What the tests of leaky.py are to fail with; the others of it are to pass.
LEFT_BEHIND = {
    "task": "Task pending name='forgotten'",
    "task_without_owner": "Task pending",
    "connection": "socket:",
    "socket": "socket:",
    "socket_without_owner": "ResourceWarning: unclosed <socket",
    "socket_in_a_cycle": "ResourceWarning: unclosed <socket",
    "file": "/forgotten",
    "thread": "Thread(forgotten",
    "failure_of_a_task": "ValueError: nobody has seen this",
    "failure_of_a_task_in_a_cycle": "ValueError: nobody has seen this",
    "failure_of_a_callback": "invalid literal for int()",
    "coroutine": "RuntimeWarning: coroutine 'sleep' was never awaited",
}
BLOCKS = {
    "sleep": "time.sleep",
    "lookup": "socket.getaddrinfo",
    "certificates": "ssl.SSLContext.load_default_certs",
    "hash": "hashlib.pbkdf2_hmac",
    "file": "io.TextIOWrapper.read",
}


class Leaky:
    """One run of leaky.py: what it printed, and how each of its tests failed, if it did."""

    def __init__(self, report: Path) -> None:
        command = [sys.executable, "-m", "pytest", "tests/leaky.py", f"--junit-xml={report}"]
        alone = ["-p", "no:randomly", "-p", "no:cacheprovider"]
        both = {**os.environ, "KAFKA_AIO_LOOP": "both"}
        done = subprocess.run(
            [*command, *alone], cwd=ROOT, env=both, capture_output=True, text=True, check=False
        )
        self.output = done.stdout
        self.failures = {
            case.attrib["name"]: "\n".join(part.text or "" for part in case)
            for case in ElementTree.parse(report).iter("testcase")
        }


@pytest.fixture(scope="module")
def leaky(tmp_path_factory: pytest.TempPathFactory) -> Leaky:
    return Leaky(tmp_path_factory.mktemp("leaky") / "report.xml")


async def test_asyncio_is_in_debug_mode_and_uvloop_is_not() -> None:
    loop = asyncio.get_running_loop()

    assert loop.get_debug() == isinstance(loop, asyncio.BaseEventLoop)


@pytest.mark.parametrize("loop", LOOPS)
def test_an_async_test_runs_on_each_loop(leaky: Leaky, loop: str) -> None:
    assert leaky.failures[f"test_named[{loop}]"] == ""


def test_a_marked_test_runs_on_its_loop_alone(leaky: Leaky) -> None:
    runs = {name for name in leaky.failures if name.startswith("test_on_uvloop_alone")}

    assert runs == {"test_on_uvloop_alone"}
    assert leaky.failures["test_on_uvloop_alone"] == ""


@pytest.mark.parametrize("loop", LOOPS)
def test_a_test_that_cleans_up_passes(leaky: Leaky, loop: str) -> None:
    assert leaky.failures[f"test_clean[{loop}]"] == ""


@pytest.mark.parametrize("loop", LOOPS)
@pytest.mark.parametrize(("leak", "words"), LEFT_BEHIND.items(), ids=LEFT_BEHIND)
def test_what_a_test_leaves_behind_is_its_failure(
    leaky: Leaky, leak: str, words: str, loop: str
) -> None:
    assert words in leaky.failures[f"test_{leak}[{loop}]"]


@pytest.mark.parametrize("loop", LOOPS)
def test_a_test_that_fails_is_not_blamed_for_what_it_could_not_close(
    leaky: Leaky, loop: str
) -> None:
    failures = leaky.failures[f"test_failed[{loop}]"]

    assert "as such" in failures
    assert "left behind" not in failures


@pytest.mark.parametrize("loop", LOOPS)
def test_a_test_that_hangs_is_ended(leaky: Leaky, loop: str) -> None:
    ends = "Timeout|Event loop stopped"

    assert re.search(ends, leaky.failures[f"test_that_hangs[{loop}]"])


def test_of_a_test_that_hangs_each_task_is_shown_with_its_stack(leaky: Leaky) -> None:
    assert leaky.output.count("    await asyncio.Event().wait()  # for ever") == len(LOOPS)


@pytest.mark.parametrize(("call", "name"), BLOCKS.items(), ids=BLOCKS)
def test_the_product_may_not_block_the_loop(leaky: Leaky, call: str, name: str) -> None:
    assert f"Blocking call to {name}" in leaky.failures[f"test_block[asyncio-{call}]"]


@pytest.mark.parametrize("name", ["test_block_in_a_thread", "test_block_of_a_test"])
def test_threads_and_tests_may_block(leaky: Leaky, name: str) -> None:
    assert leaky.failures[f"{name}[asyncio]"] == ""


def test_one_loop_can_be_chosen_for_a_whole_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KAFKA_AIO_LOOP", "uvloop")

    assert loops.loops_of_the_run() == {"uvloop"}


def test_a_loop_that_is_not_there_cannot_be_chosen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KAFKA_AIO_LOOP", "trio")

    with pytest.raises(pytest.UsageError, match="asyncio, uvloop or both"):
        loops.loops_of_the_run()


@pytest.mark.loop("asyncio")
def test_a_marked_test_is_skipped_where_its_loop_does_not_run(
    request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KAFKA_AIO_LOOP", "uvloop")
    loops.pytest_collection_modifyitems([request.node])

    assert request.node.get_closest_marker("skip") is not None


def test_a_marker_that_names_no_loop_is_refused(request: pytest.FixtureRequest) -> None:
    request.node.add_marker(pytest.mark.loop("trio"))

    with pytest.raises(pytest.UsageError, match="the marker is loop"):
        loops.loops_of_the_test(request.node)
