"""`BrokerThread`: the embedded broker for programs without an event loop, on one of its own."""

from __future__ import annotations

import asyncio
import os
import threading
import warnings
from collections.abc import Callable, Coroutine
from concurrent.futures import Future
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Concatenate, Final, ParamSpec, Self, TypeVar, cast

from kafka_aio.broker.embedded import PATIENCE, EmbeddedBroker
from kafka_aio.broker.operations import Operations
from kafka_aio.errors import KafkaTimeoutError, StateError
from kafka_aio.net.clock import seconds

if TYPE_CHECKING:
    from kafka_aio.broker.faults.rules import Rule
    from kafka_aio.broker.security.certificates import Certificates
    from kafka_aio.broker.server import Server

P = ParamSpec("P")
T = TypeVar("T")

TIMEOUT: Final = 30.0
"""Seconds that a call may take: more than that, and something is wrong with the thread."""


def _takes_the_arguments_of(
    model: Callable[Concatenate[EmbeddedBroker, P], None],
) -> Callable[[Callable[..., None]], Callable[Concatenate[BrokerThread, P], None]]:
    """For type checkers alone: a constructor hands on what it takes."""
    return lambda constructor: cast("Callable[Concatenate[BrokerThread, P], None]", constructor)


class BrokerThread(Operations):
    """An `EmbeddedBroker` on a loop in a thread of its own; its calls wait for their results.

        with BrokerThread(topics={"orders": 3}) as broker:
            producer = confluent_kafka.Producer({"bootstrap.servers": broker.bootstrap_servers})

    It takes what `EmbeddedBroker` takes, and may be used by several threads.
    """

    @_takes_the_arguments_of(EmbeddedBroker.__init__)
    def __init__(self, **arguments: Any) -> None:
        self._broker = EmbeddedBroker(**arguments)
        self._state = self._broker._state
        self._lane: _Lane | None = None
        self._is_closed = False

    def __repr__(self) -> str:
        return f"<BrokerThread of {self._broker!r}>"

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *exc_info: object) -> None:
        self.close()

    def __del__(self) -> None:
        lane: _Lane | None = getattr(self, "_lane", None)
        if lane is not None and lane.is_running:
            warnings.warn(f"unclosed {self!r}", ResourceWarning, source=self, stacklevel=1)
            lane.stop()

    @property
    def is_running(self) -> bool:
        """Whether it was started and not closed."""
        return not self._is_closed and self._lane is not None and self._lane.is_running

    @property
    def bootstrap_servers(self) -> str:
        """Where its nodes are, as every client takes it: "127.0.0.1:34567"."""
        return self._broker.bootstrap_servers

    @property
    def security_protocol(self) -> str:
        """What clients have to speak, as Kafka calls it: "PLAINTEXT", "SASL_SSL" ..."""
        return self._broker.security_protocol

    @property
    def mechanisms(self) -> tuple[str, ...]:
        """The mechanisms of SASL by which clients can log in; none where they need not."""
        return self._broker.mechanisms

    @property
    def certificates(self) -> Certificates:
        """What clients have to trust.

        Raises:
            StateError: It does not speak TLS, or was not started.
        """
        return self._broker.certificates

    def start(self) -> None:
        """Start the thread, and open the ports. Once: after a start that failed, make a new one.

        Raises:
            ConfigError, BrokerError: As `EmbeddedBroker.start`.
            StateError: It was started before, or is closed meanwhile.
        """
        self._check_open()
        if self._lane is not None:
            raise StateError("the broker was started before; make a new one")
        self._lane = lane = _Lane(self._broker)
        self._check_open()  # another thread may have closed it, and not seen the lane
        try:
            lane.start()
        except BaseException:
            self.close()
            raise
        self.faults.run = lane.do

    def close(self) -> None:
        """Close the ports and all connections, and end the thread. The second call does nothing."""
        self._is_closed = True
        if self._lane is not None:
            self._lane.stop()
            self._lane.join()

    def stop_node(self, node: int) -> None:
        """Let a node fail: its port and its connections close, and others lead its partitions.

        Raises:
            ConfigError: There is no such node.
        """
        self._running().run(self._broker.stop_node(node))

    def start_node(self, node: int) -> None:
        """Let a node come back, on the same port.

        Raises:
            ConfigError: There is no such node, or its port was taken meanwhile.
        """
        self._running().run(self._broker.start_node(node))

    def wait_hits(self, fault: Rule, count: int = 1, *, timeout: float = PATIENCE) -> None:
        """Wait until a fault has happened so often: as `EmbeddedBroker.wait_hits`.

        Raises:
            KafkaTimeoutError: It did not in that time.
        """
        lane = self._running()
        waiting = self._broker.wait_hits(fault, count, timeout=timeout)
        lane.run(waiting, timeout=seconds(timeout, PATIENCE) + TIMEOUT)

    def _do(self, action: Callable[[], T]) -> T:
        return self._running().do(action)

    def _listening(self) -> Server:
        return self._broker._listening()  # inside of `_do`: in the loop

    def _running(self) -> _Lane:
        if self._lane is None:
            self._check_open()
            raise StateError("the broker was not started: use it in `with`, or call start()")
        return self._lane

    def _check_open(self) -> None:
        if self._is_closed:
            raise StateError("the broker is closed: make a new one")


class _Lane:
    """The thread, and the way into it. It knows nothing of who owns it."""

    def __init__(self, broker: EmbeddedBroker) -> None:
        self._broker = broker
        self._pid = os.getpid()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._end: asyncio.Event | None = None
        self._is_stopped = False
        # A daemon: a program that forgets to close it can end all the same.
        self._thread = threading.Thread(target=self._main, name="kafka_aio broker", daemon=True)
        self._started: Future[None] = Future()

    @property
    def is_running(self) -> bool:
        return self._pid == os.getpid() and self._thread.is_alive()

    def start(self) -> None:
        self._thread.start()
        self._started.result(TIMEOUT)

    def stop(self) -> None:
        self._is_stopped = True  # before anything else: the thread looks at it when it can be told
        if self.is_running and self._loop is not None and self._end is not None:
            with suppress(RuntimeError):  # it has ended between the two
                self._loop.call_soon_threadsafe(self._end.set)

    def join(self) -> None:
        if self.is_running:
            self._thread.join(TIMEOUT)

    def do(self, action: Callable[[], T]) -> T:
        """The result of something that is done in the thread."""

        async def act() -> T:
            return self._broker._do(action)

        return self.run(act())

    def run(self, work: Coroutine[Any, Any, T], *, timeout: float = TIMEOUT) -> T:
        """The result of a coroutine that runs in the thread.

        Raises:
            StateError: There is no such thread any more, or it is the one that asks.
            KafkaTimeoutError: It took too long.
        """
        try:
            self._check()
            assert self._loop is not None
            future = asyncio.run_coroutine_threadsafe(work, self._loop)
        except BaseException:
            work.close()
            raise
        try:
            return future.result(timeout)
        except TimeoutError:
            if future.done():  # it was not we who waited too long
                raise
            future.cancel()
            raise KafkaTimeoutError(f"the broker's thread did nothing for {timeout} s") from None

    def _check(self) -> None:
        if self._pid != os.getpid():
            raise StateError("the broker is in the process that was forked: use it there")
        if threading.current_thread() is self._thread:
            raise StateError("the broker's own thread cannot wait for itself")
        if not self._thread.is_alive() or self._loop is None:
            raise StateError("the broker is closed: make a new one")

    def _main(self) -> None:
        asyncio.run(self._serve())

    async def _serve(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._end = asyncio.Event()
        try:
            await self._broker.start()
            if self._is_stopped:
                raise StateError("the broker was closed while it was starting: make a new one")
        except BaseException as error:
            await self._broker.aclose()
            self._started.set_exception(error)
            return
        self._started.set_result(None)
        try:
            await self._end.wait()
        finally:
            await self._broker.aclose()
