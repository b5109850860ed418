"""What listens on the network in memory. It behaves as asyncio's servers do, those since 3.12.1."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable
from contextvars import copy_context
from typing import TYPE_CHECKING

from kafka_aio.testing.names import SocketAddress, family_of
from kafka_aio.testing.transport import VirtualTransport

if TYPE_CHECKING:
    from kafka_aio.testing.link import Link
    from kafka_aio.testing.network import Network


class ListeningSocket:
    """What `Server.sockets` shows: an address, and nothing to do with it."""

    type = socket.SOCK_STREAM
    proto = socket.IPPROTO_TCP

    def __init__(self, name: SocketAddress) -> None:
        self.family = family_of(name[0])
        self._name = name

    def __repr__(self) -> str:
        return f"<ListeningSocket {self._name}>"

    def getsockname(self) -> SocketAddress:
        return self._name


class VirtualServer(asyncio.AbstractServer):
    """Takes connections to some addresses."""

    def __init__(
        self,
        network: Network,
        factory: Callable[[], asyncio.BaseProtocol],
        names: list[SocketAddress],
    ) -> None:
        self._network = network
        self._factory = factory
        self._names: list[SocketAddress] | None = names
        self._context = copy_context()
        self._clients: dict[VirtualTransport, None] = {}
        self._waiters: list[asyncio.Future[None]] | None = []
        self._is_serving = False
        self._forever: asyncio.Future[None] | None = None

    def __repr__(self) -> str:
        return f"<VirtualServer sockets={self.sockets!r}>"

    @property
    def sockets(self) -> tuple[ListeningSocket, ...]:
        return tuple(ListeningSocket(name) for name in self._names or ())

    def get_loop(self) -> asyncio.AbstractEventLoop:
        return self._network.loop

    def is_serving(self) -> bool:
        return self._is_serving

    def start_nowait(self) -> None:
        """Listen, from now on."""
        self._is_serving = True

    async def start_serving(self) -> None:
        if self._names is None:
            raise RuntimeError(f"server {self!r} is closed")
        self.start_nowait()
        await asyncio.sleep(0)

    async def serve_forever(self) -> None:
        if self._forever is not None:
            raise RuntimeError(f"server {self!r} is already being awaited on serve_forever()")
        await self.start_serving()
        self._forever = self._network.loop.create_future()
        try:
            await self._forever
        except asyncio.CancelledError:
            self.close()
            await self.wait_closed()
            raise
        finally:
            self._forever = None

    def close(self) -> None:
        if self._names is None:
            return
        self._network.unbind(self._names)
        self._names = None
        self._is_serving = False
        if self._forever is not None:
            self._forever.cancel()
        self._wake()

    def close_clients(self) -> None:
        for client in [*self._clients]:
            client.close()

    def abort_clients(self) -> None:
        for client in [*self._clients]:
            client.abort()

    async def wait_closed(self) -> None:
        """Wait until it is closed, and all its connections are."""
        if self._waiters is None:
            return
        waiter = self._network.loop.create_future()
        self._waiters.append(waiter)
        await waiter

    # What the network calls.

    def accept_soon(self, link: Link) -> None:
        """Take a connection, in a turn of its own and in the context of the server."""
        link.to_server.context = self._context
        self._network.loop.call_soon(self._accept, link, context=self._context)

    def detach(self, client: VirtualTransport) -> None:
        """One of its connections has ended."""
        del self._clients[client]
        self._wake()

    def _accept(self, link: Link) -> None:
        if not self._is_serving:
            link.cut()
            return
        try:
            transport = self._network.end_of(link, "server", self._factory(), self)
        except (SystemExit, KeyboardInterrupt):
            raise
        except BaseException as error:
            link.cut()
            message = "Error on transport creation for incoming connection"
            context = {"message": message, "exception": error}
            self._network.loop.call_exception_handler(context)
            return
        self._clients[transport] = None
        transport.start()

    def _wake(self) -> None:
        if self._names is None and not self._clients and self._waiters is not None:
            waiters, self._waiters = self._waiters, None
            for waiter in waiters:
                if not waiter.cancelled():
                    waiter.set_result(None)
