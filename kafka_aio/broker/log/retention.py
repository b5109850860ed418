"""What logs may keep: each what its topic says, and all together what memory allows. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from operator import attrgetter
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from kafka_aio.broker.log.partition_log import PartitionLog
    from kafka_aio.broker.topics.topics import Topic

_SLACK: Final = 16
"""After logs were cut, one part in so many is free."""
_size: Final = attrgetter("size")


def drops_old(topic: Topic) -> bool:
    """Whether old records of a topic are deleted, and not only replaced by newer ones."""
    policy = topic.values["cleanup.policy"]
    assert isinstance(policy, tuple)
    return "delete" in policy


class Memory:
    """The bytes of all logs, held under a limit.

    Only what is appended is counted; what was dropped meanwhile is found out when the limit is
    reached, by looking at all logs. That is seldom: a part of the limit must be appended first.
    """

    __slots__ = ("_limit", "_most")

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._most = 0
        """The logs have not more bytes than that."""

    def __repr__(self) -> str:
        return f"<Memory of at most {self._most} bytes, {self._limit} allowed>"

    def appended(self, size: int) -> bool:
        """Count what was added to some log; whether `shrink` is due."""
        self._most += size
        return self._most > self._limit

    def shrink(self, logs: Iterable[PartitionLog]) -> None:
        """Drop the oldest segments of the largest logs, if they are too many bytes indeed."""
        logs = list(logs)
        self._most = sum(map(_size, logs))
        if self._most <= self._limit:
            return
        while self._most > self._limit - self._limit // _SLACK:
            largest = max(logs, key=_size)
            before = largest.size
            largest.drop_oldest_segment()
            self._most -= before - largest.size
