"""Ranges of offsets, read without a group: each ends exactly where it should.

Ranges of different partitions that are read at the same time share their fetches: they are in one
lane. A second range of a partition goes to another lane, which has fetches of its own. A lane that
nobody has used for a while ends, with its fetch sessions and its connections; the first one stays.

When memory is short, ranges that nobody asks at the moment give back what they have at hand, and
nothing is fetched for them until they are asked: so they do not stall others.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from functools import partial
from itertools import count
from math import inf
from typing import Final
from weakref import WeakValueDictionary

import anyio

from kafka_aio.config import ConsumerConfig
from kafka_aio.consumer.buffer import Chunk
from kafka_aio.consumer.fetcher import Fetcher
from kafka_aio.consumer.inflating import Inflating
from kafka_aio.consumer.lister import Lister
from kafka_aio.consumer.pieces import Decoding, Pieces
from kafka_aio.consumer.position import Position
from kafka_aio.consumer.subscription import Subscription
from kafka_aio.errors import (
    CorruptRecord,
    KafkaError,
    KafkaTimeoutError,
    OffsetOutOfRange,
    StateError,
)
from kafka_aio.listing import BEGINNING, END
from kafka_aio.net.cluster import Cluster
from kafka_aio.net.links import Channel
from kafka_aio.net.tasks import Running, Tasks, Wakeup
from kafka_aio.records.batch import FetchedBatch
from kafka_aio.types import TopicPartition

LINGER: Final = 5.0
"""So many seconds a lane without ranges is kept for those that follow."""


class NotInLog(OffsetOutOfRange):
    """The log does not have all of a range. It is we who say so, not the broker."""

    def __str__(self) -> str:
        return f"{self.where}: {self.message}"


class Lane:
    """Ranges of different partitions, and what fetches for them."""

    def __init__(
        self,
        cluster: Cluster,
        tasks: Tasks,
        config: ConsumerConfig,
        *,
        number: int,
        drop: Callable[[Lane], None] | None,
    ) -> None:
        """Make one; its task begins with its first range.

        Args:
            cluster: Where to fetch from.
            tasks: Those of the client.
            config: That of the consumer.
            number: Which of its lanes.
            drop: Is called when it is about to end; None if it stays.
        """
        self.subscription = Subscription(policy=None)
        self._channel = Channel("fetch", f"ranges {number}")
        self.fetcher = Fetcher(
            cluster, tasks, self.subscription, self, config, channel=self._channel
        )
        self._cluster = cluster
        self._drop = drop
        self._used = Wakeup()
        self._tasks = tasks
        self._number = number
        self._running: Running | None = None
        self._wakeups: dict[TopicPartition, Wakeup] = {}
        self._readers: WeakValueDictionary[TopicPartition, RangeRead] = WeakValueDictionary()
        self._errors: dict[TopicPartition, KafkaError] = {}

    def __repr__(self) -> str:
        return f"<Lane {self._number}: {len(self._wakeups)} ranges>"

    def begin(self, reader: RangeRead, partition: TopicPartition, offset: int, end: int) -> None:
        self._readers[partition] = reader
        self._wakeups[partition] = Wakeup()
        self.subscription.assign(self._wakeups)
        self.subscription.seek(partition, offset)
        self.subscription[partition].stop = end
        if self._running is None:
            name = f"fetcher of ranges {self._number}"
            run = self.fetcher.run if self._drop is None else self._run
            self._running = self._tasks.spawn(run, name=name)
        self._used.set()
        self.fetcher.wake()

    def end(self, partition: TopicPartition) -> None:
        wakeup = self._wakeups.pop(partition, None)
        if wakeup is None:
            return
        wakeup.set()  # who waits sees that it is over
        self._readers.pop(partition, None)
        self._errors.pop(partition, None)
        self.subscription.assign(self._wakeups)
        self._used.set()
        self.fetcher.wake()

    async def _run(self) -> None:
        """The task: until nobody has used it for a while."""
        try:
            async with anyio.create_task_group() as group:
                group.start_soon(self.fetcher.run)
                await self._wait_unused()
                if self._drop is not None:
                    self._drop(self)  # in this very step: no range is to begin here
                group.cancel_scope.cancel()
        finally:
            self.wake()  # a failure of the fetcher's is known only now
        self._cluster.close_channel(self._channel)

    async def _wait_unused(self) -> None:
        """A fetch that is out may bring a fetch session, which has to be ended: wait for it too."""
        loop = asyncio.get_running_loop()
        while True:
            until = inf if self._wakeups else loop.time() + LINGER
            if not await self._used.wait(until=until) and not self.fetcher.fetches.out:
                return

    def take(self, partition: TopicPartition) -> Chunk | None:
        """The next chunk of a partition.

        Raises:
            KafkaError: Why there will be none.
        """
        if (error := self._errors.pop(partition, None)) is not None:
            raise error
        chunk = self.fetcher.fetches.buffer.take(self.subscription.partitions, only=partition)
        if chunk is not None:
            self.fetcher.wake()
        return chunk

    def release(self, chunk: Chunk, position: int) -> None:
        self.subscription.advance(chunk.partition, chunk.era, Position(position))
        self.fetcher.fetches.buffer.release(chunk)
        self.fetcher.wake()

    def put_back(self, chunk: Chunk, position: int) -> None:
        self.subscription.advance(chunk.partition, chunk.era, Position(position))
        self.fetcher.fetches.buffer.put_back(chunk, position=position)

    def ask(self, partition: TopicPartition) -> None:
        """Somebody wants more of a range."""
        if self.subscription[partition].is_paused:
            self.subscription.resume([partition])
            self.fetcher.wake()

    def _make_room(self) -> None:
        """Ranges that nobody asks have to rest, if memory is short."""
        if self.fetcher.fetches.is_short:
            for name, reader in list(self._readers.items()):
                if not reader.is_reading:
                    reader.rest()
                    self.subscription.pause([name])
            self.fetcher.wake()

    async def wait(self, partition: TopicPartition, *, until: float) -> bool:
        """Wait until there may be something new; False if the time is over."""
        self._make_room()
        return await self._wakeups[partition].wait(until=until)

    def trouble(self, partition: TopicPartition) -> str:
        """Why nothing comes of a partition, as far as that is known."""
        owned = self.subscription.partitions.get(partition)
        said = self.fetcher.troubles
        if owned is not None and owned.trouble is not None:
            said.append(f"last: {owned.trouble.error}")
        return "; ".join(said) or "the broker sent nothing"

    # What the fetcher says.

    def wake(self) -> None:
        for wakeup in self._wakeups.values():
            wakeup.set()

    def tell(self, error: KafkaError, partition: TopicPartition | None = None) -> None:
        for name in self._wakeups if partition is None else [partition]:
            self._errors[name] = error
        self.wake()


class Ranges:
    """All ranges that a consumer reads."""

    def __init__(
        self,
        cluster: Cluster,
        tasks: Tasks,
        config: ConsumerConfig,
        *,
        lister: Lister,
        decoding: Decoding,
    ) -> None:
        self._lister = lister
        self._tasks = tasks
        self._make_lane: Callable[..., Lane] = partial(Lane, cluster, tasks, config)
        self._lanes: list[Lane] = []
        self._numbers = count()  # a connection may still be closing: no number comes twice
        self._loop = asyncio.get_running_loop()
        self._timeout = config.default_api_timeout_ms / 1000
        self.decoding = decoding

    def __repr__(self) -> str:
        return f"<Ranges in {len(self._lanes)} lanes>"

    def wake(self) -> None:
        """Leaders may be others."""
        for lane in self._lanes:
            lane.fetcher.wake()

    def lane_for(self, partition: TopicPartition) -> Lane:
        """One in which the partition is not read."""
        for lane in self._lanes:
            if partition not in lane.subscription:
                return lane
        drop = self._lanes.remove if self._lanes else None
        self._lanes.append(self._make_lane(number=next(self._numbers), drop=drop))
        return self._lanes[-1]

    async def check(self, partition: TopicPartition, begin: int, end: int) -> None:
        """Whether the log has all of a range.

        Raises:
            OffsetOutOfRange: It begins later, or ends earlier.
            KafkaError: That cannot be found out.
        """
        until = self._loop.time() + self._timeout
        bounds = []
        for time in (BEGINNING, END):
            found = await self._lister.find(
                {partition: time}, read_committed=self.decoding.read_committed, until=until
            )
            at = found[partition]
            assert at is not None
            bounds.append(at.offset)
        first, after = bounds
        where = f"{partition} from {begin} to {end}"
        if begin < first:
            raise NotInLog(f"the log begins at {first}", where=where)
        if end > after:
            kind = "what is committed of the log" if self.decoding.read_committed else "the log"
            raise NotInLog(f"{kind} ends at {after}", where=where)

    def deadline(self) -> float:
        return self._loop.time() + self._timeout

    def check_open(self) -> None:
        self._tasks.check()


class RangeRead:
    """The batches of one range: `async for batch in consumer.read_range(...)`.

    What is not read to its end should be closed: `await batches.aclose()`.
    """

    def __init__(self, ranges: Ranges, partition: TopicPartition, begin: int, end: int) -> None:
        self._ranges = ranges
        self._partition = partition
        self._position = begin
        self._end = end
        self._lane: Lane | None = None
        self._chunk: Chunk | None = None
        self._pieces: Pieces | None = None
        self._batch: FetchedBatch | None = None  # made ready, and not handed over
        self._inflating = Inflating()
        self.is_reading = False
        self._is_over = False

    def __repr__(self) -> str:
        state = "read" if self._is_over else f"at {self._position}"
        return f"<RangeRead of {self._partition} to {self._end}: {state}>"

    def __aiter__(self) -> RangeRead:
        return self

    async def __anext__(self) -> FetchedBatch:
        if self.is_reading:
            raise StateError(
                f"two tasks read one range of {self._partition}: let one of them do it"
            )
        self.is_reading = True
        try:
            batch = await self._next()
        except KafkaError:
            self._close()
            raise
        finally:
            self.is_reading = False
        if batch is None:
            raise StopAsyncIteration
        return batch

    async def aclose(self) -> None:
        """Read no further: nothing is fetched for it any more."""
        self._close()

    def __del__(self) -> None:
        self._close()

    def _close(self) -> None:
        self._is_over = True
        if self._lane is not None:
            if self._chunk is not None:
                self._lane.fetcher.fetches.buffer.release(self._chunk)
            self._lane.end(self._partition)
        self._lane = self._chunk = self._pieces = self._batch = None

    async def _next(self) -> FetchedBatch | None:
        if self._is_over:
            return None
        await asyncio.sleep(0)
        lane = self._lane or await self._begin()
        if lane is None:
            return None
        lane.ask(self._partition)
        deadline = self._ranges.deadline()
        while not self._is_over:
            if (batch := self._take(lane)) is not None:
                return batch
            if self._is_over:
                break
            if self._inflating.is_under_way:
                await self._inflating.wait()
            elif not await lane.wait(self._partition, until=deadline):
                raise KafkaTimeoutError(
                    f"{self._partition}: nothing came of offset {self._position} in time;"
                    f" {lane.trouble(self._partition)}"
                )
            self._ranges.check_open()
        return None

    async def _begin(self) -> Lane | None:
        await self._ranges.check(self._partition, self._position, self._end)
        if self._position == self._end:
            self._close()
        if self._is_over:
            return None  # there is nothing to read, or it was closed meanwhile
        lane = self._lane = self._ranges.lane_for(self._partition)
        lane.begin(self, self._partition, self._position, self._end)
        return lane

    def rest(self) -> None:
        """Give back what was not handed over: somebody else needs the room."""
        if self._chunk is not None and self._lane is not None:
            self._lane.put_back(self._chunk, self._position)
        self._chunk = self._pieces = self._batch = None
        self._inflating = Inflating()

    def _take(self, lane: Lane) -> FetchedBatch | None:
        """The next batch, if it is ready."""
        while self._position < self._end:
            if self._batch is not None:
                return self._give() if self._inflating.is_done(self._batch.opened()) else None
            if self._pieces is None and not self._open(lane):
                return None
            assert self._pieces is not None
            self._batch = self._pieces.next()
            if self._batch is None:
                self._finish(lane)
        self._close()
        return None

    def _open(self, lane: Lane) -> bool:
        try:
            self._chunk = lane.take(self._partition)
        except OffsetOutOfRange:
            where = f"{self._partition} from {self._position} to {self._end}"
            text = f"offset {self._position} is not in the log any more"
            raise NotInLog(text, where=where) from None
        if self._chunk is None:
            return False
        self._pieces = Pieces(self._chunk, self._ranges.decoding, stop=self._end)
        return True

    def _finish(self, lane: Lane) -> None:
        """All of a chunk was handed over, or left out."""
        assert self._chunk is not None
        assert self._pieces is not None
        if self._pieces.position <= self._chunk.begin and not self._chunk.is_partly_read:
            topic, number = self._partition
            raise CorruptRecord(
                "the broker sends no whole batch",
                topic=topic,
                partition=number,
                offset=self._position,
            )
        self._position = self._pieces.position
        lane.release(self._chunk, self._pieces.position)
        self._chunk = self._pieces = None

    def _give(self) -> FetchedBatch:
        batch, self._batch = self._batch, None
        assert batch is not None
        self._position = batch.next_offset
        return batch
