"""An event loop beside a thread that has none: what Spark calls waits here for what asyncio does.

The loop runs on a daemon thread of its process. The thread that Spark calls us on goes over to it
once per chunk of rows, never once per row. What yields rows or chunks is advanced on the calling
thread alone: it may itself be something that waits for the loop.

Workers are killed without a `finally`, and leave without `atexit`: nothing here needs either.
"""

from __future__ import annotations

import asyncio
import logging
import os
import threading
from collections.abc import AsyncIterator, Callable, Coroutine, Iterable, Iterator
from concurrent.futures import CancelledError, Future, InvalidStateError, wait
from contextlib import AbstractContextManager, nullcontext, suppress
from queue import SimpleQueue
from time import monotonic
from typing import Any, Final, Generic, NamedTuple, Self, TypeVar, cast

from kafka_aio.errors import StateError
from spark_connector import clients

A = TypeVar("A")
B = TypeVar("B")
T = TypeVar("T")

GRACE: Final = 5.0
"""Seconds that what was cancelled has to end."""

log = logging.getLogger("spark_connector")


def clock() -> float:
    """The time, in seconds from some moment on."""
    return monotonic()


class LoopThread:
    """An event loop on a daemon thread; uvloop where it is installed.

    Any other thread may give it work. What ends the loop by accident, as `sys.exit()` in a
    coroutine does, goes to who waits for that coroutine, and the loop runs on.
    """

    def __init__(self) -> None:
        self.loop = _new_loop()
        self._pid = os.getpid()
        # It may be taken again by its holder: a generator that is collected at that moment cancels.
        self._lock = threading.RLock()
        self.watchers: set[Callable[[StateError], object]] = set()
        """Who is told, on any thread, that this one has ended while they waited for it."""
        self._is_stopping = False
        self._is_over = False
        self._thread = threading.Thread(target=self._run, name="spark_connector", daemon=True)
        self._thread.start()

    def __repr__(self) -> str:
        state = "running" if self.is_running else "ended"
        return f"<LoopThread of process {self._pid}: {state}, {len(self.watchers)} wait for it>"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc_info: object) -> None:
        self.stop()

    @property
    def is_running(self) -> bool:
        """Whether it takes work, in this process."""
        return not self._is_over and self._pid == os.getpid()

    @property
    def is_current(self) -> bool:
        """Whether the caller is on this thread, and must not wait for it."""
        return threading.get_ident() == self._thread.ident and self._pid == os.getpid()

    def check_not_current(self) -> None:
        """Whether the caller may wait for this thread.

        Raises:
            StateError: The caller is on it.
        """
        if self.is_current:
            raise StateError(
                "this is the thread of the event loop, which cannot wait for itself: await the"
                " work, do not run() it, and call functions for partitions elsewhere"
            )

    def call_soon(self, callback: Callable[..., object], *arguments: Any) -> None:
        """Have the loop call something.

        Raises:
            StateError: The thread has ended, or is that of the process we were forked from.
        """
        self._while_open(self.loop.call_soon_threadsafe, callback, *arguments)

    def submit(self, work: Coroutine[Any, Any, T]) -> Future[T]:
        """Have work begun on the loop.

        Returns:
            What it will end with. To cancel it cancels the work.

        Raises:
            StateError: The thread has ended, or is that of the process we were forked from.
        """
        try:
            future = self._while_open(self._submit, work)
        except StateError:
            work.close()
            raise
        future.add_done_callback(lambda done: self.watchers.discard(done.set_exception))
        return future

    def _submit(self, work: Coroutine[Any, Any, T]) -> Future[T]:
        future = asyncio.run_coroutine_threadsafe(work, self.loop)
        self.watchers.add(future.set_exception)
        return future

    def _while_open(self, action: Callable[..., T], *arguments: Any) -> T:
        if self._pid != os.getpid():  # not to be asked for the lock: somebody may have held it
            raise StateError(f"{self!r} is of another process: loop_thread() has that of this one")
        with self._lock:
            if self._is_over or self._is_stopping:
                raise StateError("the thread of the event loop ends, or has: loop_thread() has one")
            return action(*arguments)

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """Have work done on the loop, and wait for it. Interrupted, it cancels the work.

        Raises:
            StateError: As `submit`; or the caller is on the loop's own thread.
        """
        try:
            self.check_not_current()
        except StateError:
            work.close()
            raise
        future = self.submit(work)
        try:
            return future.result()
        finally:
            future.cancel()  # of what has ended it changes nothing
            del future  # an error is not to hold, by its traceback, what holds it

    def wind_up(self, work: Coroutine[Any, Any, object], *, timeout: float) -> None:
        """Have done what comes last, and wait for it, but not for long.

        On the loop's own thread, where the garbage collector may have brought us, it is not waited
        for. A thread that has ended has nothing to wind up.

        Raises:
            Exception: That of the work.
        """
        try:
            future = self.submit(work)
        except StateError:
            return
        if not self.is_current and wait([future], timeout).done and not future.cancelled():
            future.result()

    def stop(self) -> None:
        """End the clients of the loop, its tasks, and the thread. The second call does nothing.

        What does not end in a few seconds is left alone: the thread is a daemon.

        Raises:
            StateError: The caller is on the loop's own thread.
        """
        if self.is_current:
            raise StateError("the thread of an event loop cannot stop itself and wait for that")
        if self._pid != os.getpid():
            return
        self.wind_up(clients.close_all(), timeout=2 * GRACE)
        with self._lock:
            is_first, self._is_stopping = not self._is_stopping, True
        if is_first:  # a second one would cut short the end of the tasks
            with suppress(RuntimeError):  # it is closed
                self.loop.call_soon_threadsafe(self.loop.stop)
        self._thread.join(2 * GRACE)

    # On the thread.

    def _run(self) -> None:
        cause: BaseException | None = None
        try:
            self._run_until_stopped()
            self._end_tasks()
            self.loop.close()
        except BaseException as error:
            cause = error
            log.exception("the thread of the event loop failed")
        self._end(cause)

    def _run_until_stopped(self) -> None:
        while not self._is_stopping:
            # A task that ends by one of these ends `run_forever` too, and so does user code that
            # calls `loop.stop()`. Who waits for the task gets the error in the next turn.
            with suppress(SystemExit, KeyboardInterrupt):
                self.loop.run_forever()

    def _end_tasks(self) -> None:
        tasks = asyncio.all_tasks(self.loop)
        for task in tasks:
            task.cancel()
        if tasks:
            self.loop.run_until_complete(asyncio.wait(tasks, timeout=GRACE))
        self.loop.run_until_complete(self.loop.shutdown_asyncgens())

    def _end(self, cause: BaseException | None) -> None:
        """Nobody waits for ever for a thread that has ended."""
        with self._lock:
            self._is_over = True
        for tell in list(self.watchers):
            error = StateError("the thread of the event loop ended while this was awaited")
            error.__cause__ = cause
            with suppress(InvalidStateError):  # it has ended at this moment
                tell(error)


def _new_loop() -> asyncio.AbstractEventLoop:
    try:
        import uvloop
    except ImportError:
        return asyncio.new_event_loop()
    return uvloop.new_event_loop()


# By process. Those of the processes that we were forked from stay here for good: to collect their
# loops would take their sockets out of an epoll that is shared with the parent.
_threads: dict[int, LoopThread] = {}
_lock = threading.Lock()


def _forked() -> None:
    global _lock
    _lock = threading.Lock()  # another thread of the parent may have held it


os.register_at_fork(after_in_child=_forked)


def loop_thread() -> LoopThread:
    """The loop thread of this process, started when it is first asked for."""
    thread = _threads.get(os.getpid())
    if thread is None or not thread.is_running:
        with _lock:
            thread = _threads.get(os.getpid())
            if thread is None or not thread.is_running:
                thread = _threads[os.getpid()] = LoopThread()
    return thread


def partition_loop(*, fresh: bool = False) -> AbstractContextManager[LoopThread]:
    """The loop thread for the time of one Spark partition.

    Args:
        fresh: One of its own, with clients of its own; both end with the block.
    """
    return LoopThread() if fresh else nullcontext(loop_thread())


class _Group:
    """Work on one loop that another thread has begun, and is told the end of.

    It costs less than a future for each that both threads know.
    """

    def __init__(self, thread: LoopThread, tell: Callable[[int, _Ended], None]) -> None:
        """Begin with nothing.

        Args:
            thread: Where the work is done.
            tell: Called there with the number of what has ended, and with how it has.
        """
        self._thread = thread
        self._tell = tell
        self._tasks: dict[asyncio.Task[Any], int] = {}  # in order, for who is cancelled first

    def __enter__(self) -> Self:
        self._thread.check_not_current()
        self._thread.watchers.add(self._lost)
        return self

    def __exit__(self, *exc_info: object) -> None:
        self._thread.watchers.discard(self._lost)

    def begin(self, number: int, work: Coroutine[Any, Any, Any]) -> None:
        try:
            self._thread.call_soon(self._begin, number, work)
        except StateError:
            work.close()
            raise

    def _begin(self, number: int, work: Coroutine[Any, Any, Any]) -> None:
        task = self._thread.loop.create_task(work)
        self._tasks[task] = number
        task.add_done_callback(self._end)

    def _end(self, task: asyncio.Task[Any]) -> None:
        if not task.cancelled():
            task.exception()  # it is looked at, if by nobody then because another has failed
        self._tell(self._tasks.pop(task), task)

    def _lost(self, error: StateError) -> None:
        self._tell(-1, error)

    def cancel(self) -> None:
        """Cancel what has not ended, and wait for its end, but not for long."""
        self._thread.wind_up(self._cancel(), timeout=2 * GRACE)

    async def _cancel(self) -> None:
        tasks = list(self._tasks)  # what was begun before is there: the loop keeps the order
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks, timeout=GRACE)


_Ended = asyncio.Task[Any] | StateError


def _has_failed(ended: _Ended) -> bool:
    return isinstance(ended, StateError) or ended.cancelled() or ended.exception() is not None


def _result(ended: _Ended) -> Any:
    try:
        if isinstance(ended, StateError):
            raise ended
        if ended.cancelled():
            raise CancelledError
        return ended.result()
    finally:
        del ended  # an error is not to hold, by its traceback, what holds it


class More(Generic[B]):
    """A result of `pump` that is not all: there is work left, which takes no other chunk."""

    def __init__(self, result: B, rest: Callable[[], Coroutine[Any, Any, B | More[B]]]) -> None:
        self.result = result
        self.rest = rest


class _Pump(Generic[B]):
    """What `pump` has under way."""

    def __init__(self, thread: LoopThread) -> None:
        self._queue: SimpleQueue[tuple[int, _Ended]] = SimpleQueue()
        self._group = _Group(thread, lambda *end: self._queue.put(end))
        self._begun = 0
        self._given = 0
        self._ended: dict[int, _Ended] = {}

    def __enter__(self) -> Self:
        self._group.__enter__()
        return self

    def __exit__(self, *exc_info: object) -> None:
        self._group.__exit__()
        self._ended.clear()
        if self.under_way:
            self._group.cancel()

    @property
    def under_way(self) -> int:
        """How many have been begun, and not given."""
        return self._begun - self._given

    def begin(self, work: Coroutine[Any, Any, B | More[B]]) -> None:
        self._group.begin(self._begun, work)
        self._begun += 1

    def is_ready(self) -> bool:
        """Whether the first result is there.

        Raises:
            BaseException: The error of one that has failed.
        """
        while not self._queue.empty():
            self._see()
        return self._given in self._ended

    def first(self) -> B:
        """Wait for the first result. Raises as `is_ready`."""
        while not self.is_ready():
            self._see()
        self._given += 1
        result = _result(self._ended.pop(self._given - 1))
        if isinstance(result, More):
            self.begin(result.rest())
            result = result.result
        return cast(B, result)

    def _see(self) -> None:
        number, ended = self._queue.get()
        self._ended[number] = ended
        has_failed = _has_failed(ended)
        del ended
        if has_failed:
            _result(self._ended.pop(number))


def pump(
    thread: LoopThread,
    chunks: Iterable[A],
    work: Callable[[A], Coroutine[Any, Any, B | More[B]]],
    *,
    window: int = 4,
    alone: Callable[[A], bool] = lambda _: False,
) -> Iterator[B]:
    """Have work done on each chunk, some chunks ahead of who takes the results.

    The first error, in whichever chunk, cancels the rest and is raised. So does an error of
    `chunks`, or of who takes the results; and to close the iterator cancels what is under way.

    Args:
        thread: Where the work is done.
        chunks: Advanced on the caller's thread alone, and only as far as there is room.
        work: What is awaited for each of them. What it returns may be `More`.
        window: How many chunks may be under way.
        alone: Whether the results of a chunk are taken before the next one is asked for, which may
            be long in coming: who waits for it can take no results.

    Returns:
        The results in the order of the chunks.
    """
    with _Pump[B](thread) as pumped:
        for chunk in chunks:
            while pumped.under_way >= window:
                yield pumped.first()
            pumped.begin(work(chunk))
            is_alone = alone(chunk)
            del chunk  # not to be kept while we wait
            while pumped.is_ready() or (is_alone and pumped.under_way):
                yield pumped.first()
        while pumped.under_way:
            yield pumped.first()


class _End(NamedTuple):
    """What comes after the last batch."""

    ended: _Ended


def read_ahead(
    thread: LoopThread, batches: Callable[[], AsyncIterator[A]], *, ahead: int = 4
) -> Iterator[A]:
    """What an async iterator gives, read some batches ahead of who takes them.

    An error comes in its place, after the batches before it. To close the iterator cancels the
    read and waits for its end, but not for long.

    Args:
        thread: Where it is read.
        batches: Makes the async iterator, on the loop; it is closed there, if it can be.
        ahead: How many batches may be waiting to be taken.
    """
    room = asyncio.Semaphore(ahead)
    read: SimpleQueue[A | _End] = SimpleQueue()
    with _Group(thread, lambda _, ended: read.put(_End(ended))) as group:
        group.begin(0, _fill(batches, room, read.put))
        try:
            while not isinstance(batch := read.get(), _End):
                with suppress(StateError):  # the end of the queue is near
                    thread.call_soon(room.release)
                yield batch
                del batch  # not to be kept while we wait for the next
        except BaseException:
            group.cancel()
            raise
        ended = [batch.ended]
        del batch
        _result(ended.pop())


async def _fill(
    batches: Callable[[], AsyncIterator[A]], room: asyncio.Semaphore, put: Callable[[A], None]
) -> None:
    stream = batches()
    try:
        await room.acquire()
        async for batch in stream:
            put(batch)
            del batch
            await room.acquire()
    finally:
        if (close := getattr(stream, "aclose", None)) is not None:
            await close()
