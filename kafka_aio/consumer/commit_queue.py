"""Commits that wait for the coordinator, in order; and what auto-commit is to commit, when. Pure.

    add -> take (all that wait, as one) -> answered -> settled (in order; each has its own outcome)

One commit is in flight. Those that come meanwhile go together in the next; of two for one partition
the later wins, and both end as it does. What has to be tried again goes with what has come since.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass, field
from math import inf
from typing import Final, Generic, TypeVar

from kafka_aio.backoff import Backoff
from kafka_aio.consumer.commits import Answer, Offsets, given_up
from kafka_aio.errors import KafkaError
from kafka_aio.types import OffsetAndMetadata, TopicPartition

T = TypeVar("T")

RENEWED_AFTER: Final = 3_600.0
"""After so many seconds auto-commit commits what has not changed too: brokers forget offsets that
nobody commits for long, if the group has no members (offsets.retention.minutes)."""
TOLD_AFTER: Final = 5.0
"""So many seconds after a complaint of failures that nobody hears of comes the next."""


@dataclass(slots=True, eq=False)
class Entry(Generic[T]):
    """A commit that somebody waits for."""

    offsets: Offsets
    deadline: float
    ticket: T
    """Whose it is."""
    left: set[TopicPartition]
    """What is not decided yet."""
    errors: dict[TopicPartition, KafkaError] = field(default_factory=dict)
    last: KafkaError | None = None
    """Why the last attempt came to nothing, where it did."""
    is_taken: bool = False
    """Whether it is in flight."""
    is_unanswered: bool = False
    """Whether an attempt has ended that the coordinator may have carried out."""
    given_up: set[TopicPartition] = field(default_factory=set)
    """What is not tried again, should the attempt that is in flight come to nothing."""

    @property
    def may_be_done(self) -> bool:
        """Whether it may be committed, although nobody has said so."""
        return self.is_taken or self.is_unanswered


class CommitQueue(Generic[T]):
    """The commits of one group that are not settled, the first one first."""

    def __init__(self, backoff: Backoff) -> None:
        self._backoff = backoff
        self._entries: list[Entry[T]] = []
        self._in_flight: dict[TopicPartition, OffsetAndMetadata] | None = None
        self._attempt = 0
        self._retry_at = -inf

    def __repr__(self) -> str:
        flying = "one in flight" if self._in_flight is not None else "none in flight"
        return f"<CommitQueue: {len(self._entries)} commits, {flying}, attempt {self._attempt}>"

    def __len__(self) -> int:
        return len(self._entries)

    @property
    def deadline(self) -> float:
        """When to look again, if nothing happens before."""
        at = min((entry.deadline for entry in self._entries), default=inf)
        has_more = self._in_flight is None and any(entry.left for entry in self._entries)
        return min(at, self._retry_at) if has_more else at

    def add(self, offsets: Offsets, ticket: T, *, deadline: float) -> None:
        """One more. Without any offset it is settled when those before it are."""
        self._entries.append(Entry(offsets, deadline, ticket, set(offsets)))

    def take(self, *, now: float) -> dict[TopicPartition, OffsetAndMetadata]:
        """What to send now; nothing while an attempt is in flight, or has just failed."""
        if self._in_flight is not None or now < self._retry_at:
            return {}
        merged: dict[TopicPartition, OffsetAndMetadata] = {}
        for entry in self._entries:
            wanted = {partition: entry.offsets[partition] for partition in entry.left}
            if _differs(merged, wanted):
                break
            merged.update(wanted)
            entry.is_taken = bool(wanted)
        if merged:
            self._in_flight = merged
        return merged

    def answered(self, answer: Answer, *, now: float, jitter: float) -> None:
        """What became of what was taken."""
        self._in_flight = None
        for entry in self._entries:
            if entry.is_taken:
                entry.is_taken = False
                _settle(entry, answer)
        if answer.again:
            self._retry_at = now + self._backoff.delay(self._attempt, jitter=jitter)
            self._attempt += 1
        else:
            self._retry_at = -inf
            self._attempt = 0

    def retry_now(self) -> None:
        """What stood in the way is gone: do not pause."""
        self._retry_at = -inf

    def settled(self, *, now: float) -> list[Entry[T]]:
        """Those that have ended: in order, but for those whose time is over."""
        is_first = True
        ended: list[Entry[T]] = []
        kept: list[Entry[T]] = []
        for entry in self._entries:
            is_first = is_first and not entry.left
            (ended if is_first or entry.deadline <= now else kept).append(entry)
        self._entries = kept
        return ended

    def drop(self, partitions: Collection[TopicPartition]) -> None:
        """Try these no more: they are given up. What is in flight may be committed still."""
        for entry in self._entries:
            gone = entry.left.intersection(partitions)
            if entry.is_taken:
                entry.given_up |= gone
            else:
                _give_up(entry, gone)

    def abandon(self) -> list[Entry[T]]:
        """All of them: nothing will be sent any more."""
        entries, self._entries = self._entries, []
        return entries


def _differs(merged: Offsets, wanted: Offsets) -> bool:
    """Whether one has another text to keep: if it is refused for that, the other is not."""
    return any(
        partition in merged and merged[partition].metadata != offset.metadata
        for partition, offset in wanted.items()
    )


def _settle(entry: Entry[T], answer: Answer) -> None:
    for partition in list(entry.left):
        if partition in answer.again:
            entry.last = answer.again[partition]
            entry.is_unanswered |= entry.last.indefinite
            continue
        if partition in answer.failed:
            error = entry.errors[partition] = answer.failed[partition]
            entry.is_unanswered |= error.indefinite
        entry.left.discard(partition)
    gone, entry.given_up = entry.given_up, set()
    _give_up(entry, gone & entry.left)


def _give_up(entry: Entry[T], gone: set[TopicPartition]) -> None:
    entry.errors.update(dict.fromkeys(gone, given_up(may_be_done=entry.may_be_done)))
    entry.left -= gone


class Unheard:
    """Failures of commits that nobody awaits: told at once, and those that follow together."""

    def __init__(self) -> None:
        self._count = 0
        self._first: KafkaError | None = None
        self._quiet_until = -inf

    def __repr__(self) -> str:
        return f"<Unheard: {self._count} failures>"

    @property
    def due_at(self) -> float:
        """When to `take`; `inf` while there is nothing to tell."""
        return self._quiet_until if self._count else inf

    def add(self, error: KafkaError) -> None:
        """One more."""
        self._count += 1
        self._first = self._first or error

    def take(self, *, now: float) -> tuple[int, KafkaError | None]:
        """How many are to be told of now, and the first of them."""
        if now < self.due_at:
            return 0, None
        told, self._count, self._first = (self._count, self._first), 0, None
        self._quiet_until = now + TOLD_AFTER
        return told


class AutoCommit:
    """What is to be committed by itself, and when."""

    def __init__(self, interval: float, *, now: float) -> None:
        """Begin.

        Args:
            interval: Seconds from one commit to the next; `inf` turns it off.
            now: The time.
        """
        self._interval = interval
        self._acknowledged: dict[TopicPartition, tuple[OffsetAndMetadata, float]] = {}
        self.due_at = now + interval
        """When the next is due."""

    def __repr__(self) -> str:
        return f"<AutoCommit at {self.due_at:.3f}: {len(self._acknowledged)} partitions committed>"

    @property
    def is_on(self) -> bool:
        return self._interval < inf

    def take(self, committable: Offsets, *, now: float) -> dict[TopicPartition, OffsetAndMetadata]:
        """What has changed since it was last acknowledged. The next is due after the interval."""
        self.due_at = now + self._interval
        return {
            partition: offset
            for partition, offset in committable.items()
            if not self._is_known(partition, offset, now)
        }

    def committed(self, offsets: Offsets, *, now: float) -> None:
        """These were acknowledged, whoever committed them."""
        for partition, offset in offsets.items():
            self._acknowledged[partition] = (offset, now)

    def failed(self, *, now: float, pause: float) -> None:
        """The last one came to nothing: try again after a pause, if that is sooner."""
        self.due_at = min(self.due_at, now + pause)

    def forget(self, partitions: Iterable[TopicPartition]) -> None:
        """They are owned no more: another may commit them."""
        for partition in partitions:
            self._acknowledged.pop(partition, None)

    def _is_known(self, partition: TopicPartition, offset: OffsetAndMetadata, now: float) -> bool:
        known, since = self._acknowledged.get(partition, (None, -inf))
        return known == offset and now - since < RENEWED_AFTER
