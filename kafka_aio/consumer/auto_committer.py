"""Commits by itself what the user has dealt with: by the clock, and before partitions go."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Collection
from math import inf
from typing import TYPE_CHECKING, Final

from kafka_aio.consumer.commit_queue import AutoCommit
from kafka_aio.consumer.commits import Offsets
from kafka_aio.consumer.committer import Committer
from kafka_aio.consumer.subscription import Subscription
from kafka_aio.errors import KafkaError
from kafka_aio.types import OffsetAndMetadata, TopicPartition

if TYPE_CHECKING:
    from kafka_aio.config import ConsumerConfig

_LEAST_MS: Final = 10
"""No pause at all would keep the loop busy."""

logger = logging.getLogger(__name__)


class AutoCommitter:
    """Has no task of its own: the Coordinator's looks at `due_at`."""

    def __init__(
        self,
        committer: Committer,
        subscription: Subscription,
        config: ConsumerConfig,
        *,
        tell: Callable[[], None],
        wake: Callable[[], None],
    ) -> None:
        """Begin to count the time.

        Args:
            committer: Who commits.
            subscription: Where it is known how far we are.
            config: The client's.
            tell: Is called before that is looked at.
            wake: Is called when `due_at` is sooner than it was.
        """
        self._committer = committer
        self._subscription = subscription
        self._tell = tell
        self._wake = wake
        self._retry_pause = max(config.retry_backoff_max_ms, _LEAST_MS) / 1000
        self._loop = asyncio.get_running_loop()
        self._is_on = config.enable_auto_commit
        interval = max(config.auto_commit_interval_ms, _LEAST_MS) / 1000 if self._is_on else inf
        self._auto = AutoCommit(interval, now=self._loop.time())
        self._in_flight = 0
        self._has_complained = False
        committer.acknowledged = self._acknowledged

    def __repr__(self) -> str:
        return f"<AutoCommitter: {self._auto!r}, {self._in_flight} in flight>"

    @property
    def due_at(self) -> float:
        """When to call `turn`."""
        return self._auto.due_at

    def turn(self, *, now: float) -> None:
        """Commit, if that is due, and none is in flight: the next will have what this one has."""
        if now < self._auto.due_at:
            return
        if self._in_flight or self._committer.identity() is None:
            self._auto.take({}, now=now)
        else:
            self.begin()

    def begin(self) -> None:
        """Begin to commit now, if that is up to us at all."""
        if offsets := self._taken():
            self._in_flight += 1
            self._committer.commit_nowait(offsets, self._ended)

    async def commit(self, *, until: float) -> None:
        """Commit now, and wait for it until that time of the loop; what goes wrong is logged.

        Meanwhile the clock begins none: it would have the same offsets, and end after this one,
        when the user was told that the partitions are gone.
        """
        self._in_flight += 1
        try:
            if offsets := self._taken():
                await self._committer.commit(offsets, until=until)
        except KafkaError as error:
            logger.warning("auto-commit failed before partitions were given up: %s", error)
        finally:
            self._in_flight -= 1

    def forget(self, partitions: Collection[TopicPartition]) -> None:
        """They are owned no more."""
        self._auto.forget(partitions)

    def _taken(self) -> dict[TopicPartition, OffsetAndMetadata]:
        if not self._is_on:
            return {}
        self._tell()
        return self._auto.take(self._subscription.committable(), now=self._loop.time())

    def _ended(self, offsets: Offsets, error: KafkaError | None) -> None:
        self._in_flight -= 1
        if error is None:
            self._has_complained = False
            return
        log = logger.debug if self._has_complained else logger.warning
        log("auto-commit failed, and is tried again: %s", error)
        self._has_complained = True
        self._auto.failed(now=self._loop.time(), pause=self._retry_pause)
        self._wake()

    def _acknowledged(self, offsets: Offsets) -> None:
        owned = {name: each for name, each in offsets.items() if name in self._subscription}
        self._auto.committed(owned, now=self._loop.time())
