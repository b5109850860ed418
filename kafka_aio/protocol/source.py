"""Python source that is being written, and the names it uses: how codecs are compiled. Pure."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from contextlib import contextmanager


class Source:
    """Lines of code and the constants they refer to."""

    def __init__(self, title: str, names: dict[str, object]) -> None:
        self.names = dict(names)
        self._title = title
        self._lines: list[str] = []
        self._indent = 0
        self._constants: dict[object, str] = {}

    def __str__(self) -> str:
        return "\n".join(self._lines)

    def add(self, *lines: str) -> None:
        self._lines += (" " * self._indent + line for line in lines)

    @contextmanager
    def block(self, head: str) -> Iterator[None]:
        """The lines added inside are indented under `head`."""
        self.add(head)
        self._indent += 1
        yield
        self._indent -= 1

    def constant(self, prefix: str, value: object, key: object = None) -> str:
        """A name for `value`; values with an equal `key` share one."""
        key = (prefix, id(value) if key is None else key)
        if key not in self._constants:
            self._constants[key] = f"{prefix}{len(self._constants)}"
            self.names[self._constants[key]] = value
        return self._constants[key]

    def pack(self, layout: str) -> str:
        return self.constant("pack", struct.Struct(f">{layout}").pack, layout)

    def unpack(self, layout: str) -> str:
        return self.constant("unpack", struct.Struct(f">{layout}").unpack_from, layout)

    def literal(self, value: object) -> str:
        """An expression for a default. Lists are new each time, all else may be shared."""
        if value == []:
            return "[]"
        if value is None or isinstance(value, bool | int | float | str):
            return repr(value)
        return self.constant("default", value)

    def compile(self, name: str) -> object:
        """Run the source and return what it defines as `name`."""
        exec(compile(str(self), f"<{self._title}>", "exec"), self.names)
        return self.names[name]
