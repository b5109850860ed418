"""Declarations only, with no limit of lines: log directories of brokers. Pure."""

from kafka_aio.protocol.schema import (
    Bool,
    Int16,
    Int32,
    Int64,
    Request,
    String,
    message,
    request,
    response,
    since,
)


@message
class AlterReplicaLogDirPartitionResult:
    partition_index: Int32
    error_code: Int16


@message
class AlterReplicaLogDirTopicResult:
    topic_name: String
    partitions: list[AlterReplicaLogDirPartitionResult]


@response(key=34, versions=(1, 2), flexible=2)
class AlterReplicaLogDirsResponse:
    throttle_time_ms: Int32
    results: list[AlterReplicaLogDirTopicResult]


@message
class AlterReplicaLogDirTopic:
    name: String
    partitions: list[Int32]


@message
class AlterReplicaLogDir:
    path: String
    topics: list[AlterReplicaLogDirTopic]


@request(key=34, versions=(1, 2), flexible=2)
class AlterReplicaLogDirsRequest(Request[AlterReplicaLogDirsResponse]):
    dirs: list[AlterReplicaLogDir]


@message
class DescribeLogDirsPartition:
    partition_index: Int32
    partition_size: Int64
    offset_lag: Int64
    is_future_key: Bool


@message
class DescribeLogDirsTopic:
    name: String
    partitions: list[DescribeLogDirsPartition]


@message
class DescribeLogDirsResult:
    error_code: Int16
    log_dir: String
    topics: list[DescribeLogDirsTopic]
    total_bytes: Int64 = since(4, default=-1, ignorable=True)
    usable_bytes: Int64 = since(4, default=-1, ignorable=True)
    is_cordoned: Bool = since(5, default=False, ignorable=True)


@response(key=35, versions=(1, 5), flexible=2)
class DescribeLogDirsResponse:
    throttle_time_ms: Int32
    error_code: Int16 = since(3, default=0, ignorable=True)
    results: list[DescribeLogDirsResult]


@message
class DescribableLogDirTopic:
    topic: String
    partitions: list[Int32]


@request(key=35, versions=(1, 5), flexible=2)
class DescribeLogDirsRequest(Request[DescribeLogDirsResponse]):
    topics: list[DescribableLogDirTopic] | None
