"""Committed offsets of groups: requests to make, and answers read as values. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final, TypeAlias

from kafka_aio.admin.groups import place
from kafka_aio.admin.outcome import is_worth_another
from kafka_aio.errors import (
    KafkaError,
    NonEmptyGroup,
    RebalanceInProgress,
    UnknownMemberId,
    UnstableOffsetCommit,
    for_code,
    fresh,
)
from kafka_aio.protocol.messages.offsets import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
    OffsetCommitResponse,
    OffsetDeleteRequest,
    OffsetDeleteRequestPartition,
    OffsetDeleteRequestTopic,
    OffsetDeleteResponse,
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopics,
    OffsetFetchResponse,
    OffsetFetchResponseGroup,
    OffsetFetchResponsePartitions,
)
from kafka_aio.types import OffsetAndMetadata, TopicPartition, by_topic

LAST_WITH_NAMES: Final = 9
"""The last version of OffsetFetch and OffsetCommit that has the names of topics, not their ids."""

GroupOffsets: TypeAlias = dict[TopicPartition, OffsetAndMetadata | KafkaError | None]
"""What a group has committed; None where that is nothing."""


def fetch(
    groups: Iterable[str],
    partitions: Iterable[TopicPartition] | None,
    *,
    require_stable: bool,
) -> OffsetFetchRequest:
    """The request for what groups have committed: for some partitions, or for all."""
    topics = None
    if partitions is not None:
        topics = [
            OffsetFetchRequestTopics(name=topic, partition_indexes=numbers)
            for topic, numbers in by_topic(partitions).items()
        ]
    return OffsetFetchRequest(
        groups=[OffsetFetchRequestGroup(group_id=group, topics=topics) for group in groups],
        require_stable=require_stable,
    )


def fetched(response: OffsetFetchResponse) -> dict[str, GroupOffsets | KafkaError]:
    return {group.group_id: _fetched(group) for group in response.groups}


def _fetched(group: OffsetFetchResponseGroup) -> GroupOffsets | KafkaError:
    if group.error_code:
        return for_code(group.error_code, where=place(group.group_id))
    found: GroupOffsets = {}
    for topic in group.topics:
        for each in topic.partitions:
            partition = TopicPartition(topic.name, each.partition_index)
            found[partition] = _committed(group.group_id, partition, each)
    unstable = (each for each in found.values() if isinstance(each, UnstableOffsetCommit))
    return next(unstable, dict(sorted(found.items())))


def _committed(
    group: str, partition: TopicPartition, each: OffsetFetchResponsePartitions
) -> OffsetAndMetadata | KafkaError | None:
    if each.error_code:
        return for_code(each.error_code, where=f"{place(group)}, {partition}")
    if each.committed_offset < 0:
        return None
    epoch = each.committed_leader_epoch if each.committed_leader_epoch >= 0 else None
    return OffsetAndMetadata(each.committed_offset, each.metadata or "", epoch)


def is_worth_another_fetch(error: KafkaError) -> bool:
    return is_worth_another(error) or isinstance(error, UnstableOffsetCommit)


def commit(group: str, offsets: Mapping[TopicPartition, OffsetAndMetadata]) -> OffsetCommitRequest:
    """The request to commit for a group that has no members."""
    return OffsetCommitRequest(
        group_id=group,
        member_id="",
        topics=[
            OffsetCommitRequestTopic(
                name=topic,
                partitions=[
                    _wish(number, offsets[TopicPartition(topic, number)]) for number in numbers
                ],
            )
            for topic, numbers in by_topic(offsets).items()
        ],
    )


def _wish(number: int, wanted: OffsetAndMetadata) -> OffsetCommitRequestPartition:
    return OffsetCommitRequestPartition(
        partition_index=number,
        committed_offset=wanted.offset,
        committed_leader_epoch=-1 if wanted.leader_epoch is None else wanted.leader_epoch,
        committed_metadata=wanted.metadata,
    )


def committed(
    group: str, response: OffsetCommitResponse
) -> dict[TopicPartition, KafkaError | None]:
    """What came of it. A broker that asks for a member id says that there are members."""
    found: dict[TopicPartition, KafkaError | None] = {}
    for topic in response.topics:
        for each in topic.partitions:
            partition = TopicPartition(topic.name, each.partition_index)
            code = (
                NonEmptyGroup.code if each.error_code == UnknownMemberId.code else each.error_code
            )
            where = f"{place(group)}, {partition}"
            found[partition] = for_code(code, where=where) if code else None
    return found


def is_worth_another_commit(error: KafkaError) -> bool:
    return is_worth_another(error) or isinstance(error, RebalanceInProgress)


def delete(group: str, partitions: Iterable[TopicPartition]) -> OffsetDeleteRequest:
    return OffsetDeleteRequest(
        group_id=group,
        topics=[
            OffsetDeleteRequestTopic(
                name=topic,
                partitions=[
                    OffsetDeleteRequestPartition(partition_index=number) for number in numbers
                ],
            )
            for topic, numbers in by_topic(partitions).items()
        ],
    )


def deleted(
    group: str, asked: Iterable[TopicPartition], response: OffsetDeleteResponse
) -> dict[TopicPartition, KafkaError | None]:
    if response.error_code:
        error = for_code(response.error_code, where=place(group))
        return {partition: fresh(error) for partition in asked}
    return {
        (partition := TopicPartition(topic.name, each.partition_index)): (
            for_code(each.error_code, where=f"{place(group)}, {partition}")
            if each.error_code
            else None
        )
        for topic in response.topics
        for each in topic.partitions
    }
