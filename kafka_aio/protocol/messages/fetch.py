"""Declarations only, with no limit of lines: fetching records. Pure."""

from kafka_aio.protocol.schema import (
    NO_UUID,
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
    tagged,
    until,
)


@message
class EpochEndOffset:
    epoch: Int32 = -1
    end_offset: Int64 = -1


@message
class LeaderIdAndEpoch:
    leader_id: Int32 = -1
    leader_epoch: Int32 = -1


@message
class SnapshotId:
    end_offset: Int64 = -1
    epoch: Int32 = -1


@message
class AbortedTransaction:
    producer_id: Int64
    first_offset: Int64


@message
class PartitionData:
    partition_index: Int32
    error_code: Int16
    high_watermark: Int64
    last_stable_offset: Int64 = -1
    log_start_offset: Int64 = since(5, default=-1, ignorable=True)
    diverging_epoch: EpochEndOffset = tagged(0, since=12, default=EpochEndOffset())
    current_leader: LeaderIdAndEpoch = tagged(1, since=12, default=LeaderIdAndEpoch())
    snapshot_id: SnapshotId = tagged(2, since=12, default=SnapshotId())
    aborted_transactions: list[AbortedTransaction] | None
    preferred_read_replica: Int32 = since(11, default=-1)
    records: Records | None


@message
class FetchableTopicResponse:
    topic: String = until(12, default="", ignorable=True)
    topic_id: Uuid = since(13, default=NO_UUID, ignorable=True)
    partitions: list[PartitionData]


@message
class NodeEndpoint:
    node_id: Int32
    host: String
    port: Int32
    rack: String | None = None


@response(key=1, versions=(4, 18), flexible=12)
class FetchResponse:
    throttle_time_ms: Int32
    error_code: Int16 = since(7, default=0, ignorable=True)
    session_id: Int32 = since(7, default=0)
    responses: list[FetchableTopicResponse]
    node_endpoints: list[NodeEndpoint] = tagged(0, since=16, default=[])


@message
class ReplicaState:
    replica_id: Int32 = -1
    replica_epoch: Int64 = -1


@message
class FetchPartition:
    partition: Int32
    current_leader_epoch: Int32 = since(9, default=-1, ignorable=True)
    fetch_offset: Int64
    last_fetched_epoch: Int32 = since(12, default=-1)
    log_start_offset: Int64 = since(5, default=-1, ignorable=True)
    partition_max_bytes: Int32
    replica_directory_id: Uuid = tagged(0, since=17, default=NO_UUID, ignorable=True)
    high_watermark: Int64 = tagged(1, since=18, default=0x7FFFFFFFFFFFFFFF, ignorable=True)


@message
class FetchTopic:
    topic: String = until(12, default="", ignorable=True)
    topic_id: Uuid = since(13, default=NO_UUID, ignorable=True)
    partitions: list[FetchPartition]


@message
class ForgottenTopic:
    topic: String = until(12, default="", ignorable=True)
    topic_id: Uuid = since(13, default=NO_UUID, ignorable=True)
    partitions: list[Int32]


@request(key=1, versions=(4, 18), flexible=12)
class FetchRequest(Request[FetchResponse]):
    cluster_id: String | None = tagged(0, since=12, default=None, ignorable=True)
    replica_id: Int32 = until(14, default=-1)
    replica_state: ReplicaState = tagged(1, since=15, default=ReplicaState())
    max_wait_ms: Int32
    min_bytes: Int32
    max_bytes: Int32 = 0x7FFFFFFF
    isolation_level: Int8 = 0
    session_id: Int32 = since(7, default=0, ignorable=True)
    session_epoch: Int32 = since(7, default=-1, ignorable=True)
    topics: list[FetchTopic]
    forgotten_topics_data: list[ForgottenTopic] = since(7, default=[])
    rack_id: String = since(11, default="", ignorable=True)
