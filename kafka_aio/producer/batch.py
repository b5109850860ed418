"""A batch on its way from the first record to its end. Pure."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum, auto
from typing import TYPE_CHECKING

from kafka_aio.errors import KafkaError, Persistence
from kafka_aio.producer.delivery import OpenBatch, Outcome
from kafka_aio.records.batch import restamp
from kafka_aio.records.codec import BatchBuilder
from kafka_aio.records.layout import UNSTAMPED, ProducerStamp

if TYPE_CHECKING:
    from kafka_aio.records.compression import Compression
    from kafka_aio.types import TopicPartition


class Phase(Enum):
    """Where a batch is."""

    OPEN = auto()
    """Records are appended to it."""
    QUEUED = auto()
    """It waits to be sent, or sent again."""
    IN_FLIGHT = auto()
    """A request has it."""
    EXPIRED = auto()
    """Its time was over while a request had it: that request still has its bytes."""
    ENDED = auto()
    """Its outcome is settled, and its bytes are free."""


@dataclass(slots=True, eq=False)
class Batch:
    """Records of one partition, which are sent, sent again, and end together."""

    partition: TopicPartition
    number: int
    """In the order of their opening; the parts of a batch that was split share its number."""
    opened_at: float
    reserved: int
    """The bytes of memory that it holds."""
    open_batch: OpenBatch | None
    """What records are appended to, until it is closed."""
    outcome: Outcome
    rank: tuple[int, ...] = ()
    """Of a part of a batch that was split: its place among the parts, and the parts of parts."""
    phase: Phase = Phase.OPEN
    record_count: int = 0
    raw_size: int = 0
    """Its bytes before compression, once it is finished; no less than those."""
    stamp: ProducerStamp = UNSTAMPED
    wire: memoryview | None = None
    """Its bytes once it is finished, with the stamp that it had then."""
    written_stamp: ProducerStamp = field(default=UNSTAMPED, repr=False)
    attempts: int = 0
    """How often a request with it has failed."""
    not_before: float = float("-inf")
    """When it may be sent again."""
    sent_epoch: int = -1
    """The leader's epoch that it was last sent to."""
    error: KafkaError | None = None
    """Why it was not delivered the last time."""
    may_be_persisted: bool = False
    """An attempt ended so that nobody knows what became of it."""

    @property
    def order(self) -> tuple[int, tuple[int, ...]]:
        """What the batches of a partition are sent in the order of."""
        return self.number, self.rank

    @property
    def is_stamped(self) -> bool:
        return self.stamp.base_sequence >= 0

    @property
    def builder(self) -> BatchBuilder:
        assert self.open_batch is not None, f"{self!r} is closed"
        return self.open_batch.builder

    @property
    def size(self) -> int:
        """Bytes, as far as is known: before it is finished, those before compression."""
        if self.wire is not None:
            return len(self.wire)
        assert self.open_batch is not None
        return self.open_batch.builder.size

    @property
    def persistence(self) -> Persistence:
        if self.may_be_persisted:
            return Persistence.POSSIBLY_PERSISTED
        return Persistence.NOT_PERSISTED

    def lose_sight(self) -> None:
        """It is given up: if a request has it, nobody will know what became of it."""
        if self.phase is Phase.IN_FLIGHT:
            self.may_be_persisted = True

    def close(self) -> None:
        """No record is appended to it any more."""
        if self.phase is Phase.OPEN:
            self.phase = Phase.QUEUED
            self.record_count = self.outcome.count = self.builder.count

    def finish(self, compression: Compression) -> memoryview:
        """The bytes to send, under the stamp that it has now."""
        if self.wire is None:
            self.raw_size = self.builder.size
            self.wire = self.builder.finish(compression, self.stamp)
            self.open_batch = None
        elif self.stamp != self.written_stamp:
            restamp(self.wire, self.stamp)
        self.written_stamp = self.stamp
        return self.wire
