"""OffsetCommit, OffsetFetch and OffsetDelete."""

from __future__ import annotations

import pytest

from kafka_aio.protocol.messages.groups import DeleteGroupsRequest
from kafka_aio.protocol.messages.offsets import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
    OffsetDeleteRequest,
    OffsetDeleteRequestPartition,
    OffsetDeleteRequestTopic,
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopic,
    OffsetFetchRequestTopics,
)
from kafka_aio.protocol.schema import Uuid
from tests.comparison.sides import Both, Side
from tests.comparison.test_classic_groups import leaves, stable
from tests.kafka.topic import Topic

OTHER_ID = Uuid(bytes(range(16)))


def commits(
    group: str,
    topic: Topic,
    partition: int = 0,
    offset: int = 5,
    *,
    member: tuple[str, int] = ("", -1),
    instance: str | None = None,
    metadata: str | None = "note",
    epoch: int = -1,
) -> OffsetCommitRequest:
    wanted = OffsetCommitRequestPartition(
        partition_index=partition,
        committed_offset=offset,
        committed_leader_epoch=epoch,
        committed_metadata=metadata,
    )
    return OffsetCommitRequest(
        group_id=group,
        generation_id_or_member_epoch=member[1],
        member_id=member[0],
        group_instance_id=instance,
        topics=[OffsetCommitRequestTopic(name=topic.name, topic_id=topic.id, partitions=[wanted])],
    )


def fetch_in_each_version(
    side: Side,
    group: str,
    topic: Topic | None,
    *partitions: int,
    member: tuple[str | None, int] = (None, -1),
) -> None:
    """What is committed for some partitions, or for all without a topic."""
    old: list[OffsetFetchRequestTopic] | None = None
    new: list[OffsetFetchRequestTopics] | None = None
    if topic is not None:
        indexes = list(partitions)
        old = [OffsetFetchRequestTopic(name=topic.name, partition_indexes=indexes)]
        new = [
            OffsetFetchRequestTopics(name=topic.name, topic_id=topic.id, partition_indexes=indexes)
        ]
    side.ask_in_versions(OffsetFetchRequest(group_id=group, topics=old), 1 if topic else 2, 7)
    wanted = OffsetFetchRequestGroup(
        group_id=group, member_id=member[0], member_epoch=member[1], topics=new
    )
    side.ask_in_versions(OffsetFetchRequest(groups=[wanted]), 8, 10)


def deletes(group: str, topic: str, *partitions: int) -> OffsetDeleteRequest:
    wanted = [OffsetDeleteRequestPartition(partition_index=each) for each in partitions]
    return OffsetDeleteRequest(
        group_id=group, topics=[OffsetDeleteRequestTopic(name=topic, partitions=wanted)]
    )


@pytest.mark.parametrize("offset", [0, 5, 2**62, -1, -5])
@pytest.mark.parametrize("epoch", [-1, 3])
def test_a_commit_from_outside(both: Both, offset: int, epoch: int) -> None:
    group = both.name("group")
    for side in both:
        topic = side.topic(both.name("offsets"), 2)
        side.coordinated(group)
        side.ask_in_each_version(commits(group, topic, 0, offset, epoch=epoch))
        fetch_in_each_version(side, group, topic, 0, 1)
        fetch_in_each_version(side, group, None)

    both.agree()


@pytest.mark.parametrize("metadata", [None, "", "x" * 4_096, "x" * 4_097], ids=["-", "", "ok", "+"])
def test_notes(both: Both, metadata: str | None) -> None:
    group = both.name("group")
    for side in both:
        topic = side.topic(both.name("offsets"))
        side.coordinated(group)
        side.ask_in_each_version(commits(group, topic, metadata=metadata))
        fetch_in_each_version(side, group, topic, 0)

    both.agree()


@pytest.mark.parametrize("partition", [1, -1])
def test_commits_for_what_does_not_exist(both: Both, partition: int) -> None:
    group = both.name("group")
    for side in both:
        topic = side.topic(both.name("offsets"))
        nowhere = Topic(side.connection(), both.name("nowhere"), OTHER_ID)
        side.coordinated(group)
        for wanted in (topic, nowhere):
            side.ask_in_each_version(commits(group, wanted, partition))
            fetch_in_each_version(side, group, wanted, partition)

    both.agree()


def test_offsets_of_a_group_that_does_not_exist(both: Both) -> None:
    group = both.name("group")
    for side in both:
        topic = side.topic(both.name("offsets"))
        side.coordinated(group)
        fetch_in_each_version(side, group, topic, 0)
        fetch_in_each_version(side, group, None)
        fetch_in_each_version(side, "", topic, 0)
        side.ask(deletes(group, topic.name, 0))
        side.ask(deletes("", topic.name, 0))
        side.ask_in_each_version(commits("", topic))
        side.ask(DeleteGroupsRequest(groups_names=[""]))
        side.ask(deletes(group, both.name("nowhere"), 0))
        side.ask_in_each_version(commits(group, topic, member=("unknown", 1)))
        side.ask_in_each_version(commits(group, topic, member=("", 1)))

    both.agree()


@pytest.mark.parametrize("generation", [1, 0, 2, -1])
@pytest.mark.parametrize("who", ["member", "unknown", ""])
def test_commits_of_members(both: Both, who: str, generation: int) -> None:
    group = both.name("group")
    for side in both:
        topic = side.topic(both.name("offsets"))
        one = stable(side, group)
        member = one.member_id if who == "member" else who
        side.ask_in_each_version(commits(group, topic, member=(member, generation)))
        side.ask_in_versions(
            commits(group, topic, member=(member, generation), instance="unknown"), 7, 10
        )
        fetch_in_each_version(side, group, topic, 0)

    both.agree()


@pytest.mark.parametrize("member", [("unknown", 1), ("", 0), (None, 5), ("unknown", -1)])
def test_offsets_are_fetched_as_a_member(both: Both, member: tuple[str | None, int]) -> None:
    group = both.name("group")
    for side in both:
        topic = side.topic(both.name("offsets"))
        stable(side, group)
        fetch_in_each_version(side, group, topic, 0, member=member)

    both.agree()


def test_offsets_of_several_groups(both: Both) -> None:
    one, two = both.name("group-one"), both.name("group-two")
    for side in both:
        topic = side.topic(both.name("offsets"), 2)
        side.coordinated(one)
        side.ask(commits(one, topic, 0, 1))
        side.ask(commits(two, topic, 1, 2))
        groups = [OffsetFetchRequestGroup(group_id=each, topics=None) for each in (two, one, "x")]
        side.ask_in_each_version(OffsetFetchRequest(groups=groups))
        side.ask_in_each_version(OffsetFetchRequest(groups=groups, require_stable=True))

    both.agree()


def test_offsets_are_deleted(both: Both) -> None:
    group = both.name("group")
    for side in both:
        topic = side.topic(both.name("offsets"), 3)
        side.coordinated(group)
        side.ask(commits(group, topic, 0))
        side.ask(commits(group, topic, 1))
        side.ask(deletes(group, topic.name, 0, 2, 7))
        side.ask(deletes(group, both.name("nowhere"), 0))
        fetch_in_each_version(side, group, topic, 0, 1, 2)

    both.agree()


def test_offsets_of_a_group_with_members_are_not_deleted(both: Both) -> None:
    group = both.name("group")
    for side in both:
        topic = side.topic(both.name("offsets"))
        one = stable(side, group)
        side.ask(commits(group, topic, member=(one.member_id, 1)))
        side.ask(deletes(group, topic.name, 0))
        side.ask(leaves(group, (one.member_id, None)))
        side.ask(deletes(group, topic.name, 0))
        fetch_in_each_version(side, group, topic, 0)

    both.agree()
