"""A command of `kafka-aio` in a process of its own, while it runs on the embedded broker."""

from __future__ import annotations

import re
import signal
import subprocess
import time
from collections.abc import Callable
from typing import IO, Self

from kafka_aio.broker import BrokerThread
from tests.unit.cli.shell import COMMAND, ROOT

PATIENCE = 40


class Running:
    """The command, running."""

    def __init__(
        self,
        broker: BrokerThread,
        *words: object,
        stdin: int | IO[bytes] = subprocess.PIPE,
        stdout: int | IO[bytes] = subprocess.PIPE,
        stderr: int | IO[bytes] = subprocess.PIPE,
    ) -> None:
        argv = [*map(str, words), "-b", broker.bootstrap_servers]
        self.process = subprocess.Popen(
            [*COMMAND, *argv], cwd=ROOT, stdin=stdin, stdout=stdout, stderr=stderr
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc_info: object) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.process.communicate()

    @property
    def stdin(self) -> IO[bytes]:
        assert self.process.stdin is not None
        return self.process.stdin

    @property
    def stdout(self) -> IO[bytes]:
        assert self.process.stdout is not None
        return self.process.stdout

    def write(self, data: bytes) -> None:
        self.stdin.write(data)
        self.stdin.flush()

    def signal(self, number: int = signal.SIGINT) -> None:
        self.process.send_signal(number)

    def outcome(self) -> tuple[int, bytes, str]:
        """Its exit code, what it wrote, and what it said, without the time it took; stdin ends."""
        out, err = self.process.communicate(timeout=PATIENCE)
        return self.process.returncode, out, timeless(err.decode())


def timeless(text: str) -> str:
    return re.sub(r"\d+\.\d s\b", "_ s", text)


def wait_for(condition: Callable[[], bool]) -> None:
    until = time.monotonic() + 30
    while not condition():
        assert time.monotonic() < until
        time.sleep(0.01)
