from __future__ import annotations

import pytest

from kafka_aio.admin import logs
from kafka_aio.admin.offset_values import OffsetSpec
from kafka_aio.errors import (
    BrokerError,
    KafkaConnectionError,
    KafkaError,
    LeaderNotAvailable,
    NotLeaderOrFollower,
    OffsetOutOfRange,
    PolicyViolation,
    RebootstrapRequired,
    RequestTimedOut,
    TopicAuthorizationFailed,
    UnknownTopicOrPartition,
)
from kafka_aio.metadata import Leader
from kafka_aio.protocol import codec
from kafka_aio.protocol.messages.metadata import (
    MetadataResponse,
    MetadataResponsePartition,
    MetadataResponseTopic,
)
from kafka_aio.protocol.messages.offsets import (
    ListOffsetsPartitionResponse,
    ListOffsetsResponse,
    ListOffsetsTopicResponse,
)
from kafka_aio.protocol.messages.topics import (
    DeleteRecordsPartitionResult,
    DeleteRecordsResponse,
    DeleteRecordsTopicResult,
)
from kafka_aio.types import OffsetAndTimestamp, TopicPartition

A0, A1, B0 = TopicPartition("a", 0), TopicPartition("a", 1), TopicPartition("b", 0)


def leaders(code: int = 0) -> logs.Leaders:
    """Topic a has partition 1 with a leader and 0 without; topic b has an error."""
    partitions = [
        MetadataResponsePartition(
            error_code=0,
            partition_index=number,
            leader_id=leader,
            leader_epoch=7,
            replica_nodes=[],
            isr_nodes=[],
        )
        for number, leader in ((1, 3), (0, -1))
    ]
    return logs.Leaders(
        MetadataResponse(
            brokers=[],
            error_code=code,
            topics=[
                MetadataResponseTopic(error_code=0, name="a", partitions=partitions),
                MetadataResponseTopic(error_code=29, name="b", partitions=[]),
            ],
        )
    )


def test_topics_are_asked_for_once_and_not_created() -> None:
    request = logs.ask_topics(["a", "b", "a"])

    assert [topic.name for topic in request.topics or ()] == ["a", "b"]
    assert not request.allow_auto_topic_creation


def test_a_partition_has_a_leader_or_says_why_not() -> None:
    found = leaders()

    assert found.of(A1) == Leader(3, 7)
    assert isinstance(found.of(A0), LeaderNotAvailable)
    assert isinstance(found.of(B0), TopicAuthorizationFailed)
    assert isinstance(found.of(TopicPartition("a", 2)), UnknownTopicOrPartition)
    assert isinstance(found.of(TopicPartition("c", 0)), UnknownTopicOrPartition)


def test_the_partitions_of_a_topic_are_in_order() -> None:
    found = leaders()

    assert found.partitions("a") == [A0, A1]
    assert isinstance(found.partitions("b"), TopicAuthorizationFailed)
    assert isinstance(found.partitions("c"), UnknownTopicOrPartition)


def test_an_answer_that_is_an_error_is_raised() -> None:
    with pytest.raises(RebootstrapRequired):
        leaders(RebootstrapRequired.code)


@pytest.mark.parametrize(
    ("error", "is_final"),
    [
        (LeaderNotAvailable(), False),
        (UnknownTopicOrPartition(), True),
        (TopicAuthorizationFailed(), True),
    ],
)
def test_an_election_is_waited_for_and_a_topic_is_not(error: BrokerError, is_final: bool) -> None:
    assert logs.is_final(error) is is_final


def test_offsets_are_listed_in_one_request_for_a_leader() -> None:
    specs = {A0: OffsetSpec.earliest(), A1: OffsetSpec.at(5)}

    request = logs.list_offsets(
        specs, lambda _: Leader(3, 7), read_committed=True, timeout_ms=1_500
    )
    response = ListOffsetsResponse(
        topics=[
            ListOffsetsTopicResponse(
                name="a",
                partitions=[
                    ListOffsetsPartitionResponse(partition_index=0, error_code=6),
                    ListOffsetsPartitionResponse(
                        partition_index=1, error_code=0, offset=9, timestamp=6, leader_epoch=2
                    ),
                ],
            )
        ]
    )
    found = logs.listed(request, response)

    assert codec.encode(request, 10)
    assert (request.isolation_level, request.timeout_ms) == (1, 1_500)
    assert found[A1] == OffsetAndTimestamp(9, 6, 2)
    assert isinstance(found[A0], NotLeaderOrFollower)


def test_records_are_deleted_by_topic() -> None:
    request = logs.delete_records({A0: 5, B0: 7, A1: -1}, timeout_ms=9)

    assert codec.encode(request, 2)
    assert request.timeout_ms == 9
    assert [
        (topic.name, [(each.partition_index, each.offset) for each in topic.partitions])
        for topic in request.topics
    ] == [("a", [(0, 5), (1, -1)]), ("b", [(0, 7)])]


def test_where_each_log_begins_is_told() -> None:
    response = DeleteRecordsResponse(
        throttle_time_ms=0,
        topics=[
            DeleteRecordsTopicResult(
                name="a",
                partitions=[
                    DeleteRecordsPartitionResult(
                        partition_index=number, low_watermark=low, error_code=code
                    )
                    for number, low, code in ((0, 5, 0), (1, -1, 44))
                ],
            )
        ],
    )

    found = logs.records_deleted(response)

    assert found[A0] == 5
    assert isinstance(found[A1], PolicyViolation)
    assert str(found[A1]).startswith("a-1: ")


@pytest.mark.parametrize(
    ("error", "is_repeatable", "again"),
    [
        (NotLeaderOrFollower(), False, True),
        (RequestTimedOut(), False, False),
        (RequestTimedOut(), True, True),
        (OffsetOutOfRange(), True, False),
        (KafkaConnectionError("gone"), True, False),
    ],
)
def test_a_deletion_is_repeated_where_that_does_no_harm(
    error: KafkaError, is_repeatable: bool, again: bool
) -> None:
    assert logs.is_worth_another_deletion(error, is_repeatable=is_repeatable) is again
