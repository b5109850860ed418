"""The half of `Consumer` that is about offsets: commits, positions, and what logs hold."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from functools import partial

from kafka_aio.config import ConsumerConfig
from kafka_aio.consumer.commits import to_commit
from kafka_aio.consumer.committer import Callback, Commit, Committer
from kafka_aio.consumer.parts import Parts
from kafka_aio.consumer.position import OwnedPartition, reset_policy
from kafka_aio.consumer.subscription import Subscription, checked_partition
from kafka_aio.errors import KafkaError, StateError
from kafka_aio.listing import BEGINNING, END
from kafka_aio.net.client import Client
from kafka_aio.net.clock import seconds
from kafka_aio.net.tasks import Tasks
from kafka_aio.types import OffsetAndMetadata, OffsetAndTimestamp, TopicPartition

Offsets = Mapping[TopicPartition, OffsetAndMetadata | int]
"""What can be committed: an offset for each partition, that of the next record to read."""


class OffsetCalls(Client[ConsumerConfig]):
    """Commits, positions, offsets of logs."""

    _config_type = ConsumerConfig
    _parts: Parts

    def _settle(self) -> None:
        """Make what is there before it is started."""
        self._subscription = Subscription(
            reset_policy(self._config.auto_offset_reset, self._config.auto_offset_reset_lookback)
        )
        self._listener: object = None
        self._ends_asked: set[OwnedPartition] = set()
        """Those whose end is being asked for, as their lag is not known."""
        self._api_timeout = self._config.default_api_timeout_ms / 1000

    def _make(self, tasks: Tasks) -> None:
        self._parts = Parts(self._config, tasks, self._subscription)
        self._cluster = self._parts.cluster

    def _begin(self, tasks: Tasks) -> None:
        self._parts.coordinator.listener = self._listener
        self._parts.begin()

    # Commits.

    async def commit(self, offsets: Offsets | None = None, *, timeout: float | None = None) -> None:
        """Commit, and wait until that is done. It may be called by any task.

        Args:
            offsets: Those of the next records to read, with metadata if you like; without it, the
                position of each partition: all that was handed over.
            timeout: Seconds; default_api_timeout_ms if not given.

        Raises:
            CommitFailed: It was not committed, and never will be: the group has moved on.
            KafkaTimeoutError: It is not known in time whether it was.
            StateError: There is no group, or the consumer is not open.
            TypeError, ValueError: These are no offsets.
        """
        committer = self._committer()
        await committer.commit(self._to_commit(offsets), until=self._until(timeout))

    def commit_nowait(
        self, offsets: Offsets | None = None, callback: Callback | None = None
    ) -> Commit:
        """Begin to commit. Arguments as for `commit`; commits are carried out in their order.

        Args:
            offsets: As for `commit`.
            callback: Is called with the offsets, and the error or None. It may be `async def`.

        Returns:
            To be awaited, if you like; or not: then a failure is logged.

        Raises:
            StateError, TypeError, ValueError: As `commit`.
        """
        return self._committer().commit_nowait(self._to_commit(offsets), callback)

    async def committed(
        self, partitions: Collection[TopicPartition], *, timeout: float | None = None
    ) -> dict[TopicPartition, OffsetAndMetadata | None]:
        """What the group has committed last; None where that is nothing.

        Raises:
            KafkaTimeoutError: It is not known in time.
            StateError: There is no group, or the consumer is not open.
        """
        committer = self._committer()
        names = [checked_partition(each) for each in partitions]
        return await committer.committed(names, until=self._until(timeout))

    def _to_commit(self, offsets: Offsets | None) -> Offsets:
        if offsets is not None:
            if isinstance(offsets, Mapping):
                for name in offsets:
                    checked_partition(name)
            checked = to_commit(offsets)
            self._parts.reader.tell()
            self._subscription.dealt_with(checked)
            return checked
        self._parts.reader.tell()
        self._subscription.ask()  # it is dealt with: auto-commit must not go back behind it
        return self._subscription.positions()

    def _committer(self) -> Committer:
        self._check()
        if self._parts.committer is None:
            raise StateError("there is no group to commit for: set group_id")
        return self._parts.committer

    # Positions.

    async def position(self, partition: TopicPartition, *, timeout: float | None = None) -> int:
        """The offset of the next record that is handed over; waits until that is known.

        Raises:
            StateError: The partition is not assigned to this consumer.
            KafkaTimeoutError: It is not known in time.
            NoOffsetForPartition: Nothing is committed, and auto_offset_reset is none.
        """
        self._check()
        until = self._until(timeout)
        return await self._parts.positioner.wait_position(partition, until=until)

    def seek(self, partition: TopicPartition, offset: int | OffsetAndMetadata) -> None:
        """Go on from there: the next record of the partition that is handed over is this one.

        Raises:
            StateError: The partition is not assigned to this consumer.
            TypeError, ValueError: The offset is none.
        """
        self._check()
        self._parts.reader.tell()
        self._subscription.seek(partition, offset)
        self._parts.changed()

    def seek_to_beginning(self, *partitions: TopicPartition) -> None:
        """Go on from the first record of these partitions, or of all that are assigned.

        Raises:
            StateError: One is not assigned to this consumer; none is changed.
        """
        self._check()
        self._parts.reader.tell()
        self._subscription.seek_to_beginning(partitions or None)
        self._parts.changed()

    def seek_to_end(self, *partitions: TopicPartition) -> None:
        """Skip all that is there now in these partitions, or in all that are assigned.

        Raises:
            StateError: One is not assigned to this consumer; none is changed.
        """
        self._check()
        self._parts.reader.tell()
        self._subscription.seek_to_end(partitions or None)
        self._parts.changed()

    async def seek_to_committed(
        self, *partitions: TopicPartition, timeout: float | None = None
    ) -> dict[TopicPartition, OffsetAndMetadata | None]:
        """Go back to what the group has committed, in these partitions or all that are assigned.

        Where nothing is committed, the position is reset as auto_offset_reset says.

        Returns:
            What is committed.

        Raises:
            StateError: One is not assigned, or there is no group.
            KafkaTimeoutError: It is not known in time.
            NoOffsetForPartition: Nothing is committed of some, and auto_offset_reset is none; the
                others have gone there.
        """
        self._check()
        names = partitions or tuple(self._subscription.partitions)
        eras = {name: self._subscription[name].era for name in names}
        found = await self.committed(names, timeout=timeout)
        self._parts.reader.tell()
        try:
            self._parts.positioner.go_to(eras, found)
        finally:  # some may have gone there
            self._parts.changed()
        return found

    # What logs hold.

    async def offsets_for_times(
        self, times: Mapping[TopicPartition, int], *, timeout: float | None = None
    ) -> dict[TopicPartition, OffsetAndTimestamp | None]:
        """The first record at or after each time; None where all are older.

        Args:
            times: Milliseconds since 1970.
            timeout: Seconds; default_api_timeout_ms if not given.

        Raises:
            KafkaTimeoutError: They are not known in time.
            TypeError, ValueError: These are no times.
        """
        self._check()
        if not isinstance(times, Mapping):
            raise TypeError(f"times are given as {{partition: milliseconds}}, not {times!r:.60}")
        for name, time in times.items():
            checked_partition(name)
            if isinstance(time, bool) or not isinstance(time, int):
                raise TypeError(
                    f"{name}: a time is an int of milliseconds since 1970, not {time!r}"
                )
            if time < 0:
                raise ValueError(f"{name}: a time is 0 or more milliseconds since 1970, not {time}")
        return await self._find(times, timeout)

    async def beginning_offsets(
        self, partitions: Collection[TopicPartition], *, timeout: float | None = None
    ) -> dict[TopicPartition, int]:
        """The first offset that each log still has.

        Raises:
            KafkaTimeoutError: They are not known in time.
        """
        return await self._bounds(partitions, BEGINNING, timeout)

    async def end_offsets(
        self, partitions: Collection[TopicPartition], *, timeout: float | None = None
    ) -> dict[TopicPartition, int]:
        """The offset after the last one that can be read: with read_committed, that is stable.

        Raises:
            KafkaTimeoutError: They are not known in time.
        """
        return await self._bounds(partitions, END, timeout)

    async def _bounds(
        self, partitions: Collection[TopicPartition], which: int, timeout: float | None
    ) -> dict[TopicPartition, int]:
        self._check()
        names = [checked_partition(each) for each in partitions]
        found = await self._find(dict.fromkeys(names, which), timeout)
        return {name: at.offset for name, at in found.items() if at is not None}

    async def _find(
        self, times: Mapping[TopicPartition, int], timeout: float | None
    ) -> dict[TopicPartition, OffsetAndTimestamp | None]:
        read_committed = self._config.isolation_level == "read_committed"
        until = self._until(timeout)
        return await self._parts.lister.find(times, read_committed=read_committed, until=until)

    def current_lag(self, partition: TopicPartition) -> int | None:
        """How many offsets are ahead in a partition, as far as the last fetch knew; or None.

        Where nothing was fetched yet, the end is asked for in the background, so that a later call
        knows it.

        Raises:
            StateError: The partition is not assigned to this consumer.
        """
        self._check()
        return self._lags([self._subscription[partition]])[partition]

    def lag(self) -> dict[TopicPartition, int | None]:
        """The same for all partitions that are assigned."""
        self._check()
        return self._lags(self._subscription)

    def _lags(self, assignment: Iterable[OwnedPartition]) -> dict[TopicPartition, int | None]:
        self._parts.reader.tell()
        read_committed = self._config.isolation_level == "read_committed"
        lags = {each: each.lag(read_committed=read_committed) for each in assignment}
        endless = [each for each, lag in lags.items() if lag is None and each.position is not None]
        if asked := {each.partition: each for each in endless if each not in self._ends_asked}:
            self._ends_asked.update(asked.values())
            self._parts.tasks.spawn(partial(self._ask_ends, asked), name="ends of logs")
        return {each.partition: lag for each, lag in lags.items()}

    async def _ask_ends(self, asked: Mapping[TopicPartition, OwnedPartition]) -> None:
        """Once, for who looks at lags. Errors are for those to tell who have to read there."""
        read_committed = self._config.isolation_level == "read_committed"
        try:
            found = await self._find(dict.fromkeys(asked, END), None)
        except KafkaError:
            return
        finally:
            self._ends_asked.difference_update(asked.values())
        for name, end in found.items():
            owned = asked[name]
            if end is not None and owned.lag(read_committed=read_committed) is None:
                owned.saw_end(end.offset, read_committed=read_committed)

    # What both halves need.

    def _until(self, timeout: float | None) -> float:
        return self._parts.loop.time() + seconds(timeout, self._api_timeout)

    def _check(self) -> None:
        self._started().check()
