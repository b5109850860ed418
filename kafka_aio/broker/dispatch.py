"""Turns of the broker: connections go on, answers reach theirs, and one timer for all that waits.

Whatever happens, a frame or a timer or a call of the test, ends in `run`. It goes on until nobody
has anything left to do, and never inside itself: who is woken meanwhile stands in line.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Callable
from math import inf
from typing import Protocol, TypeVar, cast

from kafka_aio.broker.call import Call
from kafka_aio.broker.core import Core
from kafka_aio.net.clock import wall_time
from kafka_aio.protocol.schema import Request, schema_of

R = TypeVar("R")
T = TypeVar("T")

logger = logging.getLogger(__name__)


class Worker(Protocol):
    """A connection, as it is seen from here."""

    def work(self) -> None:
        """Handle what there is, until something has to wait."""

    def deliver(self, call: Call, response: object) -> None:
        """Take an answer; `work` comes after it."""

    def abort(self) -> None:
        """End, at once."""


class _Asking:
    """Who asks in the same process."""

    response: object = None

    def work(self) -> None:
        """There is no other request."""

    def deliver(self, call: Call, response: object) -> None:
        self.response = response

    def abort(self) -> None:
        """There is no connection."""


class Dispatch:
    """Who goes on next. It belongs to one event loop."""

    def __init__(self, core: Core) -> None:
        self.core = core
        self._loop = asyncio.get_running_loop()
        self._ready: deque[Worker] = deque()
        self._working: Worker | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._timer_at = inf
        self._is_running = False
        self._is_closed = False

    def run(self, worker: Worker | None = None) -> None:
        """Let a connection go on, and all that have something to do by now."""
        if worker is not None:
            self._ready.append(worker)
        if self._is_running:
            return
        self._is_running = True
        try:
            self.deliver()
            while self._ready:
                self._working = worker = self._ready.popleft()
                try:
                    worker.work()
                except Exception as error:
                    self._give_up(worker, error)
        finally:
            self._is_running = False
            self._working = None
        self._arm()

    def deliver(self) -> None:
        """Bring what is answered to its connections."""
        for call, response in self.core.take_answers():
            worker: Worker = call.ticket
            try:
                worker.deliver(call, response)
            except Exception as error:
                self._give_up(worker, error)
            if worker is not self._working:
                self._ready.append(worker)

    def do(self, action: Callable[[], T]) -> T:
        """Change something from outside, and let go on who waited for it."""
        try:
            return action()
        finally:
            self.run()

    def ask(self, request: Request[R], *, node: int) -> R:
        """The answer to a request of our own: in the last version, and without faults.

        It is one that is answered at once.
        """
        asking = _Asking()
        self.core.receive(
            Call(
                state=self.core.state,
                request=request,
                version=self.core.state.versions[schema_of(type(request)).key][1],
                node=node,
                now=self._loop.time(),
                wall_ms=int(wall_time() * 1000),
                ticket=asking,
                is_exempt=True,
            )
        )
        self.deliver()
        return cast(R, asking.response)

    def close(self) -> None:
        """Set no timer any more."""
        self._is_closed = True
        if self._timer is not None:
            self._timer.cancel()

    def _give_up(self, worker: Worker, bug: Exception) -> None:
        """A bug costs the connection that met it, and no other."""
        text = "the broker failed at %r: the connection is closed"
        logger.error(text, worker, exc_info=bug)
        worker.abort()

    def _arm(self) -> None:
        """See to it that `_tick` runs when it is due, or before."""
        deadline = self.core.deadline
        if self._timer_at <= deadline or self._is_closed:
            return
        if self._timer is not None:
            self._timer.cancel()
        self._timer_at = deadline
        self._timer = self._loop.call_at(deadline, self._tick)

    def _tick(self) -> None:
        # Not before its time, whatever the clock says: uvloop's timers may be a millisecond early.
        now = max(self._loop.time(), self._timer_at)
        self._timer, self._timer_at = None, inf
        try:
            self.core.tick(now=now)
        except Exception:
            logger.exception("the broker failed at something that was due")
        self.run()
