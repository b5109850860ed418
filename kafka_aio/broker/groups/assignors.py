"""Who of a group gets which partitions: "uniform" and "range", as Kafka's brokers assign. Pure.

An assignor is a function of the members, with what they were to have so far, and of the topics.
It looks at nothing in the order of a set or a dict: the same values give the same assignment.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from heapq import heapify, heappop, heapreplace
from typing import Final, TypeAlias

from kafka_aio.protocol.schema import Uuid

Slot: TypeAlias = tuple[Uuid, int]
"""A partition: the id of its topic, and its number."""

_ROUNDS: Final = 16
"""How often the topics are gone through at most. Each round about halves what is uneven."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """A member as assignors see it."""

    id: str
    instance_id: str | None = None
    topics: frozenset[Uuid]
    """The topics that it wants; all of them exist."""
    slots: frozenset[Slot] = frozenset()
    """What it was to have so far. Some of it may exist no longer."""


Assignor: TypeAlias = Callable[[Collection[Candidate], Mapping[Uuid, int]], dict[str, set[Slot]]]
"""From the members and the number of partitions of each topic to what each member is to have."""


def uniform(members: Collection[Candidate], counts: Mapping[Uuid, int]) -> dict[str, set[Slot]]:
    """Spread all partitions evenly; of the ways to do that, take one that moves few of them."""
    ordered = sorted(members, key=lambda member: member.id)
    if not ordered:
        return {}
    topics = ordered[0].topics
    if all(member.topics == topics for member in ordered):
        return _uniform_alike(ordered, {topic: counts[topic] for topic in sorted(topics)})
    spread = _Spread(ordered, counts)
    spread.give_out()
    spread.even_out()
    return spread.result()


def assign_ranges(
    members: Collection[Candidate], counts: Mapping[Uuid, int]
) -> dict[str, set[Slot]]:
    """Give each member the same range of every topic that it wants: what belongs together meets.

    Members stand in the order of their names. Static ones come first, by the name that stays when
    they come back under another id.
    """
    ordered = sorted(
        members, key=lambda member: (member.instance_id is None, member.instance_id or member.id)
    )
    assigned: dict[str, set[Slot]] = {member.id: set() for member in ordered}
    for topic in _topics(ordered):
        subscribers = [member for member in ordered if topic in member.topics]
        width, extra = divmod(counts[topic], len(subscribers))
        start = 0
        for place, member in enumerate(subscribers):
            end = start + width + (place < extra)
            assigned[member.id].update((topic, index) for index in range(start, end))
            start = end
    return assigned


ASSIGNORS: Final[Mapping[str, Assignor]] = {"uniform": uniform, "range": assign_ranges}
"""By the names that members and settings have for them."""


def _topics(members: Iterable[Candidate]) -> list[Uuid]:
    return sorted({topic for member in members for topic in member.topics})


def _uniform_alike(
    members: Sequence[Candidate], counts: Mapping[Uuid, int]
) -> dict[str, set[Slot]]:
    """The simple case, in which everybody wants the same: all have as many, or one more.

    Who has more than the others anyway may have the one more: then the fewest partitions move.
    """
    slots = [(topic, index) for topic, count in counts.items() for index in range(count)]
    least, extras = divmod(len(slots), len(members))
    existing = set(slots)
    held = [sorted(member.slots & existing) for member in members]
    taken = {slot for each in held for slot in each}
    free = [slot for slot in slots if slot not in taken]
    assigned: dict[str, set[Slot]] = {}
    short: list[tuple[str, int]] = []
    for place, (member, has) in enumerate(zip(members, held, strict=True)):
        must_have_more = len(members) - place <= extras
        may_have_more = extras > 0 and len(has) > least
        quota = least + (must_have_more or may_have_more)
        extras -= quota - least
        assigned[member.id] = set(has[:quota])
        free += has[quota:]
        if len(has) < quota:
            short.append((member.id, quota - len(has)))
    start = 0
    for member_id, missing in short:
        assigned[member_id].update(free[start : start + missing])
        start += missing
    return assigned


class _Spread:
    """The harder case, in which members want different topics. Members are numbers here."""

    def __init__(self, members: Sequence[Candidate], counts: Mapping[Uuid, int]) -> None:
        self._members = members
        self._counts = counts
        self._subscribers: dict[Uuid, list[int]] = {
            topic: [at for at, member in enumerate(members) if topic in member.topics]
            for topic in _topics(members)
        }
        self._owners: dict[Slot, int] = {
            slot: at
            for at, member in enumerate(members)
            for slot in member.slots
            if slot[0] in member.topics and slot[1] < counts[slot[0]]
        }
        self._sizes = [0] * len(members)
        for owner in self._owners.values():
            self._sizes[owner] += 1
        # First the topics that leave the least choice: many partitions for few subscribers.
        self._topics = sorted(
            self._subscribers,
            key=lambda topic: (
                -counts[topic] / len(self._subscribers[topic]),
                len(self._subscribers[topic]),
                topic,
            ),
        )

    def give_out(self) -> None:
        """Give each partition that nobody has to the subscriber who has the fewest."""
        for topic in self._topics:
            poor = self._poorest_first(topic)
            for index in range(self._counts[topic]):
                if (topic, index) not in self._owners:
                    _, to = poor[0]
                    self._move((topic, index), to)
                    heapreplace(poor, (self._sizes[to], to))

    def even_out(self) -> None:
        """Move partitions from who has many to who has few, until no topic can be improved."""
        for _ in range(_ROUNDS):
            # Not `any`: each topic has its turn.
            if not sum(self._even_out_topic(topic) for topic in self._topics):
                return

    def result(self) -> dict[str, set[Slot]]:
        assigned: dict[str, set[Slot]] = {member.id: set() for member in self._members}
        for slot, owner in self._owners.items():
            assigned[self._members[owner].id].add(slot)
        return assigned

    def _even_out_topic(self, topic: Uuid) -> int:
        """Even out among the subscribers of one topic, by its partitions; how many were moved?"""
        given: dict[int, list[Slot]] = {}
        for index in range(self._counts[topic]):
            given.setdefault(self._owners[topic, index], []).append((topic, index))
        poor = self._poorest_first(topic)
        rich = [(-self._sizes[at], -at) for at in given]
        heapify(rich)
        moved = 0
        # A heap does not hear of what the other one's member gets or gives. It need not: who gets
        # is the poorest, and can only be among the rich when there is nothing left to even out.
        while rich and -rich[0][0] - poor[0][0] > 1:
            giver = -rich[0][1]
            taker = poor[0][1]
            self._move(given[giver].pop(), taker)
            moved += 1
            heapreplace(poor, (self._sizes[taker], taker))
            if given[giver]:
                heapreplace(rich, (-self._sizes[giver], -giver))
            else:
                heappop(rich)
        return moved

    def _poorest_first(self, topic: Uuid) -> list[tuple[int, int]]:
        poor = [(self._sizes[at], at) for at in self._subscribers[topic]]
        heapify(poor)
        return poor

    def _move(self, slot: Slot, to: int) -> None:
        if (owner := self._owners.get(slot)) is not None:
            self._sizes[owner] -= 1
        self._owners[slot] = to
        self._sizes[to] += 1
