"""One direction of a connection: what was sent, what has arrived, and what ends it.

    transport's buffer --window--> under way --latency--> arrived --read--> the protocol

The window stands for the buffers of the two systems: what is under way or has arrived is bounded by
it. Bytes arrive in the order in which they were sent, and behind them may come an end:

* EOF: the other side sends no more (FIN).
* RESET: the other side is gone (RST). What arrived before can still be read, as on Linux.

What arrives where nobody has a socket any more is answered by a RESET.
"""

from __future__ import annotations

import asyncio
from collections import deque
from contextvars import Context, copy_context
from enum import Enum
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from kafka_aio.testing.faults import Side
    from kafka_aio.testing.link import Link
    from kafka_aio.testing.transport import VirtualTransport


class End(Enum):
    """What comes behind the last byte."""

    EOF = "eof"
    RESET = "reset"


_Sent: TypeAlias = bytes | End


class Pipe:
    """One direction of a connection."""

    def __init__(self, link: Link, to: Side) -> None:
        self.to = to
        self.context: Context = copy_context()
        """What the reader's callbacks run in."""
        self.reader: VirtualTransport | None = None
        self.writer: VirtualTransport | None = None
        self.end: End | None = None
        """What comes behind the bytes that have arrived."""
        self.was_reset = False
        """Whether a RESET has come, perhaps after an EOF."""
        self._link = link
        self._loop = link.network.loop
        self._under_way: deque[tuple[float, _Sent]] = deque()
        self._arrived = bytearray()
        self._untaken = 0
        self._timer: asyncio.TimerHandle | None = None
        self._is_deaf = False  # the reader's socket is closed
        self._is_severed = False  # the connection was cut

    def __repr__(self) -> str:
        end = f", then {self.end.value}" if self.end else ""
        return f"<Pipe to the {self.to}: {len(self._arrived)} of {self._untaken} arrived{end}>"

    @property
    def room(self) -> int:
        """How many bytes may be sent."""
        return max(self._link.network.window, 1) - self._untaken

    @property
    def is_readable(self) -> bool:
        return bool(self._arrived) or self.end is not None

    @property
    def has_bytes(self) -> bool:
        return bool(self._arrived)

    # The writer's end.

    def send(self, data: bytes) -> None:
        """Put bytes on their way; there is room for them."""
        self._link.network.note("sent", self._link, self.to, data)
        if self._is_severed:
            self._bounce()
            return
        self._untaken += len(data)
        self._push(data)

    def finish(self, end: End) -> None:
        """Put the end on its way, behind all bytes."""
        self._link.network.note(f"sent {end.value}", self._link, self.to)
        if not self._is_severed:
            self._push(end)

    # The reader's end.

    def take(self, limit: int) -> bytes:
        """The next bytes that have arrived."""
        if len(self._arrived) <= limit:
            data = bytes(self._arrived)
            self._arrived.clear()
        else:
            data = bytes(self._arrived[:limit])
            del self._arrived[:limit]
        self._untaken -= len(data)
        self._link.network.note("received", self._link, self.to, data)
        if self.writer is not None:
            self.writer.has_room()
        return data

    def take_end(self) -> End | None:
        """What comes behind the last byte."""
        if self.end is not None:
            self._link.network.note(f"received {self.end.value}", self._link, self.to)
        return self.end

    def close(self) -> None:
        """The reader's socket is closed: what has arrived, and what will, is for nobody."""
        self._is_deaf = True
        self._untaken -= len(self._arrived)
        self._arrived.clear()
        if self.writer is not None:
            self.writer.has_room()
        self._link.closed(self.to)

    # The network's part.

    def stall(self) -> None:
        """Let nothing arrive until `go_on`."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def go_on(self) -> None:
        """Let arrive what was held up."""
        self._arm(self._loop.time() + self._link.delay())

    def sever(self, end: End) -> None:
        """Lose what is under way, and let the reader find the end instead."""
        self.stall()
        self._is_severed = True
        self._under_way.clear()
        self._untaken = len(self._arrived)
        self._end(end)
        if self.reader is not None:
            self.reader.read_soon()
        if self.writer is not None:
            self.writer.has_room()

    def _push(self, sent: _Sent) -> None:
        # One that overtakes another waits for it: they arrive in order.
        arrival = self._loop.time() + self._link.delay()
        self._under_way.append((arrival, sent))
        self._arm(arrival)

    def _arm(self, when: float) -> None:
        if self._timer is None and self._under_way and not self._link.is_stalled:
            self._timer = self._loop.call_at(when, self._arrive, context=self.context)

    def _arrive(self) -> None:
        self._timer = None
        now = self._loop.time()
        while self._under_way and self._under_way[0][0] <= now:
            _, sent = self._under_way.popleft()
            if isinstance(sent, End):
                self._end(sent)
            else:
                self._land(sent)
        if self._under_way:
            self._arm(self._under_way[0][0])
        if self.reader is not None:
            self.reader.read_ready()

    def _land(self, data: bytes) -> None:
        if self._is_deaf:
            self._untaken -= len(data)
            self._bounce()
            return
        cut = self._link.meter(self.to, len(data))
        if cut is None:
            self._arrived += data
        else:
            self._arrived += data[: cut.remaining]
            self._link.cut(reset=cut.reset)

    def _end(self, end: End) -> None:
        if self.end is None:
            self.end = end
        if end is End.RESET:
            self.was_reset = True
            if self.reader is not None:
                self.reader.met_reset()

    def _bounce(self) -> None:
        """Tell the writer that nobody is there."""
        back = self._link.opposite(self)
        if not back.was_reset:
            back._push(End.RESET)
