"""What was fetched and not handed over yet: chunks by partition. Pure.

    add -> take -> put_back | release

Each partition has a queue of chunks: what one answer brought for it, from the position where the
one before ended. A chunk is a view into the frame of the answer, and holds all of it: so the bytes
that count are those of frames.

A chunk belongs to the era of its partition in which it was asked for. After a seek, or when the
partition was revoked, it is not handed out (B46). A pause begins no era: the chunks stay (B47).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from struct import Struct
from typing import Final, NamedTuple, Protocol

from kafka_aio.metadata import Leader
from kafka_aio.protocol.messages.fetch import AbortedTransaction
from kafka_aio.records.layout import HEADER_BYTES, LEGACY_BYTES, LENGTH_FROM, MAGIC
from kafka_aio.types import TopicPartition

_MOST_BATCHES: Final = 1_000
"""As many headers are looked at in one chunk, so that this takes well below a millisecond."""
_START: Final = Struct(">qi4xb")
"""Offset, length and format of a batch, or of a message of older formats."""
_LAST_OFFSET_DELTA: Final = Struct(">23xi")


class Place(Protocol):
    """Where a partition is read."""

    @property
    def offset(self) -> int: ...


class Partition(Protocol):
    """What has to be known of a partition of the assignment."""

    @property
    def era(self) -> int:
        """Another one whenever the position has jumped, or the partition was assigned anew."""

    @property
    def position(self) -> Place | None: ...
    @property
    def leader(self) -> Leader | None: ...
    @property
    def stop(self) -> float:
        """From where on nothing is wanted."""

    @property
    def is_fetchable(self) -> bool:
        """Whether records may be fetched and handed over: it has a position, and no pause."""


Partitions = Mapping[TopicPartition, Partition]
"""The assignment."""


@dataclass(slots=True, eq=False)
class _Frame:
    """Bytes that are held as a whole."""

    size: int
    chunks: dict[Chunk, None] = field(default_factory=dict)
    """Those that hold it."""


@dataclass(slots=True, eq=False)
class Chunk:
    """What one answer brought for one partition: batches, the last of which may be cut short."""

    partition: TopicPartition
    era: int
    begin: int
    """The position: the first batch may have records before it, which are to be left out."""
    end: int | None
    """The position after it; None where it takes decoding to know."""
    data: memoryview
    aborted: list[AbortedTransaction] | None
    frame: _Frame = field(repr=False)
    is_taken: bool = False
    is_partly_read: bool = False
    """It was put back, with `begin` further on: there may be nothing left of it."""

    def is_of_now(self, partitions: Partitions) -> bool:
        """Whether its partition is still the one it was asked for."""
        partition = partitions.get(self.partition)
        return partition is not None and partition.era == self.era


class Slice(NamedTuple):
    """The part of a frame that is about one partition."""

    partition: TopicPartition
    era: int
    begin: int
    """The position that was asked for."""
    data: memoryview
    aborted: list[AbortedTransaction] | None = None


class Buffer:
    """Chunks, by partition. It counts their bytes; that they are not too many is not its matter."""

    def __init__(self) -> None:
        """Begin empty."""
        self.held = 0
        """The bytes of all frames that a chunk holds, queued or taken."""
        self._queues: dict[TopicPartition, deque[Chunk]] = {}  # in the order of their turns
        self._taken: dict[TopicPartition, Chunk] = {}

    def __repr__(self) -> str:
        queued = len(self._queues)
        return f"<Buffer: {queued} partitions, {len(self._taken)} taken, {self.held} bytes>"

    def __iter__(self) -> Iterator[TopicPartition]:
        """The partitions with something to take."""
        return iter(self._queues)

    def queued(self, name: TopicPartition) -> int:
        """The bytes of a partition that are not taken."""
        return sum(len(chunk.data) for chunk in self._queues.get(name, ()))

    def next_offset(self, name: TopicPartition, partition: Partition) -> int | None:
        """Where the next chunk of a partition begins; None if that is not known yet."""
        queue = self._queues.get(name)
        last = queue[-1] if queue else self._taken.get(name)
        if last is not None and last.era == partition.era:
            return last.end
        return None if partition.position is None else partition.position.offset

    def add(self, slices: Iterable[Slice], *, size: int) -> None:
        """Keep these parts of a frame of that size. Each begins where its queue ends."""
        frame = _Frame(size)
        for each in slices:
            end = _end_of(each.data)
            if end is not None and end <= each.begin:
                end = None  # nonsense, for the decoder to find: nothing is asked for after it
            chunk = Chunk(each.partition, each.era, each.begin, end, each.data, each.aborted, frame)
            frame.chunks[chunk] = None
            self._queues.setdefault(each.partition, deque()).append(chunk)
        if frame.chunks:
            self.held += size

    def take(self, partitions: Partitions, only: TopicPartition | None = None) -> Chunk | None:
        """The next chunk to hand out, by turns of the partitions; it is held until `release`.

        There is none of a partition of which one is taken.

        Args:
            partitions: The assignment.
            only: The partition to take one of.
        """
        for name in list(self._queues) if only is None else [only]:
            self._forget_if_old(name, partitions)
            queue = self._queues.get(name)
            if queue is None or name in self._taken or not partitions[name].is_fetchable:
                continue
            chunk = queue.popleft()
            del self._queues[name]
            if queue:
                self._queues[name] = queue  # behind the others
            chunk.is_taken = True
            self._taken[name] = chunk
            return chunk
        return None

    def put_back(self, chunk: Chunk, *, position: int) -> None:
        """A chunk that was taken is not wanted now, as after a pause; what is left of it stays."""
        if self._taken.get(chunk.partition) is not chunk or position == chunk.end:
            self.release(chunk)  # it is old, or nothing is left
            return
        del self._taken[chunk.partition]
        chunk.is_taken = False
        chunk.is_partly_read = chunk.is_partly_read or position > chunk.begin
        chunk.begin = position
        self._queues.setdefault(chunk.partition, deque()).appendleft(chunk)

    def release(self, chunk: Chunk) -> None:
        """A chunk that was taken is used up, and the position told; or it is old."""
        if self._taken.get(chunk.partition) is chunk:
            del self._taken[chunk.partition]
        self._let_go(chunk)

    def forget_old(self, partitions: Partitions) -> None:
        """Let go what is of another era, or does not begin at the position."""
        for name in [*self._queues, *self._taken]:
            self._forget_if_old(name, partitions)

    def _forget_if_old(self, name: TopicPartition, partitions: Partitions) -> None:
        taken = self._taken.get(name)
        if taken is not None and not taken.is_of_now(partitions):
            del self._taken[name]  # its bytes are held until it is released
        queue = self._queues.get(name)
        if queue is None:
            return
        is_old = not queue[0].is_of_now(partitions)
        if not is_old and name not in self._taken:
            position = partitions[name].position
            is_old = position is None or position.offset != queue[0].begin
        if is_old:
            del self._queues[name]
            for chunk in queue:
                self._let_go(chunk)

    def drop_last(self, name: TopicPartition) -> int:
        """Let the last chunk of a partition go, to be fetched again. Returns its bytes."""
        queue = self._queues[name]
        chunk = queue.pop()
        if not queue:
            del self._queues[name]
        self._let_go(chunk)
        return len(chunk.data)

    def copy_out(self, stuck: Iterable[TopicPartition]) -> None:
        """Where little of a frame is wanted any more, copy that, so that the frame can go.

        It is little if it is half of the frame; or, where all is of partitions that are stuck and
        so will hold it for long, if anything worth it could go.
        """
        frames = {chunk.frame: None for queue in self._queues.values() for chunk in queue}
        waiting = frozenset(stuck)
        for frame in frames:
            used = sum(len(chunk.data) for chunk in frame.chunks)
            is_stuck = all(chunk.partition in waiting for chunk in frame.chunks)
            is_little = used * 8 <= frame.size * (7 if is_stuck else 4)
            if is_little and not any(chunk.is_taken for chunk in frame.chunks):
                self._dissolve(frame)

    def _dissolve(self, frame: _Frame) -> None:
        self.held -= frame.size
        for chunk in frame.chunks:
            chunk.data = memoryview(bytes(chunk.data))
            chunk.frame = _Frame(len(chunk.data), {chunk: None})
            self.held += len(chunk.data)

    def _let_go(self, chunk: Chunk) -> None:
        frame = chunk.frame
        if chunk in frame.chunks:
            del frame.chunks[chunk]
            if not frame.chunks:
                self.held -= frame.size


def _end_of(data: memoryview) -> int | None:
    """The offset after the last whole batch; None if there are too many of them, or damaged ones.

    The decoder will say what is wrong with those.
    """
    at, end = 0, None
    for _ in range(_MOST_BATCHES):
        room = len(data) - at
        if room < _START.size:
            return end
        offset, length, magic = _START.unpack_from(data, at)
        least = HEADER_BYTES - LENGTH_FROM if magic == MAGIC else LEGACY_BYTES
        if length < least or not 0 <= magic <= MAGIC:
            return None
        if length > room - LENGTH_FROM:
            return end  # cut short
        delta = _LAST_OFFSET_DELTA.unpack_from(data, at)[0] if magic == MAGIC else 0
        end = offset + delta + 1
        at += LENGTH_FROM + length
    return None
