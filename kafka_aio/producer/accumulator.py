"""Batches by partition: opened, closed, drained, settled, split, expired. Pure.

    make_room -> [`OpenTopic` appends records] -> ready -> drain -> delivered | retry | failed

It never sees a record. Each partition has a queue of batches, the last of which may be open; what a
request has is out of the queue, and comes back to its place if it is to be sent again. All that are
not settled are also in `incomplete`, the oldest first, which is what `flush` and time-outs go by.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable
from itertools import takewhile
from math import inf
from typing import TYPE_CHECKING, Generic, NamedTuple, TypeVar

from kafka_aio.producer.batch import Batch, Phase
from kafka_aio.producer.delivery import OpenBatch, OpenTopic, Outcome
from kafka_aio.producer.memory import Memory
from kafka_aio.producer.partitioner import StickyPartitioner
from kafka_aio.records.batch import read_header, split
from kafka_aio.records.codec import BatchBuilder
from kafka_aio.types import TopicPartition

if TYPE_CHECKING:
    from kafka_aio.errors import KafkaError
    from kafka_aio.metadata import Leader
    from kafka_aio.producer.loop import Loop
    from kafka_aio.records.compression import Compression

T = TypeVar("T")


class Ready(NamedTuple):
    """What could be sent now, and when to look again."""

    by_node: dict[int, list[TopicPartition]]
    leaderless: list[str]
    """Topics with something to send and nobody known to send it to."""
    next_at: float


class Choice(NamedTuple):
    """How the partition of a record without a key is chosen."""

    ignore_keys: bool = False
    """Whether that goes for all records."""
    adaptive: bool = True
    """Whether brokers that are slow get less."""
    availability_timeout: float = inf
    """After how many seconds a node that takes no batches is avoided."""


class Accumulator(Generic[T]):
    """Records on their way to the Sender, in batches; bounded in bytes. `T`: tickets for memory."""

    def __init__(  # noqa: PLR0913 - keyword-only, from the configuration
        self,
        *,
        batch_size: int,
        linger: float,
        delivery_timeout: float,
        memory: Memory[T],
        loop: Loop,
        leader_of: Callable[[TopicPartition], Leader | None],
        choice: Choice | None = None,
        in_order: bool = False,
    ) -> None:
        """Begin empty.

        Args:
            batch_size: The bytes at which a batch is full.
            linger: How many seconds an open batch may wait for more records.
            delivery_timeout: How many seconds after its opening a batch has failed.
            memory: Bounds the bytes of all batches together.
            loop: What outcomes wait with.
            leader_of: Who leads a partition.
            choice: How the partition of records without a key is chosen.
            in_order: Whether a partition is muted while a request has a batch of it.
        """
        self.memory = memory
        self.topics: dict[str, OpenTopic] = {}
        """Where records are appended to; empty of open batches whenever none may be."""
        self.incomplete: dict[Batch, None] = {}
        self.batch_size = max(batch_size, 1)
        self._linger = linger
        self._delivery_timeout = delivery_timeout
        self._loop = loop
        self._leader_of = leader_of
        self._choice = choice or Choice()
        self._in_order = in_order
        self._queues: dict[TopicPartition, deque[Batch]] = {}
        self._sticky: dict[str, StickyPartitioner] = {}
        self._muted: set[TopicPartition] = set()
        self._opened = 0
        self._turns: dict[int, TopicPartition] = {}  # by node, whose turn it is to be first
        self._idle_since: dict[int, float] = {}  # by node with something to send, and nothing taken

    def __repr__(self) -> str:
        queued = sum(map(len, self._queues.values()))
        return f"<Accumulator: {queued} batches queued of {len(self.incomplete)}, {self.memory!r}>"

    # Records come in.

    def topic(self, name: str, partitions: int) -> OpenTopic:
        """The open batches of a topic that has that many partitions."""
        found = self.topics.get(name)
        if found is None:
            found = self.topics[name] = OpenTopic(partitions, self._choice.ignore_keys)
        elif partitions == found.partitions:
            return found
        else:
            for number in range(partitions, found.partitions):  # it was made anew, with fewer
                self._close_last(TopicPartition(name, number))
            found.resize(partitions)
        self._sticky[name] = StickyPartitioner(
            batch_size=self.batch_size, adaptive=self._choice.adaptive
        )
        return found

    def make_room(
        self,
        topic: str,
        partition: int | None,
        need: int,
        *,
        now: float,
        chance: float,
        ticket: T | None = None,
    ) -> bool:
        """Have a batch open that takes a record, where the one that was open does not.

        Args:
            topic: One that `topic` was called for.
            partition: Its partition; None for that of records without a key.
            need: More bytes than the record takes as the only one of a batch.
            now: The time.
            chance: A random number from 0 to 1, which may choose the partition.
            ticket: The caller's place among those who wait for memory, if it has one.

        Returns:
            Whether there is one: otherwise memory is to be waited for.
        """
        open_topic = self.topics[topic]
        is_unkeyed = partition is None
        if partition is None:
            if open_topic.unkeyed is not None:
                self._close_last(TopicPartition(topic, open_topic.unkeyed.outcome.partition))
            partition = self._choose(topic, open_topic.partitions, now=now, chance=chance)
        place = TopicPartition(topic, partition)
        last = self._last(place)
        if last is None or last.phase is not Phase.OPEN or not is_unkeyed:
            self._close_last(place)
            reserved = max(self.batch_size, need)
            if not self.memory.reserve(reserved, ticket):
                return False
            last = self._open(place, reserved, now)
            open_topic.put(partition, last.open_batch)
        if is_unkeyed:
            open_topic.unkeyed = last.open_batch
        return True

    def _choose(self, topic: str, count: int, *, now: float, chance: float) -> int:
        """The partition for records without a key."""
        sticky = self._sticky[topic]
        if sticky.must_choose:
            places = [TopicPartition(topic, number) for number in range(count)]
            leaders = [self._leader_of(place) for place in places]
            slow_since = now - self._choice.availability_timeout
            sticky.update(
                range(count),
                [len(self._queues.get(place, ())) for place in places],
                leaderless=[at for at, leader in enumerate(leaders) if leader is None],
                slow=[
                    at
                    for at, leader in enumerate(leaders)
                    if leader and self._idle_since.get(leader.node, inf) < slow_since
                ],
            )
        return sticky.current(chance=chance)

    def _open(self, partition: TopicPartition, reserved: int, now: float) -> Batch:
        self._opened += 1
        outcome = Outcome(partition.topic, partition.partition, self._loop)
        open_batch = OpenBatch(BatchBuilder(self.batch_size), outcome)
        batch = Batch(partition, self._opened, now, reserved, open_batch, outcome)
        self._queues.setdefault(partition, deque()).append(batch)
        self.incomplete[batch] = None
        return batch

    def _last(self, partition: TopicPartition) -> Batch | None:
        queue = self._queues.get(partition)
        return queue[-1] if queue else None

    def _close_last(self, partition: TopicPartition) -> None:
        last = self._last(partition)
        if last is not None:
            self._close(last)

    def _close(self, batch: Batch) -> None:
        """No record is appended to it from now on."""
        if batch.phase is not Phase.OPEN:
            return
        topic, partition = batch.partition
        open_topic = self.topics[topic]
        if open_topic.unkeyed is batch.open_batch:
            self._sticky[topic].added(batch.size)
        open_topic.put(partition, None)
        batch.close()

    def drop_empty(self, topic: str) -> None:
        """Forget batches without a record: that which they were opened for cannot be written."""
        for batch in list(self.incomplete):
            is_open = batch.phase is Phase.OPEN and batch.partition.topic == topic
            if is_open and not batch.builder.count:
                self._withdraw(batch)
                self._end(batch)

    def close(self, topic: str, partition: int) -> None:
        """Append nothing more to the batch of a partition that is open, if one is."""
        self._close_last(TopicPartition(topic, partition))

    def close_all(self) -> None:
        """Let no record in without `make_room`: the client closes, flushes, or has failed."""
        for queue in self._queues.values():
            self._close(queue[-1])

    # Batches go out.

    @property
    def is_drained(self) -> bool:
        """Whether nothing is queued: all is in requests, if there is anything."""
        return not self._queues

    def ready(self, *, now: float) -> Ready:
        """The partitions that have something to send, by the node that leads them."""
        by_node: dict[int, list[TopicPartition]] = {}
        leaderless: list[str] = []
        next_at = inf
        is_short = bool(len(self.memory))
        for partition, queue in self._queues.items():
            if partition in self._muted:
                continue
            batch = queue[0]
            leader = self._leader_of(partition)
            at = -inf if is_short and not batch.attempts else self._due(batch, leader)
            if at > now:
                next_at = min(next_at, at)
            elif leader is None:
                leaderless.append(partition.topic)
            else:
                by_node.setdefault(leader.node, []).append(partition)
        self._idle_since = {node: self._idle_since.get(node, now) for node in by_node}
        return Ready(by_node, leaderless, next_at)

    def _due(self, batch: Batch, leader: Leader | None) -> float:
        """When the first batch of a queue is to be sent."""
        if batch.attempts:
            has_moved = leader is not None and leader.epoch > batch.sent_epoch >= 0
            return -inf if has_moved else batch.not_before
        if batch.phase is not Phase.OPEN or batch.size >= self.batch_size:
            return -inf
        return batch.opened_at + self._linger

    def drain(
        self,
        node: int,
        partitions: list[TopicPartition],
        *,
        max_size: int,
        may_send: Callable[[Batch], bool],
    ) -> list[Batch]:
        """Take what one request to a node can carry: the first batch of each of these partitions.

        Where not all of them fit, the next one to come first is the one that did not: none starves.
        """
        drained: list[Batch] = []
        room = max_size
        turn = self._turns.pop(node, None)
        first = partitions.index(turn) if turn in partitions else 0
        for partition in partitions[first:] + partitions[:first]:
            queue = self._queues.get(partition)  # none, where they have ended meanwhile
            if not queue or not may_send(batch := queue[0]):
                continue
            if batch.size > room and drained:
                self._turns[node] = partition
                break
            room -= batch.size
            self._take(batch)
            drained.append(batch)
        if drained:
            self._idle_since.pop(node, None)
        return drained

    def _take(self, batch: Batch) -> None:
        self._close(batch)
        queue = self._queues[batch.partition]
        queue.popleft()
        if not queue:
            del self._queues[batch.partition]
        batch.phase = Phase.IN_FLIGHT
        if self._in_order:
            self._muted.add(batch.partition)

    # Batches come back.

    def delivered(self, batch: Batch, base_offset: int, log_append_time: int = -1) -> bool:
        """The broker has it. False where it was settled before, as its time was over."""
        if not self._came_back(batch):
            return False
        batch.outcome.deliver(base_offset, log_append_time)
        self._end(batch)
        return True

    def retry(self, batch: Batch, error: KafkaError, *, not_before: float) -> None:
        """Send it again, in its place before those opened later."""
        if self._came_back(batch):
            batch.error = error
            batch.attempts += 1
            batch.not_before = not_before
            self._put_back(batch)

    def unsent(self, batch: Batch) -> None:
        """It was not sent at all: that is not an attempt."""
        if self._came_back(batch):
            self._put_back(batch)

    def failed(
        self, batch: Batch, error: KafkaError, errors: dict[int, KafkaError] | None = None
    ) -> bool:
        """It is not to be delivered; one that no request has is taken out of its queue.

        Returns:
            False where it was settled before, as its time was over.
        """
        if batch.phase in (Phase.OPEN, Phase.QUEUED):
            self._withdraw(batch)
        elif not self._came_back(batch):
            return False
        batch.outcome.fail(error, errors)
        self._end(batch)
        return True

    def split(self, batch: Batch, compression: Compression) -> list[Batch]:
        """Put two or more batches in the place of one that is too large for the broker.

        Returns:
            The parts; none where its time was over.
        """
        if not self._came_back(batch):
            return []
        assert batch.wire is not None
        parts: list[Batch] = []
        outcomes: list[tuple[int, Outcome]] = []
        first = 0
        limit = max(min(self.batch_size, batch.raw_size // 2), 1)
        for at, wire in enumerate(split(batch.wire, limit, compression)):
            part = self._part(batch, at, wire, limit)
            outcomes.append((first, part.outcome))
            parts.append(part)
            first += part.record_count
        parts[0].reserved += batch.reserved - sum(part.reserved for part in parts)
        self.incomplete = _in_place(self.incomplete, batch, parts)
        batch.phase = Phase.ENDED
        for part in parts:
            self._put_back(part)
        batch.outcome.divide(outcomes)
        return parts

    def _part(self, whole: Batch, at: int, wire: memoryview, limit: int) -> Batch:
        header = read_header(wire)
        outcome = Outcome(*whole.partition, self._loop)
        outcome.count = header.record_count
        return Batch(
            partition=whole.partition,
            number=whole.number,
            opened_at=whole.opened_at,
            reserved=whole.reserved * header.record_count // whole.record_count,
            open_batch=None,
            outcome=outcome,
            rank=(*whole.rank, at),
            record_count=header.record_count,
            raw_size=limit,
            stamp=header.stamp,
            wire=wire,
            written_stamp=header.stamp,
            error=whole.error,
            may_be_persisted=whole.may_be_persisted,
        )

    def expired(self, batch: Batch, error: KafkaError) -> None:
        """Its time is over. The memory of one that a request has is free when that has ended."""
        if batch.phase is not Phase.IN_FLIGHT:
            self.failed(batch, error)
            return
        batch.phase = Phase.EXPIRED
        batch.outcome.fail(error)
        del self.incomplete[batch]

    def overdue(self, *, now: float) -> list[Batch]:
        """The batches whose time is over."""
        timeout = self._delivery_timeout
        return list(takewhile(lambda batch: batch.opened_at + timeout <= now, self.incomplete))

    @property
    def overdue_at(self) -> float:
        """When the next batch will be."""
        oldest = next(iter(self.incomplete), None)
        return inf if oldest is None else oldest.opened_at + self._delivery_timeout

    def _came_back(self, batch: Batch) -> bool:
        """A request has ended that had it. False where it was settled meanwhile."""
        self._muted.discard(batch.partition)
        if batch.phase is Phase.EXPIRED:
            self.memory.release(batch.reserved)
            batch.phase = Phase.ENDED
        return batch.phase is Phase.IN_FLIGHT

    def _withdraw(self, batch: Batch) -> None:
        self._close(batch)
        queue = self._queues[batch.partition]
        queue.remove(batch)
        if not queue:
            del self._queues[batch.partition]

    def _put_back(self, batch: Batch) -> None:
        batch.phase = Phase.QUEUED
        queue = self._queues.setdefault(batch.partition, deque())
        at = next((at for at, other in enumerate(queue) if other.order > batch.order), len(queue))
        queue.insert(at, batch)

    def _end(self, batch: Batch) -> None:
        batch.phase = Phase.ENDED
        self.memory.release(batch.reserved)
        del self.incomplete[batch]

    # Flushing.

    def flush(self) -> int:
        """Send all that is here without lingering. Returns what `is_done` is to be asked for."""
        self.close_all()
        return self._opened

    def is_done(self, number: int) -> bool:
        """Whether all batches up to that number are settled."""
        oldest = next(iter(self.incomplete), None)
        return oldest is None or oldest.number > number


def _in_place(
    batches: Iterable[Batch], replaced: Batch, parts: Iterable[Batch]
) -> dict[Batch, None]:
    """The same batches, but parts where there was a whole."""
    kept: dict[Batch, None] = {}
    for batch in batches:
        kept.update(dict.fromkeys(parts if batch is replaced else (batch,)))
    return kept
