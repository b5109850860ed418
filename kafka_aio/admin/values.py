"""What the calls of `Admin` take and return. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import IntEnum
from typing import Any, Self, TypeVar

from kafka_aio.errors import KafkaError
from kafka_aio.types import ConfigSource, ConfigType, Node

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class NewTopic:
    """A topic to create.

    Raises:
        TypeError: Its name is no str, a number no int, its options or assignments no mapping.
        ValueError: A number cannot be sent, or numbers and assignments contradict each other.
    """

    name: str
    partitions: int = -1
    """How many; -1 leaves it to the broker's num.partitions."""
    replication_factor: int = -1
    """How many replicas each has; -1 leaves it to the broker's default.replication.factor."""
    assignments: Mapping[int, Sequence[int]] = field(default_factory=dict)
    """By partition, the nodes of its replicas, the preferred leader first; instead of numbers."""
    configs: Mapping[str, str] = field(default_factory=dict)
    """Options of the topic, such as {"cleanup.policy": "compact"}."""

    def __post_init__(self) -> None:
        _check("the name of a topic", self.name, str)
        check_number(f"topic {self.name!r}: partitions", self.partitions, -1, 2**31 - 1)
        check_number(
            f"topic {self.name!r}: replication_factor", self.replication_factor, -1, 2**15 - 1
        )
        _check(f"topic {self.name!r}: assignments", self.assignments, Mapping)
        _check(f"topic {self.name!r}: configs", self.configs, Mapping)
        for name, value in self.configs.items():
            _check(f"topic {self.name!r}: the value of {name!r}", value, str)
        if self.assignments and (self.partitions, self.replication_factor) != (-1, -1):
            raise ValueError(
                f"topic {self.name!r}: give its assignments, or its partitions and"
                " replication_factor, not both"
            )


@dataclass(frozen=True, slots=True)
class TopicCreated:
    """A topic as it was created."""

    name: str
    topic_id: str
    partitions: int
    """-1 where we may not describe the topic."""
    replication_factor: int
    configs: Mapping[str, ConfigEntry] = field(default_factory=dict, repr=False)
    """All its options; empty where we may not describe the topic."""


@dataclass(frozen=True, slots=True)
class NewPartitions:
    """How many partitions a topic is to have in all.

    Raises:
        TypeError: It is no number.
        ValueError: There is no such number.
    """

    total: int
    assignments: Sequence[Sequence[int]] = ()
    """For each new partition the nodes of its replicas; empty leaves it to the broker."""

    def __post_init__(self) -> None:
        check_number("the number of partitions", self.total, 1, 2**31 - 1)


@dataclass(frozen=True, slots=True)
class TopicListing:
    """A topic, as a list of all has it."""

    name: str
    topic_id: str
    is_internal: bool


@dataclass(frozen=True, slots=True)
class PartitionDescription:
    """A partition and where it is kept."""

    partition: int
    leader: Node | None
    """None during an election."""
    leader_epoch: int
    replicas: tuple[int, ...]
    """Node ids, the preferred leader first."""
    in_sync_replicas: tuple[int, ...]
    offline_replicas: tuple[int, ...]
    eligible_leader_replicas: tuple[int, ...] | None = None
    """Those that may lead although they are not in sync (KIP-966); None where not known."""
    last_known_eligible: tuple[int, ...] | None = None


@dataclass(frozen=True, slots=True)
class TopicDescription:
    """A topic and its partitions, in order."""

    name: str
    topic_id: str
    is_internal: bool
    partitions: tuple[PartitionDescription, ...]


class ConfigResourceKind(IntEnum):
    """What has options; the numbers are those of the wire."""

    TOPIC = 2
    BROKER = 4
    BROKER_LOGGER = 8
    CLIENT_METRICS = 16
    GROUP = 32


@dataclass(frozen=True, slots=True, order=True)
class ConfigResource:
    """A topic, a broker or a group, as something that has options.

    Raises:
        TypeError: It is not a kind and a name.
    """

    kind: ConfigResourceKind
    name: str

    def __post_init__(self) -> None:
        _check("the kind of a resource", self.kind, ConfigResourceKind)
        _check(f"the name of a {self.kind.name.lower()}", self.name, str)

    def __str__(self) -> str:
        return f"{self.kind.name.lower().replace('_', ' ')} {self.name or '(default)'}"

    @classmethod
    def topic(cls, name: str) -> Self:
        return cls(ConfigResourceKind.TOPIC, name)

    @classmethod
    def broker(cls, node_id: int | None) -> Self:
        """The options of one node, or with None those that all nodes have if not set."""
        return cls(ConfigResourceKind.BROKER, "" if node_id is None else str(node_id))

    @classmethod
    def broker_logger(cls, node_id: int) -> Self:
        return cls(ConfigResourceKind.BROKER_LOGGER, str(node_id))

    @classmethod
    def group(cls, group_id: str) -> Self:
        return cls(ConfigResourceKind.GROUP, group_id)


@dataclass(frozen=True, slots=True)
class ConfigEntry:
    """An option and its value."""

    name: str
    value: str | None
    """None where it is sensitive: brokers do not tell it, and we would not show it."""
    source: ConfigSource = ConfigSource.UNKNOWN
    is_read_only: bool = False
    is_sensitive: bool = False
    type: ConfigType = ConfigType.UNKNOWN
    documentation: str = field(default="", repr=False)
    synonyms: tuple[tuple[str, str | None, ConfigSource], ...] = ()
    """What else would set it: name, value and source, the strongest first."""

    def __post_init__(self) -> None:
        if self.is_sensitive:
            hidden = tuple((name, None, source) for name, _, source in self.synonyms)
            object.__setattr__(self, "value", None)
            object.__setattr__(self, "synonyms", hidden)

    @property
    def is_default(self) -> bool:
        return self.source is ConfigSource.DEFAULT


class ConfigOperation(IntEnum):
    """What is done to an option; the numbers are those of the wire (KIP-339)."""

    SET = 0
    DELETE = 1
    APPEND = 2
    SUBTRACT = 3


@dataclass(frozen=True, slots=True)
class ConfigChange:
    """One change of one option. Its value is not shown: it may be a password.

    Raises:
        TypeError: The name, or the value that is needed, is no str.
    """

    operation: ConfigOperation
    name: str
    value: str | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        _check("the operation of a change", self.operation, ConfigOperation)
        _check("the name of an option", self.name, str)
        if self.operation is not ConfigOperation.DELETE:
            _check(f"the value of {self.name}", self.value, str)

    @classmethod
    def set(cls, name: str, value: str) -> Self:
        return cls(ConfigOperation.SET, name, value)

    @classmethod
    def delete(cls, name: str) -> Self:
        """Back to the default."""
        return cls(ConfigOperation.DELETE, name)

    @classmethod
    def append(cls, name: str, value: str) -> Self:
        """Add to an option that is a list."""
        return cls(ConfigOperation.APPEND, name, value)

    @classmethod
    def subtract(cls, name: str, value: str) -> Self:
        """Take out of an option that is a list."""
        return cls(ConfigOperation.SUBTRACT, name, value)


@dataclass(frozen=True, slots=True)
class ClusterDescription:
    """The cluster as a broker describes it."""

    cluster_id: str
    controller: Node | None
    nodes: tuple[Node, ...]
    """By id."""


@dataclass(frozen=True, slots=True)
class ApiVersionRange:
    """The versions of an API that a broker has."""

    key: int
    name: str
    """Empty where we do not know the API."""
    first: int
    last: int
    used: int | None
    """The version that we speak with it; None where there is none in common."""


@dataclass(frozen=True, slots=True)
class Feature:
    """A feature of the cluster (KIP-584)."""

    name: str
    supported: tuple[int, int]
    """The levels that this node can have."""
    finalized: int | None = None
    """The level that the cluster has agreed on."""


@dataclass(frozen=True, slots=True)
class NodeStatus:
    """What a node tells about itself when it is asked directly."""

    node: Node
    error: KafkaError | None = None
    """Why it could not be asked."""
    round_trips: tuple[float, ...] = ()
    """Seconds from question to answer."""
    versions: tuple[ApiVersionRange, ...] = ()
    features: tuple[Feature, ...] = ()


def checked(what: str, given: Any, kind: type[T]) -> list[T]:
    """The items of a collection, which are all of one class.

    Raises:
        TypeError: They are not; a single item, not in a list, is the usual mistake.
    """
    if isinstance(given, str | kind) or not isinstance(given, Iterable):
        raise TypeError(f"{what} takes a list of {kind.__name__}, not one {type(given).__name__}")
    items = list(given)
    for item in items:
        _check(f"each item of {what}", item, kind)
    return items


def check_number(what: str, value: Any, least: int, most: int) -> None:
    if isinstance(value, bool):
        raise TypeError(f"{what} must be int, not bool")
    _check(what, value, int)
    if not least <= value <= most:
        raise ValueError(f"{what} is from {least} to {most:,}, not {value}")


def _check(what: str, value: object, kind: type) -> None:
    """Never shows the value, which may be a secret."""
    if not isinstance(value, kind):
        raise TypeError(f"{what} must be {kind.__name__}, not {type(value).__name__}")
