"""Every declared message, and values for it: random ones for Hypothesis, and a fixed full one."""

from __future__ import annotations

import pkgutil
from collections.abc import Callable, Iterator
from functools import cache
from importlib import import_module
from typing import Any

import pytest
from hypothesis import strategies as st

from kafka_aio.protocol import _reader_py, messages, reader
from kafka_aio.protocol.layout import Layout, Part, layout_of
from kafka_aio.protocol.layout import Reader as Decoder
from kafka_aio.protocol.schema import (
    Array,
    Scalar,
    Schema,
    Sized,
    Struct,
    keep_unknown_tags,
    schema_of,
)


def _declared() -> Iterator[type]:
    for module in pkgutil.iter_modules(messages.__path__):
        for value in vars(import_module(f"{messages.__name__}.{module.name}")).values():
            schema = getattr(value, "__schema__", None)
            if isinstance(schema, Schema) and schema.role != "struct":
                yield value


MESSAGES: list[type] = sorted(_declared(), key=lambda cls: cls.__name__)
VERSIONS: list[tuple[type, int]] = [
    (cls, version)
    for cls in MESSAGES
    for version in range(schema_of(cls).versions[0], schema_of(cls).versions[1] + 1)
]

every_message = pytest.mark.parametrize("cls", MESSAGES, ids=lambda cls: cls.__name__)
every_version = pytest.mark.parametrize(
    ("cls", "version"), VERSIONS, ids=[f"{cls.__name__}-v{version}" for cls, version in VERSIONS]
)

COMPILERS: list[Callable[[Layout], Decoder]] = [_reader_py.compile_reader]
if reader.IS_COMPILED:
    COMPILERS.append(reader.compile_reader)


@cache
def decoders(cls: type, version: int) -> list[Decoder]:
    """The decoder in plain Python, and the compiled one if it is there."""
    return [compile(layout_of(cls, version)) for compile in COMPILERS]


# --- random values -----------------------------------------------------------------------------

_SCALARS: dict[str, st.SearchStrategy[Any]] = {
    "bool": st.booleans(),
    "int8": st.integers(-(2**7), 2**7 - 1),
    "int16": st.integers(-(2**15), 2**15 - 1),
    "int32": st.integers(-(2**31), 2**31 - 1),
    "int64": st.integers(-(2**63), 2**63 - 1),
    "uint16": st.integers(0, 2**16 - 1),
    "uint32": st.integers(0, 2**32 - 1),
    "float64": st.floats(allow_nan=False),
    "uuid": st.binary(min_size=16, max_size=16),
    "string": st.text(max_size=5) | st.just("é" * 100),
    "bytes": st.binary(max_size=5) | st.just(bytes(200)),
    "records": st.binary(max_size=5) | st.just(bytes(200)),
}
_NULL = st.none()
_UNKNOWN_TAGS = st.dictionaries(st.integers(100, 300), st.binary(max_size=3), max_size=2)

Choose = Callable[[Part, Scalar | Sized], st.SearchStrategy[Any]]


def anything(part: Part, wire: Scalar | Sized) -> st.SearchStrategy[Any]:
    """Any value of the type, lengths of two varint bytes included."""
    return _SCALARS[wire.name]


def messages_of(
    cls: type, version: int, choose: Choose = anything, *, unknown_tags: bool = True
) -> st.SearchStrategy[Any]:
    """Messages that `version` can carry."""
    return _structs(layout_of(cls, version), choose, unknown_tags)


def _structs(layout: Layout, choose: Choose, unknown_tags: bool) -> st.SearchStrategy[Any]:
    fields = {
        part.name: _values(part, choose, unknown_tags) for part in (*layout.fields, *layout.tagged)
    }
    if layout.flexible and unknown_tags:
        fields[""] = _UNKNOWN_TAGS

    def build(values: dict[str, Any]) -> object:
        tags = values.pop("", {})
        made: object = layout.cls(**values)
        keep_unknown_tags(made, tags)
        return made

    return st.fixed_dictionaries(fields).map(build)


def _values(part: Part, choose: Choose, unknown_tags: bool) -> st.SearchStrategy[Any]:
    inner = part.type.item if isinstance(part.type, Array) else part.type
    if isinstance(inner, Struct):
        assert part.struct is not None
        made = _structs(part.struct, choose, unknown_tags)
    else:
        made = choose(part, inner)
    if isinstance(part.type, Array):
        made = st.lists(made, max_size=2)
    return _NULL | made if part.nullable else made


# --- one full message --------------------------------------------------------------------------

_FULL: dict[str, object] = {
    "bool": True,
    "float64": 1.5,
    "uuid": bytes(range(16)),
    "string": "text",
    "bytes": b"bytes",
    "records": b"records",
}


def full_message(cls: type, version: int) -> Any:
    """A message with every field that `version` has set to something else than its default."""
    return _full_struct(layout_of(cls, version))


def _full_struct(layout: Layout) -> object:
    fields = {part.name: _full_value(part) for part in (*layout.fields, *layout.tagged)}
    made: object = layout.cls(**fields)
    if layout.flexible:
        keep_unknown_tags(made, {77: b"tag"})
    return made


def _full_value(part: Part) -> object:
    if isinstance(part.type, Array):
        return [_full_item(part, part.type.item)]
    return _full_item(part, part.type)


def _full_item(part: Part, wire: Scalar | Sized | Struct) -> object:
    if isinstance(wire, Struct):
        assert part.struct is not None
        return _full_struct(part.struct)
    return _FULL.get(wire.name, 3)
