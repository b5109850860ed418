"""Several scripted brokers that say they are one cluster, and our `Cluster` on them."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any

from kafka_aio.admin import Admin
from kafka_aio.config import AdminConfig
from kafka_aio.net.cluster import Cluster
from kafka_aio.net.tasks import Tasks
from kafka_aio.protocol.messages.groups import Coordinator as Found
from kafka_aio.protocol.messages.groups import FindCoordinatorRequest, FindCoordinatorResponse
from kafka_aio.protocol.messages.metadata import (
    MetadataRequest,
    MetadataResponse,
    MetadataResponseBroker,
    MetadataResponsePartition,
    MetadataResponseTopic,
)
from kafka_aio.protocol.schema import Request
from tests.net.server import HOST, Asked, Broker, Reaction

QUICK = {
    "request_timeout_ms": 2_000,
    "default_api_timeout_ms": 4_000,
    "socket_connection_setup_timeout_ms": 1_000,
    "socket_connection_setup_timeout_max_ms": 1_000,
    "reconnect_backoff_ms": 20,
    "reconnect_backoff_max_ms": 100,
    "retry_backoff_ms": 20,
    "retry_backoff_max_ms": 100,
}

AT_ONCE = 5.0
"""Seconds: less than the time-outs of `UNHURRIED`, and more than a busy machine takes."""
UNHURRIED = dict.fromkeys(
    (
        "request_timeout_ms",
        "default_api_timeout_ms",
        "socket_connection_setup_timeout_ms",
        "socket_connection_setup_timeout_max_ms",
    ),
    50_000,
)
"""Instead of `QUICK`, where something else is to end a call."""


class Scripted:
    """A cluster whose nodes, leaders and coordinators are what the test says.

    Attributes:
        brokers: The nodes, by id from 1 on.
        ports: The port that Metadata has for each node.
        controller: Who Metadata says is the controller.
        coordinators: The node that coordinates each group; 1 where none is given.
    """

    def __init__(self, brokers: dict[int, Broker]) -> None:
        self.brokers = brokers
        self.ports = {node: broker.port for node, broker in brokers.items()}
        self.controller = 1
        self.coordinators: dict[str, int] = {}
        for broker in brokers.values():
            broker.reactions[MetadataRequest] = self.describe
            broker.reactions[FindCoordinatorRequest] = self.find

    def bootstrap(self, *nodes: int) -> str:
        return ",".join(f"{HOST}:{self.brokers[node].port}" for node in nodes or self.brokers)

    def asked(self, cls: type[Any], node: int | None = None) -> list[Asked]:
        """The requests of a class that have come, to one node or to all."""
        chosen = self.brokers.values() if node is None else [self.brokers[node]]
        return [
            asked for broker in chosen for asked in broker.seen if isinstance(asked.message, cls)
        ]

    def react(self, cls: type[Request[Any]], reaction: Reaction) -> None:
        """What all nodes do about requests of a class."""
        for broker in self.brokers.values():
            broker.reactions[cls] = reaction

    def describe(self, asked: Asked) -> None:
        """Each topic that is asked for has one partition, led by node 1."""
        partition = MetadataResponsePartition(
            error_code=0,
            partition_index=0,
            leader_id=1,
            leader_epoch=5,
            replica_nodes=[1],
            isr_nodes=[1],
        )
        topics = [
            MetadataResponseTopic(error_code=0, name=topic.name, partitions=[partition])
            for topic in asked.message.topics or []
        ]
        self.describe_with(asked, topics)

    def describe_with(self, asked: Asked, topics: list[MetadataResponseTopic]) -> None:
        """The nodes, and these topics."""
        asked.answer(
            MetadataResponse(
                brokers=[
                    MetadataResponseBroker(node_id=node, host=HOST, port=port)
                    for node, port in self.ports.items()
                ],
                cluster_id="scripted",
                controller_id=self.controller,
                topics=topics,
            )
        )

    def find(self, asked: Asked) -> None:
        (key,) = asked.message.coordinator_keys
        node = self.coordinators.get(key, 1)
        found = Found(
            key=key,
            node_id=node,
            host=HOST,
            port=self.ports[node],
            error_code=0,
            error_message=None,
        )
        asked.answer(FindCoordinatorResponse(coordinators=[found]))


@asynccontextmanager
async def scripted(nodes: int) -> AsyncIterator[Scripted]:
    async with AsyncExitStack() as stack:
        brokers = {}
        for node in range(1, nodes + 1):
            brokers[node] = await stack.enter_async_context(Broker().listening())
        yield Scripted(brokers)


@asynccontextmanager
async def made(bootstrap: str, **options: Any) -> AsyncIterator[Cluster]:
    """Our side, not started."""
    config = AdminConfig.from_options({**QUICK, "bootstrap_servers": bootstrap, **options})
    tasks = Tasks("test")
    await tasks.start()
    try:
        yield Cluster(config, tasks)
    finally:
        await tasks.aclose()


@asynccontextmanager
async def joined(bootstrap: str, **options: Any) -> AsyncIterator[Cluster]:
    """Our side, connected."""
    async with made(bootstrap, **options) as cluster:
        await cluster.start()
        yield cluster


def admin_of(bootstrap: str, **options: Any) -> Admin:
    """Not started."""
    return Admin(**{**QUICK, "bootstrap_servers": bootstrap, **options})
