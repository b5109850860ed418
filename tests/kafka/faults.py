"""What can be wrong with the network that a proxy is. `Proxy` has the words that set them."""

from __future__ import annotations

import asyncio
from contextlib import ExitStack, suppress
from enum import StrEnum
from typing import Any, Literal, Self, TypedDict, Unpack

from kafka_aio.protocol.schema import Request, schema_of

How = Literal["fin", "rst"]


class Direction(StrEnum):
    """Which way bytes go."""

    TO_SERVER = "to server"
    TO_CLIENT = "to client"


TO_SERVER, TO_CLIENT = Direction


class Where(TypedDict, total=False):
    """What a fault is limited to."""

    direction: Direction
    connection: int


class Fault:
    """One thing that is wrong until it is lifted; its amount is drawn from `low` to `high`."""

    def __init__(self, low: float = 0, high: float = 0, **where: Unpack[Where]) -> None:
        self.low = low
        self.high = high
        self.undo = ExitStack()
        self._where = where
        self._lifted = asyncio.Event()
        self.undo.callback(self._lifted.set)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.lift()

    def lift(self) -> None:
        self.undo.close()

    def applies(self, direction: Direction, connection: int) -> bool:
        return (
            self._where.get("direction", direction) == direction
            and self._where.get("connection", connection) == connection
        )

    async def wait_lifted(self, at_most: float | None = None) -> None:
        """Until it is lifted, or so many seconds have passed."""
        with suppress(TimeoutError):
            async with asyncio.timeout(at_most):
                await self._lifted.wait()


class Silence(Fault):
    """Nothing comes through, not even the end of a stream."""


class Stall(Silence):
    """Bytes wait until it is lifted."""


class BlackHole(Silence):
    """Bytes are taken, and lost."""


class Delay(Fault):
    """Each read waits for some seconds."""


class Slices(Fault):
    """Bytes go on a few at a time."""


class Bandwidth(Fault):
    """Bytes go on no faster than `low` in a second."""


class Cut(Fault):
    """Connections end after some more bytes, so many `times`."""

    def __init__(self, low: int, high: int, how: How, times: float, **where: Unpack[Where]) -> None:
        super().__init__(low, high, **where)
        self.how = how
        self.times = times

    def count(self) -> None:
        self.times -= 1
        if self.times <= 0:
            self.lift()


class Hold(Fault):
    """Responses of an API are held back, and with them what comes behind on their connections.

    Attributes:
        held: How many, up to now.
    """

    def __init__(self, api: type[Request[Any]], times: float, **where: Unpack[Where]) -> None:
        super().__init__(**where)
        self.held = 0
        self._key = schema_of(api).key
        self._times = times
        self._is_dropping = False
        self._decided = asyncio.Event()
        self._news = asyncio.Event()
        self.undo.callback(self._decided.set)

    def release(self) -> None:
        """Let go what is held, and hold no more."""
        self.lift()

    def drop(self) -> None:
        """Lose what is held and what will be: the client hears only what comes behind."""
        self._is_dropping = True
        self._decided.set()

    async def wait_held(self, count: int = 1) -> None:
        """Until so many have been held or dropped."""
        while self.held < count:
            self._news.clear()
            await self._news.wait()

    def wants(self, key: int | None) -> bool:
        return key == self._key and self.held < self._times

    async def take(self) -> bool:
        """Hold a response; true if it is to be dropped in the end."""
        self.held += 1
        self._news.set()
        await self._decided.wait()
        return self._is_dropping
