"""Memory for large requests of all connections together: who finds none waits in line. Pure.

A frame gets all it needs before it is read, or nothing: so who has begun can end, and gives it
back. The last one to get something may take more than is left, so that none is too large for ever.
"""

from __future__ import annotations

from typing import Generic, TypeVar

Owner = TypeVar("Owner")


class Reservations(Generic[Owner]):
    """Bytes by owner, and those who wait for some."""

    __slots__ = ("_bytes", "_limit", "_line", "used")

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._bytes: dict[Owner, int] = {}
        self._line: dict[Owner, None] = {}
        self.used = 0

    def __repr__(self) -> str:
        waiting = f", {len(self._line)} wait" if self._line else ""
        return f"<Reservations: {self.used} of {self._limit} bytes are used{waiting}>"

    @property
    def are_scarce(self) -> bool:
        """Whether it is time to give back what nobody needs at the moment."""
        return self.used > self._limit // 2

    @property
    def next(self) -> Owner | None:
        """Who waits, and would get something now."""
        return next(iter(self._line), None) if self.used < self._limit else None

    def of(self, owner: Owner) -> int:
        """How many bytes an owner has."""
        return self._bytes.get(owner, 0)

    def reserve(self, owner: Owner, size: int) -> bool:
        """Let an owner have so many bytes in all, or stand in line for them. Whether it has."""
        more = size - self.of(owner)
        if more > 0 and (self.used >= self._limit or next(iter(self._line), owner) != owner):
            self._line[owner] = None
            return False
        self.step_out(owner)
        if more > 0:
            self._bytes[owner] = size
            self.used += more
        return True

    def step_out(self, owner: Owner) -> None:
        """Let an owner not wait any longer, but keep what it has."""
        self._line.pop(owner, None)

    def release(self, owner: Owner) -> None:
        """Take all back that an owner has or waits for."""
        self.used -= self._bytes.pop(owner, 0)
        self.step_out(owner)
