"""What scripted brokers answer to an admin: all is well, but for the codes that the test wants."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from kafka_aio.protocol.messages.cluster import (
    DescribeClusterBroker,
    DescribeClusterRequest,
    DescribeClusterResponse,
)
from kafka_aio.protocol.messages.configs import (
    DescribeConfigsRequest,
    DescribeConfigsResourceResult,
    DescribeConfigsResponse,
    DescribeConfigsResult,
    IncrementalAlterConfigsAlterConfigsResourceResponse,
    IncrementalAlterConfigsRequest,
    IncrementalAlterConfigsResponse,
)
from kafka_aio.protocol.messages.metadata import (
    Cursor,
    DescribeTopicPartitionsRequest,
    DescribeTopicPartitionsResponse,
    DescribeTopicPartitionsResponsePartition,
    DescribeTopicPartitionsResponseTopic,
)
from kafka_aio.protocol.messages.topics import (
    CreatableTopicResult,
    CreatePartitionsRequest,
    CreatePartitionsResponse,
    CreatePartitionsTopicResult,
    CreateTopicsRequest,
    CreateTopicsResponse,
    DeletableTopicResult,
    DeleteTopicsRequest,
    DeleteTopicsResponse,
)
from kafka_aio.protocol.schema import NO_UUID
from tests.net.admin_group_answers import FINE as FINE
from tests.net.admin_group_answers import Codes, groups_are_well
from tests.net.clusters import Scripted
from tests.net.server import Asked, Reaction


def in_turn(*reactions: Reaction) -> Reaction:
    """One after another; the last for all that follow."""
    left = list(reactions)

    def react(asked: Asked) -> None:
        (left.pop(0) if len(left) > 1 else left[0])(asked)

    return react


def _with(codes: Codes, items: Sequence[Any], name: str = "name") -> list[tuple[Any, int]]:
    told = ((item, codes.get(getattr(item, name), 0)) for item in items)
    return [(item, code) for item, code in told if code is not None]


def creates(codes: Codes = FINE, *, throttle: int = 0) -> Reaction:
    def react(asked: Asked) -> None:
        results = [
            CreatableTopicResult(
                name=topic.name,
                error_code=code,
                error_message=None,
                num_partitions=1,
                replication_factor=1,
            )
            for topic, code in _with(codes, asked.message.topics)
        ]
        asked.answer(CreateTopicsResponse(throttle_time_ms=throttle, topics=results))

    return react


def deletes(codes: Codes = FINE) -> Reaction:
    def react(asked: Asked) -> None:
        results = [
            DeletableTopicResult(name=topic.name, error_code=code)
            for topic, code in _with(codes, asked.message.topics)
        ]
        asked.answer(DeleteTopicsResponse(throttle_time_ms=0, responses=results))

    return react


def adds_partitions(codes: Codes = FINE) -> Reaction:
    def react(asked: Asked) -> None:
        results = [
            CreatePartitionsTopicResult(name=topic.name, error_code=code)
            for topic, code in _with(codes, asked.message.topics)
        ]
        asked.answer(CreatePartitionsResponse(throttle_time_ms=0, results=results))

    return react


def describes_configs(codes: Codes = FINE) -> Reaction:
    """Each resource has one option, which is its name."""

    def react(asked: Asked) -> None:
        results = [
            DescribeConfigsResult(
                error_code=code,
                error_message=None,
                resource_type=resource.resource_type,
                resource_name=resource.resource_name,
                configs=[
                    DescribeConfigsResourceResult(
                        name="its name",
                        value=resource.resource_name,
                        read_only=False,
                        is_sensitive=False,
                        synonyms=[],
                    )
                ],
            )
            for resource, code in _with(codes, asked.message.resources, "resource_name")
        ]
        asked.answer(DescribeConfigsResponse(throttle_time_ms=0, results=results))

    return react


def alters_configs(codes: Codes = FINE) -> Reaction:
    def react(asked: Asked) -> None:
        results = [
            IncrementalAlterConfigsAlterConfigsResourceResponse(
                error_code=code,
                error_message=None,
                resource_type=resource.resource_type,
                resource_name=resource.resource_name,
            )
            for resource, code in _with(codes, asked.message.resources, "resource_name")
        ]
        asked.answer(IncrementalAlterConfigsResponse(throttle_time_ms=0, responses=results))

    return react


def describes_cluster(script: Scripted) -> Reaction:
    def react(asked: Asked) -> None:
        brokers = [
            DescribeClusterBroker(broker_id=node, host="127.0.0.1", port=port)
            for node, port in script.ports.items()
        ]
        asked.answer(
            DescribeClusterResponse(
                throttle_time_ms=0,
                error_code=0,
                cluster_id="scripted",
                controller_id=script.controller,
                brokers=brokers,
            )
        )

    return react


def page(
    partitions: Mapping[str, Sequence[int]],
    *,
    codes: Codes = FINE,
    leader: int = 1,
    following: tuple[str, int] | None = None,
) -> DescribeTopicPartitionsResponse:
    """Some partitions of topics, and where the next page begins."""
    cursor = following and Cursor(topic_name=following[0], partition_index=following[1])
    return DescribeTopicPartitionsResponse(
        throttle_time_ms=0,
        topics=[
            DescribeTopicPartitionsResponseTopic(
                error_code=codes.get(name) or 0,
                name=name,
                topic_id=NO_UUID,
                partitions=[
                    DescribeTopicPartitionsResponsePartition(
                        error_code=0,
                        partition_index=index,
                        leader_id=leader,
                        replica_nodes=[1],
                        isr_nodes=[1],
                        offline_replicas=[],
                    )
                    for index in indexes
                ],
            )
            for name, indexes in partitions.items()
        ],
        next_cursor=cursor,
    )


def describes_topics(asked: Asked) -> None:
    """Each has one partition."""
    asked.answer(page({topic.name: [0] for topic in asked.message.topics}))


def all_is_well(script: Scripted) -> None:
    """Every node answers everything that an admin asks."""
    reactions: dict[type[Any], Callable[[Asked], None]] = {
        CreateTopicsRequest: creates(),
        DeleteTopicsRequest: deletes(),
        CreatePartitionsRequest: adds_partitions(),
        DescribeConfigsRequest: describes_configs(),
        IncrementalAlterConfigsRequest: alters_configs(),
        DescribeClusterRequest: describes_cluster(script),
        DescribeTopicPartitionsRequest: describes_topics,
    }
    for cls, reaction in reactions.items():
        script.react(cls, reaction)
    groups_are_well(script)
