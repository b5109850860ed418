"""What a group has committed: an offset for each partition, and when it may be forgotten. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple


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

    __slots__ = ("by_topic",)

    def __init__(self) -> None:
        self.by_topic: dict[str, dict[int, Committed]] = {}

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
        self.by_topic.setdefault(topic, {})[partition] = committed

    def forget(self, topic: str, partition: int) -> None:
        """Drop the offset of a partition, if there is one."""
        if partitions := self.by_topic.get(topic):
            partitions.pop(partition, None)
            if not partitions:
                del self.by_topic[topic]

    def forget_topic(self, topic: str) -> None:
        """Drop the offsets of a topic that is gone."""
        self.by_topic.pop(topic, None)

    def keep_if(self, wanted: Callable[[str, Committed], bool]) -> None:
        """Drop the offsets that nobody wants any more."""
        for topic, partition, committed in list(self):
            if not wanted(topic, committed):
                self.forget(topic, partition)
