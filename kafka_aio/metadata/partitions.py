"""The partitions of a topic, with their leaders and epochs. Pure.

An answer may have a million of them. So what was decoded is kept as it is, in order, and beside it
only what is known otherwise: a dict entry for each partition would take more than the answer.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator
from itertools import islice
from operator import attrgetter, eq, ge, ne
from typing import Final, NamedTuple

from kafka_aio.protocol.messages.metadata import MetadataResponsePartition

NO_EPOCH: Final = -1
NOBODY: Final = -1
"""In place of a leader; so it is on the wire."""

_number = attrgetter("partition_index")


class Leader(NamedTuple):
    """Who leads a partition, and since which election."""

    node: int
    epoch: int
    """-1 where the brokers are too old to tell; so it is on the wire."""


_AS_TOLD: Final[dict[int, Leader]] = {}  # shared by all of which nothing else is known; stays empty


class Partitions:
    """What an answer told of each partition, and what is known otherwise."""

    __slots__ = ("_has_epochs", "_is_gapless", "_otherwise", "_told")

    def __init__(self, told: list[MetadataResponsePartition], *, has_epochs: bool = True) -> None:
        """Take over the list; of equal numbers the last counts."""
        _put_in_order(told)
        self._told = told
        self._is_gapless = not told or told[-1].partition_index == len(told) - 1
        self._has_epochs = has_epochs
        self._otherwise = _AS_TOLD

    def __len__(self) -> int:
        return len(self._told)

    def __iter__(self) -> Iterator[MetadataResponsePartition]:
        """As answers had them, in the order of their numbers."""
        return iter(self._told)

    def told(self, number: int) -> MetadataResponsePartition | None:
        """The partition as an answer had it."""
        told = self._told
        if self._is_gapless:
            return told[number] if 0 <= number < len(told) else None
        at = bisect_left(told, number, key=_number)
        return told[at] if at < len(told) and told[at].partition_index == number else None

    def leader(self, number: int) -> Leader | None:
        """The leader, whether or not that node is known; None if there is no leader."""
        leader = self._otherwise.get(number)
        if leader is None:
            told = self.told(number)
            if told is None:
                return None
            epoch = told.leader_epoch
            leader = Leader(told.leader_id, epoch if self._has_epochs else NO_EPOCH)
        return leader if leader.node >= 0 else None

    def epoch(self, number: int) -> int:
        """The newest that was seen; -1 if the partition has no epochs, or is not there."""
        if leader := self._otherwise.get(number):
            return leader.epoch
        told = self.told(number) if self._has_epochs else None
        return max(NO_EPOCH, told.leader_epoch) if told else NO_EPOCH

    def know(self, number: int, leader: Leader) -> None:
        """What was told of a partition is out of date; the leader may be `NOBODY`."""
        if self._otherwise is _AS_TOLD:
            self._otherwise = {}
        self._otherwise[number] = leader

    def keep_newer(self, known: Partitions, seen: Partitions) -> tuple[int, ...]:
        """Let partitions that were told of with an older epoch than one seen stay as they were.

        Where of those only the epoch is known, they have no leader.

        Returns:
            Their numbers.
        """
        if not seen or not self._has_epochs:
            return ()
        older = []
        for at, told in enumerate(self._told):
            number = told.partition_index
            epoch = seen.epoch(number)
            if not NO_EPOCH < told.leader_epoch < epoch:
                continue
            older.append(number)
            if before := known.told(number):
                self._told[at] = before
            if not before or number in known._otherwise:
                self.know(number, known.leader(number) or Leader(NOBODY, epoch))
        return tuple(older)

    def has_same_numbers(self, other: Partitions) -> bool:
        if self._is_gapless and other._is_gapless:
            return len(self) == len(other)
        return len(self) == len(other) and all(map(eq, map(_number, self), map(_number, other)))

    def has_epochs(self) -> bool:
        """Whether any of them has one."""
        return any(epoch > NO_EPOCH for epoch in self._epochs())

    def is_progress(self, known: Partitions) -> bool:
        """Whether they tell more than others with the same numbers.

        Another leader in the same epoch does not: nodes may contradict each other for ever.
        """
        has_epochs = False
        for mine, its in zip(self._epochs(), known._epochs(), strict=True):
            if mine != its:
                return True
            has_epochs = has_epochs or mine > NO_EPOCH
        return not has_epochs and any(map(ne, self.nodes(), known.nodes()))

    def nodes(self) -> Iterator[int]:
        """The leader of each, or `NOBODY`."""
        otherwise = self._otherwise
        for told in self._told:
            leader = otherwise.get(told.partition_index) if otherwise else None
            yield leader.node if leader else told.leader_id

    def _epochs(self) -> Iterator[int]:
        if self._otherwise or not self._has_epochs:
            yield from map(self.epoch, map(_number, self))
        else:
            for told in self._told:
                epoch = told.leader_epoch
                yield epoch if epoch > NO_EPOCH else NO_EPOCH


def _put_in_order(told: list[MetadataResponsePartition]) -> None:
    """Sort by number, and leave out all but the last of equal ones; with no copy if it can be."""
    if not any(map(ge, map(_number, told), map(_number, islice(told, 1, None)))):
        return
    told.sort(key=_number)
    kept = 0
    for each in told:
        kept += not kept or told[kept - 1].partition_index != each.partition_index
        told[kept - 1] = each
    del told[kept:]


NO_PARTITIONS: Final = Partitions([])
