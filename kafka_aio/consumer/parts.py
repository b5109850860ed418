"""What a consumer is made of, put together: its things, its tasks, and who tells whom."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Mapping
from functools import partial
from math import inf

from kafka_aio.backoff import Backoff
from kafka_aio.config import ConsumerConfig
from kafka_aio.consumer.assignors.choice import assignors_of
from kafka_aio.consumer.committer import Committer
from kafka_aio.consumer.coordinator import Coordinator
from kafka_aio.consumer.fetcher import Fetcher
from kafka_aio.consumer.handover import Handover
from kafka_aio.consumer.lister import Lister
from kafka_aio.consumer.membership.alone import Alone
from kafka_aio.consumer.membership.classic import ClassicMember
from kafka_aio.consumer.membership.consumer import ConsumerMember
from kafka_aio.consumer.membership.member import Membership
from kafka_aio.consumer.pieces import Decoding
from kafka_aio.consumer.positioner import Errors, Positioner
from kafka_aio.consumer.ranges import Ranges
from kafka_aio.consumer.reader import Reader
from kafka_aio.consumer.subscription import Mode, Subscription
from kafka_aio.consumer.user_code import UserCode
from kafka_aio.consumer.watch import Watch
from kafka_aio.errors import StateError
from kafka_aio.net import clock
from kafka_aio.net.cluster import Cluster
from kafka_aio.net.tasks import Tasks
from kafka_aio.types import OffsetAndMetadata, TopicPartition


class Parts:
    """All of it."""

    def __init__(self, config: ConsumerConfig, tasks: Tasks, subscription: Subscription) -> None:
        self.loop = asyncio.get_running_loop()
        self.cluster = Cluster(config, tasks)
        self.subscription = subscription
        self.tasks = tasks
        self._group_id = config.group_id
        self._max_poll_interval_ms = config.max_poll_interval_ms
        self._patience = min(config.default_api_timeout_ms, config.max_poll_interval_ms) / 1000
        self._is_asked = False
        self.handover = Handover()
        self.user_code = UserCode(
            tasks,
            key_deserializer=config.key_deserializer,
            value_deserializer=config.value_deserializer,
            interceptors=config.interceptors,
        )
        retry = Backoff(
            max(config.retry_backoff_ms, 10) / 1000, max(config.retry_backoff_max_ms, 10) / 1000
        )
        decoding = Decoding(
            check_crcs=config.check_crcs,
            max_inflated=config.max_decompressed_batch_bytes,
            read_committed=config.isolation_level == "read_committed",
        )
        self.lister = Lister(
            self.cluster, tasks, retry, request_timeout=config.request_timeout_ms / 1000
        )
        self.fetcher = Fetcher(self.cluster, tasks, subscription, self.handover, config)
        self.positioner = Positioner(
            self.cluster,
            tasks,
            subscription,
            self.handover,
            config,
            lister=self.lister,
            retry=retry,
        )
        self.reader = Reader(
            subscription,
            self.fetcher,
            self.handover,
            self.user_code,
            tasks,
            decoding=decoding,
            asked=self._asked,
            check=self._check_wanted,
        )
        self.ranges = Ranges(self.cluster, tasks, config, lister=self.lister, decoding=decoding)
        self.committer: Committer | None = None
        if config.group_id is not None:
            self.committer = Committer(
                self.cluster, tasks, config.group_id, config, user_code=self.user_code
            )
        self.membership = _member(config, self.cluster, retry)
        self.coordinator = Coordinator(
            self.cluster,
            tasks,
            subscription,
            self.membership,
            config,
            committer=self.committer,
            handover=self.handover,
            user_code=self.user_code,
            tell=self.reader.tell,
            handed_over=lambda: self.reader.handed_over,
            is_asking=lambda: self.reader.is_asking,
            changed=self.changed,
        )
        self.watch = Watch(
            subscription,
            self.cluster.metadata,
            others=self._of_tasks,
            logged=self._of_member,
            waits_for=self._waits_for,
            is_asked=self._was_asked,
            tell=self.handover.tell,
        )
        self._join()
        self._register()

    def _register(self) -> None:
        """What is counted elsewhere already is read when somebody looks."""
        registry, tally, reader = self.cluster.registry, self.membership.tally, self.reader
        registry.counter("batches", "Batches handed over.", read=lambda: reader.batches)
        registry.counter("heartbeats", "Heartbeats sent.", read=lambda: tally.heartbeats)
        registry.counter(
            "rebalances", "Assignments of the group carried out.", read=lambda: tally.rebalances
        )

    def _join(self) -> None:
        """Say who is told of what."""
        self.fetcher.moved = self.positioner.wake
        self.positioner.tell = self.reader.tell
        self.positioner.settled = self.fetcher.wake
        if self.committer is not None:
            self.positioner.committed = partial(_committed, self.committer)
        self.cluster.when_updated(self._metadata_updated)

    def begin(self) -> None:
        """The cluster is there: start the tasks."""
        self.tasks.spawn(self.fetcher.run, name="fetcher")
        self.tasks.spawn(self.positioner.run, name="positions")
        if self.committer is not None:
            self.tasks.spawn(self.committer.run, name="commits")
        self.tasks.spawn(self.coordinator.run, name="group")
        self.tasks.spawn(self.watch.run, name="watch")
        self.coordinator.subscribe()

    def changed(self) -> None:
        """Something about the assignment is another: what is at hand may be wrong."""
        self.handover.interrupt()
        self.handover.wake()
        self.fetcher.see_leaders()
        self.positioner.wake()
        self.fetcher.wake()

    def trouble(self) -> str:
        """Why records may not come; empty if there is no reason to think so."""
        return self.watch.trouble()

    def _of_tasks(self) -> list[str]:
        """What the tasks have trouble with."""
        group = self.coordinator.trouble if self.subscription.is_by_group else ""
        return [*self.fetcher.troubles, group, self._of_callback(), self._of_rival()]

    def _of_callback(self) -> str:
        """Nothing is handed over while one runs, whether somebody asks or not."""
        method, since = self.user_code.runs or ("", inf)
        lasts = self.loop.time() - since
        if lasts <= self._patience:
            return ""
        return f"the callback {method!r} has not ended in {lasts:.0f} s"

    def _of_rival(self) -> str:
        return "" if self.membership.barred is None else str(self.membership.barred)

    def _of_member(self) -> list[str]:
        """What the membership has said once."""
        if not self.membership.is_overdue:
            return []
        callback, _ = self.user_code.runs or ("", inf)
        why = f"the callback {callback!r} did not end" if callback else "nobody asked for records"
        limit = f"max_poll_interval_ms={self._max_poll_interval_ms}"
        return [f"group {self._group_id!r}: out of it, as {why} within {limit}"]

    def _waits_for(self) -> str:
        if self._group_id is None or self.coordinator.identity() is not None:
            return ""
        if self.membership.barred is not None:
            return ""  # which is said anyway
        return f"group {self._group_id!r} has not let us in ({self.coordinator.state})"

    def _check_wanted(self) -> None:
        if self.subscription.mode is Mode.NONE:
            raise StateError("there is nothing to read: subscribe() to topics, or assign() some")

    def _asked(self) -> None:
        self._check_wanted()
        self._is_asked = True
        self.coordinator.asked(self.loop.time())

    def _was_asked(self) -> bool:
        """Whether records are asked for, or were since this was last called."""
        was_asked, self._is_asked = self._is_asked, False
        return was_asked or self.reader.is_asking

    def _metadata_updated(self) -> None:
        self.fetcher.wake()
        self.positioner.wake()
        self.ranges.wake()
        self.coordinator.metadata_changed()


async def _committed(
    committer: Committer,
    partitions: Collection[TopicPartition],
    until: float,
    refused: Callable[[Errors], None],
) -> Mapping[TopicPartition, OffsetAndMetadata | None]:
    return await committer.committed(partitions, until=until, refused=refused)


def _member(config: ConsumerConfig, cluster: Cluster, retry: Backoff) -> Membership:
    metadata = cluster.metadata
    if config.group_id is None:
        return Alone(metadata.partition_count)
    if config.group_protocol == "consumer":
        return ConsumerMember(
            group_id=config.group_id,
            member_id=_new_id(),
            instance_id=config.group_instance_id,
            rack=config.client_rack or None,
            server_assignor=config.group_remote_assignor,
            rebalance_timeout=config.max_poll_interval_ms / 1000,
            backoff=retry,
            topic_name=metadata.topic_name,
        )
    return ClassicMember(
        group_id=config.group_id,
        instance_id=config.group_instance_id,
        assignors=assignors_of(config.partition_assignment_strategy),
        session_timeout=config.session_timeout_ms / 1000,
        heartbeat_interval=config.heartbeat_interval_ms / 1000,
        rebalance_timeout=config.max_poll_interval_ms / 1000,
        backoff=retry,
        rack=config.client_rack or None,
    )


def _new_id() -> str:
    """An id in the form that Kafka's own clients make: 16 random bytes in base64."""
    from base64 import urlsafe_b64encode

    return urlsafe_b64encode(clock.rng().randbytes(16)).rstrip(b"=").decode()
