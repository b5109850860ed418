"""One partition: its log, the nodes that have it, and who of them leads in which epoch. Pure.

Theory of operation. A partition has replicas, the preferred leader first. Those in sync (`isr`) may
lead. When too few are in sync for `min.insync.replicas`, those that fall out are remembered as
eligible leaders (`elr`, KIP-966): they have all that was acknowledged, so one of them may lead when
nobody is in sync any more. When nobody may lead, the leader is `NOBODY`, and the last one is
remembered.

All replicas share the log, as all nodes are in one process: a node that comes up again is in sync
at once, and nothing is lost by an unclean election (`State.truncate` is for that).

Whatever changes raises `partition_epoch`; another leader raises `leader_epoch` too.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Final, TypeAlias

from kafka_aio.errors import (
    ElectionNotNeeded,
    EligibleLeadersNotAvailable,
    PreferredLeaderNotAvailable,
)

if TYPE_CHECKING:
    from kafka_aio.broker.log import PartitionLog
    from kafka_aio.broker.topics.topics import Topic

NOBODY: Final = -1
"""The leader of a partition that has none."""

IsUp: TypeAlias = Callable[[int], bool]


class Partition:
    """One partition: a log, and the nodes that have it."""

    __slots__ = (
        "elr",
        "index",
        "isr",
        "last_leader",
        "leader",
        "leader_epoch",
        "log",
        "partition_epoch",
        "replicas",
        "topic",
    )

    def __init__(
        self, topic: Topic, index: int, replicas: list[int], log: PartitionLog, *, isr: list[int]
    ) -> None:
        self.topic = topic
        self.index = index
        self.replicas = replicas
        self.isr = isr
        """In sync; as the replicas at first, by id once that others came in sync again."""
        self.elr: list[int] = []
        """Eligible leaders that are not in sync, by id."""
        self.leader = isr[0]
        self.last_leader = NOBODY
        """Who led last, while nobody does."""
        self.leader_epoch = 0
        self.partition_epoch = 0
        self.log = log
        log.begin_epoch(0)

    def __repr__(self) -> str:
        return (
            f"<Partition {self.topic.name}-{self.index} led by {self.leader}"
            f" in epoch {self.leader_epoch}>"
        )

    @property
    def preferred_leader(self) -> int:
        return self.replicas[0]

    @property
    def _least_in_sync(self) -> int:
        return min(self.topic.min_insync_replicas, len(self.replicas))

    def lead(self, node: int) -> None:
        """Let a node lead it from now on, in the next epoch; or nobody."""
        self.last_leader = self.leader if node == NOBODY else NOBODY
        self.leader = node
        self.leader_epoch += 1
        self.partition_epoch += 1
        if node == NOBODY:
            return
        self.log.begin_epoch(self.leader_epoch)
        # New lists: answers that are still to be sent have the old ones.
        if node not in self.isr:
            self.isr = [*self.isr, node]
        if node in self.elr:
            self.elr = [each for each in self.elr if each != node]

    def lose(self, node: int, is_up: IsUp) -> bool:
        """Go on without a node that went down. Whether anything has changed."""
        if node not in self.isr:
            return False
        before, self.isr = self.isr, [each for each in self.isr if each != node]
        is_enough = len(self.isr) >= self._least_in_sync
        self.elr = [] if is_enough else sorted({*self.elr, *before} - {*self.isr})
        if self.leader == node:
            self._lead_next(is_up)
        else:
            self.partition_epoch += 1
        return True

    def regain(self, is_up: IsUp) -> bool:
        """Go on with all who are up: some came up again. Whether anything has changed."""
        before = self.partition_epoch
        if self.leader == NOBODY and self._next_leader(is_up) != NOBODY:
            self._lead_next(is_up)
        back = [node for node in self.replicas if node not in self.isr and is_up(node)]
        if self.leader != NOBODY and back:
            self.isr = sorted(self.isr + back)
            is_enough = len(self.isr) >= self._least_in_sync
            self.elr = [] if is_enough else [node for node in self.elr if node not in back]
            self.partition_epoch += 1
        return self.partition_epoch != before

    def elect_preferred(self, is_up: IsUp) -> None:
        """Let the preferred leader lead; if nobody did, anyone who may.

        Raises:
            ElectionNotNeeded: It leads already.
            PreferredLeaderNotAvailable: It may not.
        """
        if self.leader == self.preferred_leader:
            raise ElectionNotNeeded("Leader election not needed for topic partition.")
        if self._may_lead(self.preferred_leader, is_up):
            self.lead(self.preferred_leader)
        elif self.leader == NOBODY and self._clean_leader(is_up) != NOBODY:
            self.lead(self._clean_leader(is_up))
        else:
            raise PreferredLeaderNotAvailable("The preferred leader was not available.")

    def elect_unclean(self, is_up: IsUp) -> None:
        """Let anyone lead who is up, if nobody does.

        Raises:
            ElectionNotNeeded: Somebody leads.
            EligibleLeadersNotAvailable: Nobody is up.
        """
        if self.leader != NOBODY:
            raise ElectionNotNeeded("Leader election not needed for topic partition.")
        if not any(map(is_up, self.replicas)):
            raise EligibleLeadersNotAvailable("Eligible topic partition leaders are not available.")
        self._lead_next(is_up, unclean=True)
        self.regain(is_up)

    def reassign(self, replicas: list[int], is_up: IsUp) -> None:
        """Let other nodes have it. They are in sync at once, if they are up."""
        is_smaller = not set(self.replicas) <= set(replicas)
        self.replicas = replicas
        self.isr = [node for node in self.isr if node in replicas]
        if added := [node for node in replicas if node not in self.isr and is_up(node)]:
            self.isr = sorted(self.isr + added)
        self.elr = [node for node in self.elr if node in replicas]
        if self.leader not in replicas:
            self._lead_next(is_up)
        elif is_smaller:
            self.lead(self.leader)  # who was taken out must not believe in this epoch any more
        else:
            self.partition_epoch += 1

    def _lead_next(self, is_up: IsUp, *, unclean: bool = False) -> None:
        node = self._next_leader(is_up, unclean=unclean)
        if node != NOBODY and not self._may_lead(node, is_up):
            self.isr, self.elr = [], []
        self.lead(node)

    def _next_leader(self, is_up: IsUp, *, unclean: bool = False) -> int:
        clean = self._clean_leader(is_up)
        if clean == NOBODY and (unclean or self.topic.elects_unclean):
            return next(filter(is_up, self.replicas), NOBODY)
        return clean

    def _clean_leader(self, is_up: IsUp) -> int:
        return next((node for node in self.replicas if self._may_lead(node, is_up)), NOBODY)

    def _may_lead(self, node: int, is_up: IsUp) -> bool:
        is_eligible = node in self.isr or (not self.isr and node in self.elr)
        return is_eligible and is_up(node)
