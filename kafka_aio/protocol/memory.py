"""What a decoded message may take of memory, and what its parts take. Pure.

An item of three bytes can become an object of a hundred. Two things keep a message in proportion to
its bytes: within one message, equal texts, numbers and short arrays of numbers are one object, as
are all empty arrays; and what is made is counted, so that a message that grows beyond `limit_of` is
refused. A whole array is counted before its items are made.

The sizes are those of CPython 3.11 on 64 bits, in the units of 16 bytes that it allocates; later
versions take a little less.
"""

from __future__ import annotations

from typing import Final, TypeVar

from kafka_aio.errors import ProtocolError
from kafka_aio.protocol.layout import Layout
from kafka_aio.protocol.schema import Buffer, Scalar

T = TypeVar("T", int, str)

PROPORTION: Final = 7
"""What is decoded takes at most so many times its bytes; with the frame itself, eight times."""
ALLOWANCE: Final = 12 << 20
"""What it may take beside that. Any frame of 512 KiB, the most that a peer may send before it is
authenticated, stays below 16 MiB; and messages of tens of thousands of tiny items pass."""
REMEMBERED: Final = 4096
"""So many values are remembered to be shared; then all are forgotten, and it begins again."""

LIST: Final = 96
ITEM: Final = 9
"""A place in a list, and what a growing list keeps in reserve for it."""
TEXT: Final = 64
WIDE_TEXT: Final = 96
"""Text with other characters than ASCII; four bytes for each of them come on top."""
BYTES: Final = 48
VIEW: Final = 192
TAGS: Final = 144
TAG: Final = 96
"""An unknown tagged field: its tag and its place in a dict that has just grown."""
NUMBER: Final = 32
"""Any number but those from -5 to 256, which Python has once and for all."""
_OWN: Final = {"int64": NUMBER, "float64": NUMBER, "uuid": 64}


class Oversized(ProtocolError):
    """The message takes more memory than its bytes justify. Raised without its name."""


def limit_of(received: int) -> int:
    """What a message of so many bytes may take, the frame not counted."""
    return PROPORTION * received + ALLOWANCE


def own_of(scalar: Scalar) -> int:
    """What a value of the type takes; nothing where equal values are shared, or kept by Python."""
    return _OWN.get(scalar.name, 0)


def fixed_of(layout: Layout) -> int:
    """What a struct takes at least: the object, and the values of fixed size that are its own."""
    header = 16  # of the garbage collector
    scalars = [part.type for part in layout.fields if isinstance(part.type, Scalar)]
    return -(-(layout.cls.__basicsize__ + header) // 16) * 16 + sum(map(own_of, scalars))


class Memory:
    """What the decoding of one message may still take, and what it can share."""

    __slots__ = ("_left", "_no_records", "_values", "_view", "empty", "lists")

    def __init__(self, limit: int) -> None:
        self._left = limit
        self._values: dict[int | str, int | str] = {}
        self._view: memoryview | None = None
        self._no_records: memoryview  # made together with the view
        self.empty: list[object] = []
        self.lists: dict[bytes, list[object]] = {}
        """Short arrays of numbers, by their bytes."""

    def take(self, size: int) -> None:
        """Count what is about to be made.

        Raises:
            Oversized: There is not so much left.
        """
        self._left -= size
        if self._left < 0:
            raise Oversized

    def number(self, value: int) -> int:
        """`value`, or the equal one that was read before."""
        return value if -6 < value < 257 else self._shared(value, NUMBER)

    def text(self, value: str, size: int) -> str:
        """`value` that came in `size` bytes, or the equal one that was read before."""
        if size < 2:
            return value  # Python has these once and for all
        length = len(value)
        return self._shared(value, TEXT + size if length == size else WIDE_TEXT + 4 * length)

    def remember(self, key: bytes | None, items: list[object]) -> list[object]:
        """Let arrays of the same bytes be this one; those without a key are not shared."""
        if key is not None:
            if len(self.lists) == REMEMBERED:
                self.lists.clear()
            self.lists[key] = items
        return items

    def records(self, buffer: Buffer, start: int, stop: int) -> memoryview:
        """A view of the bytes between two positions."""
        if self._view is None:
            self._view = memoryview(buffer)
            self._no_records = self._view[:0]
        if start == stop:
            return self._no_records
        self.take(VIEW)
        return self._view[start:stop]

    def _shared(self, value: T, size: int) -> T:
        found = self._values.setdefault(value, value)
        if found is value:
            self.take(size)
            if len(self._values) == REMEMBERED:
                self._values.clear()
        return found  # type: ignore[return-value]  # equal, hence of the same type
