"""The bytes for records that wait to be sent, and the queue of those who wait for some. Pure.

Who finds no room takes a ticket. When bytes come free, as many tickets are called, the oldest
first, as there are bytes for their records: they share batches, and who opens one serves the next.
A ticket that was called in vain keeps its place. Nobody new is served before those who wait.

Memory comes to the oldest, but one that finds a batch open needs none: so each goes to a place, and
there they are served in their order.
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
        self._places: dict[T, Hashable] = {}
        self._lines: dict[Hashable, OrderedDict[T, None]] = {}  # those who wait at a place
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

    def wait(self, ticket: T, size: int, place: Hashable = None) -> None:
        """Join the queue, for a record of that many bytes; or wait for the next call, if in it."""
        if ticket not in self._queue:
            self._queue[ticket] = size
            self._places[ticket] = place
            self._lines.setdefault(place, OrderedDict())[ticket] = None
        self._called.discard(ticket)

    def is_first(self, ticket: T) -> bool:
        """Whether nobody waits at its place who came before: only then it may try."""
        return next(iter(self._lines[self._places[ticket]])) == ticket

    def leave(self, ticket: T) -> T | None:
        """Leave the queue, served or not. Afterwards `call`: it may be another's turn.

        Returns:
            The next at its place, which may find a batch open by now: it is called.
        """
        if self._queue.pop(ticket, None) is None:
            return None
        self._called.discard(ticket)
        place = self._places.pop(ticket)
        line = self._lines[place]
        del line[ticket]
        following = next(iter(line), None)
        if following is None:
            del self._lines[place]
        else:
            self._called.add(following)
        return following

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
