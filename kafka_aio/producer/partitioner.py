"""Which partition gets a record that does not say: uniform sticky, by load, or in turn. Pure.

Records without a key stay with one partition until it has had about a batch of bytes (KIP-480,
KIP-794), so that batches fill and partitions get the same number of bytes. A partition whose queue
is longer, because its broker is slower, is chosen less often. Records with a key go by
`partition_of_key`.
"""

from __future__ import annotations

from bisect import bisect_right
from itertools import accumulate
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence


class StickyPartitioner:
    """The partition at hand for the records of one topic that have no key."""

    def __init__(self, *, batch_size: int, adaptive: bool) -> None:
        """Begin without partitions: `update` tells them.

        Args:
            batch_size: How many bytes a partition gets before another is chosen.
            adaptive: Whether the lengths of queues, and slow brokers, have a say.

        Raises:
            ValueError: `batch_size` is below 1.
        """
        if batch_size < 1:
            raise ValueError(f"a batch has 1 byte or more, not {batch_size}")
        self._batch_size = batch_size
        self._adaptive = adaptive
        self._choices: Sequence[int] = ()
        self._weights: Sequence[int] | None = None
        """Of each choice, with those before it added; None: all have the same."""
        self._current: int | None = None
        self._bytes = 0

    @property
    def must_choose(self) -> bool:
        """Whether `current` will choose anew, and `update` is worth its while before."""
        return self._current is None

    def current(self, *, chance: float) -> int:
        """The partition for the next record.

        Args:
            chance: A random number, at least 0 and below 1, in case another is to be chosen.

        Raises:
            ValueError: The topic has no partitions; or none were told.
        """
        if self._current is None:
            self._current = self._choose(chance)
            self._bytes = 0
        return self._current

    def added(self, size: int, *, may_switch: bool = True) -> None:
        """Tell how many bytes went to the partition at hand. After a batch of them, choose anew.

        Args:
            size: How many more bytes.
            may_switch: False while the batch at hand waits for more: to leave it now would send it
                half empty. It is left all the same once twice the size went there.
        """
        self._bytes += size
        enough = self._batch_size if may_switch else self._batch_size * 2
        if self._bytes >= enough:
            self._current = None

    def update(
        self,
        partitions: Sequence[int],
        queued: Sequence[int],
        *,
        leaderless: Collection[int] = (),
        slow: Collection[int] = (),
    ) -> None:
        """Tell how it stands with the topic.

        Args:
            partitions: All of its partitions; kept as it is, so not to be changed.
            queued: For each of them, how many batches wait.
            leaderless: Those without a leader: left out, unless all are without.
            slow: Those whose broker takes no batches: left out, unless nothing else is left.

        Raises:
            ValueError: There is not one queue for each partition.
        """
        if len(queued) != len(partitions):
            raise ValueError(f"{len(partitions)} partitions and {len(queued)} queues")
        choices = _without(partitions, leaderless)
        self._weights = None
        if self._adaptive:
            choices = _without(choices, slow)
            self._weights = _weights(_chosen_queues(partitions, queued, choices))
        self._choices = choices
        if self._current not in choices:
            self._current = None

    def _choose(self, chance: float) -> int:
        if not self._choices:
            raise ValueError("no partitions to choose from")
        if self._weights is None:
            return self._choices[int(chance * len(self._choices))]
        return self._choices[bisect_right(self._weights, int(chance * self._weights[-1]))]


class RoundRobin:
    """The partitions of one topic in turn, a record each, whatever its key."""

    def __init__(self) -> None:
        """Begin without partitions: `update` tells them."""
        self._choices: Sequence[int] = ()
        self._turn = 0

    def next(self) -> int:
        """The partition for the next record.

        Raises:
            ValueError: The topic has no partitions; or none were told.
        """
        if not self._choices:
            raise ValueError("no partitions to choose from")
        partition = self._choices[self._turn % len(self._choices)]
        self._turn += 1
        return partition

    def update(self, partitions: Sequence[int], *, leaderless: Collection[int] = ()) -> None:
        """Tell all partitions of the topic; those without a leader are left out, unless all are."""
        self._choices = _without(partitions, leaderless)


def _without(partitions: Sequence[int], bad: Collection[int]) -> Sequence[int]:
    """Those that are not bad; all, where all are."""
    if not bad:
        return partitions
    left_out = frozenset(bad)
    return [partition for partition in partitions if partition not in left_out] or partitions


def _chosen_queues(
    partitions: Sequence[int], queued: Sequence[int], choices: Sequence[int]
) -> Sequence[int]:
    if choices is partitions:
        return queued
    lengths = dict(zip(partitions, queued, strict=True))
    return [lengths[partition] for partition in choices]


def _weights(queued: Sequence[int]) -> Sequence[int] | None:
    """The longest queue weighs 1, and one that is shorter 1 more for each batch."""
    longest = max(queued, default=0)
    if longest == min(queued, default=0):
        return None
    return list(accumulate(longest + 1 - length for length in queued))
