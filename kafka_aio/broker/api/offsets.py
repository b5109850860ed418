"""Offsets in a log: found by timestamp, by leader epoch; and records before one deleted. Pure."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Final

from kafka_aio.broker.api.replicas import check_replica, existing
from kafka_aio.broker.log.partition_log import NOTHING, Found
from kafka_aio.broker.log.retention import drops_old
from kafka_aio.errors import (
    BrokerError,
    InvalidRequest,
    InvalidTopic,
    OffsetOutOfRange,
    PolicyViolation,
    UnsupportedByBroker,
)
from kafka_aio.protocol.messages.offsets import (
    EpochEndOffset,
    ListOffsetsPartitionResponse,
    ListOffsetsResponse,
    ListOffsetsTopicResponse,
    OffsetForLeaderEpochResponse,
    OffsetForLeaderTopicResult,
)
from kafka_aio.protocol.messages.topics import (
    DeleteRecordsPartitionResult,
    DeleteRecordsResponse,
    DeleteRecordsTopicResult,
)

if TYPE_CHECKING:
    from kafka_aio.broker.call import Call
    from kafka_aio.broker.topics.topics import Partition
    from kafka_aio.protocol.messages.offsets import (
        ListOffsetsPartition,
        ListOffsetsRequest,
        OffsetForLeaderEpochRequest,
        OffsetForLeaderPartition,
    )
    from kafka_aio.protocol.messages.topics import DeleteRecordsRequest

LATEST: Final = -1
EARLIEST: Final = -2
NEWEST: Final = -3
"""The record with the greatest timestamp (KIP-734)."""
EARLIEST_LOCAL: Final = -4
"""As the earliest, without tiered storage (KIP-405)."""
LATEST_TIERED: Final = -5
EARLIEST_PENDING_UPLOAD: Final = -6
_SINCE: Final = {
    LATEST: 1,
    EARLIEST: 1,
    NEWEST: 7,
    EARLIEST_LOCAL: 8,
    LATEST_TIERED: 9,
    EARLIEST_PENDING_UPLOAD: 11,
}
"""The first version of ListOffsets that knows each."""
_FIRST_WITH_EPOCHS: Final = 4
_DEBUGGER: Final = -2
"""The replica id of tools, which may ask any replica."""
_HIGH_WATERMARK: Final = -1
"""The offset that means all records."""


def list_offsets(request: ListOffsetsRequest, call: Call) -> ListOffsetsResponse:
    """Find offsets by timestamp: of the first record that is not older, or one of those above."""
    named = Counter(
        (topic.name, wanted.partition_index)
        for topic in request.topics
        for wanted in topic.partitions
    )
    responses = []
    for topic in request.topics:
        answers = {}
        for wanted in topic.partitions:
            try:
                if named[topic.name, wanted.partition_index] > 1:
                    raise InvalidRequest()
                found = _find_offset(call, topic.name, wanted, request.replica_id)
            except BrokerError as error:
                answers[wanted.partition_index] = _listed(wanted, NOTHING, error.code)
            else:
                if call.version < _FIRST_WITH_EPOCHS:
                    found = found._replace(leader_epoch=-1)
                answers[wanted.partition_index] = _listed(wanted, found)
        responses.append(
            ListOffsetsTopicResponse(name=topic.name, partitions=list(answers.values()))
        )
    return ListOffsetsResponse(topics=responses)


def _listed(
    wanted: ListOffsetsPartition, found: Found, code: int = 0
) -> ListOffsetsPartitionResponse:
    return ListOffsetsPartitionResponse(
        partition_index=wanted.partition_index,
        error_code=code,
        timestamp=found.timestamp,
        offset=found.offset,
        leader_epoch=found.leader_epoch,
    )


def _find_offset(call: Call, name: str, wanted: ListOffsetsPartition, replica_id: int) -> Found:
    timestamp = wanted.timestamp
    if timestamp < 0 and call.version < _SINCE.get(timestamp, call.version + 1):
        raise UnsupportedByBroker()
    partition = _partition(
        call,
        name,
        wanted.partition_index,
        epoch=wanted.current_leader_epoch,
        leader_only=replica_id != _DEBUGGER,
    )
    log = partition.log
    if timestamp == LATEST:
        return Found(-1, log.end_offset, partition.leader_epoch)
    if timestamp in (EARLIEST, EARLIEST_LOCAL):
        return Found(-1, log.start_offset, log.epochs.at(log.start_offset))
    if timestamp in (LATEST_TIERED, EARLIEST_PENDING_UPLOAD):
        return NOTHING
    return log.find_newest() if timestamp == NEWEST else log.find_timestamp(timestamp)


def offset_for_leader_epoch(
    request: OffsetForLeaderEpochRequest, call: Call
) -> OffsetForLeaderEpochResponse:
    """Tell where leader epochs ended: a consumer sees whether its records were lost (KIP-320)."""
    return OffsetForLeaderEpochResponse(
        throttle_time_ms=0,
        topics=[
            OffsetForLeaderTopicResult(
                topic=topic.topic,
                partitions=[_end_of_epoch(call, topic.topic, each) for each in topic.partitions],
            )
            for topic in request.topics
        ],
    )


def _end_of_epoch(call: Call, name: str, wanted: OffsetForLeaderPartition) -> EpochEndOffset:
    try:
        partition = _partition(call, name, wanted.partition, epoch=wanted.current_leader_epoch)
    except BrokerError as error:
        return EpochEndOffset(error_code=error.code, partition=wanted.partition)
    epoch, end_offset = partition.log.end_of_epoch(wanted.leader_epoch)
    return EpochEndOffset(
        error_code=0, partition=wanted.partition, leader_epoch=epoch, end_offset=end_offset
    )


def delete_records(request: DeleteRecordsRequest, call: Call) -> DeleteRecordsResponse:
    """Let logs begin later (KIP-107)."""
    return DeleteRecordsResponse(
        throttle_time_ms=0,
        topics=[
            DeleteRecordsTopicResult(
                name=topic.name,
                partitions=[
                    _delete(call, topic.name, each.partition_index, each.offset)
                    for each in topic.partitions
                ],
            )
            for topic in request.topics
        ],
    )


def _delete(call: Call, name: str, index: int, offset: int) -> DeleteRecordsPartitionResult:
    try:
        topic = existing(call.state.topics.by_name.get(name), index).topic
        if topic.is_internal:
            raise InvalidTopic()
        log = _partition(call, name, index).log
        if not drops_old(topic):
            raise PolicyViolation()
        if offset == _HIGH_WATERMARK:
            offset = log.end_offset
        if offset < 0:
            raise OffsetOutOfRange()
        log.delete_before(offset)
    except BrokerError as error:
        return DeleteRecordsPartitionResult(
            partition_index=index, low_watermark=-1, error_code=error.code
        )
    return DeleteRecordsPartitionResult(
        partition_index=index, low_watermark=log.start_offset, error_code=0
    )


def _partition(
    call: Call, name: str, index: int, *, epoch: int = -1, leader_only: bool = True
) -> Partition:
    """A partition that the asked node can answer for.

    Raises:
        BrokerError: It cannot, or it was told to fail.
    """
    call.check_faults(name, index)
    partition = existing(call.state.topics.by_name.get(name), index)
    check_replica(call, partition, epoch=epoch, leader_only=leader_only)
    return partition
