"""The members of a group of the consumer protocol: by id and name, and who owns what. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Final

from kafka_aio.broker.room import Room, bytes_of
from kafka_aio.errors import FencedInstanceId, UnknownMemberId

if TYPE_CHECKING:
    from kafka_aio.broker.groups.assignors import Slot
    from kafka_aio.broker.groups.consumer_member import Member

_OBJECTS: Final = 1_024
"""The bytes of a member, without its texts and what it owns."""
_OBJECTS_OF_SLOT: Final = 200
"""The bytes of a partition that it owns, in the target too."""


class Members:
    """The members, in the order in which they came; no partition is owned by two of them."""

    def __init__(self, group_id: str, room: Room) -> None:
        self._group_id = group_id
        self._by_id: dict[str, Member] = {}
        self._names: dict[str, str] = {}
        """The ids of static members, by their names."""
        self._owners: dict[Slot, str] = {}
        self._room = room

    def __repr__(self) -> str:
        return f"<Members: {len(self)}, who own {len(self._owners)} partitions>"

    def __len__(self) -> int:
        return len(self._by_id)

    def __iter__(self) -> Iterator[Member]:
        return iter(self._by_id.values())

    def __contains__(self, member_id: str) -> bool:
        return member_id in self._by_id

    @property
    def owners(self) -> Mapping[Slot, str]:
        """The ids of those who own a partition, or have not given it back yet."""
        return self._owners

    def get(self, member_id: str) -> Member | None:
        return self._by_id.get(member_id)

    def named(self, instance_id: str | None) -> Member | None:
        """The static member of a name."""
        if instance_id is None or (member_id := self._names.get(instance_id)) is None:
            return None
        return self._by_id[member_id]

    def known(self, member_id: str, instance_id: str | None = None) -> Member:
        """The member of an id; it must be the one of its name, if it says one.

        Raises:
            UnknownMemberId: There is none.
            FencedInstanceId: Another one has that name by now.
        """
        if instance_id is None:
            if (member := self._by_id.get(member_id)) is None:
                raise UnknownMemberId(
                    f"Member {member_id} is not a member of group {self._group_id}."
                )
            return member
        if (member := self.named(instance_id)) is None:
            raise UnknownMemberId(f"Instance id {instance_id} is unknown.")
        if member.id != member_id:
            raise FencedInstanceId(
                f"Static member {member_id} with instance id {instance_id} was fenced by member"
                f" {member.id}."
            )
        return member

    def have_room_for(self, member: Member) -> bool:
        """Whether a member, be it new or not, may be what it is now."""
        before = self._by_id.get(member.id)
        return self._room.has(_size(member) - (_size(before) if before else 0))

    def put(self, member: Member) -> None:
        """Take a member, or what has become of one. Who has its name must be out."""
        if before := self._by_id.get(member.id):
            self._forget(before)
        self._by_id[member.id] = member
        self._room.take(_size(member))
        if member.instance_id is not None:
            assert member.instance_id not in self._names, "one of that name is in the group"
            self._names[member.instance_id] = member.id
        for slot in (*member.assigned, *member.revoking):
            assert slot not in self._owners, "somebody else owns it"
            self._owners[slot] = member.id

    def remove(self, member: Member) -> None:
        del self._by_id[member.id]
        self._forget(member)

    def _forget(self, member: Member) -> None:
        self._room.take(-_size(member))
        if member.instance_id is not None:
            del self._names[member.instance_id]
        for slot in (*member.assigned, *member.revoking):
            del self._owners[slot]


def _size(member: Member) -> int:
    texts = bytes_of(
        member.id,
        member.instance_id,
        member.rack_id,
        member.client_id,
        member.pattern,
        *member.topics,
    )
    return _OBJECTS + texts + _OBJECTS_OF_SLOT * (len(member.assigned) + len(member.revoking))
