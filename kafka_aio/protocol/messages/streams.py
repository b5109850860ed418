"""Declarations only, with no limit of lines: groups of Kafka Streams (KIP-1071). Pure."""

from kafka_aio.protocol.schema import (
    Bool,
    Int8,
    Int16,
    Int32,
    Int64,
    Request,
    String,
    UInt16,
    message,
    request,
    response,
)


@message
class Status:
    status_code: Int8
    status_detail: String


@message
class StreamsGroupHeartbeatTaskIds:
    subtopology_id: String
    partitions: list[Int32]


@message
class StreamsGroupHeartbeatEndpoint:
    host: String
    port: UInt16


@message
class TopicPartition:
    topic: String
    partitions: list[Int32]


@message
class EndpointToPartitions:
    user_endpoint: StreamsGroupHeartbeatEndpoint
    active_partitions: list[TopicPartition]
    standby_partitions: list[TopicPartition]


@response(key=88, versions=(0, 0), flexible=0)
class StreamsGroupHeartbeatResponse:
    throttle_time_ms: Int32
    error_code: Int16
    error_message: String | None = None
    member_id: String
    member_epoch: Int32
    heartbeat_interval_ms: Int32
    acceptable_recovery_lag: Int32
    task_offset_interval_ms: Int32
    status: list[Status] | None
    active_tasks: list[StreamsGroupHeartbeatTaskIds] | None = None
    standby_tasks: list[StreamsGroupHeartbeatTaskIds] | None = None
    warmup_tasks: list[StreamsGroupHeartbeatTaskIds] | None = None
    endpoint_information_epoch: Int32
    partitions_by_user_endpoint: list[EndpointToPartitions] | None = None


@message
class StreamsGroupHeartbeatKeyValue:
    key: String
    value: String


@message
class StreamsGroupHeartbeatTopicInfo:
    name: String
    partitions: Int32
    replication_factor: Int16
    topic_configs: list[StreamsGroupHeartbeatKeyValue]


@message
class CopartitionGroup:
    source_topics: list[Int16]
    source_topic_regex: list[Int16]
    repartition_source_topics: list[Int16]


@message
class StreamsGroupHeartbeatSubtopology:
    subtopology_id: String
    source_topics: list[String]
    source_topic_regex: list[String]
    state_changelog_topics: list[StreamsGroupHeartbeatTopicInfo]
    repartition_sink_topics: list[String]
    repartition_source_topics: list[StreamsGroupHeartbeatTopicInfo]
    copartition_groups: list[CopartitionGroup]


@message
class StreamsGroupHeartbeatTopology:
    epoch: Int32
    subtopologies: list[StreamsGroupHeartbeatSubtopology]


@message
class StreamsGroupHeartbeatTaskOffset:
    subtopology_id: String
    partition: Int32
    offset: Int64


@request(key=88, versions=(0, 0), flexible=0)
class StreamsGroupHeartbeatRequest(Request[StreamsGroupHeartbeatResponse]):
    group_id: String
    member_id: String
    member_epoch: Int32
    endpoint_information_epoch: Int32
    instance_id: String | None = None
    rack_id: String | None = None
    rebalance_timeout_ms: Int32 = -1
    topology: StreamsGroupHeartbeatTopology | None = None
    active_tasks: list[StreamsGroupHeartbeatTaskIds] | None = None
    standby_tasks: list[StreamsGroupHeartbeatTaskIds] | None = None
    warmup_tasks: list[StreamsGroupHeartbeatTaskIds] | None = None
    process_id: String | None = None
    user_endpoint: StreamsGroupHeartbeatEndpoint | None = None
    client_tags: list[StreamsGroupHeartbeatKeyValue] | None = None
    task_offsets: list[StreamsGroupHeartbeatTaskOffset] | None = None
    task_end_offsets: list[StreamsGroupHeartbeatTaskOffset] | None = None
    shutdown_application: Bool = False


@message
class StreamsGroupDescribeKeyValue:
    key: String
    value: String


@message
class StreamsGroupDescribeTopicInfo:
    name: String
    partitions: Int32
    replication_factor: Int16
    topic_configs: list[StreamsGroupDescribeKeyValue]


@message
class StreamsGroupDescribeSubtopology:
    subtopology_id: String
    source_topics: list[String]
    repartition_sink_topics: list[String]
    state_changelog_topics: list[StreamsGroupDescribeTopicInfo]
    repartition_source_topics: list[StreamsGroupDescribeTopicInfo]


@message
class StreamsGroupDescribeTopology:
    epoch: Int32
    subtopologies: list[StreamsGroupDescribeSubtopology] | None = None


@message
class StreamsGroupDescribeEndpoint:
    host: String
    port: UInt16


@message
class StreamsGroupDescribeTaskOffset:
    subtopology_id: String
    partition: Int32
    offset: Int64


@message
class StreamsGroupDescribeTaskIds:
    subtopology_id: String
    partitions: list[Int32]


@message
class Assignment:
    active_tasks: list[StreamsGroupDescribeTaskIds]
    standby_tasks: list[StreamsGroupDescribeTaskIds]
    warmup_tasks: list[StreamsGroupDescribeTaskIds]


@message
class Member:
    member_id: String
    member_epoch: Int32
    instance_id: String | None = None
    rack_id: String | None = None
    client_id: String
    client_host: String
    topology_epoch: Int32
    process_id: String
    user_endpoint: StreamsGroupDescribeEndpoint | None = None
    client_tags: list[StreamsGroupDescribeKeyValue]
    task_offsets: list[StreamsGroupDescribeTaskOffset]
    task_end_offsets: list[StreamsGroupDescribeTaskOffset]
    assignment: Assignment
    target_assignment: Assignment
    is_classic: Bool


@message
class DescribedGroup:
    error_code: Int16
    error_message: String | None = None
    group_id: String
    group_state: String
    group_epoch: Int32
    assignment_epoch: Int32
    topology: StreamsGroupDescribeTopology | None = None
    members: list[Member]
    authorized_operations: Int32 = -0x80000000


@response(key=89, versions=(0, 0), flexible=0)
class StreamsGroupDescribeResponse:
    throttle_time_ms: Int32
    groups: list[DescribedGroup]


@request(key=89, versions=(0, 0), flexible=0)
class StreamsGroupDescribeRequest(Request[StreamsGroupDescribeResponse]):
    group_ids: list[String]
    include_authorized_operations: Bool
