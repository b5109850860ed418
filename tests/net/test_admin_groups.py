"""`Admin` about groups: who is asked, again, and elsewhere."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from kafka_aio.admin import GroupDescription, GroupType, OffsetSpec
from kafka_aio.errors import (
    GroupAuthorizationFailed,
    GroupIdNotFound,
    KafkaError,
    KafkaTimeoutError,
    NonEmptyGroup,
    NotCoordinator,
    UnknownMemberId,
    UnsupportedVersion,
)
from kafka_aio.protocol.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse
from kafka_aio.protocol.messages.consumer_group import ConsumerGroupDescribeRequest
from kafka_aio.protocol.messages.groups import Coordinator as Found
from kafka_aio.protocol.messages.groups import (
    DeleteGroupsRequest,
    DescribeGroupsRequest,
    FindCoordinatorRequest,
    FindCoordinatorResponse,
    LeaveGroupRequest,
    ListGroupsRequest,
)
from kafka_aio.protocol.messages.offsets import (
    OffsetCommitRequest,
    OffsetDeleteRequest,
    OffsetFetchRequest,
)
from kafka_aio.types import OffsetAndMetadata, TopicPartition
from tests.net.admin_answers import all_is_well, in_turn
from tests.net.admin_group_answers import (
    commits_offsets,
    deletes_groups,
    deletes_offsets,
    describes_classic_groups,
    describes_groups,
    fetches_offsets,
    lists_groups,
    removes_members,
)
from tests.net.clusters import Scripted, admin_of, scripted
from tests.net.server import ALL_VERSIONS, Asked, Reaction, closes, falls_silent, says, until

A0, A1 = TopicPartition("a", 0), TopicPartition("a", 1)
LOADING, ABSENT, MOVED = 14, 15, 16
BRIEF = {"request_timeout_ms": 200, "default_api_timeout_ms": 700}
LATEST = OffsetSpec.latest()


def moves(script: Scripted, group: str, answer: Reaction) -> Reaction:
    """As if another node had taken the group over just before."""

    def react(asked: Asked) -> None:
        script.coordinators[group] = 2
        answer(asked)

    return react


async def test_what_an_old_coordinator_refuses_goes_to_the_new_one() -> None:
    async with scripted(2) as script, admin_of(script.bootstrap()) as admin:
        refuses = deletes_groups({"b": MOVED, "c": 68})
        script.brokers[1].reactions[DeleteGroupsRequest] = moves(script, "b", refuses)
        script.brokers[2].reactions[DeleteGroupsRequest] = deletes_groups()

        result = await admin.delete_groups(["a", "b", "c"])

        assert list(result) == ["a", "b", "c"]
        assert (result["a"], result["b"]) == (None, None)
        assert isinstance(result["c"], NonEmptyGroup)
        asked = [
            [each.message.groups_names for each in script.asked(DeleteGroupsRequest, node)]
            for node in (1, 2)
        ]
        assert asked == [[["a", "b", "c"]], [["b"]]]


@pytest.mark.parametrize("code", [LOADING, ABSENT, MOVED])
async def test_a_coordinator_that_is_not_ready_is_asked_again(code: int) -> None:
    async with scripted(1) as script, admin_of(script.bootstrap()) as admin:
        script.react(OffsetFetchRequest, in_turn(fetches_offsets({"g": code}), fetches_offsets()))
        script.react(
            OffsetCommitRequest, in_turn(commits_offsets({"a-1": code}), commits_offsets())
        )
        script.react(OffsetDeleteRequest, in_turn(deletes_offsets(code=code), deletes_offsets()))
        script.react(LeaveGroupRequest, in_turn(removes_members(code=code), removes_members()))
        script.react(
            ConsumerGroupDescribeRequest, in_turn(describes_groups({"g": code}), describes_groups())
        )

        fetched = await admin.list_group_offsets(["g"])
        committed = await admin.alter_group_offsets("g", {A0: 1, A1: 2})
        deleted = await admin.delete_group_offsets("g", [A0])
        removed = await admin.remove_members("g", member_ids=["m"])
        described = await admin.describe_groups(["g"])

        assert fetched == {"g": {TopicPartition("orders", 0): OffsetAndMetadata(5)}}
        assert committed == {A0: None, A1: None}
        assert deleted == {A0: None}
        assert removed == {"m": None}
        assert isinstance(described["g"], GroupDescription)
        commits = [
            [each.partition_index for topic in asked.message.topics for each in topic.partitions]
            for asked in script.asked(OffsetCommitRequest)
        ]
        assert commits == [[0, 1], [1]]


async def test_a_coordinator_that_is_gone_is_looked_for_anew() -> None:
    async with scripted(2) as script, admin_of(script.bootstrap()) as admin:
        script.brokers[1].reactions[OffsetFetchRequest] = moves(script, "g", closes)
        script.brokers[2].reactions[OffsetFetchRequest] = fetches_offsets()

        found = await admin.list_group_offsets(["g"])

        assert isinstance(found["g"], dict)
        assert len(script.asked(OffsetFetchRequest, 2)) == 1


async def test_groups_of_one_coordinator_are_asked_for_at_once_on_one_connection() -> None:
    async with scripted(2) as script, admin_of(script.bootstrap()) as admin:
        all_is_well(script)
        names = [f"g-{number}" for number in range(20)]
        script.coordinators = {name: 1 + at % 2 for at, name in enumerate(names)}

        found = await admin.describe_groups(names)

        assert list(found) == names
        assert [len(script.asked(ConsumerGroupDescribeRequest, node)) for node in (1, 2)] == [1, 1]
        assert sum(len(broker.peers) for broker in script.brokers.values()) <= 3
        first, second = (found[name] for name in names[:2])
        assert isinstance(first, GroupDescription)
        assert isinstance(second, GroupDescription)
        assert first.coordinator is not None
        assert second.coordinator is not None
        assert (first.coordinator.id, second.coordinator.id) == (1, 2)


async def test_a_group_that_we_may_not_see_is_an_error_beside_others() -> None:
    async with scripted(1) as script, admin_of(script.bootstrap()) as admin:
        all_is_well(script)

        def find(asked: Asked) -> None:
            (key,) = asked.message.coordinator_keys
            if key != "secret":
                script.find(asked)
                return
            refused = Found(
                key=key, node_id=-1, host="", port=-1, error_code=30, error_message=None
            )
            asked.answer(FindCoordinatorResponse(coordinators=[refused]))

        script.react(FindCoordinatorRequest, find)

        found = await admin.describe_groups(["secret", "g"])
        alone = await admin.describe_groups(["secret"])

        assert isinstance(found["secret"], GroupAuthorizationFailed)
        assert isinstance(alone["secret"], GroupAuthorizationFailed)
        assert isinstance(found["g"], GroupDescription)


async def test_a_coordinator_that_was_not_found_leaves_no_doubt_about_a_change() -> None:
    async with scripted(1) as script, admin_of(script.bootstrap(), **BRIEF) as admin:
        all_is_well(script)
        script.react(FindCoordinatorRequest, falls_silent)

        with pytest.raises(KafkaTimeoutError) as raised:
            await admin.delete_groups(["g"])

        assert not raised.value.indefinite
        assert len(script.asked(FindCoordinatorRequest)) > 1
        assert not script.asked(DeleteGroupsRequest)


async def test_of_two_coordinators_one_that_falls_silent_is_an_error_beside_the_other() -> None:
    async with scripted(2) as script, admin_of(script.bootstrap(), **BRIEF) as admin:
        script.coordinators = {"a": 1, "b": 2}
        script.brokers[1].reactions[DeleteGroupsRequest] = deletes_groups()
        script.brokers[2].reactions[DeleteGroupsRequest] = falls_silent

        result = await admin.delete_groups(["a", "b"])

        assert result["a"] is None
        lost = result["b"]
        assert isinstance(lost, KafkaTimeoutError)
        assert lost.indefinite
        assert "look before you repeat it" in str(lost)
        assert len(script.asked(DeleteGroupsRequest, 2)) == 1


async def test_a_refusal_that_does_not_end_ends_with_the_time() -> None:
    async with scripted(1) as script, admin_of(script.bootstrap()) as admin:
        script.react(DeleteGroupsRequest, deletes_groups({"g": MOVED}))

        with pytest.raises(KafkaTimeoutError) as raised:
            await admin.delete_groups(["g"], timeout=0.5)

        attempts = len(script.asked(DeleteGroupsRequest))
        assert attempts > 2
        assert str(raised.value).startswith(
            f"delete_groups: not done in time, after {attempts} attempts; the last: group 'g': "
        )
        assert isinstance(raised.value.__cause__, NotCoordinator)
        assert len(script.asked(FindCoordinatorRequest)) >= attempts


# Lists and descriptions.


async def test_all_nodes_are_asked_for_their_groups() -> None:
    async with scripted(3) as script, admin_of(script.bootstrap()) as admin:
        all_is_well(script)
        for node, broker in script.brokers.items():
            broker.reactions[ListGroupsRequest] = lists_groups(f"of-{node}")

        found = await admin.list_groups(states=["empty"], types=[GroupType.CLASSIC])

        assert [(group.group_id, group.coordinator) for group in found.groups] == [
            ("of-1", 1),
            ("of-2", 2),
            ("of-3", 3),
        ]
        assert found.errors == {}
        for asked in script.asked(ListGroupsRequest):
            assert asked.message.states_filter == ["Empty"]
            assert asked.message.types_filter == ["Classic"]


async def test_a_node_that_cannot_be_asked_for_its_groups_is_told() -> None:
    async with scripted(3) as script, admin_of(script.bootstrap(), **BRIEF) as admin:
        all_is_well(script)
        script.brokers[2].reactions[ListGroupsRequest] = falls_silent
        script.brokers[3].reactions[ListGroupsRequest] = lists_groups(code=30)

        found = await admin.list_groups()

        assert [group.group_id for group in found.groups] == ["billing"]
        assert isinstance(found.errors[2], KafkaTimeoutError)
        assert isinstance(found.errors[3], GroupAuthorizationFailed)
        assert "list_groups: node 3" in str(found.errors[3])


async def test_a_node_that_is_loading_its_groups_is_asked_again() -> None:
    async with scripted(1) as script, admin_of(script.bootstrap()) as admin:
        all_is_well(script)
        script.react(ListGroupsRequest, in_turn(lists_groups(code=LOADING), lists_groups("g")))

        found = await admin.list_groups()

        assert [group.group_id for group in found.groups] == ["g"]


async def test_groups_that_no_node_tells_are_an_error() -> None:
    async with scripted(2) as script, admin_of(script.bootstrap(), **BRIEF) as admin:
        all_is_well(script)
        script.react(ListGroupsRequest, falls_silent)

        with pytest.raises(KafkaTimeoutError, match="list_groups: not done in time"):
            await admin.list_groups()


async def test_what_is_not_of_the_consumer_protocol_is_asked_for_as_a_classic_group() -> None:
    async with scripted(1) as script, admin_of(script.bootstrap()) as admin:
        script.react(
            ConsumerGroupDescribeRequest, describes_groups({"old": 69, "older": 35, "none": 69})
        )
        script.react(DescribeGroupsRequest, describes_classic_groups({"none": 69}))

        found = await admin.describe_groups(["new", "old", "older", "none"])

        assert list(found) == ["new", "old", "older", "none"]
        types = [each.type for each in found.values() if isinstance(each, GroupDescription)]
        assert types == [GroupType.CONSUMER, GroupType.CLASSIC, GroupType.CLASSIC]
        assert isinstance(found["none"], GroupIdNotFound)
        (asked,) = script.asked(DescribeGroupsRequest)
        assert asked.message.groups == ["old", "older", "none"]


async def test_a_broker_that_does_not_know_the_consumer_protocol_is_asked_as_of_old() -> None:
    async with scripted(1) as script:
        all_is_well(script)
        old = [each for each in ALL_VERSIONS if each.api_key != 69]
        script.react(ApiVersionsRequest, says(ApiVersionsResponse(error_code=0, api_keys=old)))
        async with admin_of(script.bootstrap()) as admin:
            found = await admin.describe_groups(["g"])

        assert isinstance(found["g"], GroupDescription)
        assert found["g"].type is GroupType.CLASSIC
        assert not script.asked(ConsumerGroupDescribeRequest)


async def test_an_error_that_is_not_about_the_protocol_is_not_asked_again() -> None:
    async with scripted(1) as script, admin_of(script.bootstrap()) as admin:
        script.react(ConsumerGroupDescribeRequest, describes_groups({"g": 30}))

        found = await admin.describe_groups(["g"])

        assert isinstance(found["g"], GroupAuthorizationFailed)
        assert not script.asked(DescribeGroupsRequest)


async def test_each_member_that_is_removed_has_its_outcome() -> None:
    async with scripted(1) as script, admin_of(script.bootstrap()) as admin:
        script.react(LeaveGroupRequest, removes_members({"i-2": 25}))

        result = await admin.remove_members(
            "g", instance_ids=["i-1", "i-2"], member_ids=["m"], reason="tests"
        )

        assert (result["i-1"], result["m"]) == (None, None)
        assert isinstance(result["i-2"], UnknownMemberId)
        (asked,) = script.asked(LeaveGroupRequest)
        assert {each.reason for each in asked.message.members} == {
            "member was removed by an admin: tests"
        }


@pytest.mark.parametrize("given", [{}, {"everyone": True, "member_ids": ["m"]}])
async def test_who_is_to_be_removed_must_be_said(given: Any) -> None:
    async with scripted(1) as script, admin_of(script.bootstrap()) as admin:
        with pytest.raises(ValueError, match="give ids of members, or everyone=True"):
            await admin.remove_members("g", **given)


# Arguments.


async def test_nothing_is_asked_about_nothing() -> None:
    async with scripted(1) as script, admin_of(script.bootstrap()) as admin:
        before = len(script.brokers[1].seen)

        results: list[object] = [
            await admin.describe_groups([]),
            await admin.delete_groups([]),
            await admin.list_group_offsets([]),
            await admin.alter_group_offsets("g", {}),
            await admin.delete_group_offsets("g", []),
            await admin.list_offsets({}),
            await admin.delete_records({}),
        ]

        assert results == [{}] * 7
        assert len(script.brokers[1].seen) == before


WRONG: list[tuple[str, tuple[Any, ...], str]] = [
    ("describe_groups", ("g",), "describe_groups takes a list of str, not one str"),
    ("delete_groups", ([1],), "each item of delete_groups must be str, not int"),
    ("list_group_offsets", ("g",), "list_group_offsets takes a list of str, not one str"),
    ("list_group_offsets", (["g"], A0), "list_group_offsets takes a list of TopicPartition, not"),
    ("alter_group_offsets", (["g"], {A0: 1}), "a group is named by its id, a str, not list"),
    ("alter_group_offsets", ("g", [A0]), "alter_group_offsets takes a dict: an offset for each"),
    ("alter_group_offsets", ("g", {"a": 1}), "each item of alter_group_offsets must be TopicPart"),
    ("delete_group_offsets", ("g", A0), "delete_group_offsets takes a list of TopicPartition"),
    ("delete_group_offsets", (1, [A0]), "a group is named by its id, a str, not int"),
    ("reset_group_offsets", ("g", "earliest"), "reset_group_offsets takes an OffsetReset, as Off"),
    ("remove_members", (["g"],), "a group is named by its id, a str, not list"),
    ("list_offsets", ([A0],), "list_offsets takes a dict: an OffsetSpec for each partition"),
    ("list_offsets", ({A0: -1},), "each item of list_offsets must be OffsetSpec, not int"),
    ("list_offsets", ({"a": LATEST},), "each item of list_offsets must be TopicPartition, not str"),
    ("delete_records", ([A0],), "delete_records takes a dict: an offset for each partition"),
    ("delete_records", ({A0: "1"},), "delete_records: the offset of a-0 must be int, not str"),
]


@pytest.mark.parametrize(("call", "given", "text"), WRONG)
async def test_arguments_of_the_wrong_type_are_named(
    call: str, given: tuple[Any, ...], text: str
) -> None:
    async with scripted(1) as script, admin_of(script.bootstrap()) as admin:
        before = len(script.brokers[1].seen)

        with pytest.raises(TypeError) as raised:
            await getattr(admin, call)(*given)

        assert str(raised.value).startswith(text)
        assert len(script.brokers[1].seen) == before


async def test_numbers_that_are_no_offsets_are_refused() -> None:
    wrong: Any = "read_everything"
    async with scripted(1) as script, admin_of(script.bootstrap()) as admin:
        with pytest.raises(ValueError, match="an offset to commit is 0 or more, not -1"):
            await admin.alter_group_offsets("g", {A0: -1})
        with pytest.raises(ValueError, match="the offset of a-0 is from -1 to"):
            await admin.delete_records({A0: -2})
        with pytest.raises(ValueError, match="isolation_level is 'read_uncommitted' or"):
            await admin.list_offsets({A0: LATEST}, isolation_level=wrong)


async def test_a_broker_without_a_call_says_so() -> None:
    async with scripted(1) as script:
        old = [each for each in ALL_VERSIONS if each.api_key != 47]
        script.react(ApiVersionsRequest, says(ApiVersionsResponse(error_code=0, api_keys=old)))
        async with admin_of(script.bootstrap()) as admin:
            with pytest.raises(UnsupportedVersion, match="OffsetDelete"):
                await admin.delete_group_offsets("g", [A0])


async def test_closing_ends_a_call_that_is_under_way() -> None:
    async with scripted(1) as script, admin_of(script.bootstrap()) as admin:
        script.react(OffsetFetchRequest, falls_silent)
        call = asyncio.create_task(admin.list_group_offsets(["g"]))
        await until(lambda: bool(script.asked(OffsetFetchRequest)))

        await admin.aclose()

        with pytest.raises(KafkaError):
            await call
