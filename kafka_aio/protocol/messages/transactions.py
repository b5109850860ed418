"""Declarations only, with no limit of lines: producer ids and transactions. Pure."""

from kafka_aio.protocol.schema import (
    Bool,
    Int8,
    Int16,
    Int32,
    Int64,
    Request,
    String,
    message,
    request,
    response,
    since,
    until,
)


@response(key=22, versions=(0, 6), flexible=2)
class InitProducerIdResponse:
    throttle_time_ms: Int32
    error_code: Int16
    producer_id: Int64 = -1
    producer_epoch: Int16
    ongoing_txn_producer_id: Int64 = since(6, default=-1)
    ongoing_txn_producer_epoch: Int16 = since(6, default=-1)


@request(key=22, versions=(0, 6), flexible=2, unstable=True)
class InitProducerIdRequest(Request[InitProducerIdResponse]):
    transactional_id: String | None
    transaction_timeout_ms: Int32
    producer_id: Int64 = since(3, default=-1)
    producer_epoch: Int16 = since(3, default=-1)
    enable2_pc: Bool = since(6, default=False)
    keep_prepared_txn: Bool = since(6, default=False)


@message
class AddPartitionsToTxnPartitionResult:
    partition_index: Int32
    partition_error_code: Int16


@message
class AddPartitionsToTxnTopicResult:
    name: String
    results_by_partition: list[AddPartitionsToTxnPartitionResult]


@message
class AddPartitionsToTxnResult:
    transactional_id: String
    topic_results: list[AddPartitionsToTxnTopicResult]


@response(key=24, versions=(0, 5), flexible=3)
class AddPartitionsToTxnResponse:
    throttle_time_ms: Int32
    error_code: Int16 = since(4, default=0, ignorable=True)
    results_by_transaction: list[AddPartitionsToTxnResult] = since(4, default=[])
    results_by_topic_v3_and_below: list[AddPartitionsToTxnTopicResult] = until(3, default=[])


@message
class AddPartitionsToTxnTopic:
    name: String
    partitions: list[Int32]


@message
class AddPartitionsToTxnTransaction:
    transactional_id: String
    producer_id: Int64
    producer_epoch: Int16
    verify_only: Bool = False
    topics: list[AddPartitionsToTxnTopic]


@request(key=24, versions=(0, 5), flexible=3)
class AddPartitionsToTxnRequest(Request[AddPartitionsToTxnResponse]):
    transactions: list[AddPartitionsToTxnTransaction] = since(4, default=[])
    v3_and_below_transactional_id: String = until(3, default="")
    v3_and_below_producer_id: Int64 = until(3, default=0)
    v3_and_below_producer_epoch: Int16 = until(3, default=0)
    v3_and_below_topics: list[AddPartitionsToTxnTopic] = until(3, default=[])


@response(key=25, versions=(0, 4), flexible=3)
class AddOffsetsToTxnResponse:
    throttle_time_ms: Int32
    error_code: Int16


@request(key=25, versions=(0, 4), flexible=3)
class AddOffsetsToTxnRequest(Request[AddOffsetsToTxnResponse]):
    transactional_id: String
    producer_id: Int64
    producer_epoch: Int16
    group_id: String


@response(key=26, versions=(0, 5), flexible=3)
class EndTxnResponse:
    throttle_time_ms: Int32
    error_code: Int16
    producer_id: Int64 = since(5, default=-1, ignorable=True)
    producer_epoch: Int16 = since(5, default=-1, ignorable=True)


@request(key=26, versions=(0, 5), flexible=3)
class EndTxnRequest(Request[EndTxnResponse]):
    transactional_id: String
    producer_id: Int64
    producer_epoch: Int16
    committed: Bool


@message
class WritableTxnMarkerPartitionResult:
    partition_index: Int32
    error_code: Int16


@message
class WritableTxnMarkerTopicResult:
    name: String
    partitions: list[WritableTxnMarkerPartitionResult]


@message
class WritableTxnMarkerResult:
    producer_id: Int64
    topics: list[WritableTxnMarkerTopicResult]


@response(key=27, versions=(1, 2), flexible=1)
class WriteTxnMarkersResponse:
    markers: list[WritableTxnMarkerResult]


@message
class WritableTxnMarkerTopic:
    name: String
    partition_indexes: list[Int32]


@message
class WritableTxnMarker:
    producer_id: Int64
    producer_epoch: Int16
    transaction_result: Bool
    topics: list[WritableTxnMarkerTopic]
    coordinator_epoch: Int32
    transaction_version: Int8 = since(2, default=0, ignorable=True)


@request(key=27, versions=(1, 2), flexible=1)
class WriteTxnMarkersRequest(Request[WriteTxnMarkersResponse]):
    markers: list[WritableTxnMarker]


@message
class TxnOffsetCommitResponsePartition:
    partition_index: Int32
    error_code: Int16


@message
class TxnOffsetCommitResponseTopic:
    name: String
    partitions: list[TxnOffsetCommitResponsePartition]


@response(key=28, versions=(0, 5), flexible=3)
class TxnOffsetCommitResponse:
    throttle_time_ms: Int32
    topics: list[TxnOffsetCommitResponseTopic]


@message
class TxnOffsetCommitRequestPartition:
    partition_index: Int32
    committed_offset: Int64
    committed_leader_epoch: Int32 = since(2, default=-1, ignorable=True)
    committed_metadata: String | None


@message
class TxnOffsetCommitRequestTopic:
    name: String
    partitions: list[TxnOffsetCommitRequestPartition]


@request(key=28, versions=(0, 5), flexible=3)
class TxnOffsetCommitRequest(Request[TxnOffsetCommitResponse]):
    transactional_id: String
    group_id: String
    producer_id: Int64
    producer_epoch: Int16
    generation_id: Int32 = since(3, default=-1)
    member_id: String = since(3, default="")
    group_instance_id: String | None = since(3, default=None)
    topics: list[TxnOffsetCommitRequestTopic]


@message
class ProducerState:
    producer_id: Int64
    producer_epoch: Int32
    last_sequence: Int32 = -1
    last_timestamp: Int64 = -1
    coordinator_epoch: Int32
    current_txn_start_offset: Int64 = -1


@message
class PartitionResponse:
    partition_index: Int32
    error_code: Int16
    error_message: String | None = None
    active_producers: list[ProducerState]


@message
class TopicResponse:
    name: String
    partitions: list[PartitionResponse]


@response(key=61, versions=(0, 0), flexible=0)
class DescribeProducersResponse:
    throttle_time_ms: Int32
    topics: list[TopicResponse]


@message
class TopicRequest:
    name: String
    partition_indexes: list[Int32]


@request(key=61, versions=(0, 0), flexible=0)
class DescribeProducersRequest(Request[DescribeProducersResponse]):
    topics: list[TopicRequest]


@message
class TopicData:
    topic: String
    partitions: list[Int32]


@message
class DescribeTransactionsTransactionState:
    error_code: Int16
    transactional_id: String
    transaction_state: String
    transaction_timeout_ms: Int32
    transaction_start_time_ms: Int64
    producer_id: Int64
    producer_epoch: Int16
    topics: list[TopicData]


@response(key=65, versions=(0, 0), flexible=0)
class DescribeTransactionsResponse:
    throttle_time_ms: Int32
    transaction_states: list[DescribeTransactionsTransactionState]


@request(key=65, versions=(0, 0), flexible=0)
class DescribeTransactionsRequest(Request[DescribeTransactionsResponse]):
    transactional_ids: list[String]


@message
class ListTransactionsTransactionState:
    transactional_id: String
    producer_id: Int64
    transaction_state: String


@response(key=66, versions=(0, 2), flexible=0)
class ListTransactionsResponse:
    throttle_time_ms: Int32
    error_code: Int16
    unknown_state_filters: list[String]
    transaction_states: list[ListTransactionsTransactionState]


@request(key=66, versions=(0, 2), flexible=0)
class ListTransactionsRequest(Request[ListTransactionsResponse]):
    state_filters: list[String]
    producer_id_filters: list[Int64]
    duration_filter: Int64 = since(1, default=-1)
    transactional_id_pattern: String | None = since(2, default=None)
