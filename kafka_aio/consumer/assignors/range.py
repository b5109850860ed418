"""Range: of each topic, each member gets a run of partitions. Pure.

Members of the same topics get the same numbers of topics with as many partitions: what belongs
together by key is read by one member. Where racks are told and make a difference (KIP-881), first
each member gets what has a replica in its rack, up to its share. Topics with the same members and
as many partitions are then treated as one, so that equal numbers still go to one member.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from kafka_aio.consumer.assignors.assignor import (
    Assignment,
    Assignor,
    Member,
    Topics,
    in_order,
    subscribers,
)
from kafka_aio.types import TopicPartition


@dataclass(slots=True)
class _Topic:
    """A topic while it is shared out."""

    name: str
    racks: Sequence[frozenset[str]]
    members: list[Member]
    """Those who want it, in the order in which they are served."""
    left: dict[int, None] = field(init=False)
    """The partitions that nobody has yet; a dict, because each is looked up when it is given."""
    share: int = field(init=False)
    """What each member gets at least."""
    larger: int = field(init=False)
    """How many members may still get one more than that."""
    given: dict[str, list[int]] = field(init=False)

    def __post_init__(self) -> None:
        self.left = dict.fromkeys(range(len(self.racks)))
        self.share, self.larger = divmod(len(self.racks), len(self.members))
        self.given = {member.id: [] for member in self.members}

    @property
    def member_racks(self) -> set[str]:
        return {member.rack for member in self.members if member.rack}

    @property
    def racks_matter(self) -> bool:
        """Whether some partition is nearer to one member than to another."""
        everywhere = frozenset[str]().union(*self.racks)
        return not everywhere.isdisjoint(self.member_racks) and any(
            racks != everywhere for racks in self.racks
        )

    def is_near(self, member: Member, partition: int) -> bool:
        return not member.rack or member.rack in self.racks[partition]

    def room(self, member: Member) -> int:
        most = self.share + (self.larger > 0)
        return max(0, most - len(self.given[member.id]))

    def give(self, member: Member, partitions: Sequence[int]) -> None:
        given = self.given[member.id]
        given.extend(partitions)
        if len(given) > self.share:
            self.larger -= 1
        for partition in partitions:
            del self.left[partition]

    def give_ranges(self, *, near: bool) -> None:
        """Serve one member after the other from what is left, or from what is near to it."""
        for member in self.members:
            wanted = [each for each in self.left if not near or self.is_near(member, each)]
            if run := wanted[: self.room(member)]:
                self.give(member, run)


class RangeAssignor(Assignor):
    """Gives each member a run of the partitions of each topic, the longer ones to the first."""

    name = "range"
    is_cooperative = False

    def user_data(self, owned: Sequence[TopicPartition], generation: int) -> bytes | None:
        return None

    def assign(self, members: Sequence[Member], topics: Topics) -> Assignment:
        shared = [
            _Topic(name, topics[name], wanting)
            for name, wanting in subscribers(in_order(members), topics).items()
        ]
        if any(topic.racks_matter for topic in shared):
            _give_what_is_near(shared)
        assignment: Assignment = {member.id: [] for member in members}
        for topic in shared:
            topic.give_ranges(near=False)
            for member_id, partitions in topic.given.items():
                assignment[member_id] += [
                    TopicPartition(topic.name, number) for number in sorted(partitions)
                ]
        return assignment


def _give_what_is_near(topics: Sequence[_Topic]) -> None:
    alike: dict[tuple[tuple[str, ...], int], list[_Topic]] = {}
    for topic in topics:
        if topic.member_racks:
            ids = tuple(member.id for member in topic.members)
            alike.setdefault((ids, len(topic.racks)), []).append(topic)
    for group in alike.values():
        if len(group) > 1:
            _give_together(group)
        elif group[0].racks_matter:
            group[0].give_ranges(near=True)


def _give_together(topics: Sequence[_Topic]) -> None:
    """Give each number to the first member that has room and is near to it in all topics."""
    for partition in range(len(topics[0].racks)):
        for member in topics[0].members:
            if all(topic.room(member) and topic.is_near(member, partition) for topic in topics):
                for topic in topics:
                    topic.give(member, [partition])
                break
