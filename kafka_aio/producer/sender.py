"""The Sender: a task that drains batches into requests, and settles what comes back.

    wait until something is due -> expire -> ready -> drain -> stamp, finish -> to a courier
    the courier: send -> delivered | retry | split | failed, and wake the Sender

A node that is not connected is dialled first, beside the rest: nothing is drained for it meanwhile.
Requests to one node are written in the order in which they were drained.
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
from kafka_aio.errors import (
    AuthenticationError,
    BrokerError,
    ClusterAuthorizationFailed,
    DuplicateSequenceNumber,
    KafkaConnectionError,
    KafkaError,
    KafkaStorageError,
    KafkaTimeoutError,
    MessageTooLarge,
    NotEnoughReplicasAfterAppend,
    NotLeaderOrFollower,
    OutOfOrderSequenceNumber,
    ProtocolError,
    RecordListTooLarge,
    RequestTimedOut,
    TransactionalIdAuthorizationFailed,
    UnsupportedVersion,
    for_code,
    fresh,
)
from kafka_aio.metadata import Leader
from kafka_aio.net import clock
from kafka_aio.net.cluster import Cluster
from kafka_aio.net.tasks import Tasks, Wakeup
from kafka_aio.producer.accumulator import Accumulator
from kafka_aio.producer.batch import Batch, Phase
from kafka_aio.producer.complaint import FIRST_AFTER, Complaint
from kafka_aio.producer.couriers import Couriers
from kafka_aio.producer.failures import Failures
from kafka_aio.producer.identification import ask_for_id
from kafka_aio.producer.requests import answers, blamed, produce
from kafka_aio.producer.sequences import Sequences
from kafka_aio.protocol.messages.produce import PartitionProduceResponse, ProduceResponse
from kafka_aio.records.compression import Codec, Compression

if TYPE_CHECKING:
    from kafka_aio.config import ProducerConfig

COMPRESSED_IN_PLACE: Final = 65_536
"""As many bytes are compressed on the loop; more of them in a thread."""

_FATAL: Final = (ClusterAuthorizationFailed, TransactionalIdAuthorizationFailed)
_INDEFINITE: Final = (
    KafkaStorageError,
    NotEnoughReplicasAfterAppend,
    NotLeaderOrFollower,
    RequestTimedOut,
)
"""What a leader may say that has appended the records, and waits for the other replicas."""
_TOO_LARGE: Final = (MessageTooLarge, RecordListTooLarge)

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
        self._failures = failures
        self._rng: random.Random = clock.rng()
        self._loop = asyncio.get_running_loop()
        self._wakeup = Wakeup()
        cluster.when_updated(self.wake)
        self._acks = -1 if config.acks == "all" else int(config.acks)
        self._request_timeout = config.request_timeout_ms / 1000
        self._delivery_timeout = config.delivery_timeout_ms / 1000
        self._transaction_timeout_ms = config.transaction_timeout_ms
        self._max_in_flight = config.max_in_flight_requests_per_connection
        self._max_request = config.max_request_size
        self._retries = config.retries
        self._backoff = Backoff(config.retry_backoff_ms / 1000, config.retry_backoff_max_ms / 1000)
        self._compression = compression_of(config)
        self.sequences = Sequences() if config.enable_idempotence else None
        self._couriers = Couriers(tasks, self._request)
        self._in_flight: Counter[int] = Counter()
        self._dialling: set[int] = set()
        self._is_identifying = False
        self._complaint = Complaint()
        self._flushes: list[tuple[int, asyncio.Future[None]]] = []
        self.delivered = 0
        """Records that were acknowledged."""
        self.retried = 0
        """How often a batch was put back to be sent again."""

    def __repr__(self) -> str:
        return f"<Sender: {self._in_flight.total()} requests in flight, {self._accumulator!r}>"

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
        finally:
            self.abandon()

    def abandon(self) -> None:
        """Fail all that is not settled: nothing will be sent any more."""
        self._accumulator.close_all()
        for batch in list(self._accumulator.incomplete):
            batch.lose_sight()
            try:
                self._tasks.check()
                raise KafkaConnectionError("the Sender was stopped")
            except KafkaError as error:
                self._fail(batch, error)
        self.call_all_waiters()
        self._tell_settled()

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
            now = self._loop.time()
            self._expire(now)
            if self.sequences is not None and self.sequences.needs_id:
                self._identify()
            ready = self._accumulator.ready(now=now)
            if ready.leaderless:
                self._cluster.metadata.want(ready.leaderless, now=now)  # it may have aged out
                self._cluster.request_refresh()
            has_sent = False
            for node, partitions in ready.by_node.items():
                if self._in_flight[node] < self._max_in_flight and self._is_connected(node):
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

    def _is_connected(self, node: int) -> bool:
        """Whether a request can be written now; if not, it is dialled."""
        if self._cluster.is_connected(node):
            return True
        if node not in self._dialling:
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
                self._fail(batch, error)
        self._tell_settled()

    async def _start(self, node: int, batches: list[Batch]) -> None:
        """Number the batches, finish them, and have them sent."""
        self._in_flight[node] += 1
        for batch in batches:
            leader = self._cluster.metadata.leader(batch.partition)
            batch.sent_epoch = leader.epoch if leader is not None else -1
            if self.sequences is not None:
                self.sequences.stamp(batch)
        size = sum(batch.size for batch in batches if batch.wire is None)
        if self._compression.codec is not Codec.NONE and size > COMPRESSED_IN_PLACE:
            await self._loop.run_in_executor(None, _finish, batches, self._compression)
        else:
            _finish(batches, self._compression)
        self._couriers.send((node, batches))

    def _expire(self, now: float) -> None:
        overdue = self._accumulator.overdue(now=now)
        for batch in overdue:
            why = f"; the last attempt: {batch.error}" if batch.error is not None else ""
            text = (
                f"{batch.partition}: {batch.record_count or batch.builder.count} records were not"
                f" acknowledged within {self._delivery_timeout:g} s (delivery_timeout_ms){why}"
            )
            batch.lose_sight()
            error = KafkaTimeoutError(text)
            error.persistence = batch.persistence
            self._give_up(batch)
            self._accumulator.expired(batch, error)
            self._failures.add(batch.outcome)
        if overdue:  # else who waits would be called, and wake us, for ever
            self._tell_settled()

    def _complain(self, now: float) -> float:
        """Warn if the oldest batch has waited for long. Returns when to look again."""
        oldest = next(iter(self._accumulator.incomplete), None)
        if oldest is None:
            self._complaint.settled()
            return inf
        if self._complaint.is_due(oldest.opened_at, now=now):
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
        if self._cluster.metadata.leader(batch.partition) is None:
            return "no leader is known for the partition"
        if self.sequences is not None and self.sequences.needs_id:
            return "the cluster has not given us a producer id yet"
        return self._complaint.reason or "no answer yet"

    # One request.

    async def _request(self, load: tuple[int, list[Batch]]) -> None:
        node, batches = load
        request, at_most = produce(
            batches,
            acks=self._acks,
            timeout=self._request_timeout,
            topic_id=self._cluster.metadata.topic_id,
        )
        try:
            if self._acks == 0:
                await self._cluster.post(node, request, at_most=at_most)
                self._posted(batches)
            else:
                self._answered(batches, await self._cluster.send(node, request, at_most=at_most))
        except _FATAL as error:
            raise error
        except KafkaError as error:
            self._lost(batches, error)
        finally:
            self._in_flight[node] -= 1
            self._tell_settled()
            self.wake()

    def _posted(self, batches: Sequence[Batch]) -> None:
        for batch in batches:
            self._deliver(batch, -1, -1)

    def _answered(self, batches: Sequence[Batch], response: ProduceResponse) -> None:
        told = answers(batches, response, self._cluster.metadata.topic_name)
        leaders = {
            batch.partition: Leader(now.leader_id, now.leader_epoch)
            for batch, answer in told
            if answer is not None and (now := answer.current_leader).leader_id >= 0
        }
        if leaders:
            self._cluster.hint(leaders, response.node_endpoints)
        fatal: BrokerError | None = None
        for batch, answer in told:
            if answer is None:
                text = f"{batch.partition}: the broker's answer to Produce does not mention it"
                self._unknown(batch, ProtocolError(text))
            elif answer.error_code == 0:
                self._deliver(batch, answer.base_offset, answer.log_append_time_ms)
            else:
                error = for_code(answer.error_code, answer.error_message, str(batch.partition))
                self._refuse(batch, error, answer)
                fatal = error if isinstance(error, _FATAL) else fatal
        if fatal is not None:  # when all that were answered are settled
            raise fatal

    def _deliver(self, batch: Batch, base_offset: int, log_append_time: int) -> None:
        if self.sequences is not None and batch.phase is Phase.IN_FLIGHT:
            self.sequences.delivered(batch)
        if self._accumulator.delivered(batch, base_offset, log_append_time):
            self.delivered += batch.record_count

    def _refuse(self, batch: Batch, error: BrokerError, answer: PartitionProduceResponse) -> None:
        """The broker has not taken the batch, and says why."""
        if isinstance(error, DuplicateSequenceNumber) and self.sequences is not None:
            self._deliver(batch, answer.base_offset, answer.log_append_time_ms)
            return
        if error.stale_metadata:
            self._cluster.request_refresh()
        if isinstance(error, _INDEFINITE):
            batch.may_be_persisted = True
        if self._may_be_split(batch, error):
            self._split(batch)
        elif self._may_be_sent_again(batch, error):
            self._retry(batch, error)
        else:
            self._fail(batch, *blamed(batch, error, answer))

    def _may_be_split(self, batch: Batch, error: BrokerError) -> bool:
        """Without numbers not if it may be in the log: its parts would be there once more."""
        is_too_large = isinstance(error, _TOO_LARGE) and batch.record_count > 1
        return is_too_large and (self.sequences is not None or not batch.may_be_persisted)

    def _may_be_sent_again(self, batch: Batch, error: KafkaError) -> bool:
        """Whether a batch that was sent is worth another attempt."""
        if batch.phase is Phase.EXPIRED:
            return False
        is_doubtful_part = bool(batch.rank) and batch.may_be_persisted
        if is_doubtful_part and isinstance(error, OutOfOrderSequenceNumber):
            return False  # the broker may have the whole, and does not know its parts for the same
        if self.sequences is not None:
            is_worth_it = self.sequences.came_back(batch, error)
        else:
            is_worth_it = error.retriable if isinstance(error, BrokerError) else True
        return is_worth_it and batch.attempts < self._retries

    def _give_up(self, batch: Batch) -> None:
        """Its numbers may be in the log or not."""
        if self.sequences is not None and batch.is_stamped and batch.phase is not Phase.EXPIRED:
            self.sequences.failed(batch)

    def _split(self, batch: Batch) -> None:
        count = batch.record_count
        logger.info("%s: a batch of %d records is too large: it is split", batch.partition, count)
        parts = self._accumulator.split(batch, self._compression)
        if self.sequences is not None and parts:
            self.sequences.split(batch, parts)

    def _lost(self, batches: Sequence[Batch], error: KafkaError) -> None:
        """The request as a whole came to nothing."""
        for batch in batches:
            if isinstance(error, AuthenticationError | UnsupportedVersion):
                self._fail(batch, error)
            elif error.indefinite or isinstance(error, ProtocolError):
                self._unknown(batch, error)
            else:
                self._unsent(batch, error)

    def _unsent(self, batch: Batch, error: KafkaError) -> None:
        """It stays as it was, and that was no attempt."""
        batch.error = error
        if self.sequences is not None and batch.phase is Phase.IN_FLIGHT:
            self.sequences.came_back(batch, error)
        self._accumulator.unsent(batch)

    def _unknown(self, batch: Batch, error: KafkaError) -> None:
        """Nobody knows whether the broker has it."""
        batch.may_be_persisted = True
        if self._may_be_sent_again(batch, error):
            self._retry(batch, error)
        else:
            self._fail(batch, error)

    def _retry(self, batch: Batch, error: KafkaError) -> None:
        pause = self._backoff.delay(batch.attempts, jitter=self._rng.uniform(-1, 1))
        self.retried += 1
        logger.debug("%s is sent again in %.3f s: %s", batch.partition, pause, error)
        self._accumulator.retry(batch, error, not_before=self._loop.time() + pause)

    def _fail(
        self, batch: Batch, error: KafkaError, by_index: dict[int, KafkaError] | None = None
    ) -> None:
        """Its records are not delivered: whoever awaits one of them is told, with what is known."""
        its_own = fresh(error)
        for each in (its_own, *(by_index or {}).values()):
            each.persistence = batch.persistence
        self._give_up(batch)
        if self._accumulator.failed(batch, its_own, by_index or None):
            self._failures.add(batch.outcome)

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
        if oldest is None or self._loop.time() - oldest.opened_at < FIRST_AFTER:
            return ""
        return f"{oldest.partition}: {self._why_waiting(oldest)}"

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


def compression_of(config: ProducerConfig) -> Compression:
    """How a producer compresses its batches."""
    name = config.compression_type
    levels = {
        "gzip": config.compression_gzip_level,
        "lz4": config.compression_lz4_level,
        "zstd": config.compression_zstd_level,
    }
    return Compression.checked(name, levels.get(name))


def _finish(batches: Sequence[Batch], compression: Compression) -> None:
    for batch in batches:
        batch.finish(compression)
