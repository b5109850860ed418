"""Declarations only, with no limit of lines: topics: create, change, delete. Pure."""

from kafka_aio.protocol.schema import (
    NO_UUID,
    Bool,
    Int8,
    Int16,
    Int32,
    Int64,
    Request,
    String,
    Uuid,
    message,
    nullable,
    request,
    response,
    since,
    tagged,
    until,
)


@message
class CreatableTopicConfigs:
    name: String
    value: String | None
    read_only: Bool
    config_source: Int8 = -1
    is_sensitive: Bool


@message
class CreatableTopicResult:
    name: String
    topic_id: Uuid = since(7, default=NO_UUID, ignorable=True)
    error_code: Int16
    error_message: String | None
    topic_config_error_code: Int16 = tagged(0, since=5, default=0, ignorable=True)
    num_partitions: Int32 = since(5, default=-1, ignorable=True)
    replication_factor: Int16 = since(5, default=-1, ignorable=True)
    configs: list[CreatableTopicConfigs] | None = since(5, default=[], ignorable=True)


@response(key=19, versions=(2, 7), flexible=5)
class CreateTopicsResponse:
    throttle_time_ms: Int32
    topics: list[CreatableTopicResult]


@message
class CreatableReplicaAssignment:
    partition_index: Int32
    broker_ids: list[Int32]


@message
class CreatableTopicConfig:
    name: String
    value: String | None


@message
class CreatableTopic:
    name: String
    num_partitions: Int32
    replication_factor: Int16
    assignments: list[CreatableReplicaAssignment]
    configs: list[CreatableTopicConfig]


@request(key=19, versions=(2, 7), flexible=5)
class CreateTopicsRequest(Request[CreateTopicsResponse]):
    topics: list[CreatableTopic]
    timeout_ms: Int32 = 60000
    validate_only: Bool = False


@message
class DeletableTopicResult:
    name: String | None = nullable(since=6)
    topic_id: Uuid = since(6, default=NO_UUID, ignorable=True)
    error_code: Int16
    error_message: String | None = since(5, default=None, ignorable=True)


@response(key=20, versions=(1, 6), flexible=4)
class DeleteTopicsResponse:
    throttle_time_ms: Int32
    responses: list[DeletableTopicResult]


@message
class DeleteTopicState:
    name: String | None = None
    topic_id: Uuid


@request(key=20, versions=(1, 6), flexible=4)
class DeleteTopicsRequest(Request[DeleteTopicsResponse]):
    topics: list[DeleteTopicState] = since(6, default=[])
    topic_names: list[String] = until(5, default=[], ignorable=True)
    timeout_ms: Int32


@message
class DeleteRecordsPartitionResult:
    partition_index: Int32
    low_watermark: Int64
    error_code: Int16


@message
class DeleteRecordsTopicResult:
    name: String
    partitions: list[DeleteRecordsPartitionResult]


@response(key=21, versions=(0, 2), flexible=2)
class DeleteRecordsResponse:
    throttle_time_ms: Int32
    topics: list[DeleteRecordsTopicResult]


@message
class DeleteRecordsPartition:
    partition_index: Int32
    offset: Int64


@message
class DeleteRecordsTopic:
    name: String
    partitions: list[DeleteRecordsPartition]


@request(key=21, versions=(0, 2), flexible=2)
class DeleteRecordsRequest(Request[DeleteRecordsResponse]):
    topics: list[DeleteRecordsTopic]
    timeout_ms: Int32


@message
class CreatePartitionsTopicResult:
    name: String
    error_code: Int16
    error_message: String | None = None


@response(key=37, versions=(0, 3), flexible=2)
class CreatePartitionsResponse:
    throttle_time_ms: Int32
    results: list[CreatePartitionsTopicResult]


@message
class CreatePartitionsAssignment:
    broker_ids: list[Int32]


@message
class CreatePartitionsTopic:
    name: String
    count: Int32
    assignments: list[CreatePartitionsAssignment] | None


@request(key=37, versions=(0, 3), flexible=2)
class CreatePartitionsRequest(Request[CreatePartitionsResponse]):
    topics: list[CreatePartitionsTopic]
    timeout_ms: Int32
    validate_only: Bool


@message
class PartitionResult:
    partition_id: Int32
    error_code: Int16
    error_message: String | None


@message
class ReplicaElectionResult:
    topic: String
    partition_result: list[PartitionResult]


@response(key=43, versions=(0, 2), flexible=2)
class ElectLeadersResponse:
    throttle_time_ms: Int32
    error_code: Int16 = since(1, default=0)
    replica_election_results: list[ReplicaElectionResult]


@message
class TopicPartitions:
    topic: String
    partitions: list[Int32]


@request(key=43, versions=(0, 2), flexible=2)
class ElectLeadersRequest(Request[ElectLeadersResponse]):
    election_type: Int8 = since(1, default=0)
    topic_partitions: list[TopicPartitions] | None
    timeout_ms: Int32 = 60000


@message
class ReassignablePartitionResponse:
    partition_index: Int32
    error_code: Int16
    error_message: String | None


@message
class ReassignableTopicResponse:
    name: String
    partitions: list[ReassignablePartitionResponse]


@response(key=45, versions=(0, 1), flexible=0)
class AlterPartitionReassignmentsResponse:
    throttle_time_ms: Int32
    allow_replication_factor_change: Bool = since(1, default=True, ignorable=True)
    error_code: Int16
    error_message: String | None
    responses: list[ReassignableTopicResponse]


@message
class ReassignablePartition:
    partition_index: Int32
    replicas: list[Int32] | None = None


@message
class ReassignableTopic:
    name: String
    partitions: list[ReassignablePartition]


@request(key=45, versions=(0, 1), flexible=0)
class AlterPartitionReassignmentsRequest(Request[AlterPartitionReassignmentsResponse]):
    timeout_ms: Int32 = 60000
    allow_replication_factor_change: Bool = since(1, default=True)
    topics: list[ReassignableTopic]


@message
class OngoingPartitionReassignment:
    partition_index: Int32
    replicas: list[Int32]
    adding_replicas: list[Int32]
    removing_replicas: list[Int32]


@message
class OngoingTopicReassignment:
    name: String
    partitions: list[OngoingPartitionReassignment]


@response(key=46, versions=(0, 0), flexible=0)
class ListPartitionReassignmentsResponse:
    throttle_time_ms: Int32
    error_code: Int16
    error_message: String | None
    topics: list[OngoingTopicReassignment]


@message
class ListPartitionReassignmentsTopics:
    name: String
    partition_indexes: list[Int32]


@request(key=46, versions=(0, 0), flexible=0)
class ListPartitionReassignmentsRequest(Request[ListPartitionReassignmentsResponse]):
    timeout_ms: Int32 = 60000
    topics: list[ListPartitionReassignmentsTopics] | None = None
