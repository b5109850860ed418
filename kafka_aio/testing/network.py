"""The network in memory: who listens, who is connected, and what is wrong with it.

All chance comes from the loop's one source of random numbers, in the order of events, so that a
seed gives the same network each time.
"""

from __future__ import annotations

import asyncio
import errno
import os
import random
from collections.abc import Callable, Iterable, Mapping
from math import inf
from typing import TYPE_CHECKING, Final, NamedTuple
from zlib import crc32

from kafka_aio.testing.faults import BlackHole, Cut, Fault, Refusal, Side, Slowness, Where
from kafka_aio.testing.link import Link
from kafka_aio.testing.names import AddressInfo, Names, SocketAddress, sockaddr, wildcard
from kafka_aio.testing.server import VirtualServer
from kafka_aio.testing.transport import VirtualTransport

if TYPE_CHECKING:
    from kafka_aio.testing.loop import VirtualLoop

CONNECT_SECONDS: Final = 127.0
"""How long a connection is tried for that nobody answers: what Linux does by default."""
_FIRST_SERVER_PORT: Final = 30_000
_FIRST_CLIENT_PORT: Final = 50_000
_LAST_PORT: Final = 65_535


class Traced(NamedTuple):
    """Something that has happened on the network."""

    time: float
    event: str
    link: int
    """The number of the connection; 0 if it is about none."""
    detail: str
    """For bytes: the end that they go to, how many, and their CRC-32."""


class Network:
    """Connections between the tasks of one loop.

    Attributes:
        latency: Each thing that is sent takes a time between these two, in seconds.
        chunk: What is read at a time is at most as much as a number between these two, small ones
            as likely as large ones; None for all that is there.
        window: How many bytes may be on their way, or have arrived and not been read, in each
            direction of a connection. More than that stay in the writer's buffer.
    """

    def __init__(
        self, loop: VirtualLoop, hosts: Mapping[str, Iterable[str]], trace: list[Traced] | None
    ) -> None:
        self.loop = loop
        self.rng: random.Random = loop.rng
        self.latency: tuple[float, float] = (0.000_1, 0.001)
        self.chunk: tuple[int, int] | None = (1, 65_536)
        self.window = 65_536
        self.names = Names(hosts)
        self._trace = trace
        self._servers: dict[tuple[str, int], VirtualServer] = {}
        self._links: dict[int, Link] = {}
        self._faults: list[Fault] = []
        self._count = 0
        self._server_port = _FIRST_SERVER_PORT
        self._client_port = _FIRST_CLIENT_PORT

    def __repr__(self) -> str:
        return f"<Network: {len(self._servers)} listening, {self.connections}, {self._faults}>"

    @property
    def connections(self) -> list[Link]:
        """Those that are open, in the order in which they were asked for."""
        return [link for link in self._links.values() if link.is_open]

    # Faults.

    def cut(self, where: Where = None, *, reset: bool = True) -> None:
        """Break the connections that are open now. What is under way is lost.

        Args:
            where: Which: a port, an address, both, a function that says it, or all.
            reset: Whether the ends see a reset, or an end of file.
        """
        chosen = Fault(self, where)
        for link in self.connections:
            if chosen.concerns(link):
                link.cut(reset=reset)

    def cut_after(
        self,
        size: int | tuple[int, int],
        where: Where = None,
        *,
        to: Side | None = None,
        reset: bool = True,
        times: float = inf,
    ) -> Cut:
        """Break each connection, open or new, after so many bytes; the last one still arrives.

        Args:
            size: How many bytes; of a pair, a number between the two for each connection.
            where: Which connections, as in `cut`.
            to: Count what arrives at this end alone.
            reset: Whether the ends see a reset, or an end of file.
            times: How many connections to break.
        """
        after = (size, size) if isinstance(size, int) else size
        fault = Cut(self, where, after, to, reset, times)
        self._faults.append(fault)
        for link in self.connections:
            if fault.left and fault.concerns(link):
                link.arm(fault)
        return fault

    def refuse(self, where: Where = None) -> Fault:
        """Let nobody connect. What is connected stays so."""
        return self._suffer(Refusal(self, where))

    def black_hole(self, where: Where = None) -> Fault:
        """Let nothing arrive, in neither direction: a broken cable. When healed, all arrives."""
        return self._suffer(BlackHole(self, where))

    def slow(self, latency: tuple[float, float], where: Where = None) -> Fault:
        """Let what is sent take another time than elsewhere."""
        return self._suffer(Slowness(self, where, latency))

    def heal(self, fault: Fault | None = None) -> None:
        """Let all be well again, or end one fault."""
        for each in [fault] if fault is not None else [*self._faults]:
            if each in self._faults:
                self._faults.remove(each)
                for link in self._links.values():
                    link.disarm(each)
        self._apply()

    def _suffer(self, fault: Fault) -> Fault:
        self._faults.append(fault)
        self._apply()
        return fault

    def _apply(self) -> None:
        for link in [*self._links.values()]:
            self._apply_to(link)

    def _apply_to(self, link: Link) -> None:
        mine = [fault for fault in self._faults if fault.concerns(link)]
        slow = [fault.latency for fault in mine if isinstance(fault, Slowness)]
        link.suffer(
            is_stalled=any(isinstance(fault, BlackHole) for fault in mine),
            latency=slow[-1] if slow else None,
        )

    # What the loop calls.

    def listen(
        self,
        factory: Callable[[], asyncio.BaseProtocol],
        addresses: list[str],
        port: int,
    ) -> VirtualServer:
        """Bind a server; it does not listen before it is started.

        Raises:
            OSError: Somebody listens there.
        """
        port = port or self._free_port(addresses)
        names = [sockaddr(each, port) for each in addresses]
        for name in names:
            if name[:2] in self._servers:
                code = errno.EADDRINUSE
                reason = os.strerror(code).lower()
                raise OSError(code, f"error while attempting to bind on address {name!r}: {reason}")
        server = VirtualServer(self, factory, names)
        self._servers.update(dict.fromkeys([(each, port) for each in addresses], server))
        self.note("listens", None, detail=f"{','.join(addresses)}:{port}")
        return server

    def unbind(self, names: list[SocketAddress]) -> None:
        for name in names:
            del self._servers[name[0], name[1]]

    async def connect(
        self,
        factory: Callable[[], asyncio.BaseProtocol],
        info: AddressInfo,
        local: tuple[str, int] | None = None,
    ) -> tuple[asyncio.Transport, asyncio.BaseProtocol]:
        """Make a connection.

        Raises:
            ConnectionRefusedError: Nobody listens there.
            TimeoutError: Nobody answers.
        """
        name = info[4]
        link = self._new_link(name, local)
        try:
            try:
                async with asyncio.timeout(CONNECT_SECONDS):
                    await self._shake_hands(link, name)
            except TimeoutError:
                raise _connect_error(errno.ETIMEDOUT, name) from None
            transport = self.end_of(link, "client", protocol := factory())
        except BaseException:
            self._give_up(link)
            raise
        try:
            await transport.start()
        except BaseException:
            transport.close()
            raise
        return transport, protocol

    def end_of(
        self,
        link: Link,
        side: Side,
        protocol: asyncio.BaseProtocol,
        server: VirtualServer | None = None,
    ) -> VirtualTransport:
        """The transport of one end."""
        client, peer = sockaddr(*link.client), sockaddr(*link.server)
        if side == "client":
            pipes, names = (link.to_client, link.to_server), (client, peer)
        else:
            pipes, names = (link.to_server, link.to_client), (peer, client)
        return VirtualTransport(self, protocol, pipes, names, server)

    def close(self) -> None:
        """The loop is closed: hold on to nothing."""
        self._links.clear()
        self._servers.clear()

    def forget(self, link: Link) -> None:
        """Both ends of it are gone."""
        self._links.pop(link.number, None)

    def used(self, fault: Cut) -> None:
        """A connection was broken by it."""
        fault.left -= 1
        if fault.left <= 0:
            self.heal(fault)

    def chunk_size(self, limit: int) -> int:
        """How many bytes to read now."""
        if self.chunk is None:
            return limit
        low, high = self.chunk
        return min(limit, max(1, int(low * (high / low) ** self.rng.random())))

    def note(
        self,
        event: str,
        link: Link | None,
        to: Side | None = None,
        data: bytes | None = None,
        *,
        detail: str = "",
    ) -> None:
        """Write what happens into the trace, if there is one."""
        if self._trace is None:
            return
        if to is not None:
            detail = to if data is None else f"{to} {len(data)} {crc32(data):08x}"
        number = link.number if link is not None else 0
        self._trace.append(Traced(self.loop.time(), event, number, detail))

    # Connecting.

    def _new_link(self, name: SocketAddress, local: tuple[str, int] | None) -> Link:
        host, port = local or ("", 0)
        if not port:
            port = self._client_port
            self._client_port = port + 1 if port < _LAST_PORT else _FIRST_CLIENT_PORT
        self._count += 1
        client = (host or ("::1" if ":" in name[0] else "127.0.0.1"), port)
        link = Link(self, self._count, client, (name[0], name[1]))
        self._links[link.number] = link
        self._apply_to(link)
        self.note("connects", link, detail=str(name[:2]))
        return link

    async def _shake_hands(self, link: Link, name: SocketAddress) -> None:
        await link.travel()
        mine = [fault for fault in self._faults if fault.concerns(link)]
        server = self._server_at(link.server)
        is_refused = any(isinstance(fault, Refusal) for fault in mine)
        if server is None or not server.is_serving() or is_refused:
            await link.travel()
            self.note("refused", link)
            raise _connect_error(errno.ECONNREFUSED, name)
        server.accept_soon(link)
        await link.travel()
        self.note("connected", link)
        for fault in mine:
            if isinstance(fault, Cut) and fault.left:
                link.arm(fault)

    def _give_up(self, link: Link) -> None:
        """The client wants it no more, before it had an end of its own."""
        link.cut()
        link.closed("client")
        if link.to_server.reader is None:
            self.forget(link)

    def _server_at(self, address: tuple[str, int]) -> VirtualServer | None:
        host, port = address
        return self._servers.get(address) or self._servers.get((wildcard(host), port))

    def _free_port(self, addresses: list[str]) -> int:
        while True:
            port = self._server_port
            self._server_port = port + 1 if port < _FIRST_CLIENT_PORT - 1 else _FIRST_SERVER_PORT
            if not any((address, port) in self._servers for address in addresses):
                return port


def _connect_error(code: int, name: SocketAddress) -> OSError:
    return OSError(code, f"Connect call failed {name}")
