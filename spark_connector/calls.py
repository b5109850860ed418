"""Calls of an async function for the rows of one task, at most so many at once.

Rows come in chunks and leave in lists, so threads are crossed per chunk. The calls do not know of
chunks: while one is handed over the next is under way, and there is no pause between them. Results
do not wait for the rest of their chunk, but where rows are quick they leave together. Whoever takes
them also fetches the rows, and can do one at a time: so where rows may be slow to come, results
have a moment to leave first.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from contextlib import AbstractAsyncContextManager, suppress
from contextvars import Context, copy_context
from functools import partial
from typing import Any, Final

from kafka_aio.errors import StateError
from spark_connector.bridge import More
from spark_connector.errors import RowError

GRACE: Final = 5.0
"""Seconds that calls which were cancelled have to end."""
PATIENCE: Final = 0.01
"""Seconds that results wait at most for others to leave with, after a pause not at all; and that
a chunk lingers for its results."""

Setup = Callable[[], AbstractAsyncContextManager[Any]]


class _Place(str):
    """A note on an error that says where its row stands; elsewhere it is a plain text."""

    def __reduce__(self) -> tuple[type[str], tuple[str]]:
        return str, (str(self),)


class Calls:
    """The calls of one task. It belongs to one loop."""

    def __init__(
        self,
        call: Callable[[Any], Awaitable[Any]],
        *,
        concurrency: int,
        ordered: bool,
        place: Callable[[int], str],
        context: Context | None = None,
    ) -> None:
        """Begin with no rows.

        Args:
            call: What is awaited for each row.
            concurrency: How many calls may be under way.
            ordered: Whether results leave in the order of the rows, or as they come.
            place: What an error calls the row of a number.
            context: The variables that each call has a copy of; if not given, those of now.
        """
        self._call = call
        self._concurrency = concurrency
        self._ordered = ordered
        self._place = place
        self._context = copy_context() if context is None else context
        # With one slow call, those after it may go on for a while, but not for ever.
        self._most_ahead = 2 * concurrency
        self._waiting: deque[Any] = deque()
        self._fed = 0
        self._begun = 0
        self._ended = 0
        self._is_beginning = False
        self._running: dict[asyncio.Task[None], int] = {}  # in order, for who is cancelled first
        self._results: dict[int, Any] = {}
        """Those that came before one that leaves earlier, by the number of the row."""
        self._ready: list[Any] = []
        self._error: BaseException | None = None
        self._turn = asyncio.Lock()
        self._changed = asyncio.Event()
        self._is_reached: Callable[[], bool] = lambda: False
        self._loop = asyncio.get_running_loop()
        self._next_leave = self._loop.time()
        self._timer: asyncio.TimerHandle | None = None
        self._is_time = False

    def __repr__(self) -> str:
        return f"<Calls: {len(self._running)} under way, {self._ended} of {self._fed} ended>"

    async def feed(
        self, rows: Sequence[Any], *, lingers: bool = False
    ) -> list[Any] | More[list[Any]]:
        """Take rows, and wait until they are under way, or until results are ready.

        Args:
            rows: Those that come next.
            lingers: Whether to wait a little longer for their results: whoever goes for more rows
                may have to wait for these, and can take no results meanwhile.

        Returns:
            The results that are ready. Calls of this end in the order of their beginning.

        Raises:
            BaseException: What a call has raised, with the place of its row.
        """
        self._waiting.extend(rows)
        self._fed += len(rows)
        fed = self._fed
        self._begin()
        if not lingers:
            return await self._take(lambda: self._begun >= fed)
        late = asyncio.Event()
        self._loop.call_later(PATIENCE, self._be_late, late)
        return await self._take(
            lambda: self._begun >= fed and (late.is_set() or self._ended >= fed)
        )

    def _be_late(self, late: asyncio.Event) -> None:
        late.set()
        self._changed.set()

    async def finish(self) -> list[Any] | More[list[Any]]:
        """Wait for all that is under way, or until results are ready, as `feed`."""
        return await self._take(lambda: self._ended >= self._fed)

    async def _take(self, is_reached: Callable[[], bool]) -> list[Any] | More[list[Any]]:
        try:
            async with self._turn:
                self._is_reached = is_reached
                while self._error is None and not self._is_time and not is_reached():
                    self._set_timer()
                    self._changed.clear()
                    await self._changed.wait()
        except asyncio.CancelledError:
            await asyncio.sleep(0)  # who cancels all tasks cancels calls too, which know their rows
            self.fail(RowError(f"{self._place(self._ended)} or later: cancelled, not by Spark"))
        if self._error is not None:
            raise self._error
        if self._timer is not None:
            self._timer.cancel()
        self._timer, self._is_time = None, False
        self._next_leave = self._loop.time() + PATIENCE
        ready, self._ready = self._ready, []
        return ready if is_reached() else More(ready, partial(self._take, is_reached))

    def _begin(self) -> None:
        if self._is_beginning:  # an eager task ends while it is made
            return
        self._is_beginning = True
        try:
            while self._waiting and self._error is None and self._has_room():
                number = self._begun
                self._begun += 1
                work = self._run(number, self._waiting.popleft())
                task = self._loop.create_task(work, context=self._context.copy())
                self._running[task] = number
                task.add_done_callback(self._forget)
        finally:
            self._is_beginning = False

    def _has_room(self) -> bool:
        if self._begun - self._ended >= self._concurrency:
            return False
        return not self._ordered or len(self._results) < self._most_ahead

    async def _run(self, number: int, row: Any) -> None:
        try:
            self._end(number, await self._call(row))
        except BaseException as error:
            self._fail(number, error)

    def _forget(self, task: asyncio.Task[None]) -> None:
        number = self._running.pop(task)
        if task.cancelled():  # before it began
            self._fail(number, asyncio.CancelledError())

    def _end(self, number: int, result: Any) -> None:
        self._ended += 1
        if self._ordered:
            self._results[number] = result
            first = self._ended - len(self._results)
            while first in self._results:
                self._ready.append(self._results.pop(first))
                first += 1
        else:
            self._ready.append(result)
        self._begin()
        if self._is_reached():
            self._changed.set()
        else:
            self._set_timer()

    def _set_timer(self) -> None:
        """Results that are ready leave soon; at once, if none have left for a while."""
        if self._timer is None and self._ready:
            self._timer = self._loop.call_at(self._next_leave, self._leave)

    def _leave(self) -> None:
        self._is_time = True
        self._changed.set()

    def _fail(self, number: int, error: BaseException) -> None:
        if self._error is not None:
            return  # this one was cancelled, or comes too late
        self._error = error  # before all that may fail: somebody waits for it
        self._changed.set()
        with suppress(Exception):
            self._error = _placed(error, self._place(number))

    def fail(self, error: BaseException) -> None:
        """There is no use in going on, for a reason that is none of a call's."""
        if self._error is None:
            self._error = error
        self._changed.set()

    async def cancel(self) -> None:
        """End the calls that are under way, and wait for that, but not for long."""
        self._error = asyncio.CancelledError()  # the one before has been told, and holds us
        self._waiting.clear()
        if self._timer is not None:
            self._timer.cancel()
        tasks = list(self._running)
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks, timeout=GRACE)


def _placed(error: BaseException, place: str) -> BaseException:
    """The error of a call with the place of its row; another one where it cannot be told as it is.

    An object that was raised before has one place alone, the last.
    """
    match error:
        case asyncio.CancelledError():  # not by us: there is no error yet
            told = RowError(f"{place}: the call was cancelled, not by Spark")
        case StopIteration() | GeneratorExit():  # they mean something else to who takes the rows
            told = RowError(f"{place}: the call raised {type(error).__name__}")
        case _:
            told = RowError(f"{place}: {type(error).__name__}")  # if it takes no note
            with suppress(Exception):
                notes = getattr(error, "__notes__", [])
                notes[:] = (note for note in notes if not isinstance(note, _Place))
                error.add_note(_Place(place))
                return error
    told.__cause__ = error
    return told


class Host:
    """What the user sets up for the calls of one task: entered and left in one asyncio task.

    So it may be anything that an `async with` can have: a task group, or a scope of cancellation.
    """

    def __init__(self, setup: Setup) -> None:
        self._setup = setup
        self._opened: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self._leave: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._closes = False
        self.context = copy_context()
        """The variables that it has set are here, once it is open."""
        self._task = asyncio.create_task(self._run(), context=self.context)

    async def _run(self) -> None:
        async with self._setup() as context:
            self._opened.set_result(context)
            await self._leave

    async def open(self) -> Any:
        """Enter it. Returns what it gives.

        Raises:
            BaseException: What it has raised.
        """
        try:
            await asyncio.wait([self._task, self._opened], return_when=asyncio.FIRST_COMPLETED)
        except asyncio.CancelledError:
            self._task.cancel()
            raise
        if self._opened.done():
            return self._opened.result()
        if self._task.cancelled():
            raise StateError("what setup= has made was cancelled as it began, not by Spark")
        return await self._task  # it raises

    def watch(self, tell: Callable[[BaseException], None]) -> None:
        """Have its end told, with the error, if it comes before `close`."""

        def ended(task: asyncio.Task[None]) -> None:
            if self._closes:
                return
            error = StateError("what setup= has made ended before the rows did")
            if task.cancelled():  # with all tasks, perhaps: calls know their rows, and go first
                asyncio.get_running_loop().call_soon(tell, error)
            else:
                tell(task.exception() or error)

        self._task.add_done_callback(ended)

    async def close(self, error: BaseException | None = None) -> None:
        """Leave it: well, or by an error, which it sees; cancelled, where nobody wants more.

        Raises:
            BaseException: What it has raised of its own.
        """
        self._closes = True
        if self._leave.done() or self._task.done():
            pass  # it has ended before
        elif isinstance(error, Exception):
            self._leave.set_exception(error)
        elif error is not None:
            self._task.cancel()
        else:
            self._leave.set_result(None)
        await asyncio.wait([self._task], timeout=None if error is None else GRACE)
        self._task.cancel()  # it has had its time
        if not self._task.done():
            return
        if self._task.cancelled():
            if error is None:  # it may have left work undone
                raise StateError("what setup= has made was cancelled as it ended, not by Spark")
        elif not _is_only(self._task.exception(), error):
            self._task.result()


def _is_only(raised: BaseException | None, error: BaseException | None) -> bool:
    """Whether it is that error, or what a task group makes of it alone."""
    while isinstance(raised, BaseExceptionGroup) and len(raised.exceptions) == 1:
        raised = raised.exceptions[0]
    return raised is error
