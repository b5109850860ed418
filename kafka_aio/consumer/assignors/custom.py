"""Assignors of the user's: what they may leave out, and what they may not return. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from kafka_aio.consumer.assignors.assignor import Assignment, Member, Topics
from kafka_aio.errors import ConfigError, UserCodeError
from kafka_aio.types import TopicPartition


class CustomAssignor:
    """An assignor of the user's, with what it does not say itself.

    It needs a `name` and a method `assign`. Without `is_cooperative`, members give everything back
    before they join again; without `user_data`, they say nothing beyond their subscriptions;
    without `share_data` and `on_assignment`, they are told of partitions alone, and hear nothing.
    """

    def __init__(self, given: Any) -> None:
        if isinstance(given, type):  # as others take it
            name = given.__name__
            raise ConfigError(
                f"partition_assignment_strategy: {name} is a class: give {name}(), an object"
            )
        if not callable(getattr(given, "assign", None)):
            raise ConfigError(
                f"partition_assignment_strategy: {given!r} is no assignor, as it has no method"
                " assign(members, topics)"
            )
        self._given = given
        self.name: str = given.name

    def __repr__(self) -> str:
        return f"<CustomAssignor {self.name!r}: {self._given!r}>"

    @property
    def is_cooperative(self) -> bool:
        return bool(getattr(self._given, "is_cooperative", False))

    def user_data(self, owned: Sequence[TopicPartition], generation: int) -> bytes | None:
        own = getattr(self._given, "user_data", None)
        return None if own is None else own(owned, generation)

    def assign(self, members: Sequence[Member], topics: Topics) -> Assignment:
        assignment: Assignment = self._given.assign(members, topics)
        return assignment

    def share_data(self, member: Member, partitions: Sequence[TopicPartition]) -> bytes | None:
        own = getattr(self._given, "share_data", None)
        return None if own is None else own(member, partitions)

    def on_assignment(
        self, partitions: Sequence[TopicPartition], user_data: bytes, generation: int
    ) -> None:
        own = getattr(self._given, "on_assignment", None)
        if own is not None:
            own(partitions, user_data, generation)


def checked(name: str, returned: object, members: Sequence[Member], topics: Topics) -> Assignment:
    """What an assignor returned, if it is an assignment; members that it leaves out get nothing.

    Raises:
        UserCodeError: It is none; the text says which member or partition is wrong.
    """
    if not isinstance(returned, Mapping):
        raise UserCodeError(
            f"assignor {name!r} returned {_kind(returned)}, not a dict of partitions by member id"
        )
    assignment: Assignment = {member.id: [] for member in members}
    wanted = {member.id: frozenset(member.topics) for member in members}
    owner: dict[TopicPartition, str] = {}
    for member_id, given in returned.items():
        if member_id not in assignment:
            raise UserCodeError(
                f"assignor {name!r} gives partitions to {member_id!r}, who is no member"
            )
        for partition in _partitions(name, member_id, given):
            wrong = _wrong(partition, wanted[member_id], topics)
            if partition in owner:
                wrong = f"and to {owner[partition]!r} before"
            if wrong is not None:
                text = f"assignor {name!r} gives {partition} to {member_id!r}, {wrong}"
                raise UserCodeError(text, [partition])
            owner[partition] = member_id
            assignment[member_id].append(partition)
    return assignment


def _partitions(name: str, member_id: str, given: object) -> list[TopicPartition]:
    if isinstance(given, str) or not isinstance(given, Iterable):
        text = f"assignor {name!r} gives {member_id!r} {_kind(given)}, not a list of partitions"
        raise UserCodeError(text)
    found = []
    for each in given:
        match each:
            case [str(topic), int(number)]:
                found.append(TopicPartition(topic, number))
            case _:
                text = f"assignor {name!r} gives {member_id!r} {each!r}, which is no partition"
                raise UserCodeError(text)
    return found


def _wrong(partition: TopicPartition, wanted: frozenset[str], topics: Topics) -> str | None:
    if not 0 <= partition.partition < len(topics.get(partition.topic, ())):
        return "but it does not exist"
    if partition.topic not in wanted:
        return "who does not subscribe to its topic"
    return None


def _kind(value: object) -> str:
    return "None" if value is None else f"a value of type {type(value).__name__}"
