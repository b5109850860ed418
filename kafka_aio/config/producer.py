"""What a producer can be told: batches, memory, time-outs, guarantees. Pure."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any, ClassVar

from kafka_aio.config.client import ClientConfig
from kafka_aio.config.java import PARTITIONERS
from kafka_aio.config.option import (
    INT32,
    INT64,
    Acks,
    Bytes,
    Choice,
    Count,
    Either,
    Flag,
    Int,
    LongMilliseconds,
    Milliseconds,
    Name,
    Several,
    Thing,
    unset,
)
from kafka_aio.errors import ConfigError
from kafka_aio.serialization import Serializer

_Serializer = Annotated[Serializer | None, Thing("a function from a value to bytes")]


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class ProducerConfig(ClientConfig):
    """Options of a producer, and those of every client."""

    client: ClassVar[str] = "producer"

    key_serializer: _Serializer = None
    """From a key to bytes; none means that keys are bytes."""
    value_serializer: _Serializer = None
    """From a value to bytes; none means that values are bytes."""
    partitioner: Annotated[
        Callable[..., int] | str | None, Either(Choice(*PARTITIONERS), Thing("a function"))
    ] = None
    """A function, or "roundrobin"; none means by key, and by load where there is no key."""
    partitioner_ignore_keys: Flag = False
    """Whether the key has no say in the partition."""
    partitioner_adaptive_partitioning_enable: Flag = True
    """Whether records without a key go more to the brokers that are quick."""
    partitioner_availability_timeout_ms: LongMilliseconds = 0
    """For how long a broker may not take a batch before its partitions are avoided; 0 for ever."""
    interceptors: Annotated[Sequence[Any], Several(Thing("an object", lambda _: True))] = ()
    """Objects that see each record before it is sent (on_send) and after (on_acknowledgement)."""

    acks: Annotated[int | str, Acks()] = "all"
    """Which replicas have a batch before it counts as sent: "all" in sync, 1 the leader, 0 none."""
    enable_idempotence: Flag = field(default=unset(True))
    """Each record once and in order, retries or not; on unless acks or retries rule it out."""
    transactional_id: Name = None
    """A name for this producer's transactions, kept over restarts; none means no transactions."""
    transaction_timeout_ms: Annotated[int, Int(1, INT32)] = 60_000
    """After how long the broker aborts a transaction that has not ended."""
    max_in_flight_requests_per_connection: Count = 5
    """How many requests may be on their way to one broker; at most 5 with idempotence."""

    linger_ms: LongMilliseconds = 5
    """How long a batch may wait for more records."""
    batch_size: Bytes = 16_384
    """The bytes at which a batch is sent without waiting longer; never more than buffer_memory."""
    max_request_size: Bytes = 1_048_576
    """The most bytes of one request, and so of one record."""
    compression_type: Annotated[str, Choice("none", "gzip", "snappy", "lz4", "zstd")] = "none"
    """How batches are compressed."""
    compression_gzip_level: Annotated[int, Int(1, 9, also=-1)] = -1
    """How hard gzip tries; -1 is its own default."""
    compression_lz4_level: Annotated[int, Int(1, 17)] = 9
    """How hard lz4 tries; 9, Kafka's default, is its fast compressor."""
    compression_zstd_level: Annotated[int, Int(-131_072, 22)] = 3
    """How hard zstd tries."""
    buffer_memory: Annotated[int, Int(0, INT64, unit=" of bytes")] = 33_554_432
    """The most bytes of records that wait to be sent; a send that finds no room waits."""

    max_block_ms: LongMilliseconds = 60_000
    """How long a send may wait for that room, or for what is known of its topic."""
    delivery_timeout_ms: Milliseconds = field(default=unset(120_000))
    """After how long a record that is not acknowledged has failed, retries included."""
    retries: Annotated[int, Int(0, INT32)] = INT32
    """How often a batch is sent again; better left alone, delivery_timeout_ms ends it."""
    metadata_max_idle_ms: Annotated[int, Int(5_000, INT64)] = 300_000
    """After how long a topic that nothing is sent to is forgotten."""

    __replace__ = ClientConfig.replace

    def _notes(self) -> list[str]:
        found = ClientConfig._notes(self)
        if "enable_idempotence" in self._unset and not self.enable_idempotence:
            found.append(
                f"idempotence is off, because {self._against_idempotence()}: a retry may store a"
                " record twice or out of order"
            )
        if "delivery_timeout_ms" in self._unset and self.delivery_timeout_ms > 120_000:
            found.append(
                f"delivery_timeout_ms is {self.delivery_timeout_ms}, the sum of linger_ms and"
                " request_timeout_ms"
            )
        return found

    def _settle(self) -> None:
        ClientConfig._settle(self)
        self._settle_idempotence()
        self._settle_delivery_timeout()

    def _against_idempotence(self) -> str:
        """The option that idempotence cannot go with; empty where there is none."""
        if self.acks != "all":
            return f"acks is {self.acks}"
        return "retries is 0" if self.retries == 0 else ""

    def _settle_idempotence(self) -> None:
        against = self._against_idempotence()
        wanted = self.enable_idempotence
        is_default = "enable_idempotence" in self._unset
        if wanted and self.max_in_flight_requests_per_connection > 5:
            # Even where acks or retries would turn it off: so does Java.
            raise ConfigError(
                "max_in_flight_requests_per_connection is"
                f" {self.max_in_flight_requests_per_connection}, and idempotence allows 5: lower"
                " it, or set enable_idempotence=False"
            )
        if self.transactional_id is not None and (against or not wanted):
            raise ConfigError(
                f"transactional_id needs idempotence, but {against or 'it is turned off'}: leave"
                " acks, retries and enable_idempotence at their defaults"
            )
        if against and wanted and not is_default:
            raise ConfigError(
                f"enable_idempotence needs acks='all' and retries, but {against}: change that, or"
                " set enable_idempotence=False"
            )
        self._set("enable_idempotence", wanted and not against)

    def _settle_delivery_timeout(self) -> None:
        least = min(self.linger_ms + self.request_timeout_ms, INT32)
        if self.delivery_timeout_ms >= least:
            return
        if "delivery_timeout_ms" not in self._unset:
            raise ConfigError(
                f"delivery_timeout_ms is {self.delivery_timeout_ms}, but a record may take"
                f" linger_ms + request_timeout_ms = {least} for its first attempt: raise the one"
                " or lower the others"
            )
        self._set("delivery_timeout_ms", least)
