"""Which node each item of a call belongs to: the leader of a partition, a group's coordinator."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Generic, Protocol, TypeVar

from kafka_aio.admin import logs
from kafka_aio.errors import (
    BrokerError,
    CoordinatorNotAvailable,
    KafkaConnectionError,
    KafkaError,
    KafkaTimeoutError,
    NotCoordinator,
)
from kafka_aio.metadata import Leader
from kafka_aio.net.cluster import Cluster
from kafka_aio.net.coordinators import Coordinator, CoordinatorKind
from kafka_aio.types import TopicPartition

K = TypeVar("K")

_MOVED = (CoordinatorNotAvailable, NotCoordinator, KafkaConnectionError, KafkaTimeoutError)


@dataclass(frozen=True, slots=True)
class Found(Generic[K]):
    """Where some items belong."""

    nodes: dict[int, list[K]] = field(default_factory=dict)
    refused: dict[K, KafkaError] = field(default_factory=dict)
    """Those that belong nowhere, and why: it is of no use to look again."""
    waiting: dict[K, KafkaError] = field(default_factory=dict)
    """Those that belong to nobody at the moment, as their leader is being elected."""
    lost: dict[K, KafkaError] = field(default_factory=dict)
    """Those of which it could not be asked."""


class Route(Protocol[K]):
    """Finds nodes, before each attempt."""

    async def find(self, items: Sequence[K], seconds: float) -> Found[K]:
        """Where they belong by now.

        Raises:
            KafkaError: Nobody says it in time.
        """
        ...

    def failed(self, item: K, node: int, answer: object) -> None:
        """What a node has said of an item of its; an error may tell that it is not its any more."""
        ...


class ToLeaders:
    """Partitions, by who leads them. It is asked before each attempt, and nothing is kept."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._leaders: dict[TopicPartition, Leader] = {}

    def __repr__(self) -> str:
        return f"<ToLeaders: {len(self._leaders)} known>"

    def leader(self, partition: TopicPartition) -> Leader | None:
        """Who leads it, as last told."""
        return self._leaders.get(partition)

    async def find(self, items: Sequence[TopicPartition], seconds: float) -> Found[TopicPartition]:
        request = logs.ask_topics(item.topic for item in items)
        told = logs.Leaders(await self._cluster.send_any(request, timeout=seconds))
        found: Found[TopicPartition] = Found()
        for item in items:
            leader = told.of(item)
            if isinstance(leader, Leader):
                self._leaders[item] = leader
                found.nodes.setdefault(leader.node, []).append(item)
            elif logs.is_final(leader):
                found.refused[item] = leader
            else:
                found.waiting[item] = leader
        return found

    def failed(self, item: TopicPartition, node: int, answer: object) -> None:
        pass  # it is looked up again in any case


class ToCoordinators(Generic[K]):
    """What belongs to groups, by who coordinates them."""

    def __init__(self, cluster: Cluster, group_of: Callable[[K], str]) -> None:
        self._cluster = cluster
        self._group_of = group_of

    def __repr__(self) -> str:
        return "<ToCoordinators>"

    async def find(self, items: Sequence[K], seconds: float) -> Found[K]:
        groups = list(dict.fromkeys(map(self._group_of, items)))
        looking = (self._cluster.find_coordinator(_of(group), timeout=seconds) for group in groups)
        results = await asyncio.gather(*looking, return_exceptions=True)
        nodes = dict(zip(groups, results, strict=True))
        found: Found[K] = Found()
        for item in items:
            node = nodes[self._group_of(item)]
            if isinstance(node, int):
                found.nodes.setdefault(node, []).append(item)
            elif isinstance(node, BrokerError):
                found.refused[item] = node
            elif isinstance(node, KafkaError):
                node.indefinite = False  # it was a question
                found.lost[item] = node
            else:
                raise node
        return found

    def failed(self, item: K, node: int, answer: object) -> None:
        coordinator = _of(self._group_of(item))
        if isinstance(answer, _MOVED) and self._cluster.coordinator_of(coordinator) == node:
            self._cluster.coordinator_moved(coordinator)


def _of(group: str) -> Coordinator:
    return Coordinator(CoordinatorKind.GROUP, group)
