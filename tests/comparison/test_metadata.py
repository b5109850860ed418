"""Metadata, DescribeTopicPartitions, DescribeCluster and FindCoordinator."""

from __future__ import annotations

from contextlib import suppress

import pytest

from kafka_aio.protocol.messages.cluster import DescribeClusterRequest
from kafka_aio.protocol.messages.groups import FindCoordinatorRequest
from kafka_aio.protocol.messages.metadata import (
    Cursor,
    DescribeTopicPartitionsRequest,
    MetadataRequest,
    MetadataRequestTopic,
    TopicRequest,
)
from kafka_aio.protocol.schema import NO_UUID, Uuid
from tests.comparison.sides import Both

OTHER_ID = Uuid(bytes(range(16)))


def about(*names: str, create: bool = False) -> MetadataRequest:
    topics = [MetadataRequestTopic(name=name) for name in names]
    return MetadataRequest(topics=topics, allow_auto_topic_creation=create)


def describes(
    *names: str, limit: int = 2_000, cursor: Cursor | None = None
) -> DescribeTopicPartitionsRequest:
    return DescribeTopicPartitionsRequest(
        topics=[TopicRequest(name=name) for name in names],
        response_partition_limit=limit,
        cursor=cursor,
    )


def test_topics_by_name(both: Both) -> None:
    one, two = both.name("b-metadata"), both.name("a-metadata")
    for side in both:
        side.topic(one)
        side.topic(two, 3)
        side.ask_in_versions(about(one, two), 4, 13)
        side.ask_in_each_version(about(two, create=True))

    both.agree()


def test_no_topics(both: Both) -> None:
    for side in both:
        side.ask_in_versions(about(), 4, 13)

    both.agree()


def test_a_topic_that_is_named_twice(both: Both) -> None:
    name = both.name("metadata")
    for side in both:
        side.topic(name)
        side.ask_in_versions(about(name, name), 4, 13)

    both.agree()


def test_topics_by_id(both: Both) -> None:
    name = both.name("metadata")
    for side in both:
        topic = side.topic(name, 2)
        for topic_id in (topic.id, OTHER_ID):
            asked = MetadataRequest(topics=[MetadataRequestTopic(topic_id=topic_id, name=None)])
            side.ask_in_versions(asked, 12, 13)

    both.agree()


@pytest.mark.parametrize("version", [10, 11, 12])
def test_a_topic_with_neither_name_nor_id(both: Both, version: int) -> None:
    for side in both:
        asked = MetadataRequest(topics=[MetadataRequestTopic(topic_id=NO_UUID, name=None)])
        with suppress(EOFError, ConnectionError):
            side.ask(asked, version)

    both.agree()


@pytest.mark.parametrize("create", [False, True])
@pytest.mark.parametrize("name", ["", ".", "..", "a/b", "x" * 250, "a b", "ä"])
def test_names_that_no_topic_can_have(both: Both, name: str, create: bool) -> None:
    for side in both:
        side.ask_in_versions(about(name, create=create), 4, 13)

    both.agree()


def test_a_topic_that_does_not_exist(both: Both) -> None:
    for side in both:
        side.ask_in_versions(about(both.name("nowhere")), 4, 13)

    both.agree()


def test_a_topic_is_made_by_asking_for_it(both: Both) -> None:
    name = both.name("made")
    for side in both:
        side.ask(about(name, create=True))
        side.until(lambda answer: answer.topics[0].error_code == 0, about(name))
        side.ask(about(name))

    both.agree()


@pytest.mark.parametrize("version", [8, 9, 10, 12])
def test_what_one_may_do(both: Both, version: int) -> None:
    name = both.name("metadata")
    for side in both:
        side.topic(name)
        asked = MetadataRequest(
            topics=[MetadataRequestTopic(name=name)],
            include_cluster_authorized_operations=version <= 10,
            include_topic_authorized_operations=True,
        )
        side.ask(asked, version)

    both.agree()


def test_partitions_of_topics(both: Both) -> None:
    one, two = both.name("b-partitions"), both.name("a-partitions")
    for side in both:
        side.topic(one, 2)
        side.topic(two, 3)
        side.ask(describes(one, two))

    both.agree()


def test_a_limit_of_partitions(both: Both) -> None:
    one, two = both.name("a-partitions"), both.name("b-partitions")
    for side in both:
        side.topic(one, 2)
        side.topic(two, 3)
        for limit in (1, 2, 3, 4, 5, 0, -1):
            side.ask(describes(one, two, limit=limit))

    both.agree()


@pytest.mark.parametrize("purpose", ["a-partitions", "b-partitions", "c-partitions", "aa"])
def test_a_cursor(both: Both, purpose: str) -> None:
    one, two = both.name("a-partitions"), both.name("b-partitions")
    for side in both:
        side.topic(one, 2)
        side.topic(two, 3)
        for partition in (0, 1, 2, 7, -1):
            cursor = Cursor(topic_name=both.name(purpose), partition_index=partition)
            side.ask(describes(one, two, limit=3, cursor=cursor))

    both.agree()


@pytest.mark.parametrize("name", ["nowhere", "", "a/b", "."])
def test_partitions_of_what_does_not_exist(both: Both, name: str) -> None:
    for side in both:
        side.ask(describes(name))

    both.agree()


@pytest.mark.parametrize("operations", [False, True])
def test_the_cluster(both: Both, operations: bool) -> None:
    for side in both:
        side.ask_in_each_version(
            DescribeClusterRequest(include_cluster_authorized_operations=operations)
        )

    both.agree()


@pytest.mark.parametrize("endpoint", [2, 3, 0])
@pytest.mark.parametrize("fenced", [False, True])
def test_other_endpoints_of_the_cluster(both: Both, endpoint: int, fenced: bool) -> None:
    for side in both:
        side.ask_in_each_version(
            DescribeClusterRequest(
                include_cluster_authorized_operations=False,
                endpoint_type=endpoint,
                include_fenced_brokers=fenced,
            )
        )

    both.agree()


@pytest.mark.parametrize("group", ["some-group", ""])
def test_the_coordinator_of_a_group(both: Both, group: str) -> None:
    for side in both:
        side.coordinated("some-group")
        side.ask_in_versions(FindCoordinatorRequest(key=group), 0, 3)
        asked = FindCoordinatorRequest(coordinator_keys=[group, "another"])
        side.ask_in_versions(asked, 4, 6)

    both.agree()


@pytest.mark.parametrize("kind", [3, -1])
def test_coordinators_of_no_known_kind(both: Both, kind: int) -> None:
    for side in both:
        with suppress(EOFError, ConnectionError):
            side.ask(FindCoordinatorRequest(key="some", key_type=kind), 3)
        with suppress(EOFError, ConnectionError):
            side.ask(FindCoordinatorRequest(coordinator_keys=["some"], key_type=kind), 6)

    both.agree()
