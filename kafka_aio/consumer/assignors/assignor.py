"""What an assignor is: who of a classic group gets which partitions. Pure.

The member that the coordinator chose as leader assigns for all. So an assignment depends on what
the members said and on nothing else; but the same question gets the same answer from each of them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from kafka_aio.types import TopicPartition

Topics = Mapping[str, Sequence[frozenset[str]]]
"""For each partition of each topic, the racks of its replicas; empty where they are not known."""
Assignment = dict[str, list[TopicPartition]]
"""The partitions of each member, by its id; those of one member are in order."""


@dataclass(frozen=True, slots=True)
class Member:
    """A member of the group, as it told the leader about itself."""

    id: str
    topics: Sequence[str]
    """The topics that it subscribes to; some may not exist."""
    owned: Sequence[TopicPartition] = ()
    """What it has not given back; members that give all back before they join say nothing."""
    generation: int = -1
    """The generation in which it got what it owns; -1 where it was in none or does not tell."""
    instance_id: str | None = None
    """The name of a static member (KIP-345), which stays when its id changes."""
    rack: str | None = None
    user_data: bytes = b""
    """What its assignor had to say beyond that."""


class Assignor(Protocol):
    """A way to share out partitions that all members of a group support.

    An assignor of your own goes into `partition_assignment_strategy`, beside or instead of the
    names of ours. It needs a `name` and `assign`; the rest has defaults (see `custom`). All members
    of the group have to offer it. It may look at nothing but its arguments, so that it gives the
    same whoever leads the group. It is called on the event loop: one that takes long delays it.
    """

    @property
    def name(self) -> str:
        """The name by which members agree on it."""
        ...

    @property
    def is_cooperative(self) -> bool:
        """Whether members keep what they own while they join again (KIP-429)."""
        ...

    def user_data(self, owned: Sequence[TopicPartition], generation: int) -> bytes | None:
        """What a member that owns this since that generation says; None for nothing."""
        ...

    def assign(self, members: Sequence[Member], topics: Topics) -> Assignment:
        """The partitions of each member, by its id: of topics that it subscribes to, none twice.

        If it is cooperative, it gives nobody what another member still owns: that one has to lose
        it first, and joins again at once when it has.
        """
        ...

    def share_data(self, member: Member, partitions: Sequence[TopicPartition]) -> bytes | None:
        """What the leader tells a member to whom it gives these, beside that; None for nothing."""
        return None

    def on_assignment(
        self, partitions: Sequence[TopicPartition], user_data: bytes, generation: int
    ) -> None:
        """Hear what this member gets, and what the leader's `share_data` said to it.

        That is before the listener is told of partitions. What it raises is told to who reads
        next, and the assignment holds.
        """
        return


def in_order(members: Iterable[Member]) -> list[Member]:
    """The members in the order in which they are served: static ones first, by their name."""
    return sorted(
        members,
        key=lambda member: (
            member.instance_id is None,
            member.instance_id or "",
            member.id,
        ),
    )


def subscribers(members: Iterable[Member], topics: Topics) -> dict[str, list[Member]]:
    """Those who want each topic, in the order given; the topics that exist, by name."""
    found: dict[str, list[Member]] = {}
    for member in members:
        for topic in dict.fromkeys(member.topics):
            if topics.get(topic):
                found.setdefault(topic, []).append(member)
    return dict(sorted(found.items()))


def partitions_of(topic: str, topics: Topics) -> list[TopicPartition]:
    """All partitions of a topic, in order."""
    return [TopicPartition(topic, number) for number in range(len(topics[topic]))]
