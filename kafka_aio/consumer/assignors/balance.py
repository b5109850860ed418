"""Even shares where members want different topics. Pure.

An assignment is balanced if nobody has a partition that somebody else could have who has at least
two fewer. Each move from the one to the other makes the shares more even, so that there is an end.

How few partitions leave the member that had them: first, what is free goes to the one who has
least. Then, what nobody had is moved as far as that helps, and only then what somebody had. It is
always the one who has least that takes, from the one who has most. So nobody gives what it would
have to take back later, and no partitions go round in a circle; the tests look for one.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Mapping, Sequence

from kafka_aio.types import TopicPartition

Held = dict[str, dict[TopicPartition, None]]
"""Partitions by topic, in the order in which they came."""


def share_between_some(
    ids: Sequence[str],
    partitions: Mapping[str, Sequence[TopicPartition]],
    wanting: Mapping[str, Sequence[str]],
    had: Mapping[TopicPartition, str],
) -> dict[str, list[TopicPartition]]:
    """Share partitions out between those who want their topics.

    Args:
        ids: All members; of those who have the same, the first is served first.
        partitions: All partitions of each topic.
        wanting: Who wants each topic: somebody does.
        had: Who had a partition before, and still wants its topic.
    """
    balance = _Balance(ids, wanting, had)
    # Topics that few want come first: the others can make up for them.
    for topic in sorted(partitions, key=lambda each: (len(wanting[each]), each)):
        for partition in partitions[topic]:
            if partition not in had:
                balance.give(partition, balance.lightest(topic))
    balance.restore()
    return balance.shares()


class _Balance:
    """Who has what, while it is shared out."""

    def __init__(
        self,
        ids: Sequence[str],
        wanting: Mapping[str, Sequence[str]],
        had: Mapping[TopicPartition, str],
    ) -> None:
        """Begin with what each member had."""
        self._ids = ids
        self._rank = {member_id: rank for rank, member_id in enumerate(ids)}
        self._wanting = {topic: frozenset(each) for topic, each in wanting.items()}
        self._wanted: dict[str, dict[str, None]] = {member_id: {} for member_id in ids}
        """What each member wants; what few want comes first."""
        for topic in sorted(wanting, key=lambda each: (len(wanting[each]), each)):
            for member_id in wanting[topic]:
                self._wanted[member_id][topic] = None
        self._had = had
        self._holder: dict[TopicPartition, str] = {}
        self._held: dict[str, Held] = {member_id: {} for member_id in ids}
        self._strange: dict[str, Held] = {member_id: {} for member_id in ids}
        """Of what each holds, that which it did not have before."""
        self._count = dict.fromkeys(ids, 0)
        self._lightest = [(0, rank) for rank in range(len(ids))]
        """Count and rank of each member, the one that has least first."""
        self._heaviest = [(0, rank) for rank in range(len(ids))]
        """The same with the one that has most first; its count is negative here."""
        self._content: tuple[set[str], set[str]] = set(), set()
        """Who can be given no more by those who have more; and who no more that is strange."""
        for partition, member_id in had.items():
            self.give(partition, member_id)

    def shares(self) -> dict[str, list[TopicPartition]]:
        found: dict[str, list[TopicPartition]] = {member_id: [] for member_id in self._ids}
        for partition, member_id in self._holder.items():
            found[member_id].append(partition)
        return found

    def lightest(self, topic: str) -> str:
        """Who has least of those who want the topic."""
        wanting = self._wanting[topic]
        return next(self._ids[rank] for _, rank in self._lightest if self._ids[rank] in wanting)

    def give(self, partition: TopicPartition, member_id: str) -> None:
        """Give a partition to a member, and take it from the one that has it, if any."""
        before = self._holder.get(partition)
        if before is not None:
            self._take(partition, before)
        self._holder[partition] = member_id
        self._held[member_id].setdefault(partition.topic, {})[partition] = None
        if self._had.get(partition) != member_id:
            self._strange[member_id].setdefault(partition.topic, {})[partition] = None
        self._add(member_id, 1)
        count = self._count[member_id]
        for content in self._content:
            # It now has more than some who could take of it.
            content.difference_update([each for each in content if self._count[each] + 1 < count])

    def _take(self, partition: TopicPartition, member_id: str) -> None:
        for held in (self._held[member_id], self._strange[member_id]):
            if partition in held.get(partition.topic, ()):
                del held[partition.topic][partition]
                if not held[partition.topic]:
                    del held[partition.topic]
        self._add(member_id, -1)
        for content in self._content:
            content.discard(member_id)

    def _add(self, member_id: str, number: int) -> None:
        rank, count = self._rank[member_id], self._count[member_id]
        del self._lightest[bisect_left(self._lightest, (count, rank))]
        insort(self._lightest, (count + number, rank))
        del self._heaviest[bisect_left(self._heaviest, (-count, rank))]
        insort(self._heaviest, (-count - number, rank))
        self._count[member_id] = count + number

    def restore(self) -> None:
        """Move what has to be moved."""
        while self._relieve(only_strange=True) or self._relieve(only_strange=False):
            pass

    def _relieve(self, *, only_strange: bool) -> bool:
        """Make one move that helps, if there is one; `only_strange`: of what is out of place."""
        content = self._content[only_strange]
        for _, rank in self._lightest:
            light = self._ids[rank]
            if light not in content:
                choice = self._choice(light, only_strange=only_strange)
                if choice is not None:
                    self.give(choice, light)
                    return True
                content.add(light)
        return False

    def _choice(self, light: str, *, only_strange: bool) -> TopicPartition | None:
        """What one who has little gets, from the one who has most."""
        wanted = self._wanted[light]
        held = self._strange if only_strange else self._held
        for count, rank in self._heaviest:
            if -count <= self._count[light] + 1:
                return None
            theirs = held[self._ids[rank]]
            if wanted.keys().isdisjoint(theirs):
                continue
            topic = next(topic for topic in wanted if topic in theirs)
            return next(reversed(theirs[topic]))
        return None
