"""Declarations only, with no limit of lines: groups of the consumer protocol (KIP-848). Pure."""

from kafka_aio.protocol.schema import (
    Bool,
    Int8,
    Int16,
    Int32,
    Request,
    String,
    Uuid,
    message,
    request,
    response,
    since,
)


@message
class ConsumerGroupHeartbeatTopicPartitions:
    topic_id: Uuid
    partitions: list[Int32]


@message
class ConsumerGroupHeartbeatAssignment:
    topic_partitions: list[ConsumerGroupHeartbeatTopicPartitions]


@response(key=68, versions=(0, 1), flexible=0)
class ConsumerGroupHeartbeatResponse:
    throttle_time_ms: Int32
    error_code: Int16
    error_message: String | None = None
    member_id: String | None = None
    member_epoch: Int32
    heartbeat_interval_ms: Int32
    assignment: ConsumerGroupHeartbeatAssignment | None = None


@request(key=68, versions=(0, 1), flexible=0)
class ConsumerGroupHeartbeatRequest(Request[ConsumerGroupHeartbeatResponse]):
    group_id: String
    member_id: String
    member_epoch: Int32
    instance_id: String | None = None
    rack_id: String | None = None
    rebalance_timeout_ms: Int32 = -1
    subscribed_topic_names: list[String] | None = None
    subscribed_topic_regex: String | None = since(1, default=None)
    server_assignor: String | None = None
    topic_partitions: list[ConsumerGroupHeartbeatTopicPartitions] | None = None


@message
class ConsumerGroupDescribeTopicPartitions:
    topic_id: Uuid
    topic_name: String
    partitions: list[Int32]


@message
class ConsumerGroupDescribeAssignment:
    topic_partitions: list[ConsumerGroupDescribeTopicPartitions]


@message
class Member:
    member_id: String
    instance_id: String | None = None
    rack_id: String | None = None
    member_epoch: Int32
    client_id: String
    client_host: String
    subscribed_topic_names: list[String]
    subscribed_topic_regex: String | None = None
    assignment: ConsumerGroupDescribeAssignment
    target_assignment: ConsumerGroupDescribeAssignment
    member_type: Int8 = since(1, default=-1, ignorable=True)


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


@response(key=69, versions=(0, 1), flexible=0)
class ConsumerGroupDescribeResponse:
    throttle_time_ms: Int32
    groups: list[DescribedGroup]


@request(key=69, versions=(0, 1), flexible=0)
class ConsumerGroupDescribeRequest(Request[ConsumerGroupDescribeResponse]):
    group_ids: list[String]
    include_authorized_operations: Bool
