"""The Sender: a task that drains batches into requests; `settling` does with the answers.

    wait until something is due -> expire -> ready -> drain -> stamp, finish -> written
    the answer, in the step in which it comes: settled, and the Sender woken

Nothing is drained for a node that cannot be sent to at once: one that is not connected is dialled
first, beside the rest; one that asked for a pause, or does not read, is waited for.
"""

from __future__ import annotations

import asyncio
import logging
import random
from collections import Counter
from collections.abc import Sequence
from functools import partial
from math import inf
from typing import TYPE_CHECKING, Final

from kafka_aio.backoff import Backoff
from kafka_aio.complaint import FIRST_AFTER, Complaint
from kafka_aio.errors import AuthenticationError, KafkaConnectionError, KafkaError, StateError
from kafka_aio.net import clock
from kafka_aio.net.cluster import Cluster
from kafka_aio.net.tasks import Tasks, Wakeup
from kafka_aio.producer.accumulator import Accumulator
from kafka_aio.producer.batch import Batch, Phase
from kafka_aio.producer.failures import Failures
from kafka_aio.producer.identification import ask_for_id
from kafka_aio.producer.requests import produce
from kafka_aio.producer.sequences import Sequences
from kafka_aio.producer.settling import Settling
from kafka_aio.protocol.messages.produce import ProduceResponse
from kafka_aio.records.compression import Codec, Compression
from kafka_aio.types import TopicPartition

if TYPE_CHECKING:
    from kafka_aio.config import ProducerConfig

COMPRESSED_IN_PLACE: Final = 65_536
"""As many bytes are compressed on the loop; more of them in a thread."""

logger = logging.getLogger(__name__)


class Sender:
    """Sends what the accumulator has."""

    def __init__(
        self,
        cluster: Cluster,
        tasks: Tasks,
        accumulator: Accumulator[asyncio.Event],
        failures: Failures,
        config: ProducerConfig,
    ) -> None:
        self._cluster = cluster
        self._tasks = tasks
        self._accumulator = accumulator
        self._rng: random.Random = clock.rng()
        self._loop = asyncio.get_running_loop()
        self._wakeup = Wakeup()
        cluster.when_updated(self.wake)
        cluster.when_free(self.wake)
        self._linger = config.linger_ms / 1000
        self._acks = -1 if config.acks == "all" else int(config.acks)
        self._request_timeout = config.request_timeout_ms / 1000
        self._transaction_timeout_ms = config.transaction_timeout_ms
        self._max_in_flight = config.max_in_flight_requests_per_connection
        self._max_request = config.max_request_size
        self._backoff = Backoff(config.retry_backoff_ms / 1000, config.retry_backoff_max_ms / 1000)
        self.sequences = Sequences() if config.enable_idempotence else None
        self._settling = Settling(cluster, accumulator, self.sequences, failures, config)
        self._in_flight: Counter[int] = Counter()
        self._dialling: set[int] = set()
        self._is_identifying = False
        self._complaint = Complaint()
        self._flushes: list[tuple[int, asyncio.Future[None]]] = []
        self._failure: Exception | None = None
        self._is_over = False

    def __repr__(self) -> str:
        return f"<Sender: {self._in_flight.total()} requests in flight, {self._accumulator!r}>"

    @property
    def delivered(self) -> int:
        """Records that were acknowledged."""
        return self._settling.delivered

    @property
    def retried(self) -> int:
        """How often a batch was put back to be sent again."""
        return self._settling.retried

    @property
    def in_flight(self) -> int:
        """Requests that are not answered."""
        return self._in_flight.total()

    def wake(self) -> None:
        """There is something new to do."""
        self._wakeup.set()

    async def run(self) -> None:
        """The task: for ever. Whatever ends it, every record gets to know."""
        try:
            while True:
                await self._wakeup.wait(until=await self._turn())
        except Exception as failure:
            self._failure = failure
            raise
        finally:
            self._abandon()

    def _abandon(self) -> None:
        """Fail all that is not settled: nothing will be sent any more."""
        self._is_over = True
        self._accumulator.close_all()
        for batch in list(self._accumulator.incomplete):
            batch.lose_sight()
            self._settling.fail(batch, self._why_over(batch.partition))
        self.call_all_waiters()
        self._tell_settled()

    def _why_over(self, partition: TopicPartition) -> KafkaError:
        if isinstance(self._failure, KafkaError):
            return self._failure
        if self._failure is not None:  # the tasks do not know of it yet
            kind = type(self._failure).__name__
            ended = StateError(f"{partition}: the producer ended by a failure of its own: {kind}")
            ended.__cause__ = self._failure
            return ended
        if self._tasks.state == "closed":
            text = "given up: the producer was closed before it was acknowledged"
            return StateError(f"{partition}: {text}")
        try:
            self._tasks.check()
        except KafkaError as error:
            return error
        return KafkaConnectionError(f"{partition}: given up: the Sender was stopped")

    async def wait_flushed(self, *, until: float = inf) -> None:
        """Send everything now, and wait until all of it is settled, but not what comes later.

        Raises:
            TimeoutError: The time is over.
        """
        number = self._accumulator.flush()
        if self._accumulator.is_done(number):
            return
        done: asyncio.Future[None] = self._loop.create_future()
        entry = (number, done)
        self._flushes.append(entry)
        self.wake()
        try:
            await self._tasks.wait(done, until=until)
        finally:
            if entry in self._flushes:
                self._flushes.remove(entry)

    # One turn.

    async def _turn(self) -> float:
        """Do what is due. Returns when to look again, unless woken."""
        while not self._tasks.is_closed:  # then we are cancelled next, and nothing can be started
            if self._failure is not None:
                raise self._failure
            now = self._loop.time()
            if self._settling.expire(now):  # else who waits would be called, and wake us, for ever
                self._tell_settled()
            if self.sequences is not None and self.sequences.needs_id:
                self._identify()
            ready = self._accumulator.ready(now=now)
            if ready.leaderless:
                self._cluster.metadata.want(ready.leaderless, now=now)  # it may have aged out
                self._cluster.request_refresh()
            has_sent = False
            for node, partitions in ready.by_node.items():
                if self._in_flight[node] < self._max_in_flight and self._can_send(node):
                    batches = self._accumulator.drain(
                        node, partitions, max_size=self._max_request, may_send=self._may_send
                    )
                    has_sent = bool(batches) or has_sent
                    if batches:
                        await self._start(node, batches)
            if not has_sent or self._accumulator.is_drained:
                complain_at = self._complain(now)
                return min(ready.next_at, self._accumulator.overdue_at, complain_at)
        return inf

    def _may_send(self, batch: Batch) -> bool:
        return self.sequences is None or self.sequences.may_drain(batch)

    def _can_send(self, node: int) -> bool:
        """Whether a request would be written now; a node that is not connected is dialled."""
        if self._cluster.can_send(node):
            return True
        if node not in self._dialling and not self._cluster.is_connected(node):
            self._dialling.add(node)
            self._tasks.spawn(partial(self._dial, node), name=f"dial node {node}")
        return False

    async def _dial(self, node: int) -> None:
        try:
            await self._cluster.connection(node)
        except AuthenticationError as error:
            self._refused(node, error)
        except KafkaError as error:
            logger.info("node %d cannot be reached: %s", node, error)
            self._complaint.reason = str(error)
            self._cluster.request_refresh()  # another node may lead its partitions by now
            await self._pause()
        finally:
            self._dialling.discard(node)
            self.wake()

    async def _pause(self) -> None:
        """Not in a hot loop: a node that rests is refused at once."""
        await asyncio.sleep(self._backoff.delay(0, jitter=self._rng.uniform(-1, 1)))

    def _refused(self, node: int, error: AuthenticationError) -> None:
        """Whoever waits for that node is told: trying again does not help."""
        leader_of = self._cluster.metadata.leader
        for batch in list(self._accumulator.incomplete):
            leader = leader_of(batch.partition)
            if leader is not None and leader.node == node and batch.phase is not Phase.IN_FLIGHT:
                self._settling.fail(batch, error)
        self._tell_settled()

    async def _start(self, node: int, batches: list[Batch]) -> None:
        """Number the batches, finish them, and have them sent."""
        for batch in batches:
            leader = self._cluster.metadata.leader(batch.partition)
            batch.sent_epoch = leader.epoch if leader is not None else -1
            if self.sequences is not None:
                self.sequences.stamp(batch)
        size = sum(batch.size for batch in batches if batch.wire is None)
        compression = self._settling.compression
        if compression.codec is not Codec.NONE and size > COMPRESSED_IN_PLACE:
            await self._loop.run_in_executor(None, _finish, batches, compression)
        else:
            _finish(batches, compression)
        self._send(node, batches)

    def _complain(self, now: float) -> float:
        """Warn if the oldest batch has waited for long. Returns when to look again."""
        oldest = next(iter(self._accumulator.incomplete), None)
        if oldest is None:
            self._complaint.settled()
            return inf
        if self._complaint.is_due(oldest.opened_at + self._linger, now=now):
            logger.warning(
                "%s: records are not acknowledged for %.1f s, still trying: %s",
                oldest.partition,
                now - oldest.opened_at,
                self._why_waiting(oldest),
            )
        return self._complaint.next_at

    def _why_waiting(self, batch: Batch) -> str:
        if batch.error is not None:
            return str(batch.error)
        leader = self._cluster.metadata.leader(batch.partition)
        if leader is None:
            return "no leader is known for the partition"
        if self.sequences is not None and self.sequences.needs_id:
            return "the cluster has not given us a producer id yet"
        if batch.phase is not Phase.IN_FLIGHT and not self._cluster.can_send(leader.node):
            return self._complaint.reason or self._cluster.why_not(leader.node)
        return self._complaint.reason or "no answer yet"

    # One request.

    def _send(self, node: int, batches: list[Batch]) -> None:
        request, at_most = produce(
            batches,
            acks=self._acks,
            timeout=self._request_timeout,
            topic_id=self._cluster.metadata.topic_id,
        )
        done = partial(self._settle, node, batches)
        self._in_flight[node] += 1
        try:
            if self._acks:
                self._cluster.send_nowait(node, request, done, at_most=at_most)
            else:
                self._cluster.send_nowait(node, request, None, at_most=at_most)
                done(None, None)
        except KafkaError as error:
            done(None, error)

    def _settle(
        self,
        node: int,
        batches: list[Batch],
        response: ProduceResponse | None,
        error: KafkaError | None,
    ) -> None:
        """The connection calls it, in the step in which the answer comes."""
        self._in_flight[node] -= 1
        if self._is_over:
            return
        try:
            if error is not None:
                self._settling.lost(batches, error)
            elif response is not None:
                self._settling.answered(batches, response)
            else:
                self._settling.posted(batches)
        except Exception as failure:
            self._failure = failure
        self._tell_settled()
        self.wake()

    # Who waits.

    def call_waiters(self) -> None:
        """Memory may have come free: wake those whose turn it is."""
        for ticket in self._accumulator.memory.call():
            ticket.set()

    def call_all_waiters(self) -> None:
        """Whoever waits for memory looks again whether the client is open."""
        for ticket in self._accumulator.memory.call_all():
            ticket.set()

    def trouble(self) -> str:
        """Why records are not acknowledged for long; empty where they are."""
        oldest = next(iter(self._accumulator.incomplete), None)
        if oldest is None or self._loop.time() - oldest.opened_at < self._linger + FIRST_AFTER:
            return ""
        place, why = f"{oldest.partition}: ", self._why_waiting(oldest)
        return why if why.startswith(place) else place + why

    def _tell_settled(self) -> None:
        """Batches may have ended: tell who waits for that, or for their memory."""
        self.call_waiters()
        for number, done in self._flushes:
            if self._accumulator.is_done(number) and not done.done():
                done.set_result(None)

    # The producer's id.

    def _identify(self) -> None:
        if not self._is_identifying:
            self._is_identifying = True
            self._tasks.spawn(self._ask_for_id, name="producer id")

    async def _ask_for_id(self) -> None:
        assert self.sequences is not None
        try:
            found = await ask_for_id(
                self._cluster,
                transaction_timeout_ms=self._transaction_timeout_ms,
                backoff=self._backoff,
                complain=partial(setattr, self._complaint, "reason"),
            )
            self.sequences.identified(*found)
        finally:
            self._is_identifying = False
            self.wake()


def _finish(batches: Sequence[Batch], compression: Compression) -> None:
    for batch in batches:
        batch.finish(compression)
