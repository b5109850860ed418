"""A server that says what it hears, and a client that reads up to the last byte, on loopback."""

from __future__ import annotations

import asyncio
import socket
import struct
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress

HOST = "127.0.0.1"
READ_SIZE = 65_536

Answer = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


def make_reset(connected: socket.socket) -> None:
    """Let its end be a reset."""
    connected.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))


class Server:
    """Echoes, or does as told, and remembers what it got and how each connection ended."""

    def __init__(self) -> None:
        self.address = (HOST, 0)
        self.answer: Answer = self.echo
        self.received = bytearray()
        self.ends: asyncio.Queue[str] = asyncio.Queue()

    async def echo(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while data := await reader.read(READ_SIZE):
            self.received += data
            writer.write(data)
            await writer.drain()

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            await self.answer(reader, writer)
            self.ends.put_nowait("fin")
        except ConnectionError:
            self.ends.put_nowait("rst")
        finally:
            writer.close()
            with suppress(ConnectionError):
                await writer.wait_closed()


@asynccontextmanager
async def serving() -> AsyncIterator[Server]:
    server = Server()
    async with await asyncio.start_server(server.serve, HOST, 0) as listening:
        server.address = listening.sockets[0].getsockname()
        yield server


class Client:
    """One connection. A StreamReader would forget what came before a reset."""

    def __init__(self, connected: socket.socket) -> None:
        self.socket = connected
        self._loop = asyncio.get_running_loop()

    async def send(self, data: bytes) -> None:
        await self._loop.sock_sendall(self.socket, data)

    def end(self) -> None:
        """There is no more to send."""
        self.socket.shutdown(socket.SHUT_WR)

    async def read(self) -> bytes:
        return await self._loop.sock_recv(self.socket, READ_SIZE)

    async def read_exactly(self, size: int) -> bytes:
        received = b""
        while len(received) < size:
            data = await self._loop.sock_recv(self.socket, size - len(received))
            assert data, f"the end came after {len(received)} of {size} bytes"
            received += data
        return received

    async def read_to_end(self) -> tuple[bytes, str]:
        """All that comes, and which end that has."""
        received = bytearray()
        try:
            while data := await self.read():
                received += data
        except ConnectionError:
            return bytes(received), "rst"
        return bytes(received), "fin"

    async def exchange(self, data: bytes) -> bytes:
        """What an echo makes of it."""
        await self.send(data)
        return await self.read_exactly(len(data))


@asynccontextmanager
async def connected(port: int) -> AsyncIterator[Client]:
    with socket.socket() as mine:
        mine.setblocking(False)
        await asyncio.get_running_loop().sock_connect(mine, (HOST, port))
        yield Client(mine)
