"""What becomes of batches that were sent: delivered, sent again, split or failed.

    answered: each batch has its own word   lost: the request came to nothing   expired: too late

It tells the accumulator, and the sequences where records have numbers.
"""

from __future__ import annotations

import asyncio
import logging
import random
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from kafka_aio.backoff import Backoff
from kafka_aio.errors import (
    AuthenticationError,
    BrokerError,
    ClusterAuthorizationFailed,
    DuplicateSequenceNumber,
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
    SerializationError,
    TransactionalIdAuthorizationFailed,
    UnsupportedVersion,
    for_code,
    fresh,
)
from kafka_aio.metadata import Leader
from kafka_aio.net import clock
from kafka_aio.net.cluster import Cluster
from kafka_aio.producer.accumulator import Accumulator
from kafka_aio.producer.batch import Batch, Phase
from kafka_aio.producer.failures import Failures
from kafka_aio.producer.requests import answers, blamed
from kafka_aio.producer.sequences import Sequences
from kafka_aio.protocol.messages.produce import PartitionProduceResponse, ProduceResponse
from kafka_aio.records.compression import Compression

if TYPE_CHECKING:
    from kafka_aio.config import ProducerConfig

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


class Settling:
    """Settles batches."""

    def __init__(
        self,
        cluster: Cluster,
        accumulator: Accumulator[asyncio.Event],
        sequences: Sequences | None,
        failures: Failures,
        config: ProducerConfig,
    ) -> None:
        self._cluster = cluster
        self._accumulator = accumulator
        self._sequences = sequences
        self._failures = failures
        self._rng: random.Random = clock.rng()
        self._loop = asyncio.get_running_loop()
        self._delivery_timeout = config.delivery_timeout_ms / 1000
        self._retries = config.retries
        self._backoff = Backoff(config.retry_backoff_ms / 1000, config.retry_backoff_max_ms / 1000)
        self.compression = compression_of(config)
        self.delivered = 0
        """Records that were acknowledged."""
        self.retried = 0
        """How often a batch was put back to be sent again."""

    def __repr__(self) -> str:
        return f"<Settling: {self.delivered} records delivered, {self.retried} batches sent again>"

    def posted(self, batches: Sequence[Batch]) -> None:
        """They were sent with acks=0: nothing more is ever known of them."""
        for batch in batches:
            self._deliver(batch, -1, -1)

    def expire(self, now: float) -> bool:
        """Fail the batches whose time is over. Whether there were any."""
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
        return bool(overdue)

    def answered(self, batches: Sequence[Batch], response: ProduceResponse) -> None:
        """The broker has answered a request with these batches.

        Raises:
            BrokerError: We may not produce at all.
        """
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
        if self._sequences is not None and batch.phase is Phase.IN_FLIGHT:
            self._sequences.delivered(batch)
        if self._accumulator.delivered(batch, base_offset, log_append_time):
            self.delivered += batch.record_count

    def _refuse(self, batch: Batch, error: BrokerError, answer: PartitionProduceResponse) -> None:
        """The broker has not taken the batch, and says why."""
        if isinstance(error, DuplicateSequenceNumber) and self._sequences is not None:
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
            self.fail(batch, *blamed(batch, error, answer))

    def _may_be_split(self, batch: Batch, error: BrokerError) -> bool:
        """Without numbers not if it may be in the log: its parts would be there once more."""
        is_too_large = isinstance(error, _TOO_LARGE) and batch.record_count > 1
        return is_too_large and (self._sequences is not None or not batch.may_be_persisted)

    def _may_be_sent_again(self, batch: Batch, error: KafkaError) -> bool:
        """Whether a batch that was sent is worth another attempt."""
        if batch.phase is Phase.EXPIRED:
            return False
        is_doubtful_part = bool(batch.rank) and batch.may_be_persisted
        if is_doubtful_part and isinstance(error, OutOfOrderSequenceNumber):
            return False  # the broker may have the whole, and does not know its parts for the same
        if self._sequences is not None:
            is_worth_it = self._sequences.came_back(batch, error)
        else:
            is_worth_it = error.retriable if isinstance(error, BrokerError) else True
        return is_worth_it and batch.attempts < self._retries

    def _give_up(self, batch: Batch) -> None:
        """Its numbers may be in the log or not."""
        if self._sequences is not None and batch.is_stamped and batch.phase is not Phase.EXPIRED:
            self._sequences.failed(batch)

    def _split(self, batch: Batch) -> None:
        count = batch.record_count
        logger.info("%s: a batch of %d records is too large: it is split", batch.partition, count)
        parts = self._accumulator.split(batch, self.compression)
        if self._sequences is not None and parts:
            self._sequences.split(batch, parts)

    def lost(self, batches: Sequence[Batch], error: KafkaError) -> None:
        """The request as a whole came to nothing."""
        for batch in batches:
            if isinstance(error, AuthenticationError | UnsupportedVersion | SerializationError):
                self.fail(batch, error)
            elif error.indefinite or isinstance(error, ProtocolError):
                self._unknown(batch, error)
            else:
                self._unsent(batch, error)

    def _unsent(self, batch: Batch, error: KafkaError) -> None:
        """It stays as it was, and that was no attempt."""
        batch.error = error
        if self._sequences is not None and batch.phase is Phase.IN_FLIGHT:
            self._sequences.came_back(batch, error)
        self._accumulator.unsent(batch)

    def _unknown(self, batch: Batch, error: KafkaError) -> None:
        """Nobody knows whether the broker has it."""
        batch.may_be_persisted = True
        if self._may_be_sent_again(batch, error):
            self._retry(batch, error)
        else:
            self.fail(batch, error)

    def _retry(self, batch: Batch, error: KafkaError) -> None:
        pause = self._backoff.delay(batch.attempts, jitter=self._rng.uniform(-1, 1))
        self.retried += 1
        logger.debug("%s is sent again in %.3f s: %s", batch.partition, pause, error)
        self._accumulator.retry(batch, error, not_before=self._loop.time() + pause)

    def fail(
        self, batch: Batch, error: KafkaError, by_index: dict[int, KafkaError] | None = None
    ) -> None:
        """Its records are not delivered: whoever awaits one of them is told, with what is known."""
        its_own = fresh(error)
        for each in (its_own, *(by_index or {}).values()):
            each.persistence = batch.persistence
        self._give_up(batch)
        if self._accumulator.failed(batch, its_own, by_index or None):
            self._failures.add(batch.outcome)


def compression_of(config: ProducerConfig) -> Compression:
    """How a producer compresses its batches."""
    name = config.compression_type
    levels = {
        "gzip": config.compression_gzip_level,
        "lz4": config.compression_lz4_level,
        "zstd": config.compression_zstd_level,
    }
    return Compression.checked(name, levels.get(name))
