from __future__ import annotations

from typing import Any

from kafka_aio.admin import group_offsets
from kafka_aio.errors import (
    GroupAuthorizationFailed,
    GroupIdNotFound,
    GroupSubscribedToTopic,
    NonEmptyGroup,
    NotCoordinator,
    RebalanceInProgress,
    TopicAuthorizationFailed,
    UnknownTopicOrPartition,
    UnstableOffsetCommit,
)
from kafka_aio.protocol import codec
from kafka_aio.protocol.messages.offsets import (
    OffsetCommitResponse,
    OffsetCommitResponsePartition,
    OffsetCommitResponseTopic,
    OffsetDeleteResponse,
    OffsetDeleteResponsePartition,
    OffsetDeleteResponseTopic,
    OffsetFetchResponse,
    OffsetFetchResponseGroup,
    OffsetFetchResponsePartitions,
    OffsetFetchResponseTopics,
)
from kafka_aio.types import OffsetAndMetadata, TopicPartition

A0, A1, B0 = TopicPartition("a", 0), TopicPartition("a", 1), TopicPartition("b", 0)
NAMES = group_offsets.LAST_WITH_NAMES


def fetched(*told: tuple[TopicPartition, int, str | None, int, int], code: int = 0) -> Any:
    """What one group has: partition, offset, metadata, epoch, error code."""
    group = OffsetFetchResponseGroup(
        group_id="g",
        error_code=code,
        topics=[
            OffsetFetchResponseTopics(
                name=partition.topic,
                partitions=[
                    OffsetFetchResponsePartitions(
                        partition_index=partition.partition,
                        committed_offset=offset,
                        committed_leader_epoch=epoch,
                        metadata=metadata,
                        error_code=its,
                    )
                ],
            )
            for partition, offset, metadata, epoch, its in told
        ],
    )
    return group_offsets.fetched(OffsetFetchResponse(groups=[group]))["g"]


def test_all_groups_of_a_node_are_asked_for_at_once() -> None:
    request = group_offsets.fetch(
        ["g", "h"], [B0, A1, B0._replace(partition=2)], require_stable=True
    )

    assert codec.encode(request, NAMES)
    assert request.require_stable
    assert [group.group_id for group in request.groups] == ["g", "h"]
    for group in request.groups:
        assert [(each.name, each.partition_indexes) for each in group.topics or ()] == [
            ("b", [0, 2]),
            ("a", [1]),
        ]


def test_without_partitions_all_that_is_committed_is_asked_for() -> None:
    request = group_offsets.fetch(["g"], None, require_stable=False)

    assert codec.encode(request, NAMES)
    assert request.groups[0].topics is None


def test_what_is_committed_is_read_by_partition() -> None:
    found = fetched((B0, 5, "note", 3, 0), (A1, -1, "", -1, 0), (A0, 0, None, -1, 0))

    assert list(found.items()) == [
        (A0, OffsetAndMetadata(0)),
        (A1, None),
        (B0, OffsetAndMetadata(5, "note", 3)),
    ]


def test_a_partition_whose_offset_is_not_told_is_an_error_in_its_place() -> None:
    found = fetched((A0, 5, "", -1, 0), (B0, -1, "", -1, 29))

    assert found[A0] == OffsetAndMetadata(5)
    assert isinstance(found[B0], TopicAuthorizationFailed)
    assert found[B0].where == "group 'g', b-0"


def test_a_group_whose_offsets_are_not_told_is_an_error() -> None:
    error = fetched(code=30)

    assert isinstance(error, GroupAuthorizationFailed)
    assert error.where == "group 'g'"


def test_offsets_that_a_transaction_may_still_change_are_asked_for_again() -> None:
    error = fetched((A0, 5, "", -1, 0), (A1, -1, "", -1, 88))

    assert isinstance(error, UnstableOffsetCommit)
    assert group_offsets.is_worth_another_fetch(error)
    assert group_offsets.is_worth_another_fetch(NotCoordinator())
    assert not group_offsets.is_worth_another_fetch(GroupAuthorizationFailed())


def test_offsets_are_committed_as_nobody() -> None:
    offsets = {B0: OffsetAndMetadata(7), A1: OffsetAndMetadata(5, "note", 3)}

    request = group_offsets.commit("g", offsets)

    assert codec.encode(request, NAMES)
    assert (request.group_id, request.member_id) == ("g", "")
    assert request.generation_id_or_member_epoch == -1
    told = [
        (topic.name, each.partition_index, each.committed_offset, each.committed_leader_epoch)
        for topic in request.topics
        for each in topic.partitions
    ]
    assert told == [("b", 0, 7, -1), ("a", 1, 5, 3)]
    assert request.topics[1].partitions[0].committed_metadata == "note"


def test_who_is_asked_for_a_member_id_hears_that_there_are_members() -> None:
    told = [(A0, 0), (A1, 25), (B0, 3)]
    response = OffsetCommitResponse(
        topics=[
            OffsetCommitResponseTopic(
                name=each.topic,
                partitions=[
                    OffsetCommitResponsePartition(partition_index=each.partition, error_code=code)
                ],
            )
            for each, code in told
        ]
    )

    found = group_offsets.committed("g", response)

    assert found[A0] is None
    assert isinstance(found[A1], NonEmptyGroup)
    assert str(found[A1]).startswith("group 'g', a-1: The group still has members; stop them")
    assert isinstance(found[B0], UnknownTopicOrPartition)


def test_a_commit_waits_for_the_end_of_a_rebalance() -> None:
    assert group_offsets.is_worth_another_commit(RebalanceInProgress())
    assert group_offsets.is_worth_another_commit(NotCoordinator())
    assert not group_offsets.is_worth_another_commit(NonEmptyGroup())


def deletion(*told: tuple[TopicPartition, int], code: int = 0) -> OffsetDeleteResponse:
    return OffsetDeleteResponse(
        error_code=code,
        throttle_time_ms=0,
        topics=[
            OffsetDeleteResponseTopic(
                name=each.topic,
                partitions=[
                    OffsetDeleteResponsePartition(partition_index=each.partition, error_code=its)
                ],
            )
            for each, its in told
        ],
    )


def test_the_outcome_of_each_deletion_is_told() -> None:
    request = group_offsets.delete("g", [A0, B0, A1])

    found = group_offsets.deleted("g", [A0, B0], deletion((A0, 0), (B0, 86)))

    assert codec.encode(request, 0)
    assert [
        (topic.name, [each.partition_index for each in topic.partitions])
        for topic in request.topics
    ] == [("a", [0, 1]), ("b", [0])]
    assert found[A0] is None
    assert isinstance(found[B0], GroupSubscribedToTopic)
    assert str(found[B0]).startswith("group 'g', b-0: ")


def test_a_deletion_that_is_refused_as_a_whole_is_refused_for_each() -> None:
    found = group_offsets.deleted("g", [A0, B0], deletion(code=69))

    assert all(isinstance(error, GroupIdNotFound) for error in found.values())
    assert list(found) == [A0, B0]
    assert found[A0] is not found[B0]
