from __future__ import annotations

from typing import Any

import pytest

from kafka_aio.errors import (
    InvalidRequest,
    InvalidTopic,
    LeaderNotAvailable,
    ReplicaNotAvailable,
    UnknownServerError,
    UnknownTopicId,
    UnknownTopicOrPartition,
)
from kafka_aio.protocol.messages.metadata import MetadataRequest, MetadataRequestTopic
from kafka_aio.protocol.schema import NO_UUID
from tests.unit.broker.api.administration import NOBODYS_ID, describe_partitions, metadata
from tests.unit.broker.clusters import call, made

NOT_ASKED = -0x80000000


def codes(response: Any) -> dict[str | None, int]:
    return {topic.name: topic.error_code for topic in response.topics}


def test_the_nodes_that_are_up_are_told_with_their_racks() -> None:
    state = made(3)
    state.node_down(2)

    response = call(state, metadata())

    assert [(each.node_id, each.host, each.port, each.rack) for each in response.brokers] == [
        (1, "127.0.0.1", 9092, "rack-1"),
        (3, "127.0.0.1", 9094, "rack-3"),
    ]
    assert response.cluster_id == state.cluster_id
    assert response.topics == []


def test_any_node_that_is_up_is_called_the_controller() -> None:
    state = made(3)
    state.node_down(1)

    told = {call(state, metadata()).controller_id for _ in range(50)}

    assert told == {2, 3}


def test_null_asks_for_all_topics_and_an_empty_list_for_none() -> None:
    state = made(1, {"a": 1, "b": 2})

    everything = call(state, MetadataRequest(topics=None))

    assert codes(everything) == {"a": 0, "b": 0}
    assert codes(call(state, metadata())) == {}


def test_in_the_first_version_an_empty_list_asks_for_all_topics() -> None:
    state = made(1, {"a": 1, "b": 2})

    assert codes(call(state, MetadataRequest(topics=[]), version=0)) == {"a": 0, "b": 0}


def test_a_topic_is_told_with_its_partitions() -> None:
    state = made(2, {"t": 2})

    (topic,) = call(state, metadata("t", "t")).topics

    assert (topic.name, topic.topic_id) == ("t", state.topics.by_name["t"].id)
    assert not topic.is_internal
    assert [
        (each.partition_index, each.leader_id, each.leader_epoch, each.replica_nodes)
        for each in topic.partitions
    ] == [(0, 1, 0, [1, 2]), (1, 2, 0, [2, 1])]


@pytest.mark.parametrize("version", [12, 13])
def test_topics_are_found_by_id(version: int) -> None:
    state = made(1, {"a": 1, "b": 1})
    known = state.topics.by_name["b"].id

    response = call(state, metadata("a", by_id=[known, NOBODYS_ID]), version=version)

    assert [(each.name, each.topic_id, each.error_code) for each in response.topics] == [
        (None, NOBODYS_ID, UnknownTopicId.code),
        ("b", known, 0),
    ]
    assert not response.topics[0].is_internal


@pytest.mark.parametrize("version", [10, 11])
@pytest.mark.parametrize(
    "asked",
    [
        MetadataRequestTopic(name=None),
        MetadataRequestTopic(name="a", topic_id=NOBODYS_ID),
    ],
)
def test_ids_are_not_understood_before_version_12(
    version: int, asked: MetadataRequestTopic
) -> None:
    state = made(1, {"a": 1})

    response = call(state, MetadataRequest(topics=[asked]), version=version)

    assert [each.error_code for each in response.topics] == [InvalidRequest.code]
    assert response.brokers == []


def test_neither_a_name_nor_an_id_is_a_failure() -> None:
    response = call(made(), MetadataRequest(topics=[MetadataRequestTopic(name=None)]))

    assert response.error_code == UnknownServerError.code
    assert codes(response) == {"": UnknownServerError.code}


def test_an_unknown_topic_is_made_and_there_with_the_next_answer() -> None:
    state = made(num_partitions=2)

    first = call(state, metadata("t", create=True))
    second = call(state, metadata("t", create=True))

    assert codes(first) == {"t": UnknownTopicOrPartition.code}
    assert first.topics[0].topic_id == NO_UUID
    assert codes(second) == {"t": 0}
    assert len(second.topics[0].partitions) == 2


def test_an_unknown_topic_is_not_made_if_the_client_does_not_want_it() -> None:
    state = made()

    response = call(state, metadata("t", create=False))

    assert codes(response) == {"t": UnknownTopicOrPartition.code}
    assert state.topics.by_name == {}


def test_an_unknown_topic_is_not_made_if_the_broker_does_not_want_it() -> None:
    state = made(auto_create_topics_enable=False)

    response = call(state, metadata("t", create=True))

    assert codes(response) == {"t": UnknownTopicOrPartition.code}
    assert state.topics.by_name == {}


@pytest.mark.parametrize("version", [0, 1, 2, 3])
def test_before_clients_could_say_so_they_wanted_it(version: int) -> None:
    state = made()

    call(state, MetadataRequest(topics=[MetadataRequestTopic(name="t")]), version=version)

    assert list(state.topics.by_name) == ["t"]


@pytest.mark.parametrize("create", [True, False])
def test_a_name_that_no_topic_may_have(create: bool) -> None:
    response = call(made(), metadata("a b", create=create))

    assert codes(response) == {"a b": InvalidTopic.code}


@pytest.mark.parametrize(
    ("settings", "name"), [({"default_replication_factor": 3}, "t"), ({}, "a_b")]
)
def test_a_topic_that_cannot_be_made_stays_unknown(settings: dict[str, int], name: str) -> None:
    state = made(1, {"a.b": 1}, **settings)

    for _ in range(2):
        response = call(state, metadata(name, create=True))

        assert codes(response) == {name: UnknownTopicOrPartition.code}


def test_a_topic_of_kafkas_own_says_so() -> None:
    state = made()

    first = call(state, metadata("__consumer_offsets", create=True))
    second = call(state, metadata("__consumer_offsets"))

    assert first.topics[0].is_internal
    assert second.topics[0].is_internal


def test_what_a_client_may_do_is_told_if_it_asks() -> None:
    request = MetadataRequest(
        topics=[MetadataRequestTopic(name="t")],
        include_topic_authorized_operations=True,
        include_cluster_authorized_operations=True,
    )

    response = call(made(1, {"t": 1}), request, version=10)

    assert response.topics[0].topic_authorized_operations == 3_576
    assert response.cluster_authorized_operations == 8_096


def test_what_a_client_may_do_is_not_told_if_it_does_not_ask() -> None:
    response = call(made(1, {"t": 1}), metadata("t"), version=10)

    assert response.topics[0].topic_authorized_operations == NOT_ASKED
    assert response.cluster_authorized_operations == NOT_ASKED


def test_a_partition_that_nobody_leads() -> None:
    state = made(2)
    state.topics.create("t", replicas=[(0, [2])])
    state.node_down(2)

    (topic,) = call(state, metadata("t")).topics

    (partition,) = topic.partitions
    assert topic.error_code == 0
    assert partition.error_code == LeaderNotAvailable.code
    assert (partition.leader_id, partition.leader_epoch) == (-1, 1)
    assert (partition.replica_nodes, partition.isr_nodes) == ([2], [])
    assert partition.offline_replicas == [2]


def test_a_replica_that_is_down_is_offline() -> None:
    state = made(2, {"t": 1})
    state.node_down(2)

    ((partition,),) = (topic.partitions for topic in call(state, metadata("t")).topics)

    assert partition.error_code == 0
    assert (partition.replica_nodes, partition.isr_nodes) == ([1, 2], [1])
    assert partition.offline_replicas == [2]


def test_the_first_version_knows_no_replica_that_is_down() -> None:
    state = made(2, {"t": 1})
    state.node_down(2)
    request = MetadataRequest(topics=[MetadataRequestTopic(name="t")])

    ((partition,),) = (topic.partitions for topic in call(state, request, version=0).topics)

    assert partition.error_code == ReplicaNotAvailable.code
    assert (partition.replica_nodes, partition.isr_nodes) == ([1], [1])


def test_the_first_version_has_no_error_while_all_are_up() -> None:
    request = MetadataRequest(topics=[MetadataRequestTopic(name="t")])

    response = call(made(2, {"t": 1}), request, version=0)

    ((partition,),) = (topic.partitions for topic in response.topics)
    assert (partition.error_code, partition.replica_nodes) == (0, [1, 2])


def test_a_fault_keeps_a_topic_from_being_made() -> None:
    state = made()
    state.faults.fail("Metadata", UnknownServerError, topic="t")

    response = call(state, metadata("t", create=True))

    assert codes(response) == {"t": UnknownServerError.code}
    assert state.topics.by_name == {}


def test_a_fault_concerns_the_topic_that_it_names() -> None:
    state = made(1, {"a": 1, "b": 1})
    state.faults.fail("Metadata", LeaderNotAvailable, topic="a", times=1)

    response = call(state, metadata("a", "b"))

    assert codes(response) == {"a": LeaderNotAvailable.code, "b": 0}
    assert codes(call(state, metadata("a", "b"))) == {"a": 0, "b": 0}


@pytest.mark.parametrize("request_", [metadata(), MetadataRequest(topics=None)])
def test_a_fault_without_a_topic_concerns_a_request_without_topics(
    request_: MetadataRequest,
) -> None:
    state = made()
    state.faults.fail("Metadata", UnknownServerError)

    assert call(state, request_).error_code == UnknownServerError.code


# DescribeTopicPartitions


def described(response: Any) -> list[tuple[str, int, list[int]]]:
    return [
        (topic.name, topic.error_code, [each.partition_index for each in topic.partitions])
        for topic in response.topics
    ]


def next_cursor(response: Any) -> tuple[str, int] | None:
    cursor = response.next_cursor
    return cursor and (cursor.topic_name, cursor.partition_index)


def test_topics_are_described_by_name() -> None:
    state = made(1, {"b": 2, "a": 1})

    response = call(state, describe_partitions("b", "a", "b"))

    assert described(response) == [("a", 0, [0]), ("b", 0, [0, 1])]
    assert next_cursor(response) is None
    assert response.topics[0].topic_authorized_operations == 3_576


def test_no_names_are_all_topics() -> None:
    state = made(1, {"b": 1, "a": 1})

    assert described(call(state, describe_partitions())) == [("a", 0, [0]), ("b", 0, [0])]


def test_an_empty_name_fails_the_whole_description() -> None:
    response = call(made(1, {"a": 1}), describe_partitions("a", ""))

    code = UnknownServerError.code
    assert described(response) == [("a", code, []), ("", code, [])]


def test_names_that_are_not_there() -> None:
    response = call(made(1, {"a": 1}), describe_partitions("a", "b", "a b", limit=1))

    assert described(response) == [("a", 0, [0])]
    assert next_cursor(response) == ("a b", 0)
    assert described(call(made(), describe_partitions("b", "a b"))) == [
        ("a b", InvalidTopic.code, []),
        ("b", UnknownTopicOrPartition.code, []),
    ]


@pytest.mark.parametrize(
    ("limit", "expected", "cursor"),
    [
        (5, [("a", 0, [0, 1]), ("b", 0, [0, 1, 2])], None),
        (4, [("a", 0, [0, 1]), ("b", 0, [0, 1])], ("b", 2)),
        (2, [("a", 0, [0, 1])], ("b", 0)),
        (1, [("a", 0, [0])], ("a", 1)),
        (0, [("a", 0, [0])], ("a", 1)),
        (-7, [("a", 0, [0])], ("a", 1)),
    ],
)
def test_so_many_partitions_and_where_to_go_on(
    limit: int, expected: list[Any], cursor: tuple[str, int] | None
) -> None:
    response = call(made(1, {"a": 2, "b": 3}), describe_partitions("a", "b", limit=limit))

    assert described(response) == expected
    assert next_cursor(response) == cursor


def test_no_more_partitions_than_the_broker_allows() -> None:
    state = made(1, {"a": 3}, max_request_partition_size_limit=2)

    assert next_cursor(call(state, describe_partitions("a"))) == ("a", 2)


@pytest.mark.parametrize("names", [(), ("a", "b", "c")])
def test_a_cursor_goes_on_where_the_last_answer_ended(names: tuple[str, ...]) -> None:
    state = made(1, {"a": 2, "b": 3, "c": 1})

    response = call(state, describe_partitions(*names, cursor=("b", 2)))

    assert described(response) == [("b", 0, [2]), ("c", 0, [0])]


def test_a_cursor_may_be_at_the_beginning_of_a_topic() -> None:
    response = call(made(1, {"a": 2, "b": 1}), describe_partitions("a", "b", cursor=("b", 0)))

    assert described(response) == [("b", 0, [0])]


def test_a_topic_of_kafkas_own_is_told_as_such_unless_the_request_is_refused() -> None:
    name = "__consumer_offsets"

    unknown = call(made(), describe_partitions(name)).topics[0]
    refused = call(made(), describe_partitions(name, cursor=(name, -1))).topics[0]

    assert (unknown.is_internal, unknown.topic_authorized_operations) == (True, 3_576)
    assert (refused.is_internal, refused.topic_authorized_operations) == (False, NOT_ASKED)


def test_a_cursor_beyond_the_last_partition() -> None:
    response = call(made(1, {"a": 2, "b": 1}), describe_partitions("a", "b", cursor=("a", 7)))

    assert described(response) == [("a", 0, []), ("b", 0, [0])]


@pytest.mark.parametrize("cursor", [("c", 0), ("a", -1)])
def test_a_cursor_that_cannot_be(cursor: tuple[str, int]) -> None:
    response = call(made(1, {"a": 1, "b": 1}), describe_partitions("a", "b", cursor=cursor))

    assert described(response) == [("a", InvalidRequest.code, []), ("b", InvalidRequest.code, [])]


def test_eligible_leaders_and_the_last_one_are_told() -> None:
    state = made(2, {"t": 1}, min_insync_replicas=2)
    state.node_down(1)
    one_down = call(state, describe_partitions("t")).topics[0].partitions[0]
    state.topics.create("u", replicas=[(0, [2])])
    state.node_up(1)
    state.node_down(2)

    leaderless = call(state, describe_partitions("u")).topics[0].partitions[0]

    assert (one_down.isr_nodes, one_down.eligible_leader_replicas) == ([2], [1])
    assert one_down.offline_replicas == [1]
    assert leaderless.leader_id == -1
    assert (leaderless.eligible_leader_replicas, leaderless.last_known_elr) == ([2], [2])


def test_a_fault_concerns_the_described_topic_that_it_names() -> None:
    state = made(1, {"a": 1, "b": 1})
    state.faults.fail("DescribeTopicPartitions", UnknownServerError, topic="b")

    response = call(state, describe_partitions("a", "b"))

    assert described(response) == [("a", 0, [0]), ("b", UnknownServerError.code, [])]
