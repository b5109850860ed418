"""The leader of a classic group, which shares out for all."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from kafka_aio.consumer.assignors.assignor import Assignor, Member
from kafka_aio.consumer.assignors.cooperative_sticky import CooperativeStickyAssignor
from kafka_aio.consumer.assignors.range import RangeAssignor
from kafka_aio.consumer.membership.member import Assign, ShareOut, Tell
from kafka_aio.consumer.membership.subscriptions import Assigned, Subscription
from kafka_aio.errors import (
    KafkaError,
    KafkaTimeoutError,
    RebalanceInProgress,
    UnknownMemberId,
    UserCodeError,
)
from kafka_aio.protocol.messages.groups import JoinGroupRequest, SyncGroupRequest
from kafka_aio.types import TopicPartition
from tests.unit.consumer.membership.classic import (
    A0,
    A1,
    B0,
    COOPERATIVE,
    INTERVAL,
    REBALANCE,
    Played,
    joined,
    synced,
)

ME = ("me", Subscription(("a",)).encode())
YOU = ("you", Subscription(("a", "b"), owned=(A1,), generation=1).encode())


class Hasty(RangeAssignor):
    """An assignor of the user's that takes cooperation lightly."""

    is_cooperative = True


class Talkative(RangeAssignor):
    """An assignor of the user's that has more to say than partitions, and hears it."""

    def __init__(self) -> None:
        self.heard: list[tuple[Sequence[TopicPartition], bytes, int]] = []
        self.fails = False

    def share_data(self, member: Member, partitions: Sequence[TopicPartition]) -> bytes | None:
        if self.fails:
            raise LookupError("no data")
        return f"{member.id} gets {len(partitions)}".encode()

    def on_assignment(
        self, partitions: Sequence[TopicPartition], user_data: bytes, generation: int
    ) -> None:
        if self.fails:
            raise LookupError("not heard")
        self.heard.append((partitions, user_data, generation))


def leading(*members: tuple[str, bytes], assignor: Assignor | None = None, **fields: Any) -> Played:
    """A member that has joined as leader."""
    played = Played([assignor] if assignor is not None else [RangeAssignor()])
    answer = joined(leader="me", protocol=played.protocol, members=members, **fields)
    played.answer(played.sent(JoinGroupRequest), answer)
    return played


def shares(request: SyncGroupRequest) -> dict[str, tuple[TopicPartition, ...]]:
    return {
        each.member_id: Assigned.decode(bytes(each.assignment)).partitions
        for each in request.assignments
    }


def test_the_leader_shares_out_and_tells_all() -> None:
    played = leading(ME, YOU)
    step = played.step(ShareOut)
    assert step.assignor.name == "range"
    assert not step.keeps
    assert step.topics == played.member.watched == {"a", "b"}
    assert [(each.id, each.owned) for each in step.members] == [("me", ()), ("you", (A1,))]
    assert played.member.state == "sharing out"

    played.member.shared_out(step, {"me": [A0], "you": [A1, B0]}, now=played.now)

    sync = played.sent(SyncGroupRequest)
    assert shares(sync) == {"me": (A0,), "you": (A1, B0)}
    played.answer(sync, synced(A0))
    assert played.assigns() == (A0,)


def test_an_assignor_adds_data_for_each_member_that_it_knows() -> None:
    played = leading(ME, YOU, ("strange", b"\0"), assignor=Talkative())
    shares = {"me": [A0], "you": [A1, B0]}
    played.member.shared_out(played.step(ShareOut), shares, now=played.now)

    told = played.sent(SyncGroupRequest).assignments
    data = {each.member_id: Assigned.decode(bytes(each.assignment)).user_data for each in told}
    assert data == {"me": b"me gets 1", "you": b"you gets 2", "strange": None}


def test_an_assignor_that_fails_to_add_data_is_told_of() -> None:
    assignor = Talkative()
    assignor.fails = True
    played = leading(ME, assignor=assignor)
    played.member.shared_out(played.step(ShareOut), {"me": [A0]}, now=played.now)

    assert "'range' has not returned an assignment, or its data" in str(played.step(Tell).error)


def test_an_assignor_hears_what_its_member_gets() -> None:
    assignor = Talkative()
    played = Played([assignor])
    played.joins(7)
    answer = synced(assignment=Assigned((A1, A0), b"more").encode())
    played.answer(played.sent(SyncGroupRequest), answer)

    assert assignor.heard == [((A1, A0), b"more", 7)]
    assert played.assigns() == (A0, A1)


def test_an_assignor_that_does_not_listen_is_told_of_and_the_group_goes_on() -> None:
    assignor = Talkative()
    assignor.fails = True
    played = Played([assignor])
    played.joins()
    played.answer(played.sent(SyncGroupRequest), synced(A0))
    told, assigned = played.steps()

    assert isinstance(told, Tell)
    assert isinstance(told.error, UserCodeError)
    assert str(told.error) == "assignor 'range' raised LookupError when it heard what we get"
    assert isinstance(assigned, Assign)
    assert assigned.partitions == (A0,)


def test_a_member_that_cannot_be_understood_gets_nothing() -> None:
    played = leading(ME, ("strange", b"\0"))
    step = played.step(ShareOut)

    played.member.shared_out(step, {"me": [A0], "unknown": [A1]}, now=played.now)

    assert [each.id for each in step.members] == ["me"]
    assert shares(played.sent(SyncGroupRequest)) == {"me": (A0,), "strange": ()}


def test_a_static_leader_that_came_back_keeps_what_is() -> None:
    played = leading(ME, YOU, skip_assignment=True)
    step = played.step(ShareOut)  # the topics have to be known, to see what they get later
    played.member.shared_out(step, {}, now=played.now)

    assert step.keeps
    assert step.topics == {"a", "b"}
    assert played.sent(SyncGroupRequest).assignments == []
    assert played.member.watched == {"a", "b"}


def test_who_does_not_lead_any_more_watches_no_topics_and_shares_nothing_out() -> None:
    played = leading(ME)
    played.member.shared_out(played.step(ShareOut), {"me": []}, now=played.now)
    played.refuse(played.sent(SyncGroupRequest), RebalanceInProgress)

    played.joins(2)

    assert played.member.watched == set()
    assert played.sent(SyncGroupRequest).assignments == []


@pytest.mark.parametrize("error", [KafkaTimeoutError("no metadata"), KafkaError("it raised")])
def test_if_sharing_out_fails_it_is_told_and_joined_again_after_a_pause(error: KafkaError) -> None:
    played = leading(ME)
    played.member.shared_out(played.step(ShareOut), error, now=played.now)

    assert played.step(Tell).error is error
    played.asks()
    assert played.steps() == []
    played.now += 0.1
    assert played.sent(JoinGroupRequest).member_id == "me"


@pytest.mark.parametrize("nonsense", [None, {"me": 3}, {"me": ["a-0"]}])
def test_what_is_no_assignment_is_told_of(nonsense: Any) -> None:
    played = leading(ME)

    played.member.shared_out(played.step(ShareOut), nonsense, now=played.now)

    assert "has not returned an assignment" in str(played.step(Tell).error)


def test_a_cooperative_assignor_of_the_users_must_not_be_hasty() -> None:
    played = leading(ME, YOU, assignor=Hasty())

    played.member.shared_out(played.step(ShareOut), {"me": [A1], "you": [B0]}, now=played.now)

    assert "gives a-1 to a member before" in str(played.step(Tell).error)


def test_an_eager_assignor_may_give_anything_to_anybody() -> None:
    played = leading(ME, YOU)

    played.member.shared_out(played.step(ShareOut), {"me": [A1], "you": [B0]}, now=played.now)

    assert shares(played.sent(SyncGroupRequest)) == {"me": (A1,), "you": (B0,)}


def test_ours_knows_which_claims_are_false() -> None:
    played = leading(ME, YOU, assignor=CooperativeStickyAssignor())

    played.member.shared_out(played.step(ShareOut), {"me": [A1], "you": [B0]}, now=played.now)

    assert shares(played.sent(SyncGroupRequest)) == {"me": (A1,), "you": (B0,)}


def test_heartbeats_go_on_while_it_shares_out_and_rest_while_it_syncs() -> None:
    played = leading(ME)
    step = played.step(ShareOut)
    played.refuse(played.heartbeat(), RebalanceInProgress)
    out = played.heartbeat()
    played.member.shared_out(step, {"me": [A0]}, now=played.now)

    sync = played.sent(SyncGroupRequest)
    played.refuse(out, UnknownMemberId)  # if so, the answer to the sync will say it
    assert played.after(3 * INTERVAL) == []
    played.answer(sync, synced(A0))
    assert len(played.steps()) == 2
    assert played.member.state == "assigning"


def test_what_was_shared_out_for_an_older_attempt_changes_nothing() -> None:
    played = leading(ME)
    step = played.step(ShareOut)
    played.after(REBALANCE)
    played.asks()
    answer = joined(generation=2, leader="me", members=[ME])
    played.answer(played.sent(JoinGroupRequest), answer)
    newer = played.step(ShareOut)

    played.member.shared_out(step, {"me": [A0]}, now=played.now)
    assert played.steps() == []
    played.member.shared_out(newer, {"me": [A1]}, now=played.now)
    assert shares(played.sent(SyncGroupRequest)) == {"me": (A1,)}


def test_a_change_of_topics_while_it_shares_out_is_joined_for_again() -> None:
    played = Played(COOPERATIVE)
    answer = joined(leader="me", protocol=played.protocol, members=[ME])
    played.answer(played.sent(JoinGroupRequest), answer)
    step = played.step(ShareOut)
    played.member.rejoin("topics have changed")
    played.member.shared_out(step, {"me": [A0]}, now=played.now)
    played.syncs(A0)
    played.assigns()

    assert played.sent(JoinGroupRequest).reason == "topics have changed"
