"""A connection, as the network sees it: two pipes, and what is wrong with them."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import TYPE_CHECKING

from kafka_aio.testing.faults import Cut, Fault, Side
from kafka_aio.testing.pipe import End, Pipe

if TYPE_CHECKING:
    from kafka_aio.testing.network import Network


@dataclass(slots=True)
class _Countdown:
    """How many bytes a connection still lets through."""

    fault: Cut
    remaining: int

    @property
    def reset(self) -> bool:
        return self.fault.reset


class Link:
    """A connection that is made, open, or being closed.

    Attributes:
        number: Counts from 1, in the order in which they were asked for.
        client: Address and port of the end that asked for it.
        server: Address and port of the other.
        received: How many bytes have arrived at each end.
        is_stalled: Whether nothing arrives.
    """

    def __init__(
        self, network: Network, number: int, client: tuple[str, int], server: tuple[str, int]
    ) -> None:
        self.network = network
        self.number = number
        self.client = client
        self.server = server
        self.received: dict[Side, int] = {"client": 0, "server": 0}
        self.is_stalled = False
        self.to_client = Pipe(self, "client")
        self.to_server = Pipe(self, "server")
        self._latency: tuple[float, float] | None = None
        self._countdowns: list[_Countdown] = []
        self._is_cut = False
        self._closed: set[Side] = set()
        self._moves = asyncio.Event()
        self._moves.set()

    def __repr__(self) -> str:
        client, server = f"{self.client[0]}:{self.client[1]}", f"{self.server[0]}:{self.server[1]}"
        stalled = ", stalled" if self.is_stalled else ""
        return f"<Link {self.number} from {client} to {server}{stalled}>"

    @property
    def is_open(self) -> bool:
        """Whether both ends are there, and nothing has cut it."""
        ends = (self.to_client.reader, self.to_server.reader)
        return not self._is_cut and all(end is not None and not end.is_closing() for end in ends)

    def cut(self, *, reset: bool = True) -> None:
        """Break it. What is under way is lost; what has arrived can still be read.

        Args:
            reset: Whether the ends see a reset, or an end of file.
        """
        if self._is_cut:
            return
        self._is_cut = True
        self.network.note("cut", self)
        self._countdowns.clear()
        for pipe in (self.to_client, self.to_server):
            pipe.sever(End.RESET if reset else End.EOF)

    def closed(self, side: Side) -> None:
        """One end has closed its socket."""
        self._closed.add(side)
        if len(self._closed) == 2:
            self.network.forget(self)

    def opposite(self, pipe: Pipe) -> Pipe:
        return self.to_client if pipe is self.to_server else self.to_server

    def delay(self) -> float:
        """How long the next thing that is sent takes."""
        low, high = self._latency or self.network.latency
        return low + (high - low) * self.network.rng.random() if high > low else low

    async def travel(self) -> None:
        """Take the time that a packet takes; one that is lost is sent again."""
        await asyncio.sleep(self.delay())
        await self._moves.wait()

    def meter(self, to: Side, size: int) -> _Countdown | None:
        """Count bytes that arrive. The countdown that ends with them, if one does."""
        self.received[to] += size
        if not self._countdowns:
            return None
        counting = [each for each in self._countdowns if each.fault.to in (to, None)]
        first = min(counting, key=lambda each: each.remaining, default=None)
        if first is not None and first.remaining <= size:
            self.received[to] -= size - first.remaining
            self.network.used(first.fault)
            return first
        for each in counting:
            each.remaining -= size
        return None

    # Faults.

    def arm(self, fault: Cut) -> None:
        """Break after so many bytes from now on; at once if that is none."""
        low, high = fault.after
        remaining = self.network.rng.randint(low, high)
        if remaining > 0:
            self._countdowns.append(_Countdown(fault, remaining))
        else:
            self.network.used(fault)
            self.cut(reset=fault.reset)

    def disarm(self, fault: Fault) -> None:
        self._countdowns = [each for each in self._countdowns if each.fault is not fault]

    def suffer(self, *, is_stalled: bool, latency: tuple[float, float] | None) -> None:
        """Be as the faults of the network want it."""
        self._latency = latency
        if is_stalled == self.is_stalled:
            return
        self.is_stalled = is_stalled
        if is_stalled:
            self._moves.clear()
            self.to_client.stall()
            self.to_server.stall()
        else:
            self._moves.set()
            self.to_client.go_on()
            self.to_server.go_on()
