"""Members of a classic group against the group code of the embedded broker, in memory."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from kafka_aio.backoff import Backoff
from kafka_aio.broker.call import Call
from kafka_aio.broker.state import State
from kafka_aio.consumer.assignors.assignor import Assignor
from kafka_aio.consumer.assignors.cooperative_sticky import CooperativeStickyAssignor
from kafka_aio.consumer.assignors.range import RangeAssignor
from kafka_aio.consumer.assignors.sticky import StickyAssignor
from kafka_aio.consumer.membership.classic import ClassicMember
from kafka_aio.consumer.membership.member import (
    Assign,
    Lose,
    Revoke,
    Send,
    ShareOut,
    Step,
    Tell,
    Wanted,
)
from kafka_aio.protocol.messages.groups import JoinGroupRequest
from tests.unit.broker.clusters import answer_to, call, made, pass_time, send
from tests.unit.broker.groups.classic import leave
from tests.unit.consumer.membership.classic import COOPERATIVE, EAGER

TICK = 0.5
T = Wanted(frozenset({"t"}))


class Users:
    """Members of group `g` whose users always ask, and do each step at once."""

    def __init__(self, partitions: int) -> None:
        self.state: State = made(topics={"t": partitions})
        self.now = 0.0
        self.members: list[ClassicMember] = []
        self.steps: list[tuple[ClassicMember, Step]] = []
        self.calls: list[tuple[ClassicMember, Send, Call]] = []

    def join(self, assignors: Sequence[Assignor], instance_id: str | None = None) -> ClassicMember:
        member = ClassicMember(
            group_id="g",
            assignors=assignors,
            session_timeout=10.0,
            heartbeat_interval=3.0,
            rebalance_timeout=60.0,
            backoff=Backoff(0.1, 1.0),
            instance_id=instance_id,
        )
        member.subscribe(T, now=self.now)
        self.members.append(member)
        return member

    def run(self, seconds: float = 30.0) -> None:
        end = self.now + seconds
        while self.now < end:
            self.now += TICK
            pass_time(self.state, now=self.now)
            self.hear()
            for member in self.members:
                member.asked(now=self.now)
                while member.deadline <= self.now:
                    for step in member.poll(now=self.now):
                        self.do(member, step)
                    self.hear()
            # Nothing is owned by two.
            owned = [partition for member in self.members for partition in member.owned]
            assert len(owned) == len(set(owned))

    def do(self, member: ClassicMember, step: Step) -> None:
        self.steps.append((member, step))
        if isinstance(step, Send):
            self.calls.append((member, step, send(self.state, step.request, now=self.now)))
        elif isinstance(step, ShareOut):
            topics = {"t": [frozenset[str]()] * len(self.state.topics.by_name["t"].partitions)}
            shares = {} if step.keeps else step.assignor.assign(step.members, topics)
            member.shared_out(step, shares, now=self.now)
        elif isinstance(step, (Revoke, Lose, Assign)):
            member.done(step, now=self.now)

    def hear(self) -> None:
        waiting, self.calls = self.calls, []
        for member, step, sent in waiting:
            answer = answer_to(self.state, sent)
            if answer is None:
                self.calls.append((member, step, sent))
            else:
                member.answered(step.request, answer, now=self.now, jitter=0.0)

    def close(self, member: ClassicMember) -> None:
        self.members.remove(member)
        request = member.leave("closed")
        if request is not None:
            call(self.state, request, now=self.now)

    def kinds(self, member: ClassicMember) -> set[type[Step]]:
        return {type(step) for whose, step in self.steps if whose is member}

    @property
    def counts(self) -> list[int]:
        return sorted(len(member.owned) for member in self.members)

    @property
    def states(self) -> set[str]:
        return {member.state for member in self.members}


@pytest.mark.parametrize("assignors", [EAGER, COOPERATIVE, [StickyAssignor()]])
def test_members_come_and_go_and_those_who_stay_have_all(assignors: Sequence[Assignor]) -> None:
    users = Users(partitions=7)
    first = users.join(assignors)
    users.run()
    assert users.counts == [7]
    for _ in range(2):
        users.join(assignors)
    users.run()
    assert users.counts == [2, 2, 3]

    users.close(first)
    users.run()

    assert users.counts == [3, 4]
    assert users.states == {"stable"}
    assert not any(isinstance(step, Lose | Tell) for _, step in users.steps)


def test_cooperative_members_give_back_only_what_others_get() -> None:
    users = Users(partitions=6)
    users.join(COOPERATIVE)
    users.run()
    users.join(COOPERATIVE)
    users.run()

    revoked = [step.partitions for _, step in users.steps if isinstance(step, Revoke)]
    assert [len(each) for each in revoked] == [3]
    assert users.counts == [3, 3]


def test_a_group_moves_to_cooperation_in_two_rounds() -> None:
    users = Users(partitions=4)
    offers: list[Sequence[Assignor]] = [[RangeAssignor()], EAGER, [CooperativeStickyAssignor()]]
    for _ in range(2):
        users.join(offers[0])
    users.run()

    for offer in offers[1:]:
        for member in [*users.members]:
            users.close(member)
            users.join(offer)
            users.run()
            assert users.counts == [2, 2]

    assert users.states == {"stable"}
    assert not any(isinstance(step, Lose | Tell) for _, step in users.steps)


def test_a_member_that_the_broker_has_forgotten_comes_back() -> None:
    users = Users(partitions=4)
    first = users.join(EAGER)
    users.join(EAGER)
    users.run()
    leave(users.state, first.member_id, now=users.now)
    users.run()

    assert users.counts == [2, 2]
    assert Lose in users.kinds(first)


def test_a_static_member_that_comes_back_gets_what_it_had_and_disturbs_nobody() -> None:
    users = Users(partitions=4)
    first = users.join(EAGER, instance_id="i")
    users.join(EAGER, instance_id="j")
    users.run()
    had = first.owned
    users.close(first)
    users.run(seconds=5.0)
    users.steps.clear()
    back = users.join(EAGER, instance_id="i")
    users.run(seconds=5.0)

    assert back.owned == had
    joins = [each for _, each in users.steps if isinstance(each, Send)]
    assert sum(isinstance(each.request, JoinGroupRequest) for each in joins) == 1
    shared = [each for _, each in users.steps if isinstance(each, ShareOut)]
    assert [each.keeps for each in shared] == [True]  # it looks at the topics, and that is all


def test_an_instance_that_starts_twice_fences_the_first() -> None:
    users = Users(partitions=4)
    first = users.join(EAGER, instance_id="i")
    users.run()
    second = users.join(EAGER, instance_id="i")
    users.members.remove(first)  # two of them own for a moment what the first does not know yet
    users.run(seconds=1.0)
    users.members = [first]
    users.run(seconds=5.0)

    assert (first.state, first.owned) == ("fenced", frozenset())
    assert {Tell, Lose} <= users.kinds(first)
    assert second.state == "stable"
