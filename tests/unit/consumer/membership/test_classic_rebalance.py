"""What a member of a classic group owns: what it gives back, loses and gets, and in which order."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from kafka_aio.consumer.assignors.assignor import Assignor
from kafka_aio.consumer.membership.member import Assign, Lose, Revoke, Tell
from kafka_aio.errors import (
    BrokerError,
    CoordinatorNotAvailable,
    FencedInstanceId,
    GroupAuthorizationFailed,
    GroupMaxSizeReached,
    IllegalGeneration,
    InconsistentGroupProtocol,
    InvalidGroupId,
    InvalidSessionTimeout,
    KafkaError,
    KafkaTimeoutError,
    ProtocolError,
    RebalanceInProgress,
    UnknownMemberId,
    UnsupportedVersion,
)
from kafka_aio.protocol.messages.groups import (
    HeartbeatRequest,
    JoinGroupRequest,
    JoinGroupResponse,
    SyncGroupRequest,
    SyncGroupResponse,
)
from tests.unit.consumer.membership.classic import (
    A0,
    A1,
    A2,
    B0,
    COOPERATIVE,
    EAGER,
    Played,
    joined,
    synced,
    told,
)


def test_an_eager_member_gives_all_back_before_it_joins_again() -> None:
    played = Played(EAGER)
    played.becomes_stable(A0, A1)
    played.refuse(played.heartbeat(), RebalanceInProgress)
    revoke = played.step(Revoke)
    assert (revoke.partitions, played.member.state) == ((A0, A1), "revoking")
    assert played.member.owned == {A0, A1}
    assert played.steps() == []

    played.done(revoke)

    assert played.member.owned == set()
    assert (played.joins(2).reason, played.member.generation) == ("the group is rebalancing", 2)
    played.syncs(A1, A2)
    assert played.assigns() == (A1, A2)


def test_it_is_not_stable_before_its_assignment_is_carried_out() -> None:
    played = Played(EAGER)
    played.becomes_stable(A0, A1)
    played.member.rejoin("the test wants it")
    before = played.member.state
    played.done(played.step(Revoke))
    played.joins(2)

    played.syncs(A1)

    assert (before, played.member.state) == ("revoking", "assigning")
    played.assigns()
    assert played.member.state == "stable"


def test_a_cooperative_member_keeps_what_it_has() -> None:
    played = Played(COOPERATIVE)
    played.becomes_stable(A0)
    played.refuse(played.heartbeat(), RebalanceInProgress)
    played.joins(2)
    played.syncs(A0, A1)

    assert played.assigns() == (A1,)
    assert played.member.owned == {A0, A1}
    assert played.steps() == []


def test_a_cooperative_member_that_gave_something_back_joins_again_at_once() -> None:
    played = Played(COOPERATIVE)
    played.becomes_stable(A0, A1)
    played.member.rejoin("again")
    played.joins(2)
    played.syncs(A0, A2)

    assert played.revokes() == (A1,)
    assert played.member.owned == {A0}
    assert played.assigns() == (A2,)
    again = played.sent(JoinGroupRequest)
    assert again.reason == "partitions were revoked, for others to have them"
    assert told(again).owned == (A0, A2)


def test_the_user_is_told_of_an_assignment_even_if_nothing_is_new() -> None:
    played = Played(COOPERATIVE)
    played.becomes_stable(A0)
    played.member.rejoin("again")
    played.joins(2)
    played.syncs(A0)

    assert played.assigns() == ()


@pytest.mark.parametrize("assignors", [EAGER, COOPERATIVE])
@pytest.mark.parametrize(("error", "member_id"), [(UnknownMemberId, ""), (IllegalGeneration, "me")])
def test_who_is_not_in_the_group_any_more_loses_all_and_joins_again(
    assignors: Sequence[Assignor], error: type[BrokerError], member_id: str
) -> None:
    played = Played(assignors)
    played.becomes_stable(A0, A1)
    played.refuse(played.heartbeat(), error)

    assert played.member.generation == -1
    assert played.loses() == (A0, A1)
    again = played.sent(JoinGroupRequest)
    assert (again.member_id, told(again).generation) == (member_id, -1)
    assert again.reason == f"the place was lost: {error.__name__}"


@pytest.mark.parametrize("error", [UnknownMemberId, IllegalGeneration])
@pytest.mark.parametrize("at_sync", [False, True])
def test_a_cooperative_member_may_lose_all_while_it_joins(
    error: type[BrokerError], at_sync: bool
) -> None:
    played = Played(COOPERATIVE)
    played.becomes_stable(A0)
    played.member.rejoin("again")
    if at_sync:
        played.joins(2)
        played.refuse(played.sent(SyncGroupRequest), error)
    else:
        played.refuse(played.sent(JoinGroupRequest), error)

    assert played.loses() == (A0,)
    played.becomes_stable(A0, generation=5)


@pytest.mark.parametrize("at_sync", [False, True])
def test_a_cooperative_member_keeps_all_if_the_rebalance_only_begins_anew(at_sync: bool) -> None:
    played = Played(COOPERATIVE)
    played.becomes_stable(A0)
    played.member.rejoin("again")
    if at_sync:
        played.joins(2)
        played.refuse(played.sent(SyncGroupRequest), RebalanceInProgress)
    else:
        played.refuse(played.sent(JoinGroupRequest), RebalanceInProgress)

    assert told(played.sent(JoinGroupRequest)).owned == (A0,)


def test_who_falls_out_during_a_revocation_loses_only_what_is_left() -> None:
    played = Played(COOPERATIVE)
    played.becomes_stable(A0, A1)
    played.member.rejoin("again")
    played.joins(2)
    played.syncs(A0)
    revoke = played.step(Revoke)
    played.refuse(played.heartbeat(), UnknownMemberId)
    assert played.steps() == []

    played.done(revoke)

    assert played.loses() == (A0,)
    played.becomes_stable(A1, generation=3)
    assert played.member.owned == {A1}


def test_who_falls_out_while_it_is_told_of_an_assignment_loses_that() -> None:
    played = Played()
    played.joins()
    played.syncs(A0)
    assign = played.step(Assign)
    played.refuse(played.heartbeat(), UnknownMemberId)

    played.done(assign)

    assert played.loses() == (A0,)


def test_what_is_wanted_no_more_is_not_assigned_any_more() -> None:
    played = Played(COOPERATIVE, topics=["a", "b"])
    played.becomes_stable(A0, A1)
    played.member.rejoin("again")
    played.joins(2)
    played.syncs(A0, B0)
    revoke = played.step(Revoke)
    played.wants("a")
    played.done(revoke)

    assert played.assigns() == ()
    assert played.member.owned == {A0}
    assert told(played.sent(JoinGroupRequest)).topics == ("a",)


def test_a_step_that_is_not_under_way_changes_nothing() -> None:
    played = Played()
    played.becomes_stable(A0)

    played.done(Revoke((A0,)))
    played.done(Lose((A0,)))

    assert played.member.owned == {A0}


def test_answers_to_older_requests_change_nothing() -> None:
    played = Played(COOPERATIVE)
    first = played.sent(JoinGroupRequest)
    played.fail(first, KafkaTimeoutError())
    played.now = played.member.deadline
    played.becomes_stable(A0, generation=2)
    heartbeat = played.heartbeat()
    played.member.rejoin("again")
    played.joins(3)
    sync = played.sent(SyncGroupRequest)

    played.answer(first, joined("ghost", 9))
    played.refuse(heartbeat, UnknownMemberId)
    played.refuse(first, UnknownMemberId)
    played.fail(first, GroupAuthorizationFailed())

    assert (played.member.member_id, played.member.generation) == ("me", 3)
    assert played.steps() == []
    played.answer(sync, synced(A0))
    played.refuse(sync, IllegalGeneration)
    assert played.assigns() == ()


@pytest.mark.parametrize(
    "error",
    [
        GroupAuthorizationFailed,
        GroupMaxSizeReached,
        InconsistentGroupProtocol,
        InvalidGroupId,
        InvalidSessionTimeout,
    ],
)
@pytest.mark.parametrize("at_sync", [False, True])
def test_an_error_that_stays_is_told_and_tried_again_when_asked(
    error: type[BrokerError], at_sync: bool
) -> None:
    played = Played()
    if at_sync:
        played.joins()
    played.refuse(played.sent(SyncGroupRequest if at_sync else JoinGroupRequest), error)

    told_of = played.step(Tell).error
    assert isinstance(told_of, error)
    assert told_of.where == "group 'g'"
    assert played.after(1) == []
    played.asks()
    played.now -= 1
    assert played.steps() == []
    played.now += 0.1
    assert played.sent(JoinGroupRequest).reason == f"the rebalance failed: {error.__name__}"


@pytest.mark.parametrize("error", [UnsupportedVersion("too old"), GroupAuthorizationFailed()])
def test_a_request_that_cannot_be_sent_is_told_of(error: KafkaError) -> None:
    played = Played()
    played.fail(played.sent(JoinGroupRequest), error)

    assert played.step(Tell).error is error
    assert played.after(60) == []


@pytest.mark.parametrize("request_type", [JoinGroupRequest, SyncGroupRequest, HeartbeatRequest])
def test_a_fenced_member_stays_out_until_it_subscribes_anew(request_type: type[object]) -> None:
    played = Played(COOPERATIVE, instance_id="i")
    played.becomes_stable(A0)
    if request_type is HeartbeatRequest:
        played.refuse(played.heartbeat(), FencedInstanceId)
    else:
        played.member.rejoin("again")
        if request_type is SyncGroupRequest:
            played.joins(2)
            played.refuse(played.sent(SyncGroupRequest), FencedInstanceId)
        else:
            played.refuse(played.sent(JoinGroupRequest), FencedInstanceId)

    tell, lose = played.steps()
    assert isinstance(tell, Tell)
    assert isinstance(tell.error, FencedInstanceId)
    assert isinstance(lose, Lose)
    played.done(lose)
    assert (played.after(60), played.member.state) == ([], "fenced")
    assert played.member.barred is tell.error
    played.asks()
    assert isinstance(played.step(Tell).error, FencedInstanceId)
    assert (played.after(60), played.member.state) == ([], "fenced")
    played.wants("a")
    assert played.member.barred is None
    played.asks()
    assert played.sent(JoinGroupRequest).member_id == ""


def test_a_fenced_member_is_told_each_time_it_is_asked_after_pauses_that_grow() -> None:
    played = Played(instance_id="i")
    played.refuse(played.sent(JoinGroupRequest), FencedInstanceId)
    errors = [played.step(Tell).error]
    pauses = []
    for _ in range(6):
        played.asks()
        at = max(played.now, played.member.deadline)
        pauses.append(round(at - played.now, 3))
        played.now = at
        errors.append(played.step(Tell).error)

    assert pauses == [0.0, 0.2, 0.4, 0.8, 1.0, 1.0]
    assert all(isinstance(each, FencedInstanceId) for each in errors)
    assert len({id(each) for each in errors}) == 7  # each has its own traceback


def test_who_subscribes_anew_after_it_was_fenced_is_asked_first() -> None:
    played = Played(instance_id="i")
    played.refuse(played.sent(JoinGroupRequest), FencedInstanceId)
    played.step(Tell)

    played.wants("a")

    assert (played.after(60), played.member.state) == ([], "out")


@pytest.mark.parametrize(
    ("answer", "text"),
    [
        (joined(protocol="other"), "'other', which we do not offer"),
        (joined(protocol=None), "None, which we do not offer"),
        (joined(leader="me", members=[("another", b"")]), "not among its members"),
        (joined(generation=-1), "without a generation"),
        (joined(member_id=""), "without a member id"),
        (joined(protocol_type="connect"), "the group is one of 'connect'"),
    ],
)
def test_a_join_that_cannot_be_so_is_told_and_not_repeated_at_once(
    answer: JoinGroupResponse, text: str
) -> None:
    played = Played()
    played.answer(played.sent(JoinGroupRequest), answer)

    assert text in str(played.step(Tell).error)
    played.asks()
    assert played.steps() == []
    assert played.member.deadline == played.now + 0.1


@pytest.mark.parametrize(
    ("answer", "error"),
    [
        (synced(assignment=b"\0"), ProtocolError),
        (synced(assignment=b"\0\1\x7f\xff\xff\xff"), ProtocolError),
        (synced(A0._replace(partition=-1)), ProtocolError),
        (synced(protocol_type="connect"), InconsistentGroupProtocol),
        (synced(protocol_name="sticky"), InconsistentGroupProtocol),
    ],
)
def test_a_sync_that_cannot_be_so_is_told_and_not_repeated_at_once(
    answer: SyncGroupResponse, error: type[KafkaError]
) -> None:
    played = Played()
    played.joins()
    played.answer(played.sent(SyncGroupRequest), answer)

    assert isinstance(played.step(Tell).error, error)
    played.asks()
    assert played.steps() == []
    assert played.member.deadline == played.now + 0.1


def test_an_assignment_for_less_than_is_wanted_by_now_is_joined_for_at_once() -> None:
    played = Played(topics=["a", "b"])
    played.joins()
    played.wants("a")
    played.syncs(A0, B0)

    assert told(played.sent(JoinGroupRequest)).topics == ("a",)
    assert played.member.owned == set()


def test_an_assignment_that_nobody_wanted_is_joined_for_again_with_pauses() -> None:
    played = Played()

    for pause in [0.1, 0.2, 0.4]:
        played.joins()
        played.syncs(A0, B0)
        assert played.steps() == []
        assert played.member.deadline == pytest.approx(played.now + pause)
        played.now = played.member.deadline

    assert played.sent(JoinGroupRequest).reason == "the assignment does not match the subscription"
    assert played.member.owned == set()


def test_no_assignment_at_all_is_an_empty_one() -> None:
    played = Played()
    played.joins()
    played.answer(played.sent(SyncGroupRequest), synced(assignment=b""))

    assert played.assigns() == ()
    assert played.member.state == "stable"


def test_the_group_may_move_to_another_coordinator_while_it_is_stable() -> None:
    played = Played()
    played.becomes_stable(A0)
    played.refuse(played.heartbeat(), CoordinatorNotAvailable)

    assert played.member.owned == {A0}
    assert played.member.deadline == played.now + 0.1
    played.heartbeat()
