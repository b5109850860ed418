"""What a member of a classic group owns, and the steps in which it comes and goes. Pure.

What is to be done next is derived from what is owned, what was assigned, and whether the member is
in the group and has to join: there is no flag for "revoke before the join". One step runs at a
time, and what is owned changes when it is done.
"""

from __future__ import annotations

from collections.abc import Iterable

from kafka_aio.consumer.assignors.claims import Claim
from kafka_aio.consumer.membership.member import Assign, Lose, OfUser, Revoke
from kafka_aio.types import TopicPartition


class Holdings:
    """The partitions of a member."""

    def __init__(self, *, is_cooperative: bool) -> None:
        """Begin with nothing.

        Args:
            is_cooperative: Partitions are kept during a join (KIP-429), unless they are not wanted.
        """
        self._is_cooperative = is_cooperative
        self._target: frozenset[TopicPartition] | None = None
        """The assignment that is not carried out yet."""
        self._counts = True
        """Whether the step that runs changes what is owned: not after `forget`."""
        self.owned: frozenset[TopicPartition] = frozenset()
        self.step: OfUser | None = None
        """The one that runs."""
        self.last = Claim()
        """What was assigned last, which may have been given back since."""

    def __repr__(self) -> str:
        step = f", {type(self.step).__name__} runs" if self.step is not None else ""
        return f"<Holdings: {len(self.owned)} partitions{step}>"

    def assign(self, partitions: frozenset[TopicPartition], generation: int) -> bool:
        """The leader gives us these; whether others wait for something that we own."""
        self._target = partitions
        self.last = Claim(_in_order(partitions), generation)
        return bool(self.owned - partitions)

    def next(self, wanted: frozenset[str], *, is_member: bool, joins: bool) -> OfUser | None:
        """What has to happen to what is owned, before anything else; no step runs.

        Args:
            wanted: The topics that the user wants by now.
            is_member: The member is in the group, so what it owns is its own.
            joins: It has to join.
        """
        if not is_member:
            return Lose(_in_order(self.owned)) if self.owned else None
        if self._target is not None:
            # The user may want less since it was assigned; then the next join is due already.
            target = frozenset(each for each in self._target if each.topic in wanted)
            if gone := self.owned - target:
                return Revoke(_in_order(gone))
            return Assign(_in_order(target), _in_order(target - self.owned))
        if not joins:
            return None
        gone = frozenset(
            each for each in self.owned if not self._is_cooperative or each.topic not in wanted
        )
        return Revoke(_in_order(gone)) if gone else None

    def begin(self, step: OfUser) -> OfUser:
        """This one runs from now on."""
        self.step = step
        self._counts = True
        return step

    def done(self, step: OfUser) -> None:
        """A step has ended."""
        if step is not self.step:
            return
        self.step = None
        if not self._counts:
            return
        if isinstance(step, Assign):
            self.owned = frozenset(step.partitions)
            self._target = None
        else:
            self.owned -= frozenset(step.partitions)

    def drop_assignment(self) -> None:
        """What was assigned, and is not carried out yet, is not ours any more."""
        self._target = None

    def forget(self) -> None:
        """Own nothing, whatever the step that runs may do."""
        self.owned = frozenset()
        self._counts = False


def _in_order(partitions: Iterable[TopicPartition]) -> tuple[TopicPartition, ...]:
    return tuple(sorted(partitions))
