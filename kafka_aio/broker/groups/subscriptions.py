"""What the members of a group want, by name and by pattern, of the topics that are there. Pure.

As in Kafka, patterns are resolved apart from the heartbeats: what they match is what they matched
when `resolve` was called last. Names are looked up each time.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import TYPE_CHECKING, Final

from kafka_aio.broker.groups.patterns import Pattern

if TYPE_CHECKING:
    from kafka_aio.broker.groups.consumer_member import Member
    from kafka_aio.broker.room import Room
    from kafka_aio.broker.topics.topics import Topics
    from kafka_aio.protocol.schema import Uuid

_POINTER: Final = 8
"""The bytes of a name that is kept elsewhere."""
_ITEM: Final = 32
"""The bytes of an item of a set."""


class Subscriptions:
    """The topics of a group."""

    def __init__(self, topics: Topics, room: Room) -> None:
        self._topics = topics
        self._room = room
        self._size = 0
        """The bytes of what the patterns matched."""
        self._patterns: Counter[str] = Counter()
        """How many members have each pattern."""
        self._matched: dict[str, tuple[str, ...]] = {}
        """By pattern, the names that it matched."""
        self._tried_on: frozenset[Uuid] = frozenset()
        """The topics that were there when the patterns were resolved."""
        self._seen = -1

    def __repr__(self) -> str:
        return f"<Subscriptions with {len(self._patterns)} patterns>"

    def change(self, before: Member | None, after: Member | None) -> None:
        """A member has come, gone or changed. What was the pattern of nobody else is forgotten."""
        old = before.pattern if before else ""
        new = after.pattern if after else ""
        if old == new:
            return
        if new:
            self._patterns[new] += 1
        if old:
            self._patterns[old] -= 1
            if not self._patterns[old]:
                del self._patterns[old]
                self._matched.pop(old, None)
                if not self._patterns:
                    self._tried_on = frozenset()
                self._weigh()

    def is_resolved(self, pattern: str) -> bool:
        return pattern in self._matched

    def needs_resolving(self) -> bool:
        """Whether a pattern is new, or there are topics that the patterns were not tried on.

        A topic that is gone is no reason: it is looked up, and not found.
        """
        if len(self._matched) < len(self._patterns):
            return True
        if not self._patterns or self._seen == self._topics.changes:
            return False
        self._seen = self._topics.changes
        return not self._topics.by_id.keys() <= self._tried_on

    def resolve(self) -> bool:
        """Try all patterns on all topics; does any match others than before?"""
        names = sorted(self._topics.by_name)
        before = self._matched
        self._matched = {
            text: tuple(filter(Pattern(text).matches, names)) for text in self._patterns
        }
        # The last pattern may be gone by now.
        self._tried_on = frozenset(self._topics.by_id) if self._patterns else frozenset()
        self._seen = self._topics.changes
        self._weigh()
        return any(matched != before.get(text, ()) for text, matched in self._matched.items())

    def names(self, member: Member) -> dict[str, None]:
        """What a member wants, be it there or not, in an order that is always the same."""
        return dict.fromkeys([*member.topics, *self._matched.get(member.pattern, ())])

    def topic_ids(self, member: Member) -> frozenset[Uuid]:
        """The topics that a member wants and that are there."""
        by_name = self._topics.by_name
        return frozenset(by_name[name].id for name in self.names(member) if name in by_name)

    def partition_counts(self, members: Iterable[Member]) -> dict[Uuid, int]:
        """The topics that any member wants and that are there: what a target is made of."""
        by_name = self._topics.by_name
        names = dict.fromkeys(name for member in members for name in self.names(member))
        found = [by_name[name] for name in names if name in by_name]
        return {topic.id: len(topic.partitions) for topic in found}

    def _weigh(self) -> None:
        """Count what is kept by now."""
        size = _POINTER * sum(map(len, self._matched.values())) + _ITEM * len(self._tried_on)
        self._room.take(size - self._size)
        self._size = size
