"""Random lives of fetches: bounded, nothing stale, nobody starves (B46, B47, B50)."""

from __future__ import annotations

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from kafka_aio.consumer.buffer import Chunk
from kafka_aio.consumer.fetches import Fetch, Fetches
from kafka_aio.errors import NotLeaderOrFollower, OffsetOutOfRange
from kafka_aio.metadata import Leader
from kafka_aio.protocol.messages.fetch import PartitionData
from kafka_aio.records.batch import read_header
from kafka_aio.types import TopicPartition
from tests.unit.consumer.fetched import NODES, OVERHEAD, Owned, Place, batch, data

NAMES = [TopicPartition("t", number) for number in range(4)]
PARTITION_MAX = 400
ENOUGH_TURNS = 60

names = st.sampled_from(NAMES)
nodes = st.sampled_from(NODES)


def size_of(name: TopicPartition, offset: int) -> int:
    """Of the batch of a log that has this offset; some are larger than anybody asks for."""
    return 61 + (name.partition * 131 + offset // 3 * 57) % 500


def log(name: TopicPartition, offset: int, room: int) -> bytes:
    """What a log has from there: whole batches of 3 offsets, the last one cut; at least one."""
    base = offset - offset % 3
    found = b""
    while len(found) < room:
        found += batch(base, 3, size_of(name, base))
        base += 3
    first = size_of(name, offset - offset % 3)
    return found[: max(room, first)]


class Consumption(RuleBasedStateMachine):
    """A consumer, whose partitions come and go, and the nodes that it reads from."""

    @initialize(limit=st.integers(700, 1_500), max_bytes=st.integers(200, 1_500))
    def begin(self, limit: int, max_bytes: int) -> None:
        self.limit = limit
        self.now = 0.0
        self.eras = 0
        self.fetches = Fetches(
            limit=limit,
            max_bytes=max_bytes,
            partition_max_bytes=PARTITION_MAX,
            replica_age=10.0,
            error_pause=1.0,
        )
        self.owned: dict[TopicPartition, Owned] = {}
        for name in NAMES:
            self.assign(name, 1 + name.partition % 3, 0)
        self.out: list[Fetch] = []
        self.in_hand: list[Chunk] = []
        self.excess = 0

    # What the user and the cluster do.

    @rule(name=names, node=nodes, offset=st.integers(0, 4))
    def assign(self, name: TopicPartition, node: int, offset: int) -> None:
        self.eras += 1
        self.owned[name] = Owned(self.eras, Place(offset), Leader(node, 1))

    @rule(name=names)
    def revoke(self, name: TopicPartition) -> None:
        self.owned.pop(name, None)

    @rule(name=names, offset=st.integers(0, 4))
    def seek(self, name: TopicPartition, offset: int) -> None:
        if name in self.owned:
            self.eras += 1
            self.owned[name].era = self.eras
            self.owned[name].position = Place(offset)

    @rule(name=names, is_paused=st.booleans())
    def pause(self, name: TopicPartition, is_paused: bool) -> None:
        if name in self.owned:
            self.owned[name].is_paused = is_paused

    @rule(name=names, node=nodes)
    def elect(self, name: TopicPartition, node: int) -> None:
        leader = self.owned[name].leader if name in self.owned else None
        if leader is not None:
            self.owned[name].leader = Leader(node, leader.epoch + 1)

    @rule(seconds=st.floats(0.1, 5.0))
    def wait(self, seconds: float) -> None:
        self.now += seconds

    # Requests and answers.

    @rule()
    def send(self) -> None:
        for fetch in self.fetches.plan(self.owned, NODES, now=self.now).fetches:
            for name, ask in fetch.asks.items():
                assert self.owned[name].is_fetchable
                assert fetch.eras[name] == self.owned[name].era
                assert ask.max_bytes == PARTITION_MAX
            assert fetch.max_bytes > 0
            assert fetch.node not in {each.node for each in self.out}
            self.fetches.sent(fetch)
            self.out.append(fetch)
            reserved = sum(each.max_bytes for each in self.out)
            assert self.fetches.buffer.held + reserved <= self.limit

    @precondition(lambda self: self.out)
    @rule(draw=st.data())
    def fail(self, draw: st.DataObject) -> None:
        self.fetches.failed(self.out.pop(draw.draw(st.integers(0, len(self.out) - 1))))

    @rule()
    def send_again(self) -> None:
        while self.out:
            self.tell(self.out.pop(), {}, -1)
        self.send()

    @precondition(lambda self: self.out)
    @rule(draw=st.data(), replica=st.sampled_from([-1, -1, *NODES]))
    def answer(self, draw: st.DataObject, replica: int) -> None:
        fetch = self.out.pop(draw.draw(st.integers(0, len(self.out) - 1)))
        wrong = draw.draw(st.sets(st.sampled_from(sorted(fetch.asks))))
        codes = st.sampled_from([NotLeaderOrFollower.code, OffsetOutOfRange.code])
        told = {name: data(code=draw.draw(codes)) for name in sorted(wrong)}
        self.tell(fetch, told, replica)

    def tell(self, fetch: Fetch, told: dict[TopicPartition, PartitionData], replica: int) -> None:
        """Let the broker fill its answer, in the order of the request."""
        room = fetch.max_bytes
        for name, ask in fetch.asks.items():
            if name in told:
                continue
            found = log(name, ask.offset, min(room, ask.max_bytes)) if room > 0 else b""
            first = size_of(name, ask.offset - ask.offset % 3)
            if found and first > room and room < fetch.max_bytes:
                found = b""  # only the first of all may be larger
            told[name] = data(found, replica=replica)
            room -= len(found)
        size = OVERHEAD + sum(len(memoryview(each.records or b"")) for each in told.values())
        held = self.fetches.buffer.held
        heard = self.fetches.add(fetch, told, size=size, partitions=self.owned, now=self.now)

        for name, _ in heard:
            assert fetch.eras[name] == self.owned[name].era
        if self.fetches.buffer.held > held:
            self.excess = max(self.excess, size - fetch.max_bytes)

    # Records are handed out.

    @rule()
    def take(self) -> None:
        if chunk := self.fetches.buffer.take(self.owned):
            partition = self.owned[chunk.partition]
            assert partition.is_fetchable
            assert partition.era == chunk.era
            assert partition.position == Place(chunk.begin)
            header = read_header(chunk.data)
            assert chunk.end is not None
            assert header.base_offset <= chunk.begin < chunk.end
            assert header.size == size_of(chunk.partition, header.base_offset)
            self.in_hand.append(chunk)

    @precondition(lambda self: self.in_hand)
    @rule(draw=st.data())
    def finish(self, draw: st.DataObject) -> None:
        chunk = self.in_hand.pop(draw.draw(st.integers(0, len(self.in_hand) - 1)))
        end = chunk.end
        assert end is not None
        position = draw.draw(st.integers(chunk.begin, end))
        partition = self.owned.get(chunk.partition)
        if partition is not None and partition.era == chunk.era:
            partition.position = Place(position)
        if draw.draw(st.booleans()):
            self.fetches.buffer.put_back(chunk, position=position)
        else:
            self.fetches.buffer.release(chunk)

    # What holds.

    @invariant()
    def bytes_are_counted_and_bounded(self) -> None:
        buffer = self.fetches.buffer
        chunks = [chunk for queue in buffer._queues.values() for chunk in queue]
        frames = {chunk.frame for chunk in chunks + self.in_hand}
        assert buffer.held == sum(frame.size for frame in frames)
        assert buffer.held <= self.limit + len(NODES) * max(self.excess, 0)
        assert all(len(chunk.data) <= chunk.frame.size for chunk in chunks)

    @rule()
    def nobody_starves(self) -> None:
        """With calm nodes and a reader that reads on, each partition that may goes on."""
        while self.in_hand:
            self.fetches.buffer.release(self.in_hand.pop())
        self.now += 1.0
        hungry = {name for name, each in self.owned.items() if each.is_fetchable}
        for _ in range(ENOUGH_TURNS):
            if not hungry:
                break
            self.send()
            if self.out:
                self.tell(self.out.pop(0), {}, -1)
            while chunk := self.fetches.buffer.take(self.owned):
                assert chunk.end is not None
                self.owned[chunk.partition].position = Place(chunk.end)
                self.fetches.buffer.release(chunk)
                hungry.discard(chunk.partition)

        assert hungry == set()


TestConsumption = Consumption.TestCase
TestConsumption.settings = settings(max_examples=100, stateful_step_count=40, deadline=None)
