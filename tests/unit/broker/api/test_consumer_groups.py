from __future__ import annotations

from typing import Any

import pytest

from kafka_aio.broker.state import State
from kafka_aio.errors import (
    FencedInstanceId,
    GroupIdNotFound,
    InvalidGroupId,
    InvalidRegularExpression,
    InvalidRequest,
    NotCoordinator,
    UnsupportedAssignor,
)
from kafka_aio.protocol.messages.consumer_group import (
    ConsumerGroupDescribeRequest,
    ConsumerGroupHeartbeatRequest,
)
from tests.unit.broker.clusters import answer_to, call, made, pass_time
from tests.unit.broker.groups.classic import join
from tests.unit.broker.groups.consumers import (
    Consumer,
    described,
    heartbeat,
    owning,
    told,
)

JOIN: dict[str, Any] = {
    "rebalance_timeout_ms": 60_000,
    "subscribed_topic_names": ["t"],
    "topic_partitions": [],
}


@pytest.fixture
def state() -> State:
    return made(topics={"t": 3, "u": 1})


# What may be wrong with a request


@pytest.mark.parametrize(
    ("fields", "why"),
    [
        ({"member_id": ""}, "MemberId can't be empty."),
        ({"member_id": " "}, "MemberId can't be empty."),
        ({"group_id": ""}, "GroupId can't be empty."),
        ({"instance_id": ""}, "InstanceId can't be empty."),
        ({"rack_id": ""}, "RackId can't be empty."),
        (
            {"rebalance_timeout_ms": -1},
            "RebalanceTimeoutMs must be provided in first request.",
        ),
        ({"topic_partitions": None}, "TopicPartitions must be empty when (re-)joining."),
        (
            {"subscribed_topic_names": None},
            "Either SubscribedTopicNames or SubscribedTopicRegex must be non-null when"
            " (re-)joining.",
        ),
        ({"member_epoch": -2}, "InstanceId can't be null."),
        ({"member_epoch": -3}, "MemberEpoch is invalid."),
        ({"member_epoch": -1, "member_id": ""}, "MemberId can't be empty."),
    ],
)
def test_a_request_that_makes_no_sense_is_refused(
    state: State, fields: dict[str, Any], why: str
) -> None:
    answer = heartbeat(state, **{**JOIN, **fields})

    assert (answer.error_code, answer.error_message) == (InvalidRequest.code, why)
    assert (answer.member_id, answer.member_epoch, answer.heartbeat_interval_ms) == (None, 0, 0)
    assert answer.assignment is None
    assert state.groups.by_id == {}


def test_who_joins_and_owns_something_is_refused(state: State) -> None:
    answer = heartbeat(state, **{**JOIN, "topic_partitions": owning(state, {"t": [0]})})

    assert answer.error_message == "TopicPartitions must be empty when (re-)joining."


def test_an_assignor_that_is_not_there_is_refused(state: State) -> None:
    answer = heartbeat(state, **JOIN, server_assignor="sticky")

    assert (answer.error_code, answer.error_message) == (
        UnsupportedAssignor.code,
        "ServerAssignor sticky is not supported. Supported assignors: uniform, range.",
    )


def test_before_version_1_the_coordinator_makes_the_member_id(state: State) -> None:
    answer = heartbeat(state, version=0, member_id="", **JOIN)
    other = heartbeat(state, version=0, member_id="", **JOIN)

    assert answer.error_code == 0
    assert len(answer.member_id) == 22
    assert answer.member_id != other.member_id
    assert answer.member_id[0] != "-"


def test_before_version_1_a_member_must_know_its_id_to_stay_or_leave(state: State) -> None:
    for epoch in (1, -1):
        answer = heartbeat(state, version=0, member_id="", member_epoch=epoch)

        assert answer.error_message == "MemberId can't be empty."


def test_another_node_does_not_coordinate_the_group() -> None:
    state = made(nodes=2, topics={"t": 1})
    other = 3 - state.groups.coordinator_of("g")

    request = ConsumerGroupHeartbeatRequest(group_id="g", member_id="m", member_epoch=0, **JOIN)
    answer = call(state, request, node=other)

    assert (answer.error_code, answer.error_message) == (NotCoordinator.code, None)


# Groups that are not there, or of the other kind


@pytest.mark.parametrize(
    ("epoch", "why"), [(1, "Consumer group g not found."), (-1, "Group g not found.")]
)
def test_a_group_that_is_not_there_is_joined_only(state: State, epoch: int, why: str) -> None:
    answer = heartbeat(state, member_epoch=epoch)

    assert (answer.error_code, answer.error_message) == (GroupIdNotFound.code, why)


def test_a_classic_group_with_members_is_not_joined(state: State) -> None:
    join(state, version=3)

    joining = heartbeat(state, **JOIN)
    staying = heartbeat(state, member_epoch=1)
    leaving = heartbeat(state, member_epoch=-1)

    assert [each.error_code for each in (joining, staying, leaving)] == [GroupIdNotFound.code] * 3
    assert joining.error_message == (
        "Cannot upgrade classic group g to consumer group because online upgrade is disabled."
    )
    assert staying.error_message == leaving.error_message == "Group g is not a consumer group."
    assert state.groups.by_id["g"].kind == "classic"


def test_an_empty_classic_group_becomes_one_with_its_offsets(state: State) -> None:
    classic = state.groups.classic("g", create=True)

    answer = heartbeat(state, **JOIN)

    assert answer.error_code == 0
    assert state.groups.by_id["g"].kind == "consumer"
    assert state.groups.by_id["g"].offsets is classic.offsets


def test_an_empty_group_becomes_a_classic_one(state: State) -> None:
    consumer = Consumer(state, "m")
    consumer.beat()
    consumer.leave()

    joined = join(state, version=3)
    pass_time(state, now=0.0)

    assert answer_to(state, joined).error_code == 0
    assert state.groups.by_id["g"].kind == "classic"


@pytest.mark.parametrize("classic", [False, True])
def test_a_wrong_pattern_of_the_first_member_makes_no_group(state: State, classic: bool) -> None:
    if classic:
        state.groups.classic("g", create=True)

    answer = heartbeat(state, **{**JOIN, "subscribed_topic_regex": "("})

    assert (answer.error_code, answer.error_message) == (
        InvalidRegularExpression.code,
        "SubscribedTopicRegex `(` is not a valid regular expression: missing closing ).",
    )
    assert [group.kind for group in state.groups.by_id.values()] == ["classic"] * classic


# Joining, staying, leaving


def test_who_joins_is_told_everything(state: State) -> None:
    answer = heartbeat(state, **JOIN)

    assert (answer.error_code, answer.error_message, answer.throttle_time_ms) == (0, None, 0)
    assert (answer.member_id, answer.member_epoch) == ("m", 2)
    assert answer.heartbeat_interval_ms == 500
    assert told(state, answer) == {"t": [0, 1, 2]}


def test_who_stays_is_told_nothing_new(state: State) -> None:
    heartbeat(state, **JOIN)

    answer = heartbeat(state, member_epoch=2)

    assert (answer.member_id, answer.member_epoch, answer.heartbeat_interval_ms) == ("m", 2, 500)
    assert answer.assignment is None


def test_who_says_all_it_can_is_told_what_it_owns(state: State) -> None:
    heartbeat(state, **JOIN)

    full = {**JOIN, "topic_partitions": owning(state, {"t": [0]})}
    answer = heartbeat(state, member_epoch=2, **full)
    by_pattern = {**full, "subscribed_topic_names": None, "subscribed_topic_regex": ""}
    other = heartbeat(state, member_epoch=2, **by_pattern)

    assert told(state, answer) == told(state, other) == {"t": [0, 1, 2]}


@pytest.mark.parametrize("missing", ["rebalance_timeout_ms", "topic_partitions"])
def test_who_does_not_say_all_it_can_is_not(state: State, missing: str) -> None:
    heartbeat(state, **JOIN)

    fields = {name: value for name, value in JOIN.items() if name != missing}

    assert heartbeat(state, member_epoch=2, **fields).assignment is None


def test_a_group_may_have_an_interval_of_its_own(state: State) -> None:
    state.configs.groups["g"] = {"consumer.heartbeat.interval.ms": "1234"}

    assert heartbeat(state, **JOIN).heartbeat_interval_ms == 1234


@pytest.mark.parametrize(("epoch", "instance"), [(-1, None), (-1, "i"), (-2, "i")])
def test_who_leaves_is_told_that_it_has_left(
    state: State, epoch: int, instance: str | None
) -> None:
    heartbeat(state, **JOIN, instance_id=instance)

    answer = heartbeat(state, member_epoch=epoch, instance_id=instance)

    assert (answer.error_code, answer.member_id, answer.member_epoch) == (0, "m", epoch)
    assert (answer.heartbeat_interval_ms, answer.assignment) == (0, None)


def test_a_heartbeat_can_be_made_to_fail(state: State) -> None:
    heartbeat(state, **JOIN)
    state.faults.fail("ConsumerGroupHeartbeat", FencedInstanceId, group="g")

    answer = heartbeat(state, member_epoch=-1)

    assert answer.error_code == FencedInstanceId.code
    assert len(described(state).members) == 1


# Descriptions


def describe(state: State, *groups: str, operations: bool = False, **how: Any) -> Any:
    request = ConsumerGroupDescribeRequest(
        group_ids=list(groups), include_authorized_operations=operations
    )
    return call(state, request, **how).groups


def test_a_group_is_described_with_its_members(state: State) -> None:
    heartbeat(state, **JOIN, instance_id="i", rack_id="r", server_assignor="range")

    [group] = describe(state, "g")
    [member] = group.members

    assert (group.error_code, group.error_message, group.group_id) == (0, None, "g")
    assert (group.group_state, group.group_epoch, group.assignment_epoch) == ("Stable", 2, 2)
    assert (group.assignor_name, group.authorized_operations) == ("range", -(2**31))
    assert (member.member_id, member.instance_id, member.rack_id) == ("m", "i", "r")
    assert (member.member_epoch, member.member_type) == (2, 1)
    assert (member.client_id, member.client_host) == ("tester", "/127.0.0.1")
    assert (member.subscribed_topic_names, member.subscribed_topic_regex) == (["t"], "")
    [owned] = member.assignment.topic_partitions
    assert (owned.topic_id, owned.topic_name) == (state.topics.by_name["t"].id, "t")
    assert owned.partitions == [0, 1, 2]
    assert member.target_assignment == member.assignment


def test_version_0_does_not_tell_the_type_of_a_member(state: State) -> None:
    heartbeat(state, **JOIN)

    [group] = describe(state, "g", version=0)

    assert group.members[0].member_type == -1


def test_what_is_being_given_back_is_described_as_owned(state: State) -> None:
    first, second = Consumer(state, "m"), Consumer(state, "n")
    first.beat()
    second.beat()
    first.beat()

    [old, new] = described(state).members

    assert described(state).group_state == "Reconciling"
    assert [each.partitions for each in old.assignment.topic_partitions] == [[0, 1, 2]]
    assert [each.partitions for each in old.target_assignment.topic_partitions] == [[0, 1]]
    assert new.assignment.topic_partitions == []
    assert [each.partitions for each in new.target_assignment.topic_partitions] == [[2]]


def test_a_topic_that_is_gone_is_not_described(state: State) -> None:
    heartbeat(state, **{**JOIN, "subscribed_topic_names": ["t", "u"]})

    state.topics.delete(state.topics.by_name["u"])
    [member] = described(state).members

    assert [each.topic_name for each in member.assignment.topic_partitions] == ["t"]
    assert [each.topic_name for each in member.target_assignment.topic_partitions] == ["t"]


def test_the_default_assignor_is_the_first_that_is_enabled() -> None:
    state = made(topics={"t": 1}, group_consumer_assignors=("range", "uniform"))
    heartbeat(state, **JOIN)

    assert described(state).assignor_name == "range"


def test_an_empty_group_is_described_without_members(state: State) -> None:
    heartbeat(state, **JOIN)
    heartbeat(state, member_epoch=-1)

    group = described(state)

    assert (group.group_state, group.group_epoch, group.assignment_epoch) == ("Empty", 3, 2)
    assert group.members == []


def test_what_one_may_do_with_a_group_is_told_on_demand(state: State) -> None:
    heartbeat(state, **JOIN)

    [group, missing] = describe(state, "g", "nothing", operations=True)

    assert group.authorized_operations == 3400
    assert missing.authorized_operations == -(2**31)


def test_a_group_that_cannot_be_described_has_its_own_error(state: State) -> None:
    heartbeat(state, **JOIN)
    state.groups.classic("old", create=True)

    [nameless, missing, classic, good] = describe(state, "nothing", "", "old", "g")

    assert missing.error_code == GroupIdNotFound.code
    assert missing.error_message == "Group nothing not found."
    assert (missing.group_id, missing.group_state, missing.members) == ("nothing", "", [])
    assert (nameless.error_code, nameless.error_message) == (InvalidGroupId.code, None)
    assert classic.error_message == "Group old is not a consumer group."
    assert good.error_code == 0


def test_another_node_does_not_describe_the_group() -> None:
    state = made(nodes=2, topics={"t": 1})
    other = 3 - state.groups.coordinator_of("g")

    group = described(state, node=other)

    assert (group.error_code, group.error_message) == (NotCoordinator.code, None)


def test_a_deleted_group_is_not_found(state: State) -> None:
    heartbeat(state, **JOIN)
    heartbeat(state, member_epoch=-1)
    state.groups.delete(state.groups.get("g"))

    assert described(state).error_code == GroupIdNotFound.code


def test_nothing_of_a_deleted_group_happens_later(state: State) -> None:
    first, second = Consumer(state, "m"), Consumer(state, "n", pattern="t")
    first.beat()
    second.beat()
    pass_time(state, now=0.0)
    second.beat()
    first.beat()
    Consumer(state, "o", pattern="u").beat()

    state.groups.delete(state.groups.get("g"))

    assert state.agenda.next_at > 60.0  # the rebalance time-out; a session is shorter
