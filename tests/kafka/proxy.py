"""The bad network before a node: a TCP proxy that misbehaves when it is told to.

    async with Proxy(("127.0.0.1", port), seed=7, frames=True) as proxy:
        ...  # clients connect to proxy.port
        with proxy.black_hole(direction=TO_CLIENT):
            ...
        produced = proxy.hold(ProduceRequest)
        await produced.wait_held()  # the broker has carried it out; the client does not know
        proxy.cut("rst")

A fault lasts until its `lift()`, the end of its `with` block, or `heal()`. It is there for both
directions and all connections, present and future, unless told otherwise; of two of a kind the
later counts. Connections have numbers from 1, in the order in which they come.

Chance depends on the seed, the connection, the direction and the position in its stream alone: the
same bytes are cut and sliced at the same places, however they arrive. Only a delay is drawn for
each read. A direction never holds more than one read; what is behind it, TCP holds back.
"""

from __future__ import annotations

import asyncio
import itertools
import socket
from contextlib import suppress
from typing import Any, Final, Self, TypeVar, Unpack

from kafka_aio.protocol.schema import Request
from tests.kafka import faults
from tests.kafka.faults import TO_CLIENT, TO_SERVER, Fault, Hold, How, Where
from tests.kafka.relay import Connection, Event, Network

__all__ = ["TO_CLIENT", "TO_SERVER", "Event", "Proxy"]

HOST: Final = "127.0.0.1"
BACKLOG: Final = 128

F = TypeVar("F", bound=Fault)


class Proxy:
    """Listens on loopback and forwards to `target`, without a fault until it is told otherwise.

    Attributes:
        port: Where it listens.
        trace: What it did, the last 100,000 of it.
    """

    def __init__(
        self, target: tuple[str, int], *, listen_port: int = 0, seed: int = 0, frames: bool = False
    ) -> None:
        """
        Args:
            frames: What goes through is Kafka's protocol in plain text: `hold` must know.
        """
        self.port = listen_port
        self._network = Network(target, seed, frames)
        self.trace = self._network.trace
        self._numbers = itertools.count(1)
        self._connections: dict[asyncio.Task[None], Connection] = {}
        self._reserve: socket.socket | None = None
        self._listener: socket.socket | None = None

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()

    async def start(self) -> None:
        """
        Raises:
            OSError: The port is not free.
        """
        self._reserve = _bound_to(self.port)  # and never listening: the port is ours, open or not
        self.port = self._reserve.getsockname()[1]
        self._open()

    async def aclose(self) -> None:
        """End all connections and give the port back."""
        running = list(self._connections)
        for task in running:
            task.cancel()
        self.heal()
        self._shut()
        if self._reserve is not None:
            self._reserve.close()
        if running:
            await asyncio.wait(running)

    async def wait_for(self, what: str) -> None:
        """Until there is such an event in the trace."""
        while not any(event.what == what for event in self.trace):
            self._network.news.clear()
            await self._network.news.wait()

    def heal(self) -> None:
        """Lift all faults."""
        for fault in self._network.faults[:]:
            fault.lift()

    def cut(self, how: How, *, connection: int | None = None) -> None:
        """End all connections, or one, on both sides. What is under way is lost."""
        for each in self._connections.values():
            if connection in (None, each.number):
                each.cut(how)

    def cut_after(
        self, count: int | tuple[int, int], how: How, *, times: float = 1, **where: Unpack[Where]
    ) -> Fault:
        """Cut connections, so many `times`, when they have forwarded so much from now on.

        Args:
            count: Bytes of one direction; or the least and the most, drawn for each connection.
        """
        low, high = count if isinstance(count, tuple) else (count, count)
        return self._set(faults.Cut(low, high, how, times, **where))

    def black_hole(self, **where: Unpack[Where]) -> Fault:
        """Take all bytes and forward none. When lifted, connections that lost some are reset."""
        return self._set(faults.BlackHole(**where))

    def stall(self, **where: Unpack[Where]) -> Fault:
        """Forward nothing; when lifted, all of it."""
        return self._set(faults.Stall(**where))

    def delay(self, seconds: float, jitter: float = 0, **where: Unpack[Where]) -> Fault:
        """Keep each read for that time, and up to `jitter` longer, before it is forwarded."""
        return self._set(faults.Delay(seconds, seconds + jitter, **where))

    def slice(self, least: int = 1, most: int = 16, **where: Unpack[Where]) -> Fault:
        """Forward a few bytes at a time."""
        return self._set(faults.Slices(least, most, **where))

    def bandwidth(self, bytes_per_second: float, **where: Unpack[Where]) -> Fault:
        """Forward no faster than that."""
        return self._set(faults.Bandwidth(bytes_per_second, **where))

    def hold(self, api: type[Request[Any]], *, times: float = 1, **where: Unpack[Where]) -> Hold:
        """Hold back the next responses of an API, so many `times`, until it is told what to do."""
        assert self._network.frames, "Proxy(..., frames=True) can tell responses"
        return self._set(Hold(api, times, **where))

    def refuse(self) -> Fault:
        """Nobody listens: attempts to connect are refused."""
        self._shut()
        door = self._set(Fault())
        door.undo.callback(self._open)
        return door

    def hang(self) -> Fault:
        """Attempts to connect get no answer: Linux ignores them while this queue is full."""
        self._listen(0)  # and accept nobody: there is room for one
        filler = socket.socket()
        filler.setblocking(False)
        with suppress(BlockingIOError):
            filler.connect((HOST, self.port))
        door = self._set(Fault())
        door.undo.callback(self._open)
        door.undo.callback(filler.close)
        return door

    def _set(self, fault: F) -> F:
        self._network.faults.append(fault)
        fault.undo.callback(self._network.faults.remove, fault)
        return fault

    def _open(self) -> None:
        listener = self._listen(BACKLOG)
        asyncio.get_running_loop().add_reader(listener, self._accept, listener)

    def _listen(self, backlog: int) -> socket.socket:
        self._shut()
        self._listener = _bound_to(self.port)
        self._listener.listen(backlog)
        return self._listener

    def _shut(self) -> None:
        if self._listener is not None:
            asyncio.get_running_loop().remove_reader(self._listener)
            self._listener.close()
            self._listener = None

    def _accept(self, listener: socket.socket) -> None:
        try:
            client, _ = listener.accept()
        except OSError:  # who came has gone again
            return
        connection = Connection(self._network, next(self._numbers), client)
        task = asyncio.create_task(connection.run())
        self._connections[task] = connection
        task.add_done_callback(self._ended)

    def _ended(self, task: asyncio.Task[None]) -> None:
        # Not in the task: one that is cancelled before its first step would leave them open.
        self._connections.pop(task).close()


def _bound_to(port: int) -> socket.socket:
    bound = socket.socket()
    bound.setblocking(False)
    bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)  # with the one in reserve
    try:
        bound.bind((HOST, port))
    except OSError:
        bound.close()
        raise
    return bound
