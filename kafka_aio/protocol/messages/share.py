"""Declarations only, with no limit of lines: share groups (KIP-932). Pure."""

from kafka_aio.protocol.schema import (
    Bool,
    Int8,
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
)


@message
class ShareGroupHeartbeatTopicPartitions:
    topic_id: Uuid
    partitions: list[Int32]


@message
class ShareGroupHeartbeatAssignment:
    topic_partitions: list[ShareGroupHeartbeatTopicPartitions]


@response(key=76, versions=(1, 1), flexible=0)
class ShareGroupHeartbeatResponse:
    throttle_time_ms: Int32
    error_code: Int16
    error_message: String | None = None
    member_id: String | None = None
    member_epoch: Int32
    heartbeat_interval_ms: Int32
    assignment: ShareGroupHeartbeatAssignment | None = None


@request(key=76, versions=(1, 1), flexible=0)
class ShareGroupHeartbeatRequest(Request[ShareGroupHeartbeatResponse]):
    group_id: String
    member_id: String
    member_epoch: Int32
    rack_id: String | None = None
    subscribed_topic_names: list[String] | None = None


@message
class ShareGroupDescribeTopicPartitions:
    topic_id: Uuid
    topic_name: String
    partitions: list[Int32]


@message
class ShareGroupDescribeAssignment:
    topic_partitions: list[ShareGroupDescribeTopicPartitions]


@message
class Member:
    member_id: String
    rack_id: String | None = None
    member_epoch: Int32
    client_id: String
    client_host: String
    subscribed_topic_names: list[String]
    assignment: ShareGroupDescribeAssignment


@message
class DescribedGroup:
    error_code: Int16
    error_message: String | None = None
    group_id: String
    group_state: String
    group_epoch: Int32
    assignment_epoch: Int32
    assignor_name: String
    members: list[Member]
    authorized_operations: Int32 = -0x80000000


@response(key=77, versions=(1, 1), flexible=0)
class ShareGroupDescribeResponse:
    throttle_time_ms: Int32
    groups: list[DescribedGroup]


@request(key=77, versions=(1, 1), flexible=0)
class ShareGroupDescribeRequest(Request[ShareGroupDescribeResponse]):
    group_ids: list[String]
    include_authorized_operations: Bool


@message
class ShareFetchLeaderIdAndEpoch:
    leader_id: Int32
    leader_epoch: Int32


@message
class AcquiredRecords:
    first_offset: Int64
    last_offset: Int64
    delivery_count: Int16


@message
class ShareFetchPartitionData:
    partition_index: Int32
    error_code: Int16
    error_message: String | None = None
    acknowledge_error_code: Int16
    acknowledge_error_message: String | None = None
    current_leader: ShareFetchLeaderIdAndEpoch
    records: Records
    acquired_records: list[AcquiredRecords]


@message
class ShareFetchableTopicResponse:
    topic_id: Uuid
    partitions: list[ShareFetchPartitionData]


@message
class ShareFetchNodeEndpoint:
    node_id: Int32
    host: String
    port: Int32
    rack: String | None = None


@response(key=78, versions=(1, 2), flexible=0)
class ShareFetchResponse:
    throttle_time_ms: Int32
    error_code: Int16
    error_message: String | None = None
    acquisition_lock_timeout_ms: Int32
    responses: list[ShareFetchableTopicResponse]
    node_endpoints: list[ShareFetchNodeEndpoint]


@message
class ShareFetchAcknowledgementBatch:
    first_offset: Int64
    last_offset: Int64
    acknowledge_types: list[Int8]


@message
class FetchPartition:
    partition_index: Int32
    acknowledgement_batches: list[ShareFetchAcknowledgementBatch]


@message
class FetchTopic:
    topic_id: Uuid
    partitions: list[FetchPartition]


@message
class ForgottenTopic:
    topic_id: Uuid
    partitions: list[Int32]


@request(key=78, versions=(1, 2), flexible=0)
class ShareFetchRequest(Request[ShareFetchResponse]):
    group_id: String | None = None
    member_id: String | None
    share_session_epoch: Int32
    max_wait_ms: Int32
    min_bytes: Int32
    max_bytes: Int32 = 0x7FFFFFFF
    max_records: Int32
    batch_size: Int32
    share_acquire_mode: Int8 = since(2, default=0, ignorable=True)
    is_renew_ack: Bool = since(2, default=False)
    topics: list[FetchTopic]
    forgotten_topics_data: list[ForgottenTopic]


@message
class ShareAcknowledgeLeaderIdAndEpoch:
    leader_id: Int32
    leader_epoch: Int32


@message
class ShareAcknowledgePartitionData:
    partition_index: Int32
    error_code: Int16
    error_message: String | None = None
    current_leader: ShareAcknowledgeLeaderIdAndEpoch


@message
class ShareAcknowledgeTopicResponse:
    topic_id: Uuid
    partitions: list[ShareAcknowledgePartitionData]


@message
class ShareAcknowledgeNodeEndpoint:
    node_id: Int32
    host: String
    port: Int32
    rack: String | None = None


@response(key=79, versions=(1, 2), flexible=0)
class ShareAcknowledgeResponse:
    throttle_time_ms: Int32
    error_code: Int16
    error_message: String | None = None
    acquisition_lock_timeout_ms: Int32 = since(2, default=0, ignorable=True)
    responses: list[ShareAcknowledgeTopicResponse]
    node_endpoints: list[ShareAcknowledgeNodeEndpoint]


@message
class ShareAcknowledgeAcknowledgementBatch:
    first_offset: Int64
    last_offset: Int64
    acknowledge_types: list[Int8]


@message
class AcknowledgePartition:
    partition_index: Int32
    acknowledgement_batches: list[ShareAcknowledgeAcknowledgementBatch]


@message
class AcknowledgeTopic:
    topic_id: Uuid
    partitions: list[AcknowledgePartition]


@request(key=79, versions=(1, 2), flexible=0)
class ShareAcknowledgeRequest(Request[ShareAcknowledgeResponse]):
    group_id: String | None = None
    member_id: String | None
    share_session_epoch: Int32
    is_renew_ack: Bool = since(2, default=False)
    topics: list[AcknowledgeTopic]


@message
class DescribeShareGroupOffsetsResponsePartition:
    partition_index: Int32
    start_offset: Int64
    leader_epoch: Int32
    lag: Int64 = since(1, default=-1, ignorable=True)
    error_code: Int16
    error_message: String | None = None


@message
class DescribeShareGroupOffsetsResponseTopic:
    topic_name: String
    topic_id: Uuid
    partitions: list[DescribeShareGroupOffsetsResponsePartition]


@message
class DescribeShareGroupOffsetsResponseGroup:
    group_id: String
    topics: list[DescribeShareGroupOffsetsResponseTopic]
    error_code: Int16
    error_message: String | None = None


@response(key=90, versions=(0, 1), flexible=0)
class DescribeShareGroupOffsetsResponse:
    throttle_time_ms: Int32
    groups: list[DescribeShareGroupOffsetsResponseGroup]


@message
class DescribeShareGroupOffsetsRequestTopic:
    topic_name: String
    partitions: list[Int32]


@message
class DescribeShareGroupOffsetsRequestGroup:
    group_id: String
    topics: list[DescribeShareGroupOffsetsRequestTopic] | None


@request(key=90, versions=(0, 1), flexible=0)
class DescribeShareGroupOffsetsRequest(Request[DescribeShareGroupOffsetsResponse]):
    groups: list[DescribeShareGroupOffsetsRequestGroup]


@message
class AlterShareGroupOffsetsResponsePartition:
    partition_index: Int32
    error_code: Int16
    error_message: String | None = None


@message
class AlterShareGroupOffsetsResponseTopic:
    topic_name: String
    topic_id: Uuid
    partitions: list[AlterShareGroupOffsetsResponsePartition]


@response(key=91, versions=(0, 0), flexible=0)
class AlterShareGroupOffsetsResponse:
    throttle_time_ms: Int32
    error_code: Int16
    error_message: String | None = None
    responses: list[AlterShareGroupOffsetsResponseTopic]


@message
class AlterShareGroupOffsetsRequestPartition:
    partition_index: Int32
    start_offset: Int64


@message
class AlterShareGroupOffsetsRequestTopic:
    topic_name: String
    partitions: list[AlterShareGroupOffsetsRequestPartition]


@request(key=91, versions=(0, 0), flexible=0)
class AlterShareGroupOffsetsRequest(Request[AlterShareGroupOffsetsResponse]):
    group_id: String
    topics: list[AlterShareGroupOffsetsRequestTopic]


@message
class DeleteShareGroupOffsetsResponseTopic:
    topic_name: String
    topic_id: Uuid
    error_code: Int16
    error_message: String | None = None


@response(key=92, versions=(0, 0), flexible=0)
class DeleteShareGroupOffsetsResponse:
    throttle_time_ms: Int32
    error_code: Int16
    error_message: String | None = None
    responses: list[DeleteShareGroupOffsetsResponseTopic]


@message
class DeleteShareGroupOffsetsRequestTopic:
    topic_name: String


@request(key=92, versions=(0, 0), flexible=0)
class DeleteShareGroupOffsetsRequest(Request[DeleteShareGroupOffsetsResponse]):
    group_id: String
    topics: list[DeleteShareGroupOffsetsRequestTopic]
