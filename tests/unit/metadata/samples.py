"""Answers of a cluster in few words, and a client's view of them."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from math import inf

from kafka_aio.backoff import Backoff
from kafka_aio.metadata import Metadata, Update
from kafka_aio.protocol.messages.metadata import (
    MetadataRequest,
    MetadataResponse,
    MetadataResponseBroker,
    MetadataResponsePartition,
    MetadataResponseTopic,
)
from kafka_aio.protocol.messages.produce import NodeEndpoint
from kafka_aio.protocol.schema import NO_UUID, Uuid
from kafka_aio.types import Node, TopicPartition

A0, A1, B0 = TopicPartition("a", 0), TopicPartition("a", 1), TopicPartition("b", 0)
BOOTSTRAP = [("first", 9092), ("::1", 9093)]
KAFKA, OTHER = Node(1, "kafka", 9092), Node(2, "other", 9092)
ID_A = Uuid(b"a" * 16)
ID_B = Uuid(b"b" * 16)


def broker(
    node: int, host: str = "kafka", port: int = 9092, rack: str | None = None
) -> MetadataResponseBroker:
    return MetadataResponseBroker(node_id=node, host=host, port=port, rack=rack)


def partition(
    index: int = 0, leader: int = 1, epoch: int = -1, code: int = 0, replicas: Iterable[int] = ()
) -> MetadataResponsePartition:
    return MetadataResponsePartition(
        error_code=code,
        partition_index=index,
        leader_id=leader,
        leader_epoch=epoch,
        replica_nodes=list(replicas),
        isr_nodes=list(replicas),
    )


def topic(
    name: str | None,
    *partitions: MetadataResponsePartition,
    code: int = 0,
    id: Uuid = NO_UUID,
    internal: bool = False,
) -> MetadataResponseTopic:
    return MetadataResponseTopic(
        error_code=code,
        name=name,
        topic_id=id,
        is_internal=internal,
        partitions=list(partitions),
    )


def led(name: str, leaders: Mapping[int, int], *, epoch: int = 0) -> MetadataResponseTopic:
    """A topic with these partitions, each with its leader."""
    return topic(name, *(partition(index, node, epoch) for index, node in leaders.items()))


def answer(
    *topics: MetadataResponseTopic,
    brokers: Iterable[MetadataResponseBroker] = (broker(1), broker(2, "other")),
    controller: int = 1,
    cluster: str = "cluster",
    code: int = 0,
) -> MetadataResponse:
    return MetadataResponse(
        brokers=list(brokers),
        cluster_id=cluster,
        controller_id=controller,
        topics=list(topics),
        error_code=code,
    )


def new(
    *topics: str,
    max_age: float = 300.0,
    topic_idle: float = inf,
    rebootstrap_after: float = inf,
    create_topics: bool = True,
) -> Metadata:
    """Bootstrapped at 0, with these topics wanted."""
    metadata = Metadata(
        max_age=max_age,
        backoff=Backoff(first=1.0, longest=10.0),
        topic_idle=topic_idle,
        rebootstrap_after=rebootstrap_after,
        create_topics=create_topics,
    )
    metadata.bootstrap(BOOTSTRAP)
    metadata.want(topics, now=0.0)
    return metadata


def tell(
    metadata: Metadata,
    response: MetadataResponse,
    *,
    now: float = 0.0,
    requested: Collection[str] | None = None,
    reliable_epochs: bool = True,
) -> Update:
    """An answer about what is wanted, or to what was requested."""
    names = tuple(metadata.wanted) if requested is None else requested
    return metadata.update(
        response, requested=names, now=now, jitter=0.0, reliable_epochs=reliable_epochs
    )


def tell_all(metadata: Metadata, response: MetadataResponse, *, now: float = 0.0) -> Update:
    return metadata.update(response, requested=None, now=now, jitter=0.0)


def ask(metadata: Metadata, *, now: float = 0.0) -> list[str | None] | None:
    """The topics of the next request."""
    return names(metadata.request(now=now))


def names(request: MetadataRequest) -> list[str | None] | None:
    return None if request.topics is None else [each.name for each in request.topics]


def endpoints(*brokers: tuple[int, str, int]) -> list[NodeEndpoint]:
    return [NodeEndpoint(node_id=node, host=host, port=port) for node, host, port in brokers]


def state(metadata: Metadata, topics: Iterable[str] = ("a", "b")) -> list[object]:
    """All that can be asked."""
    return [
        metadata.version,
        metadata.cluster_id,
        metadata.controller_id,
        dict(metadata.nodes),
        metadata.topics,
        list(metadata.wanted),
        metadata.refresh_at,
        [
            (metadata.partitions(name), metadata.topic_id(name), metadata.topic_error(name))
            for name in topics
        ],
    ]
