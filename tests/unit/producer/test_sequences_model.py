"""Random lives of a producer's numbers, against a broker that checks them as Kafka does."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from kafka_aio.broker.log.producers import Producers
from kafka_aio.errors import (
    BrokerError,
    InvalidRecord,
    KafkaConnectionError,
    KafkaError,
    MessageTooLarge,
    NotEnoughReplicas,
    NotEnoughReplicasAfterAppend,
)
from kafka_aio.producer.sequences import GREATEST_EPOCH, Sequences
from kafka_aio.records.layout import (
    GREATEST_SEQUENCE,
    MAGIC,
    UNSTAMPED,
    BatchHeader,
    ProducerStamp,
)
from kafka_aio.types import TopicPartition

PARTITIONS = [TopicPartition("t", index) for index in range(2)]
ENOUGH_TURNS = 1_000


@dataclass(eq=False)
class Batch:
    """A batch that holds its records as a range: they are counted through, by partition."""

    partition: TopicPartition
    records: range
    is_too_large: bool = False
    """It is refused until it is split."""
    stamp: ProducerStamp = UNSTAMPED
    is_over: bool = False

    @property
    def record_count(self) -> int:
        return len(self.records)


@dataclass(eq=False)
class Request:
    """A batch on the wire, with the stamp it had when it went out."""

    batch: Batch
    stamp: ProducerStamp
    is_handled: bool = False
    error: KafkaError | None = None
    """The answer, once it is handled."""


@dataclass
class Leader:
    """A partition's log, the connection to it, and the client's queue for it."""

    partition: TopicPartition
    made: int = 0
    queue: list[Batch] = field(default_factory=list)
    wire: deque[Request] = field(default_factory=deque)
    strays: list[Request] = field(default_factory=list)
    """Requests whose connection is lost, and which the broker may still get to."""
    log: list[Request] = field(default_factory=list)
    producers: Producers = field(default_factory=Producers)
    acknowledged: list[range] = field(default_factory=list)
    lost: list[range] = field(default_factory=list)
    """What the broker had, and lost itself."""

    def handle(self, request: Request, *, fault: BrokerError | None = None) -> None:
        request.is_handled = True
        request.error = fault
        if fault is None or isinstance(fault, NotEnoughReplicasAfterAppend):
            try:
                self._append(request)
            except BrokerError as error:
                request.error = error

    def _append(self, request: Request) -> None:
        if request.batch.is_too_large:
            raise MessageTooLarge
        header = header_of(request)
        if self.producers.check(header) is not None:
            return
        self.producers.wrote(header, len(self.log), 0)
        records = request.batch.records
        written = [each.batch.records for each in self.log]
        assert not any(overlap(records, each) for each in written), f"{records} is there twice"
        self.log.append(request)

    def lose_the_last(self) -> None:
        self.lost.append(self.log.pop().batch.records)
        self.producers = Producers()
        for offset, request in enumerate(self.log):
            self.producers.wrote(header_of(request), offset, 0)


def header_of(request: Request) -> BatchHeader:
    count = request.batch.record_count
    producer_id, epoch, sequence, _ = request.stamp
    assert 0 <= epoch <= GREATEST_EPOCH
    assert 0 <= sequence <= GREATEST_SEQUENCE
    return BatchHeader(0, 0, 0, MAGIC, 0, 0, count - 1, 0, 0, producer_id, epoch, sequence, count)


def overlap(one: range, other: range) -> bool:
    return one.start < other.stop and other.start < one.stop


leaders = st.sampled_from(range(len(PARTITIONS)))
sizes = st.integers(1, 3)
faults = st.sampled_from([NotEnoughReplicas, NotEnoughReplicasAfterAppend, InvalidRecord])


class Lives(RuleBasedStateMachine):
    """A client with its queues, and brokers that fail in all ways but one: they keep their word.

    What was acknowledged is in the log once, in the order of sending; and when the faults end,
    all that is left gets there.
    """

    def __init__(self) -> None:
        super().__init__()
        self.sequences = Sequences()
        self.leaders = [Leader(partition) for partition in PARTITIONS]
        self.ids = 0

    @initialize(
        epoch=st.sampled_from([0, GREATEST_EPOCH - 1]),
        first=st.sampled_from([0, GREATEST_SEQUENCE - 5]),
    )
    def begin(self, epoch: int, first: int) -> None:
        """With any epoch, and on one partition with numbers that wrap soon."""
        self.identify(epoch)
        if first:
            self.append(0, first, is_too_large=False)
            self._heal_a_little()

    def identify(self, epoch: int) -> None:
        self.ids += 1
        self.sequences.identified(self.ids, epoch)

    @rule()
    def identify_again(self) -> None:
        if self.sequences.needs_id:
            self.identify(GREATEST_EPOCH - 1)

    @rule(of=leaders, count=sizes, is_too_large=st.booleans())
    def append(self, of: int, count: int, *, is_too_large: bool) -> None:
        leader = self.leaders[of]
        records = range(leader.made, leader.made + count)
        leader.made += count
        leader.queue.append(Batch(leader.partition, records, is_too_large and count > 1))

    @rule(of=leaders, count=st.integers(1, 5))
    def send(self, of: int, count: int) -> None:
        leader = self.leaders[of]
        for _ in range(count):
            if not leader.queue or not self.sequences.may_drain(leader.queue[0]):
                return
            batch = leader.queue.pop(0)
            self.sequences.stamp(batch)
            leader.wire.append(Request(batch, batch.stamp))

    @rule(of=leaders, count=st.integers(1, 3))
    def handle(self, of: int, count: int) -> None:
        leader = self.leaders[of]
        for request in [each for each in leader.wire if not each.is_handled][:count]:
            leader.handle(request)

    @rule(of=leaders, fault=faults)
    def fail_to_handle(self, of: int, fault: type[BrokerError]) -> None:
        leader = self.leaders[of]
        for request in [each for each in leader.wire if not each.is_handled][:1]:
            leader.handle(request, fault=fault())

    @rule(of=leaders, at=st.integers(0, 4))
    def answer(self, of: int, at: int) -> None:
        """Any of them: the requests may have gone to several brokers."""
        leader = self.leaders[of]
        handled = [each for each in leader.wire if each.is_handled]
        for request in handled[at : at + 1]:
            leader.wire.remove(request)
            self._answered(leader, request)

    def _answered(self, leader: Leader, request: Request) -> None:
        batch, error = request.batch, request.error
        if batch.is_over:
            return
        assert batch.stamp == request.stamp, "renumbered on the wire"
        if error is None:
            self.sequences.delivered(batch)
            leader.acknowledged.append(batch.records)
            batch.is_over = True
        elif isinstance(error, MessageTooLarge):
            half = batch.record_count // 2
            parts = [
                Batch(batch.partition, batch.records[:half]),
                Batch(batch.partition, batch.records[half:]),
            ]
            self.sequences.split(batch, parts)
            batch.is_over = True
            for part in parts:
                self._queue_again(leader, part)
        elif self.sequences.came_back(batch, error):
            self._queue_again(leader, batch)
        else:
            self._give_up(leader, batch)

    def _queue_again(self, leader: Leader, batch: Batch) -> None:
        leader.queue.append(batch)
        leader.queue.sort(key=lambda each: each.records.start)

    def _give_up(self, leader: Leader, batch: Batch) -> None:
        batch.is_over = True
        if batch in leader.queue:
            leader.queue.remove(batch)
        if batch.stamp != UNSTAMPED:
            self.sequences.failed(batch)

    @rule(of=leaders)
    def cut(self, of: int) -> None:
        leader = self.leaders[of]
        requests, leader.wire = leader.wire, deque()
        for request in requests:
            if not request.is_handled:
                leader.strays.append(request)
            request.error = KafkaConnectionError("cut")
            self._answered(leader, request)

    @rule(of=leaders, at=st.integers(0, 5))
    def handle_a_stray(self, of: int, at: int) -> None:
        leader = self.leaders[of]
        for request in leader.strays[at : at + 1]:
            leader.strays.remove(request)
            leader.handle(request)

    @rule(of=leaders, at=st.integers(0, 5))
    def expire(self, of: int, at: int) -> None:
        leader = self.leaders[of]
        flying = [request.batch for request in leader.wire if not request.batch.is_over]
        for batch in [*flying, *leader.queue][at : at + 1]:
            self._give_up(leader, batch)

    @rule(of=leaders)
    def lose_the_last(self, of: int) -> None:
        """An unclean election. With nothing left the broker would take any number."""
        leader = self.leaders[of]
        if len(leader.log) > 1:
            leader.lose_the_last()

    @invariant()
    def something_can_always_go_on(self) -> None:
        for leader in self.leaders:
            waits_for_an_answer = any(not request.batch.is_over for request in leader.wire)
            if leader.queue and not waits_for_an_answer and not self.sequences.needs_id:
                assert self.sequences.may_drain(leader.queue[0]), f"stuck: {self.sequences!r}"

    def teardown(self) -> None:
        for turn in range(ENOUGH_TURNS):
            if self._heal_a_little():
                break
            assert turn < ENOUGH_TURNS - 1, f"stuck: {self.sequences!r}"
        for leader in self.leaders:
            self._check(leader)

    def _heal_a_little(self) -> bool:
        """One turn without faults; whether all is done."""
        if self.sequences.needs_id:
            self.identify(0)
        for index in range(len(PARTITIONS)):
            self.send(index, 5)
            self.handle(index, 5)
            self.answer(index, 0)
        return not any(leader.queue or leader.wire for leader in self.leaders)

    def _check(self, leader: Leader) -> None:
        written = [request.batch.records for request in leader.log]
        kept = [each for each in leader.acknowledged if each not in leader.lost]

        assert set(kept) <= set(written)
        in_order = [each for each in written if each in kept]
        assert in_order == sorted(in_order, key=lambda each: each.start)


Lives.TestCase.settings = settings(max_examples=150, stateful_step_count=60, deadline=None)
TestLives = Lives.TestCase
