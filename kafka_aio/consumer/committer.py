"""Commits offsets and fetches them: one commit in flight, the others behind it, in order.

    commit, commit_nowait -> queue -> `run`: all that wait, as one request -> answers -> outcomes

It speaks with the coordinator on a connection of its own: a join may take minutes, and commits do
not wait behind it. Nothing here waits for the member of the group either, so callbacks of a
rebalance can commit.
"""

from __future__ import annotations

import asyncio
import logging
import random
from collections.abc import Callable, Collection, Generator, Mapping
from functools import partial
from math import inf
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from kafka_aio.backoff import Backoff
from kafka_aio.consumer.commit_queue import CommitQueue, Entry, Unheard
from kafka_aio.consumer.commits import (
    NOBODY,
    OUT_OF_GROUP,
    UNCLEAR,
    Answer,
    FetchForm,
    Identity,
    Offsets,
    commit_request,
    failure,
    fetch_request,
    not_answered,
    not_fetched,
    read_commit,
    read_fetch,
    to_commit,
    too_late,
)
from kafka_aio.consumer.user_code import UserCode
from kafka_aio.errors import (
    CommitFailed,
    IllegalGeneration,
    KafkaError,
    StaleMemberEpoch,
    StateError,
    UnsupportedVersion,
    fresh,
)
from kafka_aio.net import clock
from kafka_aio.net.cluster import Cluster
from kafka_aio.net.coordinators import Coordinator, CoordinatorKind
from kafka_aio.net.links import Channel
from kafka_aio.net.tasks import Tasks, Wakeup
from kafka_aio.types import OffsetAndMetadata, TopicPartition

if TYPE_CHECKING:
    from kafka_aio.config import ConsumerConfig

Callback: TypeAlias = Callable[[dict[TopicPartition, OffsetAndMetadata], KafkaError | None], Any]
"""Is told what was to be committed, and why it was not: None if it was. Plain or `async def`."""

_OLD: Final = (StaleMemberEpoch, IllegalGeneration)
"""Refusals of who we were: a newer generation may have come meanwhile."""

logger = logging.getLogger(__name__)


class Commit:
    """A commit that was begun: awaited, it returns None, or raises why it came to nothing.

    Whoever awaits it may be cancelled; the commit goes on.

    Attributes:
        offsets: What is committed.
    """

    def __init__(self, offsets: Offsets, callback: Callback | None = None) -> None:
        self.offsets: Mapping[TopicPartition, OffsetAndMetadata] = offsets
        self._callback = callback
        self._waiters: list[asyncio.Future[None]] = []
        self._is_done = False
        self._error: KafkaError | None = None

    def __repr__(self) -> str:
        state = "pending" if not self._is_done else "failed" if self._error else "done"
        return f"<Commit of {len(self.offsets)} partitions: {state}>"

    def __await__(self) -> Generator[Any, None, None]:
        if not self._is_done:
            waiter: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            self._waiters.append(waiter)
            yield from waiter
        self.result()

    def done(self) -> bool:
        return self._is_done

    def result(self) -> None:
        """Nothing, if all is committed.

        Raises:
            StateError: It is not done yet.
            KafkaError: Why it was not committed.
        """
        if not self._is_done:
            raise StateError("the commit is not done yet: await it")
        if self._error is not None:
            raise fresh(self._error)

    def settle(self, error: KafkaError | None, user_code: UserCode) -> bool:
        """It has ended: tell those who want to know, the callback first; whether anybody does."""
        self._is_done = True
        self._error = error
        if error is None and self.offsets:  # an empty one only waits for those before it
            user_code.committed(self.offsets)
        if self._callback is not None:
            user_code.call(self._callback, dict(self.offsets), error)
        is_heard = self._callback is not None or bool(self._waiters)
        for waiter in self._waiters:
            if not waiter.done():
                waiter.set_result(None)
        self._waiters.clear()
        return is_heard


class Committer:
    """Commits and fetches offsets of one group."""

    def __init__(  # noqa: PLR0913 - keyword-only
        self,
        cluster: Cluster,
        tasks: Tasks,
        group_id: str,
        config: ConsumerConfig,
        *,
        user_code: UserCode,
        identity: Callable[[], Identity | None] = lambda: NOBODY,
        acknowledged: Callable[[Offsets], None] = lambda _: None,
    ) -> None:
        """Make it; `run` is its task.

        Args:
            cluster: The cluster.
            tasks: The client's.
            group_id: The group.
            config: The client's.
            user_code: Who calls callbacks and interceptors.
            identity: Who we are in the group; None while we should be a member and are not.
            acknowledged: Is told of each commit that succeeded.
        """
        self.identity = identity
        self.barred: Callable[[], KafkaError | None] = lambda: None
        """Why we are out of the group for longer, if we are."""
        self.acknowledged = acknowledged
        self._cluster = cluster
        self._tasks = tasks
        self._group_id = group_id
        self._user_code = user_code
        self._coordinator = Coordinator(CoordinatorKind.GROUP, group_id)
        self._channel = Channel("group offsets", group_id)
        self._is_consumer_group = config.group_protocol == "consumer"
        self._request_timeout = config.request_timeout_ms / 1000
        self._api_timeout = config.default_api_timeout_ms / 1000
        self._backoff = Backoff(
            max(config.retry_backoff_ms, 10) / 1000, max(config.retry_backoff_max_ms, 10) / 1000
        )
        self._queue: CommitQueue[Commit] = CommitQueue(self._backoff)
        self._unheard = Unheard()
        registry = cluster.registry
        self._done = registry.counter("commits", "Commits that were acknowledged.")
        self._failed = registry.counter("commits_failed", "Commits that were not, in time or ever.")
        self._refused: Identity | None = None  # who we were when a generation was
        self._form = FetchForm.GROUPS
        self._rng: random.Random = clock.rng()
        self._loop = asyncio.get_running_loop()
        self._wakeup = Wakeup()

    def __repr__(self) -> str:
        return f"<Committer of group {self._group_id!r}: {self._queue!r}>"

    @property
    def channel(self) -> Channel:
        """The connection to the coordinator that no join blocks."""
        return self._channel

    @property
    def pending(self) -> int:
        """How many commits have not ended."""
        return len(self._queue)

    # What the user calls.

    async def commit(
        self, offsets: Mapping[TopicPartition, OffsetAndMetadata | int], *, until: float
    ) -> None:
        """Commit these, and wait for it until that time of the loop. Cancelled, it goes on.

        Raises:
            CommitFailed: The group does not take them from this member.
            BrokerError: The coordinator refuses them.
            KafkaTimeoutError: It has not answered in time.
            TypeError, ValueError: These are no offsets.
        """
        await self._submit(Commit(to_commit(offsets)), until)

    def commit_nowait(
        self,
        offsets: Mapping[TopicPartition, OffsetAndMetadata | int],
        callback: Callback | None = None,
    ) -> Commit:
        """Begin to commit these, after those before.

        Raises:
            StateError: The client is not open.
            TypeError, ValueError: These are no offsets.
        """
        commit = Commit(to_commit(offsets), callback)
        return self._submit(commit, self._loop.time() + self._api_timeout)

    async def wait_settled(self, *, until: float) -> None:
        """Wait until all commits so far have ended, or until that time of the loop."""
        await self._submit(Commit({}), until)

    def _submit(self, commit: Commit, until: float) -> Commit:
        self._tasks.check()
        self._queue.add(commit.offsets, commit, deadline=until)
        self._wakeup.set()
        return commit

    def give_up(self, partitions: Collection[TopicPartition]) -> None:
        """They are not ours any more: another may have committed them, so we do not try again."""
        self._queue.drop(partitions)
        self._wakeup.set()

    # The task.

    async def run(self) -> None:
        """The task: for ever. Whatever ends it, every commit gets to know."""
        try:
            while True:
                now = self._loop.time()
                for entry in self._queue.settled(now=now):
                    self._settle(entry)
                self._complain(now)
                if not self._tasks.is_closed and (offsets := self._queue.take(now=now)):
                    self._tasks.spawn(partial(self._send, offsets), name="commit")
                await self._wakeup.wait(until=min(self._queue.deadline, self._unheard.due_at))
        finally:
            for entry in self._queue.abandon():
                self._end(entry, self._why_over(entry))
            self._complain(inf)

    def _settle(self, entry: Entry[Commit]) -> None:
        error = None
        if entry.left:
            missed = {partition: entry.offsets[partition] for partition in entry.left}
            may_be_done = entry.may_be_done
            error = too_late(self._group_id, missed, entry.last, may_be_done=may_be_done)
        elif entry.errors:
            error = failure(self._group_id, entry.offsets, entry.errors)
            error.indefinite |= entry.may_be_done
        else:
            self.acknowledged(entry.offsets)
        self._end(entry, error)

    def _end(self, entry: Entry[Commit], error: KafkaError | None) -> None:
        is_heard = entry.ticket.settle(error, self._user_code)
        if entry.offsets:  # an empty one only waits for those before it
            (self._failed if error else self._done).value += 1
        if error is not None and not is_heard:
            self._unheard.add(error)

    def _complain(self, now: float) -> None:
        count, first = self._unheard.take(now=now)
        if count == 1:
            logger.warning("a commit that nobody awaits has failed: %s", first)
        elif count:
            logger.warning("%d commits that nobody awaits have failed; the first: %s", count, first)

    def _why_over(self, entry: Entry[Commit]) -> KafkaError:
        why: KafkaError = StateError("not committed: the consumer has ended")
        try:
            self._tasks.check()
        except KafkaError as cause:
            why = cause
        if not entry.may_be_done:
            return why
        error = StateError(f"{UNCLEAR} before the consumer ended")
        error.indefinite = True
        error.__cause__ = why
        return error

    async def _send(self, offsets: Offsets) -> None:
        identity = self.identity()
        if identity is None:
            refused = self.barred() or CommitFailed(OUT_OF_GROUP)
            answer = Answer(failed=dict.fromkeys(offsets, refused))
        else:
            answer = await self._committed(offsets, identity)
        self._look_again(answer)
        self._give_up_twice_refused(answer, identity)
        self._queue.answered(answer, now=self._loop.time(), jitter=self._rng.uniform(-1, 1))
        is_stale = any(isinstance(error, _OLD) for error in answer.again.values())
        if is_stale and self.identity() != identity:
            self._queue.retry_now()
        self._wakeup.set()

    def _give_up_twice_refused(self, answer: Answer, identity: Identity | None) -> None:
        """A generation that is refused twice has ended without us.

        Once may be by chance: 1. the commit is sent, 2. all members have joined again, we too,
        3. it is refused, 4. the answer to our join comes, on another connection.
        """
        old = [name for name, error in answer.again.items() if isinstance(error, IllegalGeneration)]
        if old and identity == self._refused:
            answer.failed.update({name: answer.again.pop(name) for name in old})
        self._refused = identity if old else None

    async def _committed(self, offsets: Offsets, identity: Identity) -> Answer:
        topic_id = self._cluster.metadata.topic_id
        request, at_most = commit_request(self._group_id, identity, offsets, topic_id)
        try:
            response = await self._cluster.send_to_coordinator(
                self._coordinator, request, channel=self._channel, at_most=at_most
            )
        except KafkaError as error:
            return not_answered(offsets, error)
        return read_commit(request, response, offsets)

    def _look_again(self, answer: Answer) -> None:
        """What we know of the cluster has proved wrong: look again before the next attempt."""
        if answer.is_moved:
            self._cluster.coordinator_moved(self._coordinator)
        if answer.stale_metadata:
            self._cluster.request_refresh()

    # What is committed.

    async def committed(
        self,
        partitions: Collection[TopicPartition],
        *,
        until: float,
        refused: Callable[[Mapping[TopicPartition, KafkaError]], None] = lambda _: None,
    ) -> dict[TopicPartition, OffsetAndMetadata | None]:
        """What the group has committed of these; None where that is nothing.

        Args:
            partitions: Those of interest.
            until: When to give up.
            refused: Is told why partitions have to be asked for again.

        Raises:
            BrokerError: The coordinator does not say.
            KafkaTimeoutError: It has not answered in time.
        """
        found: dict[TopicPartition, OffsetAndMetadata | None] = {}
        left = list(dict.fromkeys(partitions))
        attempt = 0
        while left:
            answer = await self._fetched(left, until=until)
            found.update(answer.good)
            if answer.failed:
                raise not_fetched(self._group_id, answer.failed)
            left = list(answer.again)
            if left:
                refused(answer.again)
                self._look_again(answer)
                pause = self._backoff.delay(attempt, jitter=self._rng.uniform(-1, 1))
                attempt += 1
                if self._loop.time() + pause >= until:
                    raise not_fetched(self._group_id, answer.again, in_time=False)
                await self._tasks.sleep(until=self._loop.time() + pause)
        return {partition: found[partition] for partition in partitions}

    async def _fetched(self, partitions: Collection[TopicPartition], *, until: float) -> Answer:
        timeout = min(self._request_timeout, until - self._loop.time())
        identity = self.identity() if self._is_consumer_group else None
        topic_id = self._cluster.metadata.topic_id
        while True:
            request, at_most = fetch_request(
                self._group_id, identity or NOBODY, partitions, topic_id, self._form
            )
            try:
                response = await self._cluster.send_to_coordinator(
                    self._coordinator,
                    request,
                    channel=self._channel,
                    timeout=timeout,
                    at_most=at_most,
                )
            except UnsupportedVersion as error:
                if self._form.older is None:
                    return not_answered(partitions, error)
                self._form = self._form.older
            except KafkaError as error:
                return not_answered(partitions, error)
            else:
                return read_fetch(request, response, partitions)
