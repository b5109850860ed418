"""Looks whether records can come at all, and says in the log why not, now and then."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterable, Iterator
from itertools import chain
from typing import Final

from kafka_aio.complaint import Complaint
from kafka_aio.consumer.position import OwnedPartition
from kafka_aio.consumer.subscription import Subscription
from kafka_aio.errors import BrokerError, KafkaError, for_code
from kafka_aio.metadata import Metadata

EVERY: Final = 1.0
"""So many seconds pass between two looks."""
PATIENCE: Final = 10.0
"""After so many seconds it is trouble not to be let into a group, or to get errors alone."""
MOST_NAMED: Final = 5
"""So many reasons are named at most."""

logger = logging.getLogger(__name__)


class Watch:
    """Knows what keeps records away."""

    def __init__(  # noqa: PLR0913 - keyword-only
        self,
        subscription: Subscription,
        metadata: Metadata,
        *,
        others: Callable[[], Iterable[str]] = tuple,
        logged: Callable[[], Iterable[str]] = tuple,
        waits_for: Callable[[], str] = str,
        is_asked: Callable[[], bool] = lambda: True,
        tell: Callable[[KafkaError], None] = lambda _: None,
    ) -> None:
        """Begin to watch.

        Args:
            subscription: What is to be read.
            metadata: The cluster.
            others: The troubles of the tasks: nodes that do not answer, for one.
            logged: Those that are in the log already, and are not said again.
            waits_for: What is missing that may take a while, in words; empty if nothing is.
            is_asked: Whether somebody wants records, or has since the last look: only then it is
                waited for.
            tell: Is told, once, of topics that brokers refuse to show us.
        """
        self._subscription = subscription
        self._metadata = metadata
        self._others = others
        self._logged = logged
        self._waits_for = waits_for
        self._is_asked = is_asked
        self._tell = tell
        self._waits_since: float | None = None
        self._waits_long = False
        self._refused: frozenset[str] = frozenset()
        self._complaint = Complaint()
        self._since: float | None = None

    def __repr__(self) -> str:
        return f"<Watch: {self.trouble() or 'all is well'}>"

    def trouble(self) -> str:
        """Why records may not come; empty if there is no reason to think so."""
        return _named(chain(self._logged(), self._unsaid()))

    def _unsaid(self) -> Iterator[str]:
        """What the log does not have by itself."""
        return chain(
            self._of_cluster(),
            self._of_topics(),
            self._of_partitions(),
            self._others(),
            [self._long_wait()],
        )

    def _of_cluster(self) -> Iterator[str]:
        """Who is back at the bootstrap servers has lost all brokers."""
        nodes = list(self._metadata.nodes.values())
        if nodes and all(node.id < 0 for node in nodes):
            tried = ", ".join(f"{node.host}:{node.port}" for node in nodes[:MOST_NAMED])
            yield f"no broker of the cluster can be reached; it is tried at {tried}"

    def _of_topics(self) -> Iterator[str]:
        return map(str, self._absent().values())

    def _absent(self) -> dict[str, BrokerError]:
        """The topics that are known not to be there for us, and why."""
        metadata = self._metadata
        owned = {each.partition.topic for each in self._subscription}
        return {
            topic: for_code(code, where=f"topic {topic!r}")
            for topic in sorted(self._subscription.topics | owned)
            if (code := metadata.topic_error(topic)) and metadata.partition_count(topic) is None
        }

    def _of_partitions(self) -> Iterator[str]:
        return map(self._why_not, self._subscription)

    def _why_not(self, owned: OwnedPartition) -> str:
        name, trouble = owned.partition, owned.trouble
        if owned.is_stuck:
            return f"{name}: what comes next cannot be read, and nobody has sought past"
        if owned.leader is None and (why := self._why_leaderless(owned)):
            return why
        if trouble is None or trouble.lasts < PATIENCE or owned.is_paused:
            return ""  # one that is paused is not asked for: the trouble may have passed
        return f"{name}: {owned.missing}"

    def _why_leaderless(self, owned: OwnedPartition) -> str:
        topic, number = owned.partition
        count = self._metadata.partition_count(topic)
        if count is None:
            return ""  # which is said of the topic, if it is known not to be there
        if number >= count:
            return f"{owned.partition}: there is no such partition, but 0 to {count - 1}"
        return f"{owned.partition}: nobody leads it at the moment"

    def _long_wait(self) -> str:
        return self._waits_for() if self._waits_long else ""

    async def run(self) -> None:
        """The task: for ever."""
        loop = asyncio.get_running_loop()
        while True:
            await asyncio.sleep(EVERY)
            self._look(loop.time())

    def _look(self, now: float) -> None:
        self._look_for_refusals()
        self._look_for_waits(now)
        reason = _named(self._unsaid())
        if not reason:
            self._since = None
            self._complaint.settled()
            return
        since = self._since = now if self._since is None else self._since
        if self._complaint.is_due(since, now=now):
            logger.warning("no records come for %.0f s: %s", now - since, reason)

    def _look_for_refusals(self) -> None:
        absent = self._absent()
        refused = {topic: error for topic, error in absent.items() if not error.retriable}
        for topic in refused.keys() - self._refused:
            self._tell(refused[topic])
        self._refused = frozenset(refused)

    def _look_for_waits(self, now: float) -> None:
        what, is_asked = self._waits_for(), self._is_asked()
        if not what:
            self._waits_since = None
        elif self._waits_since is None and is_asked:
            self._waits_since = now
        since = now if self._waits_since is None else self._waits_since
        self._waits_long = now - since >= PATIENCE


def _named(reasons: Iterable[str]) -> str:
    """The first ones, each once."""
    found = [reason for reason in dict.fromkeys(reasons) if reason]
    more = len(found) - MOST_NAMED
    return "; ".join(found[:MOST_NAMED] + ([f"and {more} more"] if more > 0 else []))
