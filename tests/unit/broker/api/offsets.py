"""What the tests of the offsets of groups ask of a broker."""

from __future__ import annotations

from typing import Any

from kafka_aio.broker.state import State
from kafka_aio.protocol.messages.offsets import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
)
from kafka_aio.protocol.schema import NO_UUID, Uuid
from tests.unit.broker.clusters import call

STRANGE = Uuid(bytes(range(16)))


def commit(
    state: State,
    offsets: dict[str, dict[int, int]],
    *,
    group: str = "g",
    member: str = "",
    epoch: int = -1,
    instance: str | None = None,
    metadata: str | None = "",
    leader_epoch: int = -1,
    version: int = 9,
    **how: Any,
) -> dict[str, dict[int, int]]:
    """The error codes of OffsetCommit, by topic and partition."""
    request = OffsetCommitRequest(
        group_id=group,
        generation_id_or_member_epoch=epoch,
        member_id=member,
        group_instance_id=instance,
        topics=[
            OffsetCommitRequestTopic(
                name=name if version < 10 else "",
                topic_id=NO_UUID if version < 10 else id_of(state, name),
                partitions=[
                    OffsetCommitRequestPartition(
                        partition_index=index,
                        committed_offset=offset,
                        committed_leader_epoch=leader_epoch,
                        committed_metadata=metadata,
                    )
                    for index, offset in partitions.items()
                ],
            )
            for name, partitions in offsets.items()
        ],
    )
    answer = call(state, request, version=version, **how)
    names = {topic.id: topic.name for topic in state.topics.by_name.values()}
    return {
        topic.name or names.get(topic.topic_id, "?"): {
            each.partition_index: each.error_code for each in topic.partitions
        }
        for topic in answer.topics
    }


def id_of(state: State, name: str) -> Uuid:
    topic = state.topics.by_name.get(name)
    return STRANGE if topic is None else topic.id


def fetched(state: State, group: str = "g") -> dict[str, dict[int, int]]:
    """All that a group has committed, as a client sees it."""
    request = OffsetFetchRequest(groups=[OffsetFetchRequestGroup(group_id=group, topics=None)])
    [answer] = call(state, request, version=9).groups
    assert answer.error_code == 0
    return {
        topic.name: {each.partition_index: each.committed_offset for each in topic.partitions}
        for topic in answer.topics
    }
