"""A message as one version has it: what the codecs are compiled from. Pure."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Protocol, TypeAlias

from kafka_aio.errors import UnsupportedVersion
from kafka_aio.protocol.schema import (
    Array,
    Buffer,
    Field,
    Scalar,
    Sized,
    Struct,
    WireType,
    schema_of,
)

Writer: TypeAlias = Callable[[object, list[Buffer]], None]
"""An encoder: it appends the bytes of a message to a list of buffers."""


class Reader(Protocol):
    """A decoder: from a buffer and a position to the message and the position after it."""

    def __call__(
        self, buffer: Buffer, position: int, limit: int | None = None, /
    ) -> tuple[object, int]:
        """Read, taking at most `limit` bytes of memory; without it, what `memory` allows."""


@dataclass(frozen=True, slots=True)
class Part:
    """One field as one version has it."""

    name: str
    type: WireType
    nullable: bool
    compact: bool
    """Whether lengths and counts are varints."""
    tag: int | None
    empty: object
    struct: Layout | None
    """The layout of the struct, or of the items where they are structs."""

    @property
    def min_size(self) -> int:
        match self.type:
            case Scalar(size=size):
                return size
            case Struct() if not self.nullable:
                assert self.struct is not None
                return self.struct.min_size
            case Struct():
                return 1
            case Sized(name="string") if not self.compact:
                return 2
        return 1 if self.compact else 4

    @property
    def item_min_size(self) -> int:
        """The bytes that an item takes at least: what makes a promised count a lie."""
        assert isinstance(self.type, Array)
        if self.struct is not None:
            return max(1, self.struct.min_size)
        if isinstance(self.type.item, Scalar):
            return self.type.item.size
        return 1 if self.compact else 2


@dataclass(frozen=True, slots=True)
class Layout:
    """A struct as one version has it. The order of `fields` is the order on the wire."""

    cls: type
    version: int
    flexible: bool
    fields: tuple[Part, ...]
    tagged: tuple[Part, ...]
    absent: tuple[Field, ...]
    min_size: int

    @property
    def name(self) -> str:
        return self.cls.__name__


def layout_of(cls: type, version: int) -> Layout:
    """The layout of a request, a response or data in `version`.

    Raises:
        UnsupportedVersion: It has no such version.
    """
    schema = schema_of(cls)
    first, last = schema.versions
    if not first <= version <= last:
        raise UnsupportedVersion(f"{schema.name} v{version}: we speak versions {first} to {last}")
    return _layout(cls, version, schema.is_flexible(version))


@cache
def _layout(cls: type, version: int, flexible: bool) -> Layout:
    fields, tagged, absent = [], [], []
    for field in schema_of(cls).fields:
        if not field.is_present(version):
            absent.append(field)
        elif field.tag is None:
            fields.append(_part(field, version, flexible))
        else:
            tagged.append(_part(field, version, flexible))
    tagged.sort(key=lambda part: part.tag or 0)
    return Layout(
        cls=cls,
        version=version,
        flexible=flexible,
        fields=tuple(fields),
        tagged=tuple(tagged),
        absent=tuple(absent),
        min_size=sum(part.min_size for part in fields) + flexible,
    )


def _part(field: Field, version: int, flexible: bool) -> Part:
    inner = field.type.item if isinstance(field.type, Array) else field.type
    return Part(
        name=field.name,
        type=field.type,
        nullable=field.is_nullable(version),
        compact=flexible and (not isinstance(inner, Sized) or inner.compact),
        tag=field.tag,
        empty=field.empty,
        struct=_layout(inner.cls, version, flexible) if isinstance(inner, Struct) else None,
    )
