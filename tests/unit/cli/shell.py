"""`kafka-aio` as somebody at a shell sees it: called here, or in a process of its own."""

from __future__ import annotations

import json
import os
import pty
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from kafka_aio.cli import main

ROOT = Path(__file__).parents[3]
COMMAND = (sys.executable, "-m", "kafka_aio.cli")


class Outcome(NamedTuple):
    """How a command has ended."""

    code: int
    out: str
    err: str
    seconds: float

    @property
    def document(self) -> Any:
        """What `--json` has printed."""
        return json.loads(self.out)


def call(capsys: pytest.CaptureFixture[str], *argv: object) -> Outcome:
    """Run a command in this process."""
    capsys.readouterr()
    began_at = time.monotonic()
    code = main([str(word) for word in argv])
    seconds = time.monotonic() - began_at
    return Outcome(code, *capsys.readouterr(), seconds)


def spawn(*argv: object, environment: Mapping[str, str] | None = None) -> Outcome:
    """Run a command in a process of its own, without a terminal."""
    began_at = time.monotonic()
    done = subprocess.run(
        [*COMMAND, *map(str, argv)],
        cwd=ROOT,
        env=environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=60,
    )
    return Outcome(done.returncode, done.stdout, done.stderr, time.monotonic() - began_at)


def at_terminal(*argv: object, question: str = "", answer: str = "") -> Outcome:
    """Run a command that has a terminal; all it shows is in `err`.

    Args:
        argv: The arguments.
        question: When this is shown,
        answer: that is typed. Not before: what is typed ahead of a password is thrown away.
    """
    ours, theirs = pty.openpty()
    # Who leads a session that has no terminal gets the first one that it opens.
    take = ': <"$0"; exec "$@"'
    words = ["sh", "-c", take, os.ttyname(theirs), *COMMAND, *map(str, argv)]
    began_at = time.monotonic()
    with subprocess.Popen(
        words, cwd=ROOT, stdin=theirs, stdout=theirs, stderr=theirs, start_new_session=True
    ) as process:
        os.close(theirs)
        try:
            shown = _read_all(ours, question, answer)
        except BaseException:  # the time-out of a test
            process.kill()
            raise
        finally:
            os.close(ours)
    return Outcome(process.returncode, "", shown, time.monotonic() - began_at)


def _read_all(terminal: int, question: str, answer: str) -> str:
    shown = ""
    is_asked = not question
    while True:
        try:
            shown += os.read(terminal, 65_536).decode()
        except OSError:  # EIO: the process has closed it
            return shown
        if not is_asked and question in shown:
            is_asked = True
            os.write(terminal, answer.encode())


def keys_of(document: Any) -> Iterator[str]:
    """Every key of a document, wherever it is."""
    if isinstance(document, dict):
        yield from document
        document = list(document.values())
    if isinstance(document, list | tuple):
        for part in document:
            yield from keys_of(part)
