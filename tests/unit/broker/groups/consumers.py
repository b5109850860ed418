"""Members of the consumer protocol for tests: what they send, and what they believe to own."""

from __future__ import annotations

from typing import Any

from kafka_aio.broker.groups.consumer import ConsumerGroup
from kafka_aio.broker.state import State
from kafka_aio.errors import for_code
from kafka_aio.protocol.messages.consumer_group import (
    ConsumerGroupDescribeRequest,
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatTopicPartitions,
    DescribedGroup,
)
from tests.unit.broker.clusters import call, pass_time

Owned = dict[str, list[int]]
"""Partitions by the names of their topics."""


def group(state: State) -> ConsumerGroup:
    return state.groups.consumer("g")


def epochs(state: State) -> tuple[int, int]:
    """Of the group, and of its target."""
    return group(state).epoch, group(state).target_epoch


def heartbeat(state: State, *, now: float = 0.0, version: int | None = None, **fields: Any) -> Any:
    """The answer to a heartbeat of group `g`, with only these fields in it."""
    request = ConsumerGroupHeartbeatRequest(
        **{"group_id": "g", "member_id": "m", "member_epoch": 0, **fields}
    )
    return call(state, request, now=now, version=version)


def owning(state: State, owned: Owned) -> list[ConsumerGroupHeartbeatTopicPartitions]:
    """What a member says that it owns."""
    return [
        ConsumerGroupHeartbeatTopicPartitions(
            topic_id=state.topics.by_name[name].id, partitions=indexes
        )
        for name, indexes in owned.items()
    ]


def told(state: State, answer: Any) -> Owned | None:
    """What an answer says that the member owns; None if it says nothing."""
    if answer.assignment is None:
        return None
    return {
        state.topics.by_id[each.topic_id].name: each.partitions
        for each in answer.assignment.topic_partitions
    }


def described(state: State, group: str = "g", **how: Any) -> DescribedGroup:
    """A group as ConsumerGroupDescribe shows it."""
    request = ConsumerGroupDescribeRequest(group_ids=[group], include_authorized_operations=False)
    [found] = call(state, request, **how).groups
    assert isinstance(found, DescribedGroup)
    return found


class Consumer:
    """A member that behaves: it takes over what it is told, and then says so.

    `reports` is for those that do not: what they own stays their secret.
    """

    def __init__(
        self,
        state: State,
        member_id: str,
        *,
        topics: list[str] | None = None,
        pattern: str | None = None,
        instance_id: str | None = None,
        assignor: str | None = None,
        rebalance: float = 60.0,
    ) -> None:
        self.state = state
        self.id = member_id
        self.topics = ["t"] if topics is None and pattern is None else topics
        self.pattern = pattern
        self.instance_id = instance_id
        self.assignor = assignor
        self.rebalance_ms = int(rebalance * 1000)
        self.epoch = 0
        self.owned: Owned = {}
        self.reported: Owned | None = None
        self.error: str | None = None

    def beat(self, *, now: float = 0.0, reports: bool = True, is_lost: bool = False) -> Any:
        """Send a heartbeat; joins if it is not in the group. The answer may get lost."""
        fields: dict[str, Any] = {}
        if self.epoch == 0 or self.reported is None:
            fields = {
                "rebalance_timeout_ms": self.rebalance_ms,
                "subscribed_topic_names": self.topics,
                "subscribed_topic_regex": self.pattern,
                "server_assignor": self.assignor,
                "topic_partitions": owning(self.state, self.owned),
            }
        elif reports and self.reported != self.owned:
            fields = {"topic_partitions": owning(self.state, self.owned)}
        answer = self.send(self.epoch, now=now, **fields)
        if is_lost:
            self.reported = None  # the next one says all there is
            return answer
        if "topic_partitions" in fields:
            self.reported = dict(self.owned)
        self._hear(answer)
        return answer

    def send(self, epoch: int, *, now: float = 0.0, **fields: Any) -> Any:
        return heartbeat(
            self.state,
            now=now,
            member_id=self.id,
            member_epoch=epoch,
            instance_id=self.instance_id,
            **fields,
        )

    def leave(self, *, now: float = 0.0, epoch: int = -1) -> Any:
        answer = self.send(epoch, now=now)
        self._forget()
        return answer

    def _hear(self, answer: Any) -> None:
        self.error = for_code(answer.error_code).name if answer.error_code else None
        if self.error:
            self._forget()
            return
        self.epoch = answer.member_epoch
        if (owned := told(self.state, answer)) is not None:
            self.owned = owned

    def _forget(self) -> None:
        self.epoch = 0
        self.owned = {}
        self.reported = None


def settle(*consumers: Consumer, now: float = 0.0, rounds: int = 5) -> float:
    """Let all beat a few times, a tenth of a second after each other; until when did that take?"""
    for _ in range(rounds):
        for consumer in consumers:
            now += 0.1
            pass_time(consumer.state, now=now)
            consumer.beat(now=now)
    pass_time(consumers[0].state, now=now)
    return now
