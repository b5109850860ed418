"""Topics: they are made, grow and go; their options, and where their partitions are. Pure."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Final, TypeAlias, cast

from kafka_aio.broker.configs.topic import check_topic_configs
from kafka_aio.broker.log import PartitionLog, Spare
from kafka_aio.broker.nodes import new_id
from kafka_aio.broker.topics.partitions import NOBODY, Partition
from kafka_aio.broker.topics.placement import check_replicas, check_topic_name, collision_key, place
from kafka_aio.errors import (
    InvalidPartitions,
    InvalidReplicaAssignment,
    InvalidReplicationFactor,
    InvalidRequest,
    InvalidTopic,
    PolicyViolation,
    TopicAlreadyExists,
)

if TYPE_CHECKING:
    from kafka_aio.broker.configs.configs import Configs
    from kafka_aio.broker.configs.options import Value
    from kafka_aio.broker.nodes import Node, Rng
    from kafka_aio.broker.settings import Settings
    from kafka_aio.protocol.schema import Uuid

__all__ = ["CONSUMER_OFFSETS", "NOBODY", "Partition", "Topic", "Topics", "is_internal"]

CONSUMER_OFFSETS: Final = "__consumer_offsets"
"""Whoever leads the partition of a group coordinates the group."""
Assignment: TypeAlias = Sequence[tuple[int, Sequence[int]]]
"""Partitions, each with the nodes of its replicas."""
_INTERNAL: Final = (CONSUMER_OFFSETS, "__transaction_state", "__share_group_state")


def is_internal(name: str) -> bool:
    """Whether a topic of that name is Kafka's own."""
    return name in _INTERNAL


class Topic:
    """A topic: its partitions, and the options that are set for it.

    The attributes that have the name of an option, or nearly, are what it is now: for the paths
    that every batch takes.
    """

    __slots__ = (
        "compression_type",
        "configs",
        "elects_unclean",
        "id",
        "is_compacted",
        "is_internal",
        "max_message_bytes",
        "min_insync_replicas",
        "name",
        "partitions",
        "retention_bytes",
        "segment_bytes",
        "timestamp_after_max_ms",
        "timestamp_before_max_ms",
        "timestamp_type",
        "values",
    )

    compression_type: str
    elects_unclean: bool
    is_compacted: bool
    max_message_bytes: int
    min_insync_replicas: int
    retention_bytes: int
    segment_bytes: int
    timestamp_after_max_ms: int
    timestamp_before_max_ms: int
    timestamp_type: str
    """CreateTime or LogAppendTime."""

    def __init__(self, name: str, topic_id: Uuid) -> None:
        self.name = name
        self.id = topic_id
        self.is_internal = is_internal(name)
        self.partitions: list[Partition] = []
        self.configs: dict[str, str] = {}
        """The options that are set for it, as texts."""
        self.values: Mapping[str, Value] = {}
        """All options, set or not, by Kafka's names: `topic.values["retention.ms"]`."""

    def __repr__(self) -> str:
        return f"<Topic {self.name} with {len(self.partitions)} partitions>"

    def configure(self, configs: Mapping[str, str], values: Mapping[str, Value]) -> None:
        """Let it have these options from now on. They were checked."""
        self.configs = dict(configs)
        self.values = values
        self.compression_type = cast(str, values["compression.type"])
        self.elects_unclean = cast(bool, values["unclean.leader.election.enable"])
        self.is_compacted = "compact" in cast(tuple[str, ...], values["cleanup.policy"])
        self.max_message_bytes = cast(int, values["max.message.bytes"])
        self.min_insync_replicas = cast(int, values["min.insync.replicas"])
        self.retention_bytes = cast(int, values["retention.bytes"])
        segment_bytes = values.get("internal.segment.bytes", values["segment.bytes"])
        self.segment_bytes = cast(int, segment_bytes)
        self.timestamp_after_max_ms = cast(int, values["message.timestamp.after.max.ms"])
        self.timestamp_before_max_ms = cast(int, values["message.timestamp.before.max.ms"])
        self.timestamp_type = cast(str, values["message.timestamp.type"])
        for partition in self.partitions:
            partition.log.segment_bytes = self.segment_bytes


class Topics:
    """All topics, by name and by id."""

    def __init__(
        self,
        settings: Settings,
        rng: Rng,
        nodes: Mapping[int, Node],
        configs: Configs,
        *,
        changed: Callable[[Partition], None],
        deleted: Callable[[Topic], None],
    ) -> None:
        self._settings = settings
        self._rng = rng
        self._nodes = nodes
        self._configs = configs
        self._changed = changed
        self._deleted = deleted
        self._placed = 0
        self._spare = Spare(settings.memory_max_bytes // 16)
        self._colliding: dict[str, dict[str, None]] = {}
        self.by_name: dict[str, Topic] = {}
        self.by_id: dict[Uuid, Topic] = {}
        self.partition_count = 0
        """Of all topics together."""
        self.changes = 0
        """Counts up whenever a topic comes, goes or grows: groups look at it."""

    def __repr__(self) -> str:
        return f"<Topics: {len(self.by_name)}>"

    def is_up(self, node: int) -> bool:
        return self._nodes[node].is_up

    # Made

    def create(
        self,
        name: str,
        *,
        partitions: int = -1,
        replication_factor: int = -1,
        replicas: Assignment = (),
        configs: Mapping[str, str] | None = None,
    ) -> Topic:
        """Make a topic. For the arguments and what is raised, see `prepare`."""
        topic = self.prepare(
            name,
            partitions=partitions,
            replication_factor=replication_factor,
            replicas=replicas,
            configs=configs,
        )
        self.add(topic)
        return topic

    def auto_create(self, name: str) -> Topic:
        """Make a topic that somebody has asked for; Kafka's own have options of their own.

        Raises:
            BrokerError: As `prepare`.
        """
        if not is_internal(name):
            return self.create(name)
        settings = self._settings
        return self.create(
            name,
            partitions=settings.offsets_topic_num_partitions,
            replication_factor=min(settings.offsets_topic_replication_factor, len(self._nodes)),
            configs={
                "cleanup.policy": "compact",
                "compression.type": "producer",
                "segment.bytes": "104857600",
            },
        )

    def prepare(
        self,
        name: str,
        *,
        partitions: int = -1,
        replication_factor: int = -1,
        replicas: Assignment = (),
        configs: Mapping[str, str] | None = None,
    ) -> Topic:
        """A topic as it would be made. It is not there until it is given to `add`.

        Args:
            name: Its name.
            partitions: How many; -1 for the broker's default.
            replication_factor: How many replicas each has; -1 for the broker's default.
            replicas: Instead of the numbers, the partitions, each with the nodes of its replicas,
                the preferred leader first.
            configs: Options of the topic, under Kafka's names.

        Raises:
            BrokerError: What Kafka would refuse it for: InvalidTopic, TopicAlreadyExists,
                InvalidConfig, InvalidPartitions, InvalidReplicationFactor,
                InvalidReplicaAssignment, InvalidRequest; PolicyViolation if there is no room.
        """
        configs = configs or {}
        self.check_name(name)
        self.check_configs(configs)
        if replicas:
            placed = self._chosen(replicas, partitions, replication_factor)
        else:
            placed = self._placed_by_us(partitions, replication_factor)
        topic = Topic(name, new_id(self._rng))
        self.check_room(topic, configs)
        self.configure(topic, configs)
        self._extend(topic, placed)
        return topic

    def discard(self, topic: Topic) -> None:
        """Let a prepared topic not be there after all."""
        self._take_room(topic, {})

    def add(self, topic: Topic) -> None:
        """Let a prepared topic be there."""
        self.by_name[topic.name] = self.by_id[topic.id] = topic
        self.partition_count += len(topic.partitions)
        if key := collision_key(topic.name):
            self._colliding.setdefault(key, {})[topic.name] = None
        self.changes += 1

    def _check_partitions(self, more: int) -> None:
        """Whether there may be so many partitions more: Kafka has a disk, we have memory.

        Raises:
            PolicyViolation: There may not.
        """
        most = self._settings.memory_max_logs
        if self.partition_count + more > most:
            raise PolicyViolation(f"The embedded broker has {most} partitions at most.")

    def check_name(self, name: str) -> None:
        """Raise TopicAlreadyExists or InvalidTopic for a name that no new topic may have."""
        if name in self.by_name:
            raise TopicAlreadyExists(f"Topic '{name}' already exists.")
        for other in self._colliding.get(collision_key(name), ()):
            raise InvalidTopic(f"Topic '{name}' collides with existing topic: {other}")
        check_topic_name(name)

    def _chosen(self, replicas: Assignment, partitions: int, factor: int) -> list[list[int]]:
        for what, number in (("replication factor", factor), ("numPartitions", partitions)):
            if number != -1:
                raise InvalidRequest(
                    f"A manual partition assignment was specified, but {what} was not set to -1."
                )
        chosen: dict[int, list[int]] = {}
        before = None
        for index, nodes in replicas:
            if index in chosen:
                raise InvalidReplicaAssignment(
                    f"Found multiple manual partition assignments for partition {index}"
                )
            check_replicas(nodes, self._nodes, before)
            self._check_any_up(nodes, index)
            chosen[index] = list(nodes)
            before = len(nodes)
        if sorted(chosen) != list(range(len(chosen))):
            raise InvalidReplicaAssignment(
                "partitions should be a consecutive 0-based integer sequence"
            )
        self._check_partitions(len(chosen))
        return [chosen[index] for index in range(len(chosen))]

    def _check_any_up(self, nodes: Sequence[int], index: int) -> None:
        if not any(map(self.is_up, nodes)):
            raise InvalidReplicaAssignment(
                "All brokers specified in the manual partition assignment for partition"
                f" {index} are fenced or in controlled shutdown."
            )

    def _placed_by_us(self, partitions: int, factor: int) -> list[list[int]]:
        if factor < -1 or factor == 0:
            raise InvalidReplicationFactor(
                "Replication factor must be larger than 0, or -1 to use the default value."
            )
        if partitions < -1 or partitions == 0:
            raise InvalidPartitions(
                "Number of partitions was set to an invalid non-positive value."
            )
        partitions = self._settings.num_partitions if partitions == -1 else partitions
        factor = self._settings.default_replication_factor if factor == -1 else factor
        try:
            return self._place(partitions, factor)
        except InvalidReplicationFactor as error:
            raise InvalidReplicationFactor(
                f"Unable to replicate the partition {factor} time(s): {error.message}"
            ) from error

    def _place(self, partitions: int, factor: int) -> list[list[int]]:
        self._check_partitions(partitions)
        placed = place(self._nodes, partitions, factor, first=self._placed)
        self._placed += partitions
        return placed

    def _extend(self, topic: Topic, placed: Sequence[list[int]]) -> None:
        for replicas in placed:
            log = PartitionLog(segment_bytes=topic.segment_bytes, spare=self._spare)
            isr = [node for node in replicas if self.is_up(node)]
            index = len(topic.partitions)
            topic.partitions.append(Partition(topic, index, replicas, log, isr=isr))

    # Changed

    def check_configs(self, configs: Mapping[str, str]) -> None:
        """Raise InvalidConfig for options that no topic may have."""
        check_topic_configs(configs, self._configs.topic_values({}))

    def check_room(self, topic: Topic, configs: Mapping[str, str]) -> None:
        """Raise PolicyViolation if a topic would have more options than there is room for."""
        if not topic.is_internal:  # those come from us, and there are few of them
            self._configs.check_room(topic.name, topic.configs, configs)

    def configure(self, topic: Topic, configs: Mapping[str, str]) -> None:
        """Let a topic have these options, and no others. They were checked."""
        self._take_room(topic, configs)
        topic.configure(configs, self._configs.topic_values(configs))

    def _take_room(self, topic: Topic, configs: Mapping[str, str]) -> None:
        if not topic.is_internal:
            self._configs.take_room(topic.name, topic.configs, configs)

    def configure_all(self) -> None:
        """The defaults have changed."""
        for topic in self.by_name.values():
            self.configure(topic, topic.configs)

    def grow(
        self,
        topic: Topic,
        count: int,
        *,
        replicas: Sequence[Sequence[int]] | None = None,
        validate_only: bool = False,
    ) -> None:
        """Let a topic have more partitions.

        Args:
            topic: Which.
            count: How many in all.
            replicas: The nodes of each new one; None leaves it to us.
            validate_only: Check, and do nothing.

        Raises:
            BrokerError: What Kafka would refuse it for: InvalidPartitions,
                InvalidReplicaAssignment, InvalidReplicationFactor.
        """
        before = len(topic.partitions)
        if count == before:
            raise InvalidPartitions(f"Topic already has {before} partition(s).")
        if count < before:
            raise InvalidPartitions(
                f"The topic {topic.name} currently has {before} partition(s);"
                f" {count} would not be an increase."
            )
        factor = len(topic.partitions[0].replicas)
        if replicas is None:
            placed = self._place(count - before, factor)
        else:
            placed = self._chosen_more(replicas, before, count - before, factor)
        if not validate_only:
            self._extend(topic, placed)
            self.partition_count += len(placed)
            self.changes += 1

    def _chosen_more(
        self, replicas: Sequence[Sequence[int]], before: int, more: int, factor: int
    ) -> list[list[int]]:
        if len(replicas) != more:
            raise InvalidReplicaAssignment(
                f"Attempted to add {more} additional partition(s), but only {len(replicas)}"
                " assignment(s) were specified."
            )
        for index, nodes in enumerate(replicas, before):
            check_replicas(nodes, self._nodes, factor)
            self._check_any_up(nodes, index)
        self._check_partitions(more)
        return [list(nodes) for nodes in replicas]

    def delete(self, topic: Topic) -> None:
        """Let a topic be gone."""
        del self.by_name[topic.name], self.by_id[topic.id]
        if key := collision_key(topic.name):
            del self._colliding[key][topic.name]
        self.partition_count -= len(topic.partitions)
        self._take_room(topic, {})
        self.changes += 1
        for partition in topic.partitions:
            partition.leader = NOBODY
            self._changed(partition)
        self._deleted(topic)

    # Led

    def node_down(self, node: int) -> None:
        """A node is not up any more: its partitions go on without it."""
        for partition in self._partitions():
            if partition.lose(node, self.is_up):
                self._changed(partition)

    def node_up(self) -> None:
        """A node is up again: its partitions go on with it."""
        for partition in self._partitions():
            if partition.regain(self.is_up):
                self._changed(partition)

    def elect(self, partition: Partition, *, unclean: bool = False) -> None:
        """Let the preferred leader lead; or, if nobody does, anyone who is up.

        Raises:
            BrokerError: ElectionNotNeeded; or nobody is there who could lead.
        """
        if unclean:
            partition.elect_unclean(self.is_up)
        else:
            partition.elect_preferred(self.is_up)
        self._changed(partition)

    def reassign(self, partition: Partition, replicas: Sequence[int]) -> None:
        """Let other nodes have a partition, at once. They were checked."""
        if list(replicas) != partition.replicas:
            partition.reassign(list(replicas), self.is_up)
            self._changed(partition)

    def _partitions(self) -> list[Partition]:
        return [each for topic in self.by_name.values() for each in topic.partitions]
