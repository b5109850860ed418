"""A protocol that writes down what it is called with, and two ends of a connection."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from typing import Any, TypeAlias

HOST = "127.0.0.1"

Story: TypeAlias = Callable[[], Coroutine[Any, Any, Any]]
Play: TypeAlias = Callable[[Story], Any]


class Recorder(asyncio.Protocol):
    """Writes down the events of a connection; data that comes in pieces is one event.

    Attributes:
        events: What it was called for; of a loss, also the type of the error.
        data: All that it has received.
        keeps_open: What it says to an EOF.
    """

    def __init__(self) -> None:
        self.transport: asyncio.Transport = None  # type: ignore[assignment]  # soon
        self.events: list[str] = []
        self.data = bytearray()
        self.keeps_open = False
        self.made = asyncio.Event()
        self.lost = asyncio.Event()
        self.ended = asyncio.Event()
        self.got = asyncio.Event()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self.transport = transport
        self.events.append("made")
        self.made.set()

    def data_received(self, data: bytes) -> None:
        if self.events[-1] != "data":
            self.events.append("data")
        self.data += data
        self.got.set()

    def eof_received(self) -> bool:
        self.events.append("eof")
        self.ended.set()
        return self.keeps_open

    def connection_lost(self, exc: Exception | None) -> None:
        self.events.append("lost" if exc is None else f"lost: {type(exc).__name__}")
        self.lost.set()

    def pause_writing(self) -> None:
        self.events.append("paused")

    def resume_writing(self) -> None:
        self.events.append("resumed")


class BufferedRecorder(asyncio.BufferedProtocol):
    """Writes down what it is called with, and has room for a few bytes at a time."""

    def __init__(self, room: int = 7) -> None:
        self.buffer = bytearray(room)
        self.data = b""
        self.sizes: list[int] = []
        self.lost = asyncio.Event()

    def get_buffer(self, sizehint: int) -> memoryview:
        return memoryview(self.buffer)

    def buffer_updated(self, nbytes: int) -> None:
        self.sizes.append(nbytes)
        self.data += self.buffer[:nbytes]

    def connection_lost(self, exc: Exception | None) -> None:
        self.lost.set()


@asynccontextmanager
async def connected(
    client: Callable[[], Any] = Recorder, server: Callable[[], Any] = Recorder
) -> AsyncIterator[tuple[Any, Any]]:
    """Both ends of a connection, the client's first. At the end of the block it is gone."""
    loop = asyncio.get_running_loop()
    accepted: asyncio.Future[Any] = loop.create_future()

    def accept() -> Any:
        accepted.set_result(server())
        return accepted.result()

    listening = await loop.create_server(accept, HOST, 0)
    port = listening.sockets[0].getsockname()[1]
    transport, protocol = await loop.create_connection(client, HOST, port)
    try:
        other = await accepted
        if isinstance(other, Recorder):
            await other.made.wait()
        yield protocol, other
    finally:
        other = accepted.result()
        # asyncio's fail if they are aborted after a close that had something to write.
        if not protocol.lost.is_set():
            transport.abort()
        if isinstance(other, Recorder) and not other.lost.is_set():
            other.transport.abort()
        await protocol.lost.wait()
        await other.lost.wait()
        listening.close()
        await listening.wait_closed()
