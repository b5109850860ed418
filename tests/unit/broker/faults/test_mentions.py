from __future__ import annotations

from typing import Any

import pytest

from kafka_aio.broker.faults.mentions import names_group, names_partition
from kafka_aio.protocol.messages.consumer_group import (
    ConsumerGroupDescribeRequest,
    ConsumerGroupHeartbeatRequest,
)
from kafka_aio.protocol.messages.fetch import FetchPartition, FetchRequest, FetchTopic
from kafka_aio.protocol.messages.groups import (
    DeleteGroupsRequest,
    DescribeGroupsRequest,
    FindCoordinatorRequest,
    HeartbeatRequest,
)
from kafka_aio.protocol.messages.metadata import MetadataRequest, MetadataRequestTopic
from kafka_aio.protocol.messages.offsets import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopics,
)
from kafka_aio.protocol.messages.produce import (
    PartitionProduceData,
    ProduceRequest,
    TopicProduceData,
)
from kafka_aio.protocol.messages.topics import DeleteTopicsRequest
from kafka_aio.protocol.schema import Request
from tests.unit.broker.clusters import made

STATE = made(topics={"orders": 3, "other": 1})
NAMES = STATE.topics.by_id
ORDERS_ID = STATE.topics.by_name["orders"].id

PARTITION = PartitionProduceData(index=1, records=None)
WANTED = FetchPartition(partition=1, fetch_offset=0, partition_max_bytes=1)
OFFSETS = OffsetFetchRequestTopics(name="orders", partition_indexes=[1])
GROUP = OffsetFetchRequestGroup(group_id="g", topics=[OFFSETS])


def names(request: Request[Any], topic: str, partition: int | None, version: int = 9) -> bool:
    return names_partition(request, topic, partition, version=version, names=NAMES)


def produce(**topic: Any) -> ProduceRequest:
    data = TopicProduceData(**topic, partition_data=[PARTITION])
    return ProduceRequest(acks=1, timeout_ms=0, topic_data=[data])


def fetch(**topic: Any) -> FetchRequest:
    return FetchRequest(
        max_wait_ms=0, min_bytes=0, topics=[FetchTopic(**topic, partitions=[WANTED])]
    )


@pytest.mark.parametrize(
    "request_",
    [
        produce(name="orders"),
        produce(topic_id=ORDERS_ID),
        fetch(topic="orders"),
        fetch(topic_id=ORDERS_ID),
        OffsetFetchRequest(group_id="", topics=None, groups=[GROUP]),
    ],
    ids=lambda request: type(request).__name__,
)
def test_partitions_are_found_by_the_name_or_the_id_of_their_topic(request_: Request[Any]) -> None:
    assert names(request_, "orders", 1)
    assert names(request_, "orders", None)
    assert not names(request_, "orders", 2)
    assert not names(request_, "other", 1)


@pytest.mark.parametrize(
    "request_",
    [
        MetadataRequest(topics=[MetadataRequestTopic(name="orders")]),
        MetadataRequest(topics=[MetadataRequestTopic(name=None, topic_id=ORDERS_ID)]),
        DeleteTopicsRequest(topic_names=["orders"], timeout_ms=0),
    ],
    ids=repr,
)
def test_who_names_a_topic_names_all_its_partitions(request_: Request[Any]) -> None:
    assert names(request_, "orders", 2)
    assert not names(request_, "other", None)


def test_who_asks_for_all_topics_names_each_that_there_is() -> None:
    everything = MetadataRequest(topics=None)

    assert names(everything, "orders", None)
    assert names(everything, "orders", 2)
    assert not names(everything, "orders", 3)
    assert not names(everything, "missing", None)


def test_an_empty_list_is_all_topics_in_the_first_version_of_metadata_alone() -> None:
    assert names(MetadataRequest(topics=[]), "orders", None, version=0)
    assert not names(MetadataRequest(topics=[]), "orders", None, version=1)


@pytest.mark.parametrize(
    "request_",
    [
        HeartbeatRequest(group_id="g", generation_id=1, member_id="m"),
        DescribeGroupsRequest(groups=["other", "g"]),
        DeleteGroupsRequest(groups_names=["g"]),
        ConsumerGroupDescribeRequest(group_ids=["g"], include_authorized_operations=False),
        ConsumerGroupHeartbeatRequest(group_id="g", member_id="m", member_epoch=0),
        FindCoordinatorRequest(key="g", key_type=0),
        FindCoordinatorRequest(key="", key_type=0, coordinator_keys=["g"]),
        OffsetFetchRequest(group_id="", topics=None, groups=[GROUP]),
    ],
    ids=lambda request: type(request).__name__,
)
def test_groups_are_found_wherever_a_request_has_them(request_: Request[Any]) -> None:
    assert names_group(request_, "g")
    assert not names_group(request_, "h")
