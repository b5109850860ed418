"""Encoders: the source of one straight-line function per message and version. Pure.

The function appends buffers to a list. Runs of fixed-size fields become one call of the struct
module; payloads are appended as they are. A value that cannot be sent raises whatever Python
raises: `trace` finds the field. A value that has no place in the version raises UnsupportedVersion.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import Final, cast

from kafka_aio.errors import UnsupportedVersion
from kafka_aio.protocol.layout import Layout, Part, Writer
from kafka_aio.protocol.primitives import SMALL, format_of, uvarint, write_tags
from kafka_aio.protocol.schema import Array, Buffer, Scalar, Sized, Struct
from kafka_aio.protocol.source import Source

FAILURES: Final = (struct.error, TypeError, AttributeError, ValueError, OverflowError)


def compile_writer(layout: Layout) -> Writer:
    """The encoder of a message in one version."""
    return cast(Writer, _Compiler(layout).source.compile("write"))


def _scalars(scalar: Scalar) -> Callable[[list[object]], bytes]:
    """A writer of arrays of one scalar type, with the struct of each small count at hand."""
    small = [struct.Struct(format_of(scalar, count)).pack for count in range(SMALL)]

    def write(values: list[object]) -> bytes:
        count = len(values)
        if count < SMALL:
            return small[count](*values)
        return struct.pack(format_of(scalar, count), *values)

    return write


def _uuids(values: list[bytes]) -> bytes:
    return b"".join(map(_uuid, values))


def _uuid(value: bytes) -> bytes:
    if len(value) != 16:  # struct would pad or cut it
        raise ValueError("an id has 16 bytes")
    return value


def _payload(value: Buffer) -> Buffer:
    if memoryview(value).nbytes != len(value):  # a view of larger items: its length would be wrong
        raise TypeError("bytes are expected")
    return value


class _Compiler:
    """Writes the source. In it `out` is the list of buffers and `x` the value at hand."""

    def __init__(self, layout: Layout) -> None:
        self._title = f"{layout.name} v{layout.version}"
        self.source = Source(
            f"encoder of {self._title}",
            {
                "UnsupportedVersion": UnsupportedVersion,
                "payload": _payload,
                "uuid": _uuid,
                "uvarint": uvarint,
                "write_tags": write_tags,
            },
        )
        self._run: list[tuple[str, str]] = []
        self._tagged: list[tuple[str, Layout, str]] = []
        with self.source.block("def write(v0, out):"):
            self.source.add("append = out.append")
            self._struct(layout, "v0", 0, "")
        for name, struct_layout, path in self._tagged:  # grows while it runs
            self._tagged_section(name, struct_layout, path)

    def _flush(self, *, pad: bool = False, keep: bool = False) -> None:
        """Write the run of fixed-size fields that was gathered, and a zero byte if `pad`."""
        if self._run or pad:
            layout = "".join(format for format, _ in self._run) + "x" * pad
            values = ", ".join(value for _, value in self._run)
            call = f"{self.source.pack(layout)}({values})" if self._run else "b'\\0'"
            self.source.add(f"append({call})")
        if not keep:
            self._run.clear()

    def _struct(self, layout: Layout, var: str, depth: int, path: str) -> None:
        source = self.source
        for field in layout.absent:
            if not field.ignorable:
                text = f"{self._title}: {path}{field.name}: this version has no such field"
                with source.block(f"if {self._differs(f'{var}.{field.name}', field.empty)}:"):
                    source.add(f"raise UnsupportedVersion({text!r})")
        for part in layout.fields:
            self._value(part, f"{var}.{part.name}", depth, f"{path}{part.name}")
        if not layout.flexible:
            self._flush()
            return
        set_tags = [self._differs(f"{var}.{part.name}", part.empty) for part in layout.tagged]
        with source.block(f"if {' or '.join([*set_tags, f'{var}._unknown_tags'])}:"):
            self._flush(keep=True)
            if layout.tagged:
                name = f"write_tagged{len(self._tagged)}"
                self._tagged.append((name, layout, path))
                source.add(f"{name}({var}, out)")
            else:
                source.add(f"write_tags(out, {var}._unknown_tags)")
        with source.block("else:"):
            self._flush(pad=True)

    def _differs(self, value: str, empty: object) -> str:
        return f"{value} {'is not' if empty is None else '!='} {self.source.literal(empty)}"

    def _value(self, part: Part, value: str, depth: int, path: str) -> None:
        wire = part.type
        if isinstance(wire, Scalar):
            self._run.append((wire.format, f"uuid({value})" if wire.name == "uuid" else value))
        elif isinstance(wire, Struct):
            self._struct_value(part, value, depth, path)
        else:
            self._flush()
            self.source.add(f"x = {value}")
            if not part.nullable:
                self._filled(part, wire, depth, path)
                return
            with self.source.block("if x is None:"):
                size = 1 if part.compact else 2 if wire.name == "string" else 4
                null = b"\0" if part.compact else b"\xff" * size
                self.source.add(f"append({null!r})")
            with self.source.block("else:"):
                self._filled(part, wire, depth, path)

    def _struct_value(self, part: Part, value: str, depth: int, path: str) -> None:
        assert part.struct is not None
        var = f"v{depth + 1}"
        if not part.nullable:
            self.source.add(f"{var} = {value}")
            self._struct(part.struct, var, depth + 1, f"{path}.")
            return
        self._flush()
        self.source.add(f"{var} = {value}")
        with self.source.block(f"if {var} is None:"):
            self.source.add("append(b'\\xff')")
        with self.source.block("else:"):
            self._run.append(("b", "1"))
            self._struct(part.struct, var, depth + 1, f"{path}.")

    def _filled(self, part: Part, wire: Sized | Array, depth: int, path: str) -> None:
        """The length and content of `x`, which is not null."""
        if isinstance(wire, Sized):
            self._sized(wire, compact=part.compact)
            return
        source = self.source
        self._length(part.compact, "i")
        if isinstance(wire.item, Scalar):
            made = _uuids if wire.item.name == "uuid" else _scalars(wire.item)
            source.add(f"append({source.constant('scalars', made, wire.item)}(x))")
            return
        var = f"v{depth + 1}"
        with source.block(f"for {var if part.struct else 'x'} in x:"):
            if part.struct is not None:
                self._struct(part.struct, var, depth + 1, f"{path}.")
            else:
                assert isinstance(wire.item, Sized)
                self._sized(wire.item, compact=part.compact)

    def _sized(self, wire: Sized, *, compact: bool) -> None:
        self.source.add("x = x.encode()" if wire.name == "string" else "x = payload(x)")
        self._length(compact, "h" if wire.name == "string" else "i")
        self.source.add("append(x)")

    def _length(self, compact: bool, layout: str) -> None:
        made = "uvarint(len(x) + 1)" if compact else f"{self.source.pack(layout)}(len(x))"
        self.source.add(f"append({made})")

    def _tagged_section(self, name: str, layout: Layout, path: str) -> None:
        """A function for the tagged fields of a struct: most structs have none of them set."""
        source = self.source
        with source.block(f"def {name}(message, all_out):"):
            source.add("tags = dict(message._unknown_tags or ())")
            for part in layout.tagged:
                value = f"message.{part.name}"
                with source.block(f"if {self._differs(value, part.empty)}:"):
                    source.add("out = []", "append = out.append")
                    self._value(part, value, 0, f"{path}{part.name}")
                    self._flush()
                    source.add(f"tags[{part.tag}] = b''.join(out)")
            source.add("write_tags(all_out, tags)")
