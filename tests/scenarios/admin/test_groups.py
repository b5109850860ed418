"""Groups as an admin sees them, on the embedded broker."""

from __future__ import annotations

import asyncio

from kafka_aio import GroupDescription, GroupState, GroupType
from kafka_aio.errors import (
    CoordinatorLoadInProgress,
    GroupAuthorizationFailed,
    GroupIdNotFound,
    KafkaConnectionError,
    KafkaTimeoutError,
    NonEmptyGroup,
    UnknownMemberId,
)
from tests.kafka import members
from tests.scenarios.admin.world import GROUP, T0, T1, T2, cluster, on_virtual_time, settled
from tests.scenarios.consumer.world import consumer_of, read


@on_virtual_time
async def test_groups_of_both_protocols_are_described() -> None:
    async with cluster() as (_, admin):
        old = await members.join(admin, "old", [T2, T0], instance="i")
        new = await members.consume(admin, "new", "t", rack="r")

        found = await admin.describe_groups(["new", "old", "none"], authorized_operations=True)

        modern, classic = found["new"], found["old"]
        assert isinstance(modern, GroupDescription)
        assert isinstance(classic, GroupDescription)
        assert isinstance(found["none"], GroupIdNotFound)
        assert (modern.type, classic.type) == (GroupType.CONSUMER, GroupType.CLASSIC)
        assert modern.state is classic.state is GroupState.STABLE
        assert (modern.assignor, classic.assignor) == ("uniform", "range")
        assert modern.coordinator == classic.coordinator
        assert modern.coordinator is not None
        assert modern.authorized_operations == classic.authorized_operations
        assert classic.authorized_operations
        (member,) = modern.members
        assert (member.member_id, member.epoch, member.rack) == (new.id, new.epoch, "r")
        assert member.assignment == member.target_assignment == (T0, T1, T2)
        assert member.subscribed_topics == ("t",)
        (member,) = classic.members
        assert (member.member_id, member.instance_id) == (old.id, "i")
        assert member.assignment == (T0, T2)


@on_virtual_time
async def test_what_consumers_of_ours_have_is_told() -> None:
    async with cluster() as (broker, admin):
        broker.produce("t", [b"one"], partition=0)
        options = {"group_id": GROUP, "client_id": "reader"}
        async with consumer_of(broker, "t", **options) as consumer:
            await read(consumer, 1)
            found = (await admin.describe_groups([GROUP]))[GROUP]
            refused = await admin.delete_groups([GROUP])
        left = (await admin.describe_groups([GROUP]))[GROUP]

        assert isinstance(found, GroupDescription)
        (member,) = found.members
        assert (member.client_id, member.assignment) == ("reader", (T0, T1, T2))
        assert isinstance(refused[GROUP], NonEmptyGroup)
        assert isinstance(left, GroupDescription)
        assert left.state is GroupState.EMPTY


@on_virtual_time
async def test_groups_of_all_nodes_are_listed_and_of_a_stopped_one_after_they_have_moved() -> None:
    async with cluster(nodes=3) as (broker, admin):
        names = [f"g-{number:02}" for number in range(12)]
        for name in names:
            await admin.alter_group_offsets(name, {T0: 1})
        await members.join(admin, "active", [T0])

        before = await admin.list_groups()
        empty = await admin.list_groups(states=["empty"])
        classic = await admin.list_groups(states=[GroupState.STABLE], types=["consumer"])
        await broker.stop_node(2)
        after = await admin.list_groups()

        assert [group.group_id for group in before.groups] == ["active", *names]
        assert len({group.coordinator for group in before.groups}) == 3
        assert [group.group_id for group in empty.groups] == names
        assert classic.groups == ()
        assert [group.group_id for group in after.groups] == ["active", *names]
        assert {group.coordinator for group in after.groups} == {1, 3}


@on_virtual_time
async def test_a_node_that_does_not_tell_its_groups_is_named() -> None:
    async with cluster(nodes=3) as (broker, admin):
        for number in range(12):
            await admin.alter_group_offsets(f"g-{number}", {T0: 1})
        broker.faults.fail("ListGroups", GroupAuthorizationFailed, node=2)

        found = await admin.list_groups()

        assert list(found.errors) == [2]
        assert isinstance(found.errors[2], GroupAuthorizationFailed)
        assert {group.coordinator for group in found.groups} == {1, 3}


@on_virtual_time
async def test_a_coordinator_that_moves_is_followed_by_every_call() -> None:
    async with cluster(nodes=3) as (broker, admin):
        loop = asyncio.get_running_loop()
        began_at = loop.time()
        nodes = []
        for node in (1, 2, 3, 1):
            await admin.alter_group_offsets(GROUP, {T0: node})
            broker.move_coordinator(GROUP, node)

            offsets = await admin.list_group_offsets([GROUP])
            found = (await admin.describe_groups([GROUP]))[GROUP]

            assert isinstance(offsets[GROUP], dict)
            assert isinstance(found, GroupDescription)
            assert found.coordinator is not None
            nodes.append(found.coordinator.id)
        broker.move_coordinator(GROUP, 2)
        await admin.delete_group_offsets(GROUP, [T0])
        broker.move_coordinator(GROUP, 3)
        deleted = await admin.delete_groups([GROUP])

        assert nodes == [1, 2, 3, 1]
        assert deleted == {GROUP: None}
        assert loop.time() - began_at < 5


@on_virtual_time
async def test_a_coordinator_whose_node_stops_is_found_on_another() -> None:
    async with cluster(nodes=3) as (broker, admin):
        await admin.alter_group_offsets(GROUP, {T0: 5})
        found = (await admin.describe_groups([GROUP]))[GROUP]
        assert isinstance(found, GroupDescription)
        assert found.coordinator is not None

        await broker.stop_node(found.coordinator.id)
        offsets = (await admin.list_group_offsets([GROUP]))[GROUP]
        deleted = await admin.delete_groups([GROUP])

        assert isinstance(offsets, dict)
        assert list(offsets) == [T0]
        assert deleted == {GROUP: None}


@on_virtual_time
async def test_a_coordinator_that_loads_for_long_is_waited_for_as_long_as_there_is_time() -> None:
    async with cluster() as (broker, admin):
        await admin.alter_group_offsets(GROUP, {T0: 5})
        fault = broker.faults.fail("DeleteGroups", CoordinatorLoadInProgress)
        loop = asyncio.get_running_loop()

        waiting = asyncio.create_task(admin.delete_groups([GROUP]))
        await asyncio.sleep(20)
        fault.remove()
        patient = await waiting
        broker.faults.fail("DeleteGroups", CoordinatorLoadInProgress)
        began_at = loop.time()
        hasty = await settled(admin.delete_groups([GROUP], timeout=3))

        assert patient == {GROUP: None}
        assert isinstance(hasty, KafkaTimeoutError)
        assert isinstance(hasty.__cause__, CoordinatorLoadInProgress)
        assert 2 < loop.time() - began_at <= 3


@on_virtual_time
async def test_a_deletion_of_which_the_answer_is_lost_is_told_as_that() -> None:
    async with cluster() as (broker, admin):
        await admin.alter_group_offsets(GROUP, {T0: 5})
        broker.faults.disconnect("DeleteGroups", when="after", times=1)

        error = await settled(admin.delete_groups([GROUP]))
        again = await admin.delete_groups([GROUP])

        assert isinstance(error, KafkaConnectionError)
        assert error.indefinite
        assert isinstance(again[GROUP], GroupIdNotFound)


@on_virtual_time
async def test_members_are_made_to_leave() -> None:
    async with cluster() as (broker, admin):
        await members.join(admin, GROUP, [T0], instance="i")
        dynamic = await members.join(admin, "other", [T1])

        static = await admin.remove_members(GROUP, instance_ids=["i", "j"])
        other = await admin.remove_members("other", member_ids=[dynamic.id], reason="tests")

        assert static["i"] is None
        assert isinstance(static["j"], UnknownMemberId)
        assert other == {dynamic.id: None}
        assert broker.group(GROUP).state == broker.group("other").state == "Empty"


@on_virtual_time
async def test_everyone_is_made_to_leave() -> None:
    async with cluster() as (broker, admin):
        await members.join(admin, GROUP, [T0], instance="i")
        dynamic = await members.join(admin, "other", [T1])

        static = await admin.remove_members(GROUP, everyone=True)
        other = await admin.remove_members("other", everyone=True)
        nobody = await admin.remove_members(GROUP, everyone=True)
        missing = await settled(admin.remove_members("none", everyone=True))

        assert (static, other, nobody) == ({"i": None}, {dynamic.id: None}, {})
        assert isinstance(missing, GroupIdNotFound)
        assert broker.group(GROUP).state == broker.group("other").state == "Empty"


@on_virtual_time
async def test_members_of_the_consumer_protocol_are_made_to_leave() -> None:
    async with cluster() as (broker, admin):
        await members.consume(admin, GROUP, "t", instance="i")
        dynamic = await members.consume(admin, "other", "t")

        static = await admin.remove_members(GROUP, everyone=True)
        other = await admin.remove_members("other", everyone=True)

        assert (static, other) == ({"i": None}, {dynamic.id: None})
        assert broker.group(GROUP).state == broker.group("other").state == "Empty"
