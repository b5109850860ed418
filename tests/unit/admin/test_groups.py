from __future__ import annotations

from typing import Any

import pytest

from kafka_aio.admin import groups
from kafka_aio.admin.group_values import (
    AclOperation,
    Departure,
    GroupDescription,
    GroupList,
    GroupListing,
    GroupMember,
    GroupState,
    GroupType,
)
from kafka_aio.errors import (
    CoordinatorNotAvailable,
    GroupAuthorizationFailed,
    GroupIdNotFound,
    KafkaConnectionError,
    NonEmptyGroup,
    UnknownMemberId,
    UnsupportedByBroker,
    UnsupportedVersion,
)
from kafka_aio.protocol import codec
from kafka_aio.protocol.member_data import Assigned
from kafka_aio.protocol.messages import consumer_group as consumer
from kafka_aio.protocol.messages import groups as classic
from kafka_aio.protocol.schema import NO_UUID
from kafka_aio.types import TopicPartition

A0, A1, B0 = TopicPartition("a", 0), TopicPartition("a", 1), TopicPartition("b", 0)


def listing(*names: str, kind: str = "classic") -> classic.ListGroupsResponse:
    return classic.ListGroupsResponse(
        error_code=0,
        groups=[
            classic.ListedGroup(
                group_id=name, protocol_type="consumer", group_state="Stable", group_type=kind
            )
            for name in names
        ],
    )


def test_what_is_listed_may_be_of_some_states_and_types() -> None:
    request = groups.list_all(["Empty"], ["Classic", "Share"])

    assert codec.encode(request, 5)
    assert (request.states_filter, request.types_filter) == (["Empty"], ["Classic", "Share"])


def test_the_groups_of_all_nodes_are_one_list_by_id() -> None:
    failed = KafkaConnectionError("gone")

    found = groups.listed({1: listing("c", "a"), 2: failed, 3: listing("b", kind="Consumer")})

    def of(name: str, node: int, kind: GroupType = GroupType.CLASSIC) -> GroupListing:
        return GroupListing(name, kind, GroupState.STABLE, "consumer", node)

    assert found == GroupList((of("a", 1), of("b", 3, GroupType.CONSUMER), of("c", 1)), {2: failed})


def test_a_group_that_two_nodes_have_while_it_moves_is_listed_once() -> None:
    found = groups.listed({1: listing("a"), 2: listing("a")})

    assert [group.coordinator for group in found.groups] == [2]


def test_words_of_a_newer_broker_are_unknown() -> None:
    answer = classic.ListGroupsResponse(
        error_code=0,
        groups=[
            classic.ListedGroup(
                group_id="a", protocol_type="x", group_state="Dancing", group_type="Choir"
            )
        ],
    )

    (group,) = groups.listed({1: answer}).groups

    assert (group.state, group.type) == (GroupState.UNKNOWN, GroupType.UNKNOWN)


def assignment(*partitions: TopicPartition) -> consumer.ConsumerGroupDescribeAssignment:
    return consumer.ConsumerGroupDescribeAssignment(
        topic_partitions=[
            consumer.ConsumerGroupDescribeTopicPartitions(
                topic_id=NO_UUID, topic_name=each.topic, partitions=[each.partition]
            )
            for each in partitions
        ]
    )


def modern_member(name: str, **fields: Any) -> consumer.Member:
    given = {
        "member_id": name,
        "member_epoch": 7,
        "client_id": "client",
        "client_host": "/10.0.0.1",
        "subscribed_topic_names": ["b", "a"],
        "assignment": assignment(B0, A1),
        "target_assignment": assignment(A0),
        **fields,
    }
    return consumer.Member(**given)


def modern(*members: consumer.Member, code: int = 0, bits: int = -0x80000000) -> Any:
    group = consumer.DescribedGroup(
        error_code=code,
        error_message="so it says" if code else None,
        group_id="g",
        group_state="Reconciling",
        group_epoch=9,
        assignment_epoch=8,
        assignor_name="uniform",
        members=list(members),
        authorized_operations=bits,
    )
    response = consumer.ConsumerGroupDescribeResponse(throttle_time_ms=0, groups=[group])
    return groups.described(response)["g"]


def test_a_group_of_the_consumer_protocol_is_described_with_its_epochs() -> None:
    one = modern_member("m-1", instance_id="i", rack_id="r", member_type=1)

    found = modern(modern_member("m-2", subscribed_topic_regex="a.*", member_type=0), one)

    assert isinstance(found, GroupDescription)
    assert (found.type, found.state) == (GroupType.CONSUMER, GroupState.RECONCILING)
    assert (found.assignor, found.protocol_type) == ("uniform", "consumer")
    assert (found.epoch, found.target_assignment_epoch) == (9, 8)
    first, second = found.members
    assert first == GroupMember(
        member_id="m-1",
        client_id="client",
        host="10.0.0.1",
        assignment=(A1, B0),
        instance_id="i",
        rack="r",
        target_assignment=(A0,),
        epoch=7,
        subscribed_topics=("a", "b"),
        is_classic=False,
    )
    assert (second.member_id, second.subscribed_pattern) == ("m-2", "a.*")
    assert second.is_classic is True


def test_a_member_whose_protocol_is_not_told_may_be_either() -> None:
    found = modern(modern_member("m"))

    assert found.members[0].is_classic is None


def test_what_we_may_do_is_told_if_it_was_asked() -> None:
    assert modern().authorized_operations is None
    assert modern(bits=0).authorized_operations == frozenset()
    assert modern(bits=1 << 3 | 1 << 8 | 1 << 30).authorized_operations == {
        AclOperation.READ,
        AclOperation.DESCRIBE,
    }


@pytest.mark.parametrize(
    ("error", "may_be_classic"),
    [
        (GroupIdNotFound(), True),
        (UnsupportedByBroker(), True),
        (UnsupportedVersion("no such API"), True),
        (GroupAuthorizationFailed(), False),
        (CoordinatorNotAvailable(), False),
    ],
)
def test_a_group_that_is_not_of_the_consumer_protocol_may_be_classic(
    error: Exception, may_be_classic: bool
) -> None:
    assert groups.is_of_another_protocol(error) is may_be_classic


def test_a_group_that_cannot_be_described_is_an_error_in_its_place() -> None:
    error = modern(code=30)

    assert isinstance(error, GroupAuthorizationFailed)
    assert (error.where, error.message) == ("group 'g'", "so it says")


def old(
    *members: classic.DescribedGroupMember,
    code: int = 0,
    state: str = "Stable",
    kind: str = "consumer",
) -> Any:
    group = classic.DescribedGroup(
        error_code=code,
        group_id="g",
        group_state=state,
        protocol_type=kind,
        protocol_data="range",
        members=list(members),
    )
    return groups.classic_described(classic.DescribeGroupsResponse(groups=[group]))["g"]


def old_member(name: str, given: bytes) -> classic.DescribedGroupMember:
    return classic.DescribedGroupMember(
        member_id=name,
        group_instance_id="i",
        client_id="client",
        client_host="/10.0.0.1",
        member_metadata=b"",
        member_assignment=given,
    )


def test_a_classic_group_is_described_with_what_its_leader_has_given() -> None:
    found = old(old_member("m-2", Assigned((B0, A0)).encode()), old_member("m-1", b""))

    assert isinstance(found, GroupDescription)
    assert (found.type, found.state) == (GroupType.CLASSIC, GroupState.STABLE)
    assert (found.assignor, found.epoch) == ("range", None)
    assert [member.assignment for member in found.members] == [(), (A0, B0)]
    assert found.members[0] == GroupMember(
        "m-1", "client", "10.0.0.1", (), instance_id="i", is_classic=True
    )


@pytest.mark.parametrize("given", [b"\x00", b"any bytes", b"\xff\xff\x00\x00\x00\x00"])
def test_an_assignment_that_is_none_is_empty(given: bytes) -> None:
    assert old(old_member("m", given)).members[0].assignment == ()


def test_what_is_no_consumer_has_no_partitions() -> None:
    found = old(old_member("m", Assigned((A0,)).encode()), kind="connect")

    assert found.protocol_type == "connect"
    assert found.members[0].assignment == ()


def test_a_dead_group_is_none() -> None:
    assert isinstance(old(state="Dead"), GroupIdNotFound)
    assert isinstance(old(state="Dead", code=69), GroupIdNotFound)


@pytest.mark.parametrize(
    ("state", "is_active"),
    [("Empty", False), ("Stable", True), ("PreparingRebalance", True), ("Dancing", True)],
)
def test_a_group_is_active_unless_it_is_empty(state: str, is_active: bool) -> None:
    assert old(state=state).is_active is is_active
    assert old(old_member("m", b""), state="Empty").is_active


def test_the_outcome_of_each_deletion_is_told() -> None:
    results = [
        classic.DeletableGroupResult(group_id=name, error_code=code)
        for name, code in (("a", 0), ("b", 68))
    ]

    found = groups.deleted(classic.DeleteGroupsResponse(throttle_time_ms=0, results=results))

    assert found["a"] is None
    assert isinstance(found["b"], NonEmptyGroup)
    assert found["b"].where == "group 'b'"


@pytest.mark.parametrize(
    ("reason", "told"),
    [
        ("", "member was removed by an admin"),
        ("too slow", "member was removed by an admin: too slow"),
        ("x" * 300, f"member was removed by an admin: {'x' * 223}"),
    ],
)
def test_who_is_removed_is_named_by_one_id_and_a_reason(reason: str, told: str) -> None:
    leaving = [Departure("m"), Departure(instance_id="i")]

    request = groups.remove("g", leaving, reason=reason)

    assert codec.encode(request, 5)
    assert [(each.member_id, each.group_instance_id) for each in request.members] == [
        ("m", None),
        ("", "i"),
    ]
    assert {each.reason for each in request.members} == {told}


def left(*members: tuple[str, str | None, int], code: int = 0) -> classic.LeaveGroupResponse:
    return classic.LeaveGroupResponse(
        error_code=code,
        members=[
            classic.MemberResponse(member_id=name, group_instance_id=instance, error_code=its)
            for name, instance, its in members
        ],
    )


def test_the_outcome_of_each_removal_is_told_by_the_id_that_was_given() -> None:
    one, two = Departure("m"), Departure(instance_id="i")

    found = groups.removed("g", [one, two], left(("m", None, 25), ("m-of-i", "i", 0)))

    assert found[two] is None
    assert isinstance(found[one], UnknownMemberId)
    assert str(found[one]).startswith("group 'g', member 'm': ")
    assert (str(one), str(two)) == ("m", "i")


def test_a_removal_that_is_refused_as_a_whole_is_refused_for_each() -> None:
    one, two = Departure("m"), Departure(instance_id="i")

    found = groups.removed("g", [one, two], left(code=30))

    assert all(isinstance(error, GroupAuthorizationFailed) for error in found.values())
    assert found[one] is not found[two]


def test_everyone_is_named_by_what_stays_the_same() -> None:
    static = GroupMember("m", "c", "h", (), instance_id="i")

    assert Departure.of(static) == Departure(instance_id="i")
    assert Departure.of(GroupMember("m", "c", "h", ())) == Departure("m")
