"""How a member of a classic group keeps its place, and how it goes."""

from __future__ import annotations

from math import inf

import pytest

from kafka_aio.consumer.membership.member import Assign, Lose, Revoke, Send, Tell
from kafka_aio.errors import (
    BrokerError,
    CoordinatorLoadInProgress,
    FencedInstanceId,
    GroupAuthorizationFailed,
    IllegalGeneration,
    KafkaConnectionError,
    MemberIdRequired,
    RebalanceInProgress,
    UnknownMemberId,
)
from kafka_aio.protocol.messages.groups import (
    HeartbeatRequest,
    HeartbeatResponse,
    JoinGroupRequest,
    LeaveGroupRequest,
    LeaveGroupResponse,
    MemberIdentity,
    SyncGroupRequest,
)
from tests.unit.consumer.membership.classic import (
    A0,
    A1,
    COOPERATIVE,
    INTERVAL,
    REBALANCE,
    SESSION,
    Played,
    joined,
    synced,
)

ALIVE = HeartbeatResponse(error_code=0)


def leaving(reason: str) -> LeaveGroupRequest:
    return LeaveGroupRequest(group_id="g", members=[MemberIdentity(member_id="me", reason=reason)])


# Heartbeats


def test_a_heartbeat_goes_out_each_interval_and_one_at_a_time() -> None:
    played = Played()
    played.becomes_stable(A0, generation=4)
    assert played.member.deadline == played.now + INTERVAL

    (send,) = played.after(INTERVAL)

    assert isinstance(send, Send)
    assert send.timeout == SESSION
    assert send.request == HeartbeatRequest(group_id="g", generation_id=4, member_id="me")
    assert played.after(2 * INTERVAL) == []
    played.answer(send.request, ALIVE)
    first = played.sent(HeartbeatRequest)
    played.answer(first, ALIVE)
    assert (played.member.tally.heartbeats, played.member.tally.rebalances) == (2, 1)
    assert played.member.deadline == played.now + INTERVAL


def test_heartbeats_go_on_while_the_user_is_busy_with_a_step() -> None:
    played = Played()
    played.becomes_stable(A0)
    played.member.rejoin("again")
    revoke = played.step(Revoke)

    for _ in range(20):
        played.refuse(played.heartbeat(), RebalanceInProgress)

    assert played.now > 100 + SESSION
    played.done(revoke)
    assert played.sent(JoinGroupRequest).member_id == "me"


def test_no_heartbeat_goes_out_while_it_joins() -> None:
    played = Played(COOPERATIVE)
    played.becomes_stable(A0)
    out = played.heartbeat()
    played.member.rejoin("again")
    join = played.sent(JoinGroupRequest)
    played.refuse(out, GroupAuthorizationFailed)

    assert (played.after(REBALANCE), played.member.deadline) == ([], inf)
    played.answer(join, joined(generation=2, protocol=played.protocol))
    played.asks()
    played.syncs(A0)
    played.assigns()
    assert played.heartbeat().generation_id == 2


@pytest.mark.parametrize("is_answered", [False, True])
def test_a_heartbeat_that_fails_is_repeated_after_pauses_that_grow(is_answered: bool) -> None:
    played = Played()
    played.becomes_stable(A0)

    for pause in [0.1, 0.2, 0.4]:
        heartbeat = played.heartbeat()
        if is_answered:
            played.refuse(heartbeat, CoordinatorLoadInProgress)
        else:
            played.fail(heartbeat, KafkaConnectionError())
        assert played.member.deadline == pytest.approx(played.now + pause)

    played.answer(played.heartbeat(), ALIVE)
    played.fail(played.heartbeat(), KafkaConnectionError())
    assert played.member.deadline == pytest.approx(played.now + 0.1)


def test_pauses_between_heartbeats_begin_anew_with_a_generation() -> None:
    played = Played(COOPERATIVE)
    played.becomes_stable(A0)
    played.fail(played.heartbeat(), KafkaConnectionError())
    played.fail(played.heartbeat(), KafkaConnectionError())
    played.member.rejoin("again")
    played.becomes_stable(A0, generation=2)

    played.fail(played.heartbeat(), KafkaConnectionError())

    assert played.member.deadline == pytest.approx(played.now + 0.1)


def test_an_error_of_heartbeats_that_stays_is_told_and_they_go_on() -> None:
    played = Played()
    played.becomes_stable(A0)
    played.refuse(played.heartbeat(), GroupAuthorizationFailed)

    assert isinstance(played.step(Tell).error, GroupAuthorizationFailed)
    assert played.member.owned == {A0}
    assert played.member.deadline == played.now + INTERVAL
    played.heartbeat()


# Nobody asks


def test_who_is_not_asked_for_too_long_leaves_and_comes_back_when_asked() -> None:
    played = Played()
    played.becomes_stable(A0)
    heartbeat = played.heartbeat()

    (leave,) = played.after(REBALANCE)

    assert len(played.warned) == 1
    assert played.member.is_overdue
    assert isinstance(leave, Send)
    assert leave.request == leaving("no records were asked for within max.poll.interval.ms")
    assert played.member.generation == -1
    assert played.member.owned == {A0}
    played.refuse(heartbeat, GroupAuthorizationFailed)  # of no interest any more
    played.answer(leave.request, LeaveGroupResponse(error_code=0))
    assert (played.after(60), played.member.deadline) == ([], inf)
    assert len(played.warned) == 1
    played.asks()
    assert not played.member.is_overdue
    assert played.loses() == (A0,)
    assert played.sent(JoinGroupRequest).member_id == ""


def test_who_is_not_asked_for_too_long_is_told_why_and_what_to_do() -> None:
    played = Played()
    played.becomes_stable(A0)
    played.heartbeat()
    played.after(REBALANCE + 7)

    (text,) = played.warned
    assert text.startswith("group 'g': no records were asked for in 310.0 s")
    assert "max_poll_interval_ms=300000" in text
    for advice in ("max_poll_records", "raise max_poll_interval_ms", "tasks"):
        assert advice in text


@pytest.mark.parametrize("error", [UnknownMemberId, IllegalGeneration])
def test_who_was_thrown_out_and_does_not_ask_is_overdue_all_the_same(
    error: type[BrokerError],
) -> None:
    played = Played()
    played.becomes_stable(A0)
    played.refuse(played.heartbeat(), error)
    lose = played.step(Lose)
    early = played.after(REBALANCE - 10), played.member.is_overdue
    late = played.after(10)
    quiet = played.after(REBALANCE)

    assert early == ([], False)
    assert [type(each) for each in late] == ([] if error is UnknownMemberId else [Send])
    assert (quiet, len(played.warned), played.member.is_overdue) == ([], 1, True)
    played.asks()
    played.done(lose)
    assert played.sent(JoinGroupRequest).member_id == ""


def test_who_left_for_another_reason_is_not_overdue() -> None:
    played = Played()
    played.becomes_stable(A0)
    played.after(REBALANCE)
    played.member.leave("bye")

    assert not played.member.is_overdue


def test_who_is_asked_stays() -> None:
    played = Played()
    played.becomes_stable(A0)
    played.now += REBALANCE - 1
    played.asks()
    played.heartbeat()

    assert played.after(REBALANCE - 1) == []
    assert played.member.deadline == played.now + 1
    assert (played.warned, played.member.is_overdue) == ([], False)


def test_a_static_member_that_is_not_asked_goes_without_a_word() -> None:
    played = Played(instance_id="i")
    played.becomes_stable(A0)
    played.heartbeat()

    assert played.after(REBALANCE) == []
    assert played.member.generation == -1
    assert len(played.warned) == 1
    played.asks()
    assert played.loses() == (A0,)
    assert played.sent(JoinGroupRequest).group_instance_id == "i"


def test_a_member_is_not_overdue_while_it_joins_but_afterwards() -> None:
    played = Played()
    join = played.sent(JoinGroupRequest)
    assert played.after(REBALANCE) == []

    played.answer(join, joined())

    assert isinstance(played.step(Send).request, LeaveGroupRequest)


def test_who_is_overdue_during_a_step_loses_the_rest_afterwards() -> None:
    played = Played(COOPERATIVE)
    played.becomes_stable(A0, A1)
    played.member.rejoin("again")
    played.joins(2)
    played.syncs(A0)
    revoke = played.step(Revoke)
    played.heartbeat()
    assert len(played.after(REBALANCE)) == 1
    played.done(revoke)
    assert played.steps() == []
    played.asks()

    assert played.loses() == (A0,)


# Leaving


@pytest.mark.parametrize(
    ("instance_id", "stays", "says_so"),
    [(None, None, True), ("i", None, False), ("i", False, True), (None, True, False)],
)
def test_who_says_so_when_it_leaves(
    instance_id: str | None, stays: bool | None, says_so: bool
) -> None:
    played = Played(instance_id=instance_id)
    played.becomes_stable(A0)

    request = played.member.leave("bye", stays=stays)

    assert (request is not None) == says_so
    assert played.member.owned == set()
    assert played.member.generation == -1
    played.asks()
    assert (played.steps(), played.member.deadline, played.member.state) == ([], inf, "out")


def test_who_left_comes_back_when_it_wants_something_and_is_asked() -> None:
    played = Played(instance_id="i")
    played.becomes_stable(A0)
    played.refuse(played.heartbeat(), FencedInstanceId)
    played.member.leave("bye")
    assert played.member.state == "out"
    played.wants("a")
    assert played.steps() == []

    played.asks()

    assert played.sent(JoinGroupRequest).member_id == ""


def test_who_was_given_an_id_only_leaves_too() -> None:
    played = Played()
    played.refuse(played.sent(JoinGroupRequest), MemberIdRequired, member_id="me")

    assert played.member.leave("bye") == leaving("bye")


def test_who_is_not_known_has_nothing_to_say() -> None:
    assert Played().member.leave("bye") is None


def test_what_is_answered_after_leaving_changes_nothing() -> None:
    played = Played()
    join = played.sent(JoinGroupRequest)
    played.member.leave("bye")
    played.wants("a")
    played.asks()
    played.answer(join, joined("ghost", 9))
    assert (played.member.member_id, played.member.generation) == ("", -1)
    played.joins()
    sync = played.sent(SyncGroupRequest)
    played.member.leave("bye")

    played.answer(sync, synced(A0))

    assert played.steps() == []


def test_a_step_that_ends_after_leaving_changes_nothing() -> None:
    played = Played()
    played.joins()
    played.syncs(A0)
    assign = played.step(Assign)
    played.member.leave("bye")
    played.wants("a")
    played.asks()
    assert played.steps() == []

    played.done(assign)

    assert played.member.owned == set()
    played.becomes_stable(A1)


def test_what_was_to_be_told_is_not_told_after_leaving() -> None:
    played = Played()
    played.refuse(played.sent(JoinGroupRequest), GroupAuthorizationFailed)

    played.member.leave("bye")

    assert played.steps() == []
