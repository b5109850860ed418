"""What a group has committed: an offset for each partition, and when it may be forgotten. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final, NamedTuple

from kafka_aio.broker.room import Room, bytes_of
from kafka_aio.errors import InvalidCommitOffsetSize

_OBJECTS: Final = 512
"""The bytes of an offset, without its metadata."""


class Committed(NamedTuple):
    """One committed offset."""

    offset: int
    leader_epoch: int
    metadata: str
    at: float
    """When it was committed, in time of the loop."""
    expires_at: float | None
    """When it may be forgotten, if the client said so (up to version 4 of OffsetCommit)."""


class Offsets:
    """Committed offsets by topic and partition, in the order in which they were first committed."""

    __slots__ = ("_room", "by_topic")

    def __init__(self, room: Room | None = None) -> None:
        self.by_topic: dict[str, dict[int, Committed]] = {}
        self._room = Room() if room is None else room

    def __repr__(self) -> str:
        return f"<Offsets of {len(self)} partitions>"

    def __len__(self) -> int:
        return sum(map(len, self.by_topic.values()))

    def __iter__(self) -> Iterator[tuple[str, int, Committed]]:
        for topic, partitions in self.by_topic.items():
            for partition, committed in partitions.items():
                yield topic, partition, committed

    def get(self, topic: str, partition: int) -> Committed | None:
        return self.by_topic.get(topic, {}).get(partition)

    def put(self, topic: str, partition: int, committed: Committed) -> None:
        """Keep an offset.

        Raises:
            InvalidCommitOffsetSize: There is no room for it.
        """
        growth = _size(committed) - _size(self.get(topic, partition))
        if not self._room.has(growth):
            raise InvalidCommitOffsetSize()
        self._room.take(growth)
        self.by_topic.setdefault(topic, {})[partition] = committed

    def forget(self, topic: str, partition: int) -> None:
        """Drop the offset of a partition, if there is one."""
        if partitions := self.by_topic.get(topic):
            self._room.take(-_size(partitions.pop(partition, None)))
            if not partitions:
                del self.by_topic[topic]

    def forget_topic(self, topic: str) -> None:
        """Drop the offsets of a topic that is gone."""
        self._room.take(-sum(map(_size, self.by_topic.pop(topic, {}).values())))

    def clear(self) -> None:
        """Drop all offsets: the group is gone."""
        for topic in list(self.by_topic):
            self.forget_topic(topic)

    def keep_if(self, wanted: Callable[[str, Committed], bool]) -> None:
        """Drop the offsets that nobody wants any more."""
        for topic, partition, committed in list(self):
            if not wanted(topic, committed):
                self.forget(topic, partition)


def _size(committed: Committed | None) -> int:
    return 0 if committed is None else _OBJECTS + bytes_of(committed.metadata)
