"""The task that finds out where to read: committed offsets, resets, checks of positions."""

from __future__ import annotations

import asyncio
import logging
import random
from collections.abc import Awaitable, Callable, Collection, Mapping
from functools import partial
from typing import TypeAlias

from kafka_aio.backoff import Backoff
from kafka_aio.config import ConsumerConfig
from kafka_aio.consumer import offsets
from kafka_aio.consumer.handover import Handover
from kafka_aio.consumer.lister import Lister
from kafka_aio.consumer.offsets import CheckPlan, ResetPlan
from kafka_aio.consumer.position import OwnedPartition
from kafka_aio.consumer.subscription import Subscription
from kafka_aio.errors import KafkaError, KafkaTimeoutError
from kafka_aio.listing import list_requests
from kafka_aio.net import clock
from kafka_aio.net.cluster import Cluster
from kafka_aio.net.tasks import Tasks, Wakeup
from kafka_aio.protocol.messages.offsets import ListOffsetsRequest, OffsetForLeaderEpochRequest
from kafka_aio.types import OffsetAndMetadata, TopicPartition

Errors: TypeAlias = Mapping[TopicPartition, KafkaError]
Committed: TypeAlias = Callable[
    [Collection[TopicPartition], float, Callable[[Errors], None]],
    Awaitable[Mapping[TopicPartition, OffsetAndMetadata | None]],
]
"""Gives the offsets that the group has committed, until a time of the loop, and says why an attempt
came to nothing."""

logger = logging.getLogger(__name__)


class Positioner:
    """Sees to it that each partition of the assignment has a position, and a good one."""

    def __init__(  # noqa: PLR0913 - keyword-only, some of them
        self,
        cluster: Cluster,
        tasks: Tasks,
        subscription: Subscription,
        handover: Handover,
        config: ConsumerConfig,
        *,
        lister: Lister,
        retry: Backoff,
    ) -> None:
        self._cluster = cluster
        self._tasks = tasks
        self._subscription = subscription
        self._handover = handover
        self._lister = lister
        self._retry = retry
        self._loop = asyncio.get_running_loop()
        self._rng: random.Random = clock.rng()
        self._read_committed = config.isolation_level == "read_committed"
        self._timeout = config.request_timeout_ms / 1000
        self._api_timeout = config.default_api_timeout_ms / 1000
        self._wakeup = Wakeup()
        self._looking: dict[TopicPartition, int] = {}  # for a committed offset, in which era
        self._urgent: set[TopicPartition] = set()  # somebody waits for their positions
        self._waiting: list[tuple[TopicPartition, asyncio.Future[None]]] = []
        self.committed: Committed | None = None
        """Where to ask for committed offsets; None without a group."""
        self.tell: Callable[[], None] = lambda: None
        """Called before positions are looked at."""
        self.settled: Callable[[], None] = lambda: None
        """Called when a position is known, or another."""

    def __repr__(self) -> str:
        return f"<Positioner: {len(self._looking)} looked for, {len(self._waiting)} waited for>"

    def wake(self) -> None:
        """Partitions have come, were sought, or have other leaders."""
        self._wakeup.set()

    async def run(self) -> None:
        while True:
            if not self._tasks.is_closed:  # else nothing can be begun, and we are cancelled next
                now = self._loop.time()
                self._begin()
                self._reset(now)
                self._check(now)
                self._settle_known()
            await self._wakeup.wait(until=offsets.next_plan_at(self._subscription))

    async def wait_position(self, partition: TopicPartition, *, until: float) -> int:
        """The position of a partition, once it is known.

        Raises:
            StateError: The partition is not assigned.
            KafkaTimeoutError: It is not known by then.
            KafkaError: It cannot be known.
        """
        while True:
            owned = self._subscription[partition]
            self.tell()
            if owned.position is not None:
                return owned.position.offset
            waiter = self._loop.create_future()
            self._waiting.append((partition, waiter))
            self._urgent.add(partition)
            self.wake()
            try:
                await self._tasks.wait(waiter, until=until)
            except KafkaError:
                raise
            except TimeoutError:
                raise KafkaTimeoutError(
                    f"{partition}: its position is not known in time; {self._state(owned)}"
                ) from None
            finally:
                self._waiting = [each for each in self._waiting if each[1] is not waiter]
                self._urgent.discard(partition)

    def _state(self, owned: OwnedPartition) -> str:
        if owned.leader is None:
            return "nobody leads it, or there is no such partition"
        return owned.missing

    # Where to begin.

    def _begin(self) -> None:
        self._looking = {
            name: era for name, era in self._looking.items() if self._subscription.find(name, era)
        }
        found = [
            *(each for each in self._subscription.initialising() if not each.is_stuck),
            *self._subscription.initialising(of=self._urgent),
        ]
        eras = {each.partition: each.era for each in found if each.partition not in self._looking}
        if not eras:
            return
        self._looking |= eras
        if self.committed is None:
            self._begun(eras, {})
        else:
            self._tasks.spawn(partial(self._look_up, eras), name="committed offsets")

    async def _look_up(self, eras: dict[TopicPartition, int]) -> None:
        """Ask the group where it was, until it says so or cannot."""
        assert self.committed is not None
        until = self._loop.time() + self._api_timeout
        try:
            found = await self.committed(eras.keys(), until, partial(self._note, eras))
        except KafkaError as error:
            logger.info("committed offsets not known partitions=%d error=%s", len(eras), error)
            if not isinstance(error, KafkaTimeoutError):
                self._note(eras, dict.fromkeys(eras, error))
                self._fail(error, eras)
            await asyncio.sleep(self._retry.delay(0, jitter=self._rng.uniform(-1, 1)))
            self._forget(eras)
            self.wake()
        else:
            self._begun(eras, found)

    def _note(self, eras: Mapping[TopicPartition, int], errors: Errors) -> None:
        """Keep in mind what was wrong, in case that it lasts."""
        self._subscription.failed(errors, eras, now=self._loop.time())

    def go_to(
        self,
        eras: dict[TopicPartition, int],
        committed: Mapping[TopicPartition, OffsetAndMetadata | None],
    ) -> None:
        """Go to what is committed; where that is nothing, reset, or tell the user.

        Raises:
            NoOffsetForPartition: There is none, and no policy.
        """
        error = offsets.begin(self._subscription, eras, committed)
        self._settled()
        if error is not None:
            raise error

    def _begun(
        self,
        eras: dict[TopicPartition, int],
        committed: Mapping[TopicPartition, OffsetAndMetadata | None],
    ) -> None:
        for name, offset in committed.items():
            if offset is not None and offset.leader_epoch is not None:
                self._cluster.metadata.saw_epoch(name, offset.leader_epoch)
        error = offsets.begin(self._subscription, eras, committed)
        if error is not None:
            for name in error.partitions:
                self._subscription[name].is_stuck = True  # until somebody seeks
            self._fail(error, error.partitions)
        self._forget(eras)
        self._settled()

    def _forget(self, eras: Mapping[TopicPartition, int]) -> None:
        for name, era in eras.items():
            if self._looking.get(name) == era:
                del self._looking[name]

    # Resets.

    def _reset(self, now: float) -> None:
        plans = offsets.plan_resets(
            self._subscription,
            now=now,
            retry_at=now + self._timeout,
            wall_time=clock.wall_time(),
        )
        requests, _ = list_requests(
            {plan.partition: plan.timestamp for plan in plans},
            self._cluster.metadata.leader,
            read_committed=self._read_committed,
        )
        for node, request in requests.items():
            asked = {
                TopicPartition(topic.name, each.partition_index)
                for topic in request.topics
                for each in topic.partitions
            }
            mine = [plan for plan in plans if plan.partition in asked]
            self._tasks.spawn(partial(self._list, node, request, mine), name="offsets to reset to")

    async def _list(self, node: int, request: ListOffsetsRequest, plans: list[ResetPlan]) -> None:
        listed = await self._lister.ask(node, request)
        errors = offsets.settle_resets(self._subscription, plans, listed, retry_at=self._retry_at())
        self._note({plan.partition: plan.era for plan in plans}, listed.again | listed.failed)
        if listed.stale_metadata:
            self._cluster.request_refresh()
        for name, error in errors.items():
            self._fail(error, [name])
        self._settled()

    # Positions held against their leaders.

    def _check(self, now: float) -> None:
        self.tell()
        plans = offsets.plan_checks(self._subscription, now=now, retry_at=now + self._timeout)
        for node, request in offsets.check_requests(plans).items():
            mine = [plan for plan in plans if plan.leader.node == node]
            self._tasks.spawn(partial(self._hold, node, request, mine), name="leader epochs")

    async def _hold(
        self, node: int, request: OffsetForLeaderEpochRequest, plans: list[CheckPlan]
    ) -> None:
        try:
            response = await self._cluster.send(node, request)
        except KafkaError as error:
            self.tell()
            checked = offsets.not_checked(
                self._subscription, plans, error, retry_at=self._retry_at()
            )
        else:
            self.tell()
            checked = offsets.settle_checks(
                self._subscription, plans, response, retry_at=self._retry_at()
            )
        self._note({plan.partition: plan.era for plan in plans}, checked.again | checked.failed)
        if checked.stale_metadata:
            self._cluster.request_refresh()
        for name, position in checked.truncated.items():
            logger.warning("truncated log partition=%s goes on at %s", name, position)
            self._handover.interrupt()  # what is at hand of it is of the log before
        for name, failure in checked.failed.items():
            self._fail(failure, [name])
        self._settled()

    def _retry_at(self) -> float:
        return self._loop.time() + self._retry.delay(0, jitter=self._rng.uniform(-1, 1))

    def _fail(self, error: KafkaError, partitions: Collection[TopicPartition]) -> None:
        """Tell who waits for one of them; or else who reads next."""
        told = [
            waiter for name, waiter in self._waiting if name in partitions and not waiter.done()
        ]
        if not told:
            self._handover.tell(error, *partitions)
        for waiter in told:
            waiter.set_exception(error)
        self._urgent.difference_update(partitions)

    def _settle_known(self) -> None:
        """Wake those whose partition has a position by now, or is gone."""
        for name, waiter in self._waiting:
            owned = self._subscription.partitions.get(name)
            if (owned is None or owned.position is not None) and not waiter.done():
                waiter.set_result(None)

    def _settled(self) -> None:
        for _, waiter in self._waiting:
            if not waiter.done():
                waiter.set_result(None)
        self.settled()
        self.wake()
