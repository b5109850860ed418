"""Produce: batches are checked and appended. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from kafka_aio.broker.api.replicas import check_replica, existing, leader_node
from kafka_aio.broker.log.batches import (
    FIRST_WITH_ZSTD,
    Batch,
    InflatesTooFar,
    RecordsRejected,
    accept,
    has_unknown_codec,
    is_transactional,
    only_batch,
    stamps,
)
from kafka_aio.broker.log.partition_log import NO_TIMESTAMP
from kafka_aio.broker.log.retention import drops_old
from kafka_aio.errors import (
    BrokerError,
    CorruptMessage,
    InvalidProducerIdMapping,
    InvalidRequiredAcks,
    InvalidTopic,
    MessageTooLarge,
    NotEnoughReplicas,
    NotLeaderOrFollower,
    RecordListTooLarge,
    TransactionalIdAuthorizationFailed,
    UnknownServerError,
    UnknownTopicId,
    for_code,
)
from kafka_aio.protocol.messages.produce import (
    BatchIndexAndErrorMessage,
    LeaderIdAndEpoch,
    NodeEndpoint,
    PartitionProduceResponse,
    ProduceResponse,
    TopicProduceResponse,
)

if TYPE_CHECKING:
    from kafka_aio.broker.call import Call
    from kafka_aio.broker.topics.topics import Partition, Topic
    from kafka_aio.protocol.messages.produce import (
        PartitionProduceData,
        ProduceRequest,
        TopicProduceData,
    )

ALL: Final = -1
"""The acks of who waits for all replicas."""
NONE: Final = 0
"""The acks of who does not want to be answered."""
_ACKS: Final = (ALL, NONE, 1)
_ADMIN: Final = "__admin_client"
"""The client id that may write to internal topics."""
_FIRST_BY_ID: Final = 13
_FIRST_WITH_HINTS: Final = 10
_WITHOUT_START: Final = (
    CorruptMessage,
    InvalidTopic,
    MessageTooLarge,
    NotLeaderOrFollower,
    RecordListTooLarge,
)
"""Errors of an append with which Kafka does not tell where the log begins."""


def produce(request: ProduceRequest, call: Call) -> ProduceResponse | None:
    """Append a batch to each partition.

    Raises:
        BrokerError: Something failed and no answer is wanted, or the request makes no sense: the
            connection is closed.
    """
    producing = _Producing(request, call)
    problem = _problem(request, call.version)
    if problem is None:
        responses = [producing.append_all(data) for data in request.topic_data]
    else:
        responses = [_refused(data, problem) for data in request.topic_data]
    if request.acks == NONE:
        code = problem.code if problem is not None else producing.failure_code
        if code != 0:
            raise for_code(code)
        call.answer(None)
        return None
    return ProduceResponse(responses=responses, node_endpoints=list(producing.endpoints.values()))


def _problem(request: ProduceRequest, version: int) -> BrokerError | None:
    """What is wrong with the request as a whole: then nothing of it is carried out.

    Raises:
        UnknownServerError: There is a null where there must be records.
    """
    for data in request.topic_data:
        for item in data.partition_data:
            if item.records is None:
                raise UnknownServerError("a partition without records")
            try:
                records = memoryview(item.records)
                if is_transactional(records) and request.transactional_id is None:
                    return TransactionalIdAuthorizationFailed()
                if version < FIRST_WITH_ZSTD and has_unknown_codec(records):
                    return UnknownServerError()  # Kafka trips over it while it looks for zstd
            except CorruptMessage as error:
                return error
    return None


class _Producing:
    """One request while it is carried out."""

    __slots__ = ("_acks", "_call", "endpoints", "failure_code")

    def __init__(self, request: ProduceRequest, call: Call) -> None:
        self._acks = request.acks
        self._call = call
        self.endpoints: dict[int, NodeEndpoint] = {}
        """Of the nodes that lead what this one does not."""
        self.failure_code = 0
        """Of the last one: an error itself would keep the frame alive, by its traceback."""

    def append_all(self, data: TopicProduceData) -> TopicProduceResponse:
        """Append to some partitions of a topic, and tell what has become of it."""
        topics = self._call.state.topics
        if self._call.version >= _FIRST_BY_ID:
            topic = topics.by_id.get(data.topic_id)
        else:
            topic = topics.by_name.get(data.name)
        return TopicProduceResponse(
            name=data.name,
            topic_id=data.topic_id,
            partition_responses=[self._append(topic, item) for item in data.partition_data],
        )

    def _append(self, topic: Topic | None, item: PartitionProduceData) -> PartitionProduceResponse:
        call = self._call
        partition: Partition | None = None
        start = -1
        try:
            if topic is None and call.version >= _FIRST_BY_ID:
                raise UnknownTopicId()
            partition = existing(topic, item.index)
            call.check_faults(partition.topic.name, item.index)
            batch = only_batch(memoryview(item.records or b""), call.version)
            if self._acks not in _ACKS:
                raise InvalidRequiredAcks()
            if batch.header.is_transactional:
                raise InvalidProducerIdMapping()  # nobody has begun a transaction yet
            start = partition.log.start_offset
            written = self._write(partition, batch)
            call.check_faults_after(partition.topic.name, item.index)
            return written
        except BrokerError as error:
            self.failure_code = error.code
            start = -1 if isinstance(error, _WITHOUT_START) else start
            leader = self._leader(partition) if isinstance(error, NotLeaderOrFollower) else None
            return _failed(item.index, error, start, leader)

    def _write(self, partition: Partition, batch: Batch) -> PartitionProduceResponse:
        call = self._call
        log = partition.log
        self._check_place(partition)
        batch = accept(batch, partition, call.wall_ms)
        data, header = batch
        topic = partition.topic
        if len(data) > topic.segment_bytes and "segment.bytes" in topic.configs:
            raise RecordListTooLarge()  # the default is ours, and smaller than Kafka's
        duplicate = None
        if header.producer_id >= 0:
            call.state.producers.forget_old(now=call.now)
            duplicate = log.producers.check(header)
        if duplicate is not None:
            return _done(partition, duplicate.base_offset, duplicate.max_timestamp)
        append_time = call.wall_ms if stamps(topic) else NO_TIMESTAMP
        base_offset = log.append(data, header, append_time=append_time)
        if header.producer_id >= 0:
            call.state.producers.wrote(log.producers, header.producer_id, now=call.now)
        self._make_room(partition, len(data))
        call.state.waiting.appended(partition, len(data))
        return _done(partition, base_offset, append_time)

    def _check_place(self, partition: Partition) -> None:
        """Whether this node can append to a partition now."""
        topic = partition.topic
        if topic.is_internal and self._call.client_id != _ADMIN:
            raise InvalidTopic()
        check_replica(self._call, partition)
        if self._acks == ALL:
            needed = min(topic.min_insync_replicas, len(partition.replicas))
            if len(partition.isr) < needed:
                raise NotEnoughReplicas()

    def _make_room(self, partition: Partition, size: int) -> None:
        """Drop what is too old for so much, after an append of `size` bytes."""
        state = self._call.state
        topic = partition.topic
        if 0 <= topic.retention_bytes < partition.log.size and drops_old(topic):
            partition.log.enforce_retention(topic.retention_bytes)
        if state.memory.appended(size):
            topics = state.topics.by_name.values()
            state.memory.shrink(each.log for topic in topics for each in topic.partitions)

    def _leader(self, partition: Partition | None) -> LeaderIdAndEpoch | None:
        """Who leads a partition instead; where that is, is told too (KIP-951)."""
        if partition is None or self._call.version < _FIRST_WITH_HINTS:
            return None
        if (node := leader_node(self._call, partition)) is not None:
            self.endpoints[node.id] = NodeEndpoint(
                node_id=node.id, host=node.host, port=node.port, rack=node.rack
            )
        return LeaderIdAndEpoch(leader_id=partition.leader, leader_epoch=partition.leader_epoch)


def _done(partition: Partition, base_offset: int, append_time: int) -> PartitionProduceResponse:
    return PartitionProduceResponse(
        index=partition.index,
        error_code=0,
        base_offset=base_offset,
        log_append_time_ms=append_time,
        log_start_offset=partition.log.start_offset,
    )


def _failed(
    index: int, error: BrokerError, start: int, leader: LeaderIdAndEpoch | None
) -> PartitionProduceResponse:
    rejected = error.records if isinstance(error, RecordsRejected) else []
    return PartitionProduceResponse(
        index=index,
        error_code=error.code,
        base_offset=-1,
        log_start_offset=start,
        record_errors=[
            BatchIndexAndErrorMessage(batch_index=at, batch_index_error_message=why)
            for at, why in rejected
        ],
        error_message=error.message if rejected or isinstance(error, InflatesTooFar) else None,
        current_leader=leader or LeaderIdAndEpoch(),
    )


def _refused(data: TopicProduceData, error: BrokerError) -> TopicProduceResponse:
    """The answer where the request failed as a whole."""
    return TopicProduceResponse(
        name=data.name,
        topic_id=data.topic_id,
        partition_responses=[
            PartitionProduceResponse(
                index=item.index,
                error_code=error.code,
                base_offset=-1,
                error_message=error.message or None,
            )
            for item in data.partition_data
        ],
    )
