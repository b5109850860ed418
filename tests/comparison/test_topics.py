"""CreateTopics, DeleteTopics, CreatePartitions, ElectLeaders and reassignments."""

from __future__ import annotations

import pytest

from kafka_aio.protocol.messages.topics import (
    AlterPartitionReassignmentsRequest,
    CreatableReplicaAssignment,
    CreatableTopic,
    CreatableTopicConfig,
    CreatePartitionsAssignment,
    CreatePartitionsRequest,
    CreatePartitionsTopic,
    CreateTopicsRequest,
    DeleteTopicsRequest,
    DeleteTopicState,
    ElectLeadersRequest,
    ListPartitionReassignmentsRequest,
    ListPartitionReassignmentsTopics,
    ReassignablePartition,
    ReassignableTopic,
    TopicPartitions,
)
from kafka_aio.protocol.schema import NO_UUID, Uuid
from tests.comparison.sides import Both

OTHER_ID = Uuid(bytes(range(16)))


def topic(
    name: str,
    partitions: int = 1,
    replicas: int = 1,
    assigned: dict[int, list[int]] | None = None,
    configs: dict[str, str | None] | None = None,
) -> CreatableTopic:
    return CreatableTopic(
        name=name,
        num_partitions=partitions,
        replication_factor=replicas,
        assignments=[
            CreatableReplicaAssignment(partition_index=index, broker_ids=ids)
            for index, ids in (assigned or {}).items()
        ],
        configs=[CreatableTopicConfig(name=k, value=v) for k, v in (configs or {}).items()],
    )


def creates(*topics: CreatableTopic, only_checks: bool = False) -> CreateTopicsRequest:
    return CreateTopicsRequest(topics=list(topics), timeout_ms=10_000, validate_only=only_checks)


@pytest.mark.parametrize("version", range(2, 8))
def test_a_topic_is_made(both: Both, version: int) -> None:
    name = both.name("topic")
    for side in both:
        side.ask(creates(topic(name, 2)), version)
        side.ask(creates(topic(name, 2)), version)

    both.agree()


@pytest.mark.parametrize("replicas", [1, -1, 0, 2, -2])
@pytest.mark.parametrize("partitions", [1, -1, 0, -2])
def test_numbers_of_partitions_and_replicas(both: Both, partitions: int, replicas: int) -> None:
    name = both.name("topic")
    for side in both:
        side.ask_in_versions(creates(topic(name, partitions, replicas), only_checks=True), 4, 7)

    both.agree()


@pytest.mark.parametrize(
    "name", ["", ".", "..", "a/b", "x" * 249, "x" * 250, "a b", "ä", "__consumer_offsets", "__x"]
)
def test_names(both: Both, name: str) -> None:
    for side in both:
        side.coordinated(both.name("group"))
        side.ask_in_each_version(creates(topic(name), only_checks=True))

    both.agree()


def test_names_that_collide_as_metrics(both: Both) -> None:
    name = both.name("topic")
    for side in both:
        side.topic(f"{name}.a")
        side.ask_in_each_version(creates(topic(f"{name}_a"), only_checks=True))

    both.agree()


def test_a_name_given_twice(both: Both) -> None:
    name = both.name("topic")
    for side in both:
        side.ask_in_each_version(creates(topic(name), topic(name)))

    both.agree()


@pytest.mark.parametrize(
    "assigned",
    [
        {0: [1]},
        {0: [1], 1: [1]},
        {1: [1]},
        {0: [1], 2: [1]},
        {0: []},
        {0: [1, 1]},
        {0: [99]},
        {0: [-1]},
        {-1: [1]},
    ],
    ids=str,
)
def test_replicas_that_are_named(both: Both, assigned: dict[int, list[int]]) -> None:
    name = both.name("topic")
    for side in both:
        side.ask_in_each_version(creates(topic(name, -1, -1, assigned), only_checks=True))
        side.ask(creates(topic(name, 1, 1, assigned), only_checks=True))

    both.agree()


@pytest.mark.parametrize(
    "configs",
    [
        {"retention.ms": "1000"},
        {"retention.ms": "many"},
        {"retention.ms": "-2"},
        {"retention.ms": ""},
        {"retention.ms": None},
        {"cleanup.policy": "compact,delete"},
        {"cleanup.policy": "forget"},
        {"cleanup.policy": ""},
        {"compression.type": "zip"},
        {"min.insync.replicas": "0"},
        {"max.message.bytes": "-1"},
        {"segment.bytes": "1"},
        {"message.timestamp.type": "never"},
        {"preallocate": "perhaps"},
        {"no.such.config": "1"},
        {"min.cleanable.dirty.ratio": "2"},
    ],
    ids=str,
)
def test_configs(both: Both, configs: dict[str, str | None]) -> None:
    name = both.name("topic")
    for side in both:
        side.ask_in_versions(creates(topic(name, configs=configs), only_checks=True), 2, 4)

    both.agree()


def deletes(*names: str) -> DeleteTopicsRequest:
    return DeleteTopicsRequest(topic_names=list(names), timeout_ms=10_000)


def removes(*states: DeleteTopicState) -> DeleteTopicsRequest:
    return DeleteTopicsRequest(topics=list(states), timeout_ms=10_000)


@pytest.mark.parametrize("version", range(1, 6))
def test_topics_are_deleted_by_name(both: Both, version: int) -> None:
    name = both.name("topic")
    for side in both:
        side.topic(name)
        side.ask(deletes(name, both.name("nowhere")), version)
        side.ask(deletes(name), version)

    both.agree()


def test_topics_are_deleted_by_id(both: Both) -> None:
    name = both.name("topic")
    for side in both:
        made = side.topic(name)
        side.ask(removes(DeleteTopicState(name=None, topic_id=OTHER_ID)))
        side.ask(removes(DeleteTopicState(name=None, topic_id=made.id)))
        side.ask(removes(DeleteTopicState(name=None, topic_id=made.id)))
        side.ask(removes(DeleteTopicState(name=name, topic_id=NO_UUID)))

    both.agree()


def test_a_deletion_that_makes_no_sense(both: Both) -> None:
    name = both.name("topic")
    for side in both:
        made = side.topic(name)
        side.ask(removes(DeleteTopicState(name=None, topic_id=NO_UUID)))
        side.ask(removes(DeleteTopicState(name=name, topic_id=made.id)))
        twice = DeleteTopicState(name=name, topic_id=NO_UUID)
        side.ask(removes(twice, twice))
        side.ask(deletes(name, name), 5)
        side.ask(deletes(""), 5)

    both.agree()


def grows(
    name: str, count: int, assigned: list[list[int]] | None = None, *, only_checks: bool = True
) -> CreatePartitionsRequest:
    given = (
        None if assigned is None else [CreatePartitionsAssignment(broker_ids=b) for b in assigned]
    )
    wanted = CreatePartitionsTopic(name=name, count=count, assignments=given)
    return CreatePartitionsRequest(topics=[wanted], timeout_ms=10_000, validate_only=only_checks)


@pytest.mark.parametrize("count", [3, 2, 1, 0, -1, 10_001])
def test_more_partitions(both: Both, count: int) -> None:
    name = both.name("topic")
    for side in both:
        side.topic(name, 2)
        side.ask_in_each_version(grows(name, count))
        side.ask(grows(both.name("nowhere"), count))

    both.agree()


@pytest.mark.parametrize(
    "assigned", [[[1]], [[1], [1]], [], [[]], [[99]], [[1, 1]], [[-1]]], ids=str
)
def test_more_partitions_with_replicas_that_are_named(
    both: Both, assigned: list[list[int]]
) -> None:
    name = both.name("topic")
    for side in both:
        side.topic(name)
        side.ask_in_each_version(grows(name, 2, assigned))

    both.agree()


def test_more_partitions_twice_in_one_request(both: Both) -> None:
    name = both.name("topic")
    wanted = CreatePartitionsTopic(name=name, count=2, assignments=None)
    for side in both:
        side.topic(name)
        side.ask_in_each_version(
            CreatePartitionsRequest(topics=[wanted, wanted], timeout_ms=10_000, validate_only=False)
        )

    both.agree()


@pytest.mark.parametrize("kind", [0, 1])
@pytest.mark.parametrize("partition", [0, 7, -1])
def test_leaders_are_elected(both: Both, partition: int, kind: int) -> None:
    name = both.name("topic")
    for side in both:
        side.topic(name)
        for where in (name, both.name("nowhere")):
            wanted = [TopicPartitions(topic=where, partitions=[partition])]
            side.ask_in_each_version(
                ElectLeadersRequest(election_type=kind, topic_partitions=wanted, timeout_ms=10_000)
            )

    both.agree()


@pytest.mark.parametrize("replicas", [[1], None, [99], [], [1, 1], [-1]], ids=str)
@pytest.mark.parametrize("partition", [0, 7])
def test_reassignments(both: Both, partition: int, replicas: list[int] | None) -> None:
    name = both.name("topic")
    for side in both:
        side.topic(name)
        for where in (name, both.name("nowhere")):
            wanted = ReassignablePartition(partition_index=partition, replicas=replicas)
            topics = [ReassignableTopic(name=where, partitions=[wanted])]
            side.ask_in_each_version(
                AlterPartitionReassignmentsRequest(timeout_ms=10_000, topics=topics)
            )

    both.agree()


def test_reassignments_under_way(both: Both) -> None:
    name = both.name("topic")
    for side in both:
        side.topic(name)
        side.ask(ListPartitionReassignmentsRequest(timeout_ms=10_000, topics=None))
        named = [ListPartitionReassignmentsTopics(name=name, partition_indexes=[0, 7])]
        side.ask(ListPartitionReassignmentsRequest(timeout_ms=10_000, topics=named))

    both.agree()
