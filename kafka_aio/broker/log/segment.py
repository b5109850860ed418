"""A stretch of a log: batches one behind the other in one piece of memory. Pure."""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from typing_extensions import Buffer

EMPTY: Final = memoryview(b"")


class Spare:
    """Memory of dropped segments, for the next ones of any log: one for a whole broker.

    New memory takes longer to get than to fill. Partitions that are written in turn begin and drop
    their segments together, so one piece would not do; all of them together stay within a limit.
    """

    __slots__ = ("_limit", "_pieces", "size")

    def __init__(self, limit: int) -> None:
        self.size = 0
        """The bytes of all of them."""
        self._limit = limit
        self._pieces: dict[int, list[bytearray]] = {}  # by their length

    def give(self, memory: bytearray | None) -> None:
        if memory is None or len(memory) > self._limit:
            return
        size = len(memory)
        if self.size + size > self._limit:  # what is of no use any more is of another length
            self._pieces = {size: self._pieces.get(size, [])}
            self.size = size * len(self._pieces[size])
        if self.size + size <= self._limit:
            self._pieces.setdefault(size, []).append(memory)
            self.size += size

    def take(self, capacity: int) -> bytearray:
        """So much memory, used or new."""
        pieces = self._pieces.get(capacity)
        if pieces:
            self.size -= capacity
            return pieces.pop()
        return bytearray(capacity)


class Segment:
    """Batches in memory of fixed size. What was written never changes: views of it stay good."""

    __slots__ = (
        "_memory",
        "base_offset",
        "capacity",
        "ends",
        "lasts",
        "max_timestamps",
        "room",
        "used",
        "view",
    )

    def __init__(self, base_offset: int, memory: bytearray) -> None:
        """Begin one.

        Args:
            base_offset: The offset of its first record.
            memory: All that it has room for.
        """
        self._memory = memory
        self.base_offset = base_offset
        self.capacity = len(memory)
        self.room = memoryview(self._memory)
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

    def give_up(self) -> bytearray | None:
        """The memory of a segment that nobody will use again; None while somebody has a view."""
        self.room.release()
        self.view.release()
        try:
            last = self._memory.pop()  # Python refuses to, as long as there is a view
        except BufferError:
            return None
        self._memory.append(last)
        return self._memory
