"""The sockets of the broker: one listener for each node, and the connections to all of them."""

from __future__ import annotations

import asyncio
import errno
import os
import ssl
from contextlib import suppress
from typing import Final
from weakref import WeakSet

from kafka_aio.broker.call import Peer
from kafka_aio.broker.connection import LOGIN_SECONDS, Connection, Shared
from kafka_aio.broker.core import Core
from kafka_aio.broker.dispatch import Dispatch
from kafka_aio.broker.reservations import Reservations
from kafka_aio.broker.security.certificates import principal_of
from kafka_aio.broker.security.login import Login
from kafka_aio.errors import ConfigError


class Server:
    """Listens for the nodes of one broker. It belongs to one event loop."""

    def __init__(self, core: Core, host: str, tls: ssl.SSLContext | None) -> None:
        """Make it; `listen` opens the first socket.

        Args:
            core: Who answers.
            host: The address to listen on.
            tls: With which context, if any.
        """
        self.dispatch = Dispatch(core)
        self._state = core.state
        large = Reservations[Connection](core.state.settings.queued_max_request_bytes)
        self.shared = Shared(self.dispatch, self._meet, large)
        self._host = host
        self._tls = tls
        self._listeners: dict[int, asyncio.Server] = {}
        _servers.add(self)

    def __repr__(self) -> str:
        return f"<Server of nodes {list(self._listeners)}, {len(self.shared.open)} connections>"

    async def listen(self, node: int, port: int) -> int:
        """Let a node be reached.

        Args:
            node: Its id.
            port: Where; 0 for any free one.

        Returns:
            The port.

        Raises:
            ConfigError: The port is taken, or is not ours to take.
        """
        self.shared.listening.add(node)
        try:
            # Begun in two steps: who is cancelled in the second one knows what to close.
            listener = self._listeners[node] = await asyncio.get_running_loop().create_server(
                lambda: Connection(node, self.shared),
                self._host,
                port,
                ssl=self._tls,
                ssl_handshake_timeout=LOGIN_SECONDS if self._tls is not None else None,
                start_serving=False,
            )
            await listener.start_serving()
        except BaseException as error:
            self.shared.listening.discard(node)
            if (begun := self._listeners.pop(node, None)) is not None:
                begun.close()
            if not isinstance(error, OSError):
                raise
            why = _WHY.get(error.errno or 0, str(error))
            raise ConfigError(f"port {port} of {self._host}: {why}") from error
        found: int = listener.sockets[0].getsockname()[1]
        return found

    async def hang_up(self, node: int) -> None:
        """Let a node be reached no more: its port is closed, and so are its connections."""
        listener = self._listeners.pop(node)
        await _accept_no_more(listener)
        self.shared.listening.discard(node)
        listener.close()
        self.close_connections(node)
        await listener.wait_closed()

    def close_connections(self, node: int | None = None) -> int:
        """Close the connections to a node, or to all, at once. Returns how many they were."""
        ending = [each for each in self.shared.open if node in (None, each.node)]
        for connection in ending:
            connection.abort()
        return len(ending)

    async def aclose(self) -> None:
        """Close all, and wait until it is."""
        listeners = list(self._listeners.values())
        await _accept_no_more(*listeners)
        self.abort()
        for listener in listeners:
            await listener.wait_closed()

    def abort(self) -> None:
        """Close all."""
        self.dispatch.close()
        for listener in self._listeners.values():
            listener.close()
        self._listeners.clear()
        self.shared.listening.clear()
        self.close_connections()

    def leave_to_parent(self) -> None:
        """Let go of all sockets in a process that was forked: they are the parent's.

        While a copy of one is open here, nobody notices that the parent has closed it. The numbers
        stay taken: our own objects will close them once more.
        """
        sockets = [each for listener in self._listeners.values() for each in listener.sockets]
        sockets += [each for each in (one.socket for one in self.shared.open) if each is not None]
        null = os.open(os.devnull, os.O_RDWR)
        for each in sockets:
            os.dup2(null, each.fileno())
        os.close(null)

    def _meet(self, transport: asyncio.Transport) -> Peer:
        """Who has connected."""
        host, *_ = transport.get_extra_info("peername") or ("",)  # gone by now
        users = self._state.users
        if not users.mechanisms:
            return Peer(host, principal_of(transport.get_extra_info("peercert")))
        return Peer(
            host, login=Login(users, self._state.settings, randbytes=self._state.rng.randbytes)
        )


async def _accept_no_more(*listeners: asyncio.Server) -> None:
    """Let those in who are at the door: asyncio forgets them, sockets and all, once it is shut."""
    loop = asyncio.get_running_loop()
    for each in (each for listener in listeners for each in listener.sockets):
        with suppress(NotImplementedError):  # a loop that accepts in another way
            loop.remove_reader(each)
    for _ in range(_TURNS):
        await asyncio.sleep(0)


_TURNS: Final = 3
"""Of the loop, from a connection that is accepted to the one that is met."""

_servers: WeakSet[Server] = WeakSet()


def _leave_to_parent() -> None:
    for server in _servers:
        server.leave_to_parent()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_leave_to_parent)

_WHY: Final = {
    errno.EADDRINUSE: "it is taken; choose another one, or 0 for any that is free",
    errno.EACCES: "only root may listen there; choose one above 1023, or 0 for any that is free",
    errno.EADDRNOTAVAIL: "this machine does not have that address",
}
