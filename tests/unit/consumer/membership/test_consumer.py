from __future__ import annotations

from math import inf

import pytest

from kafka_aio.consumer.membership.member import Assign, Lose, Revoke, Send, ShareOut
from kafka_aio.errors import (
    GroupAuthorizationFailed,
    StateError,
    UnknownMemberId,
)
from tests.unit.consumer.membership.coordinated import (
    INTERVAL,
    MAX_POLL,
    Coordinated,
    answer,
    partitions,
    slots,
)

T01 = {"t": [0, 1]}

# Joining


def test_it_joins_once_something_is_wanted_and_records_are_asked_for() -> None:
    idle, asking, willing = Coordinated(), Coordinated(), Coordinated("t")
    asking.ask()

    assert [each.poll() for each in (idle, asking, willing)] == [[], [], []]
    assert [each.member.deadline for each in (idle, asking, willing)] == [inf, inf, inf]

    willing.ask()

    assert willing.member.deadline <= willing.now
    assert willing.heartbeat().member_epoch == 0
    assert (willing.member.state, willing.member.generation) == ("joining", -1)


def test_the_answer_makes_it_a_member() -> None:
    it = Coordinated("t")

    it.join(epoch=3, target=T01)

    assert (it.member.generation, it.member.owned) == (3, frozenset())
    assert it.member.state == "reconciling"


def test_an_older_broker_may_name_the_member() -> None:
    it = Coordinated("t")
    it.ask()
    it.heartbeat()

    it.hear(1, {}, member_id="other")

    assert it.member.member_id == "other"


def test_a_member_heartbeats_by_the_interval_of_the_broker() -> None:
    it = Coordinated("t")
    it.settle()

    assert it.member.deadline == INTERVAL
    assert it.poll(after=INTERVAL - 0.1) == []
    assert it.heartbeat(after=0.1).member_epoch == 1


def test_one_heartbeat_is_out_at_a_time() -> None:
    it = Coordinated("t")
    it.settle()
    it.heartbeat(after=INTERVAL)

    assert it.poll(after=INTERVAL * 3) == []

    it.hear(1)

    assert it.heartbeat().member_epoch == 1


# Targets


def test_a_target_is_assigned_then_acknowledged_at_once() -> None:
    it = Coordinated("t")
    it.join(target=T01)

    assign = it.only(Assign)
    before = it.member.owned
    it.done(assign)

    assert (assign.partitions, assign.added) == (partitions(t=[0, 1]), partitions(t=[0, 1]))
    assert (before, it.member.owned) == (frozenset(), frozenset(assign.partitions))
    assert it.member.state == "acknowledging"
    assert it.heartbeat().topic_partitions == slots(T01)
    assert it.member.state == "stable"


def test_what_is_not_in_the_target_is_revoked_before_the_rest_is_assigned() -> None:
    it = Coordinated("t", "u")
    it.settle(target=T01)
    it.heartbeat(after=INTERVAL)
    it.hear(2, {"t": [1], "u": [0]})

    revoke = it.only(Revoke)
    during = it.member.owned
    it.done(revoke)
    assign = it.only(Assign)
    it.done(assign)

    assert revoke.partitions == partitions(t=[0])
    assert during == set(partitions(t=[0, 1]))
    assert (assign.partitions, assign.added) == (partitions(t=[1], u=[0]), partitions(u=[0]))
    assert it.heartbeat().topic_partitions == slots({"t": [1], "u": [0]})


def test_heartbeats_go_on_while_a_step_of_the_user_runs() -> None:
    it = Coordinated("t")
    it.join(target=T01)
    step = it.only(Assign)

    beats = []
    for _ in range(3):
        beats.append(it.heartbeat(after=INTERVAL))
        it.hear(1)
    it.done(step)

    assert [each.topic_partitions for each in beats] == [None] * 3
    assert it.heartbeat().topic_partitions == slots(T01)


def test_a_newer_target_is_taken_after_the_reconciliation_under_way() -> None:
    it = Coordinated("t", "u")
    it.join(target=T01)
    step = it.only(Assign)
    for target in ({"t": [0]}, {"u": [3]}):
        it.heartbeat(after=INTERVAL)
        it.hear(2, target)

    it.done(step)
    steps = it.poll()

    assert [type(each) for each in steps] == [Revoke, Send]
    assert isinstance(steps[0], Revoke)
    assert steps[0].partitions == partitions(t=[0, 1])
    assert it.out[-1].topic_partitions == slots(T01)


def test_the_same_target_again_is_no_news() -> None:
    it = Coordinated("t")
    it.settle(target=T01)
    it.heartbeat(after=INTERVAL)

    it.hear(2, T01)

    assert (it.poll(), it.member.state, it.member.generation) == ([], "stable", 2)


def test_an_empty_first_target_is_told_to_the_user() -> None:
    it = Coordinated("t")

    it.join(target={})

    assert it.only(Assign).partitions == ()


def test_topics_without_a_name_are_left_out_until_the_metadata_has_them() -> None:
    it = Coordinated("t", "v")
    it.join(target={"t": [0], "v": [1]})
    [unresolved] = it.member.unresolved
    it.take()
    first = it.out[-1]
    it.hear(1)
    it.member.metadata_changed(now=it.now)

    assert first.topic_partitions == slots({"t": [0]})
    assert (it.poll(), it.member.state) == ([], "reconciling")

    it.names[unresolved] = "v"
    it.member.metadata_changed(now=it.now)
    it.take()

    assert it.out[-1].topic_partitions == slots({"t": [0], "v": [1]})
    assert (it.member.unresolved, it.member.state) == (frozenset(), "stable")


def test_an_answer_with_an_older_epoch_changes_nothing() -> None:
    it = Coordinated("t")
    it.settle(epoch=5, target=T01)
    it.heartbeat(after=INTERVAL)

    it.hear(4, {"t": [0]})

    assert (it.poll(), it.member.generation) == ([], 5)
    assert it.member.owned == set(partitions(t=[0, 1]))


def test_nobody_is_asked_to_share_out() -> None:
    it = Coordinated("t")
    asked = ShareOut(None, (), frozenset())  # type: ignore[arg-type]  # it is not looked at

    with pytest.raises(StateError, match="coordinator"):
        it.member.shared_out(asked, {}, now=0.0)


# Who does not ask for records


@pytest.mark.parametrize(("instance_id", "epoch"), [(None, -1), ("i", -2)])
def test_who_does_not_ask_for_records_leaves_then_loses_all_when_it_does(
    instance_id: str | None, epoch: int
) -> None:
    it = Coordinated("t", instance_id=instance_id)
    it.settle(target=T01)
    for _ in range(int(MAX_POLL / INTERVAL) - 1):
        it.heartbeat(after=INTERVAL)
        it.hear(1)

    leave = it.heartbeat(after=INTERVAL)
    state = it.member.state
    it.hear(epoch)
    quiet = it.poll(after=MAX_POLL)

    assert (leave.member_epoch, leave.instance_id) == (epoch, instance_id)
    assert (state, quiet, it.member.deadline) == ("stale", [], inf)
    assert it.member.owned == set(partitions(t=[0, 1]))
    assert it.member.is_overdue
    (text,) = it.warned
    assert text.startswith("group 'g': no records were asked for in 300.0 s")
    assert "max_poll_interval_ms=300000" in text

    it.ask()
    assert not it.member.is_overdue
    lose = it.only(Lose)
    it.done(lose)

    assert lose.partitions == partitions(t=[0, 1])
    assert it.heartbeat().member_epoch == 0


def test_asking_for_records_keeps_a_member_in() -> None:
    it = Coordinated("t")
    it.settle()
    it.heartbeat(after=MAX_POLL - 1)
    it.hear(1)

    it.ask()

    assert it.heartbeat(after=MAX_POLL - 1).member_epoch == 1
    it.hear(1)
    assert it.member.deadline == it.now + 1


def test_a_stale_member_leaves_when_its_heartbeat_is_back_and_does_not_heed_it() -> None:
    it = Coordinated("t")
    it.settle()
    it.heartbeat(after=MAX_POLL - 1)

    assert (it.poll(after=1), it.member.state) == ([], "leaving")
    assert it.member.is_overdue
    assert (it.member.tally.heartbeats, it.member.tally.rebalances) == (3, 1)

    it.hear(7, T01)

    it.ask()
    assert it.heartbeat().member_epoch == -1
    assert it.member.generation == -1
    assert it.member.deadline == inf
    it.hear(-1)
    assert it.heartbeat().member_epoch == 0


def test_a_leave_that_fails_is_not_sent_again() -> None:
    it = Coordinated("t")
    it.settle()
    it.heartbeat(after=MAX_POLL)

    it.fail()
    it.ask()

    assert it.heartbeat().member_epoch == 0


def test_a_step_that_outlasts_the_membership_ends_before_all_is_lost() -> None:
    it = Coordinated("t")
    it.settle(target=T01)
    it.heartbeat(after=INTERVAL)
    it.hear(2, {"t": [0]})
    revoke = it.only(Revoke)
    it.heartbeat(after=MAX_POLL)
    it.hear(-1)
    it.ask()

    assert it.poll() == []

    it.done(revoke)

    assert it.only(Lose).partitions == partitions(t=[0])


def test_who_was_thrown_out_and_does_not_ask_is_overdue_all_the_same() -> None:
    it = Coordinated("t")
    it.settle(target=T01)
    it.heartbeat(after=INTERVAL)
    it.refuse(UnknownMemberId())
    lose = it.only(Lose)
    early = it.poll(after=MAX_POLL - 10), it.member.is_overdue
    late = it.poll(after=10)

    assert early == ([], False)
    assert (late, len(it.warned), it.member.is_overdue) == ([], 1, True)
    it.ask()
    it.done(lose)
    assert it.heartbeat().member_epoch == 0


def test_who_did_not_ask_while_all_was_lost_does_not_join_for_nothing() -> None:
    it = Coordinated("t")
    it.settle(target=T01)
    it.heartbeat(after=INTERVAL)
    it.refuse(UnknownMemberId())
    lose = it.only(Lose)
    it.now += MAX_POLL

    it.done(lose)

    assert (it.poll(), it.member.state, it.member.deadline) == ([], "stale", inf)
    it.ask()
    assert it.heartbeat().member_epoch == 0


# Other wishes


def test_another_subscription_is_told_at_once() -> None:
    it = Coordinated("t")
    it.settle()

    it.subscribe("u")

    beat = it.heartbeat()
    assert (beat.subscribed_topic_names, beat.topic_partitions) == (["u"], None)
    it.hear(1)
    assert it.poll() == []


def test_a_wish_to_rejoin_is_a_heartbeat_at_once() -> None:
    it = Coordinated("t")
    it.settle()

    it.member.rejoin("the user wants it")

    assert it.heartbeat().member_epoch == 1
    it.hear(1)
    assert it.poll() == []


@pytest.mark.parametrize(
    ("instance_id", "stays", "epoch"),
    [
        (None, None, -1),
        (None, False, -1),
        (None, True, None),
        ("i", None, -2),
        ("i", False, -1),
        ("i", True, None),
    ],
)
def test_a_member_leaves_as_it_is_told(
    instance_id: str | None, stays: bool | None, epoch: int | None
) -> None:
    it = Coordinated("t", instance_id=instance_id)
    it.settle(target=T01)

    request = it.member.leave("closed", stays=stays)

    assert (request.member_epoch if request else None) == epoch
    assert (it.member.owned, it.member.generation) == (frozenset(), -1)
    assert (it.poll(after=MAX_POLL), it.member.state) == ([], "unsubscribed")


def test_who_has_never_tried_to_join_need_not_leave() -> None:
    it = Coordinated("t")

    assert it.member.leave("closed") is None


def test_who_tried_to_join_leaves_as_it_may_be_a_member() -> None:
    it = Coordinated("t")
    it.ask()
    it.heartbeat()
    it.fail()

    request = it.member.leave("closed")

    assert request is not None
    assert (request.member_epoch, request.member_id) == (-1, "m")


def test_who_has_left_need_not_leave_again() -> None:
    it = Coordinated("t")
    it.settle()

    assert it.member.leave("unsubscribed") is not None
    it.subscribe("t")
    assert (it.poll(), it.member.deadline) == ([], inf)
    assert it.member.leave("closed") is None


def test_who_has_left_joins_again_when_records_are_asked_for() -> None:
    it = Coordinated("v")
    it.join(target={"v": [0]})
    it.poll(after=INTERVAL)
    it.refuse(GroupAuthorizationFailed())

    it.member.leave("unsubscribed")
    it.subscribe("t")

    assert (it.poll(), it.member.unresolved) == ([], frozenset())
    it.ask()
    assert it.heartbeat().member_epoch == 0


def test_what_comes_after_the_leave_changes_nothing() -> None:
    it = Coordinated("t")
    it.settle(target=T01)
    it.heartbeat(after=INTERVAL)
    it.hear(2, {"t": [1]})
    step = it.only(Revoke)
    beat = it.heartbeat(after=INTERVAL)

    it.member.leave("unsubscribed")
    it.done(step)
    it.member.answered(beat, answer(3, T01), now=it.now, jitter=0.0)
    it.subscribe("t")
    it.ask()
    join = it.heartbeat()
    it.member.answered(beat, answer(3, T01), now=it.now, jitter=0.0)

    assert (it.poll(), it.member.owned) == ([], frozenset())
    assert (join.member_epoch, it.member.state) == (0, "joining")


def test_its_repr_says_how_it_is() -> None:
    it = Coordinated("t")
    it.settle(epoch=4, target=T01)

    assert repr(it.member) == ("<ConsumerMember m of g: stable, epoch 4, 2 partitions, 0 failures>")
