"""What idempotent producers wrote to a partition: duplicates, gaps and zombies are seen. Pure.

A producer numbers its records (KIP-98). A batch follows when its first sequence is the one after
the last that was written; the last five batches of a producer are remembered, so that one sent
again is answered as it was the first time. A higher epoch begins at sequence 0; a lower one is a
producer that was replaced.
"""

from __future__ import annotations

from collections import OrderedDict, deque
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final, NamedTuple

from kafka_aio.errors import InvalidProducerEpoch, OutOfOrderSequenceNumber
from kafka_aio.records.layout import advance_sequence

if TYPE_CHECKING:
    from kafka_aio.records.layout import BatchHeader

REMEMBERED: Final = 5
"""Batches of a producer: as many as it may have in flight."""
_NO_SEQUENCE: Final = -1
_NO_EPOCH: Final = -1


class Written(NamedTuple):
    """One batch of a producer that is in the log."""

    first_sequence: int
    last_sequence: int
    base_offset: int
    max_timestamp: int


class Producer:
    """One producer as a partition knows it."""

    __slots__ = ("batches", "epoch", "id", "last_timestamp")

    def __init__(self, producer_id: int, epoch: int) -> None:
        self.id = producer_id
        self.epoch = epoch
        self.last_timestamp = -1
        self.batches: deque[Written] = deque(maxlen=REMEMBERED)

    def __repr__(self) -> str:
        return f"<Producer {self.id} epoch {self.epoch}, sequence {self.last_sequence}>"

    @property
    def last_sequence(self) -> int:
        return self.batches[-1].last_sequence if self.batches else _NO_SEQUENCE

    def find(self, first: int, last: int) -> Written | None:
        """The batch with these sequences, if it is among the last."""
        for written in self.batches:
            if written.first_sequence == first and written.last_sequence == last:
                return written
        return None


class Producers:
    """The producers of a partition, by id, in the order in which they came."""

    __slots__ = ("_by_id",)

    def __init__(self) -> None:
        self._by_id: dict[int, Producer] = {}

    def __repr__(self) -> str:
        return f"<Producers {list(self._by_id.values())}>"

    def __len__(self) -> int:
        return len(self._by_id)

    def __iter__(self) -> Iterator[Producer]:
        return iter(self._by_id.values())

    def check(self, header: BatchHeader) -> Written | None:
        """Whether a batch may be written; the one that was, if it is a duplicate.

        Raises:
            InvalidProducerEpoch: A newer producer of this id wrote before.
            OutOfOrderSequenceNumber: Records are missing before the batch.
        """
        producer = self._by_id.get(header.producer_id)
        if producer is None:
            return None  # its records may be gone: any sequence will do
        first = header.base_sequence
        epoch = header.producer_epoch
        is_known = producer.epoch != _NO_EPOCH
        if epoch == producer.epoch:
            expected = advance_sequence(producer.last_sequence, 1)
            if first == expected:
                return None
            duplicate = producer.find(first, advance_sequence(first, header.last_offset_delta))
            if duplicate is None and is_known:
                raise OutOfOrderSequenceNumber(
                    f"producer {producer.id} sent sequence {first} where {expected} is expected"
                )
            return duplicate
        if epoch < producer.epoch:
            raise InvalidProducerEpoch(
                f"producer {producer.id} is in epoch {producer.epoch}, not in {epoch}"
            )
        if first != 0 and is_known:
            raise OutOfOrderSequenceNumber(
                f"producer {producer.id} begins epoch {epoch} at sequence {first} instead of 0"
            )
        return None

    def wrote(self, header: BatchHeader, base_offset: int, max_timestamp: int) -> None:
        """A batch that was checked is in the log now."""
        producer = self._by_id.get(header.producer_id)
        if producer is None or producer.epoch != header.producer_epoch:
            # In its place: the order is that of the first batch.
            producer = Producer(header.producer_id, header.producer_epoch)
            self._by_id[header.producer_id] = producer
        first = header.base_sequence
        last = advance_sequence(first, header.last_offset_delta)
        producer.batches.append(Written(first, last, base_offset, max_timestamp))
        producer.last_timestamp = max_timestamp

    def forget(self, producer_id: int) -> None:
        """Drop a producer, if it is there: it may go on at any sequence."""
        self._by_id.pop(producer_id, None)

    def clear(self) -> None:
        self._by_id.clear()


class Recent:
    """The producers of all partitions, those who wrote last at the end: not too many nor too old.

    Kafka goes by the timestamps of their records, and has no limit.
    """

    __slots__ = ("_most", "_seconds", "_wrote_at")

    def __init__(self, most: int, seconds: float) -> None:
        """None yet.

        Args:
            most: How many are remembered.
            seconds: For how long after they wrote last.
        """
        self._most = most
        self._seconds = seconds
        self._wrote_at: OrderedDict[tuple[Producers, int], float] = OrderedDict()

    def __repr__(self) -> str:
        return f"<Recent: {len(self._wrote_at)} producers of at most {self._most}>"

    def wrote(self, producers: Producers, producer_id: int, *, now: float) -> None:
        """A producer has written to a partition."""
        key = producers, producer_id
        self._wrote_at[key] = now
        self._wrote_at.move_to_end(key)
        if len(self._wrote_at) > self._most:
            self._forget_oldest()

    def forget_old(self, *, now: float) -> None:
        """Forget those who have not written for long."""
        wrote_at = self._wrote_at
        while wrote_at and now - next(iter(wrote_at.values())) >= self._seconds:
            self._forget_oldest()

    def _forget_oldest(self) -> None:
        (producers, producer_id), _ = self._wrote_at.popitem(last=False)
        producers.forget(producer_id)
