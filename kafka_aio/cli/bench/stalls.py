"""How long an event loop is held up: by a timer that comes late, and by its single callbacks."""

from __future__ import annotations

import asyncio
from array import array
from asyncio.events import Handle
from collections.abc import Callable
from contextlib import suppress
from time import perf_counter, thread_time
from typing import Final

_TICK: Final = 0.001
_METHOD: Final = "_run"
"""Through this asyncio's own loop calls everything."""


class Ticker:
    """A timer of 1 ms on the loop at hand, if there is one, that is set again whenever it comes."""

    def __init__(self, *, is_wanted: bool = True) -> None:
        self.gaps = array("d")
        """Seconds from one time to the next."""
        self._longest = 0.0
        self._loop: asyncio.AbstractEventLoop | None = None
        self._timer: asyncio.TimerHandle | None = None
        if not is_wanted:
            return
        with suppress(RuntimeError):
            self._loop = asyncio.get_running_loop()
            self._wait()

    def _wait(self) -> None:
        assert self._loop is not None
        self._at = perf_counter() + _TICK
        self._timer = self._loop.call_later(_TICK, self._tick)

    def _tick(self) -> None:
        late = perf_counter() - self._at
        self._longest = max(self._longest, late)
        self.gaps.append(late + _TICK)
        self._wait()

    def ended(self) -> float | None:
        """The longest time that the loop has let it wait; None without a loop."""
        if self._timer is None:
            return None
        self._timer.cancel()
        return max(self._longest, perf_counter() - self._at)


class Callbacks:
    """What every callback of asyncio's own loop takes, in CPU time of its thread.

    While this is watched the loop is a little slower. The time of the wall is not looked at: on a
    machine with few cores it is that of other processes too.
    """

    def __init__(self, *, is_wanted: bool) -> None:
        self.seconds = array("d")
        self._run: Callable[[Handle], None] | None = None
        if is_wanted:
            self._begin()

    def _begin(self) -> None:
        run, took = Handle._run, self.seconds.append

        def watched(handle: Handle) -> None:
            began_at = thread_time()
            run(handle)
            took(thread_time() - began_at)

        self._run = run
        setattr(Handle, _METHOD, watched)

    def ended(self) -> None:
        if self._run is not None:
            setattr(Handle, _METHOD, self._run)
