"""CreateTopics, DeleteTopics and CreatePartitions."""

from __future__ import annotations

from typing import Any

import pytest

from kafka_aio.errors import (
    BrokerError,
    InvalidConfig,
    InvalidPartitions,
    InvalidReplicaAssignment,
    InvalidReplicationFactor,
    InvalidRequest,
    InvalidTopic,
    PolicyViolation,
    RequestTimedOut,
    TopicAlreadyExists,
    TopicDeletionDisabled,
    UnknownServerError,
    UnknownTopicId,
    UnknownTopicOrPartition,
)
from kafka_aio.protocol.messages.topics import (
    CreatableTopic,
    DeleteTopicsRequest,
    DeleteTopicState,
)
from kafka_aio.protocol.schema import NO_UUID, Uuid
from tests.unit.broker.api.administration import NOBODYS_ID, create, delete, grow, topic
from tests.unit.broker.clusters import call, made

Outcome = tuple[str | None, int, str | None]


def created(response: Any) -> list[Outcome]:
    return [(each.name, each.error_code, each.error_message) for each in response.topics]


def deleted(response: Any) -> list[Outcome]:
    return [(each.name, each.error_code, each.error_message) for each in response.responses]


def grown(response: Any) -> list[Outcome]:
    return [(each.name, each.error_code, each.error_message) for each in response.results]


# CreateTopics


def test_a_new_topic_is_told_as_it_was_made() -> None:
    state = made(2)

    (result,) = call(state, create(topic("t", 3, 2, configs={"retention.ms": "5"}))).topics

    assert (result.error_code, result.error_message) == (0, None)
    assert result.topic_id == state.topics.by_name["t"].id
    assert (result.num_partitions, result.replication_factor) == (3, 2)
    configs = {each.name: each for each in result.configs}
    assert list(configs) == sorted(configs)
    assert len(configs) == 33
    assert (configs["retention.ms"].value, configs["retention.ms"].config_source) == ("5", 1)
    assert (configs["flush.ms"].value, configs["flush.ms"].config_source) == (str(2**63 - 1), 5)
    assert configs["min.insync.replicas"].config_source == 3
    assert configs["segment.bytes"].config_source == 4


def test_numbers_that_are_not_given_are_those_of_the_broker() -> None:
    state = made(2, num_partitions=3, default_replication_factor=2)

    (result,) = call(state, create(topic("t"))).topics

    assert (result.num_partitions, result.replication_factor) == (3, 2)


def test_replicas_may_be_chosen() -> None:
    state = made(3)

    call(state, create(topic("t", replicas=[(0, [3, 1]), (1, [2, 3])])))

    partitions = state.topics.by_name["t"].partitions
    assert [each.replicas for each in partitions] == [[3, 1], [2, 3]]


def test_a_topic_may_be_tried_without_being_made() -> None:
    state = made()

    (result,) = call(state, create(topic("t", 2, 1), validate_only=True)).topics

    assert (result.error_code, result.num_partitions) == (0, 2)
    assert result.topic_id != NO_UUID
    assert state.topics.by_name == {}


@pytest.mark.parametrize("validate_only", [True, False])
@pytest.mark.parametrize(
    ("wanted", "error", "message"),
    [
        (topic("there"), TopicAlreadyExists, "Topic 'there' already exists."),
        (
            topic("the_re.x"),
            InvalidTopic,
            "Topic 'the_re.x' collides with existing topic: the.re_x",
        ),
        (topic(""), InvalidTopic, "Topic name is invalid: the empty string is not allowed"),
        (
            topic("t", 0, 1),
            InvalidPartitions,
            "Number of partitions was set to an invalid non-positive value.",
        ),
        (
            topic("t", 1, 0),
            InvalidReplicationFactor,
            "Replication factor must be larger than 0, or -1 to use the default value.",
        ),
        (
            topic("t", 1, 5),
            InvalidReplicationFactor,
            "Unable to replicate the partition 5 time(s): The target replication factor of 5 cannot"
            " be reached because only 1 broker(s) are registered or some brokers have all their log"
            " directories cordoned.",
        ),
        (
            topic("t", replicas=[(0, [9])]),
            InvalidReplicaAssignment,
            "The manual partition assignment includes broker 9, but no such broker is registered.",
        ),
        (
            topic("t", 1, replicas=[(0, [1])]),
            InvalidRequest,
            "A manual partition assignment was specified, but numPartitions was not set to -1.",
        ),
        (
            topic("t", configs={"nope": "1"}),
            InvalidConfig,
            "Unknown topic config name: nope",
        ),
        (
            topic("t", configs={"retention.ms": None, "nope": None}),
            InvalidConfig,
            "Null value not supported for topic configs: retention.ms,nope",
        ),
        (
            topic("", configs={"nope": None}),
            InvalidTopic,
            "Topic name is invalid: the empty string is not allowed",
        ),
        (
            topic("t", 0, 9, configs={"retention.ms": "x"}),
            InvalidConfig,
            "Invalid value x for configuration retention.ms: Not a number of type LONG",
        ),
        (
            topic("__cluster_metadata"),
            InvalidRequest,
            "Creation of internal topic __cluster_metadata is prohibited.",
        ),
    ],
)
def test_a_topic_that_cannot_be(
    wanted: CreatableTopic, error: type[BrokerError], message: str, validate_only: bool
) -> None:
    state = made(1, {"there": 1, "the.re_x": 1})

    response = call(state, create(wanted, topic("fine"), validate_only=validate_only))

    assert created(response)[0] == (wanted.name, error.code, message)
    assert created(response)[1] == ("fine", 0, None)
    assert ("fine" in state.topics.by_name) == (not validate_only)
    assert wanted.name == "there" or wanted.name not in state.topics.by_name


def test_a_topic_that_was_not_made_has_no_numbers() -> None:
    (result,) = call(made(), create(topic("", 3, 1))).topics

    assert (result.num_partitions, result.replication_factor) == (-1, -1)
    assert (result.topic_id, result.configs) == (NO_UUID, [])


def test_a_name_that_is_there_twice_is_made_not_once() -> None:
    state = made()

    response = call(state, create(topic("a"), topic("a"), topic("b")))

    assert created(response) == [
        ("b", 0, None),
        ("a", InvalidRequest.code, "Duplicate topic name."),
    ]
    assert list(state.topics.by_name) == ["b"]


def test_topics_of_one_request_do_not_collide() -> None:
    state = made()

    call(state, create(topic("a.b"), topic("a_b")))

    assert list(state.topics.by_name) == ["a.b", "a_b"]


@pytest.mark.parametrize("topics", [[topic("a", 9_999, 1), topic("b", 2, 1)], [topic("a", 10_001)]])
def test_too_many_partitions_for_one_request(topics: list[CreatableTopic]) -> None:
    state = made()

    response = call(state, create(*topics))

    message = "Excessively large number of partitions per request."
    assert created(response) == [(each.name, PolicyViolation.code, message) for each in topics]
    assert state.topics.by_name == {}


def test_many_partitions_for_one_request() -> None:
    replicas = [(0, [1]), (1, [1])]
    wanted = [topic("a", 9_997, 1), topic("b", replicas=replicas), topic("c"), topic("d", -7)]

    response = call(made(), create(*wanted, validate_only=True))

    assert [code for _, code, _ in created(response)] == [0, 0, 0, InvalidPartitions.code]


def test_a_fault_concerns_the_topic_that_it_names() -> None:
    state = made()
    state.faults.fail("CreateTopics", RequestTimedOut, topic="a")

    response = call(state, create(topic("a"), topic("b")))

    assert created(response) == [("a", RequestTimedOut.code, None), ("b", 0, None)]
    assert list(state.topics.by_name) == ["b"]


# DeleteTopics


def test_topics_are_deleted_by_name_and_by_id() -> None:
    state = made(1, {"a": 1, "b": 1, "c": 1})
    ids = {name: each.id for name, each in state.topics.by_name.items()}

    response = call(state, delete("a", by_id=[ids["b"]]))

    assert [(each.name, each.topic_id) for each in response.responses] == [
        ("a", ids["a"]),
        ("b", ids["b"]),
    ]
    assert deleted(response) == [("a", 0, None), ("b", 0, None)]
    assert list(state.topics.by_name) == ["c"]


@pytest.mark.parametrize("version", [1, 2, 3, 4, 5])
def test_older_versions_have_names_only(version: int) -> None:
    state = made(1, {"a": 1, "b": 1})
    request = DeleteTopicsRequest(topic_names=["a", "nope"], timeout_ms=1_000)

    response = call(state, request, version=version)

    text = "This server does not host this topic-partition." if version == 5 else None
    assert deleted(response) == [("a", 0, None), ("nope", UnknownTopicOrPartition.code, text)]
    assert list(state.topics.by_name) == ["b"]


@pytest.mark.parametrize(
    ("topics", "error", "message"),
    [
        (
            [("nope", NO_UUID)],
            UnknownTopicOrPartition,
            "This server does not host this topic-partition.",
        ),
        ([(None, NOBODYS_ID)], UnknownTopicId, "This server does not host this topic ID."),
        ([(None, NO_UUID)], InvalidRequest, "Neither topic name nor id were specified."),
        (
            [("a", NOBODYS_ID)],
            InvalidRequest,
            "You may not specify both topic name and topic id.",
        ),
        ([("a", NO_UUID), ("a", NO_UUID)], InvalidRequest, "Duplicate topic name."),
        ([(None, NOBODYS_ID), (None, NOBODYS_ID)], InvalidRequest, "Duplicate topic id."),
    ],
)
def test_what_cannot_be_deleted(
    topics: list[tuple[str | None, Uuid]], error: type[BrokerError], message: str
) -> None:
    state = made(1, {"a": 1})
    request = DeleteTopicsRequest(
        topics=[DeleteTopicState(name=name, topic_id=each) for name, each in topics],
        timeout_ms=1_000,
    )

    response = call(state, request)

    assert deleted(response) == [(topics[0][0], error.code, message)]
    assert response.responses[0].topic_id == topics[0][1]
    assert list(state.topics.by_name) == ["a"]


def test_each_of_several_malformed_ones_is_told() -> None:
    response = call(made(), delete(by_id=[NO_UUID, NO_UUID]))

    message = "Neither topic name nor id were specified."
    assert deleted(response) == [(None, InvalidRequest.code, message)] * 2


def test_a_topic_that_is_named_by_name_and_by_id_is_not_deleted() -> None:
    state = made(1, {"a": 1, "b": 1})
    topic_id = state.topics.by_name["a"].id

    response = call(state, delete("a", "b", by_id=[topic_id]))

    message = "The provided topic name maps to an ID that was already supplied."
    assert deleted(response) == [("a", InvalidRequest.code, message), ("b", 0, None)]
    assert response.responses[0].topic_id == topic_id
    assert list(state.topics.by_name) == ["a"]


@pytest.mark.parametrize(
    ("version", "error"),
    [(1, InvalidRequest), (2, InvalidRequest), (3, TopicDeletionDisabled)],
)
def test_deletion_may_be_off(version: int, error: type[BrokerError]) -> None:
    state = made(1, {"a": 1}, delete_topic_enable=False)
    request = DeleteTopicsRequest(topic_names=["a", "nope"], timeout_ms=1_000)

    response = call(state, request, version=version)

    assert deleted(response) == [("a", error.code, None), ("nope", error.code, None)]
    assert list(state.topics.by_name) == ["a"]


def test_a_fault_concerns_the_topic_that_is_named_by_id() -> None:
    state = made(1, {"a": 1})
    state.faults.fail("DeleteTopics", RequestTimedOut, topic="a")

    response = call(state, delete(by_id=[state.topics.by_name["a"].id]))

    assert deleted(response) == [(None, RequestTimedOut.code, None)]
    assert list(state.topics.by_name) == ["a"]


# CreatePartitions


def test_topics_grow() -> None:
    state = made(2, {"a": 1, "b": 1})

    response = call(state, grow(("a", 3), ("b", 2)))

    assert grown(response) == [("a", 0, None), ("b", 0, None)]
    assert [len(each.partitions) for each in state.topics.by_name.values()] == [3, 2]


def test_a_topic_grows_to_nodes_that_were_chosen() -> None:
    state = made(2, {"a": 1})

    call(state, grow(("a", 2), replicas=[[2, 1]]))

    assert state.topics.by_name["a"].partitions[1].replicas == [2, 1]


def test_growing_may_be_tried() -> None:
    state = made(1, {"a": 1})

    response = call(state, grow(("a", 3), validate_only=True))

    assert grown(response) == [("a", 0, None)]
    assert len(state.topics.by_name["a"].partitions) == 1


@pytest.mark.parametrize(
    ("name", "count", "replicas", "error", "message"),
    [
        ("nope", 2, None, UnknownTopicOrPartition, None),
        ("a", 2, None, InvalidPartitions, "Topic already has 2 partition(s)."),
        (
            "a",
            0,
            None,
            InvalidPartitions,
            "The topic a currently has 2 partition(s); 0 would not be an increase.",
        ),
        (
            "a",
            3,
            [],
            InvalidReplicaAssignment,
            "Attempted to add 1 additional partition(s), but only 0 assignment(s) were specified.",
        ),
        (
            "a",
            3,
            [[7]],
            InvalidReplicaAssignment,
            "The manual partition assignment includes broker 7, but no such broker is registered.",
        ),
        ("a", 2**31 - 1, None, UnknownServerError, None),
    ],
)
def test_growth_that_cannot_be(
    name: str,
    count: int,
    replicas: list[list[int]] | None,
    error: type[BrokerError],
    message: str | None,
) -> None:
    state = made(1, {"a": 2})

    response = call(state, grow((name, count), replicas=replicas))

    assert grown(response) == [(name, error.code, message)]
    assert len(state.topics.by_name["a"].partitions) == 2


def test_a_topic_that_is_named_twice_does_not_grow() -> None:
    state = made(1, {"a": 1, "b": 1})

    response = call(state, grow(("a", 3), ("b", 2), ("a", 4)))

    assert grown(response) == [("a", InvalidRequest.code, "Duplicate topic name."), ("b", 0, None)]
    assert [len(each.partitions) for each in state.topics.by_name.values()] == [1, 2]


def test_a_fault_keeps_a_topic_from_growing() -> None:
    state = made(1, {"a": 1})
    state.faults.fail("CreatePartitions", RequestTimedOut, topic="a")

    response = call(state, grow(("a", 2)))

    assert grown(response) == [("a", RequestTimedOut.code, None)]
    assert len(state.topics.by_name["a"].partitions) == 1
