"""A child process that can be paused and killed, and that does not outlive this one."""

from __future__ import annotations

import functools
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

END_SECONDS = 10

_GUARD = """
import contextlib, os, signal, sys

running = set()
for line in sys.stdin:
    running ^= {int(line)}
for pid in running:
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)
"""


class Process:
    """A running program, in a session of its own: Ctrl-C in a terminal is for pytest alone.

    Attributes:
        is_paused: Whether it was stopped by `pause` and has not been continued.
    """

    def __init__(self, command: Sequence[str], *, environment: Mapping[str, str], log: Path):
        with log.open("ab") as output:
            self._child = subprocess.Popen(
                command,
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                start_new_session=True,
            )
        _tell_guard(self._child.pid)
        self.is_paused = False

    @property
    def pid(self) -> int:
        return self._child.pid

    @property
    def is_running(self) -> bool:
        """A paused one runs too."""
        return self._child.poll() is None

    def pause(self) -> None:
        self._child.send_signal(signal.SIGSTOP)
        self.is_paused = True

    def resume(self) -> None:
        self._child.send_signal(signal.SIGCONT)
        self.is_paused = False

    def stop(self) -> None:
        """An orderly end; one that takes too long is cut short."""
        self._child.terminate()
        self.resume()  # a paused one would not hear it
        self._reap()

    def kill(self) -> None:
        """The end, at once, also of a paused one."""
        self._child.kill()
        self._reap()

    def _reap(self) -> None:
        try:
            self._child.wait(END_SECONDS)
        except subprocess.TimeoutExpired:
            self._child.kill()
            self._child.wait()
        _tell_guard(self._child.pid)


def _tell_guard(pid: int) -> None:
    """Tell the guard of a process that has started, and again when it has ended."""
    pipe = _guard().stdin
    assert pipe is not None
    pipe.write(b"%d\n" % pid)


@functools.cache
def _guard() -> subprocess.Popen[bytes]:
    """One for all processes of this one: it kills what is left of them when its pipe closes.

    That is when this process is gone, however it went.
    """
    return subprocess.Popen(
        [sys.executable, "-S", "-c", _GUARD],
        stdin=subprocess.PIPE,
        bufsize=0,
        start_new_session=True,
    )
