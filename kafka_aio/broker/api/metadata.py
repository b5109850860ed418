"""Metadata and DescribeTopicPartitions: topics, their partitions, and who leads them. Pure."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Final

from kafka_aio.broker.api.authorized import CLUSTER_OPERATIONS, NOT_ASKED, TOPIC_OPERATIONS
from kafka_aio.broker.topics.partitions import NOBODY
from kafka_aio.broker.topics.placement import check_topic_name
from kafka_aio.broker.topics.topics import is_internal
from kafka_aio.errors import (
    BrokerError,
    InvalidRequest,
    LeaderNotAvailable,
    ReplicaNotAvailable,
    UnknownServerError,
    UnknownTopicId,
    UnknownTopicOrPartition,
)
from kafka_aio.protocol.messages.metadata import (
    Cursor,
    DescribeTopicPartitionsRequest,
    DescribeTopicPartitionsResponse,
    DescribeTopicPartitionsResponsePartition,
    DescribeTopicPartitionsResponseTopic,
    MetadataRequest,
    MetadataResponse,
    MetadataResponseBroker,
    MetadataResponsePartition,
    MetadataResponseTopic,
)
from kafka_aio.protocol.schema import NO_UUID, Uuid

if TYPE_CHECKING:
    from kafka_aio.broker.call import Call
    from kafka_aio.broker.state import State
    from kafka_aio.broker.topics.topics import Partition, Topic

_BY_ID_SINCE: Final = 12


def any_node(state: State) -> int:
    """Whom a broker calls the controller: anyone who is up, as all pass requests on to it."""
    live = state.live_nodes
    return live[state.rng.randrange(0, len(live))].id if live else NOBODY


# Metadata


def metadata(request: MetadataRequest, call: Call) -> MetadataResponse:
    """The nodes, and the topics that are asked for."""
    try:
        topics = _topics(request, call)
    except BrokerError as error:
        named = request.topics or ()
        topics = [_absent_topic(error, each.name or "", each.topic_id) for each in named]
        return MetadataResponse(brokers=[], topics=topics, error_code=error.code)
    state = call.state
    is_asked = request.include_cluster_authorized_operations
    return MetadataResponse(
        brokers=[
            MetadataResponseBroker(node_id=node.id, host=node.host, port=node.port, rack=node.rack)
            for node in state.live_nodes
        ],
        cluster_id=state.cluster_id,
        controller_id=any_node(state),
        topics=topics,
        cluster_authorized_operations=CLUSTER_OPERATIONS if is_asked else NOT_ASKED,
    )


def _topics(request: MetadataRequest, call: Call) -> list[MetadataResponseTopic]:
    topics = call.state.topics
    if request.topics is None or (call.version == 0 and not request.topics):
        if not topics.by_name:
            call.check_faults()
        return [_topic(topic, request, call) for topic in topics.by_name.values()]
    for each in request.topics:
        if call.version < _BY_ID_SINCE and (each.name is None or each.topic_id != NO_UUID):
            raise InvalidRequest()
    if not request.topics:
        call.check_faults()
    if ids := dict.fromkeys(each.topic_id for each in request.topics if each.topic_id != NO_UUID):
        return _topics_by_id(list(ids), request, call)
    return _topics_by_name(list(dict.fromkeys(each.name for each in request.topics)), request, call)


def _topics_by_id(
    ids: list[Uuid], request: MetadataRequest, call: Call
) -> list[MetadataResponseTopic]:
    by_id = call.state.topics.by_id
    unknown = [each for each in ids if each not in by_id]
    known = [by_id[each] for each in ids if each in by_id]
    return [
        *(_absent_topic(UnknownTopicId(), None, each) for each in unknown),
        *(_topic(topic, request, call) for topic in known),
    ]


def _topics_by_name(
    names: list[str | None], request: MetadataRequest, call: Call
) -> list[MetadataResponseTopic]:
    by_name = call.state.topics.by_name
    known, unknown = [], []
    for name in names:
        if name is None:
            raise UnknownServerError()  # Kafka stumbles over it
        if name in by_name:
            known.append(by_name[name])
        else:
            unknown.append(name)
    return [
        *(_topic(topic, request, call) for topic in known),
        *(_absent(name, request, call) for name in unknown),
    ]


def _topic(topic: Topic, request: MetadataRequest, call: Call) -> MetadataResponseTopic:
    is_asked = request.include_topic_authorized_operations
    try:
        call.check_faults(topic=topic.name)
    except BrokerError as error:
        return _absent_topic(error, topic.name, topic.id)
    return MetadataResponseTopic(
        error_code=0,
        name=topic.name,
        topic_id=topic.id,
        is_internal=topic.is_internal,
        partitions=[_partition(each, call) for each in topic.partitions],
        topic_authorized_operations=TOPIC_OPERATIONS if is_asked else NOT_ASKED,
    )


def _absent(name: str, request: MetadataRequest, call: Call) -> MetadataResponseTopic:
    """A name that no topic has. It is made then, if that is wanted: the next answer has it."""
    is_asked = request.include_topic_authorized_operations
    error: BrokerError = UnknownTopicOrPartition()
    try:
        call.check_faults(topic=name)
        check_topic_name(name)
    except BrokerError as refusal:
        error = refusal
    else:
        if request.allow_auto_topic_creation and call.state.settings.auto_create_topics_enable:
            _create(name, call.state)
    return _absent_topic(error, name, operations=TOPIC_OPERATIONS if is_asked else NOT_ASKED)


def _create(name: str, state: State) -> None:
    # More replicas may be wanted than there are nodes, or the name collides: it stays unknown.
    with suppress(BrokerError):
        state.topics.auto_create(name)


def _absent_topic(
    error: BrokerError,
    name: str | None,
    topic_id: Uuid = NO_UUID,
    *,
    operations: int = NOT_ASKED,
) -> MetadataResponseTopic:
    return MetadataResponseTopic(
        error_code=error.code,
        name=name,
        topic_id=topic_id,
        is_internal=name is not None and is_internal(name),
        partitions=[],
        topic_authorized_operations=operations,
    )


def _partition(partition: Partition, call: Call) -> MetadataResponsePartition:
    replicas, isr = partition.replicas, partition.isr
    error_code = 0
    if call.version == 0:  # which knows no node that is not up
        replicas, isr = (
            [node for node in nodes if call.state.nodes[node].is_up] for nodes in (replicas, isr)
        )
        if len(replicas) < len(partition.replicas):
            error_code = ReplicaNotAvailable.code
    if partition.leader == NOBODY:
        error_code = LeaderNotAvailable.code
    return MetadataResponsePartition(
        error_code=error_code,
        partition_index=partition.index,
        leader_id=partition.leader,
        leader_epoch=partition.leader_epoch,
        replica_nodes=replicas,
        isr_nodes=isr,
        offline_replicas=_offline(partition, call.state),
    )


def _offline(partition: Partition, state: State) -> list[int]:
    return [node for node in partition.replicas if not state.nodes[node].is_up]


# DescribeTopicPartitions


def describe_topic_partitions(
    request: DescribeTopicPartitionsRequest, call: Call
) -> DescribeTopicPartitionsResponse:
    """Topics by name, as many partitions as are asked for, and where to go on."""
    try:
        names = _names_from_cursor(request, call.state)
    except BrokerError as error:
        refused = [_undescribed(error, each.name, is_refused=True) for each in request.topics]
        return DescribeTopicPartitionsResponse(throttle_time_ms=0, topics=refused)
    limit = call.state.settings.max_request_partition_size_limit
    remaining = max(min(limit, request.response_partition_limit), 1)
    start = request.cursor.partition_index if request.cursor else 0
    described: list[DescribeTopicPartitionsResponseTopic] = []
    next_cursor = None
    for name in names:
        if remaining == 0:
            next_cursor = Cursor(topic_name=name, partition_index=0)
            break
        if request.cursor is None or name != request.cursor.topic_name:
            start = 0
        topic, following = _described(name, start, remaining, call)
        described.append(topic)
        if following is not None:
            next_cursor = Cursor(topic_name=name, partition_index=following)
            break
        remaining -= len(topic.partitions)
    return DescribeTopicPartitionsResponse(
        throttle_time_ms=0, topics=described, next_cursor=next_cursor
    )


def _names_from_cursor(request: DescribeTopicPartitionsRequest, state: State) -> list[str]:
    """The names that are asked for, from the cursor on. No names are all that are there."""
    cursor = request.cursor
    named = [topic.name for topic in request.topics] or state.topics.by_name
    names = sorted({name for name in named if cursor is None or name >= cursor.topic_name})
    if cursor is not None and request.topics and cursor.topic_name not in names:
        raise InvalidRequest()
    if cursor is not None and cursor.partition_index < 0:
        raise InvalidRequest()
    if cursor is None and "" in names:
        raise UnknownServerError()  # Kafka takes it for the topic of the cursor that is not there
    return names


def _described(
    name: str, start: int, limit: int, call: Call
) -> tuple[DescribeTopicPartitionsResponseTopic, int | None]:
    """A topic from one of its partitions on, and the partition after the last, if there is one."""
    try:
        call.check_faults(topic=name)
        check_topic_name(name)
        topic = call.topic(name)
    except BrokerError as error:
        return _undescribed(error, name), None
    partitions = topic.partitions[start : start + limit]
    described = DescribeTopicPartitionsResponseTopic(
        error_code=0,
        name=name,
        topic_id=topic.id,
        is_internal=topic.is_internal,
        partitions=[_described_partition(each, call.state) for each in partitions],
        topic_authorized_operations=TOPIC_OPERATIONS,
    )
    return described, start + limit if start + limit < len(topic.partitions) else None


def _described_partition(
    partition: Partition, state: State
) -> DescribeTopicPartitionsResponsePartition:
    last = partition.last_leader
    return DescribeTopicPartitionsResponsePartition(
        error_code=0,
        partition_index=partition.index,
        leader_id=partition.leader,
        leader_epoch=partition.leader_epoch,
        replica_nodes=partition.replicas,
        isr_nodes=partition.isr,
        eligible_leader_replicas=partition.elr,
        last_known_elr=[] if last == NOBODY else [last],
        offline_replicas=_offline(partition, state),
    )


def _undescribed(
    error: BrokerError, name: str, *, is_refused: bool = False
) -> DescribeTopicPartitionsResponseTopic:
    """A topic without partitions: of that name, or because the whole request is refused."""
    return DescribeTopicPartitionsResponseTopic(
        error_code=error.code,
        name=name,
        topic_id=NO_UUID,
        is_internal=not is_refused and is_internal(name),
        partitions=[],
        topic_authorized_operations=NOT_ASKED if is_refused else TOPIC_OPERATIONS,
    )
