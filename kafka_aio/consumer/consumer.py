"""`Consumer`: reads records, alone or with a group."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Collection, Coroutine, Iterable, Mapping
from math import inf
from types import TracebackType
from typing import TYPE_CHECKING, Any, Generic, Self

from kafka_aio.config import ConsumerConfig
from kafka_aio.consumer.listener import check_listener
from kafka_aio.consumer.metrics import by_name, lags
from kafka_aio.consumer.offset_calls import OffsetCalls
from kafka_aio.consumer.ranges import RangeRead
from kafka_aio.consumer.reader import Batches
from kafka_aio.consumer.record import ReadRecord
from kafka_aio.consumer.subscription import Wanted, checked_partition
from kafka_aio.consumer.values import ConsumerHealth, ConsumerStatistics
from kafka_aio.errors import KafkaError, StateError, WakeupError
from kafka_aio.metadata.topic import check_name
from kafka_aio.net.clock import seconds
from kafka_aio.records.batch import FetchedBatch
from kafka_aio.types import (
    ConsumerGroupMetadata,
    PartitionInfo,
    SubscriptionPattern,
    TopicPartition,
    check_text,
)

if TYPE_CHECKING:
    from typing_extensions import TypeVar  # with defaults: Consumer() gives bytes (PEP 696)

    K = TypeVar("K", default=bytes)
    V = TypeVar("V", default=bytes)
else:
    from typing import TypeVar

    K = TypeVar("K")
    V = TypeVar("V")

_CLOSE_TIMEOUT = 30.0
"""Seconds that closing may take, as in Java."""


class Consumer(OffsetCalls, Generic[K, V]):
    """Reads records from Kafka.

        async with Consumer("orders", group_id="billing", bootstrap_servers="...") as consumer:
            async for record in consumer:
                print(record.value)

    One task reads at a time; commit, seek, pause and position may be called by any task. What was
    handed over counts as dealt with when the next record is asked for, or at the end of the block:
    then, and not before, auto-commit commits it. Leave the block by an exception, and the record in
    your hands is read again.

    One that you catch inside of the block is like a `break`: the record that it cut short counts as
    dealt with at the end of the block. Let it leave the block, or seek back to the record.

        async with Consumer("orders", group_id="billing", bootstrap_servers="...") as consumer:
            try:
                async with asyncio.timeout(3):
                    async for record in consumer:
                        await slow(record)
            except TimeoutError:
                pass  # the block ends, and the record that was cut short is committed
    """

    def __init__(self, *what: str | ConsumerConfig, **options: Any) -> None:
        """Take topics to subscribe to, and the configuration; nothing is connected yet.

        Args:
            what: Topics; or a configuration, and topics after it.
            options: Options by their names: `bootstrap_servers="localhost:9092"`.

        Raises:
            ConfigError: An option is unknown, wrong, or contradicts another.
            TypeError: A configuration and options are given, or something else.
        """
        config, topics = None, what
        if what and not isinstance(what[0], str):
            config, topics = what[0], what[1:]
            if not isinstance(config, ConsumerConfig):
                raise TypeError(
                    'topics are given one by one, Consumer("orders", "payments", ...), and a'
                    f" ConsumerConfig may come before them; not <{type(config).__qualname__}>"
                )
        super().__init__(config, **options)
        self._settle()
        self._unsubscribes = 0  # calls that have not ended
        if topics:
            self._subscription.subscribe(topics)  # type: ignore[arg-type]  # str, or it says so

    @classmethod
    def from_kafka(cls, options: Mapping[str, Any], *topics: str) -> Self:
        """From Kafka's own names: `{"bootstrap.servers": "localhost:9092", "group.id": "g"}`.

        Raises:
            ConfigError: An option is unknown, wrong, or contradicts another.
        """
        return cls(ConsumerConfig.from_kafka(options), *topics)

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if error is None and self._tasks is not None:
            self._parts.reader.tell()
            self._subscription.ask()  # the block has come to its end: all is dealt with
        await super().__aexit__(kind, error, traceback)

    async def aclose(
        self, timeout: float | None = None, *, leave_group: bool | None = None
    ) -> None:
        """Commit what is dealt with, leave the group, and close all connections.

        The second call does nothing.

        Args:
            timeout: Seconds for commits, callbacks and the group; 30 if not given.
            leave_group: True to leave the group, False to stay a member of it until the session
                times out; without it dynamic members leave, and static ones stay.

        Raises:
            UserCodeError: The listener has raised something.
            StateError: It belongs to another loop, or a callback of the listener calls this.
            TypeError, ValueError: These are no seconds, or neither True nor False.
        """
        if not isinstance(leave_group, bool | None):
            raise TypeError(f"leave_group is True, False or None, not {leave_group!r:.60}")
        if self._tasks is None:
            return
        tasks, until = self._tasks, seconds(timeout, _CLOSE_TIMEOUT)
        self._parts.user_code.check_caller()
        error: KafkaError | None = None
        try:
            if tasks.state == "open":
                tasks.check()
                error = await self._leave("the consumer is closed", leave_group, until)
        finally:
            await tasks.aclose()
        if error is not None:
            raise error

    async def _leave(
        self, reason: str, leave_group: bool | None, timeout: float
    ) -> KafkaError | None:
        stays = None if leave_group is None else not leave_group
        until = self._parts.loop.time() + timeout
        return await self._parts.coordinator.leave(reason=reason, stays=stays, until=until)

    # What to read.

    def subscribe(self, topics: Wanted, listener: object = None) -> None:
        """Read these topics from now on, in place of those before; the group shares them out.

        The group is joined when records are first asked for. Nothing of a topic before is handed
        over any more, though its partitions are ours until the group takes them.

        Args:
            topics: Names; or `re.compile(...)`, matched here against all topics of the cluster, in
                full; or a `SubscriptionPattern`, which the broker matches (RE2 syntax, with
                group_protocol="consumer").
            listener: Is told of partitions that come and go: see `RebalanceListener`.

        Raises:
            StateError: Partitions are assigned by hand, or the topics are subscribed to in another
                way: unsubscribe first; or that has not ended; or the broker does not match patterns
                for this consumer.
            TypeError, ValueError: These are no names of topics, or there are none; or the listener
                has no method to call.
        """
        if self._tasks is not None:
            self._check()
        self._check_settled()
        self._check_wanted(topics)
        check_listener(listener)
        self._subscription.subscribe(topics)
        self._listener = listener
        if self._tasks is not None:
            self._parts.coordinator.listener = listener
            self._parts.coordinator.subscribe()
            self._parts.changed()

    def _check_settled(self) -> None:
        if self._unsubscribes:
            raise StateError("unsubscribe() has not ended: await it, and then choose what to read")

    def _check_wanted(self, topics: Wanted) -> None:
        if isinstance(topics, SubscriptionPattern):
            if self._config.group_id is None or self._config.group_protocol != "consumer":
                raise StateError(
                    "the broker matches a SubscriptionPattern for members of a group only: set"
                    " group_id and group_protocol='consumer', or use re.compile()"
                )
        elif isinstance(topics, Collection) and not topics:
            raise ValueError("no topics are given: await unsubscribe() to read nothing any more")

    def assign(self, partitions: Iterable[TopicPartition]) -> None:
        """Read these partitions from now on, in place of those before, whatever a group does.

        Raises:
            StateError: The consumer is subscribed to topics: unsubscribe first; or that has not
                ended.
            TypeError, ValueError: These are no partitions.
        """
        if self._tasks is not None:
            self._check()
        self._check_settled()
        wanted = [checked_partition(each) for each in partitions]
        if self._subscription.is_by_group:
            raise StateError(
                "the consumer is subscribed, and cannot be assigned partitions by hand: call"
                " unsubscribe() first, or use another consumer"
            )
        if self._tasks is not None:
            self._parts.reader.tell()
            self._parts.coordinator.commit_ahead()
        self._subscription.assign(wanted)
        if self._tasks is not None:
            self._parts.changed()

    async def unsubscribe(self, *, timeout: float | None = None) -> None:
        """Read nothing from now on: commit what is dealt with, and leave the group.

        Cancelled, it is cut short, but leaves all the same.

        Raises:
            UserCodeError: The listener has raised something.
        """
        error = None
        if self._tasks is not None:
            self._check()
            left = seconds(timeout, self._api_timeout)
            self._unsubscribes += 1
            try:
                error = await self._leave("unsubscribed", None, left)
            except asyncio.CancelledError:
                self._want_nothing()
                raise
            finally:
                self._unsubscribes -= 1
        self._want_nothing()
        if error is not None:
            raise error

    def _want_nothing(self) -> None:
        self._subscription.unsubscribe()
        self._listener = None
        if self._tasks is not None:
            self._parts.handover.forget_told()
            self._parts.changed()

    def subscription(self) -> frozenset[str]:
        """The topics subscribed to: by name, or those that match the pattern.

        None, if the broker matches it: which they are is known of the `assignment` alone.
        """
        return self._subscription.topics

    def assignment(self) -> frozenset[TopicPartition]:
        """The partitions that are read: the group's share for us, or those assigned by hand."""
        return self._subscription.assignment

    def pause(self, *partitions: TopicPartition) -> None:
        """Hand over no records of these; what was fetched of them is kept for `resume`.

        A rebalance in which all partitions are given up first (with the assignors range, roundrobin
        and sticky) forgets it; with cooperative-sticky, or group_protocol="consumer", it lasts as
        long as the partition stays here.

        Raises:
            StateError: One is not assigned to this consumer; none is paused.
        """
        self._check()
        self._parts.reader.tell()
        self._subscription.pause(partitions)
        self._parts.changed()

    def resume(self, *partitions: TopicPartition) -> None:
        """Hand over records of these again.

        Raises:
            StateError: One is not assigned to this consumer; none is resumed.
        """
        self._check()
        self._subscription.resume(partitions)
        self._parts.changed()

    def paused(self) -> frozenset[TopicPartition]:
        """Those of the assignment that are paused."""
        return self._subscription.paused()

    # Reading.

    def __aiter__(self) -> AsyncIterator[ReadRecord[K, V]]:
        self._check()
        return self._parts.reader.cursor

    def __anext__(self) -> Coroutine[Any, Any, ReadRecord[K, V]]:
        self._check()
        found: Coroutine[Any, Any, ReadRecord[K, V]] = self._parts.reader.cursor.__anext__()
        return found

    async def poll(
        self, timeout: float | None = None, max_records: int | None = None
    ) -> dict[TopicPartition, list[ReadRecord[K, V]]]:
        """The next records, as soon as there are some.

        Args:
            timeout: How many seconds to wait for them; without it, as long as it takes. 0 gives
                what is there.
            max_records: So many at most; max_poll_records if not given.

        Returns:
            Records of one or more partitions, in order; nothing if none came in time.

        Raises:
            StateError: Nothing is subscribed to, another task reads, or the consumer is not open.
            TypeError, ValueError: These are no seconds, or no number of records.
            CorruptRecord, DeserializationError: The next record of a partition cannot be read: seek
                past it, or again to it. The other partitions go on.
            KafkaError: What has gone wrong in the background.
        """
        self._check()
        most = self._config.max_poll_records if max_records is None else max_records
        if type(most) is not int:
            raise TypeError(f"max_records is an int, not {most!r}")
        if most < 1:
            raise ValueError(f"max_records is 1 or more, not {most}")
        until = self._parts.loop.time() + seconds(timeout, inf)
        return dict(await self._parts.reader.poll(most, until=until))

    def batches(self) -> AsyncIterator[FetchedBatch]:
        """The records as they were fetched, many at a time, without a Python object for each.

            async for batch in consumer.batches():
                table = batch.to_arrow()

        Each is of one partition, and counts as handed over as a whole. Deserializers and
        interceptors do not see these.
        """
        self._check()
        return Batches(self._parts.reader)

    def read_range(self, partition: TopicPartition, start: int, end: int) -> RangeRead:
        """The records of a partition from offset `start` up to, and without, `end`.

        It has nothing to do with the assignment or the group. Ranges that are read at the same
        time share fetches.

        Returns:
            Batches, for `async for`; it ends exactly at `end`.

        Raises:
            TypeError, ValueError: These are no offsets.
            OffsetOutOfRange: When it is read: the log begins later, or ends earlier.
        """
        self._check()
        name = checked_partition(partition)
        for each in (start, end):
            if isinstance(each, bool) or not isinstance(each, int):
                raise TypeError(f"{name}: an offset is an int, not {each!r}")
            if each < 0:
                raise ValueError(f"{name}: an offset is 0 or more, not {each!r}")
        if end < start:
            raise ValueError(f"{name}: a range from {start} to {end} ends before it begins")
        return RangeRead(self._parts.ranges, name, start, end)

    def wakeup(self) -> None:
        """Make whoever reads, or reads next, raise a `WakeupError`: to end a loop, for one."""
        self._check()
        self._parts.handover.tell(WakeupError("wakeup() was called"))

    # The group and the cluster.

    def group_metadata(self) -> ConsumerGroupMetadata:
        """Who we are in the group, for transactions.

        Raises:
            StateError: There is no group.
        """
        self._check()
        if self._config.group_id is None:
            raise StateError("there is no group: set group_id")
        return self._parts.coordinator.group_metadata()

    def enforce_rebalance(self, reason: str = "") -> None:
        """Have the group share its topics out anew, soon. The broker decides in a KIP-848 group.

        Raises:
            StateError: There is no group.
            TypeError, ValueError: The reason is no text that can be sent.
        """
        self._check()
        if self._config.group_id is None:
            raise StateError("there is no group: set group_id")
        check_text("the reason to rebalance", reason, most=None)  # it is cut
        self._parts.coordinator.enforce_rebalance(reason)

    async def partitions_for(
        self, topic: str, *, timeout: float | None = None
    ) -> tuple[PartitionInfo, ...]:
        """The partitions of a topic, in order.

        Raises:
            KafkaTimeoutError: There is no such topic in time.
            BrokerError: There never will be: its name is none, or we have no right to see it.
            TypeError, ValueError: This is no name.
        """
        self._check()
        check_name(topic)
        return await self._parts.lister.partitions(topic, until=self._until(timeout))

    async def list_topics(
        self, *, timeout: float | None = None
    ) -> dict[str, tuple[PartitionInfo, ...]]:
        """All topics that we may see, and their partitions.

        Raises:
            KafkaTimeoutError: They are not known in time.
        """
        self._check()
        left = self._until(timeout) - self._parts.loop.time()
        return await self._parts.lister.all_topics(timeout=left)

    # What it is doing.

    def statistics(self) -> ConsumerStatistics:
        """What it has done so far, and what it holds."""
        if self._tasks is None:
            return ConsumerStatistics(0, 0, 0, 0, 0, 0, None)
        parts = self._parts
        parts.reader.tell()
        read_committed = self._config.isolation_level == "read_committed"
        lags = [each.lag(read_committed=read_committed) for each in self._subscription]
        known = [each for each in lags if each is not None]
        return ConsumerStatistics(
            records=parts.reader.handed_over,
            assigned=len(self._subscription),
            paused=len(self._subscription.paused()),
            buffered_bytes=parts.fetcher.fetches.buffer.held,
            fetches=parts.fetcher.fetches.out,
            commits=0 if parts.committer is None else parts.committer.pending,
            lag=sum(known) if known else None,
        )

    def metrics(self) -> dict[str, float]:
        """What is counted, by name.

        Since the start: `records` (one by one or in lists), `batches` (those of `batches()`),
        `fetch_requests`, `fetched_bytes`, `commits`, `commits_failed`, `heartbeats`, `rebalances`;
        and of all connections `requests`, `answers`, `bytes_in`, `bytes_out` and others.
        At the moment: `assigned_partitions`, `buffered_bytes`, `connections`, `lag`; and the lag of
        each partition where it is known, as `partition_lag{partition="0",topic="orders"}`.
        """
        if self._tasks is None:
            return {}
        statistics = self.statistics()
        read_committed = self._config.isolation_level == "read_committed"
        behind = lags(self._subscription, read_committed=read_committed)
        return by_name((*self._cluster.registry.snapshot(), behind)) | {
            "records": float(statistics.records),
            "assigned_partitions": float(statistics.assigned),
            "buffered_bytes": float(statistics.buffered_bytes),
            "lag": float("nan") if statistics.lag is None else float(statistics.lag),
        }

    def health(self) -> ConsumerHealth:
        """Whether it gets its records, as far as it can know: for probes."""
        state = self._state()
        if state != "open":
            return ConsumerHealth(False, state, reason=f"the consumer is {state}")
        group = self._parts.coordinator.state
        reason = self._parts.trouble()
        return ConsumerHealth(not reason, state, group, reason)
