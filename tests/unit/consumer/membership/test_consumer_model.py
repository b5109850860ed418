"""Random lives of a member of a consumer group, with a coordinator that says anything."""

from __future__ import annotations

from math import inf

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
)

from kafka_aio.consumer.membership.consumer import ConsumerMember
from kafka_aio.consumer.membership.member import Assign, Lose, OfUser, Revoke, Send, Step, Wanted
from kafka_aio.errors import (
    CoordinatorLoadInProgress,
    FencedMemberEpoch,
    GroupAuthorizationFailed,
    KafkaConnectionError,
    KafkaError,
    NotCoordinator,
    TopicAuthorizationFailed,
    UnknownMemberId,
    UnsupportedVersion,
)
from kafka_aio.protocol.messages.consumer_group import ConsumerGroupHeartbeatRequest
from kafka_aio.protocol.schema import Uuid
from kafka_aio.types import TopicPartition
from tests.unit.consumer.membership.coordinated import BACKOFF, answer, topic_id

NAMES = ["t", "u", "v"]
MAX_POLL = 20.0

goals = st.dictionaries(
    st.sampled_from(NAMES), st.lists(st.integers(0, 2), unique=True, min_size=1, max_size=3)
)
targets = st.none() | goals
wishes = st.builds(
    Wanted, st.frozensets(st.sampled_from(NAMES)), st.none() | st.sampled_from(["t.*", "u"])
)
refusals = st.sampled_from(
    [
        CoordinatorLoadInProgress(),
        FencedMemberEpoch(),
        GroupAuthorizationFailed(),
        NotCoordinator(),
        TopicAuthorizationFailed(),
        UnknownMemberId(),
    ]
)
failures: st.SearchStrategy[KafkaError] = st.sampled_from(
    [KafkaConnectionError("gone"), UnsupportedVersion("old"), CoordinatorLoadInProgress()]
)


class Lives(RuleBasedStateMachine):
    """Whatever comes, the member has something to do, or nobody wants anything of it."""

    @initialize(instance_id=st.sampled_from([None, "i"]))
    def begin(self, instance_id: str | None) -> None:
        self.names: dict[Uuid, str] = {topic_id("t"): "t"}
        self.member = ConsumerMember(
            group_id="g",
            member_id="m",
            instance_id=instance_id,
            rebalance_timeout=MAX_POLL,
            backoff=BACKOFF,
            topic_name=self.names.get,
        )
        self.now = 0.0
        self.wanted = Wanted()
        self.out: ConsumerGroupHeartbeatRequest | None = None
        self.step: OfUser | None = None
        self.owned: frozenset[TopicPartition] = frozenset()
        self.seen: list[Step] = []

    # What the task does

    @rule(after=st.sampled_from([0.0, 0.0, 0.1, 1.0, 5.0, MAX_POLL]))
    def poll(self, after: float) -> None:
        self.now += after
        for step in self.member.poll(now=self.now):
            assert all(step is not each for each in self.seen)
            self.seen.append(step)
            if isinstance(step, Send):
                self.sent(step.request)
            elif isinstance(step, (Revoke, Lose, Assign)):
                self.begun(step)

        assert self.member.deadline > self.now
        if self.is_stuck:
            assert self.member.state in ("unsubscribed", "stale", "fatal")

    @property
    def is_stuck(self) -> bool:
        """Something is wanted, and nothing goes on by itself."""
        is_wanted = bool(self.wanted.topics) or self.wanted.regex is not None
        return is_wanted and self.out is None and self.step is None and self.member.deadline == inf

    def sent(self, request: object) -> None:
        assert self.out is None
        assert isinstance(request, ConsumerGroupHeartbeatRequest)
        self.out = request
        if request.member_epoch == 0:
            assert request.topic_partitions == []
            assert self.step is None
            assert not self.owned

    def begun(self, step: OfUser) -> None:
        assert self.step is None
        self.step = step
        given = set(step.partitions)
        if isinstance(step, Assign):
            assert self.owned <= given
            assert set(step.added) == given - self.owned
        elif isinstance(step, Lose):
            assert given == self.owned
        else:
            assert given
            assert given <= self.owned

    @precondition(lambda self: self.step is not None)
    @rule()
    def step_is_done(self) -> None:
        assert self.step is not None
        self.member.done(self.step, now=self.now)
        if isinstance(self.step, Assign):
            self.owned = frozenset(self.step.partitions)
        else:
            self.owned -= set(self.step.partitions)
        self.step = None

    # What the coordinator does

    @precondition(lambda self: self.out is not None)
    @rule(told=targets, moves=st.sampled_from([0, 0, 1, -1]))
    def accept(self, told: dict[str, list[int]] | None, moves: int) -> None:
        assert self.out is not None
        # Nobody joins without being told a target.
        target = {} if told is None and self.out.member_epoch == 0 else told
        response = answer(max(1, self.out.member_epoch + moves), target)
        self.member.answered(self.out, response, now=self.now, jitter=0.0)
        self.out = None

    @precondition(lambda self: self.out is not None)
    @rule(error=refusals)
    def refuse(self, error: CoordinatorLoadInProgress) -> None:
        assert self.out is not None
        self.member.answered(self.out, answer(0, error=error), now=self.now, jitter=0.0)
        self.out = None

    @precondition(lambda self: self.out is not None)
    @rule(error=failures)
    def fail(self, error: KafkaError) -> None:
        assert self.out is not None
        self.member.failed(self.out, error, now=self.now, jitter=0.0)
        self.out = None

    @rule(told=targets)
    def old_news_come(self, told: dict[str, list[int]] | None) -> None:
        """Answers, and ends of steps, that were heard already or are of a life before."""
        before = repr(self.member)
        for step in self.seen[-5:]:
            if isinstance(step, Send) and step.request is not self.out:
                response = answer(99, told)
                self.member.answered(step.request, response, now=self.now, jitter=0.0)
            if isinstance(step, (Revoke, Lose, Assign)) and step is not self.step:
                self.member.done(step, now=self.now)

        assert repr(self.member) == before

    # What the user does

    @rule()
    def ask(self) -> None:
        self.member.asked(now=self.now)

        assert not self.is_stuck

    @rule(wanted=wishes)
    def subscribe(self, wanted: Wanted) -> None:
        self.wanted = wanted
        self.member.subscribe(wanted, now=self.now)

    @rule()
    def rejoin(self) -> None:
        self.member.rejoin("why not")

    @rule(name=st.sampled_from(NAMES), is_known=st.booleans())
    def metadata_changes(self, name: str, is_known: bool) -> None:
        if is_known:
            self.names[topic_id(name)] = name
        else:
            self.names.pop(topic_id(name), None)
        self.member.metadata_changed(now=self.now)

    @rule(stays=st.sampled_from([None, True, False]))
    def leave(self, stays: bool | None) -> None:
        request = self.member.leave("bye", stays=stays)
        assert request is None or request.member_epoch < 0
        self.out = self.step = None
        self.owned = frozenset()
        self.wanted = Wanted()

    @rule(told=goals)
    def a_good_life_leads_to_the_target(self, told: dict[str, list[int]]) -> None:
        """Once nothing goes wrong any more, the member owns what it is told to."""
        self.subscribe(Wanted(frozenset({"t"})))
        self.names.update({topic_id(name): name for name in NAMES})
        self.member.metadata_changed(now=self.now)
        for _ in range(20):
            self.now += 1.0
            self.ask()
            if self.out:
                self.accept(told, 0)
            if self.step:
                self.step_is_done()
            self.poll(0.0)

        assert self.owned == {TopicPartition(name, each) for name in told for each in told[name]}
        assert self.member.generation > 0

    @invariant()
    def what_is_owned_changes_by_steps_alone(self) -> None:
        if hasattr(self, "member"):
            assert self.member.owned == self.owned


TestLives = Lives.TestCase
TestLives.settings = settings(max_examples=150, stateful_step_count=40, deadline=None)
