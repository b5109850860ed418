"""Who led a partition when: at which offset each leader epoch began (KIP-101, KIP-279). Pure."""

from __future__ import annotations

from bisect import bisect_right
from typing import Final

UNKNOWN: Final = (-1, -1)
"""No epoch, no offset."""


class Epochs:
    """Leader epochs with the offset of their first record. Both only grow."""

    __slots__ = ("_epochs", "_starts")

    def __init__(self) -> None:
        self._epochs: list[int] = []
        self._starts: list[int] = []

    def __repr__(self) -> str:
        return f"<Epochs {dict(zip(self._epochs, self._starts, strict=True))}>"

    @property
    def latest(self) -> int:
        return self._epochs[-1] if self._epochs else -1

    def begin(self, epoch: int, offset: int) -> None:
        """Records from `offset` on are of this epoch. One without records is forgotten."""
        while self._epochs and (self._epochs[-1] >= epoch or self._starts[-1] >= offset):
            self._epochs.pop()
            self._starts.pop()
        self._epochs.append(epoch)
        self._starts.append(offset)

    def at(self, offset: int) -> int:
        """The epoch of the record at an offset; -1 before the first."""
        index = bisect_right(self._starts, offset) - 1
        return self._epochs[index] if index >= 0 else -1

    def end_of(self, epoch: int, log_end: int) -> tuple[int, int]:
        """The largest epoch up to this one, and the offset where a later one began.

        Of an epoch before the first, it is told that it ended where the first begins; of one after
        the last, nothing is known.
        """
        if epoch == -1 or not self._epochs or epoch > self._epochs[-1]:
            return UNKNOWN
        if epoch == self._epochs[-1]:
            return epoch, log_end
        later = bisect_right(self._epochs, epoch)
        return (self._epochs[later - 1] if later else epoch), self._starts[later]

    def truncate(self, end: int) -> None:
        """The log ends at `end` now."""
        while self._starts and self._starts[-1] >= end:
            self._epochs.pop()
            self._starts.pop()

    def forget_before(self, start: int) -> None:
        """The log begins at `start` now."""
        index = bisect_right(self._starts, start) - 1
        if index >= 0:
            del self._epochs[:index], self._starts[:index]
            self._starts[0] = start
