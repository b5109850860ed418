"""Declarations only, with no limit of lines: offsets of partitions and of groups. Pure."""

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
    request,
    response,
    since,
    until,
)


@message
class ListOffsetsPartitionResponse:
    partition_index: Int32
    error_code: Int16
    timestamp: Int64 = -1
    offset: Int64 = -1
    leader_epoch: Int32 = since(4, default=-1)


@message
class ListOffsetsTopicResponse:
    name: String
    partitions: list[ListOffsetsPartitionResponse]


@response(key=2, versions=(1, 11), flexible=6)
class ListOffsetsResponse:
    throttle_time_ms: Int32 = since(2, default=0, ignorable=True)
    topics: list[ListOffsetsTopicResponse]


@message
class ListOffsetsPartition:
    partition_index: Int32
    current_leader_epoch: Int32 = since(4, default=-1, ignorable=True)
    timestamp: Int64


@message
class ListOffsetsTopic:
    name: String
    partitions: list[ListOffsetsPartition]


@request(key=2, versions=(1, 11), flexible=6)
class ListOffsetsRequest(Request[ListOffsetsResponse]):
    replica_id: Int32
    isolation_level: Int8 = since(2, default=0)
    topics: list[ListOffsetsTopic]
    timeout_ms: Int32 = since(10, default=0, ignorable=True)


@message
class OffsetCommitResponsePartition:
    partition_index: Int32
    error_code: Int16


@message
class OffsetCommitResponseTopic:
    name: String = until(9, default="", ignorable=True)
    topic_id: Uuid = since(10, default=NO_UUID, ignorable=True)
    partitions: list[OffsetCommitResponsePartition]


@response(key=8, versions=(2, 10), flexible=8)
class OffsetCommitResponse:
    throttle_time_ms: Int32 = since(3, default=0, ignorable=True)
    topics: list[OffsetCommitResponseTopic]


@message
class OffsetCommitRequestPartition:
    partition_index: Int32
    committed_offset: Int64
    committed_leader_epoch: Int32 = since(6, default=-1, ignorable=True)
    committed_metadata: String | None


@message
class OffsetCommitRequestTopic:
    name: String = until(9, default="", ignorable=True)
    topic_id: Uuid = since(10, default=NO_UUID, ignorable=True)
    partitions: list[OffsetCommitRequestPartition]


@request(key=8, versions=(2, 10), flexible=8)
class OffsetCommitRequest(Request[OffsetCommitResponse]):
    group_id: String
    generation_id_or_member_epoch: Int32 = -1
    member_id: String
    group_instance_id: String | None = since(7, default=None)
    retention_time_ms: Int64 = until(4, default=-1, ignorable=True)
    topics: list[OffsetCommitRequestTopic]


@message
class OffsetFetchResponsePartition:
    partition_index: Int32
    committed_offset: Int64
    committed_leader_epoch: Int32 = since(5, default=-1, ignorable=True)
    metadata: String | None
    error_code: Int16


@message
class OffsetFetchResponseTopic:
    name: String
    partitions: list[OffsetFetchResponsePartition]


@message
class OffsetFetchResponsePartitions:
    partition_index: Int32
    committed_offset: Int64
    committed_leader_epoch: Int32 = -1
    metadata: String | None
    error_code: Int16


@message
class OffsetFetchResponseTopics:
    name: String = until(9, default="", ignorable=True)
    topic_id: Uuid = since(10, default=NO_UUID, ignorable=True)
    partitions: list[OffsetFetchResponsePartitions]


@message
class OffsetFetchResponseGroup:
    group_id: String
    topics: list[OffsetFetchResponseTopics]
    error_code: Int16 = 0


@response(key=9, versions=(1, 10), flexible=6)
class OffsetFetchResponse:
    throttle_time_ms: Int32 = since(3, default=0, ignorable=True)
    topics: list[OffsetFetchResponseTopic] = until(7, default=[])
    error_code: Int16 = since(2, until=7, default=0, ignorable=True)
    groups: list[OffsetFetchResponseGroup] = since(8, default=[])


@message
class OffsetFetchRequestTopic:
    name: String
    partition_indexes: list[Int32]


@message
class OffsetFetchRequestTopics:
    name: String = until(9, default="", ignorable=True)
    topic_id: Uuid = since(10, default=NO_UUID, ignorable=True)
    partition_indexes: list[Int32]


@message
class OffsetFetchRequestGroup:
    group_id: String
    member_id: String | None = since(9, default=None, ignorable=True)
    member_epoch: Int32 = since(9, default=-1, ignorable=True)
    topics: list[OffsetFetchRequestTopics] | None


@request(key=9, versions=(1, 10), flexible=6)
class OffsetFetchRequest(Request[OffsetFetchResponse]):
    group_id: String = until(7, default="")
    topics: list[OffsetFetchRequestTopic] | None = until(7, default=[], nullable=2)
    groups: list[OffsetFetchRequestGroup] = since(8, default=[])
    require_stable: Bool = since(7, default=False)


@message
class EpochEndOffset:
    error_code: Int16
    partition: Int32
    leader_epoch: Int32 = -1
    end_offset: Int64 = -1


@message
class OffsetForLeaderTopicResult:
    topic: String
    partitions: list[EpochEndOffset]


@response(key=23, versions=(2, 4), flexible=4)
class OffsetForLeaderEpochResponse:
    throttle_time_ms: Int32
    topics: list[OffsetForLeaderTopicResult]


@message
class OffsetForLeaderPartition:
    partition: Int32
    current_leader_epoch: Int32 = -1
    leader_epoch: Int32


@message
class OffsetForLeaderTopic:
    topic: String
    partitions: list[OffsetForLeaderPartition]


@request(key=23, versions=(2, 4), flexible=4)
class OffsetForLeaderEpochRequest(Request[OffsetForLeaderEpochResponse]):
    replica_id: Int32 = since(3, default=-2, ignorable=True)
    topics: list[OffsetForLeaderTopic]


@message
class OffsetDeleteResponsePartition:
    partition_index: Int32
    error_code: Int16


@message
class OffsetDeleteResponseTopic:
    name: String
    partitions: list[OffsetDeleteResponsePartition]


@response(key=47, versions=(0, 0))
class OffsetDeleteResponse:
    error_code: Int16
    throttle_time_ms: Int32
    topics: list[OffsetDeleteResponseTopic]


@message
class OffsetDeleteRequestPartition:
    partition_index: Int32


@message
class OffsetDeleteRequestTopic:
    name: String
    partitions: list[OffsetDeleteRequestPartition]


@request(key=47, versions=(0, 0))
class OffsetDeleteRequest(Request[OffsetDeleteResponse]):
    group_id: String
    topics: list[OffsetDeleteRequestTopic]
