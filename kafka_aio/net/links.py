"""The connections of a client: one for each node and channel, made when first wanted.

A broker serves one request of a connection at a time, so what may take long has a connection of
its own. `GENERAL` is for everything that is answered at once, `FETCH` for Fetch alone, and each
group or transactional id has one to its coordinator: Metadata never waits behind a Fetch, and no
heartbeat behind the join of another group.

Each connection lives in a task: it dials, authenticates anew in time, and closes what nobody uses.
"""

from __future__ import annotations

import asyncio
import logging
import random
from collections.abc import Callable, Sequence
from functools import partial
from math import inf
from typing import Final, NamedTuple, TypeAlias

import anyio

from kafka_aio.errors import (
    AuthenticationError,
    KafkaConnectionError,
    KafkaError,
    KafkaTimeoutError,
    fresh,
)
from kafka_aio.metadata import Metadata
from kafka_aio.net.connection import Connection, address_text
from kafka_aio.net.dial import Dialer
from kafka_aio.net.tasks import Stage, Tasks
from kafka_aio.nodes import Choice, Nodes

logger = logging.getLogger(__name__)


class Channel(NamedTuple):
    """Which of a node's connections."""

    kind: str
    key: str = ""
    """The group or the transactional id, where it is a coordinator's."""

    def __str__(self) -> str:
        return f"{self.kind} {self.key}" if self.key else self.kind


GENERAL: Final = Channel("general")
FETCH: Final = Channel("fetch")

_Place: TypeAlias = tuple[int, Channel]


class Link:
    """One connection, from the first wish for it to its end."""

    __slots__ = ("connection", "ready")

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self.connection: Connection | None = None
        self.ready: asyncio.Future[Connection] = loop.create_future()

    def fail(self, error: KafkaError) -> None:
        if not self.ready.done():
            self.ready.set_exception(error)
            self.ready.exception()  # nobody may be waiting any more


class Links:
    """All connections of a client, by node and channel.

    Attributes:
        metadata: Where the nodes are.
        nodes: Which of them may be dialled.
        when_free: Is called whenever one may take a request at once, or has ended.
        opened: How many connections became ready.
        failed: How many dials did not succeed.
    """

    def __init__(
        self,
        tasks: Tasks,
        dialer: Dialer,
        metadata: Metadata,
        nodes: Nodes[KafkaError],
        *,
        max_idle: float,
        rng: random.Random,
    ) -> None:
        self.when_free: Callable[[], None] | None = None
        self.opened = 0
        self.failed = 0
        self._tasks = tasks
        self._dialer = dialer
        self.metadata = metadata
        self.nodes = nodes
        self._max_idle = max_idle
        self._rng = rng
        self._loop = asyncio.get_running_loop()
        self._links: dict[_Place, Link] = {}

    def __repr__(self) -> str:
        return f"<Links: {len(self)} of {len(self._links)} connected>"

    def __len__(self) -> int:
        """How many are ready."""
        return sum(self.get_nowait(*place) is not None for place in self._links)

    def get_nowait(self, node: int, channel: Channel) -> Connection | None:
        """The connection, if there is one that is ready."""
        link = self._links.get((node, channel))
        if link is None or link.connection is None or not link.connection.is_open:
            return None
        return None if self._has_moved(node, link.connection) else link.connection

    async def get(self, node: int, channel: Channel, *, deadline: float) -> Connection:
        """The connection, dialled if need be, after the rest that the node needs.

        Raises:
            KafkaTimeoutError: It is not ready in time. It will be, perhaps, for another call.
            KafkaError: It could not be made; as `Dialer.dial`.
        """
        if connection := self.get_nowait(node, channel):
            return connection
        place = (node, channel)
        link = self._links.get(place)
        if link is None or link.connection is not None:
            # One to an old address is closed when it is idle; it may have answers to bring.
            self.close_idle(node)
            link = self._links[place] = Link(self._loop)
            name = f"{channel} connection to node {node}"
            self._tasks.spawn(partial(self._live, place, link), name=name, stage=Stage.CONNECTION)
        try:
            return await self._tasks.wait(asyncio.shield(link.ready), until=deadline)
        except KafkaError as error:
            raise fresh(error) from error.__cause__
        except TimeoutError:
            raise KafkaTimeoutError(self._late(node)) from None

    def least_loaded(self, candidates: Sequence[int]) -> Choice:
        """The node among these that is best asked what any can answer, or when to look again."""
        in_flight = {
            node: link.connection.in_flight
            for (node, channel), link in self._links.items()
            if channel == GENERAL and link.connection is not None and link.connection.is_open
        }
        if not candidates:
            return Choice(None, inf)
        return self.nodes.least_loaded(
            candidates,
            in_flight=in_flight,
            connected=in_flight.keys(),
            now=self._loop.time(),
            start=self._rng.randrange(len(candidates)),
        )

    def close_idle(self, node: int) -> None:
        """Close what is not in use of the connections to a node that left, or moved."""
        for (each, _), link in self._links.items():
            connection = link.connection
            if each != node or connection is None or connection.in_flight:
                continue
            if self.metadata.node(node) is None or self._has_moved(node, connection):
                connection.close()

    def close_channel(self, channel: Channel) -> None:
        """Close the connections of a channel that nobody uses any more."""
        for (_, each), link in self._links.items():
            if each == channel and link.connection is not None:
                link.connection.close()

    def _has_moved(self, node: int, connection: Connection) -> bool:
        known = self.metadata.node(node)
        return known is not None and (known.host, known.port) != (connection.host, connection.port)

    async def _live(self, place: _Place, link: Link) -> None:
        try:
            link.connection = await self._dial(place[0], link)
            if link.connection is not None:
                if self.when_free is not None:
                    link.connection.when_free(self.when_free)
                link.ready.set_result(link.connection)
                await self._keep(place[0], link.connection)
        finally:
            if self._links.get(place) is link:
                del self._links[place]
            # Who still waits is told by the supervisor, which knows the cause.
            if link.connection is not None:
                with anyio.CancelScope(shield=True):
                    await link.connection.aclose()

    async def _dial(self, node: int, link: Link) -> Connection | None:
        """A connection; None if there is none, and whoever waits was told why."""
        while (connection := await self._dial_once(node, link)) is not None:
            if not self._has_moved(node, connection):
                break
            connection.close()  # it has moved while it was dialled
        return connection

    async def _dial_once(self, node: int, link: Link) -> Connection | None:
        await self._rest(node)
        known = self.metadata.node(node)
        if known is None:
            link.fail(KafkaConnectionError(f"node {node} is not in the cluster any more"))
            return None
        self.nodes.dialling(node, now=self._loop.time())
        try:
            connection = await self._dialer.dial(
                known.host, known.port, timeout=self.nodes.setup_timeout(node)
            )
        except KafkaError as error:
            self.failed += 1
            tell = self.nodes.failed
            if isinstance(error, AuthenticationError):
                tell = self.nodes.authentication_failed
            tell(node, error, now=self._loop.time(), jitter=self._jitter())
            logger.info("no connection: %s", error)
            link.fail(error)
            return None
        except asyncio.CancelledError:
            self.nodes.abandoned(node)
            raise
        self.nodes.connected(node)
        self.opened += 1
        return connection

    async def _rest(self, node: int) -> None:
        # More than once: another connection may have failed meanwhile.
        while (rest := self.nodes.dial_at(node) - self._loop.time()) > 0:  # noqa: ASYNC110 - time
            await asyncio.sleep(rest)

    async def _keep(self, node: int, connection: Connection) -> None:
        """Stay with a connection until it ends or is idle for too long."""
        while True:
            now = self._loop.time()
            idle_at = min(connection.idle_since, now) + self._max_idle
            if await connection.wait_closed(until=min(connection.renew_at, idle_at)):
                break
            now = self._loop.time()
            if connection.renew_at <= now and not await self._renew(connection):
                break
            if connection.idle_since + self._max_idle <= now and connection.in_flight == 0:
                logger.info("closed an idle connection to %s", connection.peer)
                return
        error = connection.error
        if error is not None and not connection.was_closed_by_us:
            logger.info("connection lost: %s", error)
            self.nodes.disconnected(node, error, now=self._loop.time(), jitter=self._jitter())

    async def _renew(self, connection: Connection) -> bool:
        try:
            await self._dialer.renew(connection)
        except KafkaError as error:
            logger.warning("re-authentication failed: %s", error)
            return False
        return True

    def _late(self, node: int) -> str:
        known = self.metadata.node(node)
        where = f"node {node}" + (f" ({address_text(known.host, known.port)})" if known else "")
        error = self.nodes.error_of(node)
        return f"{where}: not connected in time" + (f"; the last attempt: {error}" if error else "")

    def _jitter(self) -> float:
        return self._rng.uniform(-1, 1)
