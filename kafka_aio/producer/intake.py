"""How a record gets into the accumulator: past the user's code, metadata and memory.

    interceptors -> serializers -> [wait for metadata] -> partitioner -> append -> [wait for memory]

There is no await between the append and the return: a call that is cancelled has done all of it or
nothing.
"""

from __future__ import annotations

import asyncio
import logging
import random
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any, Final, TypeVar

from kafka_aio.complaint import Complaint
from kafka_aio.errors import (
    BufferFull,
    KafkaConnectionError,
    KafkaError,
    KafkaTimeoutError,
    RecordTooLarge,
    StateError,
    for_code,
)
from kafka_aio.net import clock
from kafka_aio.net.clock import seconds
from kafka_aio.net.cluster import Cluster
from kafka_aio.net.tasks import Tasks
from kafka_aio.producer.accumulator import Accumulator
from kafka_aio.producer.delivery import Delivery, OpenTopic
from kafka_aio.producer.record import ProducerRecord
from kafka_aio.producer.sender import Sender
from kafka_aio.producer.user_code import UserCode
from kafka_aio.records.layout import checked_headers
from kafka_aio.records.text import not_bytes

if TYPE_CHECKING:
    from kafka_aio.config import ProducerConfig

T = TypeVar("T")

_BESIDES: Final = 128
"""More bytes than a batch of one record has besides its key, value and headers."""

logger = logging.getLogger(__name__)


class Intake:
    """Accepts records, until it is closed."""

    def __init__(
        self,
        tasks: Tasks,
        cluster: Cluster,
        sender: Sender,
        accumulator: Accumulator[asyncio.Event],
        user_code: UserCode,
        config: ProducerConfig,
    ) -> None:
        self._tasks = tasks
        self._cluster = cluster
        self._sender = sender
        self._accumulator = accumulator
        self._memory = accumulator.memory
        self._user_code = user_code
        self.is_plain = user_code.is_absent
        self.ignores_keys = config.partitioner_ignore_keys
        self._max_block = config.max_block_ms / 1000
        self._max_request_size = config.max_request_size
        self._loop = asyncio.get_running_loop()
        self._rng: random.Random = clock.rng()
        self._wall_time: Callable[[], float] = clock.wall_clock()
        self._is_closed = False
        self._speaker: dict[str, Complaint] = {}
        """By topic, that of the one who speaks for all who look for it."""

    def __repr__(self) -> str:
        return f"<Intake: {'closed' if self._is_closed else 'open'}, {self._memory!r}>"

    def close(self) -> None:
        """Accept nothing from now on; who waits to be accepted is refused."""
        self._is_closed = True
        self._accumulator.close_all()
        self._sender.call_all_waiters()

    def check(self) -> None:
        """Whether records are accepted here and now.

        Raises:
            StateError: They are not: it says why.
            KafkaError: What ended the client.
        """
        self._tasks.check()
        if self._is_closed:
            raise StateError("the producer is closed: make a new one")

    async def accept(self, record: ProducerRecord) -> Delivery:
        """Have a record accepted, after what it has to wait for: metadata, memory.

        Raises:
            KafkaTimeoutError: There was no room or no such topic within max_block_ms.
            RecordTooLarge, SerializationError, TypeError, ValueError: It cannot be sent.
            StateError: The producer is not open.
        """
        self.check()
        since = self._loop.time()
        record = self.prepared(record)
        open_topic = self.topic_nowait(record.topic, record.partition)
        if open_topic is None:
            open_topic = await self.wait_topic(record.topic, record.partition, since=since)
            self.check()
        record = self._user_code.placed(record, open_topic.partitions)
        delivery = self.append(open_topic, record)
        if delivery is not None:
            return delivery
        retry = partial(self.append, open_topic, record)
        deadline = since + self._max_block
        place = record.topic, self._partition(open_topic, record)
        return await self.wait_room(retry, place, self._size(record), deadline=deadline)

    def accept_quickly(self, record: ProducerRecord) -> Delivery | None:
        """Append a record that is bytes to a batch that is open; None where that cannot be."""
        open_topic = self._accumulator.topics.get(record.topic) if self.is_plain else None
        if open_topic is None:
            return None
        _, value, key, partition, timestamp, headers = record
        return open_topic.append(key, value, timestamp, self._wall_time(), headers, partition)

    def close_full(self, record: ProducerRecord) -> None:
        """Close the batch that has no room for a record: smaller ones may not overtake it."""
        if record.headers is not None and not isinstance(record.headers, tuple | list | dict):
            return  # perhaps they can be read only once
        open_topic = self._accumulator.topics[record.topic]
        try:
            partition = self._partition(open_topic, record)
            size = self._size(record)
            batch = open_topic.get(partition)
        except (TypeError, ValueError, IndexError, BufferError, KafkaError):
            return  # `accept` says what is wrong with it
        if batch is not None and batch.builder.size + size > self._accumulator.batch_size:
            self._accumulator.close(record.topic, batch.outcome.partition)

    def accept_nowait(self, record: ProducerRecord) -> Delivery:
        """Have a record accepted at once.

        Raises:
            BufferFull: Something has to be waited for.
            KafkaError: As `accept`.
        """
        self.check()
        record = self.prepared(record)
        open_topic = self.topic_nowait(record.topic, record.partition)
        if open_topic is None:
            raise BufferFull(
                f"too little is known of topic {record.topic!r} yet: first `await"
                " producer.partitions_for(topic)`, or use submit()"
            )
        record = self._user_code.placed(record, open_topic.partitions)
        delivery = self.append(open_topic, record)
        if delivery is None:
            raise BufferFull(
                f"{self._memory.limit - self._memory.free} of {self._memory.limit} bytes"
                f" (buffer_memory) are taken, and {len(self._memory)} calls wait: use submit()"
            )
        return delivery

    def prepared(self, record: ProducerRecord) -> ProducerRecord:
        """Through interceptors and serializers, and with headers that can be read twice."""
        if not self.is_plain:
            record = self._user_code.serialized(self._user_code.intercepted(record))
        if record.headers is not None:
            record = record._replace(headers=checked_headers(record.headers))
        for what, part in (("key", record.key), ("value", record.value)):
            if part is not None and not isinstance(part, bytes | bytearray | memoryview):
                raise TypeError(not_bytes(what, part))
        return record

    def topic_nowait(self, topic: str, partition: int | None) -> OpenTopic | None:
        """Where records of a topic are appended; None where too little is known of it."""
        if partition is not None and partition < 0:
            raise ValueError(f"partition {partition} of topic {topic!r}: there is none below 0")
        count = self._cluster.metadata.partition_count(topic)
        if not count:
            # Known before, and without a leader for a moment: who waited here would be overtaken by
            # the next, which finds the batch that is still open.
            found = self._accumulator.topics.get(topic)
        else:
            found = self._accumulator.topic(topic, count)
        is_there = found is not None and (partition is None or partition < found.partitions)
        return found if is_there else None

    async def wait_topic(
        self,
        topic: str,
        partition: int | None = None,
        *,
        since: float | None = None,
        timeout: float | None = None,
    ) -> OpenTopic:
        """The same, once enough is known. Who looks for it for long says so in the log.

        Args:
            topic: Its name.
            partition: One that there has to be.
            since: When the call began that waits; now, if not given.
            timeout: How many seconds it may take; max_block_ms if not given.

        Raises:
            KafkaTimeoutError: It is not in time.
            BrokerError: It will not be: the broker refuses the topic.
        """
        since = self._loop.time() if since is None else since
        patience = seconds(timeout, self._max_block)
        within = f"within {patience:g} s" + " (max_block_ms)" * (timeout is None)
        deadline = since + patience
        complaint = Complaint()
        has_answer = False
        problem: KafkaConnectionError | None = None
        try:
            while (found := self.topic_nowait(topic, partition)) is None:
                now = self._loop.time()
                if now >= deadline:
                    text = self._why_unknown(topic, partition, within, problem)
                    raise KafkaTimeoutError(text) from problem
                if self._speaker.setdefault(topic, complaint) is complaint and complaint.is_due(
                    since, now=now
                ):
                    so_far = f"for {now - since:.1f} s, still trying"
                    logger.warning("%s", self._why_unknown(topic, partition, so_far, problem))
                try:
                    until = min(deadline, complaint.next_at)
                    await self._cluster.refresh([topic], timeout=until - now)
                except KafkaConnectionError as error:
                    problem = None if has_answer else error  # else it is only not asked again yet
                else:
                    has_answer, problem = True, None
                    self._check_refusal(topic)
            return found
        finally:
            if self._speaker.get(topic) is complaint:
                del self._speaker[topic]

    def _check_refusal(self, topic: str) -> None:
        """What was said to others before may be mended by now: this is for a fresh answer."""
        metadata = self._cluster.metadata
        code = metadata.topic_error(topic)
        if code and not (refusal := for_code(code, where=f"topic {topic!r}")).retriable:
            metadata.unwant([topic])
            raise refusal

    def _why_unknown(
        self, topic: str, partition: int | None, how_long: str, problem: KafkaError | None
    ) -> str:
        count = self._cluster.metadata.partition_count(topic)
        code = self._cluster.metadata.topic_error(topic)
        if count is not None:
            return (
                f"topic {topic!r} has {count} partitions, and no partition {partition} {how_long}"
            )
        if code:
            return f"topic {topic!r} was not found {how_long}: {for_code(code)}"
        if problem is not None:
            return f"nothing is known of topic {topic!r} {how_long}: {problem}"
        return (
            f"topic {topic!r} was not found {how_long}; create it, or check its name and that the"
            " broker creates topics by itself"
        )

    def append(
        self,
        open_topic: OpenTopic,
        record: ProducerRecord,
        ticket: asyncio.Event | None = None,
    ) -> Delivery | None:
        """Append a record, to a new batch if need be. None where there is no memory for that."""
        topic, value, key, _, timestamp, headers = record
        partition = self._partition(open_topic, record)
        if partition is not None and partition >= open_topic.partitions:
            raise ValueError(f"topic {topic!r} has {open_topic.partitions} partitions by now")
        now = self._wall_time()
        while True:
            try:
                delivery = open_topic.append(key, value, timestamp, now, headers, partition)
            except BaseException:
                self.drop_empty(topic)
                raise
            if delivery is not None:
                self._user_code.watch(delivery)
                return delivery
            if not self.make_room(topic, partition, self._size(record), ticket):
                return None

    def _partition(self, open_topic: OpenTopic, record: ProducerRecord) -> int | None:
        """Where it goes, if it has a partition or a key."""
        if record.partition is None and record.key is not None and not open_topic.ignores_keys:
            return open_topic.partition_of(record.key)
        return record.partition

    def drop_empty(self, topic: str) -> None:
        """The record that a batch was opened for could not be written: forget that batch."""
        self._accumulator.drop_empty(topic)

    def make_room(
        self, topic: str, partition: int | None, size: int, ticket: asyncio.Event | None = None
    ) -> bool:
        """Have a batch open for a record of that size; False where there is no memory for it."""
        now = self._loop.time()
        metadata = self._cluster.metadata
        if topic in metadata.wanted:
            metadata.touch(topic, now=now)
        elif metadata.want([topic], now=now):
            self._cluster.request_refresh()
        has_room = self._accumulator.make_room(
            topic, partition, size, now=now, chance=self._rng.random(), ticket=ticket
        )
        self._sender.wake()  # a batch is full, or the first one open, or memory is short
        return has_room

    def _size(self, record: ProducerRecord) -> int:
        """More bytes than it takes as a batch of its own."""
        size = _length(record.key) + _length(record.value)
        if record.headers:
            for name, data in checked_headers(record.headers):
                size += len(name.encode()) + len(data or b"") + 10
        return self.checked_size(size, record.topic)

    def checked_size(self, payload: int, topic: str) -> int:
        """More bytes than a batch of one record takes, whose key, value and headers are given.

        Raises:
            RecordTooLarge: It cannot be sent at all.
        """
        size = payload + _BESIDES
        for limit, option in (
            (self._max_request_size, "max_request_size"),
            (self._memory.limit, "buffer_memory"),
        ):
            if size > limit:
                whole = "" if payload > limit else f", {size} with what a batch adds,"
                raise RecordTooLarge(
                    f"a record of {payload} bytes{whole} for topic {topic!r}: {option} is {limit}"
                )
        return size

    async def wait_room(
        self,
        attempt: Callable[[asyncio.Event], T | None],
        place: tuple[str, int | None],
        size: int,
        *,
        deadline: float | None = None,
    ) -> T:
        """Try again once there is memory, until that gives something: first come, first served.

        Args:
            attempt: Gets the ticket that holds our place.
            place: Its topic and partition; None for that of records without a key.
            size: More bytes than the record takes that is first to be written.
            deadline: Until when; max_block_ms from now if not given.

        Raises:
            KafkaTimeoutError: There is none in time.
        """
        if deadline is None:
            deadline = self._loop.time() + self._max_block
        ticket = asyncio.Event()
        self._memory.wait(ticket, size, place)
        try:
            async with asyncio.timeout_at(deadline):
                while True:
                    await ticket.wait()
                    ticket.clear()
                    self.check()
                    found = attempt(ticket) if self._memory.is_first(ticket) else None
                    if found is not None:
                        return found
                    self._memory.wait(ticket, size, place)
        except KafkaError:
            raise
        except TimeoutError:
            raise KafkaTimeoutError(
                f"topic {place[0]!r}: no room for a record of {size} bytes within"
                f" {self._max_block:g} s (max_block_ms): all {self._memory.limit} bytes"
                f" (buffer_memory) are taken by records that are not acknowledged"
                f"{self._sender.trouble() and ', because ' + self._sender.trouble()}"
            ) from None
        finally:
            following = self._memory.leave(ticket)
            if following is not None:
                following.set()
            self._sender.call_waiters()


def _length(part: Any) -> int:
    if part is None:
        return 0
    return len(part) if type(part) is bytes else memoryview(part).nbytes
