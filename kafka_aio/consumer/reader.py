"""Hands records over: takes what was fetched, decodes it as it is asked for, knows how far it is.

    asked for -> told how far we are -> the chunk at hand, or the next one -> decode -> handed over

One task asks at a time. A call gives the loop a turn before it takes records, never after: there is
no await between taking and returning, so a call that is cancelled has taken nothing.

`async for` takes decoded records from the cursor without coming here. So whoever wants to know the
position calls `tell` first; and whatever makes the records at hand doubtful (a seek, a pause, a
rebalance) interrupts the cursor, so that the next request comes here and has a look. Where there
are interceptors, each request comes here.

A partition whose next record cannot be read is stuck: the user is told once, and it rests until it
is sought elsewhere. The others go on.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from math import inf
from typing import Any, Final

from kafka_aio.consumer.buffer import Chunk
from kafka_aio.consumer.cursor import Cursor
from kafka_aio.consumer.fetcher import Fetcher
from kafka_aio.consumer.handover import Handover
from kafka_aio.consumer.inflating import Inflating
from kafka_aio.consumer.pieces import MOST_BYTES, Decoding, Pieces
from kafka_aio.consumer.position import NO_EPOCH, OwnedPartition, Position
from kafka_aio.consumer.record import Polled
from kafka_aio.consumer.subscription import Subscription
from kafka_aio.consumer.user_code import UserCode
from kafka_aio.errors import CorruptRecord, KafkaError, StateError
from kafka_aio.heap import keep_freed
from kafka_aio.net.tasks import Tasks
from kafka_aio.records.batch import FetchedBatch
from kafka_aio.records.codec import RecordReader
from kafka_aio.types import TopicPartition

TURN: Final = 0.001
"""Records are decoded for so many seconds, before others have their turn."""
FEWEST: Final = 64
"""So many records are decoded at once at least."""
MOST: Final = 4_096
MOST_COPIED: Final = 2 * 2**20
"""Bytes of records that are decoded at once, and one record more: large ones take as long as many
small ones."""
MAPPED: Final = 3 * 2**20
"""Bytes of a block that malloc surely takes from the system, and that is smaller than most answers,
whose memory does go back to the system."""

logger = logging.getLogger(__name__)


@dataclass(slots=True, eq=False)
class _Opened:
    """The chunk at hand, read as records or as batches."""

    chunk: Chunk
    walk: RecordReader | Pieces
    told: int = 0
    """How many of the cursor's records the subscription knows of."""
    batch: FetchedBatch | None = None
    """The one that comes next, while it is made ready."""
    error: KafkaError | None = None
    """What the user is told after the records that are decoded."""
    inflating: Inflating = field(default_factory=Inflating, repr=False)
    is_passing: bool = False
    """None of what was decoded last is for the user, and there is more."""


class Reader:
    """The reading side of a consumer."""

    def __init__(  # noqa: PLR0913 - what it stands between
        self,
        subscription: Subscription,
        fetcher: Fetcher,
        handover: Handover,
        user_code: UserCode,
        tasks: Tasks,
        *,
        decoding: Decoding,
        asked: Callable[[], None] = lambda: None,
        check: Callable[[], None] = lambda: None,
    ) -> None:
        self._subscription = subscription
        self._fetcher = fetcher
        self._buffer = fetcher.fetches.buffer
        self._handover = handover
        self._user_code = user_code
        self._tasks = tasks
        self._decoding = decoding
        self._asked = asked
        self._check = check
        self._loop = asyncio.get_running_loop()
        self._opened: _Opened | None = None
        self._at_once = FEWEST
        keep_freed(MAPPED)  # the records of one call are freed together
        self.is_asking = False
        """Whether somebody waits for records."""
        self.batches = 0
        """How many batches were handed over: their records are not counted."""
        self._turn_ends_at = -inf
        self._began_at = -inf  # to decode, in this turn
        self.cursor = Cursor(self._next_seen if user_code.intercepts else self._next)
        handover.interrupt = self.cursor.interrupt
        handover.partitions = subscription.partitions

    def __repr__(self) -> str:
        return f"<Reader: {self.cursor!r} of {self._opened and self._opened.chunk.partition}>"

    # What the user calls.

    async def _next(self) -> Any:
        """The next record: what the cursor calls when it has none, or was interrupted."""
        with self._asking():
            await asyncio.sleep(0)
            await self._wait_loaded(until=inf)
            (record,) = self.cursor.take(1)
            self._moved(record)
            return record

    async def poll(self, most: int, *, until: float) -> dict[TopicPartition, Polled[Any]]:
        """Records of one or more partitions, so many at most; none if there are none in time."""
        with self._asking():
            await asyncio.sleep(0)
            while await self._wait_loaded(until=until):
                taken = self._take(most)
                if self._user_code.intercepts:
                    taken = self._seen(taken)
                if taken or self._loop.time() >= until:
                    return taken
                await asyncio.sleep(0)
            return {}

    async def _next_seen(self) -> Any:
        """The next record that interceptors leave: they see one at a time.

        So they see none that a seek or a pause keeps from being handed over.
        """
        with self._asking():
            while True:
                if not self.cursor.left or self._loop.time() >= self._turn_ends_at:
                    await asyncio.sleep(0)
                    self._turn_ends_at = self._loop.time() + TURN
                await self._wait_loaded(until=inf)
                for records in self._seen(self._take(1)).values():
                    return records[0]

    def _seen(self, taken: dict[TopicPartition, Polled[Any]]) -> dict[TopicPartition, Polled[Any]]:
        """What interceptors make of what is about to be handed over."""
        self.cursor.interrupt()  # they have not seen the rest
        left: dict[TopicPartition, Polled[Any]] = {}
        for name, records in taken.items():
            begin, made = records.begin, self._user_code.intercepted(records)
            if made:
                left[name] = Polled(made, begin)
            self._gave(name, made[-1].offset + 1 if made else begin)
        if not left:  # so none is with the user
            self._subscription.ask()
            self._handover.ask()
        return left

    def _take(self, most: int) -> dict[TopicPartition, Polled[Any]]:
        taken: dict[TopicPartition, Polled[Any]] = {}
        enough_at = self._began_at + TURN
        while True:
            records = self.cursor.take(most)
            assert self._opened is not None
            name = self._opened.chunk.partition
            if name in taken:
                taken[name] += records
            else:
                begin = self._subscription.partitions[name].handed_over
                taken[name] = Polled(records, begin)
            most -= len(records)
            self._moved(records[-1])
            if most <= 0 or self._loop.time() >= enough_at or not self._load_nowait():
                return taken  # what is wrong is told after what is good

    async def next_batch(self, *, until: float = inf) -> FetchedBatch | None:
        """The next batches of a partition as they were fetched; None if there are none in time."""
        with self._asking():
            await asyncio.sleep(0)
            while True:
                self._handover.raise_told()
                if (batch := self._batch_nowait()) is not None:
                    return batch
                self._handover.raise_told()  # what was found just now
                if not await self._wait(until=until):
                    return None

    # How far we are.

    def tell(self) -> None:
        """Tell the subscription what the cursor has handed over since it was last told."""
        opened = self._opened
        if opened is None or self.cursor.taken <= opened.told:
            return
        # The last one was asked for after the others were dealt with.
        before = self.cursor.peek(2)
        if before is not None and self.cursor.taken - 1 > opened.told:
            self._advance(opened, Position(before.offset + 1, before.leader_epoch))
        self._subscription.ask()
        self._moved(self.cursor.peek(1))

    @property
    def handed_over(self) -> int:
        """How many records the cursor has handed over: it tells whether somebody reads."""
        return self.cursor.total

    def _moved(self, last: Any) -> None:
        """This record was handed over, and all before it."""
        opened = self._opened
        assert opened is not None
        assert isinstance(opened.walk, RecordReader)
        is_last = not self.cursor.left and opened.error is None
        offset = opened.walk.next_offset if is_last else last.offset + 1
        opened.told = self.cursor.taken
        if self._advance(opened, Position(offset, last.leader_epoch)):
            self._gave(opened.chunk.partition, last.offset + 1)
        self._handover.gave()

    def _gave(self, partition: TopicPartition, end: int) -> None:
        """All of its records that were handed over lie before this."""
        owned = self._subscription.partitions.get(partition)
        if owned is not None:  # an interceptor may have assigned others
            owned.handed_over = end

    def _advance(self, opened: _Opened, position: Position) -> bool:
        """All before this was handed over, or left out; whether that was still of interest."""
        return self._subscription.advance(opened.chunk.partition, opened.chunk.era, position)

    # Asking and waiting.

    @contextmanager
    def _asking(self) -> Iterator[None]:
        if self.is_asking:
            raise StateError(
                "another task is reading from this consumer: one at a time; hand its records on"
                " through a queue, or use a consumer for each task"
            )
        self._tasks.check()
        self._asked()  # whoever is refused has not asked
        self.tell()
        self._subscription.ask()
        self._handover.ask()
        self.cursor.interrupt()  # whoever else asks comes here, and is refused
        self.is_asking = True
        try:
            yield
        finally:
            self.is_asking = False

    async def _wait_loaded(self, *, until: float) -> bool:
        """Wait until the cursor has records; False if there are none in time."""
        while True:
            self._handover.raise_told()
            self._began_at = self._loop.time()
            if self._load_nowait():
                return True
            self._handover.raise_told()  # what was found just now
            if not await self._wait(until=until):
                return False

    async def _wait(self, *, until: float) -> bool:
        """Wait for something to change; False if the time is over."""
        opened = self._opened
        if self._loop.time() >= until:
            return False
        if opened is not None and opened.inflating.is_under_way:
            await opened.inflating.wait(None if until == inf else until - self._loop.time())
            return True
        if opened is not None and opened.is_passing:
            opened.is_passing = False
            await asyncio.sleep(0)
            return True
        self._tasks.check()
        await self._handover.wait(until=until)
        self._tasks.check()
        self._check()  # somebody may have unsubscribed meanwhile
        return True

    def _current(self, kind: type[RecordReader] | type[Pieces]) -> _Opened | None:
        """The chunk at hand, if it still is what comes next; or the next one; None if none is."""
        if self._handover.is_stopped or self._handover.has_told:
            return None
        opened = self._opened
        if opened is not None:
            owned = self._subscription.find(opened.chunk.partition, opened.chunk.era)
            if owned is not None and owned.is_fetchable and isinstance(opened.walk, kind):
                return opened
            self._close(opened, owned)
        chunk = self._buffer.take(self._subscription.partitions)
        if chunk is None:
            return None
        self._fetcher.wake()  # there is room in its queue
        self._opened = _Opened(chunk, self._walk(kind, chunk))
        return self._opened

    def _walk(self, kind: type[RecordReader] | type[Pieces], chunk: Chunk) -> RecordReader | Pieces:
        if kind is Pieces:
            return Pieces(chunk, self._decoding)
        return RecordReader(
            chunk.data,
            *chunk.partition,
            start_offset=chunk.begin,
            check_crcs=self._decoding.check_crcs,
            aborted=self._decoding.aborted(chunk),
            max_inflated=self._decoding.max_inflated,
        )

    def _close(self, opened: _Opened, owned: OwnedPartition | None) -> None:
        """Put back what is not wanted now; what is not wanted any more goes."""
        self.cursor.load([])
        self._opened = None
        if owned is None or owned.position is None:
            self._buffer.release(opened.chunk)
        else:
            self._buffer.put_back(opened.chunk, position=owned.position.offset)
        self._fetcher.wake()

    def _finish(self, opened: _Opened, end: Position) -> None:
        """All of a chunk was handed over, or left out."""
        self.cursor.load([])
        self._opened = None
        if end.offset > opened.chunk.begin or opened.chunk.is_partly_read:
            self._advance(opened, end)
            if self._handover.is_dealt_with:  # so who waits for records has no other in hand
                self._subscription.ask()
            self._buffer.release(opened.chunk)
            self._fetcher.wake()
            return
        topic, number = opened.chunk.partition
        self._stuck(
            opened,
            CorruptRecord(
                "the broker sends no whole batch", topic=topic, partition=number, offset=end.offset
            ),
        )

    def _stuck(self, opened: _Opened, error: KafkaError) -> None:
        """What comes next cannot be read: the partition rests until it is sought elsewhere."""
        chunk = opened.chunk
        owned = self._subscription.find(chunk.partition, chunk.era)
        if owned is not None:
            owned.is_stuck = True
        logger.warning("stuck partition=%s error=%s", chunk.partition, error)
        self.cursor.load([])
        self._opened = None
        self._buffer.release(chunk)
        self._fetcher.wake()
        self._handover.tell(error, chunk.partition)

    # Records.

    def _load_nowait(self) -> bool:
        """Whether the cursor has records: those left, or the next ones, decoded."""
        while (opened := self._current(RecordReader)) is not None:
            walk = opened.walk
            assert isinstance(walk, RecordReader)
            if self.cursor.left:
                self.cursor.resume()
                return True
            if opened.error is not None:
                self._stuck(opened, opened.error)
            elif walk.is_done:
                self._finish(opened, Position(walk.next_offset, self._epoch_of(opened)))
            elif not self._is_inflated(opened, walk):
                return False
            else:
                self._decode(opened, walk)
                if opened.is_passing:
                    return False  # others have their turn
        return False

    def _decode(self, opened: _Opened, walk: RecordReader) -> None:
        began_at = self._loop.time()
        try:
            records: list[Any] = walk.read(
                self._at_once, max_bytes=MOST_COPIED, max_inflate=MOST_BYTES
            )
        except CorruptRecord as error:
            self._stuck(opened, error)
            return
        opened.is_passing = not records and not walk.is_done
        if records and self._user_code.deserializes:
            records, opened.error = self._user_code.deserialized(records)
        took = self._loop.time() - began_at
        if took > TURN:
            self._at_once = max(self._at_once // 2, FEWEST)
        elif took < TURN / 4:
            self._at_once = min(self._at_once * 2, MOST)
        self.cursor.load(records)
        opened.told = 0

    def _epoch_of(self, opened: _Opened) -> int:
        owned = self._subscription.find(opened.chunk.partition, opened.chunk.era)
        return NO_EPOCH if owned is None or owned.position is None else owned.position.epoch

    # Batches.

    def _batch_nowait(self) -> FetchedBatch | None:
        """The next batch, if it is ready; it counts as handed over."""
        while (opened := self._current(Pieces)) is not None:
            walk = opened.walk
            assert isinstance(walk, Pieces)
            try:
                opened.batch = opened.batch or walk.next()
            except CorruptRecord as error:
                self._stuck(opened, error)
                return None
            if opened.batch is None:
                self._finish(opened, Position(walk.position, walk.epoch))
                continue
            if not self._is_inflated(opened, opened.batch.opened()):
                return None
            batch, opened.batch = opened.batch, None
            self._advance(opened, Position(walk.position, walk.epoch))
            self._gave(opened.chunk.partition, walk.position)
            self._handover.gave()
            self.batches += 1
            return batch
        return None

    # Inflating.

    def _is_inflated(self, opened: _Opened, walk: RecordReader) -> bool:
        """Whether the next batch can be read on the loop.

        Otherwise a thread is at work on it, or it never can be.
        """
        try:
            return opened.inflating.is_done(walk)
        except KafkaError as error:
            self._stuck(opened, error)
            return False


class Batches:
    """Batches for `async for`. An error or a cancellation does not end it: one can go on."""

    def __init__(self, reader: Reader) -> None:
        self._reader = reader

    def __repr__(self) -> str:
        return f"<Batches of {self._reader!r}>"

    def __aiter__(self) -> Batches:
        return self

    async def __anext__(self) -> FetchedBatch:
        batch = await self._reader.next_batch()
        assert batch is not None
        return batch
