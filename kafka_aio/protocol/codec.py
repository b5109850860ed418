"""Messages to bytes and back, in a given version; each codec is compiled on first use. Pure."""

from __future__ import annotations

from typing import Final, TypeVar, cast

from kafka_aio.errors import ProtocolError
from kafka_aio.protocol import reader, writer
from kafka_aio.protocol.layout import Layout, Reader, Writer, layout_of
from kafka_aio.protocol.memory import Oversized
from kafka_aio.protocol.primitives import byte_count
from kafka_aio.protocol.schema import Buffer
from kafka_aio.protocol.trace import explain_reading, explain_size, explain_writing

T = TypeVar("T")

WHOLE: Final = 4096
"""A payload of at least so many bytes is sent as it is; smaller ones are joined."""


_WRITERS: Final[dict[tuple[type, int], tuple[Layout, Writer]]] = {}
_READERS: Final[dict[tuple[type, int], tuple[Layout, Reader]]] = {}


def _writer(cls: type, version: int) -> tuple[Layout, Writer]:
    found = _WRITERS.get((cls, version))
    if found is None:
        layout = layout_of(cls, version)
        found = _WRITERS[cls, version] = layout, writer.compile_writer(layout)
    return found


def _reader(cls: type, version: int) -> tuple[Layout, Reader]:
    found = _READERS.get((cls, version))
    if found is None:
        layout = layout_of(cls, version)
        found = _READERS[cls, version] = layout, reader.compile_reader(layout)
    return found


def encode(message: object, version: int) -> bytes:
    """The bytes of `message` in `version`.

    Unknown tagged fields are sent in flexible versions only; others have no place for them.

    Raises:
        UnsupportedVersion: There is no such version, or it has no place for a value.
        ValueError: A value does not fit its type.
    """
    out: list[Buffer] = []
    encode_into(out, message, version)
    return b"".join(out)


def encode_buffers(message: object, version: int) -> list[Buffer]:
    """As `encode`, in several buffers: large payloads are in the list as they are, not copied."""
    out: list[Buffer] = []
    encode_into(out, message, version)
    return gather(out)


def encode_into(out: list[Buffer], message: object, version: int) -> None:
    """Append the bytes of `message` to `out`, in many small buffers."""
    layout, write = _writer(type(message), version)
    try:
        write(message, out)
    except ProtocolError:
        raise
    except writer.FAILURES:
        pass
    else:
        return
    explain_writing(layout, message)  # out here: what was raised may hold a secret


def gather(out: list[Buffer]) -> list[Buffer]:
    """Join the small buffers between large ones."""
    gathered: list[Buffer] = []
    start = 0
    for index, buffer in enumerate(out):
        if len(buffer) >= WHOLE:
            if start < index:
                gathered.append(b"".join(out[start:index]))
            gathered.append(buffer)
            start = index + 1
    if start < len(out):
        gathered.append(b"".join(out[start:]))
    return gathered


def decode(cls: type[T], buffer: Buffer, version: int, *, start: int = 0) -> T:
    """The message that `buffer` holds from `start` to its end.

    It is a value: within it, arrays that are equal may be one list.

    Raises:
        UnsupportedVersion: There is no such version of `cls`.
        ProtocolError: The bytes are not one whole message; the text names the field. Or it would
            take more memory than so many bytes justify (`memory`).
    """
    message, stop = decode_from(cls, buffer, version, start)
    if stop < len(buffer):
        left = byte_count(len(buffer) - stop)
        raise ProtocolError(f"{cls.__name__} v{version}: {left} left over")
    return message


def decode_from(cls: type[T], buffer: Buffer, version: int, start: int) -> tuple[T, int]:
    """The message that begins at `start`, and the position after it.

    Raises:
        UnsupportedVersion: There is no such version of `cls`.
        ProtocolError: As for `decode`, but that more may follow.
    """
    layout, read = _reader(cls, version)
    found: tuple[object, int] | None = None
    explain = explain_reading
    try:
        found = read(buffer, start)
    except Oversized:
        explain = explain_size
    except reader.FAILURES:
        pass
    if found is None:  # out here: what was raised keeps what was read
        explain(layout, buffer, start)
    return cast("tuple[T, int]", found)
