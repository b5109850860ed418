"""Records as the user gets them: one with its key and value deserialized, and lists. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Generic, NamedTuple, Protocol, TypeVar

from kafka_aio.records.layout import Header
from kafka_aio.types import TimestampType

K = TypeVar("K")
V = TypeVar("V")
R = TypeVar("R")


class Polled(list[R]):
    """Records of a partition, as one `poll` hands them over: a list that knows where it began.

    Attributes:
        begin: Where the records ended that were handed over before; or where one has gone by a seek
            since then, if that is earlier. From there to the first of these nothing was handed
            over: the log has no records there for us, or they were sought past.
    """

    __slots__ = ("begin",)

    def __init__(self, records: Iterable[R], begin: int) -> None:
        super().__init__(records)
        self.begin = begin


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
