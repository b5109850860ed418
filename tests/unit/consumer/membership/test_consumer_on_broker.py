"""Members against the group code of the embedded broker, in memory."""

from __future__ import annotations

from kafka_aio.broker.state import State
from kafka_aio.consumer.membership.consumer import ConsumerMember
from kafka_aio.consumer.membership.member import Assign, Lose, Revoke, Send, Step, Wanted
from kafka_aio.protocol.schema import Uuid
from kafka_aio.types import TopicPartition
from tests.unit.broker.clusters import call, made, pass_time
from tests.unit.broker.groups.consumers import group, heartbeat
from tests.unit.consumer.membership.coordinated import BACKOFF

TICK = 0.5


class Users:
    """Members of group `g` whose users always ask, and do each step at once."""

    def __init__(self, state: State) -> None:
        self.state = state
        self.now = 0.0
        self.members: list[ConsumerMember] = []
        self.steps: dict[str, list[Step]] = {}

    def join(self, member_id: str, wanted: Wanted, instance_id: str | None = None) -> None:
        def topic_name(topic_id: Uuid) -> str | None:
            topic = self.state.topics.by_id.get(topic_id)
            return topic.name if topic else None

        member = ConsumerMember(
            group_id="g",
            member_id=member_id,
            instance_id=instance_id,
            rebalance_timeout=60.0,
            backoff=BACKOFF,
            topic_name=topic_name,
        )
        member.subscribe(wanted, now=self.now)
        self.members.append(member)
        self.steps[member_id] = []

    def run(self, seconds: float = 30.0) -> None:
        end = self.now + seconds
        while self.now < end:
            self.now += TICK
            pass_time(self.state, now=self.now)
            for member in self.members:
                member.asked(now=self.now)
                while member.deadline <= self.now:
                    self.do(member)
                self.check()

    def do(self, member: ConsumerMember) -> None:
        for step in member.poll(now=self.now):
            self.steps[member.member_id].append(step)
            if isinstance(step, Send):
                response = call(self.state, step.request, now=self.now)
                member.answered(step.request, response, now=self.now, jitter=0.0)
            if isinstance(step, (Revoke, Lose, Assign)):
                member.done(step, now=self.now)

    def check(self) -> None:
        """Nothing is owned by two."""
        owned = [partition for member in self.members for partition in member.owned]
        assert len(owned) == len(set(owned))

    @property
    def counts(self) -> list[int]:
        return [len(member.owned) for member in self.members]

    @property
    def states(self) -> set[str]:
        return {member.state for member in self.members} | {group(self.state).state_name}


T = Wanted(frozenset({"t"}))


def test_two_members_share_and_the_one_that_stays_gets_all() -> None:
    users = Users(made(topics={"t": 5}))
    users.join("a", T)
    users.run()
    alone = users.counts
    users.join("b", T)
    users.run()

    assert alone == [5]
    assert sorted(users.counts) == [2, 3]
    assert users.states == {"stable", "Stable"}

    leaver = users.members.pop(0)
    request = leaver.leave("closed")
    assert request is not None
    call(users.state, request, now=users.now)
    users.run()

    assert users.counts == [5]


def test_a_pattern_brings_topics_that_come_later() -> None:
    users = Users(made(topics={"t1": 2, "x": 1}))
    users.join("a", Wanted(regex="t.*"))
    users.run()
    before = users.counts
    users.state.topics.create("t2", partitions=3, replication_factor=1)
    users.run(seconds=700.0)

    assert before == [2]
    assert {each.topic for each in users.members[0].owned} == {"t1", "t2"}
    assert users.states == {"stable", "Stable"}

    users.members[0].subscribe(Wanted(frozenset({"x"})), now=users.now)
    users.run()

    assert users.members[0].owned == {TopicPartition("x", 0)}


def test_a_member_that_the_broker_has_forgotten_comes_back() -> None:
    users = Users(made(topics={"t": 4}))
    users.join("a", T)
    users.join("b", T)
    users.run()
    heartbeat(users.state, now=users.now, member_id="a", member_epoch=-1)
    users.run()

    assert sorted(users.counts) == [2, 2]
    assert users.states == {"stable", "Stable"}
    assert any(isinstance(each, Lose) for each in users.steps["a"])


def test_a_static_member_that_comes_back_gets_what_it_had() -> None:
    users = Users(made(topics={"t": 4}))
    users.join("a", T, instance_id="i")
    users.join("b", T, instance_id="j")
    users.run()
    first = users.members.pop(0)
    had = first.owned
    request = first.leave("closed")
    assert request is not None
    call(users.state, request, now=users.now)
    users.run(seconds=10.0)
    between = users.counts
    users.join("c", T, instance_id="i")
    users.run(seconds=10.0)

    assert between == [2]
    assert users.members[-1].owned == had
