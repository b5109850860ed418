"""What is to be fetched of which node, and what becomes of the answers. Pure.

    plan -> sent -> add | failed        what came is in `buffer`

A partition is read ahead until it has its share of the bytes. While a request is out, what it may
bring counts as held. Only a batch larger than what was asked for comes on top: brokers send the
first one whole. When bytes are scarce, remains of frames are copied out of them; and of partitions
that nobody may read now, the last chunks go, to be fetched again: together they keep no more than
half of the bytes, so that the others are not stalled.

A node has one request out. A partition that has a new leader is asked of it at once, though the old
one may never answer.

An answer counts only if its partition is still in the era, and at the offset, that it was last
asked for (B45, B46). A paused partition is not asked for; what is on its way to it is kept (B47).

Records may come from a replica nearby, which the leader names (KIP-392). An error, a lost
connection, another leader or time make the partition go back to its leader (B50).
"""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass
from math import inf
from typing import Final, NamedTuple

from kafka_aio.consumer.buffer import Buffer, Partition, Partitions, Slice
from kafka_aio.consumer.sessions import Ask
from kafka_aio.errors import OffsetOutOfRange, StateError
from kafka_aio.metadata import Leader
from kafka_aio.protocol.messages.fetch import PartitionData
from kafka_aio.types import TopicPartition


@dataclass(frozen=True, slots=True, eq=False)
class Fetch:
    """A request to one node."""

    node: int
    asks: dict[TopicPartition, Ask]
    """Those that got nothing for the longest time come first."""
    eras: dict[TopicPartition, int]
    max_bytes: int
    is_whole: bool
    """No partition that is read from this node was left out as it has its share. Otherwise the
    broker should not wait long for data: one that is left out could be wanted any moment."""


class Plan(NamedTuple):
    """What could be sent now, and when to look again."""

    fetches: Sequence[Fetch]
    next_at: float


NOTHING: Final = Plan((), inf)
"""There is nothing to send, until something changes."""


class _Replica(NamedTuple):
    """A replica to read from instead of the leader."""

    node: int
    leader: Leader
    """Who has named it."""
    until: float


class _Rest(NamedTuple):
    """A partition that is not asked for, as a node had an error for it."""

    node: int
    until: float


class _Wants(NamedTuple):
    """What is wanted of the nodes that could be asked."""

    asks: dict[int, dict[TopicPartition, Ask]]
    sated: set[int]
    """Nodes with a partition that has its share."""
    next_at: float


class Fetches:
    """Requests for records, and the records that came, bounded in bytes."""

    def __init__(
        self,
        *,
        limit: int,
        max_bytes: int,
        partition_max_bytes: int,
        replica_age: float,
        error_pause: float,
    ) -> None:
        """Begin empty.

        Args:
            limit: The bytes that are held at most, but for batches larger than was asked for.
            max_bytes: What one request asks for at most.
            partition_max_bytes: What it asks for of one partition.
            replica_age: How many seconds a replica is read from, before the leader is asked again.
            error_pause: How many seconds a partition rests when its node had an error for it.
        """
        self.buffer = Buffer()
        self._limit = max(limit, 1)
        self._max_bytes = max_bytes
        self._partition_max_bytes = partition_max_bytes
        self._replica_age = replica_age
        self._error_pause = error_pause
        self._reserved = 0  # what requests that are out may bring
        self._out: dict[int, Fetch] = {}
        self._asked: dict[TopicPartition, Fetch] = {}
        self._replicas: dict[TopicPartition, _Replica] = {}
        self._rests: dict[TopicPartition, _Rest] = {}
        self._turn = 0
        self._sent_at: dict[int, int] = {}  # by node, in turns
        self._came_at: dict[TopicPartition, int] = {}

    def __repr__(self) -> str:
        return (
            f"<Fetches: {self.buffer.held} of {self._limit} bytes held, {self._reserved} reserved,"
            f" {len(self._out)} requests out>"
        )

    @property
    def out(self) -> int:
        """How many requests are not answered."""
        return len(self._out)

    @property
    def is_short(self) -> bool:
        """Whether more than half of the bytes are held, or asked for."""
        return (self.buffer.held + self._reserved) * 2 > self._limit

    @property
    def replicas(self) -> set[int]:
        """The nodes that are read from though they lead nothing of it."""
        return {each.node for each in self._replicas.values()}

    def are_busy(self, nodes: set[int]) -> bool:
        """Whether all of these have a request out: then a plan would be in vain, and it is long."""
        return bool(nodes) and nodes <= self._out.keys()

    # Requests go out.

    def plan(self, partitions: Partitions, nodes: Container[int], *, now: float) -> Plan:
        """What to ask for, of each node that has no request out.

        Args:
            partitions: The assignment.
            nodes: Those that can be reached, busy or not.
            now: The time.
        """
        self._forget_old(partitions)
        wants = self._wants(partitions, nodes, now)
        if not wants.asks:
            return Plan([], wants.next_at)
        kept = self._make_room(partitions)
        part = max((self._limit - kept) // len(self._out.keys() | wants.asks.keys()), 1)
        room = self._limit - self.buffer.held - self._reserved
        fetches: list[Fetch] = []
        for node in sorted(wants.asks, key=lambda node: self._sent_at.get(node, 0)):
            asks = self._in_turn(wants.asks[node])
            size = min(self._max_bytes, part, sum(ask.max_bytes for ask in asks.values()))
            if room * 2 < size:
                break  # nor is anybody served before this one
            size = min(size, room)
            room -= size
            eras = {name: partitions[name].era for name in asks}
            fetches.append(Fetch(node, asks, eras, size, node not in wants.sated))
        return Plan(fetches, wants.next_at)

    def _wants(self, partitions: Partitions, nodes: Container[int], now: float) -> _Wants:
        wants = _Wants({}, set(), inf)
        share = max(self._limit // max(len(partitions), 1), 1)
        for name, partition in partitions.items():
            if not partition.is_fetchable:
                continue
            leader, node = partition.leader, self._source(name, partition, nodes, now)
            if leader is None or node is None or node in self._out:
                continue
            offset = self.buffer.next_offset(name, partition)
            if offset is not None and offset >= partition.stop:
                continue  # all that is wanted of it has come
            if offset is None or self.buffer.queued(name) >= share:
                wants.sated.add(node)
            elif (until := self._rests_until(name, node)) > now:
                wants = wants._replace(next_at=min(wants.next_at, until))
            else:
                ask = Ask(offset, leader.epoch, self._partition_max_bytes)
                wants.asks.setdefault(node, {})[name] = ask
        return wants

    def _source(
        self, name: TopicPartition, partition: Partition, nodes: Container[int], now: float
    ) -> int | None:
        """The node to read from: the replica that its leader has named, or the leader."""
        replica = self._replicas.get(name)
        if replica is not None:
            is_good = replica.leader == partition.leader and now < replica.until
            if is_good and replica.node in nodes:
                return replica.node
            del self._replicas[name]
        leader = partition.leader
        return leader.node if leader is not None and leader.node in nodes else None

    def _rests_until(self, name: TopicPartition, node: int) -> float:
        """Until when a partition is not to be asked of a node."""
        rest = self._rests.get(name)
        return rest.until if rest is not None and rest.node == node else -inf

    def _in_turn(self, asks: dict[TopicPartition, Ask]) -> dict[TopicPartition, Ask]:
        """Brokers fill an answer in the order of the request, unless there is a session."""
        return {name: asks[name] for name in sorted(asks, key=lambda n: self._came_at.get(n, 0))}

    def _make_room(self, partitions: Partitions) -> int:
        """See to it that stuck partitions hold half of the bytes at most. Returns what they do."""
        buffer = self.buffer
        stuck = {name: buffer.queued(name) for name in buffer if not partitions[name].is_fetchable}
        kept = sum(stuck.values())
        if self.is_short:
            while kept * 2 > self._limit:
                largest = max(stuck, key=stuck.__getitem__)
                dropped = buffer.drop_last(largest)
                stuck[largest] -= dropped
                kept -= dropped
            buffer.copy_out(stuck)
        return kept

    def sent(self, fetch: Fetch) -> None:
        """A request of the plan goes out.

        Raises:
            StateError: One to that node is out.
        """
        if fetch.node in self._out:
            raise StateError(f"{self!r}: one to node {fetch.node} is out already")
        self._turn += 1
        self._sent_at[fetch.node] = self._turn
        self._out[fetch.node] = fetch
        self._asked.update(dict.fromkeys(fetch.asks, fetch))
        self._reserved += fetch.max_bytes

    # Answers come in.

    def add(
        self,
        fetch: Fetch,
        told: Mapping[TopicPartition, PartitionData],
        *,
        size: int,
        partitions: Partitions,
        now: float,
    ) -> list[tuple[TopicPartition, PartitionData]]:
        """The broker has answered a request that was sent.

        Args:
            fetch: The request.
            told: What the answer says of partitions.
            size: The bytes of its frame.
            partitions: The assignment of now.
            now: The time.

        Returns:
            What is said of partitions that are still where they were when they were asked for:
            errors too, but for one of a replica that only sends us back to the leader.

        Raises:
            StateError: The request is not out.
        """
        current = [
            (name, data)
            for name, data in told.items()
            if self._is_current(name, fetch, partitions.get(name))
        ]
        self._came_back(fetch)
        heard: list[tuple[TopicPartition, PartitionData]] = []
        slices: list[Slice] = []
        for name, data in current:
            leader = partitions[name].leader
            self._rests.pop(name, None)
            if not data.error_code:
                self._follow(name, data, leader, now)
                slices.extend(self._slice(name, fetch, data))
            elif self._is_sent_back(name, fetch.node, data, leader):
                continue
            else:
                self._rests[name] = _Rest(fetch.node, now + self._error_pause)
            heard.append((name, data))
        self.buffer.add(slices, size=size)
        return heard

    def _is_current(self, name: TopicPartition, fetch: Fetch, partition: Partition | None) -> bool:
        if partition is None or self._asked.get(name) is not fetch:
            return False
        if fetch.eras[name] != partition.era:
            return False
        return self.buffer.next_offset(name, partition) == fetch.asks[name].offset

    def _follow(
        self, name: TopicPartition, data: PartitionData, leader: Leader | None, now: float
    ) -> None:
        """Read from the replica that the leader names from now on, if it names one."""
        if data.preferred_read_replica >= 0 and leader is not None:
            until = now + self._replica_age
            self._replicas[name] = _Replica(data.preferred_read_replica, leader, until)

    def _is_sent_back(
        self, name: TopicPartition, node: int, data: PartitionData, leader: Leader | None
    ) -> bool:
        """A node has refused a partition: read from its leader.

        Returns:
            Whether it is another node, which may just not have what the leader has.
        """
        self._replicas.pop(name, None)
        is_leader = leader is not None and leader.node == node
        return data.error_code == OffsetOutOfRange.code and not is_leader

    def _slice(self, name: TopicPartition, fetch: Fetch, data: PartitionData) -> list[Slice]:
        if not data.records:
            return []
        self._turn += 1
        self._came_at[name] = self._turn
        view = memoryview(data.records).cast("B")
        begin = fetch.asks[name].offset
        return [Slice(name, fetch.eras[name], begin, view, data.aborted_transactions)]

    def failed(self, fetch: Fetch) -> None:
        """A request that was sent will not be answered. If it went to a replica, that is left.

        Raises:
            StateError: The request is not out.
        """
        self._came_back(fetch)
        for name in fetch.asks:
            replica = self._replicas.get(name)
            if replica is not None and replica.node == fetch.node:
                del self._replicas[name]

    def _came_back(self, fetch: Fetch) -> None:
        if self._out.get(fetch.node) is not fetch:
            raise StateError(f"{self!r}: that request to node {fetch.node} is not out")
        del self._out[fetch.node]
        self._reserved -= fetch.max_bytes
        for name in fetch.asks:
            if self._asked.get(name) is fetch:
                del self._asked[name]

    def _forget_old(self, partitions: Partitions) -> None:
        """Nothing is left of partitions that were revoked, nor of their earlier eras."""
        self.buffer.forget_old(partitions)
        for known in (self._replicas, self._rests, self._came_at):
            for name in [each for each in known if each not in partitions]:
                known.pop(name)
