"""All groups, by their ids, and which node coordinates which of them. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, TypeAlias, TypeVar

from kafka_aio.broker.groups.classic import ClassicGroup
from kafka_aio.broker.groups.consumer import ConsumerGroup
from kafka_aio.broker.groups.java import partition_of
from kafka_aio.broker.groups.retention import INTERVAL, forget_expired
from kafka_aio.broker.room import bytes_of
from kafka_aio.broker.topics.topics import CONSUMER_OFFSETS
from kafka_aio.errors import GroupIdNotFound, GroupMaxSizeReached, InvalidGroupId, NotCoordinator

if TYPE_CHECKING:
    from kafka_aio.broker.agenda import Appointment
    from kafka_aio.broker.call import Call
    from kafka_aio.broker.state import State

AnyGroup: TypeAlias = ClassicGroup | ConsumerGroup
G = TypeVar("G", ClassicGroup, ConsumerGroup)

_OBJECTS: Final = 2_048
"""The bytes of a group without members and offsets."""


class Groups:
    """The groups of a cluster. They live on when their coordinator moves: it is one process."""

    def __init__(self, state: State) -> None:
        self.by_id: dict[str, AnyGroup] = {}
        self._state = state
        self._cleaning: Appointment | None = None

    def __repr__(self) -> str:
        return f"<Groups: {len(self.by_id)}>"

    def coordinator_of(self, group_id: str) -> int:
        """The node that coordinates a group, be it there or not; -1 if none can at the moment.

        It leads the partition of the group in a topic that is made on first need.
        """
        topics = self._state.topics
        topic = topics.by_name.get(CONSUMER_OFFSETS) or topics.auto_create(CONSUMER_OFFSETS)
        return topic.partitions[partition_of(group_id, len(topic.partitions))].leader

    def coordinators_moved(self) -> None:
        """Other nodes coordinate some groups: who waits at the old ones is sent to the new ones."""
        if CONSUMER_OFFSETS not in self._state.topics.by_name:
            return
        for group in self.by_id.values():
            if group.kind == "classic":
                group.membership.coordinator_moved(self.coordinator_of(group.id))

    def check_coordinator(self, call: Call, group_id: str, *, may_be_empty: bool = False) -> None:
        """Raise what a fault asks for, or what is wrong with asking this node about this group.

        Raises:
            InvalidGroupId: The id is empty, and this API does not take that.
            NotCoordinator: Another node coordinates the group.
            BrokerError: A fault that somebody asked for: `call.check_faults` need not be called.
        """
        call.check_faults(group=group_id)
        self.check_node(call, group_id, may_be_empty=may_be_empty)

    def check_node(self, call: Call, group_id: str, *, may_be_empty: bool = False) -> None:
        """As `check_coordinator`, for who asks for faults elsewhere.

        Raises:
            InvalidGroupId, NotCoordinator: As there.
        """
        if not group_id and not may_be_empty:
            raise InvalidGroupId()
        if self.coordinator_of(group_id) != call.node:
            raise NotCoordinator()
        if self._cleaning is None:
            self._cleaning = self._state.agenda.at(call.now + INTERVAL, self._clean)

    def get(self, group_id: str) -> AnyGroup:
        """A group of either kind.

        Raises:
            GroupIdNotFound: There is none.
        """
        if (group := self.by_id.get(group_id)) is None:
            raise GroupIdNotFound(f"Group {group_id} not found.")
        return group

    def classic(self, group_id: str, *, create: bool = False) -> ClassicGroup:
        """A classic group. With `create`, one is made if need be, also of an empty other kind.

        Raises:
            GroupIdNotFound: There is none, or it is of the other kind.
            GroupMaxSizeReached: There is no room for one more.
        """
        group = self.by_id.get(group_id)
        if group is not None and group.kind == "classic":
            return group
        if not create or (group is not None and not group.is_empty):
            raise _missing(group_id, group, "classic")
        return self._put(ClassicGroup(group_id, self._state), group)

    def consumer(self, group_id: str, *, create: bool = False) -> ConsumerGroup:
        """A group of the consumer protocol; as `classic` otherwise.

        Raises:
            GroupIdNotFound: There is none, or it is of the other kind.
            GroupMaxSizeReached: There is no room for one more.
        """
        group = self.by_id.get(group_id)
        if group is not None and group.kind == "consumer":
            return group
        if not create or (group is not None and not group.is_empty):
            raise _missing(group_id, group, "consumer")
        return self._put(ConsumerGroup(group_id, self._state), group)

    def delete(self, group: AnyGroup) -> None:
        """Forget a group and its offsets."""
        group.close()
        group.offsets.clear()
        del self.by_id[group.id]
        self._state.room.take(-_size(group.id))

    def topic_deleted(self, name: str) -> None:
        """A topic is gone, and so is what was committed for it."""
        for group in self.by_id.values():
            group.offsets.forget_topic(name)

    def _put(self, group: G, before: AnyGroup | None) -> G:
        if before is not None:
            group.offsets = before.offsets
            before.close()
        elif self._state.room.has(size := _size(group.id)):
            self._state.room.take(size)
        else:
            raise GroupMaxSizeReached("There is no room for more groups.")
        self.by_id[group.id] = group
        return group

    def _clean(self, now: float) -> None:
        """Forget old offsets, and groups that have neither members nor offsets any more."""
        retention = self._state.settings.offsets_retention_minutes * 60
        for group in list(self.by_id.values()):
            forget_expired(group, retention=retention, now=now)
            if group.is_empty and not group.offsets:
                self.delete(group)
        self._cleaning = None
        if self.by_id:
            self._cleaning = self._state.agenda.at(now + INTERVAL, self._clean)


def _size(group_id: str) -> int:
    return _OBJECTS + bytes_of(group_id)


def _missing(group_id: str, group: AnyGroup | None, kind: str) -> GroupIdNotFound:
    if group is None:
        return GroupIdNotFound(f"Group {group_id} not found.")
    return GroupIdNotFound(f"Group {group_id} is not a {kind} group.")
