"""Tasks that carry requests: each waits for one, carries it to its end, and waits for the next.

To wake one that waits costs a third of what a new task of the client's group costs; so a producer
that sends one record at a time is as quick as the network.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable
from typing import Generic, TypeVar

from kafka_aio.net.tasks import Tasks

T = TypeVar("T")


class Couriers(Generic[T]):
    """As many tasks as there were loads on their way at once. Loads set out in their order."""

    def __init__(self, tasks: Tasks, carry: Callable[[T], Awaitable[None]]) -> None:
        self._tasks = tasks
        self._carry = carry
        self._loop = asyncio.get_running_loop()
        self._loads: deque[T] = deque()
        self._idle: deque[asyncio.Future[None]] = deque()
        self._count = 0

    def __repr__(self) -> str:
        return f"<Couriers: {self._count - len(self._idle)} of {self._count} on their way>"

    def send(self, load: T) -> None:
        """Have it carried."""
        self._loads.append(load)
        while self._idle:
            called = self._idle.popleft()
            if not called.done():  # else it was cancelled, and has not yet run to its end
                called.set_result(None)
                return
        self._count += 1
        self._tasks.spawn(self._run, name=f"courier {self._count}")

    async def _run(self) -> None:
        while True:
            while self._loads:
                await self._carry(self._loads.popleft())
            called: asyncio.Future[None] = self._loop.create_future()
            self._idle.append(called)
            await called
