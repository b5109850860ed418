"""What a user may be told of partitions that come and go. Pure."""

from __future__ import annotations

from collections.abc import Awaitable, Collection
from typing import Final, TypeAlias

from kafka_aio.types import TopicPartition

MayWait: TypeAlias = Awaitable[None] | None
"""What a method returns that may be plain or a coroutine."""
_METHODS: Final = ("revoked", "assigned", "lost")


class RebalanceListener:
    """Is told of partitions that come and go; each method may be `async def` instead.

    Any object with some of these methods will do. They are called while no records are handed over,
    one at a time. In each of them the consumer's commit, seek, position and so on can be called.

    What a method raises is raised to who reads next; the group goes on. One that takes longer than
    `max_poll_interval_ms` costs us our place: others get the partitions at once, and what of them
    we still have is lost when it has ended.
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


def check_listener(listener: object) -> None:
    """Whether an object can be told anything.

    Raises:
        TypeError: It cannot: it is for another client, or the function itself.
    """
    if listener is None or any(callable(getattr(listener, each, None)) for each in _METHODS):
        return
    kind = type(listener).__qualname__
    raise TypeError(f"a listener has some of the methods {', '.join(_METHODS)}; <{kind}> has none")
