"""One connection through a proxy: what it reads it sends on, as far as the faults let it."""

from __future__ import annotations

import asyncio
import math
import random
import socket
import struct
from collections import deque
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Final, NamedTuple, TypeVar

from tests.kafka.faults import (
    TO_CLIENT,
    TO_SERVER,
    Bandwidth,
    BlackHole,
    Cut,
    Delay,
    Direction,
    Fault,
    Hold,
    How,
    Silence,
    Slices,
    Stall,
)

READ_SIZE: Final = 65_536
TRACE_LENGTH: Final = 100_000
UNANSWERED: Final = 1_000  # requests remembered on a connection; with acks=0 no answer ever comes
RESET: Final = struct.pack("ii", 1, 0)  # SO_LINGER without time to linger: close() sends RST
# The length, and then: the API key, the version and the correlation id; the correlation id.
HEADS: Final = {TO_SERVER: struct.Struct(">ihhi"), TO_CLIENT: struct.Struct(">ii")}

F = TypeVar("F", bound=Fault)


class Event(NamedTuple):
    """Something that was done, and after how many bytes of that direction.

    accept; "delay of 0.123 s", slice, stall, swallow; hold, then release or drop; "cut by fin",
    "cut by rst"; end: a side's FIN was passed on; reset: a side was gone, so the other was reset.
    """

    what: str
    connection: int
    direction: Direction
    position: int


@dataclass
class Network:
    """What the connections of a proxy have in common."""

    target: tuple[str, int]
    seed: int
    frames: bool
    faults: list[Fault] = field(default_factory=list)
    trace: deque[Event] = field(default_factory=lambda: deque(maxlen=TRACE_LENGTH))
    news: asyncio.Event = field(default_factory=asyncio.Event)


class Pump:
    """One direction of one connection."""

    def __init__(self, connection: Connection, direction: Direction, *ends: socket.socket) -> None:
        self._connection = connection
        self._network = connection.network
        self._direction = direction
        self._source, self._sink = ends
        self._position = 0
        self._frame_left = 0 if self._network.frames else math.inf
        self._slice_left = 0
        self._is_dropping = False
        self._lost_to: Fault | None = None
        self._cuts: dict[Cut, int] = {}
        # One for each kind of decision: delays, drawn per read, must not shift the others.
        name = f"{self._network.seed} {connection.number} {direction}"
        self._chance = {kind: random.Random(f"{name} {kind}") for kind in ("cut", "delay", "slice")}

    def note(self, what: str) -> None:
        event = Event(what, self._connection.number, self._direction, self._position)
        self._network.trace.append(event)
        self._network.news.set()

    def _faults(self, kind: type[F]) -> Iterator[F]:
        for fault in reversed(self._network.faults):
            if isinstance(fault, kind) and fault.applies(self._direction, self._connection.number):
                yield fault

    def _fault(self, kind: type[F]) -> F | None:
        return next(self._faults(kind), None)

    async def run(self) -> None:
        loop, kept = asyncio.get_running_loop(), b""
        try:
            while data := await loop.sock_recv(self._source, READ_SIZE):
                if delay := self._fault(Delay):
                    seconds = self._chance["delay"].uniform(delay.low, delay.high)
                    self.note(f"delay of {seconds:.3f} s")
                    await delay.wait_lifted(seconds)
                kept = await self._sift(kept + data)
                await asyncio.sleep(0)  # a socket that is ready does not wait for the loop
            await self._forward(kept)
            await self._silence()
            self._sink.shutdown(socket.SHUT_WR)
            self.note("end")
        except OSError:
            await self._silence()
            self.note("reset")
            self._connection.end("rst")

    async def _silence(self) -> None:
        while silence := self._fault(Silence):
            await silence.wait_lifted()

    async def _sift(self, data: bytes) -> bytes:
        """Forward all frames but those that are dropped; give back a head that is incomplete."""
        head = HEADS[self._direction]
        while data:
            if not self._frame_left:
                if len(data) < head.size:
                    break
                length, *fields = head.unpack_from(data)
                self._frame_left = 4 + length if 4 + length >= head.size else math.inf
                self._is_dropping = await self._is_dropped(*fields)
            size = int(min(self._frame_left, len(data)))
            if not self._is_dropping:
                await self._forward(data[:size])
            self._frame_left -= size
            data = data[size:]
        return data

    async def _is_dropped(self, *fields: int) -> bool:
        """Of a frame with such a head; known when nothing holds it any more."""
        asked = self._connection.asked
        if self._direction is TO_SERVER:
            key, _, correlation_id = fields
            asked[correlation_id] = key
            if len(asked) > UNANSWERED:
                del asked[next(iter(asked))]
            return False
        answered = asked.pop(fields[0], None)
        hold = next((each for each in self._faults(Hold) if each.wants(answered)), None)
        if hold is None:
            return False
        self.note("hold")
        is_dropped = await hold.take()
        self.note("drop" if is_dropped else "release")
        return is_dropped

    async def _forward(self, data: bytes) -> None:
        loop, rest = asyncio.get_running_loop(), memoryview(data)
        while rest:
            while stall := self._fault(Stall):
                self.note("stall")
                await stall.wait_lifted()
            if hole := self._fault(BlackHole):
                self._lose_to(hole)
                return
            size = self._portion(len(rest))
            await loop.sock_sendall(self._sink, rest[:size])
            rest = rest[size:]
            self._position += size
            await self._after(size)

    def _lose_to(self, hole: BlackHole) -> None:
        if hole is not self._lost_to:
            self.note("swallow")
            hole.undo.callback(self._connection.cut, "rst")  # the stream has a gap for good
            self._lost_to = hole

    def _portion(self, size: int) -> int:
        """How many bytes to send at once."""
        if slices := self._fault(Slices):
            low, high = int(slices.low), int(slices.high)
            self._slice_left = self._slice_left or self._chance["slice"].randint(low, high)
            size = min(size, self._slice_left)
        else:
            self._slice_left = 0
        if bandwidth := self._fault(Bandwidth):
            size = min(size, max(1, int(bandwidth.low / 20)))
        if cut := self._fault(Cut):
            size = min(size, max(0, self._end_by(cut) - self._position))
        return size

    async def _after(self, size: int) -> None:
        cut = self._fault(Cut)
        if cut and self._position >= self._end_by(cut):
            self.note(f"cut by {cut.how}")
            self._connection.end(cut.how)
            cut.count()
            await asyncio.sleep(0)  # cancelled by that end
        if self._slice_left:
            self._slice_left -= size
            if not self._slice_left:
                self.note("slice")
                await asyncio.sleep(0)  # or else the other side reads several at once
        if bandwidth := self._fault(Bandwidth):
            await bandwidth.wait_lifted(size / bandwidth.low)

    def _end_by(self, cut: Cut) -> int:
        if cut not in self._cuts:
            more = self._chance["cut"].randint(int(cut.low), int(cut.high))
            self._cuts[cut] = self._position + more
        return self._cuts[cut]


class Connection:
    """A client, the server, and what goes between them."""

    def __init__(self, network: Network, number: int, client: socket.socket) -> None:
        self.network = network
        self.number = number
        self.asked: dict[int, int] = {}  # correlation id to API key
        self._sockets = client, server = client, socket.socket()
        for each in self._sockets:
            each.setblocking(False)
            each.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._pumps = Pump(self, TO_SERVER, client, server), Pump(self, TO_CLIENT, server, client)
        self._pumps[0].note("accept")
        self._how: asyncio.Future[How] = asyncio.get_running_loop().create_future()
        self._pumping: list[asyncio.Task[None]] = []

    def end(self, how: How) -> None:
        """From now on no byte goes through."""
        if not self._how.done():
            self._how.set_result(how)
            for task in self._pumping:
                task.cancel()

    def cut(self, how: How) -> None:
        if not self._how.done():
            for pump in self._pumps:
                pump.note(f"cut by {how}")
            self.end(how)

    async def run(self) -> None:
        """Until both sides have ended it, or a cut. `close` is still to be called."""
        async with asyncio.TaskGroup() as group:
            relay = group.create_task(self._relay())
            how = await self._how
            relay.cancel()
        async with asyncio.TaskGroup() as group:
            for each in self._sockets:
                if how == "rst":
                    each.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)
                else:
                    group.create_task(_finish(each))

    def close(self) -> None:
        for each in self._sockets:
            each.close()

    async def _relay(self) -> None:
        try:
            await asyncio.get_running_loop().sock_connect(self._sockets[1], self.network.target)
        except OSError:
            self._pumps[0].note("reset")
            self.end("rst")
            return
        async with asyncio.TaskGroup() as group:
            self._pumping += [group.create_task(pump.run()) for pump in self._pumps]
        self.end("fin")


async def _finish(end: socket.socket) -> None:
    """Send FIN, and then read to the end: to close with bytes unread would send RST."""
    with suppress(OSError):
        end.shutdown(socket.SHUT_WR)
        while await asyncio.get_running_loop().sock_recv(end, READ_SIZE):
            pass
