"""Keys and values to bytes and back, in the formats of Kafka's own serializers. Pure.

A serializer is any function from a value to bytes, a deserializer any function from bytes to a
value; none is needed where keys and values are bytes already. These are plain functions, so a
configuration that holds them can be pickled. All of them leave None, the tombstone, as it is.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import Any
from uuid import UUID  # noqa: TID251 - reads ids, makes none

Serializer = Callable[[Any], bytes | None]
Deserializer = Callable[[bytes], Any]

_SHORT = struct.Struct(">h")
_INTEGER = struct.Struct(">i")
_LONG = struct.Struct(">q")
_FLOAT = struct.Struct(">f")
_DOUBLE = struct.Struct(">d")


def serialize_string(value: str | None) -> bytes | None:
    """UTF-8."""
    return None if value is None else value.encode()


def deserialize_string(data: bytes | None) -> str | None:
    return None if data is None else bytes(data).decode()


def serialize_short(value: int | None) -> bytes | None:
    """2 bytes, big-endian, signed."""
    return None if value is None else _SHORT.pack(value)


def deserialize_short(data: bytes | None) -> int | None:
    return None if data is None else int(_SHORT.unpack(data)[0])


def serialize_integer(value: int | None) -> bytes | None:
    """4 bytes, big-endian, signed."""
    return None if value is None else _INTEGER.pack(value)


def deserialize_integer(data: bytes | None) -> int | None:
    return None if data is None else int(_INTEGER.unpack(data)[0])


def serialize_long(value: int | None) -> bytes | None:
    """8 bytes, big-endian, signed."""
    return None if value is None else _LONG.pack(value)


def deserialize_long(data: bytes | None) -> int | None:
    return None if data is None else int(_LONG.unpack(data)[0])


def serialize_float(value: float | None) -> bytes | None:
    """4 bytes, IEEE 754."""
    return None if value is None else _FLOAT.pack(value)


def deserialize_float(data: bytes | None) -> float | None:
    return None if data is None else float(_FLOAT.unpack(data)[0])


def serialize_double(value: float | None) -> bytes | None:
    """8 bytes, IEEE 754."""
    return None if value is None else _DOUBLE.pack(value)


def deserialize_double(data: bytes | None) -> float | None:
    return None if data is None else float(_DOUBLE.unpack(data)[0])


def serialize_boolean(value: bool | None) -> bytes | None:
    """One byte, 0 or 1."""
    return None if value is None else bytes([bool(value)])


def deserialize_boolean(data: bytes | None) -> bool | None:
    if data is None:
        return None
    if data not in (b"\x00", b"\x01"):
        raise ValueError("a boolean is one byte, 0 or 1")
    return bool(data[0])


def serialize_uuid(value: UUID | None) -> bytes | None:
    """Its 36 characters."""
    return None if value is None else str(value).encode()


def deserialize_uuid(data: bytes | None) -> UUID | None:
    return None if data is None else UUID(bytes(data).decode())


def serialize_void(value: None) -> None:
    """Only None has a place."""
    if value is not None:
        raise ValueError("only None can be sent with the void serializer")


def deserialize_void(data: bytes | None) -> None:
    if data is not None:
        raise ValueError("the void deserializer takes records without this part only")
