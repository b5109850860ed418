"""Random lives of a member of a classic group, between a user and a coordinator of any kind."""

from __future__ import annotations

from collections import Counter
from math import inf
from typing import Any

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from kafka_aio.backoff import Backoff
from kafka_aio.consumer.membership.classic import ClassicMember
from kafka_aio.consumer.membership.member import (
    Assign,
    Lose,
    OfUser,
    Revoke,
    Send,
    ShareOut,
    Step,
    Tell,
    Wanted,
)
from kafka_aio.errors import (
    BrokerError,
    CoordinatorNotAvailable,
    FencedInstanceId,
    GroupAuthorizationFailed,
    IllegalGeneration,
    KafkaConnectionError,
    KafkaError,
    MemberIdRequired,
    RebalanceInProgress,
    UnknownMemberId,
)
from kafka_aio.protocol.messages.groups import (
    HeartbeatRequest,
    HeartbeatResponse,
    JoinGroupRequest,
    LeaveGroupRequest,
    SyncGroupRequest,
)
from kafka_aio.protocol.schema import Request
from kafka_aio.types import TopicPartition
from tests.unit.consumer.membership.classic import (
    A0,
    A1,
    B0,
    COOPERATIVE,
    EAGER,
    INTERVAL,
    REBALANCE,
    SESSION,
    joined,
    refused,
    synced,
    told,
)

ENOUGH_TURNS = 40
ERRORS = [
    CoordinatorNotAvailable,
    FencedInstanceId,
    GroupAuthorizationFailed,
    IllegalGeneration,
    MemberIdRequired,
    RebalanceInProgress,
    UnknownMemberId,
]

partitions = st.sets(st.sampled_from([A0, A1, B0]))
topics = st.sets(st.sampled_from(["a", "b"]))
jitters = st.sampled_from([-1.0, 0.0, 1.0])
which = st.integers(0, 9)


class Lives(RuleBasedStateMachine):
    """A member whose requests are answered late, wrongly or never, and whose user does anything.

    It never gets stuck, and never runs in circles; it joins with what it may keep and nothing else;
    at most one join or sync and one step of the user's are under way; and when the faults end, it
    has its assignment.
    """

    def __init__(self) -> None:
        super().__init__()
        self.now = 0.0
        self.generation = 0
        self.calls: list[Request[Any]] = []
        """Requests that are out, and count."""
        self.forgotten: list[Request[Any]] = []
        """Those that were out when it left."""
        self.sharing: list[ShareOut] = []
        self.running: list[OfUser] = []
        self.seen: list[Step] = []
        self.owned: frozenset[TopicPartition] = frozenset()
        self.topics: frozenset[str] = frozenset()
        self.is_asked = False

    @initialize(is_cooperative=st.booleans(), instance_id=st.sampled_from([None, "i"]))
    def begin(self, is_cooperative: bool, instance_id: str | None) -> None:
        self.is_cooperative = is_cooperative
        self.member = ClassicMember(
            group_id="g",
            assignors=COOPERATIVE if is_cooperative else EAGER,
            session_timeout=SESSION,
            heartbeat_interval=INTERVAL,
            rebalance_timeout=REBALANCE,
            backoff=Backoff(0.1, 1.0),
            instance_id=instance_id,
        )
        self.subscribe({"a"})
        self.ask()

    # The user

    @rule(wanted=topics)
    def subscribe(self, wanted: set[str]) -> None:
        self.topics = frozenset(wanted)
        self.member.subscribe(Wanted(self.topics), now=self.now)

    @rule()
    def ask(self) -> None:
        self.is_asked = True
        self.member.asked(now=self.now)

    @rule()
    def rejoin(self) -> None:
        self.member.rejoin("because")

    @rule(stays=st.sampled_from([None, True, False]))
    def leave(self, stays: bool | None) -> None:
        self.member.leave("bye", stays=stays)
        self.forgotten += self.calls
        self.calls.clear()
        self.sharing.clear()
        self.owned, self.topics = frozenset(), frozenset()
        self.is_asked = False

    @precondition(lambda self: self.running)
    @rule()
    def end_step(self) -> None:
        step = self.running.pop()
        before = self.member.owned
        self.member.done(step, now=self.now)
        self.owned = self.member.owned
        if isinstance(step, Assign):
            assert self.owned in (before, set(step.partitions))
        else:
            assert self.owned == before - set(step.partitions)

    # The coordinator

    @precondition(lambda self: self.calls)
    @rule(at=which, error=st.sampled_from(ERRORS), member_id=st.sampled_from(["", "x"]), by=jitters)
    def refuse(self, at: int, error: type[BrokerError], member_id: str, by: float) -> None:
        request = self.calls.pop(at % len(self.calls))
        if not isinstance(request, LeaveGroupRequest):
            response = refused(request, error, member_id)
            self.member.answered(request, response, now=self.now, jitter=by)

    @precondition(lambda self: self.calls)
    @rule(at=which, is_passing=st.booleans(), by=jitters)
    def lose(self, at: int, is_passing: bool, by: float) -> None:
        error = KafkaConnectionError() if is_passing else GroupAuthorizationFailed()
        request = self.calls.pop(at % len(self.calls))
        self.member.failed(request, error, now=self.now, jitter=by)

    @precondition(lambda self: self.calls)
    @rule(at=which, leads=st.booleans(), skips=st.booleans(), assigned=partitions)
    def answer(self, at: int, leads: bool, skips: bool, assigned: set[TopicPartition]) -> None:
        self._answer(self.calls.pop(at % len(self.calls)), leads, skips, assigned)

    @precondition(lambda self: self.forgotten)
    @rule(leads=st.booleans(), assigned=partitions)
    def answer_late(self, leads: bool, assigned: set[TopicPartition]) -> None:
        before = repr(self.member), self.member.deadline
        self._answer(self.forgotten.pop(), leads, False, assigned)
        assert before == (repr(self.member), self.member.deadline)

    def _answer(
        self, request: Request[Any], leads: bool, skips: bool, assigned: set[TopicPartition]
    ) -> None:
        response: Any = None
        if isinstance(request, JoinGroupRequest):
            self.generation += 1
            member_id = request.member_id or f"m{self.generation}"
            response = joined(
                member_id,
                self.generation,
                leader=member_id if leads else "another",
                protocol=request.protocols[0].name,
                members=[(member_id, request.protocols[0].metadata)],
                skip_assignment=skips,
            )
        elif isinstance(request, SyncGroupRequest):
            response = synced(*sorted(assigned))
        elif isinstance(request, HeartbeatRequest):
            response = HeartbeatResponse(error_code=0)
        if response is not None:
            self.member.answered(request, response, now=self.now, jitter=0.0)

    @precondition(lambda self: self.sharing)
    @rule(is_good=st.booleans())
    def share_out(self, is_good: bool) -> None:
        step = self.sharing.pop()
        outcome = {step.members[0].id: [A0]} if is_good else KafkaError("no assignment")
        self.member.shared_out(step, outcome, now=self.now)

    # The time

    @rule(seconds=st.sampled_from([0.0, 0.05, 1.0, INTERVAL, REBALANCE]))
    def poll(self, seconds: float) -> None:
        self.now += seconds
        for step in self.member.poll(now=self.now):
            assert all(step is not each for each in self.seen)
            self.seen.append(step)
            self._begin(step)
        if self.member.is_overdue:  # it left by itself
            self.is_asked = False
            self.sharing.clear()
            self.calls = [each for each in self.calls if isinstance(each, LeaveGroupRequest)]
        assert self.member.deadline > self.now, "it runs in circles"

    def _begin(self, step: Step) -> None:
        if isinstance(step, Send):
            self.calls.append(step.request)
            if isinstance(step.request, JoinGroupRequest | SyncGroupRequest):
                self._forget_heartbeat()
            if isinstance(step.request, JoinGroupRequest):
                self._check_join(step.request)
        elif isinstance(step, ShareOut):
            self.sharing.append(step)
        elif isinstance(step, Tell):
            self.is_asked = False
        elif isinstance(step, (Revoke, Lose, Assign)):
            self.running.append(step)
            assert isinstance(step, Lose) == (self.member.generation < 0)

    def _forget_heartbeat(self) -> None:
        for each in [*self.calls]:
            if isinstance(each, HeartbeatRequest):
                self.calls.remove(each)
                self.forgotten.append(each)

    def _check_join(self, request: JoinGroupRequest) -> None:
        subscription = told(request)
        assert not self.running
        assert set(subscription.owned) == self.member.owned
        assert set(subscription.topics) == self.topics
        if self.is_cooperative:
            assert {each.topic for each in self.member.owned} <= self.topics
        else:
            assert not self.member.owned

    # What always holds

    @invariant()
    def one_thing_at_a_time(self) -> None:
        kinds = Counter(type(each) for each in self.calls)
        assert kinds[JoinGroupRequest] + kinds[SyncGroupRequest] + len(self.sharing) <= 1
        assert kinds[HeartbeatRequest] <= 1
        assert len(self.running) <= 1

    @invariant()
    def what_is_owned_changes_with_the_steps(self) -> None:
        if hasattr(self, "member"):
            assert self.member.owned == self.owned

    @invariant()
    def it_is_not_stuck(self) -> None:
        if not hasattr(self, "member") or not self.is_asked or not self.topics:
            return
        is_waiting = self.calls or self.sharing or self.running
        assert is_waiting or self.member.deadline < inf or self.member.state == "fenced"

    def teardown(self) -> None:
        """Let all go well from here on: then it is stable in the end."""
        if not hasattr(self, "member"):
            return
        self.subscribe({"a"})
        self.rejoin()
        for _ in range(ENOUGH_TURNS):
            self.ask()
            for request in [*self.calls]:
                self.calls.remove(request)
                self._answer(request, True, False, {A0})
            if self.sharing:
                self.share_out(True)
            if self.running:
                self.end_step()
            self.poll(INTERVAL)
            self.one_thing_at_a_time()
        assert self.member.owned == {A0}, repr(self.member)
        assert self.member.state == "stable"


TestLives = Lives.TestCase
TestLives.settings = settings(max_examples=60, stateful_step_count=40, deadline=None)
