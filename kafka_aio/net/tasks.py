"""The tasks of one client, in one supervised group; and `Wakeup`, an event with a deadline.

The group is opened and closed inside a task of its own, outside of any scope of the caller. So a
client may be entered in one task and closed in another, as fixtures and web frameworks do.

* A task that fails ends the client: the others are cancelled, whoever waits gets the cause, and so
  does each later call.
* `aclose` stops the tasks stage by stage, so that those which need a connection end before it.
  Cancelled while it waits, it still runs to its end.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from copy import copy
from enum import IntEnum
from math import inf
from typing import TypeVar

import anyio

from kafka_aio.errors import KafkaError, StateError

T = TypeVar("T")

logger = logging.getLogger(__name__)


class Stage(IntEnum):
    """Which tasks stop first when a client closes."""

    WORK = 0
    """Senders, fetchers, coordinators: they may still send something on their way out."""
    CLUSTER = 1
    """What keeps our knowledge of the cluster fresh."""
    CONNECTION = 2
    """What owns a socket."""


class Running:
    """A task of the group, as the one who started it sees it."""

    def __init__(self, name: str, stage: Stage) -> None:
        self.name = name
        self.stage = stage
        self._scope = anyio.CancelScope()
        self._done = asyncio.Event()

    def __repr__(self) -> str:
        return f"<Running {self.name!r}{' (done)' if self._done.is_set() else ''}>"

    def cancel(self) -> None:
        self._scope.cancel()

    async def wait(self) -> None:
        """Wait for its end, whatever that is."""
        await self._done.wait()

    async def run(self, body: Callable[[], Awaitable[None]]) -> None:
        try:
            with self._scope:
                await body()
        finally:
            self._done.set()


class Tasks:
    """All background tasks of one client. It belongs to one event loop."""

    def __init__(self, client: str) -> None:
        """Make the group; `start` opens it.

        Args:
            client: What error messages call the client: "producer", "admin".
        """
        self._client = client
        self._loop: asyncio.AbstractEventLoop | None = None
        self._supervisor: asyncio.Task[None] | None = None
        self._group: anyio.abc.TaskGroup | None = None
        self._running: dict[Running, None] = {}  # in the order of their start
        self._waiters: set[asyncio.Future[object]] = set()
        self._stop = asyncio.Event()
        self._failure: BaseException | None = None

    def __repr__(self) -> str:
        state = "failed" if self._failure else "closed" if self.is_closed else "open"
        return f"<Tasks of the {self._client}: {len(self._running)} running, {state}>"

    @property
    def is_closed(self) -> bool:
        """Whether it was never started, is closing, or has ended."""
        return self._group is None or self._stop.is_set()

    async def start(self) -> None:
        """Open the group.

        Raises:
            StateError: It was started before.
        """
        if self._supervisor is not None:
            raise StateError(f"the {self._client} was started before; make a new one")
        self._loop = asyncio.get_running_loop()
        opened = self._loop.create_future()
        self._supervisor = asyncio.create_task(
            self._supervise(opened), name=f"kafka_aio {self._client}"
        )
        try:
            await opened
        except asyncio.CancelledError:
            await self.aclose()
            raise

    def spawn(
        self, body: Callable[[], Awaitable[None]], *, name: str, stage: Stage = Stage.WORK
    ) -> Running:
        """Run `body` in the group. If it fails, so does the client.

        Raises:
            StateError: The client is not open, or is used from another loop.
            KafkaError: What ended the client before.
        """
        self.check()
        assert self._group is not None
        task = Running(name, stage)
        self._running[task] = None
        self._group.start_soon(self._run, task, body, name=f"kafka_aio {self._client}: {name}")
        return task

    def check(self) -> None:
        """Whether the client can be used here and now.

        Raises:
            StateError: It is not open, or belongs to another loop.
            KafkaError: What ended it.
        """
        if self._failure is not None:
            raise self._cause()
        if self._supervisor is None:
            raise StateError(
                f"the {self._client} was not started: use it in `async with`, or await start()"
            )
        if self.is_closed:
            raise StateError(f"the {self._client} is closed: make a new one")
        self._check_loop()

    async def wait(self, waiter: asyncio.Future[T], *, until: float = inf) -> T:
        """The result of a future; the cause, if the client ends before there is one.

        The future belongs to the caller alone: it is cancelled with it.

        Raises:
            TimeoutError: The time is over.
            StateError: The client is closed, or was not started.
            KafkaError: What ended it.
        """
        if self._supervisor is None or self._supervisor.done():  # nobody is left to tell us
            waiter.cancel()
            self.check()
        registered: asyncio.Future[object] = waiter  # type: ignore[assignment]  # only its failure
        self._waiters.add(registered)
        try:
            async with asyncio.timeout_at(None if until == inf else until):
                return await waiter
        finally:
            self._waiters.discard(registered)

    async def aclose(self) -> None:
        """Stop all tasks and wait for their end. The second call does nothing.

        Raises:
            StateError: It belongs to another loop.
        """
        if self._supervisor is None or self._supervisor.done():
            return
        self._check_loop()
        self._stop.set()
        # It is not cancelled with us, and if it was cancelled by others, so be it.
        await asyncio.wait([self._supervisor])

    def _check_loop(self) -> None:
        if asyncio.get_running_loop() is not self._loop:
            raise StateError(
                f"the {self._client} belongs to another event loop: make one for each loop"
            )

    async def _run(self, task: Running, body: Callable[[], Awaitable[None]]) -> None:
        try:
            await task.run(body)
        finally:
            self._running.pop(task, None)

    async def _supervise(self, opened: asyncio.Future[None]) -> None:
        try:
            async with anyio.create_task_group() as self._group:
                if not opened.cancelled():
                    opened.set_result(None)
                await self._stop.wait()
                for stage in Stage:
                    await self._stop_stage(stage)
        except Exception as error:
            self._failure = _first_cause(error)
            logger.error("%s ended by a failure: %r", self._client, self._failure)
        finally:
            self._stop.set()
            for waiter in list(self._waiters):
                if not waiter.done():
                    waiter.set_exception(self._cause())

    async def _stop_stage(self, stage: Stage) -> None:
        # None can be added any more: `spawn` refuses.
        tasks = [task for task in self._running if task.stage == stage]
        for task in tasks:
            task.cancel()
        for task in tasks:
            await task.wait()

    def _cause(self) -> KafkaError:
        """A fresh error for one caller."""
        if self._failure is None:
            return StateError(f"the {self._client} is closed: make a new one")
        if isinstance(self._failure, KafkaError):
            return copy(self._failure)
        # Not its text, which may hold anything: the cause has it.
        kind = type(self._failure).__name__
        error = StateError(f"the {self._client} ended by a failure of its own: {kind}")
        error.__cause__ = self._failure
        return error


class Wakeup:
    """What a task sleeps on: it ends by a call of `set`, or when the time has come."""

    def __init__(self) -> None:
        self._event = asyncio.Event()

    def __repr__(self) -> str:
        return f"<Wakeup{' (set)' if self._event.is_set() else ''}>"

    def set(self) -> None:
        """Wake the sleeper. If nobody sleeps, the next `wait` returns at once."""
        self._event.set()

    async def wait(self, *, until: float = inf) -> bool:
        """Sleep until woken or until that time of the loop. True if it was woken."""
        try:
            async with asyncio.timeout_at(None if until == inf else until):
                await self._event.wait()
        except TimeoutError:
            return False
        self._event.clear()
        return True


def _first_cause(error: BaseException) -> BaseException:
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error
