"""Topics: requests to make, and answers read as values. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TypeAlias

from kafka_aio.admin.values import (
    ConfigEntry,
    NewPartitions,
    NewTopic,
    PartitionDescription,
    TopicCreated,
    TopicDescription,
    TopicListing,
)
from kafka_aio.errors import KafkaError, ProtocolError, for_code
from kafka_aio.protocol.messages.metadata import (
    Cursor,
    DescribeTopicPartitionsRequest,
    DescribeTopicPartitionsResponse,
    DescribeTopicPartitionsResponsePartition,
    MetadataRequest,
    MetadataRequestTopic,
    MetadataResponse,
    MetadataResponsePartition,
    TopicRequest,
)
from kafka_aio.protocol.messages.topics import (
    CreatableReplicaAssignment,
    CreatableTopic,
    CreatableTopicConfig,
    CreatableTopicResult,
    CreatePartitionsAssignment,
    CreatePartitionsRequest,
    CreatePartitionsResponse,
    CreatePartitionsTopic,
    CreateTopicsRequest,
    CreateTopicsResponse,
    DeleteTopicsRequest,
    DeleteTopicsResponse,
    DeleteTopicState,
)
from kafka_aio.protocol.schema import NO_UUID, uuid_text
from kafka_aio.types import ConfigSource, Node

_Partition: TypeAlias = DescribeTopicPartitionsResponsePartition | MetadataResponsePartition


def create(topics: Iterable[NewTopic], *, timeout_ms: int, validate: bool) -> CreateTopicsRequest:
    return CreateTopicsRequest(
        topics=[_creatable(topic) for topic in topics],
        timeout_ms=timeout_ms,
        validate_only=validate,
    )


def _creatable(topic: NewTopic) -> CreatableTopic:
    return CreatableTopic(
        name=topic.name,
        num_partitions=topic.partitions,
        replication_factor=topic.replication_factor,
        assignments=[
            CreatableReplicaAssignment(partition_index=partition, broker_ids=list(nodes))
            for partition, nodes in topic.assignments.items()
        ],
        configs=[
            CreatableTopicConfig(name=key, value=value) for key, value in topic.configs.items()
        ],
    )


def created(response: CreateTopicsResponse) -> dict[str, TopicCreated | KafkaError]:
    return {result.name: _created(result) for result in response.topics}


def _created(result: CreatableTopicResult) -> TopicCreated | KafkaError:
    if result.error_code:
        return for_code(result.error_code, result.error_message, where=f"topic {result.name!r}")
    return TopicCreated(
        name=result.name,
        topic_id=uuid_text(result.topic_id),
        partitions=result.num_partitions,
        replication_factor=result.replication_factor,
        configs={
            config.name: ConfigEntry(
                config.name,
                config.value,
                ConfigSource(config.config_source),
                config.read_only,
                config.is_sensitive,
            )
            for config in result.configs or ()
        },
    )


def delete(names: Sequence[str], *, timeout_ms: int) -> DeleteTopicsRequest:
    return DeleteTopicsRequest(
        topics=[DeleteTopicState(name=name, topic_id=NO_UUID) for name in names],
        timeout_ms=timeout_ms,
    )


def deleted(response: DeleteTopicsResponse) -> dict[str, KafkaError | None]:
    return {
        result.name or "": _error(result.error_code, result.error_message, result.name or "")
        for result in response.responses
    }


def add_partitions(
    counts: Mapping[str, NewPartitions], *, timeout_ms: int, validate: bool
) -> CreatePartitionsRequest:
    return CreatePartitionsRequest(
        topics=[
            CreatePartitionsTopic(
                name=name,
                count=wanted.total,
                assignments=[
                    CreatePartitionsAssignment(broker_ids=list(nodes))
                    for nodes in wanted.assignments
                ]
                or None,
            )
            for name, wanted in counts.items()
        ],
        timeout_ms=timeout_ms,
        validate_only=validate,
    )


def partitions_added(response: CreatePartitionsResponse) -> dict[str, KafkaError | None]:
    return {
        result.name: _error(result.error_code, result.error_message, result.name)
        for result in response.results
    }


def listed(response: MetadataResponse, *, internal: bool) -> list[TopicListing]:
    """All topics that can be seen, by name."""
    return sorted(
        (
            TopicListing(topic.name, uuid_text(topic.topic_id), topic.is_internal)
            for topic in response.topics
            if topic.name is not None
            and not topic.error_code
            and (internal or not topic.is_internal)
        ),
        key=lambda topic: topic.name,
    )


def describe_page(
    names: Iterable[str], limit: int, after: Cursor | None
) -> DescribeTopicPartitionsRequest:
    """The request for the partitions of some topics after a place; `limit` of them at most."""
    return DescribeTopicPartitionsRequest(
        topics=[TopicRequest(name=name) for name in sorted(names)],
        response_partition_limit=limit,
        cursor=after,
    )


def describe_all(names: Iterable[str]) -> MetadataRequest:
    """The request that older brokers answer."""
    return MetadataRequest(
        topics=[MetadataRequestTopic(name=name) for name in names],
        allow_auto_topic_creation=False,
    )


class Descriptions:
    """Descriptions of topics, put together of one answer after another."""

    def __init__(self) -> None:
        self._errors: dict[str, KafkaError] = {}
        self._heads: dict[str, tuple[str, bool]] = {}
        self._partitions: dict[str, dict[int, _Partition]] = {}

    def add(self, response: DescribeTopicPartitionsResponse | MetadataResponse) -> None:
        """Take an answer. A topic may begin in one and go on in the next."""
        for topic in response.topics:
            name = topic.name or ""
            if topic.error_code:
                self._errors[name] = for_code(topic.error_code, where=f"topic {name!r}")
                continue
            self._heads[name] = (uuid_text(topic.topic_id), topic.is_internal)
            known = self._partitions.setdefault(name, {})
            known.update((each.partition_index, each) for each in topic.partitions)

    @property
    def leaders(self) -> set[int]:
        """The nodes that lead a partition."""
        told = (each.leader_id for some in self._partitions.values() for each in some.values())
        return {leader for leader in told if leader >= 0}

    def of(
        self, names: Iterable[str], nodes: Mapping[int, Node]
    ) -> dict[str, TopicDescription | KafkaError]:
        """A description or an error for each name.

        Args:
            names: The topics.
            nodes: Where the nodes are. One that is not there has no address.

        Raises:
            ProtocolError: The answers said nothing about one.
        """
        return {name: self._of(name, nodes) for name in names}

    def _of(self, name: str, nodes: Mapping[int, Node]) -> TopicDescription | KafkaError:
        if name in self._errors:
            return self._errors[name]
        if name not in self._heads:
            raise ProtocolError(f"describe_topics: the answer says nothing about {name!r}")
        in_order = sorted(self._partitions[name].items())
        partitions = tuple(_partition(told, nodes) for _, told in in_order)
        return TopicDescription(name, *self._heads[name], partitions)


def _partition(told: _Partition, nodes: Mapping[int, Node]) -> PartitionDescription:
    eligible: list[int] | None = getattr(told, "eligible_leader_replicas", None)
    last: list[int] | None = getattr(told, "last_known_elr", None)
    leader = None
    if told.leader_id >= 0:
        leader = nodes.get(told.leader_id) or Node(told.leader_id, "", -1)
    return PartitionDescription(
        partition=told.partition_index,
        leader=leader,
        leader_epoch=told.leader_epoch,
        replicas=tuple(told.replica_nodes),
        in_sync_replicas=tuple(told.isr_nodes),
        offline_replicas=tuple(told.offline_replicas),
        eligible_leader_replicas=None if eligible is None else tuple(eligible),
        last_known_eligible=None if last is None else tuple(last),
    )


def _error(code: int, message: str | None, topic: str) -> KafkaError | None:
    return for_code(code, message, where=f"topic {topic!r}") if code else None
