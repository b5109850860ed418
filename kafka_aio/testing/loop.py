"""An event loop with virtual time and the network in memory.

    with VirtualLoop(seed=1) as loop:
        loop.run_until_complete(main())

    with asyncio.Runner(loop_factory=lambda: VirtualLoop(seed=1)) as runner:
        runner.run(main())

    run(main(), seed=1)      # the same, in a line

Time stands still while something is ready, and then jumps to the next timer: hours of time-outs
take milliseconds. Connections, names, jobs for executors and the wall clock of `kafka_aio` are the
loop's, and all chance comes from one seed: the same seed gives the same trace twice.

With pytest-asyncio, a test runs on it by its hook (in a conftest.py):

    def pytest_asyncio_loop_factories(config, item):
        return {"virtual": VirtualLoop}

What it does not have, it refuses: TLS, which takes its random numbers and its time from OpenSSL,
signals, processes, pipes, datagrams and the loop's calls for raw sockets. Threads that are not the
loop's may call `call_soon_threadsafe`, but time does not wait for them: `asyncio.to_thread` works,
as it asks the loop; `anyio.to_thread` has threads of its own, and does not.
"""

from __future__ import annotations

import asyncio
import random
import socket
from collections import deque
from collections.abc import Callable, Coroutine, Iterable, Mapping, Sequence
from concurrent.futures import Executor
from contextvars import Context
from heapq import heapify, heappop, heappush
from itertools import count
from math import inf
from types import TracebackType
from typing import Any, Final, Self, TypeVar, TypeVarTuple, cast

from kafka_aio.errors import StateError
from kafka_aio.net import clock
from kafka_aio.testing.absent import check_options, refuse_absent
from kafka_aio.testing.closing import end_tasks, tasks_left
from kafka_aio.testing.deadlock import DeadlockError, waiting
from kafka_aio.testing.names import AddressInfo, is_address, unknown_name
from kafka_aio.testing.network import Network, Traced
from kafka_aio.testing.order import order_scopes
from kafka_aio.testing.server import VirtualServer

T = TypeVar("T")
P = TypeVar("P", bound=asyncio.BaseProtocol)
Ts = TypeVarTuple("Ts")

START: Final = 1_000.0
"""The loop's time at its beginning: not 0, which is falsy."""
WALL_START: Final = 1_767_225_600.0
"""The wall clock's, then: 2026-01-01, 00:00 UTC."""

TIME_LIMIT: Final = 2 * 86_400.0
"""Two days: a test may wait for one. What waits for ever beside an idle client is found in less
than a second; beside one that polls all the time, in a minute or two."""
CLEAN_UP_SECONDS: Final = 300.0
"""How long tasks may take to end that were cancelled."""

_FREE_TURNS: Final = 100
_TURN_SECONDS: Final = 0.000_02
"""So many turns take no time; each further one before the next jump takes as long as a real one.
So who asks again and again (`while not done: await sleep(0)`) sees time pass."""
_MANY_TURNS: Final = 10_000
_MOST_DOUBLINGS: Final = 20
"""Time passes twice as fast after each so many turns, so that who asks for ever meets the limit in
seconds. What has a network or a timer to wait for jumps after some dozens."""

_CANCELLED_TIMERS: Final = 100
"""With more of them than this, and than others, the timers are sorted out."""


class VirtualTask(asyncio.Task[T]):
    """A task whose hash is its number, so that sets of tasks have the same order each time."""

    def __init__(
        self, coro: Any, *, number: int, loop: VirtualLoop, name: object, **options: Any
    ) -> None:
        self.number = number  # first: asyncio puts it into a set while it is made
        super().__init__(coro, loop=loop, name=str(name or f"Task-{number}"), **options)

    def __hash__(self) -> int:
        return self.number


@refuse_absent
class VirtualLoop(asyncio.BaseEventLoop):
    """An asyncio loop for tests: time jumps, and connections are made in memory.

    Attributes:
        network: Its latency, how it cuts bytes into pieces, and what can be wrong with it.
        rng: The one source of chance. Tests may use it too.
        trace: What has happened on the network, if that was asked for.
    """

    # Of asyncio's loop, which does not publish them.
    _ready: deque[asyncio.Handle]
    _stopping: bool
    _debug: bool
    _task_factory: Any
    _current_handle: asyncio.Handle | None
    _check_closed: Callable[[], None]
    _check_thread: Callable[[], None]
    _check_callback: Callable[[object, str], None]
    _check_default_executor: Callable[[], None]

    def __init__(
        self,
        seed: int = 0,
        *,
        hosts: Mapping[str, Iterable[str]] | None = None,
        trace: bool = False,
        wall_start: float = WALL_START,
        time_limit: float = TIME_LIMIT,
    ) -> None:
        """Make a loop; `run_until_complete` runs it, the end of a `with` ends its tasks.

        Args:
            seed: Where all chance begins.
            hosts: The addresses of host names. Any address can be listened on.
            trace: Whether to keep a trace.
            wall_start: The wall clock's time at the beginning, in seconds since 1970.
            time_limit: After so many virtual seconds it is a `DeadlockError` to wait any longer,
                as the timers of an open client never end.
        """
        super().__init__()
        order_scopes(_is_running)
        self.seed = seed
        self.rng = random.Random(seed)
        self.trace: list[Traced] = []
        self.network = Network(self, hosts or {}, self.trace if trace else None)
        self._now = START
        self._wall_start = wall_start
        self._limit = time_limit
        self._timers: list[tuple[float, int, asyncio.TimerHandle]] = []
        self._timer_numbers = count()
        self._task_numbers = count(1)
        self._cancelled_timers = 0
        self._turns = 0  # since time has jumped

    def __repr__(self) -> str:
        state = "closed" if self.is_closed() else "running" if self.is_running() else "idle"
        return f"<VirtualLoop seed={self.seed}: {state}, {self._now - START:.6f} s have passed>"

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Cancel the tasks that are left, let them end, and close the loop.

        Raises:
            DeadlockError: One does not end. If something else was raised, that gets a note of it.
        """
        if self.is_closed():
            return
        self._grant(CLEAN_UP_SECONDS)
        try:
            end_tasks(self)
        except DeadlockError:
            stuck = self._deadlock("what was cancelled as the loop was closed has not ended.")
            if error is None:
                raise stuck from None
            error.add_note(str(stuck))
        finally:
            self.close()

    @classmethod
    def running(cls) -> VirtualLoop:
        """The virtual loop that runs here, for who wants its network or its numbers.

        Raises:
            StateError: Another kind of loop runs.
            RuntimeError: None runs.
        """
        loop = asyncio.get_running_loop()
        if not isinstance(loop, cls):
            raise StateError(f"the loop that runs is no VirtualLoop: {loop!r}")
        return loop

    # Time.

    def time(self) -> float:
        """The loop's time: virtual seconds, from `START` on."""
        return self._now

    def wall_time(self) -> float:
        """Seconds since 1970, as the virtual wall clock has them."""
        return self._wall_start + (self._now - START)

    def call_at(
        self,
        when: float,
        callback: Callable[[*Ts], object],
        *args: *Ts,
        context: Context | None = None,
    ) -> asyncio.TimerHandle:
        """As asyncio's. Timers of the same time run in the order in which they were set."""
        self._check_closed()
        if self._debug:
            self._check_thread()
            self._check_callback(callback, "call_at")
        timer = asyncio.TimerHandle(when, callback, args, self, context)
        heappush(self._timers, (when, next(self._timer_numbers), timer))
        timer._scheduled = True  # type: ignore[attr-defined]  # tells us when it is cancelled
        return timer

    def run_forever(self) -> None:
        with clock.replaced(wall_time=self.wall_time, rng=self.rng):
            super().run_forever()

    def _timer_handle_cancelled(self, handle: asyncio.TimerHandle) -> None:
        self._cancelled_timers += 1
        many = self._cancelled_timers > _CANCELLED_TIMERS
        if many and self._cancelled_timers * 2 > len(self._timers):
            self._timers = [entry for entry in self._timers if not entry[2].cancelled()]
            heapify(self._timers)
            self._cancelled_timers = 0

    def _run_once(self) -> None:
        """One turn: what asyncio's loop does, but that it jumps where that one sleeps."""
        self._drop_cancelled_timers()
        if not self._ready and not self._stopping:
            self._jump()
        self._turns += 1
        if self._turns > _FREE_TURNS:
            doublings = min(self._turns // _MANY_TURNS, _MOST_DOUBLINGS)
            self._pass(self._now + _TURN_SECONDS * 2**doublings)
        while self._timers and self._timers[0][0] <= self._now:
            timer = heappop(self._timers)[2]
            timer._scheduled = False  # type: ignore[attr-defined]  # see call_at
            self._ready.append(timer)
        for _ in range(len(self._ready)):
            handle = self._ready.popleft()
            if handle.cancelled():
                continue
            if self._debug:
                self._current_handle = handle
            try:
                handle._run()
            finally:
                self._current_handle = None

    def _drop_cancelled_timers(self) -> None:
        while self._timers and self._timers[0][2].cancelled():
            heappop(self._timers)
            self._cancelled_timers -= 1

    def _jump(self) -> None:
        """Let it be the time of the next timer.

        Raises:
            DeadlockError: There is none.
        """
        when = self._timers[0][0] if self._timers else inf
        if when == inf:
            raise self._deadlock("nothing is ready, and there is no timer to wait for.")
        self._pass(when)
        self._turns = 0

    def _pass(self, when: float) -> None:
        """Let it be that time, or stay.

        Raises:
            DeadlockError: That is beyond the limit.
        """
        if when - START > self._limit:
            limit = f"the limit of {_seconds(self._limit)} virtual seconds is reached"
            error = self._deadlock(f"{limit}; to wait longer, give the loop a time_limit.")
            self._grant(CLEAN_UP_SECONDS)  # to those whom a runner cancels now
            raise error
        self._now = max(when, self._now)

    def _grant(self, seconds: float) -> None:
        """Let the limit be so much later than now."""
        self._limit = self._now - START + seconds

    def _deadlock(self, reason: str) -> DeadlockError:
        passed = _seconds(self._now - START)
        return DeadlockError(f"after {passed} s: {reason}", waiting(tasks_left(self)))

    def _write_to_self(self) -> None:
        """Another thread wants it to wake up: it does not sleep."""

    # Tasks and jobs.

    def create_task(self, coro: Any, *, name: object = None, **options: Any) -> Any:
        self._check_closed()
        if self._task_factory is not None:
            return super().create_task(coro, name=name, **options)
        number = next(self._task_numbers)
        return VirtualTask(coro, number=number, loop=self, name=name, **options)

    def run_in_executor(
        self, executor: Executor | None, func: Callable[[*Ts], T], *args: *Ts
    ) -> asyncio.Future[T]:
        """As asyncio's, but the job runs here, in one of the next turns. It takes no time.

        It sees no running loop and no context, as in a thread; and it must not wait for the loop.
        """
        self._check_closed()
        if self._debug:
            self._check_callback(func, "run_in_executor")
        if executor is None:
            self._check_default_executor()
        future: asyncio.Future[T] = self.create_future()
        self.call_soon(self._run_job, future, func, args, context=Context())
        return future

    def _run_job(
        self, future: asyncio.Future[T], func: Callable[..., T], args: Sequence[object]
    ) -> None:
        if future.cancelled():
            return
        asyncio._set_running_loop(None)
        try:
            result = func(*args)
        except (SystemExit, KeyboardInterrupt):
            raise
        except BaseException as error:
            future.set_exception(error)
        else:
            future.set_result(result)
        finally:
            asyncio._set_running_loop(self)

    # The network.

    async def getaddrinfo(  # type: ignore[override]  # ours are of TCP, and know their types
        self,
        host: str | bytes | None,
        port: str | bytes | int | None,
        *,
        family: int = 0,
        type: int = 0,
        proto: int = 0,
        flags: int = 0,
    ) -> list[AddressInfo]:
        """As asyncio's, for the names that this loop was given."""
        host = host.decode() if isinstance(host, bytes) else host
        port = port.decode() if isinstance(port, bytes) else port
        look_up = self.network.names.getaddrinfo
        return await self.run_in_executor(None, look_up, host, port, family, flags)

    async def getnameinfo(self, sockaddr: Any, flags: int = 0) -> tuple[str, str]:
        """As asyncio's, for the addresses that this loop was given."""
        await asyncio.sleep(0)
        address, port = sockaddr[:2]
        name = None if flags & socket.NI_NUMERICHOST else self.network.names.name_of(address)
        if name is None and flags & socket.NI_NAMEREQD:
            raise unknown_name()
        return name or address, str(port)

    async def create_connection(  # noqa: PLR0913  # asyncio's arguments
        self,
        protocol_factory: Callable[[], P],
        host: str | None = None,
        port: int | None = None,
        *,
        family: int = 0,
        flags: int = 0,
        local_addr: tuple[str, int] | None = None,
        all_errors: bool = False,
        **options: Any,
    ) -> tuple[asyncio.Transport, P]:
        """As asyncio's. The addresses of a name are tried one after another.

        Raises:
            NotImplementedError: It is to use TLS, or a socket.
            OSError: Nobody listens at any of the addresses, or the name has none.
        """
        check_options("create_connection", options)
        if host is None and port is None:
            raise ValueError("host and port was not specified and no sock specified")
        infos = await self._resolve(host, port, family, flags)
        errors: list[Exception] = []
        for info in infos:
            try:
                transport, protocol = await self.network.connect(protocol_factory, info, local_addr)
            except OSError as error:
                errors.append(error)
            else:
                return transport, cast(P, protocol)
        raise _all_failed(errors, all_errors=all_errors)

    async def create_server(  # type: ignore[override]  # asyncio's, but our server
        self,
        protocol_factory: Callable[[], asyncio.BaseProtocol],
        host: str | Sequence[str] | None = None,
        port: int | None = None,
        *,
        family: int = 0,
        flags: int = socket.AI_PASSIVE,
        start_serving: bool = True,
        **options: Any,
    ) -> VirtualServer:
        """As asyncio's. Port 0 becomes the next one that is free, for all addresses the same.

        Raises:
            NotImplementedError: It is to use TLS, or a socket.
            OSError: Somebody listens there, or the name has no address.
        """
        check_options("create_server", options)
        if host is None and port is None:
            raise ValueError("Neither host/port nor sock were specified")
        hosts = [host] if host is None or isinstance(host, str) else host
        infos = [info for each in hosts for info in await self._resolve(each, port, family, flags)]
        addresses = list(dict.fromkeys(info[4][0] for info in infos))
        server = self.network.listen(protocol_factory, addresses, infos[0][4][1])
        if start_serving:
            await server.start_serving()
        return server

    async def _resolve(
        self, host: str | None, port: int | None, family: int, flags: int
    ) -> list[AddressInfo]:
        """As asyncio does it: who asks for an address does not look it up."""
        if host is not None and is_address(host):
            return self.network.names.getaddrinfo(host, port, family, flags)
        return await self.getaddrinfo(host, port, family=family, flags=flags)

    def close(self) -> None:
        """As asyncio's: it cancels nothing, and a transport that is still open will warn."""
        if self.is_closed():
            return
        super().close()
        self._timers.clear()
        self.network.close()


def _seconds(value: float) -> str:
    """To the microsecond, and never as a power of ten."""
    return f"{value:.6f}".rstrip("0").rstrip(".")


def _is_running() -> bool:
    """Whether a virtual loop runs, in this thread."""
    return isinstance(asyncio._get_running_loop(), VirtualLoop)


def run(main: Coroutine[Any, Any, T], *, seed: int = 0, **options: Any) -> T:
    """The result of a coroutine, as by `asyncio.run`, on a `VirtualLoop` of its own.

    Args:
        main: What to run.
        seed: Where all chance begins.
        options: More of the loop's.

    Raises:
        DeadlockError: Everything waits, and nothing will ever come.
    """
    with VirtualLoop(seed, **options) as loop:
        return loop.run_until_complete(main)


def _all_failed(errors: list[Exception], *, all_errors: bool) -> Exception:
    """The error of a connection that no address would take, in asyncio's words."""
    if all_errors:
        return ExceptionGroup("create_connection failed", errors)
    if len({str(error) for error in errors}) == 1:
        return errors[0]
    return OSError(f"Multiple exceptions: {', '.join(map(str, errors))}")
