"""Even shares where members want different topics. Pure.

An assignment is balanced if nobody has a partition that somebody else could have who has at least
two fewer. Each move from the one to the other makes the shares more even, so that there is an end.

How few partitions leave the member that had them: first, what is free goes to the one who has
least. Then, what nobody had is moved as far as that helps, and only then what somebody had. At
last, moves that go round in a circle are undone: each member of it gives one partition and takes
one, so all of them can as well keep their own.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Mapping, Sequence

from kafka_aio.types import TopicPartition


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
        self._topics = sorted(wanting, key=lambda each: (len(wanting[each]), each))
        self._had = had
        self._held: dict[str, dict[str, list[TopicPartition]]] = {
            topic: {} for topic in self._topics
        }
        """By topic and member."""
        self._holder: dict[TopicPartition, str] = {}
        self._count = dict.fromkeys(ids, 0)
        self._order = [(0, rank) for rank in range(len(ids))]
        """Count and rank of each member, the one that has least first."""
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
        return next(self._ids[rank] for _, rank in self._order if self._ids[rank] in wanting)

    def give(self, partition: TopicPartition, member_id: str) -> None:
        """Give a partition to a member, and take it from the one that has it, if any."""
        before = self._holder.get(partition)
        if before is not None:
            self._held[partition.topic][before].remove(partition)
            self._add(before, -1)
        self._holder[partition] = member_id
        self._held[partition.topic].setdefault(member_id, []).append(partition)
        self._add(member_id, 1)

    def _add(self, member_id: str, number: int) -> None:
        rank, count = self._rank[member_id], self._count[member_id]
        del self._order[bisect_left(self._order, (count, rank))]
        insort(self._order, (count + number, rank))
        self._count[member_id] = count + number

    def restore(self) -> None:
        """Move what has to be moved."""
        while True:
            while self._relieve(only_free=True) or self._relieve(only_free=False):
                pass
            circle = self._circle()
            if not circle:
                return
            for partition in circle:
                self.give(partition, self._had[partition])

    def _relieve(self, *, only_free: bool) -> bool:
        """Make one move that helps, if there is one; `only_free`: of what is not at its place."""
        for topic in self._topics:
            lightest = self.lightest(topic)
            for heavy in self._heavier(topic, self._count[lightest] + 1):
                choice = self._choice(topic, heavy, lightest, only_free=only_free)
                if choice is not None:
                    self.give(choice, lightest)
                    return True
        return False

    def _heavier(self, topic: str, count: int) -> list[str]:
        """Who has some of a topic and more than `count` in all, the one that has most first."""
        found = [each for each, mine in self._held[topic].items() if mine]
        return sorted(
            (each for each in found if self._count[each] > count),
            key=lambda each: (-self._count[each], self._rank[each]),
        )

    def _choice(
        self, topic: str, heavy: str, lightest: str, *, only_free: bool
    ) -> TopicPartition | None:
        """What goes from one to the other; of what is free, best what the other had."""
        mine = self._held[topic][heavy]
        if not only_free:
            return mine[-1]
        free = [each for each in mine if self._had.get(each) != heavy]
        theirs = (each for each in free if self._had.get(each) == lightest)
        return next(theirs, free[-1] if free else None)

    def _circle(self) -> list[TopicPartition]:
        """Partitions that went round in a circle: from a to b, from b to c, from c to a."""
        moves: dict[str, dict[str, TopicPartition]] = {}
        for partition, before in self._had.items():
            if (now := self._holder[partition]) != before:
                moves.setdefault(before, {})[now] = partition
        while ends := [each for each, to in moves.items() if moves.keys().isdisjoint(to)]:
            for each in ends:
                del moves[each]
        if not moves:
            return []
        # From each of those who are left a move leads to another one of them.
        path = [next(iter(moves))]
        while True:
            following = next(each for each in moves[path[-1]] if each in moves)
            if following in path:
                circle = path[path.index(following) :]
                return [
                    moves[before][now]
                    for before, now in zip(circle, [*circle[1:], following], strict=True)
                ]
            path.append(following)
