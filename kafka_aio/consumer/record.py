"""A record whose key and value were deserialized. Pure."""

from __future__ import annotations

from typing import Generic, NamedTuple, Protocol, TypeVar

from kafka_aio.records.layout import Header
from kafka_aio.types import TimestampType

K = TypeVar("K")
V = TypeVar("V")


class ConsumerRecord(NamedTuple, Generic[K, V]):
    """What a consumer with deserializers hands over, in the shape of `Record`.

    That one may not hold any object: it is not looked at by the garbage collector.
    """

    topic: str
    partition: int
    offset: int
    timestamp: int
    """Milliseconds since 1970."""
    key: K | None
    value: V | None
    """None is a tombstone."""
    headers: tuple[Header, ...] = ()
    timestamp_type: TimestampType = TimestampType.CREATE_TIME
    leader_epoch: int = -1


K_co = TypeVar("K_co", covariant=True)
V_co = TypeVar("V_co", covariant=True)


class ReadRecord(Protocol[K_co, V_co]):
    """What a consumer hands over: a `Record`, or a `ConsumerRecord` where it has deserializers."""

    @property
    def topic(self) -> str: ...
    @property
    def partition(self) -> int: ...
    @property
    def offset(self) -> int: ...
    @property
    def timestamp(self) -> int: ...
    @property
    def timestamp_type(self) -> TimestampType: ...
    @property
    def key(self) -> K_co | None: ...
    @property
    def value(self) -> V_co | None: ...
    @property
    def headers(self) -> tuple[Header, ...]: ...
    @property
    def leader_epoch(self) -> int: ...
