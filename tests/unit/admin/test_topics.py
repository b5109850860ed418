from __future__ import annotations

import pytest

from kafka_aio.admin import topics
from kafka_aio.admin.values import (
    ConfigEntry,
    NewPartitions,
    NewTopic,
    TopicCreated,
    TopicDescription,
    TopicListing,
)
from kafka_aio.errors import (
    KafkaError,
    ProtocolError,
    TopicAlreadyExists,
    UnknownBrokerError,
    UnknownTopicOrPartition,
)
from kafka_aio.protocol import codec
from kafka_aio.protocol.messages.metadata import (
    Cursor,
    DescribeTopicPartitionsResponse,
    DescribeTopicPartitionsResponsePartition,
    DescribeTopicPartitionsResponseTopic,
    MetadataResponse,
    MetadataResponsePartition,
    MetadataResponseTopic,
)
from kafka_aio.protocol.messages.topics import (
    CreatableTopicConfigs,
    CreatableTopicResult,
    CreatePartitionsResponse,
    CreatePartitionsTopicResult,
    CreateTopicsResponse,
    DeletableTopicResult,
    DeleteTopicsResponse,
)
from kafka_aio.protocol.schema import Uuid
from kafka_aio.types import ConfigSource, Node

ID = Uuid(b"a" * 16)
ID_TEXT = "YWFhYWFhYWFhYWFhYWFhYQ"
NODES = {1: Node(1, "kafka", 9092)}


def paged(index: int, leader: int = 1, code: int = 0) -> DescribeTopicPartitionsResponsePartition:
    return DescribeTopicPartitionsResponsePartition(
        error_code=code,
        partition_index=index,
        leader_id=leader,
        leader_epoch=7,
        replica_nodes=[1, 2],
        isr_nodes=[1],
        offline_replicas=[2],
        eligible_leader_replicas=[2],
        last_known_elr=None,
    )


def page(
    name: str,
    *partitions: DescribeTopicPartitionsResponsePartition,
    code: int = 0,
) -> DescribeTopicPartitionsResponse:
    topic = DescribeTopicPartitionsResponseTopic(
        error_code=code, name=name, topic_id=ID, is_internal=False, partitions=list(partitions)
    )
    return DescribeTopicPartitionsResponse(throttle_time_ms=0, topics=[topic])


def described(
    *answers: DescribeTopicPartitionsResponse | MetadataResponse, name: str = "orders"
) -> TopicDescription | KafkaError:
    found = topics.Descriptions()
    for answer in answers:
        found.add(answer)
    return found.of([name], NODES)[name]


def test_a_topic_is_created_as_it_was_given() -> None:
    new = [
        NewTopic("a", 3, 2, configs={"cleanup.policy": "compact"}),
        NewTopic("b", assignments={0: [1, 2], 1: (2, 1)}),
    ]

    request = topics.create(new, timeout_ms=5, validate=True)

    assert codec.encode(request, 7)
    first, second = request.topics
    assert (first.name, first.num_partitions, first.replication_factor) == ("a", 3, 2)
    assert [(each.name, each.value) for each in first.configs] == [("cleanup.policy", "compact")]
    assert (second.num_partitions, second.replication_factor) == (-1, -1)
    assert [(each.partition_index, each.broker_ids) for each in second.assignments] == [
        (0, [1, 2]),
        (1, [2, 1]),
    ]
    assert (request.timeout_ms, request.validate_only) == (5, True)


def test_what_was_created_and_what_was_not_is_told_by_name() -> None:
    config = CreatableTopicConfigs(
        name="cleanup.policy", value="compact", read_only=False, config_source=1, is_sensitive=False
    )
    made = CreatableTopicResult(
        name="a",
        topic_id=ID,
        error_code=0,
        error_message=None,
        num_partitions=3,
        replication_factor=2,
        configs=[config],
    )
    refused = CreatableTopicResult(name="b", error_code=36, error_message="it is there")

    found = topics.created(CreateTopicsResponse(throttle_time_ms=0, topics=[made, refused]))

    entry = ConfigEntry("cleanup.policy", "compact", ConfigSource.TOPIC)
    assert found["a"] == TopicCreated("a", ID_TEXT, 3, 2, {"cleanup.policy": entry})
    error = found["b"]
    assert isinstance(error, TopicAlreadyExists)
    assert (error.message, error.where) == ("it is there", "topic 'b'")


def test_a_topic_may_be_created_by_who_may_not_see_it() -> None:
    made = CreatableTopicResult(
        name="a", topic_id=ID, error_code=0, error_message=None, configs=None
    )

    found = topics.created(CreateTopicsResponse(throttle_time_ms=0, topics=[made]))

    assert found == {"a": TopicCreated("a", ID_TEXT, -1, -1)}


def test_topics_are_deleted_by_name() -> None:
    request = topics.delete(["a", "b"], timeout_ms=5)
    response = DeleteTopicsResponse(
        throttle_time_ms=0,
        responses=[
            DeletableTopicResult(name="a", error_code=0),
            DeletableTopicResult(name="b", error_code=3),
        ],
    )

    found = topics.deleted(response)

    assert codec.encode(request, 6)
    assert [each.name for each in request.topics] == ["a", "b"]
    assert found["a"] is None
    assert isinstance(found["b"], UnknownTopicOrPartition)


def test_partitions_are_added_where_the_broker_or_the_caller_wants_them() -> None:
    request = topics.add_partitions(
        {"a": NewPartitions(4), "b": NewPartitions(2, [[1, 2]])}, timeout_ms=5, validate=False
    )

    assert codec.encode(request, 3)
    first, second = request.topics
    assert (first.name, first.count, first.assignments) == ("a", 4, None)
    assert second.assignments is not None
    assert [each.broker_ids for each in second.assignments] == [[1, 2]]


def test_a_code_that_we_do_not_know_is_an_error_all_the_same() -> None:
    result = CreatePartitionsTopicResult(name="a", error_code=999)

    found = topics.partitions_added(CreatePartitionsResponse(throttle_time_ms=0, results=[result]))

    error = found["a"]
    assert isinstance(error, UnknownBrokerError)
    assert error.code == 999


def test_a_list_has_the_topics_that_can_be_seen_by_name() -> None:
    response = MetadataResponse(
        brokers=[],
        topics=[
            MetadataResponseTopic(error_code=0, name="b", topic_id=ID, partitions=[]),
            MetadataResponseTopic(error_code=0, name="__a", is_internal=True, partitions=[]),
            MetadataResponseTopic(error_code=0, name="a", partitions=[]),
            MetadataResponseTopic(error_code=29, name="c", partitions=[]),
            MetadataResponseTopic(error_code=0, name=None, partitions=[]),
        ],
    )

    ours = topics.listed(response, internal=False)
    everything = topics.listed(response, internal=True)

    assert [topic.name for topic in ours] == ["a", "b"]
    assert ours[1] == TopicListing("b", ID_TEXT, False)
    assert [topic.name for topic in everything] == ["__a", "a", "b"]
    assert everything[0].is_internal


def test_a_page_is_asked_for_in_the_order_that_brokers_have() -> None:
    request = topics.describe_page(["b", "a"], 10, Cursor(topic_name="a", partition_index=3))

    assert codec.encode(request, 0)
    assert [topic.name for topic in request.topics] == ["a", "b"]
    assert request.response_partition_limit == 10


def test_a_topic_that_spans_pages_is_put_together() -> None:
    topic = described(
        page("orders", paged(0), paged(1)), page("orders", paged(2)), page("other", paged(0))
    )

    assert isinstance(topic, TopicDescription)
    assert (topic.name, topic.topic_id) == ("orders", ID_TEXT)
    assert [each.partition for each in topic.partitions] == [0, 1, 2]


def test_pages_that_overlap_do_not_double_a_partition() -> None:
    topic = described(page("orders", paged(1), paged(0)), page("orders", paged(1)))

    assert isinstance(topic, TopicDescription)
    assert [each.partition for each in topic.partitions] == [0, 1]


def test_a_partition_has_its_leader_and_its_replicas() -> None:
    topic = described(page("orders", paged(0), paged(1, leader=-1, code=5)))

    assert isinstance(topic, TopicDescription)
    led, leaderless = topic.partitions
    assert (led.leader, led.leader_epoch) == (NODES[1], 7)
    assert (led.replicas, led.in_sync_replicas, led.offline_replicas) == ((1, 2), (1,), (2,))
    assert (led.eligible_leader_replicas, led.last_known_eligible) == ((2,), None)
    assert leaderless.leader is None


def test_a_leader_that_is_not_among_the_nodes_has_its_id_but_no_address() -> None:
    found = topics.Descriptions()
    found.add(page("orders", paged(0, leader=9), paged(1, leader=-1)))

    topic = found.of(["orders"], NODES)["orders"]

    assert found.leaders == {9}
    assert isinstance(topic, TopicDescription)
    assert topic.partitions[0].leader == Node(9, "", -1)


def test_a_topic_that_was_deleted_between_two_pages_is_an_error() -> None:
    error = described(page("orders", paged(0)), page("orders", code=3))

    assert isinstance(error, UnknownTopicOrPartition)
    assert error.where == "topic 'orders'"


def test_what_older_brokers_say_is_a_description_too() -> None:
    partition = MetadataResponsePartition(
        error_code=0, partition_index=0, leader_id=1, replica_nodes=[1], isr_nodes=[1]
    )
    answer = MetadataResponseTopic(
        error_code=0, name="orders", topic_id=ID, is_internal=True, partitions=[partition]
    )

    topic = described(MetadataResponse(brokers=[], topics=[answer]))

    assert isinstance(topic, TopicDescription)
    assert topic.is_internal
    assert topic.partitions[0].leader == NODES[1]
    assert topic.partitions[0].eligible_leader_replicas is None
    assert topics.describe_all(["orders"]).allow_auto_topic_creation is False


def test_a_topic_that_no_answer_is_about_is_an_error_of_the_protocol() -> None:
    with pytest.raises(ProtocolError, match="nothing about 'orders'"):
        described(page("other", paged(0)))
