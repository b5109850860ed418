"""Decoders in plain Python: the source of one straight-line function per message and version. Pure.

The twin of `_reader.pyx`, its referee in the tests and its fallback. Runs of fixed-size fields, and
the length that follows them, are one call of the struct module. What is made is counted, and shared
where it is equal (`memory`). On bytes that cannot be read the function raises one of FAILURES and
says nothing of the place: that is the work of `trace`.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager, nullcontext
from typing import Any, Final, cast

from kafka_aio.protocol.layout import Layout, Part, Reader
from kafka_aio.protocol.memory import (
    BYTES,
    ITEM,
    LIST,
    TAG,
    TAGS,
    Memory,
    Oversized,
    fixed_of,
    limit_of,
    own_of,
)
from kafka_aio.protocol.primitives import (
    MAX_ELEMENTS,
    SMALL,
    Malformed,
    format_of,
    read_tags,
    read_uvarint,
)
from kafka_aio.protocol.schema import Array, Buffer, Field, Scalar, Sized, Struct
from kafka_aio.protocol.source import Source

FAILURES: Final = (Malformed, Oversized, struct.error, IndexError, UnicodeDecodeError)

_SHARED: Final = frozenset("bhiHI")
"""The formats of numbers of which equal ones are one object."""
_LOCALS: Final = (
    "number, text, remember = memory.number, memory.text, memory.remember",
    "empty, lists = memory.empty, memory.lists",
    "is_bytes = type(buf) is bytes",
)
"""What the source uses most, in local variables."""


def compile_reader(layout: Layout) -> Reader:
    """The decoder of a message in one version."""
    return cast(Reader, _Compiler(layout).source.compile("read"))


def _numbers(scalar: Scalar) -> Callable[[Buffer, int, int, Memory], list[object]]:
    """A reader of arrays of one scalar type, with the struct of each small count at hand."""
    small = [struct.Struct(format_of(scalar, count)).unpack_from for count in range(SMALL)]
    one = struct.Struct(format_of(scalar, 1))
    cost = ITEM + own_of(scalar)

    def read(buffer: Buffer, position: int, count: int, memory: Memory) -> list[object]:
        memory.take(LIST + cost * count)
        values: Iterable[Any]
        if count < SMALL:
            values = small[count](buffer, position)
        else:  # one by one: a tuple of all would take as much as the list
            stop = position + count * one.size
            values = (value for (value,) in one.iter_unpack(memoryview(buffer)[position:stop]))
        return [*map(memory.number, values)] if scalar.format in _SHARED else [*values]

    return read


def _read_unknown_tags(
    buffer: Buffer, position: int, end: int, memory: Memory
) -> tuple[dict[int, bytes], int]:
    """The tagged section of a struct that declares no tagged field."""
    spans, position = read_tags(buffer, position, end)
    unknown: dict[int, bytes] = {}
    for span in spans:
        _keep_tag(unknown, buffer, span, memory)
    return unknown, position


def _keep_tag(
    unknown: dict[int, bytes], buffer: Buffer, span: tuple[int, int, int], memory: Memory
) -> None:
    tag, start, stop = span
    memory.take((0 if unknown else TAGS) + TAG + BYTES + stop - start)
    unknown[tag] = bytes(buffer[start:stop])


class _Compiler:
    """Writes the source.

    In it `buf`, `pos` and `end` are what is read, and `n` is the last length.
    """

    def __init__(self, layout: Layout) -> None:
        self.source = Source(
            f"decoder of {layout.name} v{layout.version}",
            {
                "Malformed": Malformed,
                "Memory": Memory,
                "keep_tag": _keep_tag,
                "limit_of": limit_of,
                "new": object.__new__,
                "read_tags": read_tags,
                "read_unknown_tags": _read_unknown_tags,
                "read_uvarint": read_uvarint,
            },
        )
        self._run: list[tuple[str, str]] = []
        self._tagged: list[tuple[str, Layout]] = []
        with self.source.block("def read(buf, pos, limit=None):"):
            self.source.add("end = len(buf)")
            self.source.add("memory = Memory(limit_of(end - pos) if limit is None else limit)")
            self.source.add(*_LOCALS, f"memory.take({fixed_of(layout)})")
            self._struct(layout, "v0", 0)
            self.source.add("return v0, pos")
        for name, struct_layout in self._tagged:  # grows while it runs
            self._tagged_section(name, struct_layout)

    def _flush(self) -> None:
        """Read the run of fixed-size fields that was gathered."""
        if not self._run:
            return
        run, self._run = self._run, []
        layout = "".join(format for format, _ in run)
        targets = ", ".join(target for _, target in run)
        if layout == "B":
            self.source.add(f"{targets} = buf[pos]", "pos += 1")
            return
        comma = "," if len(run) == 1 else ""
        self.source.add(f"{targets}{comma} = {self.source.unpack(layout)}(buf, pos)")
        self.source.add(f"pos += {struct.calcsize('>' + layout)}")
        for format, target in run:
            if format in _SHARED and target != "n":
                self.source.add(f"if not -6 < {target} < 257: {target} = number({target})")

    def _struct(self, layout: Layout, var: str, depth: int) -> None:
        source = self.source
        source.add(f"{var} = new({source.constant('cls', layout.cls)})")
        unread: tuple[Field | Part, ...] = (*layout.absent, *layout.tagged)
        for field in unread:
            empty = "empty" if field.empty == [] else source.literal(field.empty)
            source.add(f"{var}.{field.name} = {empty}")
        for part in layout.fields:
            self._value(part, f"{var}.{part.name}", depth)
        if not layout.flexible:
            self._flush()
            source.add(f"{var}._unknown_tags = None")
            return
        self._run.append(("B", "n"))
        self._flush()
        with source.block("if n:"):
            if layout.tagged:
                name = f"read_tagged{len(self._tagged)}"
                self._tagged.append((name, layout))
                source.add(f"pos = {name}({var}, buf, pos - 1, end, memory)")
            else:
                read = "read_unknown_tags(buf, pos - 1, end, memory)"
                source.add(f"{var}._unknown_tags, pos = {read}")
        with source.block("else:"):
            source.add(f"{var}._unknown_tags = None")

    def _value(self, part: Part, target: str, depth: int) -> None:
        wire = part.type
        if isinstance(wire, Scalar):
            self._run.append((wire.format, target))
        elif isinstance(wire, Struct):
            self._struct_value(part, target, depth)
        else:
            self._length(part, 2 if wire.name == "string" else 4)
            with self._unless_null(part, target):
                if isinstance(wire, Array):
                    self._array(part, wire, target, depth)
                else:
                    self._sized(wire, target)

    def _struct_value(self, part: Part, target: str, depth: int) -> None:
        assert part.struct is not None
        var = f"v{depth + 1}"
        block: AbstractContextManager[None] = nullcontext()
        if part.nullable:
            self._run.append(("b", "n"))
            self._flush()
            self.source.add(f"if n < 0: {target} = None")
            block = self.source.block("else:")
        with block:
            self.source.add(f"memory.take({fixed_of(part.struct)})")
            self._struct(part.struct, var, depth + 1)
            self.source.add(f"{target} = {var}")

    def _length(self, part: Part, size: int) -> None:
        """Leave in `n` the length, -1 for null."""
        if part.compact:
            self._run.append(("B", "n"))
            self._flush()
            with self.source.block("if n > 127:"):
                self.source.add("n, pos = read_uvarint(buf, pos - 1, end)")
            self.source.add("n -= 1")
        else:
            self._run.append(({2: "h", 4: "i"}[size], "n"))
            self._flush()

    def _unless_null(self, part: Part, target: str) -> AbstractContextManager[None]:
        with self.source.block("if n < 0:"):
            if part.nullable:
                if not part.compact:
                    self.source.add("if n < -1: raise Malformed")
                self.source.add(f"{target} = None")
            else:
                self.source.add("raise Malformed")
        return self.source.block("else:")

    def _sized(self, wire: Sized, target: str) -> None:
        self.source.add("stop = pos + n", "if stop > end: raise Malformed")
        if wire.name == "string":
            self.source.add(f"{target} = text(str(buf[pos:stop], 'utf-8'), n)")
        elif wire.name == "bytes":
            self.source.add(f"memory.take({BYTES} + n)", f"{target} = bytes(buf[pos:stop])")
        else:
            self.source.add(f"{target} = memory.records(buf, pos, stop)")
        self.source.add("pos = stop")

    def _array(self, part: Part, wire: Array, target: str, depth: int) -> None:
        source, item = self.source, wire.item
        size = part.item_min_size
        with source.block("if n == 0:"):
            source.add(f"{target} = empty")
        with source.block(f"elif n > {MAX_ELEMENTS} or n * {size} > end - pos:"):
            source.add("raise Malformed")
        with source.block("else:"):
            if isinstance(item, Scalar):
                read = source.constant("numbers", _numbers(item), item)
                made = f"{read}(buf, pos, n, memory)"
                source.add(f"stop = pos + n * {size}")
                if item.name == "int32":
                    key = "buf[pos:stop] if is_bytes else bytes(buf[pos:stop])"
                    source.add(f"key = None if n >= {SMALL} else {key}")
                    made = f"lists.get(key) or remember(key, {made})"
                source.add(f"{target} = {made}", "pos = stop")
            else:
                self._items(part, item, target, depth)

    def _items(self, part: Part, item: Sized | Struct, target: str, depth: int) -> None:
        source, items = self.source, f"items{depth}"
        cost = ITEM + (0 if part.struct is None else fixed_of(part.struct))
        source.add(f"memory.take({LIST} + {cost} * n)", f"{target} = {items} = []")
        with source.block("for _ in range(n):"):
            if part.struct is not None:
                var = f"v{depth + 1}"
                self._struct(part.struct, var, depth + 1)
                source.add(f"{items}.append({var})")
            else:
                assert isinstance(item, Sized)
                self._length(part, 2)
                source.add("if n < 0: raise Malformed")
                self._sized(item, "value")
                source.add(f"{items}.append(value)")

    def _tagged_section(self, name: str, layout: Layout) -> None:
        """A function for the tagged fields of a struct: most structs have none of them set."""
        source = self.source
        for part in layout.tagged:
            with source.block(f"def {name}_{part.tag}(buf, pos, end, memory):"):
                source.add(*_LOCALS)
                if isinstance(part.type, Scalar):
                    source.add(f"memory.take({own_of(part.type)})")
                self._value(part, "value", 0)
                self._flush()
                source.add("return value, pos")
        with source.block(f"def {name}(message, buf, pos, end, memory):"):
            source.add("spans, pos = read_tags(buf, pos, end)", "unknown = {}")
            with source.block("for span in spans:"):
                source.add("tag, start, stop = span")
                for part in layout.tagged:
                    with source.block(f"if tag == {part.tag}:"):
                        read = f"{name}_{part.tag}(buf, start, stop, memory)"
                        source.add(f"message.{part.name}, at = {read}")
                        source.add("if at != stop: raise Malformed", "continue")
                source.add("keep_tag(unknown, buf, span, memory)")
            source.add("message._unknown_tags = unknown or None", "return pos")
