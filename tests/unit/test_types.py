from __future__ import annotations

import pickle

import pytest

from kafka_aio.types import (
    ConsumerGroupMetadata,
    Node,
    OffsetAndMetadata,
    OffsetAndTimestamp,
    PartitionInfo,
    RecordMetadata,
    SubscriptionPattern,
    TimestampType,
    TopicPartition,
)

VALUES = [
    TopicPartition("orders", 3),
    RecordMetadata("orders", 3, 7, 1000),
    OffsetAndMetadata(7, "note", 2),
    OffsetAndTimestamp(7, 1000, 2),
    Node(1, "localhost", 9092, "a"),
    PartitionInfo("orders", 3, Node(1, "localhost", 9092)),
    ConsumerGroupMetadata("billing", 4, "m-1"),
    SubscriptionPattern("orders-.*"),
]


@pytest.mark.parametrize("value", VALUES, ids=lambda value: type(value).__name__)
def test_a_value_survives_a_pickle_and_can_be_a_key(value: object) -> None:
    back = pickle.loads(pickle.dumps(value))

    assert back == value
    assert {value: 1}[back] == 1


@pytest.mark.parametrize("value", VALUES, ids=lambda value: type(value).__name__)
def test_a_value_does_not_change(value: object) -> None:
    first_field = type(value).__match_args__[0]  # type: ignore[attr-defined]

    with pytest.raises(AttributeError):
        setattr(value, first_field, 1)


def test_a_partition_reads_as_kafka_writes_it() -> None:
    assert str(TopicPartition("orders", 3)) == "orders-3"
    assert str(RecordMetadata("orders", 3, 7, 1000)) == "orders-3@7"


def test_a_place_knows_its_partition() -> None:
    assert RecordMetadata("orders", 3, 7, 1000).topic_partition == TopicPartition("orders", 3)
    assert PartitionInfo("orders", 3, None).topic_partition == TopicPartition("orders", 3)


def test_partitions_sort_by_topic_then_number() -> None:
    partitions = [TopicPartition("b", 0), TopicPartition("a", 10), TopicPartition("a", 9)]

    assert sorted(partitions) == [("a", 9), ("a", 10), ("b", 0)]


def test_a_node_with_an_ipv6_address_shows_brackets() -> None:
    assert str(Node(1, "::1", 9092)) == "[::1]:9092 (node 1)"
    assert str(Node(1, "kafka", 9092)) == "kafka:9092 (node 1)"


def test_a_negative_offset_cannot_be_committed() -> None:
    with pytest.raises(ValueError, match="0 or more, not -1"):
        OffsetAndMetadata(-1)


def test_timestamp_types_are_the_numbers_of_the_wire() -> None:
    assert [int(kind) for kind in TimestampType] == [-1, 0, 1]
