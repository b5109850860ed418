"""The task that keeps the metadata fresh, and begins again when the cluster is lost.

    wait until it is due -> ask the least loaded node -> tell `metadata` -> tell who waits

A node that takes long to connect or to answer is not waited for while there are others to try. When
all of them rest, or none has answered for long, the bootstrap servers are asked again (KIP-899,
KIP-1102). Where we are refused, nothing is tried until somebody asks.
"""

from __future__ import annotations

import asyncio
import logging
import random
from collections.abc import Awaitable, Callable
from typing import Final, NamedTuple

from kafka_aio.errors import (
    AuthenticationError,
    ConfigError,
    KafkaConnectionError,
    KafkaError,
    KafkaTimeoutError,
    ProtocolError,
    UnsupportedVersion,
    fresh,
)
from kafka_aio.metadata import Update
from kafka_aio.net.connection import address_text
from kafka_aio.net.links import GENERAL, Links
from kafka_aio.net.tasks import Tasks, Wakeup
from kafka_aio.protocol.messages.metadata import MetadataRequest
from kafka_aio.types import Node

HEDGE: Final = 1.0
"""After how many seconds without a connection, or without an answer, another node is tried."""

_REASONS: Final = 10  # as many nodes are named in a message; a hostile answer may have thousands
_EPOCHS_FROM: Final = 9  # the version of Metadata whose epochs can be trusted (KAFKA-9212)

logger = logging.getLogger(__name__)


class _Waiter(NamedTuple):
    """Who waits for metadata that is fetched from now on."""

    attempt: int
    """The first attempt that will do."""
    done: asyncio.Future[None]


class Refresher:
    """Fetches metadata when it is due."""

    def __init__(
        self,
        tasks: Tasks,
        links: Links,
        bootstrap: Callable[[], Awaitable[list[tuple[str, int]]]],
        *,
        may_rebootstrap: bool,
        request_timeout: float,
        rng: random.Random,
    ) -> None:
        self._tasks = tasks
        self._links = links
        self._metadata = links.metadata
        self._bootstrap = bootstrap
        self._may_rebootstrap = may_rebootstrap
        self._request_timeout = request_timeout
        self._rng = rng
        self._loop = asyncio.get_running_loop()
        self._wakeup = Wakeup()
        self.updated: Callable[[], None] = lambda: None
        """Is called after each answer that was taken."""
        self._attempts = 0
        self._waiters: list[_Waiter] = []
        self._passed_over: set[int] = set()  # slow, or of no use: the others come first
        self._is_patient = False  # all were slow: this time they are waited for
        self._is_refused = False
        self._refusals: dict[int, KafkaError] = {}  # why a node that was asked was of no use

    def __repr__(self) -> str:
        return f"<Refresher: {self._attempts} attempts, {len(self._waiters)} waiting>"

    def wake(self) -> None:
        """What is wanted of the metadata has changed, or somebody asks for it."""
        self._is_refused = False
        self._wakeup.set()

    async def wait_fresh(self, *, deadline: float) -> None:
        """Wait for metadata that is asked for after this call.

        Raises:
            AuthenticationError, ConfigError: There will be none: no node lets us in.
            ProtocolError: None of the addresses is that of a broker we can speak with.
            KafkaConnectionError: There is none in time; names every address and why.
        """
        waiter = _Waiter(self._attempts + 1, self._loop.create_future())
        self._waiters.append(waiter)
        self._metadata.request_refresh()
        self.wake()
        try:
            await self._tasks.wait(waiter.done, until=deadline)
        except KafkaError:
            raise
        except TimeoutError:
            raise KafkaConnectionError(self.reasons()) from None
        finally:
            if waiter in self._waiters:
                self._waiters.remove(waiter)

    async def run(self) -> None:
        """The task: for ever."""
        while True:
            now = self._loop.time()
            if self._is_refused:
                await self._wakeup.wait()
            elif self._metadata.refresh_at > now:
                await self._wakeup.wait(until=self._metadata.refresh_at)
            elif self._metadata.rebootstrap_due(now=now):
                await self._begin_again()
            else:
                await self._attempt()

    async def _attempt(self) -> None:
        candidates = [node for node in self._metadata.nodes if node not in self._passed_over]
        if not candidates:
            self._passed_over.clear()
            self._is_patient = True
            candidates = list(self._metadata.nodes)
        choice = self._links.least_loaded(candidates)
        if choice.node is not None:
            await self._ask(choice.node)
        elif self._can_begin_again() and not self._passed_over:
            await self._begin_again()
        else:
            self._passed_over.clear()
            await self._wakeup.wait(until=choice.wait_until)

    async def _ask(self, node: int) -> None:
        now = self._loop.time()
        is_alone = len(self._metadata.nodes) == 1
        patience = self._request_timeout
        if not (is_alone or self._is_patient):
            patience = min(HEDGE, patience)
        try:
            connection = await self._links.get(node, GENERAL, deadline=now + patience)
        except KafkaTimeoutError:
            self._passed_over.add(node)
            return
        except KafkaError as error:
            self._failed(error)
            return
        self._attempts += 1
        attempt = self._attempts
        now = self._loop.time()
        request = self._metadata.request(now=now)
        try:
            # The time it took to connect is not taken from it.
            async with asyncio.timeout(patience):
                response = await connection.send(request, deadline=now + self._request_timeout)
            update = self._metadata.update(
                response,
                requested=_names(request),
                now=self._loop.time(),
                jitter=self._jitter(),
                reliable_epochs=connection.versions.supports(MetadataRequest, _EPOCHS_FROM),
            )
        except KafkaError as error:
            logger.info("no metadata: %s", error)
            self._refusals[node] = error
            if connection.is_open:  # it would be chosen again; one that is lost has its rest
                self._passed_over.add(node)
            self._failed(error)
            return
        except TimeoutError:  # only slow: its answer is dropped, and another node is asked
            self._passed_over.add(node)
            self._refusals[node] = KafkaTimeoutError("connected, but no answer to Metadata yet")
            return
        self._passed_over.clear()
        self._refusals.clear()
        self._is_patient = False
        if update.rebootstrap:
            await self._begin_again()
        else:
            self._succeeded(attempt, update)

    def _succeeded(self, attempt: int, update: Update) -> None:
        if refused := update.refused_nodes:
            logger.warning("%d brokers were left out; the first: %s", len(refused), refused[0])
        moved = [*update.gone_nodes, *update.moved_nodes]
        for node in moved:
            self._links.close_idle(node)
        self._links.nodes.forgotten(moved)
        for waiter in list(self._waiters):
            if waiter.attempt <= attempt and not waiter.done.done():
                waiter.done.set_result(None)
        self.updated()

    def _failed(self, error: KafkaError) -> None:
        self._metadata.failed(now=self._loop.time(), jitter=self._jitter())
        if not self._is_final(error):
            return
        self._is_refused = isinstance(error, AuthenticationError | ConfigError)
        if not self._is_refused and len(self._metadata.nodes) > 1:
            error = ProtocolError(self.reasons())  # each of them is of no use
        for waiter in self._waiters:
            if not waiter.done.done():
                waiter.done.set_exception(fresh(error))

    def _is_final(self, error: KafkaError) -> bool:
        """Whether there is no point in waiting: we are refused, or nobody here is a broker."""
        if isinstance(error, AuthenticationError | ConfigError):
            return True
        return all(self._is_no_broker(node) for node in self._metadata.nodes)

    def _is_no_broker(self, node: int) -> bool:
        """Whether we cannot speak with it: a wrong answer may be right next time, versions stay."""
        refusal = self._refusals.get(node)
        dialled = self._links.nodes.error_of(node)
        return isinstance(dialled, ProtocolError) or isinstance(refusal, UnsupportedVersion)

    def _can_begin_again(self) -> bool:
        """Whether it is allowed, and would change anything: bootstrap servers have ids below 0."""
        return self._may_rebootstrap and any(node >= 0 for node in self._metadata.nodes)

    async def _begin_again(self) -> None:
        """Forget the nodes that we know, and ask the bootstrap servers."""
        logger.warning("back to the bootstrap servers: %s", self.reasons())
        gone = list(self._metadata.nodes)
        try:
            addresses = await self._bootstrap()
        except KafkaError as error:
            self._failed(error)
            return
        self._refusals.clear()
        self._metadata.bootstrap(addresses)
        for node in gone:
            self._links.close_idle(node)

    def reasons(self) -> str:
        """The addresses that were tried, and why they did not do."""
        nodes = list(self._metadata.nodes.values())
        reasons = [self._reason(node) for node in nodes[:_REASONS]]
        if len(nodes) > _REASONS:
            reasons.append(f"and {len(nodes) - _REASONS:,} others")
        return f"no broker could be reached: {'; '.join(reasons)}"

    def _reason(self, node: Node) -> str:
        where = address_text(node.host, node.port)
        error = self._links.nodes.error_of(node.id) or self._refusals.get(node.id)
        text = str(error or "no answer yet")
        if self._links.nodes.throttled_until(node.id) > self._loop.time():
            text = "it asked us to pause (a quota)"
        return text if text.startswith(where) else f"{where}: {text}"

    def _jitter(self) -> float:
        return self._rng.uniform(-1, 1)


def _names(request: MetadataRequest) -> list[str] | None:
    """The topics that a request asks for; None for all."""
    if request.topics is None:
        return None
    return [topic.name for topic in request.topics if topic.name is not None]
