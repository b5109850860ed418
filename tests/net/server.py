"""A broker on a loopback port that does as it is told: on time, late, out of turn, or nonsense.

A request whose class has a reaction is answered by it, at once. Any other waits until the test
takes it with `next` and answers it, or does something else to the connection that it came by.
"""

from __future__ import annotations

import asyncio
import socket
import ssl
import struct
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any, TypeAlias

from kafka_aio.net.connection import Connection
from kafka_aio.net.limits import Limits, Traffic
from kafka_aio.protocol.codec import decode
from kafka_aio.protocol.frame import decode_request_head, encode_response
from kafka_aio.protocol.messages import for_key
from kafka_aio.protocol.messages.api_versions import (
    ApiVersion,
    ApiVersionsRequest,
    ApiVersionsResponse,
)
from kafka_aio.protocol.messages.index import REQUESTS
from kafka_aio.protocol.messages.metadata import (
    MetadataRequest,
    MetadataResponse,
    MetadataResponseBroker,
    MetadataResponsePartition,
    MetadataResponseTopic,
)
from kafka_aio.protocol.messages.sasl import (
    SaslAuthenticateRequest,
    SaslAuthenticateResponse,
    SaslHandshakeRequest,
    SaslHandshakeResponse,
)
from kafka_aio.protocol.schema import Request, schema_of
from kafka_aio.protocol.versions import BrokerVersions
from tests.net.peers import serving
from tests.unit.protocol.sasl_broker import ScramBroker

HOST = "127.0.0.1"
PATIENCE = 20.0
"""Seconds after which a test has failed that waits for something."""
LARGEST_REQUEST = 100 * 2**20


class Peer:
    """A client, as the broker sees it."""

    def __init__(self, writer: asyncio.StreamWriter) -> None:
        self.gone = asyncio.Event()
        self.is_ignored = False
        self._writer = writer

    def write(self, data: bytes) -> None:
        self._writer.write(data)

    async def drip(self, data: bytes, *, pause: float) -> None:
        """Write one byte after another, while there is somebody to read them."""
        for byte in data:
            if self.gone.is_set():
                return
            self.write(bytes([byte]))
            await asyncio.sleep(pause)

    def stop_reading(self) -> None:
        self._writer.transport.pause_reading()  # type: ignore[attr-defined]  # of a socket, it does

    def read_on(self) -> None:
        self._writer.transport.resume_reading()  # type: ignore[attr-defined]  # of a socket, it does

    def close(self) -> None:
        """Say goodbye (FIN)."""
        self._writer.close()

    def reset(self) -> None:
        """Slam the door (RST): what was written and not read is lost."""
        raw = self._writer.get_extra_info("socket")
        raw.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self._writer.transport.abort()

    async def wait_gone(self) -> None:
        """Wait until the client has closed the connection."""
        async with asyncio.timeout(PATIENCE):
            await self.gone.wait()


@dataclass(frozen=True)
class Asked:
    """A request, as the broker got it."""

    peer: Peer
    message: Any
    version: int
    correlation_id: int
    client_id: str | None

    def framed(self, response: object, *, turn: int = 0) -> bytes:
        """The bytes of an answer; with a `turn`, to a request that many later."""
        correlation_id = self.correlation_id + turn
        cls = type(self.message)
        return b"".join(encode_response(cls, response, self.version, correlation_id=correlation_id))

    def answer(self, response: object) -> None:
        self.peer.write(self.framed(response))


Reaction: TypeAlias = Callable[[Asked], None]


class Broker:
    """Answers ApiVersions, Metadata and SASL/PLAIN as brokers do, until it is told otherwise.

    Attributes:
        port: Where it listens.
        peers: Every client that has connected.
        seen: Every request that has come.
        reactions: What to do about requests of a class.
    """

    def __init__(self) -> None:
        self.port = 0
        self.peers: list[Peer] = []
        self.seen: list[Asked] = []
        self.reactions: dict[type[Request[Any]], Reaction] = {
            ApiVersionsRequest: says(ApiVersionsResponse(error_code=0, api_keys=ALL_VERSIONS)),
            MetadataRequest: self._describe_cluster,
            SaslHandshakeRequest: says(SaslHandshakeResponse(error_code=0, mechanisms=MECHANISMS)),
            SaslAuthenticateRequest: says(authenticated()),
        }
        self._waiting: asyncio.Queue[Asked] = asyncio.Queue()
        self._arrived: asyncio.Queue[Peer] = asyncio.Queue()

    async def next(self) -> Asked:
        """The next request that there is no reaction to."""
        async with asyncio.timeout(PATIENCE):
            return await self._waiting.get()

    async def next_peer(self) -> Peer:
        """The next client that connects, or has connected."""
        async with asyncio.timeout(PATIENCE):
            return await self._arrived.get()

    @asynccontextmanager
    async def listening(self, tls: ssl.SSLContext | None = None) -> AsyncIterator[Broker]:
        async with serving(self._serve, tls) as self.port:
            yield self

    @asynccontextmanager
    async def connected(
        self, traffic: Traffic | None = None, **limits: Any
    ) -> AsyncIterator[tuple[Connection, Peer]]:
        """A connection that may be used at once, and its other end."""
        _, connection = await asyncio.get_running_loop().create_connection(
            lambda: Connection(HOST, self.port, Limits(**limits), traffic), HOST, self.port
        )
        connection.versions = BrokerVersions.from_response(
            ApiVersionsResponse(error_code=0, api_keys=ALL_VERSIONS)
        )
        connection.trust()
        try:
            yield connection, await self.next_peer()
        finally:
            await connection.aclose()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        peer = Peer(writer)
        self.peers.append(peer)
        self._arrived.put_nowait(peer)
        try:
            while True:
                length = int.from_bytes(await reader.readexactly(4), "big", signed=True)
                if not 0 < length <= LARGEST_REQUEST:
                    return
                self._receive(peer, await reader.readexactly(length))
        finally:
            peer.gone.set()

    def _receive(self, peer: Peer, frame: bytes) -> None:
        head = decode_request_head(frame)
        version = head.header.request_api_version
        message = decode(head.cls, frame, version, start=head.body)
        asked = Asked(peer, message, version, head.header.correlation_id, head.header.client_id)
        self.seen.append(asked)
        if peer.is_ignored:
            return
        if head.cls in self.reactions:
            self.reactions[head.cls](asked)
        else:
            self._waiting.put_nowait(asked)

    def _describe_cluster(self, asked: Asked) -> None:
        """One node; each topic that is asked for has one partition."""
        partition = MetadataResponsePartition(
            error_code=0, partition_index=0, leader_id=0, replica_nodes=[0], isr_nodes=[0]
        )
        asked.answer(
            MetadataResponse(
                brokers=[MetadataResponseBroker(node_id=0, host=HOST, port=self.port)],
                cluster_id="scripted",
                controller_id=0,
                topics=[
                    MetadataResponseTopic(error_code=0, name=topic.name, partitions=[partition])
                    for topic in asked.message.topics or []
                ],
            )
        )


async def until(condition: Callable[[], bool]) -> None:
    """Return in the very turn of the loop in which it becomes true, before those it wakes run."""
    async with asyncio.timeout(PATIENCE):
        while not condition():  # noqa: ASYNC110  # an event would come a turn later
            await asyncio.sleep(0)


# Reactions.


def says(response: object) -> Reaction:
    return lambda asked: asked.answer(response)


def writes(data: bytes) -> Reaction:
    return lambda asked: asked.peer.write(data)


def says_nothing(asked: Asked) -> None:
    pass


def falls_silent(asked: Asked) -> None:
    """Answers neither this nor what comes after it, as a broker that hangs."""
    asked.peer.is_ignored = True


def closes(asked: Asked) -> None:
    asked.peer.close()


def resets(asked: Asked) -> None:
    asked.peer.reset()


def scram(user: ScramBroker) -> Reaction:
    """To SaslAuthenticate, for one user."""

    def react(asked: Asked) -> None:
        said = asked.message.auth_bytes
        asked.answer(authenticated(user.first(said) if said[:3] == b"n,," else user.final(said)))

    return react


def authenticated(data: bytes = b"", *, lifetime_ms: int = 0) -> SaslAuthenticateResponse:
    return SaslAuthenticateResponse(
        error_code=0, error_message=None, auth_bytes=data, session_lifetime_ms=lifetime_ms
    )


def _all_versions() -> list[ApiVersion]:
    schemas = [schema_of(for_key(key)) for key in REQUESTS]
    return [
        ApiVersion(api_key=each.key, min_version=each.versions[0], max_version=each.versions[1])
        for each in schemas
    ]


ALL_VERSIONS = _all_versions()
MECHANISMS = ["PLAIN", "SCRAM-SHA-256"]
REFUSED = SaslAuthenticateResponse(
    error_code=58, error_message="Invalid credentials", auth_bytes=b""
)
