"""`Admin` about groups on real Kafka, new and old: what it says is what Kafka did."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest

from kafka_aio import (
    Admin,
    Consumer,
    GroupDescription,
    GroupState,
    GroupType,
    OffsetAndMetadata,
    OffsetChange,
    OffsetReset,
    TopicPartition,
)
from kafka_aio.admin.group_values import AclOperation
from kafka_aio.errors import (
    GroupIdNotFound,
    GroupSubscribedToTopic,
    NonEmptyGroup,
    UnknownMemberId,
    UnknownTopicOrPartition,
)
from tests.broker.filled import PATIENCE, described, filled, fresh, state_of
from tests.kafka import members
from tests.kafka.cluster import Cluster


@pytest.fixture
async def admin(each_kafka: Cluster) -> AsyncIterator[Admin]:
    async with Admin(bootstrap_servers=each_kafka.bootstrap, client_id="tests") as admin:
        yield admin


@pytest.fixture
async def newest(kafka: Cluster) -> AsyncIterator[Admin]:
    """Of the Kafka that knows groups of the consumer protocol."""
    async with Admin(bootstrap_servers=kafka.bootstrap, client_id="tests") as admin:
        yield admin


# Groups.


async def test_a_classic_group_is_described_and_listed(admin: Admin) -> None:
    partitions, group = await filled(admin), fresh("classic")
    member = await members.join(admin, group, partitions[::-1], instance="i-1")

    found = (await admin.describe_groups([group], authorized_operations=True))[group]
    listed = await admin.list_groups(states=["stable"], types=["classic"])
    others = await admin.list_groups(states=["empty"])

    assert isinstance(found, GroupDescription)
    assert (found.type, found.state) == (GroupType.CLASSIC, GroupState.STABLE)
    assert (found.protocol_type, found.assignor) == ("consumer", "range")
    assert found.coordinator in (await admin.describe_cluster()).nodes
    told = set(found.authorized_operations or ())
    assert told - {AclOperation.DESCRIBE_CONFIGS, AclOperation.ALTER_CONFIGS} == {  # since 4.0
        AclOperation.READ,
        AclOperation.DELETE,
        AclOperation.DESCRIBE,
    }
    (its,) = found.members
    assert (its.member_id, its.instance_id, its.client_id) == (member.id, "i-1", "tests")
    assert its.assignment == tuple(partitions)
    assert its.host == "127.0.0.1"
    (entry,) = (each for each in listed.groups if each.group_id == group)
    assert (entry.type, entry.state) == (GroupType.CLASSIC, GroupState.STABLE)
    assert found.coordinator is not None
    assert entry.coordinator == found.coordinator.id
    assert listed.errors == {}
    assert group not in {each.group_id for each in others.groups}


async def test_a_group_that_is_not_there_says_so(admin: Admin) -> None:
    group = fresh("none")

    found = await admin.describe_groups([group])
    deleted = await admin.delete_groups([group])
    forgotten = await admin.delete_group_offsets(group, [TopicPartition("t", 0)])
    removed = await admin.remove_members(group, member_ids=["m"])
    offsets = await admin.list_group_offsets([group])

    assert isinstance(found[group], GroupIdNotFound)
    assert isinstance(deleted[group], GroupIdNotFound)
    assert isinstance(forgotten[TopicPartition("t", 0)], GroupIdNotFound)
    assert isinstance(removed["m"], UnknownMemberId)
    assert offsets == {group: {}}


async def test_a_group_of_something_else_is_described_without_partitions(admin: Admin) -> None:
    group = fresh("connect")
    await members.join(admin, group, [], kind="connect", assignment=b"any bytes")

    found = await described(admin, group)

    assert (found.protocol_type, found.type) == ("connect", GroupType.CLASSIC)
    assert found.members[0].assignment == ()


async def test_a_group_of_the_consumer_protocol_is_described(newest: Admin) -> None:
    partitions, group = await filled(newest), fresh("modern")
    topic = partitions[0].topic
    member = await members.consume(newest, group, topic, rack="r")

    found = (await newest.describe_groups([group], authorized_operations=True))[group]
    listed = await newest.list_groups(types=[GroupType.CONSUMER])
    await members.stop_consuming(newest, group, member)
    empty = await state_of(newest, group, GroupState.EMPTY)

    assert isinstance(found, GroupDescription)
    assert (found.type, found.state) == (GroupType.CONSUMER, GroupState.STABLE)
    assert found.assignor == "uniform"
    assert (found.epoch, found.target_assignment_epoch) == (member.epoch, member.epoch)
    assert found.authorized_operations is not None
    (its,) = found.members
    assert (its.member_id, its.epoch, its.rack) == (member.id, member.epoch, "r")
    assert its.assignment == its.target_assignment == tuple(partitions)
    assert (its.subscribed_topics, its.subscribed_pattern) == ((topic,), None)
    assert its.is_classic is False
    assert group in {each.group_id for each in listed.groups}
    assert {each.type for each in listed.groups} == {GroupType.CONSUMER}
    assert empty.members == ()


@pytest.mark.parametrize("protocol", ["classic", "consumer"])
async def test_what_our_consumer_has_is_told(newest: Admin, protocol: str) -> None:
    partitions, group = await filled(newest), fresh("ours")
    (server,) = newest._config.bootstrap_servers
    options: dict[str, Any] = {
        "bootstrap_servers": server,
        "group_id": group,
        "group_protocol": protocol,
        "auto_offset_reset": "earliest",
        "client_id": "reader",
    }
    async with asyncio.timeout(PATIENCE), Consumer(partitions[0].topic, **options) as consumer:
        await anext(consumer)
        await consumer.commit()
        found = await state_of(newest, group, GroupState.STABLE)
        refused = await newest.delete_groups([group])
    left = await state_of(newest, group, GroupState.EMPTY)
    offsets = (await newest.list_group_offsets([group]))[group]
    deleted = await newest.delete_groups([group])

    (its,) = found.members
    assert (its.client_id, its.assignment) == ("reader", tuple(partitions))
    assert isinstance(refused[group], NonEmptyGroup)
    assert left.members == ()
    assert isinstance(offsets, dict)
    assert OffsetAndMetadata in map(type, offsets.values())
    assert deleted == {group: None}


async def test_members_are_removed(admin: Admin) -> None:
    partitions, static, dynamic = await filled(admin), fresh("static"), fresh("dynamic")
    await members.join(admin, static, partitions, instance="i-1")
    member = await members.join(admin, dynamic, partitions)

    first = await admin.remove_members(static, instance_ids=["i-1", "i-2"], reason="tests")
    second = await admin.remove_members(dynamic, member_ids=[member.id])
    again = await admin.remove_members(dynamic, everyone=True)

    assert first["i-1"] is None
    assert isinstance(first["i-2"], UnknownMemberId)
    assert second == {member.id: None}
    assert again == {}
    assert (await described(admin, static)).state is GroupState.EMPTY
    assert (await described(admin, dynamic)).state is GroupState.EMPTY


async def test_members_of_the_consumer_protocol_are_removed(newest: Admin) -> None:
    partitions, static, dynamic = await filled(newest), fresh("static"), fresh("dynamic")
    await members.consume(newest, static, partitions[0].topic, instance="i-1")
    member = await members.consume(newest, dynamic, partitions[0].topic)

    first = await newest.remove_members(static, everyone=True)
    second = await newest.remove_members(dynamic, everyone=True)

    assert first == {"i-1": None}
    assert second == {member.id: None}
    assert (await described(newest, static)).members == ()
    assert (await described(newest, dynamic)).members == ()


async def test_groups_are_deleted_one_by_one(admin: Admin) -> None:
    partitions, empty, active = await filled(admin), fresh("empty"), fresh("active")
    await admin.alter_group_offsets(empty, {partitions[0]: 1})
    await members.join(admin, active, partitions)

    result = await admin.delete_groups([empty, active])

    assert result[empty] is None
    assert isinstance(result[active], NonEmptyGroup)
    assert empty not in {each.group_id for each in (await admin.list_groups()).groups}


# Offsets of groups.


async def test_offsets_are_committed_listed_and_forgotten(admin: Admin) -> None:
    (first, second), group = await filled(admin), fresh("offsets")
    nowhere, ninth = TopicPartition(fresh("nowhere"), 0), TopicPartition(first.topic, 9)

    done = await admin.alter_group_offsets(
        group, {first: 3, second: OffsetAndMetadata(4, "note", 0), nowhere: 1, ninth: 1}
    )
    everything = await admin.list_group_offsets([group])
    stable = await admin.list_group_offsets([group], [ninth, first], require_stable=True)
    forgotten = await admin.delete_group_offsets(group, [first, nowhere])
    left = await admin.list_group_offsets([group])

    assert (done[first], done[second]) == (None, None)
    assert isinstance(done[nowhere], UnknownTopicOrPartition)
    assert isinstance(done[ninth], UnknownTopicOrPartition)
    assert everything == {
        group: {first: OffsetAndMetadata(3), second: OffsetAndMetadata(4, "note", 0)}
    }
    assert stable == {group: {first: OffsetAndMetadata(3), ninth: None}}
    assert forgotten[first] is None
    assert isinstance(forgotten[nowhere], UnknownTopicOrPartition)
    assert left == {group: {second: OffsetAndMetadata(4, "note", 0)}}


async def test_of_a_group_with_members_no_offset_is_changed(admin: Admin) -> None:
    partitions, group = await filled(admin), fresh("active")
    member = await members.join(admin, group, partitions)

    committed = await admin.alter_group_offsets(group, {partitions[0]: 3})
    forgotten = await admin.delete_group_offsets(group, partitions[:1])
    with pytest.raises(NonEmptyGroup, match="still has members; stop them first"):
        await admin.reset_group_offsets(group, OffsetReset.earliest(), topics=[partitions[0].topic])
    await members.leave(admin, group, member)
    later = await admin.alter_group_offsets(group, {partitions[0]: 3})

    assert isinstance(committed[partitions[0]], NonEmptyGroup)
    assert isinstance(forgotten[partitions[0]], GroupSubscribedToTopic)
    assert later == {partitions[0]: None}


async def test_of_a_consumer_group_with_members_no_offset_is_changed(newest: Admin) -> None:
    partitions, group = await filled(newest), fresh("active")
    member = await members.consume(newest, group, partitions[0].topic)

    committed = await newest.alter_group_offsets(group, {partitions[0]: 3})
    forgotten = await newest.delete_group_offsets(group, partitions[:1])
    with pytest.raises(NonEmptyGroup):
        await newest.reset_group_offsets(group, OffsetReset.latest(), topics=[partitions[0].topic])
    await members.stop_consuming(newest, group, member)
    moved = await newest.reset_group_offsets(group, OffsetReset.latest(), partitions=partitions[:1])

    assert isinstance(committed[partitions[0]], NonEmptyGroup)
    assert isinstance(forgotten[partitions[0]], GroupSubscribedToTopic)
    assert moved == {partitions[0]: OffsetChange(None, 5)}
    assert (await described(newest, group)).type is GroupType.CONSUMER
