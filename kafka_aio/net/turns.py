"""Whose turn it is to send on a connection: first come, first served.

It is nobody's turn while as many requests are in flight as allowed, the socket is full, the broker
has asked for a pause (KIP-219), or one has the connection for itself (KIP-368). Whatever may change
that calls `let_in`, and whoever leaves the queue, for any reason, wakes the next.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

from kafka_aio.protocol.wire import Wire


class Turns:
    """The queue before a wire."""

    def __init__(self, wire: Wire[Any], max_in_flight: int) -> None:
        self.is_full = False
        """Whether the socket takes no more."""
        self.paused_until = 0.0
        """Until when the broker has asked us to pause; in the past, if it has not."""
        self.when_free: Callable[[], None] | None = None
        """Is called whenever it may have become the turn of who does not wait, and at the end.

        It only takes note: one who has just left the queue is to send first.
        """
        self._wire = wire
        self._max_in_flight = max_in_flight
        self._loop = asyncio.get_running_loop()
        self._queue: deque[asyncio.Event] = deque()  # what wakes each who waits for its turn
        self._exclusive: asyncio.Event | None = None  # what wakes the one who wants it all
        self._pause: asyncio.TimerHandle | None = None
        self._is_closed = False

    def __repr__(self) -> str:
        return f"<Turns: {len(self)} waiting>"

    def __len__(self) -> int:
        return len(self._queue)

    @property
    def are_free(self) -> bool:
        """Whether who comes now need not wait."""
        return not self._queue and self._has_room()

    async def wait(self, *, deadline: float) -> None:
        """Wait for a turn, or the end of all turns. Who returns from here sends in the same step.

        Raises:
            TimeoutError: The time is over.
        """
        if self.are_free:
            return
        wakeup = asyncio.Event()
        self._queue.append(wakeup)
        try:
            async with asyncio.timeout_at(deadline):
                while not self._is_closed and not self._may_go(wakeup):
                    await wakeup.wait()
                    wakeup.clear()
        finally:
            self._queue.remove(wakeup)
            self.let_in()

    @asynccontextmanager
    async def exclusive(self) -> AsyncIterator[None]:
        """Let it be nobody's turn; begin when all before is answered, or at the end of all turns.

        How long that takes is up to the deadlines of what is in flight. In a pause the broker does
        not read, so its end is waited for too.
        """
        self._exclusive = wakeup = asyncio.Event()
        try:
            while not self._is_closed and not self._is_quiet():
                await wakeup.wait()
                wakeup.clear()
            yield
        finally:
            self._exclusive = None
            self.let_in()

    def pause(self, seconds: float) -> None:
        """Let it be nobody's turn for so long; a longer pause goes on."""
        self.paused_until = max(self.paused_until, self._loop.time() + seconds)
        if self._pause is not None:
            self._pause.cancel()
        self._pause = self._loop.call_at(self.paused_until, self._end_pause)

    def let_in(self) -> None:
        """Wake whose turn it is, if it is anybody's."""
        if self._exclusive is not None:
            if self._is_quiet():
                self._exclusive.set()
        elif self._has_room():
            if self._queue:
                self._queue[0].set()
            elif self.when_free is not None:
                self.when_free()

    def close(self) -> None:
        """End all turns: nobody waits any longer."""
        self._is_closed = True
        if self._pause is not None:
            self._pause.cancel()
        for wakeup in self._queue:
            wakeup.set()
        if self._exclusive is not None:
            self._exclusive.set()
        if self.when_free is not None:
            self.when_free()  # who does not wait either looks for another connection

    def why_not(self) -> str:
        """Why it was nobody's turn, for who has waited in vain."""
        if self._exclusive is not None:
            return "the connection authenticates itself anew"
        if self._pause is not None:
            return "the broker asked us to pause (a quota)"
        if self.is_full:
            return "the broker does not read what was sent before"
        if self._has_room():
            return "its time was over before"
        return f"{self._wire.in_flight} requests before it are not answered yet"

    def _has_room(self) -> bool:
        return (
            self._wire.in_flight < self._max_in_flight
            and not self.is_full
            and self._exclusive is None
            and self._pause is None
        )

    def _may_go(self, wakeup: asyncio.Event) -> bool:
        return self._queue[0] is wakeup and self._has_room()

    def _is_quiet(self) -> bool:
        return self._wire.in_flight == 0 and self._pause is None

    def _end_pause(self) -> None:
        # The clock is not asked: uvloop's timers end up to a millisecond early.
        self._pause = None
        self.let_in()
