"""The tasks of one client, in one supervised group; and `Wakeup`, an event with a deadline.

The group is opened and closed inside a task of its own, outside of any scope of the caller. So a
client may be entered in one task and closed in another, as fixtures and web frameworks do.

* A task that fails ends the client: the others are cancelled, whoever waits gets the cause at once,
  and so does each later call.
* `aclose` stops the tasks stage by stage, so that those which need a connection end before it.
  Callers are refused from its beginning, but work may still send while it ends: `check` is for the
  ones, `check_open` for the other. Cancelled while it waits, `aclose` still runs to its end.
* The log says which task failed, with what type of error, and a text if it is ours. The text of
  another's may hold anything: it is the cause of what callers get, and logged for DEBUG only.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from contextlib import suppress
from enum import IntEnum
from math import inf
from typing import TypeVar

import anyio

from kafka_aio.errors import KafkaError, StateError, fresh

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
        self._waiters: dict[asyncio.Future[object], None] = {}  # in order, for who is told first
        self._stop = asyncio.Event()
        self._is_closing = False  # callers are refused
        self._is_sealed = False  # the work has ended: all are refused
        self._failure: BaseException | None = None

    def __repr__(self) -> str:
        return f"<Tasks of the {self._client}: {len(self._running)} running, {self.state}>"

    @property
    def is_closed(self) -> bool:
        """Whether it was never started, is closing, has failed, or has ended."""
        return self._group is None or self._is_closing or self._failure is not None

    @property
    def state(self) -> str:
        """In a word: "new", "open", "closed" or "failed"."""
        if self._supervisor is None:
            return "new"
        return "failed" if self._failure else "closed" if self.is_closed else "open"

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

        Work is refused once the client closes; what work needs to end well, once that has ended.

        Raises:
            StateError: The client is not open, or is used from another loop.
            KafkaError: What ended the client before.
        """
        if stage is Stage.WORK:
            self.check()
        else:
            self.check_open()
        assert self._group is not None
        task = Running(name, stage)
        self._running[task] = None
        self._group.start_soon(self._run, task, body, name=f"kafka_aio {self._client}: {name}")
        return task

    def check(self) -> None:
        """Whether a caller can use the client here and now.

        Raises:
            StateError: It is not open, or belongs to another loop.
            KafkaError: What ended it.
        """
        self.check_open()
        if self._is_closing:
            raise self._cause()

    def check_open(self) -> None:
        """Whether something can still be sent: as `check`, but until the work has ended.

        Raises:
            StateError: It is not open, or belongs to another loop.
            KafkaError: What ended it.
        """
        if self._supervisor is None:
            raise StateError(
                f"the {self._client} was not started: use it in `async with`, or await start()"
            )
        self._check_loop()  # first: on a loop that has ended, it looks closed
        if self._group is None or self._is_sealed or self._failure is not None:
            raise self._cause()

    async def wait(self, waiter: asyncio.Future[T], *, until: float = inf) -> T:
        """The result of a future; the cause, if the client ends before there is one.

        The future belongs to the caller alone: it is cancelled with it.

        Raises:
            TimeoutError: The time is over.
            StateError: The client is closed, or was not started.
            KafkaError: What ended it.
        """
        is_over = self._supervisor is None or self._supervisor.done()
        if is_over or self._failure is not None:  # nobody is left to tell us
            waiter.cancel()
            self.check()
        registered: asyncio.Future[object] = waiter  # type: ignore[assignment]  # only its failure
        self._waiters[registered] = None
        try:
            async with asyncio.timeout_at(None if until == inf else until):
                return await waiter
        finally:
            self._waiters.pop(registered, None)

    async def sleep(self, *, until: float) -> None:
        """Sleep until that time of the loop, or the end of the client.

        Raises:
            StateError: The client is closed, or was not started.
            KafkaError: What ended it.
        """
        never: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        try:
            await self.wait(never, until=until)
        except KafkaError:
            raise
        except TimeoutError:
            return

    def stop(self) -> None:
        """Begin to close, and do not wait for it.

        A finalizer may call it: in any thread, and after the end of the loop.
        """
        if self._loop is None:
            return
        self._is_closing = True
        with suppress(RuntimeError):  # the loop is closed, and has ended the tasks
            self._loop.call_soon_threadsafe(self._stop.set)

    async def aclose(self) -> None:
        """Stop all tasks and wait for their end. The second call does nothing.

        Raises:
            StateError: It belongs to another loop.
        """
        if self._supervisor is None or self._supervisor.done():
            return
        self._check_loop()
        self.stop()
        # It is not cancelled with us, and if it was cancelled by others, so be it.
        await asyncio.wait([self._supervisor])

    def _check_loop(self) -> None:
        if asyncio._get_running_loop() is not self._loop:
            raise StateError(
                f"the {self._client} belongs to another event loop: make one for each loop"
            )

    async def _run(self, task: Running, body: Callable[[], Awaitable[None]]) -> None:
        try:
            await task.run(body)
        except (asyncio.CancelledError, GeneratorExit):
            raise
        except BaseException as error:
            self._fail(task.name, error)
            raise
        finally:
            self._running.pop(task, None)

    async def _supervise(self, opened: asyncio.Future[None]) -> None:
        try:
            async with anyio.create_task_group() as self._group:
                if not opened.cancelled():
                    opened.set_result(None)
                try:
                    await self._stop.wait()
                    await self._stop_stage(Stage.WORK)
                finally:
                    self._is_closing = self._is_sealed = True
                await self._stop_stage(Stage.CLUSTER)
                await self._stop_stage(Stage.CONNECTION)
        except (asyncio.CancelledError, GeneratorExit):
            raise
        except BaseException as error:
            # Not again: what ends the program has passed through the loop from the task itself.
            self._fail("supervisor", error)
        finally:
            self._tell()

    async def _stop_stage(self, stage: Stage) -> None:
        # Until none is left: those that end may have started others.
        while tasks := [task for task in self._running if task.stage is stage]:
            for task in tasks:
                task.cancel()
            for task in tasks:
                await task.wait()

    def _fail(self, name: str, error: BaseException) -> None:
        """Remember the first failure, and tell of it before the other tasks have ended."""
        if self._failure is not None:
            return
        self._failure = cause = _first_cause(error)
        text = type(cause).__name__ + (f": {cause}" if isinstance(cause, KafkaError) else "")
        logger.error("the %s ended, as its task %r failed: %s", self._client, name, text)
        logger.debug("how the task %r failed", name, exc_info=cause)
        self._tell()

    def _tell(self) -> None:
        for waiter in self._waiters:
            if not waiter.done():
                waiter.set_exception(self._cause())

    def _cause(self) -> KafkaError:
        """A fresh error for one caller."""
        if self._failure is None:
            return StateError(f"the {self._client} is closed: make a new one")
        if isinstance(self._failure, KafkaError):
            return fresh(self._failure)
        # Not its text, which may hold anything: the cause has it.
        kind = type(self._failure).__name__
        error = StateError(f"the {self._client} ended by a failure of its own: {kind}")
        error.__cause__ = self._failure
        return error


class Wakeup:
    """What a task sleeps on: it ends by a call of `set`, or when the time has come."""

    def __init__(self) -> None:
        self._is_set = False
        self._event = asyncio.Event()

    def __repr__(self) -> str:
        return f"<Wakeup{' (set)' if self._is_set else ''}>"

    def set(self) -> None:
        """Wake the sleeper. If nobody sleeps, the next `wait` returns at once."""
        if not self._is_set:
            self._is_set = True
            self._event.set()

    async def wait(self, *, until: float = inf) -> bool:
        """Sleep until woken or until that time of the loop. True if it was woken."""
        if not self._is_set:
            self._event.clear()
            # A timer of its own: asyncio.timeout() costs several times as much.
            loop = asyncio.get_running_loop()
            timer = None if until == inf else loop.call_at(until, self._event.set)
            try:
                await self._event.wait()
            finally:
                if timer is not None:
                    timer.cancel()
        was_set, self._is_set = self._is_set, False
        return was_set


def _first_cause(error: BaseException) -> BaseException:
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error
