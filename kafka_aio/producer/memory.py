"""The bytes for records that wait to be sent, and the queue of those who wait for some. Pure.

Who finds no room takes a ticket. When bytes come free, as many tickets are called, the oldest
first, as there are bytes for their records: they share batches, and who opens one serves the next.
A ticket that was called in vain keeps its place. Nobody new is served before those who wait.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Hashable
from typing import Generic, TypeVar

T = TypeVar("T", bound=Hashable)


class Memory(Generic[T]):
    """A bound on bytes, first come first served. Tickets are any objects of the caller's."""

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.free = limit
        self._queue: OrderedDict[T, int] = OrderedDict()  # each ticket, and the bytes of its record
        self._called: set[T] = set()

    def __repr__(self) -> str:
        return f"<Memory: {self.free} of {self.limit} bytes free, {len(self._queue)} waiting>"

    def __len__(self) -> int:
        """How many wait."""
        return len(self._queue)

    def reserve(self, size: int, ticket: T | None = None) -> bool:
        """Take that many bytes, if they are there and nobody waits who came before."""
        is_first = not self._queue if ticket is None else next(iter(self._queue), None) == ticket
        if not is_first or size > self.free:
            return False
        self.free -= size
        return True

    def release(self, size: int) -> None:
        """Give bytes back; `call` tells whom that helps."""
        self.free += size
        assert self.free <= self.limit, f"{self!r}: more was released than reserved"

    def wait(self, ticket: T, size: int) -> None:
        """Join the queue, for a record of that many bytes; or wait for the next call, if in it."""
        self._queue.setdefault(ticket, size)
        self._called.discard(ticket)

    def leave(self, ticket: T) -> None:
        """Leave the queue, served or not. Afterwards `call`: it may be another's turn."""
        self._queue.pop(ticket, None)
        self._called.discard(ticket)

    def call(self) -> list[T]:
        """The tickets whose turn it is to try, none of them twice."""
        if not self._queue or self.free == 0:
            return []
        called: list[T] = []
        room = self.free
        for ticket, size in self._queue.items():
            room -= size
            if room < 0 and called:
                break
            if ticket not in self._called:
                called.append(ticket)
            if room < 0:
                break
        self._called.update(called)
        return called

    def call_all(self) -> list[T]:
        """All tickets: there is something else to see than memory."""
        self._called.update(self._queue)
        return list(self._queue)
