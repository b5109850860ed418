"""`kafka-aio` as a process: signals, pipes, terminals, and threads that hang."""

from __future__ import annotations

import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import IO

import pytest

from tests.net import cli_peers
from tests.net.cli_peers import serving
from tests.net.server import HOST
from tests.net.test_cluster import refusing_port
from tests.unit.cli.shell import COMMAND, ROOT, at_terminal, spawn

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="signals and terminals of Unix")

DELETE = ("topics", "delete", "orders", "-b")
HANGING_LOOKUP = """
import os, socket, sys, time
def look_up(*_, **__):
    os.write(1, b"!")
    time.sleep(100)
socket.getaddrinfo = look_up
from kafka_aio.cli import main
sys.exit(main(sys.argv[1:]))
"""


def start(*argv: str, stdout: int | IO[bytes] = subprocess.PIPE) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [*COMMAND, *argv],
        cwd=ROOT,
        stdin=subprocess.DEVNULL,
        stdout=stdout,
        stderr=subprocess.PIPE,
    )


def ended(process: subprocess.Popen[bytes]) -> tuple[int, str]:
    """The exit code, and what was said."""
    with process:
        assert process.stderr is not None
        said = process.stderr.read().decode()
    return process.returncode, said


def test_ctrl_c_ends_it_without_a_traceback() -> None:
    connected = threading.Event()

    def attend(connection: object) -> None:
        connected.set()
        cli_peers.says_nothing(connection)  # type: ignore[arg-type]  # it is a socket

    with serving(attend) as address:
        process = start("ping", "-b", address, "--timeout", "40")
        assert connected.wait(20)
        began_at = time.monotonic()
        process.send_signal(signal.SIGINT)
        code, said = ended(process)

    assert (code, said) == (130, "kafka-aio: error: interrupted\n")
    assert time.monotonic() - began_at < 5


def test_a_reader_that_has_gone_is_no_error() -> None:
    process = start("--help")
    assert process.stdout is not None
    process.stdout.close()

    assert ended(process) == (141, "")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="a device of Linux")
def test_a_full_disk_is_an_error() -> None:
    with Path("/dev/full").open("wb") as full:
        process = start("--help", stdout=full)

        assert ended(process) == (
            1,
            "kafka-aio: error: the result cannot be written: No space left on device\n",
        )


def test_the_module_runs_like_the_command() -> None:
    outcome = spawn("--version")

    assert (outcome.code, outcome.err) == (0, "")
    assert outcome.out.startswith("kafka-aio ")


def look_up_in_vain(timeout: str) -> subprocess.Popen[bytes]:
    """A process that has begun to look for a name, which takes longer than a test has."""
    argv = ["ping", "-b", "some.example:9092", "--timeout", timeout]
    process = subprocess.Popen(
        [sys.executable, "-c", HANGING_LOOKUP, *argv],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert process.stdout is not None
    assert process.stdout.read(1) == b"!"
    return process


def test_a_name_that_is_looked_up_in_vain_does_not_hold_the_process() -> None:
    process = look_up_in_vain("0.5")
    code, said = ended(process)

    assert code == 3
    assert "some.example:9092: the connection was not there within 0.5 s (--timeout)" in said


def test_ctrl_c_ends_a_look_up_in_vain() -> None:
    process = look_up_in_vain("50")
    process.send_signal(signal.SIGINT)

    assert ended(process) == (130, "kafka-aio: error: interrupted\n")


# Terminals.


@pytest.mark.parametrize("answer", ["n\n", "\n", "maybe\n", "\x04"])
def test_nothing_is_deleted_unless_somebody_says_yes(answer: str) -> None:
    address = f"{HOST}:{refusing_port()}"
    outcome = at_terminal(*DELETE, address, question="[y/N]", answer=answer)

    assert outcome.code == 1
    assert "Delete, with all records: orders? [y/N]" in outcome.err
    assert "kafka-aio: error: nothing was done" in outcome.err
    assert address not in outcome.err  # nothing was connected


def test_a_yes_goes_on() -> None:
    address = f"{HOST}:{refusing_port()}"
    outcome = at_terminal(*DELETE, address, "--timeout", 0.2, question="[y/N]", answer="yes\n")

    assert outcome.code == 3
    assert address in outcome.err


def test_a_line_tells_what_is_waited_for_and_goes_away() -> None:
    with serving(cli_peers.says_nothing) as address:
        outcome = at_terminal("ping", "-b", address, "--timeout", 2.2)

    assert outcome.code == 3
    assert f"\r\x1b[Kconnecting to {address} ... 1 s\r\x1b[K" in outcome.err
    assert outcome.err.rpartition("\r\x1b[K")[2].startswith("kafka-aio: error: ")


def test_without_a_terminal_there_is_no_such_line() -> None:
    with serving(cli_peers.says_nothing) as address:
        outcome = spawn("ping", "-b", address, "--timeout", "1.5")

    assert outcome.code == 3
    assert "connecting" not in outcome.err
    assert outcome.err.startswith("kafka-aio: error: ")
