"""Declarations only, with no limit of lines: the state of share groups, between brokers. Pure."""

from kafka_aio.protocol.schema import (
    Int8,
    Int16,
    Int32,
    Int64,
    Request,
    String,
    Uuid,
    message,
    request,
    response,
    since,
)


@message
class InitializeShareGroupStatePartitionResult:
    partition: Int32
    error_code: Int16
    error_message: String | None = None


@message
class InitializeStateResult:
    topic_id: Uuid
    partitions: list[InitializeShareGroupStatePartitionResult]


@response(key=83, versions=(0, 0), flexible=0)
class InitializeShareGroupStateResponse:
    results: list[InitializeStateResult]


@message
class InitializeShareGroupStatePartitionData:
    partition: Int32
    state_epoch: Int32
    start_offset: Int64


@message
class InitializeStateData:
    topic_id: Uuid
    partitions: list[InitializeShareGroupStatePartitionData]


@request(key=83, versions=(0, 0), flexible=0)
class InitializeShareGroupStateRequest(Request[InitializeShareGroupStateResponse]):
    group_id: String
    topics: list[InitializeStateData]


@message
class ReadShareGroupStateStateBatch:
    first_offset: Int64
    last_offset: Int64
    delivery_state: Int8
    delivery_count: Int16


@message
class ReadShareGroupStatePartitionResult:
    partition: Int32
    error_code: Int16
    error_message: String | None = None
    state_epoch: Int32
    start_offset: Int64
    state_batches: list[ReadShareGroupStateStateBatch]


@message
class ReadStateResult:
    topic_id: Uuid
    partitions: list[ReadShareGroupStatePartitionResult]


@response(key=84, versions=(0, 0), flexible=0)
class ReadShareGroupStateResponse:
    results: list[ReadStateResult]


@message
class ReadShareGroupStatePartitionData:
    partition: Int32
    leader_epoch: Int32


@message
class ReadStateData:
    topic_id: Uuid
    partitions: list[ReadShareGroupStatePartitionData]


@request(key=84, versions=(0, 0), flexible=0)
class ReadShareGroupStateRequest(Request[ReadShareGroupStateResponse]):
    group_id: String
    topics: list[ReadStateData]


@message
class WriteShareGroupStatePartitionResult:
    partition: Int32
    error_code: Int16
    error_message: String | None = None


@message
class WriteStateResult:
    topic_id: Uuid
    partitions: list[WriteShareGroupStatePartitionResult]


@response(key=85, versions=(0, 1), flexible=0)
class WriteShareGroupStateResponse:
    results: list[WriteStateResult]


@message
class WriteShareGroupStateStateBatch:
    first_offset: Int64
    last_offset: Int64
    delivery_state: Int8
    delivery_count: Int16


@message
class WriteShareGroupStatePartitionData:
    partition: Int32
    state_epoch: Int32
    leader_epoch: Int32
    start_offset: Int64
    delivery_complete_count: Int32 = since(1, default=-1, ignorable=True)
    state_batches: list[WriteShareGroupStateStateBatch]


@message
class WriteStateData:
    topic_id: Uuid
    partitions: list[WriteShareGroupStatePartitionData]


@request(key=85, versions=(0, 1), flexible=0)
class WriteShareGroupStateRequest(Request[WriteShareGroupStateResponse]):
    group_id: String
    topics: list[WriteStateData]


@message
class DeleteShareGroupStatePartitionResult:
    partition: Int32
    error_code: Int16
    error_message: String | None = None


@message
class DeleteStateResult:
    topic_id: Uuid
    partitions: list[DeleteShareGroupStatePartitionResult]


@response(key=86, versions=(0, 0), flexible=0)
class DeleteShareGroupStateResponse:
    results: list[DeleteStateResult]


@message
class DeleteShareGroupStatePartitionData:
    partition: Int32


@message
class DeleteStateData:
    topic_id: Uuid
    partitions: list[DeleteShareGroupStatePartitionData]


@request(key=86, versions=(0, 0), flexible=0)
class DeleteShareGroupStateRequest(Request[DeleteShareGroupStateResponse]):
    group_id: String
    topics: list[DeleteStateData]


@message
class ReadShareGroupStateSummaryPartitionResult:
    partition: Int32
    error_code: Int16
    error_message: String | None = None
    state_epoch: Int32
    leader_epoch: Int32
    start_offset: Int64
    delivery_complete_count: Int32 = since(1, default=-1, ignorable=True)


@message
class ReadStateSummaryResult:
    topic_id: Uuid
    partitions: list[ReadShareGroupStateSummaryPartitionResult]


@response(key=87, versions=(0, 1), flexible=0)
class ReadShareGroupStateSummaryResponse:
    results: list[ReadStateSummaryResult]


@message
class ReadShareGroupStateSummaryPartitionData:
    partition: Int32
    leader_epoch: Int32


@message
class ReadStateSummaryData:
    topic_id: Uuid
    partitions: list[ReadShareGroupStateSummaryPartitionData]


@request(key=87, versions=(0, 1), flexible=0)
class ReadShareGroupStateSummaryRequest(Request[ReadShareGroupStateSummaryResponse]):
    group_id: String
    topics: list[ReadStateSummaryData]
