"""Memory for what clients have the broker keep, beside records: how much, and what is left. Pure.

The bytes are an estimate, of the right order: texts as they are, and a sum for the objects around.
"""

from __future__ import annotations

from sys import getsizeof
from typing import Final

_ENDLESS: Final = 2**63 - 1


class Room:
    """Bytes that may be kept. Who keeps something asks first, and then takes."""

    __slots__ = ("_limit", "used")

    def __init__(self, limit: int = _ENDLESS) -> None:
        self._limit = limit
        self.used = 0

    def __repr__(self) -> str:
        return f"<Room: {self.used} of {self._limit} bytes are used>"

    def has(self, size: int) -> bool:
        """Whether so many bytes more can be kept. What shrinks, or stays as it is, always can."""
        return size <= 0 or self.used + size <= self._limit

    def take(self, size: int) -> None:
        """So many bytes more are kept; fewer, if it is negative."""
        self.used += size


def bytes_of(*texts: str | bytes | None) -> int:
    """What texts take."""
    return sum(map(getsizeof, texts))
