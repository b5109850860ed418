"""A stretch of a log: batches one behind the other in one piece of memory. Pure."""

from __future__ import annotations

import mmap
import sys
from array import array
from bisect import bisect_left
from collections.abc import Iterator
from contextlib import suppress
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from typing_extensions import Buffer

EMPTY: Final = memoryview(b"")
_HUGE_PAGE: Final = 2 * 1024 * 1024


class Segment:
    """Batches in memory of fixed size. What was written never changes: views of it stay good."""

    __slots__ = (
        "base_offset",
        "capacity",
        "ends",
        "lasts",
        "max_timestamps",
        "room",
        "used",
        "view",
    )

    def __init__(self, base_offset: int, capacity: int) -> None:
        self.base_offset = base_offset
        self.capacity = capacity
        self.room = _memory(capacity)
        """All of it, to write into."""
        self.view = self.room.toreadonly()
        """All of it, to hand out."""
        self.used = 0
        self.lasts = array("q")
        """The last offset of each batch."""
        self.ends = array("q")
        """Where each batch ends."""
        self.max_timestamps = array("q")

    def __repr__(self) -> str:
        return f"<Segment of {len(self.ends)} batches from offset {self.base_offset}>"

    @property
    def last_offset(self) -> int:
        """The offset of its last record; the one before its first if there is none."""
        return self.lasts[-1] if self.lasts else self.base_offset - 1

    def write(self, batch: Buffer, size: int, last_offset: int, max_timestamp: int) -> int:
        """Copy a batch to the end, and tell where it begins. There must be room for it."""
        start = self.used
        end = start + size
        self.room[start:end] = batch
        self.used = end
        self.lasts.append(last_offset)
        self.ends.append(end)
        self.max_timestamps.append(max_timestamp)
        return start

    def start_of(self, index: int) -> int:
        """Where a batch begins."""
        return self.ends[index - 1] if index else 0

    def batch(self, index: int) -> memoryview:
        return self.view[self.start_of(index) : self.ends[index]]

    def batches(self) -> Iterator[memoryview]:
        return map(self.batch, range(len(self.ends)))

    def find(self, offset: int) -> int:
        """Where the batch begins that holds `offset`, or else the next one."""
        return self.start_of(bisect_left(self.lasts, offset))

    def read(self, offset: int, max_bytes: int, *, at_least_one: bool) -> memoryview:
        """From the batch that holds `offset` on. The last batch may be cut off, but not the first.

        So does Kafka, which hands a stretch of a file to the socket without looking into it.
        """
        index = bisect_left(self.lasts, offset)
        start = self.start_of(index)
        size = self.used - start
        if size > max_bytes:
            first = self.ends[index] - start
            size = max_bytes if max_bytes >= first else first if at_least_one else 0
        return self.view[start : start + size]

    def truncate(self, offset: int) -> None:
        """Forget the batches that reach to `offset` or beyond. After that it is full."""
        count = bisect_left(self.lasts, offset)
        del self.lasts[count:], self.ends[count:], self.max_timestamps[count:]
        self.used = self.capacity = self.ends[-1] if count else 0


def _memory(size: int) -> memoryview:
    """New memory; in large pages, as to get it in small ones takes longer than to fill it."""
    if sys.platform != "linux" or size < _HUGE_PAGE:
        return memoryview(bytearray(size))
    memory = mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    with suppress(OSError):  # a kernel without them
        memory.madvise(mmap.MADV_HUGEPAGE)
    return memoryview(memory)
