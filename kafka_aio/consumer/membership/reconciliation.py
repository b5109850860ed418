"""From what a member owns to what it is to own, in steps of the user's. Pure.

Theory of operation. The coordinator tells a *target*, by topic ids. What of it has a name is the
*aim* of a reconciliation: first all is revoked that is not in it, then all of it is assigned, then
it is to be acknowledged. One reconciliation ends before the next begins; of the targets that came
meanwhile only the newest is taken. What had no name is left out, and is the next one's business,
once the metadata has it.

Rules for whoever changes this:

1. What is owned changes when a step is done, and then always: the user's code was called for it.
   Also if the reconciliation was abandoned meanwhile; but then nothing follows from it.
2. One step at a time, `Lose` too: it waits for the one that is under way.
3. A topic of the same name and another id is another topic: what is owned of the old one is
   revoked first.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TypeAlias, TypeVar

from kafka_aio.consumer.membership.member import Assign, Lose, OfUser, Revoke
from kafka_aio.protocol.messages.consumer_group import ConsumerGroupHeartbeatTopicPartitions
from kafka_aio.protocol.schema import Uuid
from kafka_aio.types import TopicPartition

Partitions: TypeAlias = Mapping[TopicPartition, Uuid]
"""Partitions with the ids of their topics."""
Slots: TypeAlias = frozenset[tuple[Uuid, int]]

S = TypeVar("S", Revoke, Lose, Assign)


class Reconciliation:
    """What a member owns, is to own, and does about it."""

    def __init__(self, topic_name: Callable[[Uuid], str | None]) -> None:
        """Begin with nothing owned, and no target."""
        self._topic_name = topic_name
        self._names: dict[Uuid, str] = {}
        """Of what is owned or aimed at: the metadata may forget them while we need them."""
        self._owned: Partitions = {}
        self._target: Slots | None = None
        self._is_new = False
        """The target, or a name of it, came after the last reconciliation began."""
        self._aim: Partitions | None = None
        self._was_assigned = False
        """The user was told what is assigned, since the target is that of this membership."""
        self._step: OfUser | None = None
        self._owned_after: Partitions = {}
        self.unresolved: frozenset[Uuid] = frozenset()
        """Topics of the target that have no name yet."""
        self.must_acknowledge = False
        """The coordinator has to hear what is owned."""

    def __repr__(self) -> str:
        step = f", {type(self._step).__name__} under way" if self._step else ""
        return (
            f"<Reconciliation: {len(self._owned)} partitions of {len(self._target or ())} to own,"
            f" {len(self.unresolved)} topics without a name{step}>"
        )

    @property
    def owned(self) -> frozenset[TopicPartition]:
        return frozenset(self._owned)

    @property
    def is_reconciled(self) -> bool:
        """Whether all of the target is owned, and nothing else."""
        return self._aim is None and not self._is_new and not self.unresolved

    @property
    def is_idle(self) -> bool:
        """Whether no step is under way."""
        return self._step is None

    @property
    def can_begin(self) -> bool:
        """Whether `begin` has something to do."""
        return self._step is None and (self._is_new or self._aim is not None)

    @property
    def can_lose(self) -> bool:
        """Whether `lose` has something to do."""
        return self._step is None and bool(self._owned)

    def topic_partitions(self) -> list[ConsumerGroupHeartbeatTopicPartitions]:
        """What is owned, as a heartbeat says it."""
        by_id: dict[Uuid, list[int]] = {}
        for partition, topic_id in sorted(self._owned.items()):
            by_id.setdefault(topic_id, []).append(partition.partition)
        return [
            ConsumerGroupHeartbeatTopicPartitions(topic_id=topic_id, partitions=numbers)
            for topic_id, numbers in by_id.items()
        ]

    # What happens

    def aim_at(self, target: Slots) -> None:
        """The coordinator has told what is to be owned; perhaps the same as before."""
        if target != self._target:
            self._target = target
            self._is_new = True
            needed = {topic_id for topic_id, _ in target} | set(self._owned.values())
            self._names = {each: name for each, name in self._names.items() if each in needed}
            self._resolve()

    def metadata_changed(self) -> None:
        """Topics may have got their names."""
        before = self.unresolved
        if before:
            self._resolve()
            self._is_new = self._is_new or self.unresolved != before

    def begin(self) -> Revoke | Assign | None:
        """The next step, if there is one and none is under way."""
        if self._step is not None:
            return None
        if self._aim is None:
            self._aim = self._take_up()
        if self._aim is None:
            return None
        aim = self._aim
        gone = {each for each, topic_id in self._owned.items() if aim.get(each) != topic_id}
        step: Revoke | Assign
        if gone:
            kept = {each: self._owned[each] for each in self._owned if each not in gone}
            step = self._under_way(Revoke(_sorted(gone)), owned_after=kept)
        else:
            added = aim.keys() - self._owned.keys()
            step = self._under_way(Assign(_sorted(aim), _sorted(added)), owned_after=aim)
        return step

    def lose(self) -> Lose | None:
        """Give up all that is owned, if there is any and no step is under way."""
        if not self.can_lose:
            return None
        return self._under_way(Lose(_sorted(self._owned)), owned_after={})

    def done(self, step: OfUser) -> None:
        """A step has ended."""
        if step is not self._step:
            return
        self._step = None
        self._owned = self._owned_after
        if isinstance(step, Assign) and self._aim is not None:
            self._aim = None
            self._was_assigned = True
            self.must_acknowledge = True

    def abandon(self) -> None:
        """The target is none any more: we are out. What is owned has to be lost."""
        self._target = self._aim = None
        self._is_new = self._was_assigned = self.must_acknowledge = False
        self.unresolved = frozenset()

    def forget(self) -> None:
        """Own nothing, at once: all was revoked already."""
        self.abandon()
        self._step = None
        self._owned = {}

    def _take_up(self) -> Partitions | None:
        """What to reconcile with; None if there is nothing to do for the user."""
        if not self._is_new:
            return None
        self._is_new = False
        aim = {
            TopicPartition(self._names[topic_id], number): topic_id
            for topic_id, number in sorted(self._target or ())
            if topic_id in self._names
        }
        # Who has just joined is told its first assignment even if it is empty; but not as long as
        # that is only because nothing has a name.
        if aim == self._owned and (self._was_assigned or self.unresolved):
            self.must_acknowledge = True
            return None
        return aim

    def _resolve(self) -> None:
        unresolved = set()
        for topic_id in {topic_id for topic_id, _ in self._target or ()} - self._names.keys():
            if (name := self._topic_name(topic_id)) is None:
                unresolved.add(topic_id)
            else:
                self._names[topic_id] = name
        self.unresolved = frozenset(unresolved)

    def _under_way(self, step: S, *, owned_after: Partitions) -> S:
        self._step = step
        self._owned_after = owned_after
        return step


def _sorted(partitions: Iterable[TopicPartition]) -> tuple[TopicPartition, ...]:
    return tuple(sorted(partitions))
