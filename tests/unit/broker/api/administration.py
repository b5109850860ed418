"""Requests of an administrator in few words: topics, options, elections."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from kafka_aio.protocol.messages.configs import (
    AlterConfigsAlterableConfig,
    AlterConfigsAlterConfigsResource,
    AlterConfigsRequest,
    DescribeConfigsRequest,
    DescribeConfigsResource,
    IncrementalAlterConfigsAlterableConfig,
    IncrementalAlterConfigsAlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from kafka_aio.protocol.messages.metadata import (
    Cursor,
    DescribeTopicPartitionsRequest,
    MetadataRequest,
    MetadataRequestTopic,
    TopicRequest,
)
from kafka_aio.protocol.messages.topics import (
    AlterPartitionReassignmentsRequest,
    CreatableReplicaAssignment,
    CreatableTopic,
    CreatableTopicConfig,
    CreatePartitionsAssignment,
    CreatePartitionsRequest,
    CreatePartitionsTopic,
    CreateTopicsRequest,
    DeleteTopicsRequest,
    DeleteTopicState,
    ElectLeadersRequest,
    ReassignablePartition,
    ReassignableTopic,
    TopicPartitions,
)
from kafka_aio.protocol.schema import NO_UUID, Uuid

TOPIC, BROKER, BROKER_LOGGER, CLIENT_METRICS, GROUP = 2, 4, 8, 16, 32
SET, DELETE, APPEND, SUBTRACT = range(4)
NOBODYS_ID = Uuid(b"q" * 16)


def metadata(*names: str, create: bool = False, by_id: Iterable[Uuid] = ()) -> MetadataRequest:
    """Of these topics; none are none, not all."""
    topics = [MetadataRequestTopic(name=name) for name in names]
    topics += [MetadataRequestTopic(name=None, topic_id=each) for each in by_id]
    return MetadataRequest(topics=topics, allow_auto_topic_creation=create)


def describe_partitions(
    *names: str, limit: int = 2_000, cursor: tuple[str, int] | None = None
) -> DescribeTopicPartitionsRequest:
    start = cursor and Cursor(topic_name=cursor[0], partition_index=cursor[1])
    return DescribeTopicPartitionsRequest(
        topics=[TopicRequest(name=name) for name in names],
        response_partition_limit=limit,
        cursor=start,
    )


def topic(
    name: str,
    partitions: int = -1,
    factor: int = -1,
    *,
    replicas: Iterable[tuple[int, Sequence[int]]] = (),
    configs: Mapping[str, str | None] | None = None,
) -> CreatableTopic:
    return CreatableTopic(
        name=name,
        num_partitions=partitions,
        replication_factor=factor,
        assignments=[
            CreatableReplicaAssignment(partition_index=index, broker_ids=list(nodes))
            for index, nodes in replicas
        ],
        configs=[CreatableTopicConfig(name=k, value=v) for k, v in (configs or {}).items()],
    )


def create(*topics: CreatableTopic, validate_only: bool = False) -> CreateTopicsRequest:
    return CreateTopicsRequest(topics=list(topics), validate_only=validate_only)


def delete(*names: str, by_id: Iterable[Uuid] = ()) -> DeleteTopicsRequest:
    """In the versions that know ids."""
    topics = [DeleteTopicState(name=name, topic_id=NO_UUID) for name in names]
    topics += [DeleteTopicState(name=None, topic_id=each) for each in by_id]
    return DeleteTopicsRequest(topics=topics, timeout_ms=1_000)


def grow(
    *topics: tuple[str, int],
    replicas: Sequence[Sequence[int]] | None = None,
    validate_only: bool = False,
) -> CreatePartitionsRequest:
    chosen = None
    if replicas is not None:
        chosen = [CreatePartitionsAssignment(broker_ids=list(each)) for each in replicas]
    return CreatePartitionsRequest(
        topics=[
            CreatePartitionsTopic(name=name, count=count, assignments=chosen)
            for name, count in topics
        ],
        timeout_ms=1_000,
        validate_only=validate_only,
    )


def describe(
    kind: int, name: str, keys: Sequence[str] | None = None, *, synonyms: bool = False
) -> DescribeConfigsRequest:
    resource = DescribeConfigsResource(
        resource_type=kind,
        resource_name=name,
        configuration_keys=None if keys is None else list(keys),
    )
    return DescribeConfigsRequest(resources=[resource], include_synonyms=synonyms)


def alter(
    kind: int, name: str, configs: Mapping[str, str | None], *, validate_only: bool = False
) -> AlterConfigsRequest:
    resource = AlterConfigsAlterConfigsResource(
        resource_type=kind,
        resource_name=name,
        configs=[AlterConfigsAlterableConfig(name=k, value=v) for k, v in configs.items()],
    )
    return AlterConfigsRequest(resources=[resource], validate_only=validate_only)


def change(
    kind: int, name: str, *changes: tuple[int, str, str | None], validate_only: bool = False
) -> IncrementalAlterConfigsRequest:
    resource = IncrementalAlterConfigsAlterConfigsResource(
        resource_type=kind,
        resource_name=name,
        configs=[
            IncrementalAlterConfigsAlterableConfig(name=option, config_operation=how, value=value)
            for how, option, value in changes
        ],
    )
    return IncrementalAlterConfigsRequest(resources=[resource], validate_only=validate_only)


def elect(kind: int, **partitions: Sequence[int]) -> ElectLeadersRequest:
    """Leaders of these partitions, by topic."""
    return ElectLeadersRequest(
        election_type=kind,
        topic_partitions=[
            TopicPartitions(topic=name, partitions=list(indexes))
            for name, indexes in partitions.items()
        ],
    )


def reassign(
    name: str, index: int, replicas: Sequence[int] | None, *, may_change_factor: bool = True
) -> AlterPartitionReassignmentsRequest:
    partition = ReassignablePartition(
        partition_index=index, replicas=None if replicas is None else list(replicas)
    )
    return AlterPartitionReassignmentsRequest(
        topics=[ReassignableTopic(name=name, partitions=[partition])],
        allow_replication_factor_change=may_change_factor,
    )
