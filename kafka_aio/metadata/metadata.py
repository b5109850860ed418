"""The thing itself: what is known of the cluster, what is wanted, what an answer changes. Pure.

A task sends `request()` when `refresh_at` has come, and tells how that ended: `update` or `failed`.
It may send requests of its own at any time, and give those answers to `update` too.

What an answer says about a topic replaces what was known of it, and the answer to a request for all
that is wanted replaces everything; `topic` says what is kept nevertheless. An answer that cannot be
accepted raises, and leaves everything as it was.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import inf

from kafka_aio.backoff import Backoff
from kafka_aio.errors import (
    ProtocolError,
    RebootstrapRequired,
    UnknownTopicOrPartition,
    for_code,
)
from kafka_aio.metadata.endpoint import MAX_NODES, Endpoint, node_of, problem_of, read_nodes
from kafka_aio.metadata.partitions import NO_EPOCH, NOBODY, Leader
from kafka_aio.metadata.refresh import Refresh
from kafka_aio.metadata.topic import UNKNOWN, Topic, check_name, read_topic
from kafka_aio.protocol.messages.metadata import (
    MetadataRequest,
    MetadataRequestTopic,
    MetadataResponse,
    MetadataResponseBroker,
    MetadataResponsePartition,
)
from kafka_aio.protocol.schema import NO_UUID, Uuid
from kafka_aio.types import Node, PartitionInfo, TopicPartition


@dataclass(frozen=True, slots=True)
class Update:
    """What an answer changed, and what of it was not believed."""

    new_leaders: tuple[TopicPartition, ...] = ()
    """The partitions for which a hint was believed."""
    moved_nodes: tuple[int, ...] = ()
    """Nodes that were known, and have another address now."""
    gone_nodes: tuple[int, ...] = ()
    """Nodes that were known, and are not part of the cluster any more."""
    refused_nodes: tuple[str, ...] = ()
    """A sentence for each broker that was left out, because it cannot be dialled."""
    topic_errors: tuple[tuple[str, int], ...] = ()
    """The topics with an error, each with its code."""
    older: tuple[TopicPartition, ...] = ()
    """Partitions that were kept as they were: the answer is behind what was seen."""
    rebootstrap: bool = False
    """The broker asks us to begin again from the bootstrap servers. Nothing else was read."""


class Metadata:
    """The cluster as last seen, and when to look again."""

    def __init__(
        self,
        *,
        max_age: float,
        backoff: Backoff,
        topic_idle: float = inf,
        rebootstrap_after: float = inf,
        create_topics: bool = True,
    ) -> None:
        """Begin with nothing known, and a refresh due.

        Args:
            max_age: After how many seconds everything is looked at again.
            backoff: The pauses between refreshes that fail, or that bring nothing new.
            topic_idle: After how many seconds without use a topic is not wanted any more.
            rebootstrap_after: For how many seconds attempts may fail before it is time to begin
                again from the bootstrap servers (KIP-1102); `inf` means never.
            create_topics: Whether a broker may create a topic because we ask about it.
        """
        self._refresh = Refresh(
            max_age=max_age, backoff=backoff, rebootstrap_after=rebootstrap_after
        )
        self._topic_idle = topic_idle
        self._create_topics = create_topics
        self.may_create = True
        """False while what is wanted was found by a pattern: who deletes it wants it gone."""
        self.version = 0
        """Grows with each change, so that those who wait for one can tell."""
        self.cluster_id: str | None = None
        self._controller = -1
        self._nodes: dict[int, Node] = {}
        self._topics: dict[str, Topic] = {}
        self._names: dict[Uuid, str] = {}
        # Made when they are asked for, and kept until something changes.
        self._leaders: dict[TopicPartition, Leader] = {}
        self._infos: dict[str, tuple[PartitionInfo, ...]] = {}
        self._wanted: dict[str, float] = {}  # and when it was last used
        self._new: dict[str, None] = {}  # those not yet answered: a set that keeps its order
        self._wants_all = False

    def __repr__(self) -> str:
        wanted = "all" if self._wants_all else len(self._wanted)
        return (
            f"<Metadata v{self.version}: {len(self._nodes)} nodes, {len(self._topics)} topics, "
            f"{wanted} wanted, {len(self._new)} new, {self._refresh!r}>"
        )

    @property
    def nodes(self) -> Mapping[int, Node]:
        """The brokers by id; before the first answer the bootstrap servers, as -1, -2 and so on."""
        return self._nodes

    def node(self, node_id: int) -> Node | None:
        return self._nodes.get(node_id)

    @property
    def controller_id(self) -> int | None:
        """The node that takes changes of the cluster; None if it is not known."""
        is_known = self._controller >= 0 and self._controller in self._nodes
        return self._controller if is_known else None

    @property
    def topics(self) -> list[str]:
        """The topics known to exist."""
        return [name for name, topic in self._topics.items() if topic.exists]

    def leader(self, partition: TopicPartition) -> Leader | None:
        """Who leads a partition; None if nobody does, or nobody we know."""
        return self._leaders.get(partition) or self._find_leader(partition)

    def epoch(self, partition: TopicPartition) -> int:
        """The newest leader epoch that was seen of a partition; -1 if none was."""
        topic = self._topics.get(partition.topic, UNKNOWN)
        return topic.seen.epoch(partition.partition)

    def partition_count(self, topic: str) -> int | None:
        """How many partitions a topic has; None if it is not known to exist."""
        known = self._existing(topic)
        return len(known.partitions) if known else None

    def partitions(self, topic: str) -> tuple[PartitionInfo, ...] | None:
        """The partitions of a topic, in order; None if it is not known to exist."""
        known = self._existing(topic)
        if known is None:
            return None
        if topic not in self._infos:
            self._infos[topic] = tuple(self._info(topic, told) for told in known.partitions)
        return self._infos[topic]

    def replicas(self, topic: str) -> list[Sequence[int]]:
        """The nodes that have each partition of a topic, in order; none if it does not exist."""
        known = self._existing(topic)
        return [told.replica_nodes for told in known.partitions] if known else []

    def topic_id(self, topic: str) -> Uuid | None:
        """The id of a topic; None if it is not known to exist, or the brokers have no ids."""
        known = self._topics.get(topic, UNKNOWN)
        return known.id if known.id != NO_UUID else None

    def topic_name(self, topic_id: Uuid) -> str | None:
        return self._names.get(topic_id)

    def topic_error(self, topic: str) -> int:
        """The code of the error that the last answer has for a topic; 0 if there is none."""
        return self._topics.get(topic, UNKNOWN).code

    def is_internal(self, topic: str) -> bool:
        """Whether it is one of Kafka's own."""
        return self._topics.get(topic, UNKNOWN).is_internal

    @property
    def wanted(self) -> Collection[str]:
        """The topics that refreshes ask for."""
        return self._wanted.keys()

    def want(self, topics: Iterable[str], *, now: float) -> bool:
        """Ask for these topics from now on; and soon, if there are some that are not known.

        Returns:
            Whether there are.

        Raises:
            TypeError, ValueError: One of them cannot be the name of a topic; nothing is changed.
        """
        names = list(topics)
        for name in names:
            check_name(name)
        were_new = len(self._new)
        for topic in names:
            if topic not in self._wanted and self._existing(topic) is None:
                self._new[topic] = None
            self._wanted[topic] = now
        return len(self._new) > were_new

    def touch(self, topic: str, *, now: float) -> None:
        """A topic that is wanted was used, and so does not go out of use."""
        if topic in self._wanted:
            self._wanted[topic] = now

    def unwant(self, topics: Iterable[str]) -> None:
        """Do not ask for these any more. They are known until the next full answer."""
        for topic in topics:
            self._wanted.pop(topic, None)
            self._new.pop(topic, None)

    def want_all(self, is_wanted: bool = True) -> None:
        """Ask for all topics of the cluster, as patterns need it; or do so no more."""
        if is_wanted and not self._wants_all:
            self.request_refresh()
        self._wants_all = is_wanted

    @property
    def refresh_at(self) -> float:
        """When the next request is to be sent; `-inf` for at once."""
        return self._refresh.at(has_new_topics=bool(self._new))

    def request_refresh(self) -> None:
        """What is known has proved wrong, or too little: look again soon."""
        self._refresh.ask()

    def request(self, *, now: float) -> MetadataRequest:
        """The request to send now: for the topics that are wanted, or only for the new ones."""
        used_after = now - self._topic_idle
        idle = [topic for topic, used_at in self._wanted.items() if used_at <= used_after]
        self.unwant(topic for topic in idle if topic not in self._new)
        is_partial = self._new and not self._refresh.is_due_in_full(now=now)
        names = self._new if is_partial else self._wanted
        self._refresh.sent(now=now)
        topics = None if self._wants_all else [MetadataRequestTopic(name=name) for name in names]
        creates = self._create_topics and self.may_create
        return MetadataRequest(topics=topics, allow_auto_topic_creation=creates)

    def failed(self, *, now: float, jitter: float) -> None:
        """There was nobody to ask, or no answer, or none that could be accepted.

        Args:
            now: The time.
            jitter: A random number from -1 to 1.
        """
        self._refresh.failed(now=now, jitter=jitter)

    def rebootstrap_due(self, *, now: float) -> bool:
        """Whether to `bootstrap` again: a broker asks for it, or none has answered for too long."""
        return self._refresh.is_rebootstrap_due(now=now)

    def bootstrap(self, addresses: Iterable[tuple[str, int]]) -> None:
        """Begin, or begin again, from these hosts and ports: of the cluster nothing is known.

        What is wanted stays wanted, and the epochs seen of it are kept. A refresh is due.
        """
        numbered = enumerate(addresses, start=1)
        self._nodes = {-n: Node(-n, host, port) for n, (host, port) in numbered}
        self._topics = {
            name: Topic(seen=topic.seen)
            for name, topic in self._topics.items()
            if name in self._wanted
        }
        self._names = {}
        self._controller = -1
        self.cluster_id = None
        self._changed()
        self._refresh.bootstrapped()

    def update(
        self,
        response: MetadataResponse,
        *,
        requested: Collection[str] | None,
        now: float,
        jitter: float,
        reliable_epochs: bool = True,
    ) -> Update:
        """Take an answer.

        Args:
            response: The answer. Its topics are taken out of it.
            requested: The topics that were asked for, None for all. Others in it are not read.
            now: The time.
            jitter: A random number from -1 to 1.
            reliable_epochs: Whether the answer has version 9 or later. Before, brokers told epochs
                that were out of date (KAFKA-9212).

        Returns:
            What it changed.

        Raises:
            ProtocolError: It names no broker that can be dialled, or it is nonsense; nothing has
                changed. For the task this is an attempt that failed.
        """
        if response.error_code == RebootstrapRequired.code and self._refresh.told_to_rebootstrap():
            self._refresh.failed(now=now, jitter=jitter)
            return Update(rebootstrap=True)
        asked = None if requested is None else frozenset(requested)
        nodes, refused = read_nodes(response.brokers)
        topics = self._read_topics(response, asked, reliable_epochs)
        is_full = self._is_full(asked)
        is_progress = any(
            topic.is_progress(self._topics.get(name, UNKNOWN)) for name, topic in topics.items()
        )
        moved = self._moved(nodes)
        gone = tuple(node for node in self._nodes if node not in nodes)
        self._nodes = nodes
        self._controller = response.controller_id
        self.cluster_id = response.cluster_id
        self._replace_topics(topics, asked, is_full)
        self._changed()
        self._refresh.answered(is_full=is_full, is_progress=is_progress, now=now, jitter=jitter)
        if any(self._is_unsettled(topics[name]) for name in topics if name in self._wanted):
            self.request_refresh()
        older = (TopicPartition(name, at) for name, topic in topics.items() for at in topic.older)
        return Update(
            moved_nodes=moved,
            gone_nodes=gone,
            refused_nodes=tuple(refused),
            topic_errors=tuple((name, topic.code) for name, topic in topics.items() if topic.code),
            older=tuple(older),
        )

    def hint(
        self, leaders: Mapping[TopicPartition, Leader], endpoints: Iterable[Endpoint]
    ) -> Update:
        """Take new leaders, with their addresses, from the answer to another request (KIP-951).

        One is believed if its partition is known, its epoch is newer than all that were seen, and
        its node is known, or has an address here that can be dialled.
        """
        offered = {each.node_id: node_of(each) for each in endpoints if not problem_of(each)}
        if len(self._nodes) + len(offered) > MAX_NODES:
            offered = {}
        believed = {
            partition: leader
            for partition, leader in leaders.items()
            if self._has_partition(partition)
            and leader.epoch > self.epoch(partition)
            and (leader.node in self._nodes or leader.node in offered)
        }
        for partition, leader in believed.items():
            self._topics[partition.topic].partitions.know(partition.partition, leader)
        named = {leader.node for leader in believed.values()} & offered.keys()
        nodes = self._nodes | {node: offered[node] for node in sorted(named)}
        moved = self._moved(nodes)
        self._nodes = nodes
        if believed:
            self._changed()
        return Update(new_leaders=tuple(believed), moved_nodes=moved)

    def learn_node(self, node_id: int, host: str, port: int) -> None:
        """A coordinator was named that may be newer than the last answer. Known ones stay.

        Raises:
            ProtocolError: It cannot be dialled.
        """
        if node_id >= 0 and node_id in self._nodes:
            return
        endpoint = MetadataResponseBroker(node_id=node_id, host=host, port=port)
        if problem := problem_of(endpoint):
            raise ProtocolError(f"coordinator {node_id} at {host[:40]!r}, port {port}: {problem}")
        self._nodes = {**self._nodes, node_id: node_of(endpoint)}
        self._changed()

    def saw_epoch(self, partition: TopicPartition, epoch: int) -> bool:
        """A leader epoch was seen elsewhere: beside an offset, or in a batch.

        Returns:
            Whether it is newer. The leader is then unknown until a refresh, which is due.
        """
        if not NO_EPOCH < self.epoch(partition) < epoch:
            return False
        topic = self._topics[partition.topic]
        topic.seen.know(partition.partition, Leader(NOBODY, epoch))
        self._changed()
        self.request_refresh()
        return True

    def _changed(self) -> None:
        self.version += 1
        self._leaders = {}
        self._infos = {}

    def _find_leader(self, partition: TopicPartition) -> Leader | None:
        topic = self._topics.get(partition.topic, UNKNOWN)
        leader = topic.partitions.leader(partition.partition)
        if leader is None or leader.node not in self._nodes:
            return None
        self._leaders[partition] = leader
        return leader

    def _existing(self, topic: str) -> Topic | None:
        known = self._topics.get(topic)
        return known if known and known.exists else None

    def _has_partition(self, partition: TopicPartition) -> bool:
        topic = self._topics.get(partition.topic, UNKNOWN)
        return topic.partitions.told(partition.partition) is not None

    def _info(self, topic: str, told: MetadataResponsePartition) -> PartitionInfo:
        leader = self._topics[topic].partitions.leader(told.partition_index)
        return PartitionInfo(
            topic=topic,
            partition=told.partition_index,
            leader=self._nodes.get(leader.node) if leader else None,
            replicas=self._replicas(told.replica_nodes),
            in_sync_replicas=self._replicas(told.isr_nodes),
            offline_replicas=self._replicas(told.offline_replicas),
        )

    def _replicas(self, node_ids: Iterable[int]) -> tuple[Node, ...]:
        """A node that is down is still a replica, though without an address."""
        return tuple(self._nodes.get(node) or Node(node, "", -1) for node in node_ids)

    def _moved(self, nodes: Mapping[int, Node]) -> tuple[int, ...]:
        return tuple(
            known.id
            for known in self._nodes.values()
            if (node := nodes.get(known.id)) and (node.host, node.port) != (known.host, known.port)
        )

    def _is_full(self, asked: Collection[str] | None) -> bool:
        """Whether the answer to such a request is about all that is wanted."""
        if asked is None or self._wants_all:
            return asked is None
        return all(topic in asked for topic in self._wanted)

    def _read_topics(
        self, response: MetadataResponse, asked: Collection[str] | None, reliable_epochs: bool
    ) -> dict[str, Topic]:
        topics: dict[str, Topic] = {}
        told = response.topics
        told.reverse()
        while told:  # each makes room for what is kept of it
            answer = told.pop()
            if answer.name and (asked is None or answer.name in asked):
                known = self._topics.get(answer.name, UNKNOWN)
                topics[answer.name] = read_topic(answer, known, reliable_epochs=reliable_epochs)
        for name in self._wanted:
            if name not in topics and (asked is None or name in asked):
                known = self._topics.get(name, UNKNOWN)
                topics[name] = Topic(UnknownTopicOrPartition.code, seen=known.seen)
        return topics

    def _replace_topics(
        self, topics: dict[str, Topic], asked: Collection[str] | None, is_full: bool
    ) -> None:
        if is_full:
            self._topics, self._new = topics, {}
        else:
            for name in asked or ():
                self._topics.pop(name, None)
                self._new.pop(name, None)
            self._topics.update(topics)
        self._names = {}  # the room is needed for the new ones
        self._names = {
            topic.id: name for name, topic in self._topics.items() if topic.id != NO_UUID
        }

    def _is_unsettled(self, topic: Topic) -> bool:
        """Whether a later answer will tell more: the topic or its leaders are on their way."""
        if topic.code:
            return for_code(topic.code).retriable
        return not topic.exists or any(node not in self._nodes for node in topic.partitions.nodes())
