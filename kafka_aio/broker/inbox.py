"""What a client has sent and nobody has looked at yet: bytes to frames, in memory used again. Pure.

Memory follows the bytes received, never the bytes promised. It doubles for a peer that fills it, up
to `USUAL`, and beyond that only for a frame that does not fit. A frame is a view of it; as long as
somebody has one, that memory is not written again: the next bytes go elsewhere.
"""

from __future__ import annotations

import struct
from typing import Final

from kafka_aio.errors import ProtocolError

FIRST: Final = 16 * 1024
USUAL: Final = 256 * 1024

_INT32: Final = struct.Struct(">i")
_LENGTH: Final = _INT32.size
_TLS: Final = b"\x16\x03"


class Inbox:
    """The bytes of one connection, and the frames in them."""

    def __init__(self, limit: int) -> None:
        self.limit = limit
        """The largest frame that is accepted."""
        self._memory = bytearray()  # until something comes
        self._start = 0
        self._end = 0
        self._was_filled = False

    def __repr__(self) -> str:
        return f"<Inbox: {self._end - self._start:,} bytes of {len(self._memory):,}>"

    def __len__(self) -> int:
        """How many bytes wait."""
        return self._end - self._start

    @property
    def is_full(self) -> bool:
        """Whether `buffer` needs to make room."""
        return 0 < self._end == len(self._memory)

    @property
    def large(self) -> int:
        """The bytes of the frame that has begun, if they need more than the usual memory; or 0."""
        size = _LENGTH + self._length() if len(self) >= _LENGTH else 0
        return size if size > USUAL else 0

    def buffer(self, *, make_room: bool = True) -> memoryview:
        """Where the next bytes of the socket go. `received` is told how many they were.

        Args:
            make_room: Whether what waits may be moved; not while frames wait that were there
                before, as they could only become more.
        """
        if make_room or not self._memory:
            self._make_room()
        return memoryview(self._memory)[self._end :]

    def received(self, count: int) -> None:
        self._end += count
        self._was_filled = self._end == len(self._memory)

    def take(self) -> memoryview | None:
        """The next frame, without its length; None if it is not here yet.

        Raises:
            ProtocolError: Its length is impossible: nothing that follows can be read.
        """
        start = self._start
        if self._end - start < _LENGTH:
            return None
        stop = start + _LENGTH + self._checked_length()
        if stop > self._end:
            return None
        self._start = stop
        return memoryview(self._memory)[start + _LENGTH : stop]

    def give_back(self) -> bool:
        """Take no memory until something comes. False if something waits in it."""
        if len(self):
            return False
        self._memory = bytearray()
        self._start = self._end = 0
        return True

    def _length(self) -> int:
        length: int = _INT32.unpack_from(self._memory, self._start)[0]
        return length

    def _checked_length(self) -> int:
        length = self._length()
        if 0 <= length <= self.limit:
            return length
        if self._memory.startswith(_TLS, self._start):
            raise ProtocolError("the client speaks TLS, and this broker does not: see tls=")
        raise ProtocolError(f"a frame of {length:,} bytes; up to {self.limit:,} are accepted")

    def _make_room(self) -> None:
        """Bring what waits to the front, or into other memory."""
        waiting = self._end - self._start
        size = self._wanted_size(waiting)
        if size == len(self._memory):
            if self._start == 0 or self._fits_behind(waiting):
                return
            if _is_free(self._memory):
                if waiting:
                    with memoryview(self._memory) as memory:
                        memory[:waiting] = memory[self._start : self._end]
                self._start, self._end = 0, waiting
                return
        fresh = bytearray(size)
        fresh[:waiting] = memoryview(self._memory)[self._start : self._end]
        self._memory = fresh
        self._start, self._end = 0, waiting

    def _wanted_size(self, waiting: int) -> int:
        size = len(self._memory)
        if size == 0:
            return FIRST
        if waiting == size or (self._was_filled and size < USUAL):
            return 2 * size
        return size

    def _fits_behind(self, waiting: int) -> bool:
        """Whether there is room enough where we are: for the rest of the frame, and some more."""
        room = len(self._memory) - self._end
        rest = _LENGTH + self._length() - waiting if waiting >= _LENGTH else 0
        return room >= max(rest, len(self._memory) // 2)


def _is_free(memory: bytearray) -> bool:
    """Whether there is no view of it: Python refuses to change the length of one that has any."""
    try:
        last = memory.pop()
    except BufferError:
        return False
    memory.append(last)
    return True
