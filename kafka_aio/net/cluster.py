"""The way to a node: routes requests, follows the cluster, and begins again when it is lost.

A request goes to a node by its id, to any node, to the controller, or to a coordinator. What an
answer means is the caller's business, and so is trying again: here only a request that was never
sent goes to another node, where any node will do.
"""

from __future__ import annotations

import asyncio
import logging
import random
from collections.abc import Callable, Collection, Iterable, Mapping
from functools import partial
from math import inf
from typing import Final, TypeVar

import anyio

from kafka_aio.backoff import Backoff
from kafka_aio.config import ClientConfig
from kafka_aio.errors import KafkaConnectionError, KafkaError, KafkaTimeoutError, StateError
from kafka_aio.metadata import Endpoint, Leader, Metadata
from kafka_aio.net import clock
from kafka_aio.net.clock import seconds
from kafka_aio.net.connection import Connection
from kafka_aio.net.coordinators import Coordinator, Coordinators
from kafka_aio.net.dial import Dialer
from kafka_aio.net.limits import Limits, Traffic
from kafka_aio.net.links import GENERAL, Channel, Links
from kafka_aio.net.refresher import Refresher
from kafka_aio.net.reply import Done
from kafka_aio.net.tasks import Stage, Tasks
from kafka_aio.net.tokens import Tokens
from kafka_aio.nodes import Nodes
from kafka_aio.observability.registry import Registry
from kafka_aio.protocol.schema import Request, schema_of
from kafka_aio.types import TopicPartition

R = TypeVar("R")

_LEAST_PAUSE: Final = 0.01

_GRACE: Final = 0.1
"""So much longer than one dial may `start` take, so that it can say how the dial ended."""

logger = logging.getLogger(__name__)


class Cluster:
    """Brokers, as one client sees them. Made on the loop that it is used on.

    Attributes:
        metadata: The cluster as last seen.
        registry: What is counted.
    """

    def __init__(
        self,
        config: ClientConfig,
        tasks: Tasks,
        *,
        max_in_flight: int = 100,
        registry: Registry | None = None,
        rng: random.Random | None = None,
    ) -> None:
        """Prepare; nothing is dialled before `start`.

        Args:
            config: The client's.
            tasks: Its tasks, started. Closing them closes the cluster.
            max_in_flight: How many requests a connection may have that are not answered.
            registry: Where to count.
            rng: Where jitter and nonces come from; one that can be foreseen is for tests alone.
        """
        rng = rng or clock.rng()
        self._is_started = False
        self._config = config
        self._tasks = tasks
        self._rng = rng
        self._loop = asyncio.get_running_loop()
        self._request_timeout = config.request_timeout_ms / 1000
        retry = _backoff(config.retry_backoff_ms, config.retry_backoff_max_ms)
        setup = _backoff(
            config.socket_connection_setup_timeout_ms,
            config.socket_connection_setup_timeout_max_ms,
        )
        self._setup_timeout = setup.delay(0, jitter=0)
        self.metadata = Metadata(
            max_age=config.metadata_max_age_ms / 1000,
            backoff=retry,
            topic_idle=getattr(config, "metadata_max_idle_ms", inf) / 1000,
            rebootstrap_after=_rebootstrap_after(config),
            create_topics=getattr(config, "allow_auto_create_topics", config.client == "producer"),
        )
        self._nodes: Nodes[KafkaError] = Nodes(
            reconnect=_backoff(config.reconnect_backoff_ms, config.reconnect_backoff_max_ms),
            setup_timeout=setup,
            longest_throttle=self._request_timeout,
        )
        limits = Limits(
            client_id=config.client_id or None,
            max_in_flight=max_in_flight,
            frame_timeout=self._request_timeout,
            receive_max_bytes=config.receive_max_bytes,
        )
        traffic = Traffic()
        self._tokens = Tokens(config, rng=rng) if _needs_tokens(config) else None
        self._dialer = Dialer(config, limits, traffic, tokens=self._tokens, rng=rng)
        idle_ms = config.connections_max_idle_ms
        self._links = Links(
            tasks,
            self._dialer,
            self.metadata,
            self._nodes,
            max_idle=inf if idle_ms < 0 else idle_ms / 1000,
            rng=rng,
        )
        self._refresher = Refresher(
            tasks,
            self._links,
            self._bootstrap_addresses,
            may_rebootstrap=config.metadata_recovery_strategy == "rebootstrap",
            request_timeout=self._request_timeout,
            rng=rng,
        )
        self._coordinators = Coordinators(self._ask_any, self.metadata, retry, rng)
        self.registry = registry or Registry()
        self._latency = self.registry.histogram(
            "request_latency_seconds", "From the call to the answer, whatever the API."
        )
        _register(self.registry, traffic, self._links)

    def __repr__(self) -> str:
        return f"<Cluster {self.metadata.cluster_id}: {self._links!r}>"

    async def start(self, *, timeout: float | None = None) -> None:
        """Reach a bootstrap server and learn of the cluster.

        Args:
            timeout: Seconds for all attempts; those of one set-up and 0.1 more if not given.

        Raises:
            StateError: It was started before.
            AuthenticationError: A server does not accept who we are, or we not who it is.
            ProtocolError: None of the servers is a broker that we can speak with.
            ConfigError: A key or trust store cannot be read.
            KafkaConnectionError: None could be reached; names every address, and why.
        """
        if self._is_started:
            raise StateError("the cluster was started before")
        self._is_started = True
        for note in self._config.notes:
            logger.warning("%s", note)
        timeout = seconds(timeout, self._setup_timeout + _GRACE)
        deadline = self._loop.time() + timeout
        try:
            async with asyncio.timeout_at(deadline):
                addresses = await self._bootstrap_addresses()
        except KafkaError:
            raise
        except TimeoutError:
            text = f"the names of the bootstrap servers were not resolved within {timeout:.1f} s"
            raise KafkaConnectionError(text) from None
        self.metadata.bootstrap(addresses)
        self._tasks.spawn(self._refresher.run, name="metadata", stage=Stage.CLUSTER)
        if self._tokens is not None:
            keep = partial(_keep_fresh, self._tokens)
            self._tasks.spawn(keep, name="tokens", stage=Stage.CONNECTION)
        await self._refresher.wait_fresh(deadline=deadline)

    async def send(
        self,
        node: int,
        request: Request[R],
        *,
        channel: Channel = GENERAL,
        timeout: float | None = None,
        at_most: int | None = None,
    ) -> R:
        """The answer of one node, in the highest version that both speak.

        Args:
            node: Its id.
            request: What to ask.
            channel: Which connection to use.
            timeout: Seconds for everything, connecting included; request_timeout_ms if not given.
            at_most: The highest version to use.

        Raises:
            KafkaConnectionError: No connection, or it was lost; `indefinite` once it was sent.
            KafkaTimeoutError: The time is over; `indefinite` once it was sent.
            AuthenticationError: The node does not accept who we are, or we not who it is.
            UnsupportedVersion, ProtocolError: The two sides do not understand each other.
            StateError: The client is closed, or belongs to another loop.
        """
        self._check()
        began_at = self._loop.time()
        deadline = began_at + seconds(timeout, self._request_timeout)
        try:
            connection = self._links.get_nowait(node, channel) or await self._connect(
                node, channel, deadline
            )
            response = await connection.send(request, deadline=deadline, at_most=at_most)
        except (KafkaConnectionError, KafkaTimeoutError):
            self.request_refresh()
            raise
        self._answered(node, connection, began_at)
        return response

    def can_send(self, node: int) -> bool:
        """Whether `send_nowait` would write a request to a node at once."""
        connection = self._links.get_nowait(node, GENERAL)
        return connection is not None and connection.can_send

    def why_not(self, node: int) -> str:
        """Why it would not."""
        connection = self._links.get_nowait(node, GENERAL)
        return f"node {node} is not connected" if connection is None else connection.why_not()

    def send_nowait(
        self,
        node: int,
        request: Request[R],
        done: Done[R] | None,
        *,
        at_most: int | None = None,
    ) -> None:
        """Send a node a request in this very step; only while `can_send`.

        Args:
            node: Its id.
            request: What to ask.
            done: Is called in the step in which the answer comes; None for a Produce with acks=0,
                which has none.
            at_most: The highest version to use.

        Raises:
            KafkaConnectionError: It cannot be sent now.
            UnsupportedVersion: As `send`.
        """
        connection = self._links.get_nowait(node, GENERAL)
        if connection is None:
            raise KafkaConnectionError(f"node {node} is not connected")
        deadline = self._loop.time() + self._request_timeout
        seen = None if done is None else partial(self._seen, node, connection, deadline, done)
        connection.send_nowait(request, seen, deadline=deadline, at_most=at_most)

    def _seen(
        self,
        node: int,
        connection: Connection,
        deadline: float,
        done: Done[R],
        response: R | None,
        error: KafkaError | None,
    ) -> None:
        if error is None:
            self._answered(node, connection, deadline - self._request_timeout)
        elif isinstance(error, KafkaConnectionError | KafkaTimeoutError):
            self.request_refresh()
        done(response, error)

    def _answered(self, node: int, connection: Connection, began_at: float) -> None:
        now = self._loop.time()
        self._latency.observe(now - began_at)
        if connection.throttled_until > now:
            self._nodes.throttled(node, connection.throttled_until - now, now=now)

    def is_connected(self, node: int) -> bool:
        """Whether a request can be sent to a node without dialling it first."""
        return self._links.get_nowait(node, GENERAL) is not None

    def request_refresh(self) -> None:
        """What is known of the cluster has proved wrong: look again soon."""
        self.metadata.request_refresh()
        self._refresher.wake()

    def close_channel(self, channel: Channel) -> None:
        """Close the connections of a channel that nobody uses any more."""
        self._links.close_channel(channel)

    def when_updated(self, callback: Callable[[], None]) -> None:
        """Have it called whenever something is learnt of the cluster: leaders may be others."""
        self._refresher.updated = callback

    def when_free(self, callback: Callable[[], None]) -> None:
        """Have it called whenever `can_send` may have become true, or a connection has ended."""
        self._links.when_free = callback

    async def send_any(
        self, request: Request[R], *, timeout: float | None = None, at_most: int | None = None
    ) -> R:
        """The answer of the node that has the least to do.

        A request that could not be sent to one node goes to the next.

        Raises:
            KafkaError: As `send`.
        """
        self._check()
        deadline = self._loop.time() + seconds(timeout, self._request_timeout)
        while True:
            node = await self._any_node(request, deadline)
            left = deadline - self._loop.time()
            try:
                return await self.send(node, request, timeout=left, at_most=at_most)
            except KafkaConnectionError as error:
                if error.indefinite or self._loop.time() >= deadline:
                    raise

    async def send_to_controller(self, request: Request[R], *, timeout: float | None = None) -> R:
        """The answer of the node that Metadata calls the controller; any, if it names none.

        A KRaft cluster names one broker or another, which passes the request on.

        Raises:
            KafkaError: As `send`.
        """
        controller = self.metadata.controller_id
        if controller is None or self.metadata.node(controller) is None:
            return await self.send_any(request, timeout=timeout)
        return await self.send(controller, request, timeout=timeout)

    async def send_to_coordinator(
        self,
        coordinator: Coordinator,
        request: Request[R],
        *,
        channel: Channel | None = None,
        timeout: float | None = None,
        at_most: int | None = None,
    ) -> R:
        """The answer of a coordinator, which is found first, on a connection of its own.

        Call `coordinator_moved` if the answer says that it is not the one any more.

        Args:
            coordinator: Whose.
            request: What to ask.
            channel: Another connection than its own: not to wait behind a join, for one.
            timeout: As for `send`.
            at_most: The highest version to use.

        Raises:
            BrokerError: The cluster does not tell us who it is.
            KafkaError: As `send`.
        """
        self._check()
        deadline = self._loop.time() + seconds(timeout, self._request_timeout)
        node = await self._coordinators.find(coordinator, deadline=deadline)
        kind = f"{coordinator.kind.name.lower()} coordinator"
        channel = channel or Channel(kind, coordinator.key)
        left = deadline - self._loop.time()
        try:
            return await self.send(node, request, channel=channel, timeout=left, at_most=at_most)
        except (KafkaConnectionError, KafkaTimeoutError):
            self._coordinators.moved(coordinator, node)
            raise

    async def find_coordinator(
        self, coordinator: Coordinator, *, timeout: float | None = None
    ) -> int:
        """The node of a coordinator, for requests that need no connection of its own.

        Raises:
            BrokerError: The cluster does not tell us who it is.
            KafkaError: As `send`.
        """
        self._check()
        deadline = self._loop.time() + seconds(timeout, self._request_timeout)
        return await self._coordinators.find(coordinator, deadline=deadline)

    def coordinator_of(self, coordinator: Coordinator) -> int | None:
        """The node of a coordinator, if it has been found."""
        return self._coordinators.known(coordinator)

    def coordinator_moved(self, coordinator: Coordinator) -> None:
        """Look for it anew before the next request."""
        node = self._coordinators.known(coordinator)
        if node is not None:
            self._coordinators.moved(coordinator, node)

    def hint(
        self, leaders: Mapping[TopicPartition, Leader], endpoints: Iterable[Endpoint]
    ) -> tuple[TopicPartition, ...]:
        """Take new leaders, with their addresses, from the answer to a request (KIP-951).

        Returns:
            The partitions that have a new leader: what goes to them need not wait.
        """
        update = self.metadata.hint(leaders, endpoints)
        self._nodes.forgotten(update.moved_nodes)
        return update.new_leaders

    async def connection(
        self, node: int, channel: Channel = GENERAL, *, timeout: float | None = None
    ) -> Connection:
        """The connection to a node, dialled if need be: for what is to be learnt from it alone.

        Raises:
            KafkaError: As `send`.
        """
        self._check()
        deadline = self._loop.time() + seconds(timeout, self._request_timeout)
        return await self._connect(node, channel, deadline)

    async def refresh(self, topics: Collection[str] = (), *, timeout: float | None = None) -> None:
        """Fetch the metadata now, and keep to these topics from now on as well.

        Raises:
            KafkaError: As `start`.
        """
        self._check()
        now = self._loop.time()
        self.metadata.want(topics, now=now)
        deadline = now + seconds(timeout, self._request_timeout)
        await self._refresher.wait_fresh(deadline=deadline)

    def _check(self) -> None:
        self._tasks.check_open()  # work may send something on its way out
        if not self._is_started:
            raise StateError("the cluster was not started: await start()")

    async def _connect(self, node: int, channel: Channel, deadline: float) -> Connection:
        if self.metadata.node(node) is None:
            # It may be back, or be known again once we have begun again from the bootstrap servers.
            await self._refresher.wait_fresh(deadline=deadline)
        return await self._links.get(node, channel, deadline=deadline)

    async def _any_node(self, request: Request[R], deadline: float) -> int:
        """The node to ask; waits while all of them rest."""
        while True:
            choice = self._links.least_loaded(list(self.metadata.nodes))
            if choice.node is not None:
                return choice.node
            if self._loop.time() >= deadline:
                api = schema_of(type(request)).api
                raise KafkaTimeoutError(f"{api}: no node can be asked; {self._refresher.reasons()}")
            await self._tasks.sleep(until=min(choice.wait_until, deadline))

    async def _ask_any(self, request: Request[R], timeout: float) -> R:
        return await self.send_any(request, timeout=timeout)

    async def _bootstrap_addresses(self) -> list[tuple[str, int]]:
        addresses = self._config.bootstrap_addresses
        if self._config.client_dns_lookup == "use_all_dns_ips":
            return addresses
        found: list[tuple[str, int]] = []
        problems: list[str] = []
        for host, port in addresses:
            try:
                found += [(name, port) for name in await self._dialer.canonical_names(host, port)]
            except KafkaConnectionError as error:
                problems.append(str(error))
        if not found:
            raise KafkaConnectionError("; ".join(problems))
        return found


def _backoff(first_ms: int, longest_ms: int) -> Backoff:
    """Never no pause at all: a cluster that is down would be dialled in a hot loop."""
    least_ms = _LEAST_PAUSE * 1000
    return Backoff(max(first_ms, least_ms) / 1000, max(longest_ms, least_ms) / 1000)


def _rebootstrap_after(config: ClientConfig) -> float:
    if config.metadata_recovery_strategy == "none":
        return inf
    return config.metadata_recovery_rebootstrap_trigger_ms / 1000


def _needs_tokens(config: ClientConfig) -> bool:
    is_sasl = config.security_protocol.startswith("SASL")
    return is_sasl and config.sasl_mechanism == "OAUTHBEARER"


async def _keep_fresh(tokens: Tokens) -> None:
    try:
        await tokens.keep_fresh()
    finally:
        with anyio.CancelScope(shield=True):
            await tokens.aclose()


def _register(registry: Registry, traffic: Traffic, links: Links) -> None:
    """What the connections count is read when somebody looks."""
    counted: dict[str, tuple[str, Callable[[], float]]] = {
        "requests": ("Requests sent.", lambda: traffic.requests),
        "answers": ("Answers received.", lambda: traffic.answers),
        "answers_dropped": ("Answers to cancelled requests.", lambda: traffic.dropped),
        "bytes_out": ("Bytes of requests.", lambda: traffic.bytes_out),
        "bytes_in": ("Bytes received.", lambda: traffic.bytes_in),
        "throttled_seconds": ("Time that brokers asked us to pause.", lambda: traffic.throttled),
        "connections_opened": ("Connections that became ready.", lambda: links.opened),
        "connections_failed": ("Dials without success.", lambda: links.failed),
    }
    for name, (text, read) in counted.items():
        registry.counter(name, text, read=read)
    registry.gauge("connections", "Connections that are ready.", read=lambda: len(links))
