"""Fetches that wait for more bytes, by the partitions that they read. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from kafka_aio.broker.topics.topics import Partition


class Waiter(Protocol):
    """Somebody who waits for partitions to grow."""

    missing: int
    """How many bytes are to be appended before it is worth a look."""

    def look(self) -> None:
        """Enough was appended, as far as can be told from here."""

    def finish(self) -> None:
        """Something else has happened: wait no longer."""


class Waiting:
    """Who waits for which partition, in the order in which they came."""

    def __init__(self) -> None:
        self._by_partition: dict[Partition, dict[Waiter, None]] = {}

    def __repr__(self) -> str:
        waiters = {id(each) for waiters in self._by_partition.values() for each in waiters}
        return f"<Waiting: {len(waiters)} for {len(self._by_partition)} partitions>"

    def enter(self, waiter: Waiter, partitions: Iterable[Partition]) -> None:
        for partition in partitions:
            self._by_partition.setdefault(partition, {})[waiter] = None

    def leave(self, waiter: Waiter, partitions: Iterable[Partition]) -> None:
        for partition in partitions:
            waiters = self._by_partition.get(partition, {})
            waiters.pop(waiter, None)
            if not waiters:
                self._by_partition.pop(partition, None)

    def appended(self, partition: Partition, size: int) -> None:
        """So many bytes were added to a partition."""
        if partition not in self._by_partition:
            return
        for waiter in list(self._by_partition[partition]):
            waiter.missing -= size
            if waiter.missing <= 0:
                waiter.look()

    def changed(self, partition: Partition) -> None:
        """Its leader moved, or its end went back, or it is gone: whoever waits must know."""
        for waiter in list(self._by_partition.get(partition, ())):
            waiter.finish()
