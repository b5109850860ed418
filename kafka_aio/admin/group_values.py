"""What the calls of `Admin` about groups take and return. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import IntEnum, StrEnum
from typing import Any, Self, TypeVar

from kafka_aio.errors import KafkaError
from kafka_aio.types import Node, TopicPartition

E = TypeVar("E", bound=StrEnum)


class GroupState(StrEnum):
    """What a group is doing, in Kafka's words."""

    UNKNOWN = "Unknown"
    EMPTY = "Empty"
    """Without members; its offsets are kept."""
    PREPARING_REBALANCE = "PreparingRebalance"
    COMPLETING_REBALANCE = "CompletingRebalance"
    ASSIGNING = "Assigning"
    RECONCILING = "Reconciling"
    STABLE = "Stable"
    NOT_READY = "NotReady"
    """Of Kafka Streams: a topic is missing, for one."""
    DEAD = "Dead"

    @classmethod
    def _missing_(cls, value: object) -> GroupState:
        return cls.UNKNOWN  # a newer broker's


class GroupType(StrEnum):
    """Which protocol the members of a group speak, in Kafka's words."""

    UNKNOWN = "Unknown"
    CLASSIC = "Classic"
    CONSUMER = "Consumer"
    """KIP-848."""
    SHARE = "Share"
    STREAMS = "Streams"

    @classmethod
    def _missing_(cls, value: object) -> GroupType:
        """Brokers write these as they like: it is `classic` in one answer, `Classic` in another."""
        words = {kind.value.lower(): kind for kind in cls}
        return words.get(str(value).lower(), cls.UNKNOWN)


class AclOperation(IntEnum):
    """What somebody may be allowed to do; the numbers are those of the wire."""

    READ = 3
    WRITE = 4
    CREATE = 5
    DELETE = 6
    ALTER = 7
    DESCRIBE = 8
    CLUSTER_ACTION = 9
    DESCRIBE_CONFIGS = 10
    ALTER_CONFIGS = 11
    IDEMPOTENT_WRITE = 12
    CREATE_TOKENS = 13
    DESCRIBE_TOKENS = 14
    TWO_PHASE_COMMIT = 15


@dataclass(frozen=True, slots=True)
class GroupListing:
    """A group, as a list of all has it."""

    group_id: str
    type: GroupType
    state: GroupState
    protocol_type: str
    """`consumer`, or what else it is for, such as `connect`; empty where it only keeps offsets."""
    coordinator: int
    """The id of the node that looks after it."""


@dataclass(frozen=True, slots=True)
class GroupList:
    """All groups of a cluster, as far as its nodes could be asked."""

    groups: tuple[GroupListing, ...]
    """By id."""
    errors: Mapping[int, KafkaError] = field(default_factory=dict)
    """Of the nodes that could not be asked, by id: their groups are missing."""


@dataclass(frozen=True, slots=True)
class GroupMember:
    """A member of a group."""

    member_id: str
    client_id: str
    host: str
    assignment: tuple[TopicPartition, ...]
    """What it has; empty too where it is no consumer."""
    instance_id: str | None = None
    """The id of a static member (KIP-345)."""
    rack: str | None = None
    target_assignment: tuple[TopicPartition, ...] | None = None
    """What it is to have; None in a classic group."""
    epoch: int | None = None
    """How far it is on the way to that; None in a classic group."""
    subscribed_topics: tuple[str, ...] = ()
    """What it wants to read; not known of a classic group."""
    subscribed_pattern: str | None = None
    is_classic: bool | None = None
    """Whether it speaks the classic protocol; None where the broker does not say."""


@dataclass(frozen=True, slots=True)
class GroupDescription:
    """A group and its members, by their ids."""

    group_id: str
    type: GroupType
    state: GroupState
    protocol_type: str
    """`consumer`, or what else it is for; empty where it only keeps offsets."""
    assignor: str
    """Who shares the partitions out, such as `range`; empty where nothing is assigned."""
    members: tuple[GroupMember, ...]
    coordinator: Node | None = None
    """The node that looks after it."""
    epoch: int | None = None
    """Grows when subscriptions or topics change; None in a classic group."""
    target_assignment_epoch: int | None = None
    """The epoch that the target assignment was made for; None in a classic group."""
    authorized_operations: frozenset[AclOperation] | None = None
    """What we may do with it; None where that was not asked."""

    @property
    def is_active(self) -> bool:
        """Whether it has members."""
        return bool(self.members) or self.state not in (GroupState.EMPTY, GroupState.DEAD)


def check_id(group: object) -> None:
    """Whether it can be the id of a group.

    Raises:
        TypeError: It is not a str.
    """
    if not isinstance(group, str):
        raise TypeError(f"a group is named by its id, a str, not {type(group).__name__}")


def words_of(what: str, given: Iterable[Any], kind: type[E]) -> list[str]:
    """Words of an enumeration, in any case, as a broker writes them.

    Raises:
        TypeError: It is one word, not a list.
        ValueError: There is no such word.
    """
    if isinstance(given, str) or not isinstance(given, Iterable):
        raise TypeError(f"{what} takes a list of {kind.__name__}, not one {type(given).__name__}")
    known = {word.value.lower(): word.value for word in kind if word.name != "UNKNOWN"}
    found = []
    for word in given:
        if str(word).lower() not in known:
            raise ValueError(f"{what}: there is no {word!r}; give some of {', '.join(known)}")
        found.append(known[str(word).lower()])
    return found


@dataclass(frozen=True, slots=True, order=True)
class Departure:
    """A member to be removed: by its instance id, or by its member id."""

    member_id: str = ""
    instance_id: str | None = None

    def __str__(self) -> str:
        return self.member_id if self.instance_id is None else self.instance_id

    @classmethod
    def of(cls, member: GroupMember) -> Self:
        """By what stays the same: the instance id, if it has one."""
        if member.instance_id is None:
            return cls(member.member_id)
        return cls(instance_id=member.instance_id)
