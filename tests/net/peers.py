"""The other side of a socket, on loopback."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress

Handler = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


@asynccontextmanager
async def serving(handler: Handler, tls: ssl.SSLContext | None = None) -> AsyncIterator[int]:
    """A server for the time of the block; its port. At the end no connection is left."""
    connections: dict[asyncio.Task[None], asyncio.StreamWriter] = {}
    is_open = True

    # Not a coroutine: asyncio 3.11 complains about a task of its own that is cancelled.
    def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if is_open:
            connections[asyncio.create_task(_attend(handler, reader, writer))] = writer
        else:
            writer.transport.abort()

    server = await asyncio.start_server(connected, "127.0.0.1", 0, ssl=tls)
    try:
        yield server.sockets[0].getsockname()[1]
    finally:
        is_open = False
        server.close()
        for task, writer in connections.items():
            task.cancel()
            writer.close()  # here too: the task may not have begun
        await asyncio.gather(*connections, return_exceptions=True)
        await server.wait_closed()


async def _attend(
    handler: Handler, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
) -> None:
    try:
        await handler(reader, writer)
    except (OSError, asyncio.IncompleteReadError):
        pass  # the client has gone
    finally:
        writer.close()
        with suppress(OSError):
            await writer.wait_closed()


def greeting(context: ssl.SSLContext) -> Handler:
    """Says hello over TLS; if it refuses the client it says why.

    asyncio's own servers do not: they drop the alert that OpenSSL has written.
    """

    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        tls = context.wrap_bio(incoming, outgoing, server_side=True)
        while True:
            try:
                tls.do_handshake()
                tls.write(b"hello")
                break
            except ssl.SSLWantReadError:
                writer.write(outgoing.read())
                incoming.write(await reader.read(65_536))
                if reader.at_eof():
                    return
            except ssl.SSLError:
                break
        writer.write(outgoing.read())
        # Not before the client has read it: closing with unread bytes would reset the connection.
        while await reader.read(65_536):
            pass

    return handle


def answering(data: bytes) -> Handler:
    """Reads something, answers that, and closes."""

    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(65_536)
        writer.write(data)

    return handle
