"""A consumer without a group: all partitions of its topics are its own. Pure.

It has no coordinator, so it sends nothing, and what others call generation is -1. Beyond that it is
a member like others, so that subscriptions, patterns and listeners work as in a group.
"""

from __future__ import annotations

from collections.abc import Callable
from math import inf
from typing import Any

from kafka_aio.consumer.assignors.assignor import Assignment
from kafka_aio.consumer.membership.member import (
    Assign,
    OfUser,
    Revoke,
    ShareOut,
    Step,
    Tally,
    Wanted,
)
from kafka_aio.errors import KafkaError, StateError
from kafka_aio.protocol.schema import Request
from kafka_aio.types import TopicPartition


class Alone:
    """The only member."""

    def __init__(self, partition_count: Callable[[str], int | None]) -> None:
        """Begin with nothing.

        Args:
            partition_count: How many partitions a topic has, if it is known to exist.
        """
        self._partition_count = partition_count
        self._wanted = Wanted()
        self._is_asked = False
        self._step: OfUser | None = None
        self.owned: frozenset[TopicPartition] = frozenset()
        self.member_id = ""
        self.generation = -1
        self.is_overdue = False
        self.barred: KafkaError | None = None
        self.tally = Tally()

    def __repr__(self) -> str:
        return f"<Alone: {self.state}, {len(self.owned)} partitions>"

    @property
    def state(self) -> str:
        return "alone" if self._is_asked and self._wanted.topics else "unjoined"

    @property
    def deadline(self) -> float:
        return inf

    def poll(self, *, now: float) -> list[Step]:
        if self._step is not None or not self._is_asked:
            return []
        target = self._target()
        if gone := self.owned - target:
            self._step = Revoke(tuple(sorted(gone)))
        elif added := target - self.owned:
            self._step = Assign(tuple(sorted(target)), tuple(sorted(added)))
        return [] if self._step is None else [self._step]

    def _target(self) -> frozenset[TopicPartition]:
        """All partitions there are. A topic that is not known at the moment keeps what it had."""
        found = {each for each in self.owned if each.topic in self._wanted.topics}
        for topic in self._wanted.topics:
            count = self._partition_count(topic)
            if count is not None:
                found = {each for each in found if each.topic != topic}
                found |= {TopicPartition(topic, number) for number in range(count)}
        return frozenset(found)

    def done(self, step: OfUser, *, now: float) -> None:
        if step is not self._step:
            return  # it was left meanwhile
        self._step = None
        if isinstance(step, Assign):
            self.owned = frozenset(step.partitions)
        else:
            self.owned -= frozenset(step.partitions)

    def subscribe(self, wanted: Wanted, *, now: float) -> None:
        if wanted.regex is not None:
            raise StateError(
                "the broker matches a SubscriptionPattern for members of a group only:"
                " set group_id and group_protocol='consumer', or use re.compile()"
            )
        self._wanted = wanted

    def asked(self, *, now: float) -> None:
        self._is_asked = True

    def rejoin(self, reason: str) -> None:
        """There is nobody to share with."""

    def leave(self, reason: str, *, stays: bool | None = None) -> Request[Any] | None:
        self._wanted = Wanted()
        self._is_asked = False
        self._step = None
        self.owned = frozenset()
        return None

    def answered(self, request: Request[Any], response: Any, *, now: float, jitter: float) -> None:
        raise StateError("nothing was sent")

    def failed(
        self, request: Request[Any], error: KafkaError, *, now: float, jitter: float
    ) -> None:
        raise StateError("nothing was sent")

    def shared_out(
        self, step: ShareOut, assignment: Assignment | KafkaError, *, now: float
    ) -> None:
        raise StateError("there is nobody to share with")
