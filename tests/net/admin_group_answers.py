"""What scripted brokers answer to an admin about groups and logs: all is well, but for some codes.

The codes go by group, by partition as `orders-0`, or by the id of a member.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Any, TypeAlias

from kafka_aio.protocol.messages.consumer_group import (
    ConsumerGroupDescribeRequest,
    ConsumerGroupDescribeResponse,
)
from kafka_aio.protocol.messages.consumer_group import DescribedGroup as ConsumerGroup
from kafka_aio.protocol.messages.groups import (
    DeletableGroupResult,
    DeleteGroupsRequest,
    DeleteGroupsResponse,
    DescribedGroup,
    DescribeGroupsRequest,
    DescribeGroupsResponse,
    LeaveGroupRequest,
    LeaveGroupResponse,
    ListedGroup,
    ListGroupsRequest,
    ListGroupsResponse,
    MemberResponse,
)
from kafka_aio.protocol.messages.offsets import (
    ListOffsetsPartitionResponse,
    ListOffsetsRequest,
    ListOffsetsResponse,
    ListOffsetsTopicResponse,
    OffsetCommitRequest,
    OffsetCommitResponse,
    OffsetCommitResponsePartition,
    OffsetCommitResponseTopic,
    OffsetDeleteRequest,
    OffsetDeleteResponse,
    OffsetDeleteResponsePartition,
    OffsetDeleteResponseTopic,
    OffsetFetchRequest,
    OffsetFetchResponse,
    OffsetFetchResponseGroup,
    OffsetFetchResponsePartitions,
    OffsetFetchResponseTopics,
)
from kafka_aio.protocol.messages.topics import (
    DeleteRecordsPartitionResult,
    DeleteRecordsRequest,
    DeleteRecordsResponse,
    DeleteRecordsTopicResult,
)
from tests.net.clusters import Scripted
from tests.net.server import Asked, Reaction

Codes: TypeAlias = Mapping[str, int | None]
"""By item; 0 for those that are not there, and None for those to leave out of the answer."""
FINE: Codes = MappingProxyType({})


def _numbers(topic: Any, codes: Codes) -> Iterator[tuple[int, int]]:
    for each in topic.partitions:
        code = codes.get(f"{topic.name}-{each.partition_index}", 0)
        if code is not None:
            yield each.partition_index, code


def lists_groups(*names: str, code: int = 0) -> Reaction:
    def react(asked: Asked) -> None:
        groups = [
            ListedGroup(
                group_id=name,
                protocol_type="consumer",
                group_state="Stable",
                group_type="classic",
            )
            for name in names
        ]
        asked.answer(ListGroupsResponse(error_code=code, groups=groups))

    return react


def describes_groups(codes: Codes = FINE) -> Reaction:
    """Each is of the consumer protocol, and empty."""

    def react(asked: Asked) -> None:
        groups = [
            ConsumerGroup(
                error_code=code,
                group_id=name,
                group_state="Empty",
                group_epoch=1,
                assignment_epoch=1,
                assignor_name="uniform",
                members=[],
            )
            for name in asked.message.group_ids
            if (code := codes.get(name, 0)) is not None
        ]
        asked.answer(ConsumerGroupDescribeResponse(throttle_time_ms=0, groups=groups))

    return react


def describes_classic_groups(codes: Codes = FINE) -> Reaction:
    def react(asked: Asked) -> None:
        groups = [
            DescribedGroup(
                error_code=code,
                group_id=name,
                group_state="Empty",
                protocol_type="consumer",
                protocol_data="",
                members=[],
            )
            for name in asked.message.groups
            if (code := codes.get(name, 0)) is not None
        ]
        asked.answer(DescribeGroupsResponse(groups=groups))

    return react


def deletes_groups(codes: Codes = FINE) -> Reaction:
    def react(asked: Asked) -> None:
        results = [
            DeletableGroupResult(group_id=name, error_code=code)
            for name in asked.message.groups_names
            if (code := codes.get(name, 0)) is not None
        ]
        asked.answer(DeleteGroupsResponse(throttle_time_ms=0, results=results))

    return react


def removes_members(codes: Codes = FINE, *, code: int = 0) -> Reaction:
    def react(asked: Asked) -> None:
        members = [
            MemberResponse(
                member_id=member.member_id,
                group_instance_id=member.group_instance_id,
                error_code=codes.get(member.group_instance_id or member.member_id) or 0,
            )
            for member in asked.message.members
        ]
        asked.answer(LeaveGroupResponse(error_code=code, members=members))

    return react


def fetches_offsets(codes: Codes = FINE) -> Reaction:
    """Each group has committed 5 for what is asked for, or for partition 0 of the topic orders."""

    def react(asked: Asked) -> None:
        groups = []
        for group in asked.message.groups:
            wanted = {"orders": [0]}
            if group.topics is not None:
                wanted = {topic.name: topic.partition_indexes for topic in group.topics}
            topics = [
                OffsetFetchResponseTopics(
                    name=name,
                    partitions=[
                        OffsetFetchResponsePartitions(
                            partition_index=number,
                            committed_offset=5,
                            metadata="",
                            error_code=codes.get(f"{name}-{number}") or 0,
                        )
                        for number in numbers
                    ],
                )
                for name, numbers in wanted.items()
            ]
            code = codes.get(group.group_id) or 0
            groups.append(
                OffsetFetchResponseGroup(group_id=group.group_id, topics=topics, error_code=code)
            )
        asked.answer(OffsetFetchResponse(groups=groups))

    return react


def commits_offsets(codes: Codes = FINE) -> Reaction:
    def react(asked: Asked) -> None:
        topics = [
            OffsetCommitResponseTopic(
                name=topic.name,
                partitions=[
                    OffsetCommitResponsePartition(partition_index=number, error_code=code)
                    for number, code in _numbers(topic, codes)
                ],
            )
            for topic in asked.message.topics
        ]
        asked.answer(OffsetCommitResponse(topics=topics))

    return react


def deletes_offsets(codes: Codes = FINE, *, code: int = 0) -> Reaction:
    def react(asked: Asked) -> None:
        topics = [
            OffsetDeleteResponseTopic(
                name=topic.name,
                partitions=[
                    OffsetDeleteResponsePartition(partition_index=number, error_code=its)
                    for number, its in _numbers(topic, codes)
                ],
            )
            for topic in asked.message.topics
        ]
        asked.answer(OffsetDeleteResponse(error_code=code, throttle_time_ms=0, topics=topics))

    return react


def lists_offsets(codes: Codes = FINE) -> Reaction:
    """Each is 7."""

    def react(asked: Asked) -> None:
        topics = [
            ListOffsetsTopicResponse(
                name=topic.name,
                partitions=[
                    ListOffsetsPartitionResponse(
                        partition_index=number, error_code=code, offset=-1 if code else 7
                    )
                    for number, code in _numbers(topic, codes)
                ],
            )
            for topic in asked.message.topics
        ]
        asked.answer(ListOffsetsResponse(topics=topics))

    return react


def deletes_records(codes: Codes = FINE) -> Reaction:
    def react(asked: Asked) -> None:
        topics = [
            DeleteRecordsTopicResult(
                name=topic.name,
                partitions=[
                    DeleteRecordsPartitionResult(
                        partition_index=number, low_watermark=5, error_code=code
                    )
                    for number, code in _numbers(topic, codes)
                ],
            )
            for topic in asked.message.topics
        ]
        asked.answer(DeleteRecordsResponse(throttle_time_ms=0, topics=topics))

    return react


def groups_are_well(script: Scripted) -> None:
    """Every node answers everything that an admin asks about groups and logs."""
    reactions: dict[type[Any], Reaction] = {
        ListGroupsRequest: lists_groups("billing"),
        ConsumerGroupDescribeRequest: describes_groups(),
        DescribeGroupsRequest: describes_classic_groups(),
        DeleteGroupsRequest: deletes_groups(),
        LeaveGroupRequest: removes_members(),
        OffsetFetchRequest: fetches_offsets(),
        OffsetCommitRequest: commits_offsets(),
        OffsetDeleteRequest: deletes_offsets(),
        ListOffsetsRequest: lists_offsets(),
        DeleteRecordsRequest: deletes_records(),
    }
    for cls, reaction in reactions.items():
        script.react(cls, reaction)
