"""Whole requests and responses: header and body. Pure.

A frame that is sent begins with its length; one that was received comes without. Flexible versions
have the header with a tagged section, except that the answer to ApiVersions never has it: who asks
does not know yet what the broker speaks (KIP-511).
"""

from __future__ import annotations

import struct
from typing import Any, Final, NamedTuple, TypeVar

from kafka_aio.errors import ProtocolError
from kafka_aio.protocol.codec import decode, decode_from, encode_into, gather
from kafka_aio.protocol.messages import for_key
from kafka_aio.protocol.messages.headers import RequestHeader, ResponseHeader
from kafka_aio.protocol.schema import Buffer, Request, response_of, schema_of

R = TypeVar("R")

_API_VERSIONS: Final = 18
_INT32: Final = struct.Struct(">i")
_REQUEST_HEAD: Final = struct.Struct(">hhih")
_NO_TAGS: Final = b"\0"
_KEY_AND_VERSION: Final = struct.Struct(">hh")


class ReceivedRequest(NamedTuple):
    """The head of a request: what a broker needs to read the rest, or to refuse it."""

    header: RequestHeader
    cls: type[Request[Any]]
    body: int
    """Where in the frame the body begins."""


def request_header_version(cls: type[Request[Any]], version: int) -> int:
    return 2 if schema_of(cls).is_flexible(version) else 1


def response_header_version(cls: type[Request[Any]], version: int) -> int:
    schema = schema_of(cls)
    return 1 if schema.is_flexible(version) and schema.key != _API_VERSIONS else 0


def encode_request(
    request: Request[Any], version: int, *, correlation_id: int, client_id: str | None
) -> list[Buffer]:
    """The frame of `request`. Large payloads are in the list as they are, not copied.

    Raises:
        UnsupportedVersion: There is no such version, or it has no place for a value.
        ValueError: A value does not fit its type.
    """
    schema = schema_of(type(request))
    # A RequestHeader, written by hand: with the generic encoder it took as long as most bodies.
    name = b"" if client_id is None else client_id.encode()
    length = -1 if client_id is None else len(name)
    if length > 2**15 - 1:
        raise ValueError(f"a client id has 32,767 bytes at most, not {length:,}")
    head = _REQUEST_HEAD.pack(schema.key, version, correlation_id, length) + name
    return _frame(head + _NO_TAGS if schema.is_flexible(version) else head, request, version)


def decode_response(cls: type[Request[R]], frame: Buffer, version: int) -> R:
    """The answer to a request of class `cls` that was sent in `version`.

    Raises:
        ProtocolError: The frame is not one whole answer; the text names the field.
    """
    header_version = response_header_version(cls, version)
    if header_version == 0:
        body = _INT32.size
    elif len(frame) > _INT32.size and frame[_INT32.size] == 0:  # a ResponseHeader without tags
        body = _INT32.size + 1
    else:
        _, body = decode_from(ResponseHeader, frame, header_version, 0)
    return decode(response_of(cls), frame, version, start=body)


def correlation_id_of(frame: Buffer) -> int:
    """Which request a response answers: what must be known before the rest can be read.

    Raises:
        ProtocolError: The frame is too short to be a response.
    """
    if len(frame) < 4:
        raise ProtocolError(f"response of {len(frame)} bytes: it has no correlation id")
    correlation_id: int = _INT32.unpack_from(frame)[0]
    return correlation_id


def decode_request_head(frame: Buffer) -> ReceivedRequest:
    """What the head of a request says. Its version may be one that we do not speak.

    Raises:
        UnsupportedVersion: No API that we know has its key.
        ProtocolError: The frame does not begin with a request header.
    """
    if len(frame) < 4:
        raise ProtocolError(f"request of {len(frame)} bytes: it has no API key and version")
    key, version = _KEY_AND_VERSION.unpack_from(frame)
    cls = for_key(key)
    header, body = decode_from(RequestHeader, frame, request_header_version(cls, version), 0)
    return ReceivedRequest(header, cls, body)


def encode_response(
    cls: type[Request[R]], response: R, version: int, *, correlation_id: int
) -> list[Buffer]:
    """The frame of the answer to a request of class `cls`.

    Raises:
        UnsupportedVersion: There is no such version, or it has no place for a value.
        ValueError: A value does not fit its type.
    """
    head = _INT32.pack(correlation_id)
    has_tags = response_header_version(cls, version) > 0
    return _frame(head + _NO_TAGS if has_tags else head, response, version)


def _frame(head: bytes, body: object, version: int) -> list[Buffer]:
    out: list[Buffer] = [head]
    encode_into(out, body, version)
    out[0] = _INT32.pack(sum(map(len, out))) + head
    return gather(out)
