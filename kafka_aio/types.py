"""The small values that calls take and return; `Record` is the codec's (`records`). Pure."""

from __future__ import annotations

import json
import re
from base64 import urlsafe_b64decode
from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import IntEnum
from typing import Any, Final, NamedTuple, Self

MAX_TEXT: Final = 2**15 - 1
"""The most bytes of a text in a request of Kafka's."""


def check_number(what: str, value: object, *, bits: int) -> None:
    """Whether a number from 0 on can be sent in so many bits, the sign's among them.

    Raises:
        TypeError, ValueError: It cannot.
    """
    if isinstance(value, bool) or not isinstance(value, int):
        raise TypeError(f"{what} is an int, not {value!r:.60}")
    if value < 0:
        raise ValueError(f"{what} is 0 or more, not {value}")
    if value.bit_length() >= bits:
        raise ValueError(f"{what} is below 2**{bits - 1}")


def check_text(what: str, value: object, *, most: int | None = MAX_TEXT) -> None:
    """Whether a text can be sent, in so many bytes at most.

    Raises:
        TypeError, ValueError: It cannot.
    """
    if not isinstance(value, str):
        raise TypeError(f"{what} is a str, not <{type(value).__qualname__}>")
    try:
        size = len(value.encode())
    except UnicodeEncodeError:
        raise ValueError(f"{what} cannot be sent as UTF-8: it has a lone surrogate") from None
    if most is not None and size > most:
        raise ValueError(f"{what} has {size:,} bytes in UTF-8, and {most:,} at most can be sent")


class TopicPartition(NamedTuple):
    """A partition of a topic: a tuple, so that it is cheap as the key of a dict."""

    topic: str
    partition: int

    def __str__(self) -> str:
        return f"{self.topic}-{self.partition}"


def by_topic(partitions: Iterable[TopicPartition]) -> dict[str, list[int]]:
    """Their numbers, by topic; topics and numbers in the order given."""
    found: dict[str, list[int]] = {}
    for topic, number in partitions:
        found.setdefault(topic, []).append(number)
    return found


class TimestampType(IntEnum):
    """What a record's timestamp tells; the numbers are those of the wire."""

    NO_TIMESTAMP = -1
    CREATE_TIME = 0
    LOG_APPEND_TIME = 1


class RecordMetadata(NamedTuple):
    """Where a record was stored. A tuple, because one is made for every record awaited."""

    topic: str
    partition: int
    offset: int
    """Its offset; -1 where the broker was not asked to acknowledge (acks=0)."""
    timestamp: int
    """Milliseconds since 1970, as the producer or the broker set it; -1 where there is none."""
    timestamp_type: TimestampType = TimestampType.CREATE_TIME

    @property
    def topic_partition(self) -> TopicPartition:
        return TopicPartition(self.topic, self.partition)

    def __str__(self) -> str:
        return f"{self.topic}-{self.partition}@{self.offset}"


@dataclass(frozen=True, slots=True)
class OffsetAndMetadata:
    """An offset to commit, or one committed: that of the next record to read.

    Raises:
        TypeError, ValueError: A value is not of its type, or cannot be sent.
    """

    offset: int
    metadata: str = ""
    """Any text to keep with it."""
    leader_epoch: int | None = None
    """The leader's epoch of the record before it, by which a truncated log is found out."""

    def __post_init__(self) -> None:
        check_number("an offset to commit", self.offset, bits=64)
        check_text("the metadata of an offset", self.metadata)
        if self.leader_epoch is not None:
            check_number("a leader epoch", self.leader_epoch, bits=32)


@dataclass(frozen=True, slots=True)
class OffsetAndTimestamp:
    """The first record at or after a time that was asked for."""

    offset: int
    timestamp: int
    """The record's own timestamp, in milliseconds since 1970."""
    leader_epoch: int | None = None


@dataclass(frozen=True, slots=True)
class Node:
    """A broker of the cluster, at the address that it advertises."""

    id: int
    host: str
    port: int
    rack: str | None = None

    def __str__(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{host}:{self.port} (node {self.id})"


@dataclass(frozen=True, slots=True)
class PartitionInfo:
    """A partition as the cluster last described it."""

    topic: str
    partition: int
    leader: Node | None
    """The node that takes writes; None during an election."""
    replicas: tuple[Node, ...] = ()
    in_sync_replicas: tuple[Node, ...] = ()
    offline_replicas: tuple[Node, ...] = ()

    @property
    def topic_partition(self) -> TopicPartition:
        return TopicPartition(self.topic, self.partition)


@dataclass(frozen=True, slots=True)
class ConsumerGroupMetadata:
    """A member's place in its group, by which a transaction's offset commit is fenced (KIP-447)."""

    group_id: str
    generation_id: int = -1
    """The generation of a classic group, or the member epoch of a consumer group (KIP-848)."""
    member_id: str = ""
    group_instance_id: str | None = None


@dataclass(frozen=True, slots=True)
class SubscriptionPattern:
    """A pattern of topic names in RE2 syntax, which the broker matches itself (KIP-848).

    Raises:
        TypeError, ValueError: It is empty, or cannot be sent.
    """

    pattern: str

    def __post_init__(self) -> None:
        check_text("a pattern of topics", self.pattern)
        if not self.pattern:
            raise ValueError("an empty pattern matches no topic: '.*' matches all")


_BEARER = re.compile(r"[A-Za-z0-9._~+/-]+=*")  # RFC 6750
_LATEST = 100_000_000_000  # the year 5138; in milliseconds, 1973


@dataclass(frozen=True, slots=True)
class BearerToken:
    """A token for SASL/OAUTHBEARER. Its `repr` does not show it.

    Raises:
        ValueError: The value is no bearer token, or a time is not in seconds since 1970.
    """

    value: str = field(repr=False)
    expires_at: float | None = None
    """Its end, in seconds since 1970; None where that is not known: then it is kept for ever."""
    issued_at: float | None = None
    """Its beginning, from which its life is counted; None means the moment that we got it."""

    def __post_init__(self) -> None:
        if not _BEARER.fullmatch(self.value):
            raise ValueError(
                "a bearer token has letters, digits and ._~+/-= in it, no spaces or line ends"
            )
        # Of a str that hides itself (`Secret`) this is the text.
        object.__setattr__(self, "value", str.__str__(self.value))
        for name in ("expires_at", "issued_at"):
            given = getattr(self, name)
            if given is not None and not _is_time(given):
                raise ValueError(f"{name} of a token is a number of seconds since 1970, or None")

    @classmethod
    def parse(cls, text: str) -> Self:
        """A token with the times that it has in itself, if it is a JWT; nothing else is checked.

        Raises:
            ValueError: The text is no bearer token.
        """
        claims = _claims(text)
        times = (claims.get("exp"), claims.get("iat"))
        return cls(text, *(time if _is_time(time) else None for time in times))


def _is_time(value: object) -> bool:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return is_number and 0 <= value < _LATEST  # type: ignore[operator]  # it is a number


def _claims(text: str) -> dict[str, Any]:
    """What a JWT says of itself; nothing where the text is none."""
    parts = text.split(".")
    try:
        found = json.loads(urlsafe_b64decode(parts[1] + "==")) if len(parts) == 3 else {}
    except (ValueError, RecursionError):  # not base64, not UTF-8, not JSON, or nested for ever
        return {}
    return found if isinstance(found, dict) else {}


class ConfigSource(IntEnum):
    """Where the value of an option comes from; the numbers are those of the wire."""

    UNKNOWN = 0
    TOPIC = 1
    DYNAMIC_BROKER = 2
    DYNAMIC_DEFAULT_BROKER = 3
    STATIC_BROKER = 4
    DEFAULT = 5
    DYNAMIC_BROKER_LOGGER = 6
    CLIENT_METRICS = 7
    GROUP = 8

    @classmethod
    def _missing_(cls, value: object) -> ConfigSource:
        return cls.UNKNOWN  # a newer broker's


class ConfigType(IntEnum):
    """What kind of value an option has; the numbers are those of the wire."""

    UNKNOWN = 0
    BOOLEAN = 1
    STRING = 2
    INT = 3
    SHORT = 4
    LONG = 5
    DOUBLE = 6
    LIST = 7
    CLASS = 8
    PASSWORD = 9

    @classmethod
    def _missing_(cls, value: object) -> ConfigType:
        return cls.UNKNOWN
