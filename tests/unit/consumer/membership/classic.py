"""A member of a classic group for tests, with its coordinator played by hand."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, TypeVar

from kafka_aio.backoff import Backoff
from kafka_aio.consumer.assignors.assignor import Assignor
from kafka_aio.consumer.assignors.cooperative_sticky import CooperativeStickyAssignor
from kafka_aio.consumer.assignors.range import RangeAssignor
from kafka_aio.consumer.membership.classic import ClassicMember
from kafka_aio.consumer.membership.member import (
    Assign,
    Lose,
    Membership,
    OfUser,
    Overdue,
    Revoke,
    Send,
    Step,
    Wanted,
)
from kafka_aio.consumer.membership.subscriptions import Assigned, Subscription
from kafka_aio.errors import BrokerError, KafkaError
from kafka_aio.protocol.messages.groups import (
    HeartbeatRequest,
    HeartbeatResponse,
    JoinGroupRequest,
    JoinGroupResponse,
    JoinGroupResponseMember,
    SyncGroupRequest,
    SyncGroupResponse,
)
from kafka_aio.types import TopicPartition

A0, A1, A2 = (TopicPartition("a", number) for number in range(3))
B0 = TopicPartition("b", 0)
SESSION, INTERVAL, REBALANCE, PAUSE = 45.0, 3.0, 300.0, 0.1

EAGER: tuple[Assignor, ...] = (RangeAssignor(), CooperativeStickyAssignor())
COOPERATIVE: tuple[Assignor, ...] = (CooperativeStickyAssignor(),)

S = TypeVar("S")


def joined(
    member_id: str = "me",
    generation: int = 1,
    *,
    leader: str = "another",
    protocol: str | None = "range",
    members: Iterable[tuple[str, bytes]] = (),
    **fields: Any,
) -> JoinGroupResponse:
    """The answer to a join that succeeded."""
    facts: dict[str, Any] = {
        "error_code": 0,
        "generation_id": generation,
        "protocol_type": "consumer",
        "protocol_name": protocol,
        "leader": leader,
        "member_id": member_id,
        "members": [
            JoinGroupResponseMember(member_id=each, metadata=data) for each, data in members
        ],
    }
    return JoinGroupResponse(**(facts | fields))


def synced(*partitions: TopicPartition, **fields: Any) -> SyncGroupResponse:
    """The answer to a sync that succeeded."""
    facts: dict[str, Any] = {"error_code": 0, "assignment": Assigned(partitions).encode()}
    return SyncGroupResponse(**(facts | fields))


def refused(request: object, error: type[BrokerError], member_id: str = "") -> Any:
    """The answer to a request that did not."""
    if isinstance(request, JoinGroupRequest):
        return joined(member_id, -1, error_code=error.code, leader="", protocol=None)
    if isinstance(request, SyncGroupRequest):
        return SyncGroupResponse(error_code=error.code, assignment=b"")
    return HeartbeatResponse(error_code=error.code)


class Played:
    """A member that wants topic a and is asked for records, and the time that it lives in."""

    def __init__(
        self,
        assignors: Sequence[Assignor] = EAGER,
        *,
        topics: Iterable[str] = ("a",),
        asks: bool = True,
        backoff: Backoff | None = None,
        **options: Any,
    ) -> None:
        self.now = 100.0
        self.warned: list[str] = []
        self.member = ClassicMember(
            group_id="g",
            assignors=assignors,
            session_timeout=SESSION,
            heartbeat_interval=INTERVAL,
            rebalance_timeout=REBALANCE,
            backoff=backoff or Backoff(PAUSE, 1.0),
            **options,
        )
        self.protocol = assignors[0].name
        self.wants(*topics)
        if asks:
            self.asks()

    @property
    def membership(self) -> Membership:
        return self.member

    def wants(self, *topics: str) -> None:
        self.member.subscribe(Wanted(frozenset(topics)), now=self.now)

    def asks(self) -> None:
        self.member.asked(now=self.now)

    def after(self, seconds: float) -> list[Step]:
        """What is to be done after that time, which nobody polled before."""
        self.now += seconds
        return self.steps()

    def steps(self) -> list[Step]:
        """What is to be done now; `warned` has what is to be logged."""
        steps = self.member.poll(now=self.now)
        assert self.member.poll(now=self.now) == [], "each step is returned once"
        self.warned += [each.text() for each in steps if isinstance(each, Overdue)]
        return [each for each in steps if not isinstance(each, Overdue)]

    def step(self, kind: type[S]) -> S:
        """The one thing to be done now."""
        (step,) = self.steps()
        assert isinstance(step, kind), step
        return step

    def sent(self, kind: type[S]) -> S:
        """The one request to be sent now."""
        request = self.step(Send).request
        assert isinstance(request, kind), request
        return request

    def answer(self, request: Any, response: Any, *, jitter: float = 0.0) -> None:
        self.member.answered(request, response, now=self.now, jitter=jitter)

    def refuse(self, request: Any, error: type[BrokerError], **fields: Any) -> None:
        self.answer(request, refused(request, error, **fields))

    def fail(self, request: Any, error: KafkaError) -> None:
        self.member.failed(request, error, now=self.now, jitter=0.0)

    def done(self, step: OfUser) -> None:
        self.member.done(step, now=self.now)

    def revokes(self) -> tuple[TopicPartition, ...]:
        step = self.step(Revoke)
        self.done(step)
        return step.partitions

    def loses(self) -> tuple[TopicPartition, ...]:
        step = self.step(Lose)
        self.done(step)
        return step.partitions

    def assigns(self) -> tuple[TopicPartition, ...]:
        """What is assigned, of which the user is told as new; all is ours then."""
        step = self.step(Assign)
        self.done(step)
        assert self.member.owned == set(step.partitions)
        return step.added

    def joins(self, generation: int = 1, member_id: str = "me") -> JoinGroupRequest:
        """It joins as a follower, and a sync is due."""
        request = self.sent(JoinGroupRequest)
        self.answer(request, joined(member_id, generation, protocol=self.protocol))
        return request

    def syncs(self, *partitions: TopicPartition) -> None:
        self.answer(self.sent(SyncGroupRequest), synced(*partitions))

    def heartbeat(self) -> HeartbeatRequest:
        """The next heartbeat, when it is due."""
        self.now = max(self.now, self.member.deadline)
        return self.sent(HeartbeatRequest)

    def becomes_stable(self, *partitions: TopicPartition, generation: int = 1) -> None:
        self.joins(generation)
        self.syncs(*partitions)
        self.assigns()


def told(request: JoinGroupRequest, assignor: int = 0) -> Subscription:
    """What a join tells the leader."""
    return Subscription.decode(bytes(request.protocols[assignor].metadata))
