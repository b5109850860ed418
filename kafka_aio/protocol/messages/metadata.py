"""Declarations only, with no limit of lines: topics, their partitions and leaders. Pure."""

from kafka_aio.protocol.schema import (
    NO_UUID,
    Bool,
    Int16,
    Int32,
    Request,
    String,
    Uuid,
    message,
    nullable,
    request,
    response,
    since,
)


@message
class MetadataResponseBroker:
    node_id: Int32
    host: String
    port: Int32
    rack: String | None = since(1, default=None, ignorable=True)


@message
class MetadataResponsePartition:
    error_code: Int16
    partition_index: Int32
    leader_id: Int32
    leader_epoch: Int32 = since(7, default=-1, ignorable=True)
    replica_nodes: list[Int32]
    isr_nodes: list[Int32]
    offline_replicas: list[Int32] = since(5, default=[], ignorable=True)


@message
class MetadataResponseTopic:
    error_code: Int16
    name: String | None = nullable(since=12)
    topic_id: Uuid = since(10, default=NO_UUID, ignorable=True)
    is_internal: Bool = since(1, default=False, ignorable=True)
    partitions: list[MetadataResponsePartition]
    topic_authorized_operations: Int32 = since(8, default=-0x80000000)


@response(key=3, versions=(0, 13), flexible=9)
class MetadataResponse:
    throttle_time_ms: Int32 = since(3, default=0, ignorable=True)
    brokers: list[MetadataResponseBroker]
    cluster_id: String | None = since(2, default=None, ignorable=True)
    controller_id: Int32 = since(1, default=-1, ignorable=True)
    topics: list[MetadataResponseTopic]
    cluster_authorized_operations: Int32 = since(8, until=10, default=-0x80000000)
    error_code: Int16 = since(13, default=0, ignorable=True)


@message
class MetadataRequestTopic:
    topic_id: Uuid = since(10, default=NO_UUID, ignorable=True)
    name: String | None = nullable(since=10)


@request(key=3, versions=(0, 13), flexible=9)
class MetadataRequest(Request[MetadataResponse]):
    topics: list[MetadataRequestTopic] | None = nullable(since=1)
    allow_auto_topic_creation: Bool = since(4, default=True)
    include_cluster_authorized_operations: Bool = since(8, until=10, default=False)
    include_topic_authorized_operations: Bool = since(8, default=False)


@message
class DescribeTopicPartitionsResponsePartition:
    error_code: Int16
    partition_index: Int32
    leader_id: Int32
    leader_epoch: Int32 = -1
    replica_nodes: list[Int32]
    isr_nodes: list[Int32]
    eligible_leader_replicas: list[Int32] | None = None
    last_known_elr: list[Int32] | None = None
    offline_replicas: list[Int32]


@message
class DescribeTopicPartitionsResponseTopic:
    error_code: Int16
    name: String | None
    topic_id: Uuid
    is_internal: Bool = False
    partitions: list[DescribeTopicPartitionsResponsePartition]
    topic_authorized_operations: Int32 = -0x80000000


@message
class Cursor:
    topic_name: String
    partition_index: Int32


@response(key=75, versions=(0, 0), flexible=0)
class DescribeTopicPartitionsResponse:
    throttle_time_ms: Int32
    topics: list[DescribeTopicPartitionsResponseTopic]
    next_cursor: Cursor | None = None


@message
class TopicRequest:
    name: String


@request(key=75, versions=(0, 0), flexible=0)
class DescribeTopicPartitionsRequest(Request[DescribeTopicPartitionsResponse]):
    topics: list[TopicRequest]
    response_partition_limit: Int32 = 2000
    cursor: Cursor | None = None
