"""Declare a Kafka message once, as a typed class. Pure.

    @message
    class FetchPartition:
        partition: Int32
        current_leader_epoch: Int32 = since(9, default=-1, ignorable=True)

    @request(key=1, versions=(4, 18), flexible=12)
    class FetchRequest(Request[FetchResponse]): ...

An annotation says the type on the wire, `| None` that null is legal, the value what else is true:

* nothing: the field is in every version of its struct, and must be given;
* a plain value: in every version, with that default;
* `since`, `until`: in some versions only. A value other than the default cannot be sent in a
  version without the field, unless it is `ignorable`: then it is dropped;
* `tagged`: sent in the tagged section, and only if it differs from the default;
* `nullable`: in every version, but null is legal only from some version on.

The class gets slots, a keyword-only constructor, `==` and `repr`. To a type checker it is
frozen, and it must be treated so: decoded messages share the defaults of their struct fields, and
within one message equal arrays are one list.
"""

from __future__ import annotations

from base64 import b64decode, urlsafe_b64encode
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from inspect import get_annotations
from operator import attrgetter
from types import UnionType
from typing import (
    Annotated,
    Any,
    Final,
    Generic,
    Literal,
    NamedTuple,
    NewType,
    TypeAlias,
    TypeVar,
    Union,
    dataclass_transform,
    get_args,
    get_origin,
    overload,
)

T = TypeVar("T")
R = TypeVar("R")


class Scalar(NamedTuple):
    """A type of fixed size, as the struct module formats it."""

    name: str
    format: str
    size: int
    zero: object


class Sized(NamedTuple):
    """A type with a length before it: string, bytes or records."""

    name: Literal["string", "bytes", "records"]
    zero: object
    compact: bool = True
    """Whether flexible versions write the length as a varint; not so for the client id alone."""
    secret: bool = False
    """Whether `repr` must not show it."""


class Struct(NamedTuple):
    """Another message class, written in place."""

    cls: type

    @property
    def name(self) -> str:
        return self.cls.__name__


class Array(NamedTuple):
    """A count and that many items."""

    item: Scalar | Sized | Struct

    @property
    def name(self) -> str:
        return f"[]{self.item.name}"


WireType: TypeAlias = Scalar | Sized | Struct | Array
Buffer: TypeAlias = bytes | bytearray | memoryview

Uuid = NewType("Uuid", bytes)
"""Sixteen raw bytes. `uuid_text` and `uuid_from_text` know the form in which Kafka prints it."""
NO_UUID: Final = Uuid(bytes(16))

Bool = Annotated[bool, Scalar("bool", "?", 1, False)]
Int8 = Annotated[int, Scalar("int8", "b", 1, 0)]
Int16 = Annotated[int, Scalar("int16", "h", 2, 0)]
Int32 = Annotated[int, Scalar("int32", "i", 4, 0)]
Int64 = Annotated[int, Scalar("int64", "q", 8, 0)]
UInt16 = Annotated[int, Scalar("uint16", "H", 2, 0)]
UInt32 = Annotated[int, Scalar("uint32", "I", 4, 0)]
Float64 = Annotated[float, Scalar("float64", "d", 8, 0.0)]
String = Annotated[str, Sized("string", "")]
PlainString = Annotated[str, Sized("string", "", compact=False)]
SecretString = Annotated[str, Sized("string", "", secret=True)]
Bytes = Annotated[bytes, Sized("bytes", b"")]
SecretBytes = Annotated[bytes, Sized("bytes", b"", secret=True)]
Records = Annotated[Buffer, Sized("records", None)]
"""Record batches: any buffer to send, a memoryview of the frame when received."""

_UUID: Final = Scalar("uuid", "16s", 16, NO_UUID)


def uuid_text(uuid: Uuid) -> str:
    """The 22 characters in which Kafka's tools print an id."""
    return urlsafe_b64encode(uuid).rstrip(b"=").decode()


def uuid_from_text(text: str) -> Uuid:
    """The id that Kafka prints as `text`.

    Raises:
        ValueError: It is not the text of sixteen bytes.
    """
    if len(text) != 22:
        raise ValueError(f"{text!r} is not an id of Kafka: 22 characters of base64 are expected")
    return Uuid(b64decode(text + "==", altchars=b"-_", validate=True))


_REQUIRED: Final = object()


class _Facts(NamedTuple):
    """What stands to the right of a field's annotation."""

    default: object = _REQUIRED
    since: int = 0
    until: int | None = None
    nullable_since: int = 0
    tag: int | None = None
    ignorable: bool = False


def since(
    version: int,
    *,
    default: T,
    until: int | None = None,
    nullable: int = 0,
    ignorable: bool = False,
) -> T:
    """A field that came with `version` (and went after `until`)."""
    facts: Any = _Facts(default, version, until, nullable, None, ignorable)
    return facts  # type: ignore[no-any-return]


def until(version: int, *, default: T, nullable: int = 0, ignorable: bool = False) -> T:
    """A field that `version` was the last to have; null is legal from version `nullable` on."""
    facts: Any = _Facts(default, 0, version, nullable, None, ignorable)
    return facts  # type: ignore[no-any-return]


def tagged(tag: int, *, default: T, since: int = 0, ignorable: bool = False) -> T:
    """A field of the tagged section."""
    facts: Any = _Facts(default, since, None, 0, tag, ignorable)
    return facts  # type: ignore[no-any-return]


@overload
def nullable(*, since: int) -> Any: ...
@overload
def nullable(*, since: int, default: T) -> T: ...
def nullable(*, since: int, default: object = _REQUIRED) -> Any:
    """A field of every version, in which null is legal from version `since` on."""
    return _Facts(default, nullable_since=since)


@dataclass(frozen=True, slots=True, kw_only=True)
class Field:
    """One declared field. A version that lacks it reads as `empty`."""

    name: str
    type: WireType
    since: int
    until: int | None
    nullable_since: int | None
    """The first version in which null is legal; None where it never is."""
    tag: int | None
    required: bool
    empty: object
    """The default; the zero of the type where none is declared."""
    ignorable: bool

    def is_present(self, version: int) -> bool:
        return self.since <= version and (self.until is None or version <= self.until)

    def is_nullable(self, version: int) -> bool:
        return self.nullable_since is not None and self.nullable_since <= version


Role: TypeAlias = Literal["struct", "request", "response", "data"]


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Schema:
    """What a message class declares. One for each class."""

    name: str
    role: Role
    key: int = -1
    versions: tuple[int, int] = (0, -1)
    flexible: int | None = None
    """The first flexible version; None where no version is."""
    unstable: bool = False
    """Whether the last version is not settled yet."""
    fields: tuple[Field, ...] = ()

    def __repr__(self) -> str:
        first, last = self.versions
        return f"<Schema {self.name} {self.role} v{first}-{last}>"

    @property
    def api(self) -> str:
        """The name of the API of a request, as people know it: `Metadata`."""
        return self.name.removesuffix("Request")

    def is_flexible(self, version: int) -> bool:
        return self.flexible is not None and version >= self.flexible

    @property
    def stable_versions(self) -> tuple[int, int]:
        """The versions that may be negotiated unless somebody asks for more."""
        first, last = self.versions
        return first, last - self.unstable


class Request(Generic[R]):
    """Says which message answers this one: `class FetchRequest(Request[FetchResponse])`."""

    __slots__ = ()


def schema_of(cls: type) -> Schema:
    """What `cls` declares.

    Raises:
        TypeError: It is not a message class.
    """
    schema = getattr(cls, "__schema__", None)
    if not isinstance(schema, Schema):
        raise TypeError(f"{cls.__name__} is not a message: see kafka_aio.protocol.schema")
    return schema


def response_of(cls: type[Request[R]]) -> type[R]:
    """The class of the answer to a request of class `cls`."""
    response: type[R] = get_args(vars(cls)["__orig_bases__"][0])[0]
    return response


def unknown_tags(message: object) -> Mapping[int, bytes]:
    """The tagged fields that came with `message` and are not declared, by tag."""
    tags: Mapping[int, bytes] | None = message._unknown_tags  # type: ignore[attr-defined]
    return tags or {}


def keep_unknown_tags(message: object, tags: Mapping[int, bytes]) -> None:
    """Make `tags` the undeclared tagged fields that are sent with `message`.

    Raises:
        ValueError: A tag is negative, or declared.
    """
    declared = {field.tag for field in schema_of(type(message)).fields}
    for tag in tags:
        if tag < 0 or tag in declared:
            raise ValueError(f"{type(message).__name__}: tag {tag} is not an unknown one")
    message._unknown_tags = dict(sorted(tags.items())) or None  # type: ignore[attr-defined]


@dataclass_transform(
    kw_only_default=True, frozen_default=True, field_specifiers=(since, until, tagged, nullable)
)
def message(cls: type[T]) -> type[T]:
    """Declare a struct: a part of other messages."""
    return _declare(cls, Schema(name=cls.__name__, role="struct"))


@dataclass_transform(
    kw_only_default=True, frozen_default=True, field_specifiers=(since, until, tagged, nullable)
)
def request(
    *, key: int, versions: tuple[int, int], flexible: int | None = None, unstable: bool = False
) -> Callable[[type[T]], type[T]]:
    """Declare a request; `unstable` means that its last version is not final."""

    def declare(cls: type[T]) -> type[T]:
        schema = Schema(
            name=cls.__name__,
            role="request",
            key=key,
            versions=versions,
            flexible=flexible,
            unstable=unstable,
        )
        return _declare(cls, schema)

    return declare


@dataclass_transform(
    kw_only_default=True, frozen_default=True, field_specifiers=(since, until, tagged, nullable)
)
def response(
    *, key: int, versions: tuple[int, int], flexible: int | None = None
) -> Callable[[type[T]], type[T]]:
    """Declare the answer to a request."""

    def declare(cls: type[T]) -> type[T]:
        name = cls.__name__
        schema = Schema(name=name, role="response", key=key, versions=versions, flexible=flexible)
        return _declare(cls, schema)

    return declare


@dataclass_transform(
    kw_only_default=True, frozen_default=True, field_specifiers=(since, until, tagged, nullable)
)
def data(*, versions: tuple[int, int], flexible: int | None = None) -> Callable[[type[T]], type[T]]:
    """Declare what travels inside other things: headers, group metadata, control records."""

    def declare(cls: type[T]) -> type[T]:
        schema = Schema(name=cls.__name__, role="data", versions=versions, flexible=flexible)
        return _declare(cls, schema)

    return declare


def _declare(cls: type[T], schema: Schema) -> type[T]:
    """The class again, with slots: what `dataclass(slots=True)` does, in a seventh of the time."""
    annotations = get_annotations(cls, eval_str=True)
    fields = tuple(
        _field(name, annotation, vars(cls).get(name, _REQUIRED))
        for name, annotation in annotations.items()
    )
    body = {
        name: value
        for name, value in vars(cls).items()
        if name not in annotations and name not in ("__dict__", "__weakref__")
    }
    body.update(
        __slots__=(*annotations, "_unknown_tags"),
        __init__=_constructor(fields),
        __eq__=_equality((*annotations, "_unknown_tags")),
        __hash__=None,
        __repr__=_repr,
        __schema__=replace(schema, fields=fields),
    )
    made: Any = type(cls.__name__, cls.__bases__, body)
    return made  # type: ignore[no-any-return]


def _field(name: str, annotation: Any, value: object) -> Field:
    facts = value if isinstance(value, _Facts) else _Facts(value)
    is_nullable = False
    if get_origin(annotation) in (Union, UnionType):
        options = [option for option in get_args(annotation) if option is not type(None)]
        is_nullable = len(options) < len(get_args(annotation))
        (annotation,) = options
    wire = _wire_type(annotation)
    required = facts.default is _REQUIRED
    return Field(
        name=name,
        type=wire,
        since=facts.since,
        until=facts.until,
        nullable_since=max(facts.since, facts.nullable_since) if is_nullable else None,
        tag=facts.tag,
        required=required,
        empty=_zero(wire) if required else facts.default,
        ignorable=facts.ignorable,
    )


def _wire_type(annotation: Any) -> WireType:
    if annotation is Uuid:
        return _UUID
    if get_origin(annotation) is list:
        item = _wire_type(get_args(annotation)[0])
        assert not isinstance(item, Array)
        return Array(item)
    if isinstance(annotation, type) and hasattr(annotation, "__schema__"):
        return Struct(annotation)
    wire = annotation.__metadata__[0]
    assert isinstance(wire, Scalar | Sized)
    return wire


def _zero(wire: WireType) -> object:
    if isinstance(wire, Array):
        return []
    if isinstance(wire, Struct):
        # A required struct has no default; absent can only be one that is not required.
        return None
    return wire.zero


def _constructor(fields: tuple[Field, ...]) -> Callable[..., None]:
    """A keyword-only `__init__`. Each message gets lists of its own."""
    names: dict[str, object] = {"_new_list": object()}
    parameters, body = [], []
    for field in fields:
        name = value = field.name
        if field.required:
            parameters.append(name)
        elif field.empty == []:
            parameters.append(f"{name}=_new_list")
            value = f"[] if {name} is _new_list else {name}"
        else:
            parameters.append(f"{name}=_{name}")
            names[f"_{name}"] = field.empty
        body.append(f" self.{name} = {value}")
    head = f"def __init__(self, {', '.join(['*', *parameters]) if fields else ''}):"
    exec("\n".join([head, *body, " self._unknown_tags = None"]), names)
    made: Callable[..., None] = names["__init__"]  # type: ignore[assignment]
    return made


def _equality(slots: tuple[str, ...]) -> Callable[[object, object], bool]:
    values = attrgetter(*slots)

    def __eq__(self: object, other: object) -> bool:
        if other.__class__ is not self.__class__:
            return NotImplemented
        return bool(values(self) == values(other))

    return __eq__


def _repr(self: Any) -> str:
    """All fields; records and unknown tags by their size only, secrets not at all."""
    fields = schema_of(type(self)).fields
    shown = [f"{field.name}={_shown(field.type, getattr(self, field.name))}" for field in fields]
    if self._unknown_tags:
        sizes = {tag: len(payload) for tag, payload in self._unknown_tags.items()}
        shown.append(f"bytes_of_unknown_tags={sizes}")
    return f"{type(self).__name__}({', '.join(shown)})"


def _shown(wire: WireType, value: Any) -> str:
    if isinstance(wire, Sized) and wire.secret:
        return "***"
    if isinstance(wire, Sized) and wire.name == "records" and value is not None:
        return f"<{len(value):,} bytes>"
    return repr(value)
