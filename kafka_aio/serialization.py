"""Keys and values to bytes and back, in the formats of Kafka's own serializers. Pure.

A serializer is any function from a value to bytes, a deserializer any function from bytes to a
value; none is needed where keys and values are bytes already. These are plain functions, so a
configuration that holds them can be pickled. All of them leave None, the tombstone, as it is.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import Any, TypeVar
from uuid import UUID  # noqa: TID251 - reads ids, makes none

Serializer = Callable[[Any], bytes | None]
Deserializer = Callable[[bytes], Any]

_SHORT = struct.Struct(">h")
_INTEGER = struct.Struct(">i")
_LONG = struct.Struct(">q")
_FLOAT = struct.Struct(">f")
_DOUBLE = struct.Struct(">d")

_OTHER = "another serializer wrote it, so set its deserializer"

T = TypeVar("T")


def serialize_string(value: str | None) -> bytes | None:
    """UTF-8."""
    return None if value is None else _typed("string", value, str).encode()


def deserialize_string(data: bytes | None) -> str | None:
    return None if data is None else _text("string", data)


def serialize_short(value: int | None) -> bytes | None:
    """2 bytes, big-endian, signed."""
    return None if value is None else _packed("short", _SHORT, value)


def deserialize_short(data: bytes | None) -> int | None:
    return None if data is None else int(_unpacked("short", _SHORT, data))


def serialize_integer(value: int | None) -> bytes | None:
    """4 bytes, big-endian, signed."""
    return None if value is None else _packed("integer", _INTEGER, value)


def deserialize_integer(data: bytes | None) -> int | None:
    return None if data is None else int(_unpacked("integer", _INTEGER, data))


def serialize_long(value: int | None) -> bytes | None:
    """8 bytes, big-endian, signed."""
    return None if value is None else _packed("long", _LONG, value)


def deserialize_long(data: bytes | None) -> int | None:
    return None if data is None else int(_unpacked("long", _LONG, data))


def serialize_float(value: float | None) -> bytes | None:
    """4 bytes, IEEE 754."""
    return None if value is None else _packed("float", _FLOAT, value)


def deserialize_float(data: bytes | None) -> float | None:
    return None if data is None else float(_unpacked("float", _FLOAT, data))


def serialize_double(value: float | None) -> bytes | None:
    """8 bytes, IEEE 754."""
    return None if value is None else _packed("double", _DOUBLE, value)


def deserialize_double(data: bytes | None) -> float | None:
    return None if data is None else float(_unpacked("double", _DOUBLE, data))


def serialize_boolean(value: bool | None) -> bytes | None:
    """One byte, 0 or 1."""
    return None if value is None else bytes([_typed("boolean", value, bool)])


def deserialize_boolean(data: bytes | None) -> bool | None:
    if data is None:
        return None
    if _bytes("boolean", data) not in (b"\x00", b"\x01"):
        raise ValueError(f"a boolean is one byte, 0 or 1: {_OTHER}")
    return bool(data[0])


def serialize_uuid(value: UUID | None) -> bytes | None:
    """Its 36 characters."""
    return None if value is None else str(_typed("uuid", value, UUID)).encode()


def deserialize_uuid(data: bytes | None) -> UUID | None:
    if data is None:
        return None
    try:
        return UUID(_text("uuid", data))
    except ValueError:
        raise ValueError(f"a uuid is its 36 characters: {_OTHER}") from None


def serialize_void(value: None) -> None:
    """Only None has a place."""
    if value is not None:
        raise ValueError("only None can be sent with the void serializer")


def deserialize_void(data: bytes | None) -> None:
    if data is not None:
        raise ValueError("the void deserializer takes records without this part only")


def _typed(kind: str, value: object, wanted: type[T]) -> T:
    if isinstance(value, wanted):
        return value
    raise _wrong_type(kind, value, wanted.__name__)


def _wrong_type(kind: str, value: object, wanted: str) -> TypeError:
    return TypeError(
        f"serialize_{kind} takes {wanted} or None, not a value of type {type(value).__qualname__}:"
        " convert it first, or set another serializer"
    )


def _packed(kind: str, form: struct.Struct, value: Any) -> bytes:
    try:
        return form.pack(value)
    except (struct.error, OverflowError):
        fraction = form in (_FLOAT, _DOUBLE)
        if not isinstance(value, int | float if fraction else int):
            raise _wrong_type(kind, value, "float" if fraction else "int") from None
        raise ValueError(
            f"the number does not fit into {form.size} bytes: set another serializer"
        ) from None


def _unpacked(kind: str, form: struct.Struct, data: bytes) -> Any:
    found = _bytes(kind, data)
    if len(found) != form.size:
        raise ValueError(f"a {kind} has {form.size} bytes, not {len(found)}: {_OTHER}")
    return form.unpack(found)[0]


def _text(kind: str, data: bytes) -> str:
    try:
        return _bytes(kind, data).decode()
    except UnicodeDecodeError as error:
        raise ValueError(f"byte {error.start} is not UTF-8: {_OTHER}") from None


def _bytes(kind: str, data: object) -> bytes:
    if isinstance(data, bytes | bytearray | memoryview):
        return bytes(data)
    raise TypeError(f"deserialize_{kind} takes bytes or None, not {type(data).__qualname__}")
