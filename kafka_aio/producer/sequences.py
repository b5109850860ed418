"""Who an idempotent producer is, and the numbers of its batches on each partition. Pure.

The broker takes a batch if its first number follows the last one that it has of this producer id
and epoch; it remembers five batches, so that one sent again is written once (KIP-98). What we do
for our part, partition by partition:

- A batch gets its numbers when it first goes out, and keeps them when it goes out again. It goes
  again only when none before it is under way; new ones follow it without waiting.
- From the oldest batch that is not settled on, at most five are numbered: what is sent again is
  always one that the broker remembers.
- Until one batch is acknowledged, the broker knows no number of this identity, and takes any: if
  the first batch failed and the second did not, the first would be lost (KAFKA-15591). So the
  first goes alone.
- A batch that we give up may be in the log or not, whatever its error was. The next one tells: if
  it is taken, so was the other. Until then nothing new is numbered.

If the broker misses numbers although we have nothing to send before, or if nothing is left that
could tell, the partition is broken: it begins a new epoch, and what is left is numbered from 0
(KIP-360). The epoch is raised here, without asking; only when there is no higher one do we need a
new id. Other partitions keep their epoch until all that they sent is settled.

A broken partition first waits for the answers to all that is on the wire. So an answer is always
one to the numbers that the batch bears, and no batch is renumbered while its answer may be yes.
Batches that were given up on the wire are not waited for. If the broker gets to one of them before
it sees the new epoch, its records stand before all of the new epoch; if later, it refuses them
(INVALID_PRODUCER_EPOCH), and nobody listens any more.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import Enum, auto
from typing import Final, NamedTuple, Protocol

from kafka_aio.errors import (
    BrokerError,
    KafkaError,
    OutOfOrderSequenceNumber,
    StateError,
    UnknownProducerId,
)
from kafka_aio.records.layout import UNSTAMPED, ProducerStamp, advance_sequence
from kafka_aio.types import TopicPartition

REMEMBERED: Final = 5
"""Batches of a producer that the broker remembers for each partition."""
GREATEST_EPOCH: Final = 2**15 - 1


class Numbered(Protocol):
    """What a batch has to have in order to be numbered. It is known by its identity."""

    stamp: ProducerStamp

    @property
    def partition(self) -> TopicPartition: ...
    @property
    def record_count(self) -> int: ...


class Identity(NamedTuple):
    """The producer as brokers know it."""

    producer_id: int
    epoch: int


class _State(Enum):
    """What became of a batch with numbers."""

    QUEUED = auto()
    """It came back, or is part of one that did: it goes out again."""
    SENT = auto()
    """It is on the wire, and its answer will come."""
    DELIVERED = auto()
    GIVEN_UP = auto()
    """It may be in the log or not."""


@dataclass(slots=True, eq=False)
class _Slot:
    """A batch in its place among the numbered ones."""

    batch: Numbered
    state: _State

    @property
    def is_live(self) -> bool:
        return self.state in (_State.QUEUED, _State.SENT)


@dataclass(slots=True, eq=False)
class _Partition:
    """The numbered batches of a partition, in their order, from the oldest unsettled one on.

    Their order is that of the list, never that of the numbers: those wrap.
    """

    identity: Identity
    next_sequence: int = 0
    is_known: bool = False
    """The broker has acknowledged a batch of this identity."""
    is_broken: bool = False
    """The broker misses numbers that we cannot send any more."""
    slots: list[_Slot] = field(default_factory=list)

    @property
    def must_begin_anew(self) -> bool:
        """Whether it is broken, or only what was given up is left; and the wire is quiet."""
        states = {slot.state for slot in self.slots}
        return _State.SENT not in states and (self.is_broken or states == {_State.GIVEN_UP})

    def live_slot(self, batch: Numbered) -> _Slot | None:
        for slot in self.slots:
            if slot.batch is batch and slot.is_live:
                return slot
        return None

    def may_send(self, batch: Numbered) -> bool:
        if self.is_broken:
            return False
        slot = self.live_slot(batch)
        if slot is None:
            return batch.stamp == UNSTAMPED and self._may_number()
        return slot.state is _State.QUEUED and not self._has_live_before(slot)

    def _may_number(self) -> bool:
        if not self.slots:
            return True
        has_room = self.is_known and len(self.slots) < REMEMBERED
        return has_room and all(
            slot.state in (_State.SENT, _State.DELIVERED) for slot in self.slots
        )

    def _has_live_before(self, slot: _Slot) -> bool:
        return any(earlier.is_live for earlier in self.slots[: self.slots.index(slot)])

    def _is_delivered_after(self, slot: _Slot) -> bool:
        later = self.slots[self.slots.index(slot) + 1 :]
        return any(each.state is _State.DELIVERED for each in later)

    def number(self, batch: Numbered) -> _Slot:
        """Give a new batch the next numbers."""
        self._stamp(batch)
        slot = _Slot(batch, _State.QUEUED)
        self.slots.append(slot)
        return slot

    def begin(self, identity: Identity) -> None:
        """Number what is left from 0, under a new identity."""
        self.identity = identity
        self.next_sequence = 0
        self.is_known = self.is_broken = False
        self.slots = [slot for slot in self.slots if slot.is_live]
        for slot in self.slots:
            self._stamp(slot.batch)

    def _stamp(self, batch: Numbered) -> None:
        batch.stamp = ProducerStamp(*self.identity, self.next_sequence)
        self.next_sequence = advance_sequence(self.next_sequence, batch.record_count)

    def numbers_missing(self, slot: _Slot) -> bool:
        """The broker misses numbers before a batch; whether it can be sent again."""
        if self._is_delivered_after(slot):
            return False  # it expects numbers further on, and has forgotten these or never had them
        if not self._has_live_before(slot):
            self.is_broken = True
        return True

    def settle(self) -> None:
        """Forget what is settled, from the oldest on."""
        delivered = False
        for slot in reversed(self.slots):
            delivered = delivered or slot.state is _State.DELIVERED
            if delivered and slot.state is _State.GIVEN_UP:
                slot.state = _State.DELIVERED  # the broker took one after it
        while self.slots and self.slots[0].state is _State.DELIVERED:
            del self.slots[0]


class Sequences:
    """The identity of a producer, and the numbers of its batches.

    A batch that is `stamp`ed ends with `delivered`, `failed` or `split`; until then it may come
    back and be stamped again, as often as needed. Its `stamp` may change while it waits.
    """

    def __init__(self) -> None:
        """Begin without an id: nothing may be drained."""
        self._identity: Identity | None = None
        self._partitions: dict[TopicPartition, _Partition] = {}

    def __repr__(self) -> str:
        if self._identity is None:
            who = "no id"
        else:
            who = f"producer {self._identity.producer_id}, epoch {self._identity.epoch}"
        partitions = self._partitions.values()
        live = sum(slot.is_live for partition in partitions for slot in partition.slots)
        broken = sum(partition.is_broken for partition in partitions)
        return f"<Sequences: {who}; {len(partitions)} partitions, {live} batches, {broken} broken>"

    @property
    def identity(self) -> Identity | None:
        """What new epochs begin with; None if it must be asked for."""
        return self._identity

    @property
    def needs_id(self) -> bool:
        """Whether an id must be asked for (InitProducerId) before anything can be sent."""
        return self._identity is None

    def identified(self, producer_id: int, epoch: int) -> None:
        """The broker gave us an id.

        Raises:
            StateError: None was needed.
        """
        if self._identity is not None:
            raise StateError(f"this is producer {self._identity.producer_id} already")
        self._identity = Identity(producer_id, epoch)
        for partition in self._partitions.values():
            self._mend(partition)

    def may_drain(self, batch: Numbered) -> bool:
        """Whether the batch may go out now. If not, an answer or an id has to come first."""
        if self._identity is None:
            return False
        partition = self._partitions.get(batch.partition)
        return partition is None or partition.may_send(batch)

    def stamp(self, batch: Numbered) -> None:
        """The batch goes out: with new numbers the first time, with those it has later on.

        Raises:
            StateError: It may not go out now, or it has ended.
        """
        identity = self._identity
        if identity is None or not self.may_drain(batch):
            raise StateError(f"{batch.partition}: the batch has to wait, or has ended")
        slot = self._live_slot(batch)
        if slot is None:
            slot = self._current(batch.partition, identity).number(batch)
        slot.state = _State.SENT

    def delivered(self, batch: Numbered) -> None:
        """The broker has the batch: it took it, or says DUPLICATE_SEQUENCE_NUMBER.

        Raises:
            StateError: The batch is not on the wire.
        """
        partition, slot = self._sent(batch)
        slot.state = _State.DELIVERED
        partition.is_known = True
        partition.settle()
        self._mend(partition)

    def came_back(self, batch: Numbered, error: KafkaError) -> bool:
        """The batch was refused, or its answer will not come; whether it can be sent again.

        It keeps its place until it is sent again or `failed`.

        Raises:
            StateError: The batch is not on the wire.
        """
        partition, slot = self._sent(batch)
        slot.state = _State.QUEUED
        if isinstance(error, (OutOfOrderSequenceNumber, UnknownProducerId)):
            can_retry = partition.numbers_missing(slot)
        else:
            can_retry = error.retriable if isinstance(error, BrokerError) else True
        self._mend(partition)
        return can_retry

    def failed(self, batch: Numbered) -> None:
        """The batch is given up: refused for good, tried too often, or too old.

        An answer that comes later is not told any more.

        Raises:
            StateError: The batch has no numbers (there is nothing to tell), or it has ended.
        """
        partition, slot = self._live(batch)
        slot.state = _State.GIVEN_UP
        partition.settle()
        self._mend(partition)

    def split(self, batch: Numbered, parts: Sequence[Numbered]) -> None:
        """The batch was too large: its parts take its place, and share its numbers.

        Raises:
            StateError: The batch is not under way, or the parts have other records.
        """
        partition, slot = self._live(batch)
        count = sum(part.record_count for part in parts)
        if count != batch.record_count:
            raise StateError(
                f"{batch.partition}: parts of {count} records, not {batch.record_count}"
            )
        sequence = batch.stamp.base_sequence
        for part in parts:
            part.stamp = batch.stamp._replace(base_sequence=sequence)
            sequence = advance_sequence(sequence, part.record_count)
        at = partition.slots.index(slot)
        partition.slots[at : at + 1] = [_Slot(part, _State.QUEUED) for part in parts]
        self._mend(partition)

    def _current(self, name: TopicPartition, identity: Identity) -> _Partition:
        """The partition, with the identity of today if nothing of an older one is left there."""
        partition = self._partitions.setdefault(name, _Partition(identity))
        if not partition.slots and partition.identity != identity:
            partition.begin(identity)
        return partition

    def _live(self, batch: Numbered) -> tuple[_Partition, _Slot]:
        slot = self._live_slot(batch)
        if slot is None:
            raise StateError(f"{batch.partition}: the batch has no numbers, or has ended")
        return self._partitions[batch.partition], slot

    def _live_slot(self, batch: Numbered) -> _Slot | None:
        partition = self._partitions.get(batch.partition)
        return None if partition is None else partition.live_slot(batch)

    def _sent(self, batch: Numbered) -> tuple[_Partition, _Slot]:
        partition, slot = self._live(batch)
        if slot.state is not _State.SENT:
            raise StateError(f"{batch.partition}: the batch is not on the wire")
        return partition, slot

    def _mend(self, partition: _Partition) -> None:
        """Begin a new epoch on a partition that needs one, as soon as it can be."""
        if not partition.must_begin_anew:
            return
        if partition.identity == self._identity:
            self._raise_epoch(self._identity)
        if self._identity is not None:  # else `identified` comes back to it
            partition.begin(self._identity)

    def _raise_epoch(self, identity: Identity) -> None:
        producer_id, epoch = identity
        at_end = epoch == GREATEST_EPOCH
        self._identity = None if at_end else Identity(producer_id, epoch + 1)
