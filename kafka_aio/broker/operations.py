"""What a test does to a broker beside its clients: said once, for `EmbeddedBroker` and its twin."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Final, TypeVar, cast

from kafka_aio.broker.described import (
    GroupDescription,
    Statistics,
    classic_group,
    consumer_protocol_group,
)
from kafka_aio.broker.groups.java import partition_of
from kafka_aio.broker.topics.topics import CONSUMER_OFFSETS
from kafka_aio.broker.written import Value, batches
from kafka_aio.errors import ConfigError, StateError, UnknownTopicOrPartition, for_code
from kafka_aio.net.clock import wall_time
from kafka_aio.protocol.messages.consumer_group import ConsumerGroupDescribeRequest
from kafka_aio.protocol.messages.groups import DescribeGroupsRequest
from kafka_aio.protocol.messages.produce import (
    PartitionProduceData,
    PartitionProduceResponse,
    ProduceRequest,
    TopicProduceData,
)
from kafka_aio.protocol.schema import Buffer, schema_of
from kafka_aio.records.batch import FetchedBatch
from kafka_aio.records.codec import Record
from kafka_aio.types import OffsetAndMetadata, RecordMetadata, TimestampType, TopicPartition

if TYPE_CHECKING:
    from kafka_aio.broker.faults.faults import Faults
    from kafka_aio.broker.server import Server
    from kafka_aio.broker.state import State
    from kafka_aio.broker.topics.topics import Partition, Topic

T = TypeVar("T")

_ALL_IN_SYNC: Final = -1
_MOST_REPLICAS: Final = 3


class Operations:
    """What a test does to a broker. Each call is carried out at once, between two requests."""

    _state: State

    @property
    def faults(self) -> Faults:
        """What is to go wrong."""
        return self._state.faults

    # Topics.

    def create_topic(
        self,
        name: str,
        partitions: int = 1,
        *,
        replication_factor: int | None = None,
        configs: Mapping[str, str] | None = None,
    ) -> None:
        """Create a topic.

        Args:
            name: Its name.
            partitions: How many.
            replication_factor: On how many nodes; if not said, on all up to three.
            configs: Its options, such as {"cleanup.policy": "compact"}.

        Raises:
            TypeError: A value of `configs` is not a text.
            ConfigError: Another argument is not what it must be.
            StateError: All nodes are stopped.
            BrokerError: It exists, or something about it is not allowed.
        """
        if not isinstance(name, str):
            raise ConfigError(f"the name of a topic is a text, not {name!r}")
        _check_number(f"topic {name!r}: partitions", partitions)
        if replication_factor is not None:
            _check_number(f"topic {name!r}: replication_factor", replication_factor)
        if configs is not None and not isinstance(configs, Mapping):
            raise ConfigError(f"topic {name!r}: configs is a mapping, not {configs!r}")
        for option, value in (configs or {}).items():
            if not isinstance(value, str):
                raise TypeError(f"topic {name!r}: {option} is a text, as for Kafka, not {value!r}")

        def create() -> None:
            if not self._state.live_nodes:
                raise StateError(
                    f"topic {name!r} cannot be created, as all nodes are stopped: start one first"
                )
            everywhere = min(len(self._state.live_nodes), _MOST_REPLICAS)
            self._state.topics.create(
                name,
                partitions=partitions,
                replication_factor=everywhere if replication_factor is None else replication_factor,
                configs=configs,
            )

        self._do(create)

    def topics(self) -> list[str]:
        """The names of all topics, those of Kafka's own among them, in the order of creation."""
        return self._do(lambda: list(self._state.topics.by_name))

    def delete_topic(self, name: str) -> None:
        """Delete a topic, with all that is in it.

        Raises:
            UnknownTopicOrPartition: There is none.
        """
        self._do(lambda: self._state.topics.delete(self._topic(name)))

    def produce(
        self, topic: str, values: Iterable[Value], *, partition: int = 0
    ) -> list[RecordMetadata]:
        """Write records to a partition, as a client with acks=all would. No fault concerns it.

        Args:
            topic: The topic.
            values: For each record, its value, its key and value, or a `Record`, of which key,
                value, headers and timestamp are used.
            partition: Which partition.

        Returns:
            Where each was written.

        Raises:
            BrokerError: There is no such partition, it has no leader, or a record is refused.
        """
        return self._do(lambda: self._produce(self._partition(topic, partition), values))

    def records(self, topic: str, partition: int | None = None) -> list[Record]:
        """What is in the log of a topic, in the order of partitions and offsets.

        Raises:
            UnknownTopicOrPartition: There is no such topic or partition.
        """

        def read() -> list[Record]:
            found = [
                FetchedBatch(batch, topic, each.index, start_offset=each.log.start_offset)
                for each in self._partitions(topic, partition)
                for batch in each.log.batches()
            ]
            return [record for batch in found for record in batch.records]

        return self._do(read)

    def end_offsets(self, topic: str) -> dict[TopicPartition, int]:
        """The offset of the next record of each partition.

        Raises:
            UnknownTopicOrPartition: There is no such topic.
        """
        return self._do(
            lambda: {
                TopicPartition(topic, each.index): each.log.end_offset
                for each in self._partitions(topic)
            }
        )

    def truncate(
        self, topic: str, partition: int, offset: int, *, leader: int | None = None
    ) -> None:
        """Lose the records from an offset on, as by an unclean election.

        The next leader epoch begins. Of a batch that goes beyond the offset, the records before it
        stay; a real replica loses batches as a whole.

        Args:
            topic: The topic.
            partition: The partition.
            offset: Where the log ends afterwards. If it ends before already, nothing is lost.
            leader: Who leads it then; if not said, who leads it now.

        Raises:
            ConfigError: There is no such node, or the offset is none.
            BrokerError: There is no such partition, nobody leads it, or the node cannot lead it.
        """
        _check_number("offset", offset, least=0)
        if leader is not None:
            self._check_node(leader)
        self._do(lambda: self._state.truncate(topic, partition, offset, leader=leader))

    def move_leader(self, topic: str, partition: int, node: int) -> None:
        """Let another node lead a partition.

        Raises:
            ConfigError: There is no such node.
            BrokerError: There is no such partition, or the node cannot lead it: it is stopped, or
                has no replica of it.
        """
        self._check_node(node)
        self._do(lambda: self._state.move_leader(topic, partition, node))

    # Groups.

    def move_coordinator(self, group: str, node: int) -> None:
        """Let another node coordinate a group, and all others with the same partition of offsets.

        Raises:
            ConfigError: There is no such node.
            BrokerError: The node is stopped, or has no replica of that partition.
        """
        self._check_node(node)

        def move() -> None:
            topics = self._state.topics
            topic = topics.by_name.get(CONSUMER_OFFSETS) or topics.auto_create(CONSUMER_OFFSETS)
            partition = partition_of(group, len(topic.partitions))
            self._state.move_leader(CONSUMER_OFFSETS, partition, node)

        self._do(move)

    def group(self, group: str) -> GroupDescription:
        """A group and its members.

        Raises:
            GroupIdNotFound: There is none.
        """
        return self._do(lambda: self._describe(group))

    def committed(self, group: str) -> dict[TopicPartition, OffsetAndMetadata]:
        """What a group has committed.

        Raises:
            GroupIdNotFound: There is none.
        """
        return self._do(
            lambda: {
                TopicPartition(topic, partition): OffsetAndMetadata(
                    each.offset,
                    each.metadata,
                    each.leader_epoch if each.leader_epoch >= 0 else None,
                )
                for topic, partition, each in self._state.groups.get(group).offsets
            }
        )

    # Nodes and connections.

    def stopped_nodes(self) -> list[int]:
        """The ids of the nodes that were stopped and not started again."""
        return self._do(lambda: [each.id for each in self._state.nodes.values() if not each.is_up])

    def close_connections(self, node: int | None = None) -> int:
        """Close the connections to a node, or all. Returns how many they were.

        Raises:
            ConfigError: There is no such node.
        """
        if node is not None:
            self._check_node(node)
        return self._do(lambda: self._listening().close_connections(node))

    def statistics(self) -> Statistics:
        """Connections, requests and bytes so far."""

        def count() -> Statistics:
            shared = self._listening().shared
            apis = {schema_of(cls).api: replace(found) for cls, found in shared.traffic.items()}
            return Statistics(len(shared.open), shared.made, apis)

        return self._do(count)

    # What is behind it.

    def _do(self, action: Callable[[], T]) -> T:
        """Let the broker do something, where and when it may.

        Raises:
            StateError: It is not running, or belongs to another event loop.
        """
        raise NotImplementedError

    def _listening(self) -> Server:
        raise NotImplementedError

    def _check_node(self, node: int) -> None:
        if node not in self._state.nodes:
            known = ", ".join(map(str, self._state.nodes))
            raise ConfigError(f"there is no node {node}: they are {known}")

    def _topic(self, name: str) -> Topic:
        found = self._state.topics.by_name.get(name)
        if found is None:
            raise UnknownTopicOrPartition(where=name)
        return found

    def _partitions(self, topic: str, partition: int | None = None) -> list[Partition]:
        found = self._topic(topic).partitions
        return found if partition is None else [self._partition(topic, partition)]

    def _partition(self, topic: str, partition: int) -> Partition:
        found = self._topic(topic).partitions
        if not 0 <= partition < len(found):
            raise UnknownTopicOrPartition(where=f"{topic}-{partition}")
        return found[partition]

    def _produce(self, partition: Partition, values: Iterable[Value]) -> list[RecordMetadata]:
        written: list[RecordMetadata] = []
        for batch, timestamps in batches(values, timestamp=int(wall_time() * 1000)):
            answer = self._append(partition, batch)
            stamped = answer.log_append_time_ms
            written += (
                RecordMetadata(
                    partition.topic.name,
                    partition.index,
                    answer.base_offset + index,
                    timestamp if stamped < 0 else stamped,
                    TimestampType.CREATE_TIME if stamped < 0 else TimestampType.LOG_APPEND_TIME,
                )
                for index, timestamp in enumerate(timestamps)
            )
        return written

    def _append(self, partition: Partition, batch: Buffer) -> PartitionProduceResponse:
        topic = partition.topic
        data = PartitionProduceData(index=partition.index, records=batch)
        request = ProduceRequest(
            acks=_ALL_IN_SYNC,
            timeout_ms=0,
            topic_data=[TopicProduceData(topic_id=topic.id, partition_data=[data])],
        )
        response = self._listening().dispatch.ask(request, node=partition.leader)
        answer = response.responses[0].partition_responses[0]
        if answer.error_code:
            where = f"{topic.name}-{partition.index}"
            raise for_code(answer.error_code, answer.error_message, where)
        return answer

    def _describe(self, group: str) -> GroupDescription:
        groups = self._state.groups
        kind, node = groups.get(group).kind, groups.coordinator_of(group)
        ask = self._listening().dispatch.ask
        if kind == "classic":
            request = DescribeGroupsRequest(groups=[group], include_authorized_operations=False)
            return classic_group(ask(request, node=node).groups[0])
        asked = ConsumerGroupDescribeRequest(group_ids=[group], include_authorized_operations=False)
        return consumer_protocol_group(ask(asked, node=node).groups[0])


def _check_number(name: str, value: object, *, least: int | None = None) -> None:
    is_number = isinstance(value, int) and not isinstance(value, bool)
    if not is_number or (least is not None and cast(int, value) < least):
        bound = "" if least is None else f" from {least} on"
        raise ConfigError(f"{name} is a number{bound}, not {value!r}")
