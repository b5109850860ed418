"""The kinds of error a user may catch. Pure.

An error carries facts; the caller decides what to do with them. Where a built-in says the same, the
class is also that built-in, so `except TimeoutError` works without importing this package.

A new kind goes here, under the kind that it is a case of, and into the list in `__init__.py`. A
code of the broker's goes into `broker.py`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from enum import Enum
from typing import Any, TypeVar


class Persistence(Enum):
    """Whether a record that was not acknowledged is in the log nevertheless."""

    NOT_PERSISTED = "not persisted"
    """It was never sent, or the broker refused it: it may be sent again."""
    POSSIBLY_PERSISTED = "possibly persisted"
    """It was sent, and nobody knows what became of it: sent again, it may be there twice."""
    PERSISTED = "persisted"
    """It is in the log, although something went wrong afterwards."""


class KafkaError(Exception):
    """Whatever this library raises on purpose.

    Attributes:
        indefinite: The request may have been carried out although it failed: it was on its way.
        persistence: What is known of the record, where this is why one was not delivered.
    """

    indefinite: bool = False
    persistence: Persistence | None = None

    def __str__(self) -> str:
        return super().__str__() + self._persistence_text()

    def _persistence_text(self) -> str:
        return "" if self.persistence is None else f" ({self.persistence.value})"


E = TypeVar("E", bound=KafkaError)


def fresh(error: E) -> E:
    """The same error for one more who waits: a traceback is not shared.

    No constructor is called: that of a class of the user's may want other arguments.
    """
    again = type(error).__new__(type(error))
    again.args = error.args
    vars(again).update(vars(error))
    again.__cause__ = error.__cause__
    return again


class ConfigError(KafkaError, ValueError):
    """An option is unknown, wrong, or contradicts another; raised before any I/O."""


class StateError(KafkaError, RuntimeError):
    """The call does not fit the state of the client: closed, not started, another loop."""


class KafkaConnectionError(KafkaError, ConnectionError):
    """No broker could be reached, or a connection was lost."""


class KafkaTimeoutError(KafkaError, TimeoutError):
    """A deadline passed: of a request, a delivery, or the wait for buffer room."""


class BufferFull(KafkaError):
    """There is no room for the record in the producer's buffer (buffer_memory) at the moment."""


class SerializationError(KafkaError, ValueError):
    """A key, value or field of a request could not be turned into bytes, or bytes into one."""


class DeserializationError(SerializationError):
    """Bytes of a record could not be turned into a key or value by the deserializer.

    Attributes:
        topic: The topic that it was read from.
        partition: The partition.
        offset: The offset of the record.
        next_offset: The offset after it, to seek past it.
        part: "key" or "value": what could not be read.
    """

    def __init__(
        self, reason: str, *, topic: str, partition: int, offset: int, part: str = "value"
    ) -> None:
        super().__init__(reason, topic, partition, offset, part)
        self.reason = reason
        self.topic = topic
        self.partition = partition
        self.offset = offset
        self.next_offset = offset + 1
        self.part = part

    def __str__(self) -> str:
        return (
            f"{self.topic}-{self.partition} at offset {self.offset}: the {self.part} cannot be"
            f" deserialized: {self.reason}; seek to {self.next_offset} to skip the record"
        )

    def __reduce__(self) -> tuple[object, ...]:
        return (_rebuild_deserialization_error, (type(self), *self.args))


def _rebuild_deserialization_error(
    cls: type[DeserializationError], reason: str, topic: str, partition: int, offset: int, part: str
) -> DeserializationError:
    return cls(reason, topic=topic, partition=partition, offset=offset, part=part)


class UserCodeError(KafkaError):
    """Code of yours that the client calls has raised: a rebalance callback, an assignor.

    The cause is what it raised.

    Attributes:
        partitions: What it was told of; empty for an assignor.
    """

    def __init__(self, text: str, partitions: Iterable[Any] = ()) -> None:
        super().__init__(text)
        self.partitions = tuple(partitions)


class CommitFailed(KafkaError):
    """Offsets were not committed, as the group does not take them from this member.

    Or it is not known whether they were, where the partition was given up before the answer came:
    then it is `indefinite`.

    Attributes:
        offsets: What was to be committed where, and was not.
        partitions: Where.
    """

    def __init__(self, text: str, offsets: Mapping[Any, Any] | None = None) -> None:
        super().__init__(text)
        self.offsets = dict(offsets or {})
        self.partitions = tuple(self.offsets)


class WakeupError(KafkaError):
    """Somebody called `wakeup()`: whoever reads is to stop waiting. Nothing is wrong."""


class RecordTooLarge(KafkaError, ValueError):
    """A record is larger than one request may be (max_request_size), or than the whole buffer."""


class DeliveryError(KafkaError):
    """Records were not delivered.

    Attributes:
        count: How many.
        by_partition: How many of each partition.
        causes: Why: one error for each reason, the first ones.
    """

    def __init__(
        self,
        text: str,
        *,
        count: int = 0,
        by_partition: Mapping[Any, int] | None = None,
        causes: tuple[KafkaError, ...] = (),
    ) -> None:
        super().__init__(text)
        self.count = count
        self.by_partition = dict(by_partition or {})
        self.causes = causes


class SendManyError(DeliveryError):
    """Some of the records of one `send_many` were not delivered, or not even accepted.

    Attributes:
        accepted: How many were accepted; the others were not sent.
        failed: The error of each record that was accepted and not delivered, by its index.
        deliveries: Those of the records that were accepted; some may be pending.
    """

    def __init__(
        self,
        text: str,
        *,
        accepted: int,
        failed: Mapping[int, KafkaError],
        deliveries: Any = None,
        **facts: Any,
    ) -> None:
        super().__init__(text, **facts)
        self.accepted = accepted
        self.failed = failed
        self.deliveries = deliveries


class ProtocolError(KafkaError):
    """The peer sent bytes that cannot be accepted."""


class CorrelationIdError(ProtocolError):
    """An answer came that belongs to no request, or out of turn."""


class CorruptRecord(ProtocolError):
    """A record batch is damaged: its CRC, its structure, or its compressed payload.

    Attributes:
        topic: The topic it was read from; empty where the bytes had no topic.
        partition: The partition; -1 where unknown.
        offset: The first offset that could not be read; -1 where unknown.
        next_offset: The offset after the damaged batch, to seek past it; -1 where unknown.
    """

    def __init__(
        self,
        reason: str,
        *,
        topic: str = "",
        partition: int = -1,
        offset: int = -1,
        next_offset: int = -1,
    ) -> None:
        super().__init__(reason, topic, partition, offset, next_offset)
        self.reason = reason
        self.topic = topic
        self.partition = partition
        self.offset = offset
        self.next_offset = next_offset

    def __str__(self) -> str:
        place = f"{self.topic}-{self.partition}" if self.topic else "record batch"
        at = f" at offset {self.offset}" if self.offset >= 0 else ""
        can_skip = self.next_offset > self.offset
        advice = f"; seek to {self.next_offset} to skip it" if can_skip else ""
        return f"{place}{at}: {self.reason}{advice}"

    def __reduce__(self) -> tuple[object, ...]:
        return (_rebuild_corrupt_record, self.args)


def _rebuild_corrupt_record(
    reason: str, topic: str, partition: int, offset: int, next_offset: int
) -> CorruptRecord:
    return CorruptRecord(
        reason, topic=topic, partition=partition, offset=offset, next_offset=next_offset
    )


class UnsupportedVersion(ProtocolError):
    """The two sides share no version of an API, or a value has no place in the version shared."""


class AuthenticationError(KafkaError):
    """The broker refused our credentials, or we refused its proof. An answer, not a fault."""


_class_by_code: dict[int, type[BrokerError]] = {}


class BrokerError(KafkaError):
    """The broker answered with an error code; `broker.py` declares one class for each.

    A class states its facts as keywords, and its docstring is the message of its instances:

        class NotLeaderOrFollower(BrokerError, code=6, retriable=True, stale_metadata=True):
            "This node does not lead the partition any more; ..."

    Attributes:
        code: Kafka's number of the error.
        name: Kafka's name of it, such as NOT_LEADER_OR_FOLLOWER.
        retriable: The same request may succeed later. Whether to try is the caller's decision.
        stale_metadata: What we know of the cluster is out of date; refresh it first.
        message: What the broker said itself; empty where it said nothing.
        where: The topic, partition, group or node that it is about; empty where unknown.
    """

    code: int = 0
    name: str = ""
    retriable: bool = False
    stale_metadata: bool = False

    def __init_subclass__(
        cls,
        *,
        code: int | None = None,
        name: str = "",
        retriable: bool = False,
        stale_metadata: bool = False,
    ) -> None:
        super().__init_subclass__()
        if code is None:  # a grouping, such as AuthorizationError
            return
        if code in _class_by_code:
            taken = _class_by_code[code].__name__
            raise TypeError(f"{cls.__name__}: broker error code {code} is {taken} already")
        cls.code = code
        cls.name = name or re.sub(r"(?<=.)(?=[A-Z])", "_", cls.__name__).upper()
        cls.retriable = retriable
        cls.stale_metadata = stale_metadata
        _class_by_code[code] = cls

    def __init__(self, message: str | None = None, *, where: str = "") -> None:
        super().__init__(message or "")
        self.message = message or ""
        self.where = where

    def __str__(self) -> str:
        place = f"{self.where}: " if self.where else ""
        said = f"; the broker says: {self.message}" if self.message else ""
        meaning = (type(self).__doc__ or type(self).__name__).partition("\n")[0].rstrip(".")
        known = self._persistence_text()
        return f"{place}{meaning} ({self.name}, code {self.code}){said}{known}"

    def __reduce__(self) -> tuple[object, ...]:
        facts = {"where": self.where}
        return (_rebuild_broker_error, (type(self), self.message, facts))


class UnknownBrokerError(BrokerError):
    """The broker sent an error code that this version does not know; a newer one may."""

    name = "UNKNOWN"

    def __init__(self, message: str | None = None, *, where: str = "", code: int) -> None:
        super().__init__(message, where=where)
        self.code = code

    def __reduce__(self) -> tuple[object, ...]:
        facts = {"where": self.where, "code": self.code}
        return (_rebuild_broker_error, (type(self), self.message, facts))


def _rebuild_broker_error(
    cls: type[BrokerError], message: str, facts: Mapping[str, Any]
) -> BrokerError:
    return cls(message, **facts)


def for_code(code: int, message: str | None = None, where: str = "") -> BrokerError:
    """A fresh error for a code of Kafka's. Any number is fine: one we do not know says so.

    Code 0 means that nothing went wrong; it is not looked up by callers.
    """
    known = _class_by_code.get(code)
    if known is None:
        return UnknownBrokerError(message, where=where, code=code)
    return known(message, where=where)
