"""Groups and their offsets on a real coordinator, in every version."""

from __future__ import annotations

import pytest

from kafka_aio.protocol.messages.consumer_group import (
    ConsumerGroupDescribeRequest,
    ConsumerGroupHeartbeatRequest,
)
from kafka_aio.protocol.messages.groups import (
    DeleteGroupsRequest,
    DescribeGroupsRequest,
    FindCoordinatorRequest,
    HeartbeatRequest,
    JoinGroupRequest,
    JoinGroupRequestProtocol,
    LeaveGroupRequest,
    ListGroupsRequest,
    MemberIdentity,
    SyncGroupRequest,
    SyncGroupRequestAssignment,
)
from kafka_aio.protocol.messages.offsets import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopic,
    OffsetFetchRequestTopics,
)
from tests.interop.versions import each_version, patiently, require
from tests.kafka.cluster import Cluster
from tests.kafka.raw import RawConnection
from tests.kafka.topic import Topic

pytestmark = pytest.mark.kafka

GROUP = 0
MEMBER_ID_REQUIRED = 79


@pytest.fixture(scope="module")
def topic(connection: RawConnection) -> Topic:
    """A topic of two partitions, and a coordinator for groups that is at work."""
    request = FindCoordinatorRequest(key_type=GROUP, coordinator_keys=["any"])
    patiently(lambda: connection.send(request).coordinators[0], lambda found: found.error_code)
    patiently(
        lambda: connection.send(DescribeGroupsRequest(groups=["any"]), 4).groups[0],
        lambda found: found.error_code,
    )
    return Topic.create(connection, "groups", partitions=2)


@each_version(FindCoordinatorRequest)
def test_the_coordinator_is_found(
    connection: RawConnection, kafka: Cluster, topic: Topic, version: int
) -> None:
    require(connection, FindCoordinatorRequest, version)
    port = kafka.nodes[0].ports["PLAIN"]
    request = FindCoordinatorRequest(
        key="" if version >= 4 else "any", coordinator_keys=["any"] if version >= 4 else []
    )

    answer = connection.send(request, version)

    found = answer.coordinators[0] if version >= 4 else answer
    assert (found.error_code, found.node_id, found.host, found.port) == (0, 1, "127.0.0.1", port)


def join(connection: RawConnection, group: str, version: int) -> tuple[str, int]:
    """Member id and generation of the only member of a classic group."""
    request = JoinGroupRequest(
        group_id=group,
        session_timeout_ms=10_000,
        rebalance_timeout_ms=10_000,
        member_id="",
        protocol_type="test",
        protocols=[JoinGroupRequestProtocol(name="any", metadata=b"metadata")],
    )
    answer = connection.send(request, version)
    if answer.error_code == MEMBER_ID_REQUIRED:
        object.__setattr__(request, "member_id", answer.member_id)
        answer = connection.send(request, version)
    assert (answer.error_code, answer.leader) == (0, answer.member_id)
    assert [each.metadata for each in answer.members] == [b"metadata"]
    return answer.member_id, answer.generation_id


def leave(connection: RawConnection, group: str, member: str, version: int) -> int:
    members = [MemberIdentity(member_id=member)] if version >= 3 else []
    request = LeaveGroupRequest(
        group_id=group, member_id="" if version >= 3 else member, members=members
    )
    return connection.send(request, version).error_code


@each_version(JoinGroupRequest)
def test_a_member_joins_a_group_and_leads_it(
    connection: RawConnection, topic: Topic, version: int
) -> None:
    require(connection, JoinGroupRequest, version)
    group = f"joined-v{version}"

    member, generation = join(connection, group, version)

    assert generation == 1
    assert leave(connection, group, member, version=5) == 0


@each_version(SyncGroupRequest)
def test_a_member_syncs_beats_is_described_and_leaves(
    connection: RawConnection, topic: Topic, version: int
) -> None:
    require(connection, SyncGroupRequest, version)
    group = f"synced-v{version}"
    member, generation = join(connection, group, version=9)
    request = SyncGroupRequest(
        group_id=group,
        generation_id=generation,
        member_id=member,
        protocol_type="test",
        protocol_name="any",
        assignments=[SyncGroupRequestAssignment(member_id=member, assignment=b"assigned")],
    )

    synced = connection.send(request, version)
    beat = connection.send(
        HeartbeatRequest(group_id=group, generation_id=generation, member_id=member),
        min(version, 4),
    )
    (described,) = connection.send(DescribeGroupsRequest(groups=[group]), version).groups
    listed = connection.send(ListGroupsRequest(), version).groups
    left = leave(connection, group, member, version)
    (deleted,) = connection.send(DeleteGroupsRequest(groups_names=[group]), min(version, 2)).results

    assert (synced.error_code, synced.assignment) == (0, b"assigned")
    assert beat.error_code == left == deleted.error_code == 0
    assert (described.group_state, described.protocol_data) == ("Stable", "any")
    assert [each.member_assignment for each in described.members] == [b"assigned"]
    states = {each.group_id: each.group_state for each in listed}
    assert states[group] == ("Stable" if version >= 4 else "")


@each_version(OffsetCommitRequest)
def test_a_committed_offset_is_found_again(
    connection: RawConnection, topic: Topic, version: int
) -> None:
    require(connection, OffsetCommitRequest, version)
    group = f"committed-v{version}"
    partition = OffsetCommitRequestPartition(
        partition_index=1, committed_offset=7, committed_leader_epoch=0, committed_metadata="note"
    )
    committed = OffsetCommitRequestTopic(name=topic.name, topic_id=topic.id, partitions=[partition])
    commit = OffsetCommitRequest(group_id=group, member_id="", topics=[committed])

    ((answered,),) = (each.partitions for each in connection.send(commit, version).topics)

    assert answered.error_code == 0
    assert offsets_of(connection, group, topic, version) == [(1, 7, "note", 0)]


@each_version(OffsetFetchRequest)
def test_a_group_without_offsets_has_none(
    connection: RawConnection, topic: Topic, version: int
) -> None:
    require(connection, OffsetFetchRequest, version)

    assert offsets_of(connection, "no-such-group", topic, version) == [(1, -1, "", 0)]


def offsets_of(
    connection: RawConnection, group: str, topic: Topic, version: int
) -> list[tuple[int, int, str | None, int]]:
    if version >= 8:
        wanted = OffsetFetchRequestTopics(name=topic.name, topic_id=topic.id, partition_indexes=[1])
        groups = [OffsetFetchRequestGroup(group_id=group, topics=[wanted])]
        (found,) = connection.send(OffsetFetchRequest(groups=groups), version).groups
        assert found.error_code == 0
        return [
            (each.partition_index, each.committed_offset, each.metadata, each.error_code)
            for item in found.topics
            for each in item.partitions
        ]
    asked = OffsetFetchRequestTopic(name=topic.name, partition_indexes=[1])
    answer = connection.send(OffsetFetchRequest(group_id=group, topics=[asked]), version)
    assert answer.error_code == 0
    return [
        (each.partition_index, each.committed_offset, each.metadata, each.error_code)
        for item in answer.topics
        for each in item.partitions
    ]


@each_version(ConsumerGroupHeartbeatRequest)
def test_the_only_member_of_a_consumer_group_is_assigned_everything(
    connection: RawConnection, topic: Topic, version: int
) -> None:
    require(connection, ConsumerGroupHeartbeatRequest, version)
    group, member = f"consumer-group-v{version}", "member-of-our-own-id"

    def heartbeat(epoch: int) -> ConsumerGroupHeartbeatRequest:
        return ConsumerGroupHeartbeatRequest(
            group_id=group,
            member_id=member,
            member_epoch=epoch,
            rebalance_timeout_ms=5000,
            subscribed_topic_names=[topic.name],
            topic_partitions=[],
        )

    joined = connection.send(heartbeat(0), version)
    (described,) = connection.send(
        ConsumerGroupDescribeRequest(group_ids=[group], include_authorized_operations=False),
        version,
    ).groups
    left = connection.send(heartbeat(-1), version)

    assert (joined.error_code, left.error_code, left.member_epoch) == (0, 0, -1)
    assert joined.assignment is not None
    (given,) = [each.partitions for each in joined.assignment.topic_partitions]
    assert sorted(given) == [0, 1]
    assert [each.member_id for each in described.members] == [member]
