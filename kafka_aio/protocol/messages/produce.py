"""Declarations only, with no limit of lines: producing records. Pure."""

from kafka_aio.protocol.schema import (
    NO_UUID,
    Int16,
    Int32,
    Int64,
    Records,
    Request,
    String,
    Uuid,
    message,
    request,
    response,
    since,
    tagged,
    until,
)


@message
class BatchIndexAndErrorMessage:
    batch_index: Int32
    batch_index_error_message: String | None = None


@message
class LeaderIdAndEpoch:
    leader_id: Int32 = -1
    leader_epoch: Int32 = -1


@message
class PartitionProduceResponse:
    index: Int32
    error_code: Int16
    base_offset: Int64
    log_append_time_ms: Int64 = -1
    log_start_offset: Int64 = since(5, default=-1, ignorable=True)
    record_errors: list[BatchIndexAndErrorMessage] = since(8, default=[], ignorable=True)
    error_message: String | None = since(8, default=None, ignorable=True)
    current_leader: LeaderIdAndEpoch = tagged(0, since=10, default=LeaderIdAndEpoch())


@message
class TopicProduceResponse:
    name: String = until(12, default="", ignorable=True)
    topic_id: Uuid = since(13, default=NO_UUID, ignorable=True)
    partition_responses: list[PartitionProduceResponse]


@message
class NodeEndpoint:
    node_id: Int32
    host: String
    port: Int32
    rack: String | None = None


@response(key=0, versions=(3, 13), flexible=9)
class ProduceResponse:
    responses: list[TopicProduceResponse]
    throttle_time_ms: Int32 = 0
    node_endpoints: list[NodeEndpoint] = tagged(0, since=10, default=[])


@message
class PartitionProduceData:
    index: Int32
    records: Records | None


@message
class TopicProduceData:
    name: String = until(12, default="", ignorable=True)
    topic_id: Uuid = since(13, default=NO_UUID, ignorable=True)
    partition_data: list[PartitionProduceData]


@request(key=0, versions=(3, 13), flexible=9)
class ProduceRequest(Request[ProduceResponse]):
    transactional_id: String | None = None
    acks: Int16
    timeout_ms: Int32
    topic_data: list[TopicProduceData]
