"""A member of a consumer group for tests, with a coordinator that says what the test wants."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

from kafka_aio.backoff import Backoff
from kafka_aio.consumer.membership.consumer import ConsumerMember
from kafka_aio.consumer.membership.member import (
    Assign,
    Membership,
    Overdue,
    Revoke,
    Send,
    Step,
    Wanted,
)
from kafka_aio.errors import BrokerError, KafkaConnectionError, KafkaError
from kafka_aio.protocol.messages.consumer_group import (
    ConsumerGroupHeartbeatAssignment,
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
    ConsumerGroupHeartbeatTopicPartitions,
)
from kafka_aio.protocol.schema import Uuid
from kafka_aio.types import TopicPartition

INTERVAL = 5.0
MAX_POLL = 300.0
BACKOFF = Backoff(first=0.1, longest=1.0, jitter=0.0)
S = TypeVar("S", bound=Step)
Target = Mapping[str, Sequence[int]]


def topic_id(name: str) -> Uuid:
    return Uuid(name.encode().rjust(16, b"\0"))


def partitions(**numbers: Sequence[int]) -> tuple[TopicPartition, ...]:
    return tuple(TopicPartition(name, each) for name in sorted(numbers) for each in numbers[name])


def slots(target: Target) -> list[ConsumerGroupHeartbeatTopicPartitions]:
    return [
        ConsumerGroupHeartbeatTopicPartitions(topic_id=topic_id(name), partitions=list(numbers))
        for name, numbers in target.items()
    ]


def answer(
    epoch: int,
    target: Target | None = None,
    *,
    error: BrokerError | None = None,
    member_id: str = "m",
) -> ConsumerGroupHeartbeatResponse:
    return ConsumerGroupHeartbeatResponse(
        throttle_time_ms=0,
        error_code=error.code if error else 0,
        error_message=error.message or None if error else None,
        member_id=member_id,
        member_epoch=epoch,
        heartbeat_interval_ms=int(INTERVAL * 1000),
        assignment=(
            None
            if target is None
            else ConsumerGroupHeartbeatAssignment(topic_partitions=slots(target))
        ),
    )


class Coordinated:
    """A member, its clock, and what it has begun."""

    def __init__(self, *topics: str, regex: str | None = None, **how: Any) -> None:
        self.names = {topic_id(name): name for name in ("t", "u")}
        self.member = ConsumerMember(
            **{
                "group_id": "g",
                "member_id": "m",
                "rebalance_timeout": MAX_POLL,
                "backoff": BACKOFF,
                "topic_name": self.names.get,
                **how,
            }
        )
        self.is_a_membership: Membership = self.member
        self.now = 0.0
        self.out: list[ConsumerGroupHeartbeatRequest] = []
        self.warned: list[str] = []
        if topics or regex:
            self.subscribe(*topics, regex=regex)

    def subscribe(self, *topics: str, regex: str | None = None) -> None:
        self.member.subscribe(Wanted(frozenset(topics), regex), now=self.now)

    def ask(self) -> None:
        self.member.asked(now=self.now)

    def poll(self, after: float = 0.0) -> list[Step]:
        """What is begun now, or later; heartbeats are `out` as well, what is logged is `warned`."""
        self.now += after
        steps = self.member.poll(now=self.now)
        for step in steps:
            if isinstance(step, Send):
                assert isinstance(step.request, ConsumerGroupHeartbeatRequest)
                self.out.append(step.request)
            elif isinstance(step, Overdue):
                self.warned.append(step.text())
        return [each for each in steps if not isinstance(each, Overdue)]

    def only(self, kind: type[S], after: float = 0.0) -> S:
        """The one thing that is begun now."""
        [step] = self.poll(after)
        assert isinstance(step, kind)
        return step

    def heartbeat(self, after: float = 0.0) -> ConsumerGroupHeartbeatRequest:
        """The heartbeat that goes out now; nothing else does."""
        self.only(Send, after)
        return self.out[-1]

    def hear(self, epoch: int, target: Target | None = None, **how: Any) -> None:
        """The coordinator answers what was sent last."""
        self.member.answered(self.out[-1], answer(epoch, target, **how), now=self.now, jitter=0.0)

    def refuse(self, error: BrokerError) -> None:
        self.hear(0, error=error)

    def fail(self, error: KafkaError | None = None) -> None:
        """There is no answer to what was sent last."""
        cause = error or KafkaConnectionError("gone")
        self.member.failed(self.out[-1], cause, now=self.now, jitter=0.0)

    def done(self, step: Any) -> None:
        self.member.done(step, now=self.now)

    def join(self, epoch: int = 1, target: Target | None = None) -> None:
        """Ask for records, and be told this target; its steps are not begun."""
        self.ask()
        self.poll()
        self.hear(epoch, {} if target is None else target)

    def take(self) -> None:
        """Do the steps of a reconciliation until its heartbeat is out."""
        while not (steps := self.poll()) or not isinstance(steps[-1], Send):
            [step] = steps
            assert isinstance(step, (Revoke, Assign))
            self.done(step)

    def settle(self, epoch: int = 1, target: Target | None = None) -> None:
        """Be a stable member that owns this."""
        self.join(epoch, target)
        self.take()
        self.hear(epoch)
        assert self.member.state == "stable"
