"""The task that fetches: asks `fetches` what is wanted, sends it, and gives it the answers."""

from __future__ import annotations

import asyncio
import logging
import random
from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import partial
from typing import Final

import anyio

from kafka_aio.backoff import Backoff
from kafka_aio.config import ConsumerConfig
from kafka_aio.consumer import offsets
from kafka_aio.consumer.fetches import NOTHING, Fetch, Fetches, Plan
from kafka_aio.consumer.handover import Receiver
from kafka_aio.consumer.position import OwnedPartition
from kafka_aio.consumer.sessions import Session, Terms
from kafka_aio.consumer.subscription import Subscription
from kafka_aio.errors import (
    AuthenticationError,
    BrokerError,
    CorruptMessage,
    KafkaError,
    OffsetOutOfRange,
    SerializationError,
    UnknownServerError,
    UnsupportedVersion,
    for_code,
)
from kafka_aio.metadata import Leader
from kafka_aio.net import clock
from kafka_aio.net.cluster import Cluster
from kafka_aio.net.links import FETCH, Channel
from kafka_aio.net.tasks import Tasks, Wakeup
from kafka_aio.protocol.messages.fetch import FetchRequest, FetchResponse, PartitionData
from kafka_aio.types import TopicPartition

SESSIONS_END: Final = 1.0
"""For so many seconds it is tried to end the sessions with all nodes, when the client closes."""
AHEAD: Final = 16 * 2**20
"""So many bytes are read ahead at most: as many as a connection keeps of memory to use again."""
AT_ONCE: Final = 4 * 2**20
"""So many come in one answer at most, unless one partition may have more: memory for larger ones
takes long to get, and the loop waits for it."""
SHORT_WAIT: Final = 0.05
"""How long a broker waits for data while a partition of it is not asked for, as it has its share:
that may be wanted any moment."""

logger = logging.getLogger(__name__)


class Fetcher:
    """Keeps the buffer filled, as far as its bytes go."""

    def __init__(
        self,
        cluster: Cluster,
        tasks: Tasks,
        subscription: Subscription,
        receiver: Receiver,
        config: ConsumerConfig,
        *,
        channel: Channel = FETCH,
    ) -> None:
        self._cluster = cluster
        self._tasks = tasks
        self._subscription = subscription
        self._receiver = receiver
        self._channel = channel
        self._loop = asyncio.get_running_loop()
        self._rng: random.Random = clock.rng()
        self._wakeup = Wakeup()
        self._retry = Backoff(
            max(config.retry_backoff_ms, 10) / 1000, max(config.retry_backoff_max_ms, 10) / 1000
        )
        self._timeout = config.request_timeout_ms / 1000
        self._terms = Terms(
            max_wait=config.fetch_max_wait_ms / 1000,
            min_bytes=config.fetch_min_bytes,
            max_bytes=config.fetch_max_bytes,
            isolation_level=int(config.isolation_level == "read_committed"),
            rack=config.client_rack,
        )
        self.fetches = Fetches(
            limit=max(min(config.fetch_max_bytes, AHEAD), config.max_partition_fetch_bytes),
            max_bytes=max(
                min(config.fetch_max_bytes, AT_ONCE),
                min(config.fetch_max_bytes, config.max_partition_fetch_bytes),
            ),
            partition_max_bytes=config.max_partition_fetch_bytes,
            replica_age=config.metadata_max_age_ms / 1000,
            error_pause=self._retry.first,
        )
        registry = cluster.registry
        self._requests = registry.counter("fetch_requests", "Fetch requests sent.")
        self._bytes = registry.counter("fetched_bytes", "Bytes of the answers that had records.")
        self._sessions: dict[int, Session] = {}
        self._rests: dict[int, float] = {}  # nodes that are not asked, and until when
        self._failures: dict[int, int] = {}
        self._leading: set[int] = set()  # the nodes that lead what is assigned
        self._seen = (-1, -1)  # the versions of the metadata and of the assignment
        self.moved: Callable[[], None] = lambda: None
        """Called when a position is to be reset, or leaders are others."""
        self._troubles: dict[int, str] = {}  # by node

    def __repr__(self) -> str:
        return f"<Fetcher: {self.fetches!r}>"

    @property
    def troubles(self) -> list[str]:
        """Why nothing comes from nodes that lead what we read, in words; from any, if none does."""
        sources = {each.leader.node for each in self._subscription if each.leader is not None}
        troubles = self._troubles.items() if len(self._subscription) else ()
        return [text for node, text in troubles if node in sources or not sources]

    def wake(self) -> None:
        """Something has changed: what is wanted, who leads it, or how much room there is."""
        self._wakeup.set()

    async def run(self) -> None:
        try:
            while True:
                await self._wakeup.wait(until=self._turn(self._loop.time()))
        finally:
            self._receiver.wake()  # who waits for records looks whether the client has failed
            try:
                with anyio.move_on_after(SESSIONS_END, shield=True):
                    await self._end_sessions()
            finally:
                self._receiver.wake()  # once more: our own failure is known only now

    def _turn(self, now: float) -> float:
        """Send what can be sent; when to look again."""
        plan = self._plan(now)
        for fetch in plan.fetches:
            self._begin(fetch)
        return min([plan.next_at, *self._rests.values()])

    def _plan(self, now: float) -> Plan:
        if self._tasks.is_closed:
            return NOTHING  # nothing can be begun, and we are cancelled next
        self.see_leaders()
        nodes = self._nodes(now)
        if self.fetches.are_busy((self._leading | self.fetches.replicas) & nodes):
            return NOTHING
        return self.fetches.plan(self._subscription.partitions, nodes, now=now)

    def see_leaders(self) -> None:
        """Take the leaders of what is assigned from the metadata, if either has changed."""
        metadata, subscription = self._cluster.metadata, self._subscription
        if self._seen == (metadata.version, subscription.epoch):
            return
        topics = sorted({name.topic for name in subscription.partitions})
        if metadata.want(topics, now=self._loop.time()):
            self._cluster.request_refresh()
        self._seen = (metadata.version, subscription.epoch)
        subscription.lead(metadata.leader)
        self._leading = {each.leader.node for each in subscription if each.leader is not None}
        for node in [each for each in self._sessions if each not in metadata.nodes]:
            del self._sessions[node]
        if subscription.leaderless():
            self._cluster.request_refresh()
        self.moved()

    def _nodes(self, now: float) -> set[int]:
        """Those that can be asked: known, and not resting after a failure."""
        self._rests = {node: until for node, until in self._rests.items() if until > now}
        return self._cluster.metadata.nodes.keys() - self._rests.keys()

    def _begin(self, fetch: Fetch) -> None:
        self.fetches.sent(fetch)
        self._tasks.spawn(partial(self._ask, fetch), name=f"fetch from node {fetch.node}")

    async def _ask(self, fetch: Fetch) -> None:
        """Ask a node, and ask it again, as long as there is something to ask it for.

        The next request goes out in the step in which an answer has come, so that the broker works
        on it while this is decoded.
        """
        following: Fetch | None = fetch
        while following is not None:
            await self._fetch(following)
            following = self._follow_up(fetch.node)
        self.wake()

    def _follow_up(self, node: int) -> Fetch | None:
        """What to ask a node for next, which counts as sent. Other nodes are asked by the way."""
        following = None
        for fetch in self._plan(self._loop.time()).fetches:
            if fetch.node == node:
                following = fetch
                self.fetches.sent(fetch)
            else:
                self._begin(fetch)
        return following

    async def _fetch(self, fetch: Fetch) -> None:
        session = self._sessions.setdefault(fetch.node, Session(fetch.node))
        max_wait = self._terms.max_wait if fetch.is_whole else min(SHORT_WAIT, self._terms.max_wait)
        request, at_most = session.request(
            fetch.asks,
            topic_id=self._cluster.metadata.topic_id,
            terms=replace(self._terms, max_bytes=fetch.max_bytes, max_wait=max_wait),
        )
        self._requests.value += 1
        try:
            response = await self._cluster.send(
                fetch.node,
                request,
                channel=self._channel,
                timeout=self._timeout + self._terms.max_wait,
                at_most=at_most,
            )
        except KafkaError as error:
            self._failed(fetch, session, error)
        else:
            self._answered(fetch, session, response)

    def _failed(self, fetch: Fetch, session: Session, error: KafkaError) -> None:
        session.failed()
        self.fetches.failed(fetch)
        self._rest(fetch.node, error)
        if isinstance(error, AuthenticationError | UnsupportedVersion | SerializationError):
            self._receiver.tell(error)

    def _rest(self, node: int, error: KafkaError) -> None:
        failures = self._failures.get(node, 0)
        pause = self._retry.delay(failures, jitter=self._rng.uniform(-1, 1))
        self._failures[node] = failures + 1
        self._rests[node] = self._loop.time() + pause
        self._troubles[node] = f"fetch from node {node}: {error}"
        logger.info("fetch failed node=%d error=%s pause=%.3f", node, error, pause)

    def _answered(self, fetch: Fetch, session: Session, response: FetchResponse) -> None:
        told = session.answered(response)
        if told.error is None:
            self._failures.pop(fetch.node, None)
            self._troubles.pop(fetch.node, None)
        size = _size_of(told.partitions.values())
        self._bytes.value += size
        heard = self.fetches.add(
            fetch,
            told.partitions,
            size=size,
            partitions=self._subscription.partitions,
            now=self._loop.time(),
        )
        leaders: dict[TopicPartition, Leader] = {}
        for name, data in heard:
            current = data.current_leader
            if current.leader_id >= 0:
                leaders[name] = Leader(current.leader_id, current.leader_epoch)
            self._hear(name, fetch, data)
        if leaders:
            self._cluster.hint(leaders, response.node_endpoints)
        if told.error is not None:
            self._rest(fetch.node, told.error)
        self._receiver.wake()

    def _hear(self, name: TopicPartition, fetch: Fetch, data: PartitionData) -> None:
        era = fetch.eras[name]
        owned = self._subscription.find(name, era)
        if owned is None:
            return
        if not data.error_code:
            owned.saw(data.high_watermark, data.last_stable_offset, data.log_start_offset)
            return
        error = for_code(data.error_code, where=str(name))
        offset = fetch.asks[name].offset
        if isinstance(error, OffsetOutOfRange):
            told = offsets.out_of_range(self._subscription, name, era, offset)
            if told is None:
                logger.info("out of range partition=%s offset=%d", name, offset)
            self._stuck(owned, told)
            self.moved()
            return
        owned.failed(error, now=self._loop.time())
        is_of_leader = owned.leader is not None and owned.leader.node == fetch.node
        if isinstance(error, CorruptMessage) and is_of_leader:
            self._stuck(owned, offsets.damaged(self._subscription, name, era, offset))
        elif _is_passing(error):
            logger.debug("fetch refused partition=%s error=%s", name, error.name)
            self._cluster.request_refresh()
        else:
            self._receiver.tell(error, name)

    def _stuck(self, owned: OwnedPartition, error: KafkaError | None) -> None:
        """Only a seek leads on, if there is an error."""
        if error is not None:
            owned.is_stuck = True
            self._receiver.tell(error, owned.partition)

    async def _end_sessions(self) -> None:
        """Tell the brokers that they can forget what we read."""
        async with anyio.create_task_group() as group:
            for node, session in self._sessions.items():
                if (request := session.close()) is not None:
                    group.start_soon(self._end_session, node, request)

    async def _end_session(self, node: int, request: FetchRequest) -> None:
        """Not behind a fetch that waits for records: on the general connection."""
        try:
            await self._cluster.send(node, request, timeout=SESSIONS_END)
        except KafkaError as error:
            logger.debug("session not ended node=%d error=%s", node, error)


def _is_passing(error: BrokerError) -> bool:
    """Whether another leader, or another moment, may know better."""
    return error.retriable or error.stale_metadata or isinstance(error, UnknownServerError)


def _size_of(told: Iterable[PartitionData]) -> int:
    """The bytes of the frame that these are views of, or theirs where it is not known."""
    views = [memoryview(each.records) for each in told if each.records]
    frames = {id(view.obj): memoryview(view.obj).nbytes for view in views}
    return max(sum(frames.values()), sum(view.nbytes for view in views))
