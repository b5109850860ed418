"""Idempotent producers: they get their ids, and are described. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kafka_aio.broker.api.replicas import existing
from kafka_aio.broker.topics.placement import check_topic_name
from kafka_aio.errors import (
    BrokerError,
    InvalidRequest,
    NotLeaderOrFollower,
    TransactionalIdAuthorizationFailed,
    UnknownTopicOrPartition,
)
from kafka_aio.protocol.messages.transactions import (
    DescribeProducersResponse,
    InitProducerIdResponse,
    PartitionResponse,
    ProducerState,
    TopicResponse,
)

if TYPE_CHECKING:
    from kafka_aio.broker.call import Call
    from kafka_aio.protocol.messages.transactions import (
        DescribeProducersRequest,
        InitProducerIdRequest,
    )


def init_producer_id(request: InitProducerIdRequest, call: Call) -> InitProducerIdResponse:
    """An id that no producer had before. One with a transactional id is refused, for good."""
    try:
        call.check_faults()
        _check(request)
    except BrokerError as error:
        return InitProducerIdResponse(throttle_time_ms=0, error_code=error.code, producer_epoch=-1)
    producer_id = call.state.next_producer_id
    call.state.next_producer_id += 1
    return InitProducerIdResponse(
        throttle_time_ms=0, error_code=0, producer_id=producer_id, producer_epoch=0
    )


def _check(request: InitProducerIdRequest) -> None:
    if (request.producer_id == -1) != (request.producer_epoch == -1):
        raise InvalidRequest()
    if request.transactional_id == "":
        raise InvalidRequest()
    if request.transactional_id is not None:
        # There are no transactions yet. Of the errors that could say so, librdkafka tries for ever
        # on most (UNSUPPORTED_VERSION too); this one is final for all clients.
        raise TransactionalIdAuthorizationFailed()


def describe_producers(request: DescribeProducersRequest, call: Call) -> DescribeProducersResponse:
    """Tell who wrote to partitions, and which sequence was the last (KIP-664)."""
    call.state.producers.forget_old(now=call.now)
    return DescribeProducersResponse(
        throttle_time_ms=0,
        topics=[
            TopicResponse(
                name=topic.name,
                partitions=[_describe(call, topic.name, each) for each in topic.partition_indexes],
            )
            for topic in request.topics
        ],
    )


def _describe(call: Call, name: str, index: int) -> PartitionResponse:
    try:
        check_topic_name(name)
        call.check_faults(name, index)
        topic = call.state.topics.by_name.get(name)
        if topic is None:
            raise UnknownTopicOrPartition("This server does not host this topic-partition.")
        partition = existing(topic, index)
        if call.node not in partition.replicas:
            raise NotLeaderOrFollower()
    except BrokerError as error:
        return PartitionResponse(
            partition_index=index,
            error_code=error.code,
            error_message=error.message or None,
            active_producers=[],
        )
    return PartitionResponse(
        partition_index=index,
        error_code=0,
        active_producers=[
            ProducerState(
                producer_id=producer.id,
                producer_epoch=producer.epoch,
                last_sequence=producer.last_sequence,
                last_timestamp=producer.last_timestamp,
                coordinator_epoch=-1,
                current_txn_start_offset=-1,
            )
            for producer in partition.log.producers
        ],
    )
