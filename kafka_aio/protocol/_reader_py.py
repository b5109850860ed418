"""Decoders in plain Python: the source of one straight-line function per message and version. Pure.

The twin of `_reader.pyx`, its referee in the tests and its fallback. Runs of fixed-size fields, and
the length that follows them, are one call of the struct module. On bytes that cannot be read the
function raises one of FAILURES and says nothing of the place: that is the work of `trace`.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Final, cast

from kafka_aio.protocol.layout import Layout, Part, Reader
from kafka_aio.protocol.primitives import (
    MAX_ELEMENTS,
    SMALL,
    Malformed,
    format_of,
    read_tags,
    read_unknown_tags,
    read_uvarint,
)
from kafka_aio.protocol.schema import Array, Buffer, Field, Scalar, Sized, Struct
from kafka_aio.protocol.source import Source

FAILURES: Final = (Malformed, struct.error, IndexError, UnicodeDecodeError)


def compile_reader(layout: Layout) -> Reader:
    """The decoder of a message in one version."""
    return cast(Reader, _Compiler(layout).source.compile("read"))


def _scalars(scalar: Scalar) -> Callable[[Buffer, int, int], tuple[object, ...]]:
    """A reader of arrays of one scalar type, with the struct of each small count at hand."""
    small = [struct.Struct(format_of(scalar, count)).unpack_from for count in range(SMALL)]

    def read(buffer: Buffer, position: int, count: int) -> tuple[object, ...]:
        if count < SMALL:
            return small[count](buffer, position)
        return struct.unpack_from(format_of(scalar, count), buffer, position)

    return read


class _Compiler:
    """Writes the source. In it `buf`, `pos` and `end` are what is read, and `n` the last length."""

    def __init__(self, layout: Layout) -> None:
        self.source = Source(
            f"decoder of {layout.name} v{layout.version}",
            {
                "Malformed": Malformed,
                "new": object.__new__,
                "read_tags": read_tags,
                "read_unknown_tags": read_unknown_tags,
                "read_uvarint": read_uvarint,
            },
        )
        self._run: list[tuple[str, str]] = []
        self._tagged: list[tuple[str, Layout]] = []
        with self.source.block("def read(buf, pos):"):
            self.source.add("end = len(buf)")
            self._struct(layout, "v0", 0)
            self.source.add("return v0, pos")
        for name, struct_layout in self._tagged:  # grows while it runs
            self._tagged_section(name, struct_layout)

    def _flush(self) -> None:
        """Read the run of fixed-size fields that was gathered."""
        if not self._run:
            return
        layout = "".join(format for format, _ in self._run)
        targets = [target for _, target in self._run]
        self._run.clear()
        if layout == "B":
            self.source.add(f"{targets[0]} = buf[pos]", "pos += 1")
            return
        comma = "," if len(targets) == 1 else ""
        self.source.add(f"{', '.join(targets)}{comma} = {self.source.unpack(layout)}(buf, pos)")
        self.source.add(f"pos += {struct.calcsize('>' + layout)}")

    def _struct(self, layout: Layout, var: str, depth: int) -> None:
        source = self.source
        source.add(f"{var} = new({source.constant('cls', layout.cls)})")
        unread: tuple[Field | Part, ...] = (*layout.absent, *layout.tagged)
        for field in unread:
            source.add(f"{var}.{field.name} = {source.literal(field.empty)}")
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
                source.add(f"pos = {name}({var}, buf, pos - 1, end)")
            else:
                source.add(f"{var}._unknown_tags, pos = read_unknown_tags(buf, pos - 1, end)")
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
        if not part.nullable:
            self._struct(part.struct, var, depth + 1)
            self.source.add(f"{target} = {var}")
            return
        self._run.append(("b", "n"))
        self._flush()
        with self.source.block("if n < 0:"):
            self.source.add(f"{target} = None")
        with self.source.block("else:"):
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
            self.source.add(f"{target} = str(buf[pos:stop], 'utf-8')")
        elif wire.name == "bytes":
            self.source.add(f"{target} = bytes(buf[pos:stop])")
        else:
            self.source.add(f"{target} = memoryview(buf)[pos:stop]")
        self.source.add("pos = stop")

    def _array(self, part: Part, wire: Array, target: str, depth: int) -> None:
        source, item = self.source, wire.item
        size = part.item_min_size
        source.add(f"if n > {MAX_ELEMENTS} or n * {size} > end - pos: raise Malformed")
        if isinstance(item, Scalar):
            read = source.constant("scalars", _scalars(item), item)
            source.add(f"{target} = [*{read}(buf, pos, n)]", f"pos += n * {size}")
            return
        items = f"items{depth}"
        source.add(f"{target} = {items} = []")
        with source.block("for _ in range(n):"):
            if part.struct is not None:
                var = f"v{depth + 1}"
                self._struct(part.struct, var, depth + 1)
                source.add(f"{items}.append({var})")
            else:
                assert isinstance(item, Sized)
                self._length(part, 2)
                source.add("if n < 0: raise Malformed")
                self._sized(item, "text")
                source.add(f"{items}.append(text)")

    def _tagged_section(self, name: str, layout: Layout) -> None:
        """A function for the tagged fields of a struct: most structs have none of them set."""
        source = self.source
        for part in layout.tagged:
            with source.block(f"def {name}_{part.tag}(buf, pos, end):"):
                self._value(part, "value", 0)
                self._flush()
                source.add("return value, pos")
        with source.block(f"def {name}(message, buf, pos, end):"):
            source.add("spans, pos = read_tags(buf, pos, end)", "unknown = {}")
            with source.block("for tag, start, stop in spans:"):
                for part in layout.tagged:
                    with source.block(f"if tag == {part.tag}:"):
                        source.add(f"message.{part.name}, at = {name}_{part.tag}(buf, start, stop)")
                        source.add("if at != stop: raise Malformed", "continue")
                source.add("unknown[tag] = bytes(buf[start:stop])")
            source.add("message._unknown_tags = unknown or None", "return pos")
