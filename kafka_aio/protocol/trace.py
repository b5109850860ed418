"""Why a message cannot be read or sent, and at which field. Pure.

The compiled codecs do not keep track of where they are. When one fails, these walk the same bytes
or the same message once more, field by field, and raise the error that names the place:
`MetadataResponse v12: topics[3].partitions[0].leader_id: 2 bytes missing`.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final, NoReturn, TypeVar

from kafka_aio.errors import ProtocolError, UnsupportedVersion
from kafka_aio.protocol.layout import Layout, Part, Reader
from kafka_aio.protocol.memory import limit_of
from kafka_aio.protocol.primitives import (
    Malformed,
    byte_count,
    check_count,
    read_length,
    read_tags,
    read_text,
    take,
)
from kafka_aio.protocol.reader import FAILURES, compile_reader
from kafka_aio.protocol.schema import Array, Buffer, Field, Scalar, Sized, Struct, schema_of

T = TypeVar("T")


def explain_reading(layout: Layout, buffer: Buffer, position: int) -> NoReturn:
    """Say why the bytes from `position` on do not begin with a message.

    Raises:
        ProtocolError: Always.
    """
    walk = _Reading(buffer)
    try:
        walk.struct(layout, position, len(buffer))
        reason = "not readable"
    except Malformed as error:
        reason = str(error)
    place = f"{walk.path}: " if walk.path else ""
    raise ProtocolError(f"{layout.name} v{layout.version}: {place}{reason}")


def explain_size(layout: Layout, buffer: Buffer, position: int) -> NoReturn:
    """Say that the message takes too much memory.

    Raises:
        ProtocolError: Always.
    """
    received = len(buffer) - position
    raise ProtocolError(
        f"{layout.name} v{layout.version}: {byte_count(received)} that would take more than"
        f" {limit_of(received) >> 20:,} MiB when decoded"
    )


def explain_writing(layout: Layout, message: object) -> NoReturn:
    """Say which value of `message` cannot be sent.

    Raises:
        UnsupportedVersion: Another version could send it.
        ValueError: None can.
    """
    walk = _Writing()
    title = f"{layout.name} v{layout.version}"
    try:
        walk.struct(layout, message)
        reason = "not writable"
    except _NotInThisVersion:
        text = f"{title}: {walk.path}: null is not legal in this version"
        raise UnsupportedVersion(text) from None
    except ValueError as error:
        reason = str(error)
    raise ValueError(f"{title}: {walk.path}: {reason}")


class _Walk:
    """Where we are: the names and indices of the fields we are inside."""

    def __init__(self) -> None:
        self._path: list[str] = []

    @property
    def path(self) -> str:
        return "".join(self._path).removeprefix(".")

    @contextmanager
    def at(self, step: str) -> Iterator[None]:
        """Inside a field. On an error the path stays as it is."""
        self._path.append(step)
        yield
        self._path.pop()


class _Reading(_Walk):
    """Reads as the compiled decoders do, one field at a time, and keeps nothing.

    Items of an array that the decoders can read are left to them: a peer that sends a million good
    ones and then a bad one must not make us walk through all of them.
    """

    def __init__(self, buffer: Buffer) -> None:
        super().__init__()
        self._buffer = buffer

    def struct(self, layout: Layout, position: int, end: int) -> int:
        for part in layout.fields:
            with self.at(f".{part.name}"):
                position = self.value(part, position, end)
        if not layout.flexible:
            return position
        with self.at(".tagged fields"):
            spans, position = read_tags(self._buffer, position, end)
        known = {part.tag: part for part in layout.tagged}
        for tag, start, stop in spans:
            if tag in known:
                with self.at(f".{known[tag].name}"):
                    left = stop - self.value(known[tag], start, stop)
                    if left:
                        raise Malformed(f"{byte_count(left)} left over")
        return position

    def value(self, part: Part, position: int, end: int) -> int:
        match part.type:
            case Scalar(size=size):
                return take(position, end, size)
            case Struct():
                return self._struct_value(part, position, end)
            case Sized() as sized:
                return self._sized(sized, part.compact, part.nullable, position, end)
            case Array() as array:
                return self._array(array, part, position, end)

    def _struct_value(self, part: Part, position: int, end: int) -> int:
        assert part.struct is not None
        if part.nullable:
            stop = take(position, end, 1)
            if self._buffer[position] > 127:
                return stop
            position = stop
        return self.struct(part.struct, position, end)

    def _sized(self, wire: Sized, compact: bool, nullable: bool, position: int, end: int) -> int:
        size = 0 if compact else 2 if wire.name == "string" else 4
        length, position = read_length(self._buffer, position, end, size=size, nullable=nullable)
        if length < 0:
            return position
        stop = take(position, end, length)
        if wire.name == "string":
            read_text(self._buffer, position, stop)
        return stop

    def _array(self, wire: Array, part: Part, position: int, end: int) -> int:
        size = 0 if part.compact else 4
        count, position = read_length(
            self._buffer, position, end, size=size, nullable=part.nullable
        )
        check_count(count, position, end, part.item_min_size)
        if isinstance(wire.item, Scalar):
            return position + max(count, 0) * wire.item.size
        if isinstance(wire.item, Sized):
            for index in range(count):
                try:
                    position = self._sized(wire.item, part.compact, False, position, end)
                except Malformed:
                    self._path.append(f"[{index}]")
                    raise
            return position
        assert part.struct is not None
        index, position = self._skip(_item_reader(part.struct), count, position, end)
        while index < count:
            with self.at(f"[{index}]"):
                position = self.struct(part.struct, position, end)
            index += 1
        return position

    def _skip(self, read: Reader, count: int, position: int, end: int) -> tuple[int, int]:
        """How many items can be read, and the position after them."""
        for index in range(count):
            try:
                _, stop = read(self._buffer, position)
            except FAILURES:
                return index, position
            if stop > end:  # the decoder does not know of the field that the items are in
                return index, position
            position = stop
        return max(count, 0), position


_ITEM_READERS: Final[dict[tuple[type, int, bool], Reader]] = {}


def _item_reader(layout: Layout) -> Reader:
    key = (layout.cls, layout.version, layout.flexible)
    if key not in _ITEM_READERS:
        _ITEM_READERS[key] = compile_reader(layout)
    return _ITEM_READERS[key]


class _NotInThisVersion(Exception):
    """A null that another version of the field allows."""


class _Writing(_Walk):
    """Checks each value of a message against its type."""

    def struct(self, layout: Layout, message: object) -> None:
        if type(message) is not layout.cls:
            raise ValueError(f"{type(message).__name__} where {layout.name} must be")
        declared = {field.name: field for field in schema_of(layout.cls).fields}
        for part in (*layout.fields, *layout.tagged):
            with self.at(f".{part.name}"):
                self._value(part, declared[part.name], getattr(message, part.name))

    def _value(self, part: Part, field: Field, value: object) -> None:
        if value is None:
            if part.nullable:
                return
            if field.nullable_since is not None:
                raise _NotInThisVersion
            raise ValueError("null where a value must be")
        if isinstance(part.type, Array):
            if not isinstance(value, list | tuple):
                raise ValueError(f"{type(value).__name__} where a list must be")
            for index, item in enumerate(value):
                with self.at(f"[{index}]"):
                    self._item(part.type.item, part, item)
        else:
            self._item(part.type, part, value)

    def _item(self, wire: Scalar | Sized | Struct, part: Part, value: object) -> None:
        match wire:
            case Struct():
                assert part.struct is not None
                self.struct(part.struct, value)
            case Scalar(name="uuid"):
                if not isinstance(value, bytes) or len(value) != 16:
                    raise ValueError("an id has 16 bytes")
            case Scalar():
                self._attempt(
                    lambda: struct.pack(f">{wire.format}", value), f"{value!r} is not a {wire.name}"
                )
            case Sized(name="string"):
                if not isinstance(value, str):
                    raise ValueError(f"{type(value).__name__} is not a string")
                encoded = self._attempt(value.encode, "not to be had in UTF-8: a lone surrogate")
                if not part.compact and len(encoded) > 0x7FFF:
                    raise ValueError(f"string of {len(encoded):,} bytes, more than 32,767")
            case Sized():
                what = f"{type(value).__name__} is not bytes"
                view = self._attempt(lambda: memoryview(value), what)  # type: ignore[arg-type]
                if view.nbytes != len(view):
                    raise ValueError(f"a view of items of {view.itemsize} bytes is not bytes")

    @staticmethod
    def _attempt(act: Callable[[], T], otherwise: str) -> T:
        try:
            return act()
        except (struct.error, AttributeError, TypeError, UnicodeEncodeError):
            raise ValueError(otherwise) from None
