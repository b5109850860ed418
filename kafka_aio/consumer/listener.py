"""What a user may be told of partitions that come and go. Pure."""

from __future__ import annotations

from collections.abc import Awaitable, Collection
from typing import TypeAlias

from kafka_aio.types import TopicPartition

MayWait: TypeAlias = Awaitable[None] | None
"""What a method returns that may be plain or a coroutine."""


class RebalanceListener:
    """Is told of partitions that come and go; each method may be `async def` instead.

    Any object with some of these methods will do. They are called while no records are handed over,
    one at a time. In each of them the consumer's commit, seek, position and so on can be called.

    What a method raises is raised to who reads next; the group goes on.
    """

    def revoked(self, partitions: Collection[TopicPartition]) -> MayWait:
        """These are taken away; until this ends they are ours, and can be committed."""
        return None

    def assigned(self, partitions: Collection[TopicPartition]) -> MayWait:
        """These are new; they may be none. None of their records was handed over yet."""
        return None

    def lost(self, partitions: Collection[TopicPartition]) -> MayWait:
        """These may be another's already: nothing can be committed any more."""
        return self.revoked(partitions)
