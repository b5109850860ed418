"""`Producer`: sends records, and tells when they are delivered."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Awaitable, Callable, Iterable
from math import inf
from typing import TYPE_CHECKING, Any, Final, Generic

from kafka_aio.config import ProducerConfig
from kafka_aio.errors import (
    KafkaError,
    KafkaTimeoutError,
)
from kafka_aio.heap import keep_freed
from kafka_aio.net import clock
from kafka_aio.net.client import Client
from kafka_aio.net.clock import seconds
from kafka_aio.net.cluster import Cluster
from kafka_aio.net.tasks import Tasks
from kafka_aio.producer.accumulator import Accumulator, Choice
from kafka_aio.producer.deliveries import Deliveries
from kafka_aio.producer.delivery import Delivery, OpenTopic
from kafka_aio.producer.failures import Failures
from kafka_aio.producer.intake import Intake
from kafka_aio.producer.many import Many, noted
from kafka_aio.producer.memory import Memory
from kafka_aio.producer.partitioner import RoundRobin
from kafka_aio.producer.record import ProducerRecord
from kafka_aio.producer.sender import Sender
from kafka_aio.producer.user_code import UserCode
from kafka_aio.producer.values import ProducerHealth, ProducerStatistics
from kafka_aio.records.layout import Headers
from kafka_aio.types import PartitionInfo, RecordMetadata

if TYPE_CHECKING:
    from typing_extensions import TypeVar  # with defaults: Producer() takes bytes (PEP 696)

    K = TypeVar("K", default=bytes)
    V = TypeVar("V", default=bytes)
else:
    from typing import TypeVar

    K = TypeVar("K")
    V = TypeVar("V")


MAPPED: Final = 8 * 2**20
"""Bytes of a block that malloc takes from the system; it then keeps twice as many for batches."""


class Producer(Client[ProducerConfig], Generic[K, V]):
    """Sends records to Kafka.

        async with Producer(bootstrap_servers="localhost:9092") as producer:
            metadata = await producer.send("orders", b"value", key=b"key")

    `send` returns when the record is acknowledged. `submit` returns when it is accepted into the
    buffer, and gives a `Delivery` to await later; a record that was accepted is delivered even if
    the call is cancelled. What was not delivered, and nobody awaited, is raised at the end of
    `async with`.
    """

    _config_type = ProducerConfig
    _unless_closed = ", or what it has buffered may be lost"

    def __init__(self, config: ProducerConfig | None = None, /, **options: Any) -> None:
        super().__init__(config, **options)
        self._open: dict[str, OpenTopic] = {}  # where a record that is bytes may be appended
        self._failures = Failures()

    def _make(self, tasks: Tasks) -> None:
        config = self._config
        keep_freed(min(MAPPED, config.buffer_memory))  # batches come and go
        self._loop = asyncio.get_running_loop()
        self._wall_time = clock.wall_clock()
        user_code = UserCode(
            key_serializer=config.key_serializer,
            value_serializer=config.value_serializer,
            partitioner=_partitioner_of(config),
            interceptors=config.interceptors,
        )
        self._cluster = Cluster(
            config,
            tasks,
            max_in_flight=config.max_in_flight_requests_per_connection,
        )
        self._accumulator: Accumulator[asyncio.Event] = Accumulator(
            batch_size=min(config.batch_size, config.max_request_size, config.buffer_memory),
            linger=config.linger_ms / 1000,
            delivery_timeout=config.delivery_timeout_ms / 1000,
            memory=Memory(config.buffer_memory),
            loop=user_code,
            leader_of=self._cluster.metadata.leader,
            choice=_choice_of(config),
            in_order=config.max_in_flight_requests_per_connection == 1,
        )
        self._sender = Sender(self._cluster, tasks, self._accumulator, self._failures, config)
        self._intake = Intake(
            tasks, self._cluster, self._sender, self._accumulator, user_code, config
        )
        if user_code.is_absent:
            self._open = self._accumulator.topics

    def _begin(self, tasks: Tasks) -> None:
        tasks.spawn(self._sender.run, name="sender")

    async def aclose(self, timeout: float | None = None) -> None:
        """Deliver what was accepted, and close all connections. The second call does nothing.

        Args:
            timeout: Seconds to wait for deliveries; then those left are given up. Without it, each
                has its delivery_timeout_ms. 0 gives all of them up at once.

        Raises:
            DeliveryError: Records were not delivered, and nobody awaited them.
            StateError: It belongs to another loop.
        """
        if self._tasks is None:
            return
        tasks = self._tasks
        time_left = seconds(timeout, inf)
        try:
            if tasks.state == "open":
                tasks.check()
                await self._deliver_all(time_left)
        finally:
            await tasks.aclose()
        if error := self._failures.unseen():
            raise error

    async def _deliver_all(self, timeout: float) -> None:
        """Wait for all that was accepted, and let nothing else in."""
        self._intake.close()
        try:
            if timeout > 0:
                await self._sender.wait_flushed(until=self._loop.time() + timeout)
        except KafkaError:
            pass  # it has failed meanwhile: the outcomes say so
        except TimeoutError:
            pass

    # Sending.

    async def send(
        self,
        topic: str,
        value: V | None = None,
        *,
        key: K | None = None,
        partition: int | None = None,
        timestamp: int | None = None,
        headers: Headers | None = None,
    ) -> RecordMetadata:
        """Send a record, and wait until it is acknowledged.

        Cancelled before the record was accepted into the buffer, it sends nothing; afterwards the
        record is delivered all the same.

        Args:
            topic: Where it goes.
            value: Bytes, or what value_serializer takes; None is a tombstone.
            key: Bytes, or what key_serializer takes; records of a key stay in order.
            partition: Where in the topic it goes; without it, by the key, or by load.
            timestamp: Milliseconds since 1970; now, if not given.
            headers: Pairs of a str and bytes.

        Returns:
            Where the record is.

        Raises:
            KafkaError: It was not delivered: `persistence` says what is known of it.
            KafkaTimeoutError: There was no room or no such topic within max_block_ms.
            RecordTooLarge: It is larger than max_request_size.
            TypeError, ValueError: It cannot be sent like this.
        """
        if (found := self._open.get(topic)) is not None:
            delivery = found.append(key, value, timestamp, self._wall_time(), headers, partition)
            if delivery is not None:
                return await delivery
        self._started()
        record = ProducerRecord(topic, value, key, partition, timestamp, headers)
        return await (await self._intake.accept(record))

    def submit(
        self,
        topic: str,
        value: V | None = None,
        *,
        key: K | None = None,
        partition: int | None = None,
        timestamp: int | None = None,
        headers: Headers | None = None,
    ) -> Awaitable[Delivery]:
        """Have a record accepted into the buffer: to be awaited, as `await producer.submit(...)`.

        It waits while the buffer is full, first come first served. Arguments as for `send`.

        Returns:
            Awaited, a `Delivery`: await that for the record's place, or its error.

        Raises:
            KafkaTimeoutError, RecordTooLarge, TypeError, ValueError: As `send`.
        """
        if (found := self._open.get(topic)) is not None:
            accepted = found.submit(key, value, timestamp, self._wall_time(), headers, partition)
            if accepted is not None:
                return accepted
        record = ProducerRecord(topic, value, key, partition, timestamp, headers)
        if found is not None:
            self._intake.close_full(record)
        return self._submit(record)

    async def _submit(self, record: ProducerRecord) -> Delivery:
        """Where there is something to wait for: at least for the loop to have its turn.

        Calls that never wait would starve the Sender, and the user's other tasks.
        """
        self._check()
        await asyncio.sleep(0)
        return await self._intake.accept(record)

    def submit_nowait(
        self,
        topic: str,
        value: V | None = None,
        *,
        key: K | None = None,
        partition: int | None = None,
        timestamp: int | None = None,
        headers: Headers | None = None,
    ) -> Delivery:
        """Have a record accepted into the buffer at once, or not at all. Arguments as for `send`.

        Raises:
            BufferFull: There is no room, or nothing is known of the topic yet.
            RecordTooLarge, TypeError, ValueError: As `send`.
        """
        if (found := self._open.get(topic)) is not None:
            delivery = found.append(key, value, timestamp, self._wall_time(), headers, partition)
            if delivery is not None:
                return delivery
        self._started()
        return self._intake.accept_nowait(
            ProducerRecord(topic, value, key, partition, timestamp, headers)
        )

    async def send_many(
        self,
        topic: str | None,
        records: Iterable[Any],
        *,
        keys: Iterable[K | None] | None = None,
        partition: int | None = None,
        timestamp: int | None = None,
    ) -> Deliveries:
        """Send many records, and wait until all of them are acknowledged.

            await producer.send_many("orders", [b"one", b"two"])
            await producer.send_many(None, [ProducerRecord("orders", b"one", headers=...)])
            await producer.send_many("orders", table)       # Arrow: columns value, key, ...

        Cancelled, it says how many were accepted, as `submit_many`: these are delivered.

        Args:
            topic: Where they go; None where each of them says.
            records: A list of values is the quickest; or any values, `ProducerRecord`s, or an Arrow
                table or record batch with a column `value`, and `key`, `headers`, `partition`,
                `timestamp`, `topic` where there are.
            keys: As many keys, for values.
            partition: For all that name none.
            timestamp: For all that name none; now, if not given.

        Returns:
            Where they are: `deliveries[index].result()`.

        Raises:
            SendManyError: Some were not delivered, or not accepted: it says which, and why.
            TypeError, ValueError: The first cannot be sent like this.
        """
        deliveries = await self.submit_many(
            topic, records, keys=keys, partition=partition, timestamp=timestamp
        )
        with noted(deliveries):
            return await deliveries

    async def submit_many(
        self,
        topic: str | None,
        records: Iterable[Any],
        *,
        keys: Iterable[K | None] | None = None,
        partition: int | None = None,
        timestamp: int | None = None,
    ) -> Deliveries:
        """Have many records accepted into the buffer. Arguments as for `send_many`.

        Cancelled, it has accepted the first ones, of columns the first for each partition: a note
        on the error says how many, and its attribute `deliveries` has them.

        Returns:
            Their deliveries: to be awaited, all together or one by one.

        Raises:
            SendManyError: Some were not accepted: it says how many were, and why.
            TypeError, ValueError: The first cannot be sent like this.
        """
        self._check()
        many = Many(self._intake, topic, partition=partition, timestamp=timestamp)
        return await many.submit(records, keys)

    async def flush(self, *, timeout: float | None = None) -> None:
        """Send all that was accepted without lingering, and wait until it is settled.

        Whether it was delivered is up to each `Delivery`.

        Raises:
            KafkaTimeoutError: The time is over; without `timeout`, each record has its own.
        """
        self._check()
        until = self._loop.time() + seconds(timeout, inf)
        try:
            await self._sender.wait_flushed(until=until)
        except KafkaError:
            raise
        except TimeoutError:
            raise KafkaTimeoutError(
                f"flush: {len(self._accumulator.incomplete)} batches are not settled after"
                f" {timeout} s"
            ) from None

    async def partitions_for(
        self, topic: str, *, timeout: float | None = None
    ) -> tuple[PartitionInfo, ...]:
        """The partitions of a topic, in order.

        Raises:
            KafkaTimeoutError: There is no such topic within the time, or max_block_ms.
        """
        self._check()
        await self._intake.wait_topic(
            topic, timeout=None if timeout is None else seconds(timeout, 0)
        )
        found = self._cluster.metadata.partitions(topic)
        assert found is not None
        return found

    # What it is doing.

    def statistics(self) -> ProducerStatistics:
        """What it has done so far, and what it has to do."""
        if self._tasks is None:
            return ProducerStatistics(0, 0, 0, 0, 0, 0, 0)
        memory = self._accumulator.memory
        return ProducerStatistics(
            delivered=self._sender.delivered,
            failed=self._failures.records,
            retried=self._sender.retried,
            batches=len(self._accumulator.incomplete),
            buffered_bytes=memory.limit - memory.free,
            waiting=len(memory),
            in_flight=self._sender.in_flight,
        )

    def health(self) -> ProducerHealth:
        """Whether it gets its records delivered: for probes."""
        state = self._state()
        if state != "open":
            return ProducerHealth(False, state, f"the producer is {state}")
        reason = self._sender.trouble()
        return ProducerHealth(not reason, state, reason)

    def _check(self) -> None:
        self._started()
        self._intake.check()


def _partitioner_of(config: ProducerConfig) -> Callable[[ProducerRecord, int], int] | None:
    """A partitioner that sees each record; None where keys and load decide."""
    if config.partitioner == "roundrobin":
        by_topic: defaultdict[str, RoundRobin] = defaultdict(RoundRobin)

        def in_turn(record: ProducerRecord, partitions: int) -> int:
            turns = by_topic[record.topic]
            turns.update(range(partitions))
            return turns.next()

        return in_turn
    return config.partitioner if callable(config.partitioner) else None


def _choice_of(config: ProducerConfig) -> Choice:
    timeout_ms = config.partitioner_availability_timeout_ms
    return Choice(
        ignore_keys=config.partitioner_ignore_keys,
        adaptive=config.partitioner_adaptive_partitioning_enable,
        availability_timeout=timeout_ms / 1000 if timeout_ms else inf,
    )
