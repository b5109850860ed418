"""Declarations only, with no limit of lines: the cluster, its features and its quorum. Pure."""

from kafka_aio.protocol.schema import (
    NO_UUID,
    Bool,
    Int8,
    Int16,
    Int32,
    Int64,
    Request,
    String,
    UInt16,
    Uuid,
    message,
    request,
    response,
    since,
    until,
)


@message
class DescribeClusterBroker:
    broker_id: Int32
    host: String
    port: Int32
    rack: String | None = None
    is_fenced: Bool = since(2, default=False)


@response(key=60, versions=(0, 2), flexible=0)
class DescribeClusterResponse:
    throttle_time_ms: Int32
    error_code: Int16
    error_message: String | None = None
    endpoint_type: Int8 = since(1, default=1)
    cluster_id: String
    controller_id: Int32 = -1
    brokers: list[DescribeClusterBroker]
    cluster_authorized_operations: Int32 = -0x80000000


@request(key=60, versions=(0, 2), flexible=0)
class DescribeClusterRequest(Request[DescribeClusterResponse]):
    include_cluster_authorized_operations: Bool
    endpoint_type: Int8 = since(1, default=1)
    include_fenced_brokers: Bool = since(2, default=False)


@message
class ReplicaState:
    replica_id: Int32
    replica_directory_id: Uuid = since(2, default=NO_UUID)
    log_end_offset: Int64
    last_fetch_timestamp: Int64 = since(1, default=-1, ignorable=True)
    last_caught_up_timestamp: Int64 = since(1, default=-1, ignorable=True)


@message
class DescribeQuorumResponsePartitionData:
    partition_index: Int32
    error_code: Int16
    error_message: String | None = since(2, default="", ignorable=True)
    leader_id: Int32
    leader_epoch: Int32
    high_watermark: Int64
    current_voters: list[ReplicaState]
    observers: list[ReplicaState]


@message
class DescribeQuorumResponseTopicData:
    topic_name: String
    partitions: list[DescribeQuorumResponsePartitionData]


@message
class DescribeQuorumListener:
    name: String
    host: String
    port: UInt16


@message
class Node:
    node_id: Int32
    listeners: list[DescribeQuorumListener]


@response(key=55, versions=(0, 2), flexible=0)
class DescribeQuorumResponse:
    error_code: Int16
    error_message: String | None = since(2, default="", ignorable=True)
    topics: list[DescribeQuorumResponseTopicData]
    nodes: list[Node] = since(2, default=[])


@message
class DescribeQuorumRequestPartitionData:
    partition_index: Int32


@message
class DescribeQuorumRequestTopicData:
    topic_name: String
    partitions: list[DescribeQuorumRequestPartitionData]


@request(key=55, versions=(0, 2), flexible=0)
class DescribeQuorumRequest(Request[DescribeQuorumResponse]):
    topics: list[DescribeQuorumRequestTopicData]


@message
class UpdatableFeatureResult:
    feature: String
    error_code: Int16
    error_message: String | None


@response(key=57, versions=(0, 2), flexible=0)
class UpdateFeaturesResponse:
    throttle_time_ms: Int32
    error_code: Int16
    error_message: String | None
    results: list[UpdatableFeatureResult] = until(1, default=[], ignorable=True)


@message
class FeatureUpdateKey:
    feature: String
    max_version_level: Int16
    allow_downgrade: Bool = until(0, default=False)
    upgrade_type: Int8 = since(1, default=1)


@request(key=57, versions=(0, 2), flexible=0)
class UpdateFeaturesRequest(Request[UpdateFeaturesResponse]):
    timeout_ms: Int32 = 60000
    feature_updates: list[FeatureUpdateKey]
    validate_only: Bool = since(1, default=False)


@response(key=64, versions=(0, 0), flexible=0)
class UnregisterBrokerResponse:
    throttle_time_ms: Int32
    error_code: Int16
    error_message: String | None


@request(key=64, versions=(0, 0), flexible=0)
class UnregisterBrokerRequest(Request[UnregisterBrokerResponse]):
    broker_id: Int32


@response(key=80, versions=(0, 1), flexible=0)
class AddRaftVoterResponse:
    throttle_time_ms: Int32
    error_code: Int16
    error_message: String | None


@message
class AddRaftVoterListener:
    name: String
    host: String
    port: UInt16


@request(key=80, versions=(0, 1), flexible=0)
class AddRaftVoterRequest(Request[AddRaftVoterResponse]):
    cluster_id: String | None
    timeout_ms: Int32
    voter_id: Int32
    voter_directory_id: Uuid
    listeners: list[AddRaftVoterListener]
    ack_when_committed: Bool = since(1, default=True)


@response(key=81, versions=(0, 0), flexible=0)
class RemoveRaftVoterResponse:
    throttle_time_ms: Int32
    error_code: Int16
    error_message: String | None


@request(key=81, versions=(0, 0), flexible=0)
class RemoveRaftVoterRequest(Request[RemoveRaftVoterResponse]):
    cluster_id: String | None
    voter_id: Int32
    voter_directory_id: Uuid
