from __future__ import annotations

import asyncio

import pytest

from kafka_aio.admin import NodeStatus, TopicDescription, TopicListing
from kafka_aio.errors import (
    KafkaConnectionError,
    KafkaTimeoutError,
    ProtocolError,
    StateError,
    TopicAuthorizationFailed,
    UnknownTopicOrPartition,
)
from kafka_aio.protocol.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse
from kafka_aio.protocol.messages.metadata import (
    DescribeTopicPartitionsRequest,
    MetadataRequest,
    MetadataResponse,
    MetadataResponseTopic,
)
from kafka_aio.protocol.schema import schema_of
from kafka_aio.types import Node
from tests.net.admin_answers import all_is_well, describes_topics, in_turn, page
from tests.net.clusters import AT_ONCE, UNHURRIED, Scripted, admin_of, scripted
from tests.net.server import ALL_VERSIONS, HOST, Asked, Reaction, falls_silent, says, until
from tests.net.test_cluster import refusing_port


def partitions_of(found: object) -> list[int]:
    assert isinstance(found, TopicDescription)
    return [partition.partition for partition in found.partitions]


def is_from_3_7(script: Scripted) -> None:
    """The brokers do not have DescribeTopicPartitions (KIP-966)."""
    key = schema_of(DescribeTopicPartitionsRequest).key
    rest = [each for each in ALL_VERSIONS if each.api_key != key]
    script.react(ApiVersionsRequest, says(ApiVersionsResponse(error_code=0, api_keys=rest)))


def pages(*given: tuple[dict[str, list[int]], tuple[str, int] | None]) -> Reaction:
    return in_turn(*(says(page(told, following=following)) for told, following in given))


async def test_a_topic_that_spans_pages_is_put_together() -> None:
    async with scripted(1) as script, admin_of(script.bootstrap()) as admin:
        script.react(
            DescribeTopicPartitionsRequest,
            pages(
                ({"a": [0], "b": [0, 1]}, ("b", 2)),
                ({"b": [2, 3]}, ("b", 4)),
                ({"b": [4], "c": [0]}, None),
            ),
        )

        found = await admin.describe_topics(["c", "b", "a"])

        assert list(found) == ["c", "b", "a"]
        assert [partitions_of(found[name]) for name in "abc"] == [[0], [0, 1, 2, 3, 4], [0]]
        asked = [each.message for each in script.asked(DescribeTopicPartitionsRequest)]
        cursors = [message.cursor for message in asked]
        assert [each and (each.topic_name, each.partition_index) for each in cursors] == [
            None,
            ("b", 2),
            ("b", 4),
        ]
        assert {message.response_partition_limit for message in asked} == {2_000}


@pytest.mark.parametrize(
    "following",
    [[("b", 2), ("b", 2)], [("b", 2), ("b", 1)], [("b", 2), ("a", 5), ("b", 2), ("a", 5)]],
)
async def test_pages_that_do_not_go_forward_end_the_call(following: list[tuple[str, int]]) -> None:
    async with scripted(1) as script, admin_of(script.bootstrap()) as admin:
        script.react(
            DescribeTopicPartitionsRequest, pages(*(({"a": [0], "b": [0]}, at) for at in following))
        )

        with pytest.raises(ProtocolError, match=r"describe_topics: after .* comes"):
            await admin.describe_topics(["a", "b"])

        assert len(script.asked(DescribeTopicPartitionsRequest)) == 2


async def test_pages_without_end_end_with_the_time() -> None:
    async with scripted(1) as script, admin_of(script.bootstrap()) as admin:
        count = iter(range(1, 1_000_000))
        script.react(
            DescribeTopicPartitionsRequest,
            lambda asked: asked.answer(page({"a": [0]}, following=("a", next(count)))),
        )

        with pytest.raises(KafkaTimeoutError, match="describe_topics"):
            await admin.describe_topics(["a"], timeout=0.3)


async def test_a_page_that_is_lost_is_asked_for_again() -> None:
    async with scripted(1) as script:
        options = {"request_timeout_ms": 200}
        async with admin_of(script.bootstrap(), **options) as admin:
            first = says(page({"a": [0]}, following=("a", 1)))
            last = says(page({"a": [1]}))
            script.react(DescribeTopicPartitionsRequest, in_turn(first, falls_silent, last))

            found = await admin.describe_topics(["a"])

            assert partitions_of(found["a"]) == [0, 1]


async def test_a_topic_that_is_not_there_is_told_at_once() -> None:
    async with scripted(1) as script, admin_of(script.bootstrap(), **UNHURRIED) as admin:
        answer = page({"a": [0], "b": [], "c": []}, codes={"b": 3, "c": 29})
        script.react(DescribeTopicPartitionsRequest, says(answer))
        loop = asyncio.get_running_loop()
        began_at = loop.time()

        found = await admin.describe_topics(["a", "b", "c"])

        assert partitions_of(found["a"]) == [0]
        assert isinstance(found["b"], UnknownTopicOrPartition)
        assert isinstance(found["c"], TopicAuthorizationFailed)
        assert loop.time() - began_at < AT_ONCE
        assert len(script.asked(DescribeTopicPartitionsRequest)) == 1


async def test_a_topic_that_the_answer_leaves_out_is_an_error_of_the_protocol() -> None:
    async with scripted(1) as script, admin_of(script.bootstrap()) as admin:
        script.react(DescribeTopicPartitionsRequest, says(page({"a": [0]})))

        with pytest.raises(ProtocolError, match="nothing about 'b'"):
            await admin.describe_topics(["a", "b"])


async def test_brokers_that_lack_the_api_are_asked_for_metadata() -> None:
    async with scripted(1) as script:
        is_from_3_7(script)

        def answer(asked: Asked) -> None:
            if asked.message.topics and asked.message.topics[0].name == "nope":
                assert not asked.message.allow_auto_topic_creation
                missing = MetadataResponseTopic(error_code=3, name="nope", partitions=[])
                asked.answer(MetadataResponse(brokers=[], topics=[missing]))
            else:
                script.describe(asked)

        script.react(MetadataRequest, answer)
        async with admin_of(script.bootstrap()) as admin:
            found = await admin.describe_topics(["a", "b"])
            missing = await admin.describe_topics(["nope"])

            assert partitions_of(found["a"]) == partitions_of(found["b"]) == [0]
            assert isinstance(missing["nope"], UnknownTopicOrPartition)
            assert not script.asked(DescribeTopicPartitionsRequest)


async def test_a_leader_that_is_newer_than_our_metadata_is_found() -> None:
    async with scripted(2) as script:
        second = script.ports.pop(2)
        async with admin_of(script.bootstrap(1)) as admin:
            script.react(DescribeTopicPartitionsRequest, says(page({"a": [0]}, leader=2)))
            script.ports[2] = second

            found = await admin.describe_topics(["a"])

            assert isinstance(found["a"], TopicDescription)
            assert found["a"].partitions[0].leader == Node(2, HOST, second)


async def test_a_leader_that_nobody_knows_has_no_address() -> None:
    async with scripted(1) as script, admin_of(script.bootstrap()) as admin:
        script.react(DescribeTopicPartitionsRequest, says(page({"a": [0]}, leader=9)))

        found = await admin.describe_topics(["a"])

        assert isinstance(found["a"], TopicDescription)
        assert found["a"].partitions[0].leader == Node(9, "", -1)


async def test_leaders_that_are_known_need_no_further_request() -> None:
    async with scripted(1) as script, admin_of(script.bootstrap()) as admin:
        script.react(DescribeTopicPartitionsRequest, describes_topics)
        before = len(script.asked(MetadataRequest))

        await admin.describe_topics(["a"])

        assert len(script.asked(MetadataRequest)) == before


async def test_topics_are_listed_by_name_and_those_of_kafka_on_demand() -> None:
    async with scripted(1) as script, admin_of(script.bootstrap()) as admin:
        listed = MetadataResponse(
            brokers=[],
            topics=[
                MetadataResponseTopic(error_code=0, name="b", partitions=[]),
                MetadataResponseTopic(error_code=0, name="a", partitions=[]),
                MetadataResponseTopic(error_code=0, name="__c", is_internal=True, partitions=[]),
            ],
        )
        script.react(MetadataRequest, says(listed))

        ours = await admin.list_topics()
        everything = await admin.list_topics(internal=True)

        no_id = "A" * 22
        assert ours == [TopicListing("a", no_id, False), TopicListing("b", no_id, False)]
        assert everything == [TopicListing("__c", no_id, True), *ours]
        asked = script.asked(MetadataRequest)[-1].message
        assert (asked.topics, asked.allow_auto_topic_creation) == (None, False)


async def test_a_cluster_is_described_with_its_controller() -> None:
    async with scripted(2) as script, admin_of(script.bootstrap()) as admin:
        all_is_well(script)
        script.controller = 2

        found = await admin.describe_cluster()

        assert found.cluster_id == "scripted"
        assert found.nodes == tuple(Node(node, HOST, script.ports[node]) for node in (1, 2))
        assert found.controller == found.nodes[1]


async def test_every_node_tells_of_itself() -> None:
    async with scripted(3) as script, admin_of(script.bootstrap()) as admin:
        statuses = await admin.nodes(pings=2)

        assert [status.node.id for status in statuses] == [1, 2, 3]
        for status in statuses:
            assert status.error is None
            assert len(status.round_trips) == 2
            assert all(seconds > 0 for seconds in status.round_trips)
            assert len(status.versions) == len(ALL_VERSIONS)


async def test_a_node_that_cannot_be_asked_says_why_and_the_others_answer() -> None:
    async with scripted(3) as script:
        script.ports[2] = refusing_port()
        script.brokers[3].reactions[ApiVersionsRequest] = falls_silent
        async with admin_of(script.bootstrap(1)) as admin:
            first, second, third = await admin.nodes(timeout=0.5)

            assert first == NodeStatus(
                first.node, None, first.round_trips, first.versions, first.features
            )
            assert len(first.round_trips) == 3
            assert isinstance(second.error, KafkaConnectionError)
            assert f"{HOST}:{script.ports[2]}" in str(second.error)
            assert isinstance(third.error, KafkaTimeoutError | KafkaConnectionError)


async def test_nodes_are_not_blamed_for_a_client_that_is_closed() -> None:
    async with scripted(2) as script:
        async with admin_of(script.bootstrap(1)) as admin:
            script.brokers[2].reactions[ApiVersionsRequest] = falls_silent
            task = asyncio.create_task(admin.nodes())
            await until(lambda: bool(script.asked(ApiVersionsRequest, 2)))

        with pytest.raises(StateError, match="closed"):
            await task


async def test_nodes_are_looked_for_anew_when_the_cluster_was_lost() -> None:
    async with scripted(2) as script:
        script.ports = {1: refusing_port()}
        async with admin_of(script.bootstrap(2)) as admin:
            (lost,) = await admin.nodes(timeout=0.3)
            script.ports = {2: script.brokers[2].port}  # the cluster has moved altogether
            cluster = admin._cluster
            assert cluster is not None
            cluster.metadata.bootstrap([(HOST, script.brokers[2].port)])

            (found,) = await admin.nodes()

            assert lost.error is not None
            assert (found.node.id, found.error) == (2, None)
