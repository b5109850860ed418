"""Groups of the consumer protocol (KIP-848): heartbeats, descriptions, and who is refused."""

from __future__ import annotations

import base64
import uuid
from typing import Any

import pytest

from kafka_aio.protocol.messages.consumer_group import (
    ConsumerGroupDescribeRequest,
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatTopicPartitions,
)
from kafka_aio.protocol.messages.groups import DeleteGroupsRequest, DescribeGroupsRequest
from tests.comparison.sides import Both, Side
from tests.comparison.test_classic_groups import beats, joins, leaves, stable
from tests.comparison.test_group_offsets import commits, deletes, fetch_in_each_version
from tests.kafka.topic import Topic


def member() -> str:
    """An id as clients make it up."""
    return base64.urlsafe_b64encode(uuid.uuid4().bytes).decode().rstrip("=")


def heartbeats(
    group: str, member_id: str, epoch: int = 0, **fields: Any
) -> ConsumerGroupHeartbeatRequest:
    if epoch == 0:
        fields = {"rebalance_timeout_ms": 30_000, "topic_partitions": [], **fields}
    return ConsumerGroupHeartbeatRequest(
        group_id=group, member_id=member_id, member_epoch=epoch, **fields
    )


def owned(topic: Topic, *partitions: int) -> list[ConsumerGroupHeartbeatTopicPartitions]:
    found = ConsumerGroupHeartbeatTopicPartitions(topic_id=topic.id, partitions=list(partitions))
    return [found]


def describes(*groups: str, operations: bool = False) -> ConsumerGroupDescribeRequest:
    return ConsumerGroupDescribeRequest(
        group_ids=list(groups), include_authorized_operations=operations
    )


def consuming(side: Side, group: str, topic: Topic, member_id: str, **fields: Any) -> int:
    """A member that has all partitions of a topic; its epoch."""
    side.coordinated(group)
    fields = {"subscribed_topic_names": [topic.name], **fields}
    epoch = side.ask(heartbeats(group, member_id, **fields)).member_epoch
    return side.ask(
        heartbeats(group, member_id, epoch, topic_partitions=owned(topic, 0))
    ).member_epoch


def test_a_member_comes_and_goes(both: Both) -> None:
    group, one = both.name("group"), member()
    for side in both:
        topic = side.topic(both.name("consumed"))
        epoch = consuming(side, group, topic, one)
        side.ask(heartbeats(group, one, epoch))
        side.ask_in_each_version(describes(group))
        side.ask(heartbeats(group, one, -1))
        side.ask_in_each_version(describes(group))
        side.ask(heartbeats(group, one, epoch))

    both.agree()


@pytest.mark.parametrize(
    "fields",
    [
        {"group_id": ""},
        {"member_id": ""},
        {"member_epoch": -3},
        {"member_epoch": 7},
        {"member_epoch": -1},
        {"member_epoch": -2},
        {"instance_id": ""},
        {"rack_id": ""},
        {"rebalance_timeout_ms": -1},
        {"topic_partitions": None},
        {"subscribed_topic_names": None},
        {"subscribed_topic_names": []},
        {"subscribed_topic_names": ["nowhere"]},
        {"server_assignor": "unheard"},
        {"server_assignor": ""},
        {"server_assignor": "range"},
        {"subscribed_topic_regex": "("},
        {"subscribed_topic_regex": ""},
    ],
    ids=str,
)
def test_a_first_heartbeat(both: Both, fields: dict[str, Any]) -> None:
    group, one = both.name("group"), member()
    for side in both:
        topic = side.topic(both.name("consumed"))
        side.coordinated(group)
        given = {
            "group_id": group,
            "member_id": one,
            "member_epoch": 0,
            "rebalance_timeout_ms": 30_000,
            "subscribed_topic_names": [topic.name],
            "topic_partitions": [],
            **fields,
        }
        side.ask_in_versions(ConsumerGroupHeartbeatRequest(**given), 1, 1)

    both.agree()


def test_the_broker_names_members_of_old_clients(both: Both) -> None:
    group = both.name("group")
    for side in both:
        topic = side.topic(both.name("consumed"))
        side.coordinated(group)
        side.ask(heartbeats(group, "", subscribed_topic_names=[topic.name]), 0)

    both.agree()


@pytest.mark.parametrize("change", [-1, 1, 5])
def test_another_epoch(both: Both, change: int) -> None:
    group, one = both.name("group"), member()
    for side in both:
        topic = side.topic(both.name("consumed"))
        epoch = consuming(side, group, topic, one)
        side.ask(heartbeats(group, one, epoch + change))
        side.ask(heartbeats(group, "unknown", epoch))
        side.ask_in_each_version(describes(group))

    both.agree()


def test_an_instance_that_is_taken(both: Both) -> None:
    group, one, two = both.name("group"), member(), member()
    for side in both:
        topic = side.topic(both.name("consumed"))
        epoch = consuming(side, group, topic, one, instance_id="i")
        taken = heartbeats(group, two, instance_id="i", subscribed_topic_names=[topic.name])
        side.ask(taken)
        side.ask(heartbeats(group, two, epoch, instance_id="i"))
        side.ask(heartbeats(group, one, epoch, instance_id="j"))
        side.ask(heartbeats(group, one, -2, instance_id="i"))
        side.ask(taken)
        side.ask(heartbeats(group, one, epoch, instance_id="i"))
        side.ask(heartbeats(group, two, -1, instance_id="i"))

    both.agree()


@pytest.mark.parametrize("operations", [False, True])
def test_descriptions(both: Both, operations: bool) -> None:
    group, one = both.name("group"), member()
    for side in both:
        topic = side.topic(both.name("consumed"))
        consuming(side, group, topic, one, rack_id="r", server_assignor="range")
        side.ask_in_each_version(describes(group, operations=operations))
        side.ask_in_each_version(describes(both.name("nobody"), "", operations=operations))

    both.agree()


def test_a_consumer_group_is_no_classic_one(both: Both) -> None:
    group, one = both.name("group"), member()
    for side in both:
        topic = side.topic(both.name("consumed"))
        consuming(side, group, topic, one)
        side.ask_in_each_version(DescribeGroupsRequest(groups=[group]))
        side.ask_in_each_version(beats(group, 1, one))
        side.ask(DeleteGroupsRequest(groups_names=[group]))
        side.ask(leaves(group, (one, None)))

    both.agree()


@pytest.mark.xfail(reason="the embedded broker has no groups of both protocols", strict=True)
def test_a_classic_member_joins_a_consumer_group(both: Both) -> None:
    group, one = both.name("group"), member()
    for side in both:
        topic = side.topic(both.name("consumed"))
        consuming(side, group, topic, one)
        side.ask_in_versions(joins(group), 4, 9)

    both.agree()


def test_a_classic_group_is_no_consumer_group(both: Both) -> None:
    group, one = both.name("group"), member()
    for side in both:
        topic = side.topic(both.name("consumed"))
        stable(side, group)
        side.ask_in_each_version(describes(group))
        side.ask(heartbeats(group, one, 5, subscribed_topic_names=[topic.name]))

    both.agree()


@pytest.mark.parametrize("change", [0, -1, 1, -100])
def test_commits(both: Both, change: int) -> None:
    group, one = both.name("group"), member()
    for side in both:
        topic = side.topic(both.name("consumed"))
        epoch = max(consuming(side, group, topic, one) + change, -1)
        side.ask_in_each_version(commits(group, topic, member=(one, epoch)))
        side.ask_in_each_version(commits(group, topic, member=("unknown", epoch)))
        fetch_in_each_version(side, group, topic, 0, member=(one, epoch))
        side.ask(deletes(group, topic.name, 0))

    both.agree()
