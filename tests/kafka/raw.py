"""A connection for tests: one request, its answer, then the next, on a blocking socket."""

from __future__ import annotations

import itertools
import socket
import ssl
import struct
from collections.abc import Iterable
from types import TracebackType
from typing import Any, Self, TypeVar

from kafka_aio.protocol import frame
from kafka_aio.protocol.schema import Buffer, Request
from kafka_aio.protocol.versions import BrokerVersions, Negotiation

R = TypeVar("R")

CLIENT_ID = "kafka-aio-tests"
_LENGTH = struct.Struct(">i")


class RawConnection:
    """Speaks our protocol layer to a broker, with nothing of our network layer in between."""

    def __init__(
        self, host: str, port: int, *, timeout: float = 20, tls: ssl.SSLContext | None = None
    ) -> None:
        self._socket = socket.create_connection((host, port), timeout=timeout)
        if tls is not None:  # which takes the socket over, and closes it when it fails
            self._socket = tls.wrap_socket(self._socket, server_hostname=host)
        self._correlation_ids = itertools.count(1)
        self._versions: BrokerVersions | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        self._socket.close()

    @property
    def versions(self) -> BrokerVersions:
        """What the broker speaks; asked once, on first use."""
        if self._versions is None:
            self._versions = self.negotiate(Negotiation(CLIENT_ID, "0"))
        return self._versions

    def negotiate(self, negotiation: Negotiation) -> BrokerVersions:
        versions = None
        while versions is None:
            answer = self._ask(negotiation.request, negotiation.version)
            versions = negotiation.receive(answer, start=_LENGTH.size)
        return versions

    def send(self, request: Request[R], version: int | None = None) -> R:
        """The broker's answer, asked in the highest common version unless told another."""
        if version is None:
            version = self.versions.pick(type(request))
        return frame.decode_response(type(request), self._ask(request, version), version)

    def tell(self, request: Request[Any]) -> None:
        """Send what the broker does not answer, in the highest common version."""
        version = self.versions.pick(type(request))
        number = next(self._correlation_ids)
        encoded = frame.encode_request(request, version, correlation_id=number, client_id=CLIENT_ID)
        self._socket.sendall(b"".join(encoded))

    def exchange(self, buffers: Iterable[Buffer]) -> bytes:
        """The frame, without its length, that answers a frame with it."""
        self._socket.sendall(b"".join(buffers))
        (length,) = _LENGTH.unpack(self._read(_LENGTH.size))
        return self._read(length)

    def _ask(self, request: Request[R], version: int) -> bytes:
        expected = next(self._correlation_ids)
        answer = self.exchange(
            frame.encode_request(request, version, correlation_id=expected, client_id=CLIENT_ID)
        )
        assert frame.correlation_id_of(answer) == expected
        return answer

    def _read(self, length: int) -> bytes:
        received = bytearray()
        while len(received) < length:
            part = self._socket.recv(min(length - len(received), 1 << 20))
            if not part:
                raise EOFError(f"the broker closed, {len(received)} of {length} bytes received")
            received += part
        return bytes(received)
