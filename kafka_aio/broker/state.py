"""All that a cluster of embedded brokers knows: one process, so one state for all nodes. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kafka_aio.broker.agenda import Agenda
from kafka_aio.broker.configs.configs import Configs
from kafka_aio.broker.faults.faults import Faults
from kafka_aio.broker.groups import Groups
from kafka_aio.broker.log.producers import Recent
from kafka_aio.broker.log.retention import Memory
from kafka_aio.broker.nodes import Node, Rng, new_id
from kafka_aio.broker.room import Room
from kafka_aio.broker.security.users import Users
from kafka_aio.broker.sessions import Sessions
from kafka_aio.broker.topics.topics import CONSUMER_OFFSETS, NOBODY, Partition, Topics
from kafka_aio.broker.waiting import Waiting
from kafka_aio.errors import LeaderNotAvailable, ReplicaNotAvailable, UnknownTopicOrPartition
from kafka_aio.protocol.schema import uuid_text

if TYPE_CHECKING:
    from kafka_aio.broker.call import Call
    from kafka_aio.broker.settings import Settings

__all__ = ["Node", "Rng", "State"]


class State:
    """The cluster: nodes, topics, groups, users, and what is still to be answered."""

    def __init__(self, settings: Settings, rng: Rng) -> None:
        self.settings = settings
        self.rng = rng
        self.agenda = Agenda()
        self.cluster_id = uuid_text(new_id(rng))
        self.nodes: dict[int, Node] = {}
        """By id; those that are down too."""
        self.controller = NOBODY
        self.room = Room(settings.memory_max_state_bytes)
        """For what clients have us keep, beside records."""
        self.configs = Configs(settings, self.nodes, self.room)
        """What is set for nodes and groups."""
        self.waiting = Waiting()
        """Fetches that wait for more bytes."""
        self.topics = Topics(
            settings,
            rng,
            self.nodes,
            self.configs,
            changed=self._changed,
            deleted=lambda topic: self.groups.topic_deleted(topic.name),
        )
        self.sessions = Sessions(settings)
        """Incremental fetch sessions (KIP-227), of all nodes."""
        self.memory = Memory(settings.memory_max_bytes)
        """What all logs take together."""
        self.producers = Recent(
            settings.memory_max_producers, settings.producer_id_expiration_ms / 1000
        )
        """Who is known to some partition."""
        self.groups = Groups(self)
        self.users = Users(self.room)
        self.faults = Faults(rng, self.nodes)
        self.next_producer_id = 0
        self.versions: dict[int, tuple[int, int]] = {}
        """First and last version of each API that is served, by key."""
        self.answers: list[tuple[Call, object]] = []
        """What the server has to send."""

    def __repr__(self) -> str:
        up = len(self.live_nodes)
        return f"<State of {up} of {len(self.nodes)} nodes, {len(self.topics.by_name)} topics>"

    @property
    def live_nodes(self) -> list[Node]:
        """Those that are up."""
        return [node for node in self.nodes.values() if node.is_up]

    def add_node(self, node_id: int, host: str, port: int, *, rack: str | None = None) -> Node:
        """One more broker, which is up."""
        assert node_id not in self.nodes, "a node is added once"
        node = self.nodes[node_id] = Node(node_id, host, port, rack)
        if self.controller == NOBODY:
            self.controller = node_id
        return node

    def node_down(self, node_id: int) -> None:
        """Let a node fail: others lead its partitions, or nobody, and another is the controller."""
        if not self.nodes[node_id].is_up:
            return
        self.nodes[node_id].is_up = False
        self.sessions.forget(node_id)
        if self.controller == node_id:
            self.controller = next((node.id for node in self.live_nodes), NOBODY)
        self.topics.node_down(node_id)

    def node_up(self, node_id: int) -> None:
        """Let a node come back: it is in sync at once, and leads what nobody could lead."""
        if self.nodes[node_id].is_up:
            return
        self.nodes[node_id].is_up = True
        if self.controller == NOBODY:
            self.controller = node_id
        self.topics.node_up()

    def move_leader(self, topic: str, partition: int, node: int) -> None:
        """Let another node lead a partition, in the next epoch.

        Raises:
            UnknownTopicOrPartition: There is none.
            ReplicaNotAvailable: The node has no replica, or is down.
        """
        self._let_lead(self._partition(topic, partition, leader=node), node)

    def truncate(
        self, topic: str, partition: int, offset: int, *, leader: int | None = None
    ) -> None:
        """Lose what is written from `offset` on, as by an unclean election, in the next epoch.

        Args:
            topic: Its name.
            partition: The number of the partition.
            offset: Where the log ends then.
            leader: Who leads then; who leads now, if not said.

        Raises:
            UnknownTopicOrPartition: There is none.
            LeaderNotAvailable: Nobody leads, and nobody is told to.
            ReplicaNotAvailable: The node has no replica, or is down.
        """
        found = self._partition(topic, partition)
        if leader is None and found.leader == NOBODY:
            nodes = " or ".join(map(str, found.replicas))
            raise LeaderNotAvailable(f"nobody leads {topic}-{partition}: start node {nodes}")
        node = found.leader if leader is None else leader
        cut = self._partition(topic, partition, leader=node)
        cut.log.truncate(offset)
        self._let_lead(cut, node)

    def _let_lead(self, partition: Partition, node: int) -> None:
        partition.lead(node)
        self._changed(partition)

    def _changed(self, partition: Partition) -> None:
        """Another node leads a partition, or it is gone: who waits for it waits in vain."""
        self.waiting.changed(partition)
        if partition.topic.name == CONSUMER_OFFSETS:
            self.groups.coordinators_moved()

    def _partition(self, topic: str, index: int, *, leader: int | None = None) -> Partition:
        """A partition; with `leader`, one that this node could lead."""
        found = self.topics.by_name.get(topic)
        if found is None or not 0 <= index < len(found.partitions):
            raise UnknownTopicOrPartition(where=f"{topic}-{index}")
        partition = found.partitions[index]
        if leader is not None and leader not in partition.replicas:
            replicas = ", ".join(map(str, partition.replicas))
            raise ReplicaNotAvailable(
                f"node {leader} has no replica of {topic}-{index}; those that have are {replicas}"
            )
        if leader is not None and not self.topics.is_up(leader):
            raise ReplicaNotAvailable(f"node {leader} is stopped: it cannot lead {topic}-{index}")
        return partition
