"""Which node looks after a group or a transactional id: asked once, remembered until it moves."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable
from enum import IntEnum
from typing import NamedTuple, TypeAlias
from weakref import WeakValueDictionary

from kafka_aio.backoff import Backoff
from kafka_aio.errors import KafkaError, KafkaTimeoutError, ProtocolError, for_code
from kafka_aio.metadata import Metadata
from kafka_aio.protocol.messages.groups import Coordinator as Found
from kafka_aio.protocol.messages.groups import FindCoordinatorRequest, FindCoordinatorResponse


class CoordinatorKind(IntEnum):
    """What a coordinator looks after; the numbers are those of the wire."""

    GROUP = 0
    TRANSACTION = 1
    SHARE = 2


class Coordinator(NamedTuple):
    """The coordinator of one group or transactional id."""

    kind: CoordinatorKind
    key: str

    def __str__(self) -> str:
        return f"coordinator of {self.kind.name.lower()} {self.key!r}"


Ask: TypeAlias = Callable[[FindCoordinatorRequest, float], Awaitable[FindCoordinatorResponse]]
"""Sends to any node, and waits for as many seconds."""


class Coordinators:
    """Where each coordinator is, as far as we know."""

    def __init__(self, ask: Ask, metadata: Metadata, retry: Backoff, rng: random.Random) -> None:
        self._ask = ask
        self._metadata = metadata
        self._retry = retry
        self._rng = rng
        self._loop = asyncio.get_running_loop()
        self._nodes: dict[Coordinator, int] = {}
        self._looks: WeakValueDictionary[Coordinator, asyncio.Lock] = WeakValueDictionary()
        # What was answered last, while there is none: the reason that a timeout names.
        self._refusals: dict[Coordinator, KafkaError] = {}

    def __repr__(self) -> str:
        return f"<Coordinators: {len(self._nodes)} known>"

    def known(self, coordinator: Coordinator) -> int | None:
        """The id of its node, if it has been found."""
        return self._nodes.get(coordinator)

    def moved(self, coordinator: Coordinator, node: int) -> None:
        """That node is not the one any more, or is gone. One that is known since then stays."""
        if self._nodes.get(coordinator) == node:
            del self._nodes[coordinator]

    async def find(self, coordinator: Coordinator, *, deadline: float) -> int:
        """The id of its node; asked until there is one, or the time is over.

        Raises:
            BrokerError: The broker does not say, and will not: no right to the group, for one.
            KafkaTimeoutError: There is none in time.
            KafkaError: No node can be asked; as `Cluster.send_any`.
        """
        if coordinator in self._nodes:
            return self._nodes[coordinator]
        try:
            async with asyncio.timeout_at(deadline):
                # One request for all who look for it.
                async with self._looks.setdefault(coordinator, asyncio.Lock()):
                    await self._look(coordinator, deadline)
        except TimeoutError as error:
            reason = str(self._refusals.get(coordinator, error))
            last = f"; last: {reason}" if reason else ""
            raise KafkaTimeoutError(f"{coordinator}: not found in time{last}") from None
        return self._nodes[coordinator]

    async def _look(self, coordinator: Coordinator, deadline: float) -> None:
        attempt = 0
        while coordinator not in self._nodes:
            error = await self._ask_once(coordinator, deadline)
            if error is None:
                self._refusals.pop(coordinator, None)
                return
            self._refusals[coordinator] = error
            pause = self._retry.delay(attempt, jitter=self._rng.uniform(-1, 1))
            attempt += 1
            if self._loop.time() + pause >= deadline:
                raise TimeoutError
            await asyncio.sleep(pause)

    async def _ask_once(self, coordinator: Coordinator, deadline: float) -> KafkaError | None:
        """Ask once. The error, if asking again may help."""
        request = FindCoordinatorRequest(
            key_type=coordinator.kind, coordinator_keys=[coordinator.key]
        )
        response = await self._ask(request, deadline - self._loop.time())
        found = _only(response, coordinator)
        if found.error_code:
            error = for_code(found.error_code, found.error_message, where=str(coordinator))
            if not error.retriable:
                raise error
            return error
        self._metadata.learn_node(found.node_id, found.host, found.port)
        self._nodes[coordinator] = found.node_id
        return None


def _only(response: FindCoordinatorResponse, coordinator: Coordinator) -> Found:
    if len(response.coordinators) != 1 or response.coordinators[0].key != coordinator.key:
        raise ProtocolError(f"{coordinator}: FindCoordinator was answered about another key")
    return response.coordinators[0]
