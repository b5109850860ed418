import pytest

from kafka_aio.errors import GroupIdNotFound, NonEmptyGroup, NotCoordinator
from kafka_aio.protocol.messages.groups import (
    DeleteGroupsRequest,
    DescribedGroup,
    DescribedGroupMember,
    DescribeGroupsRequest,
    ListedGroup,
    ListGroupsRequest,
)
from tests.unit.broker.clusters import call, made
from tests.unit.broker.groups.classic import RANGE, completing, join, leave, new_id, stable

ALL = 0b1101_0100_1000
"""Read 3, delete 6, describe 8, describe configs 10, alter configs 11."""


# List


@pytest.mark.parametrize("version", range(6))
def test_groups_are_listed_with_what_the_version_knows(version: int) -> None:
    state = made()
    stable(state)
    state.groups.classic("lone", create=True)

    answer = call(state, ListGroupsRequest(), version=version)

    assert answer.error_code == 0
    assert answer.groups == [
        ListedGroup(
            group_id=group,
            protocol_type=protocol_type,
            group_state=group_state if version >= 4 else "",
            group_type="classic" if version >= 5 else "",
        )
        for group, protocol_type, group_state in (
            ("g", "consumer", "Stable"),
            ("lone", "", "Empty"),
        )
    ]


@pytest.mark.parametrize(
    ("states", "types", "found"),
    [
        (["Stable"], [], ["g"]),
        (["stable"], [], ["g"]),
        ([" STABLE "], [], ["g"]),
        (["Empty"], [], ["lone", "modern"]),
        (["Empty", "Stable"], [], ["g", "lone", "modern"]),
        (["Dead"], [], []),
        (["nonsense"], [], []),
        ([], ["classic"], ["g", "lone"]),
        ([], ["Classic"], ["g", "lone"]),
        ([], ["CONSUMER"], ["modern"]),
        ([], ["share"], []),
        ([], [" classic"], []),
        (["Empty"], ["classic"], ["lone"]),
    ],
)
def test_groups_are_listed_by_state_and_type(
    states: list[str], types: list[str], found: list[str]
) -> None:
    state = made()
    stable(state)
    state.groups.classic("lone", create=True)
    state.groups.consumer("modern", create=True)

    answer = call(state, ListGroupsRequest(states_filter=states, types_filter=types))

    assert [group.group_id for group in answer.groups] == found


def test_each_node_lists_the_groups_that_it_coordinates() -> None:
    state = made(nodes=2, offsets_topic_num_partitions=50)
    for group in ("a", "b", "c", "d"):
        state.groups.classic(group, create=True)

    lists = [
        [group.group_id for group in call(state, ListGroupsRequest(), node=node).groups]
        for node in (1, 2)
    ]

    assert sorted(lists[0] + lists[1]) == ["a", "b", "c", "d"]
    assert all(lists)


# Describe


@pytest.mark.parametrize("version", range(7))
def test_a_stable_group_is_described_with_what_its_members_want_and_have(version: int) -> None:
    state = made()
    [first, static] = stable(state, instances=("s",))

    answer = call(state, DescribeGroupsRequest(groups=["g"]), version=version)

    assert answer.groups == [
        DescribedGroup(
            error_code=0,
            group_id="g",
            group_state="Stable",
            protocol_type="consumer",
            protocol_data="range",
            members=[
                DescribedGroupMember(
                    member_id=member,
                    group_instance_id=instance if version >= 4 else None,
                    client_id="tester",
                    client_host="/127.0.0.1",
                    member_metadata=RANGE["range"],
                    member_assignment=assignment,
                )
                for member, instance, assignment in (
                    (first, None, b"for 0"),
                    (static, "s", b"for 1"),
                )
            ],
        )
    ]


def test_what_members_want_is_not_told_during_a_rebalance() -> None:
    state = made()
    first, second = stable(state, 2)
    join(state, first)

    [group] = call(state, DescribeGroupsRequest(groups=["g"])).groups

    assert (group.group_state, group.protocol_data) == ("PreparingRebalance", "")
    assert [(each.member_id, each.member_metadata) for each in group.members] == [
        (first, b""),
        (second, b""),
    ]
    assert [each.member_assignment for each in group.members] == [b"for 0", b"for 1"]


def test_a_group_that_awaits_its_assignment_has_none() -> None:
    state = made()
    completing(state)

    [group] = call(state, DescribeGroupsRequest(groups=["g"])).groups

    assert group.group_state == "CompletingRebalance"
    assert group.members[0].member_assignment == b""


def test_an_empty_group_has_a_type_but_no_protocol() -> None:
    state = made()
    leave(state, *stable(state))

    [group] = call(state, DescribeGroupsRequest(groups=["g"])).groups

    assert (group.group_state, group.protocol_type, group.protocol_data) == (
        "Empty",
        "consumer",
        "",
    )
    assert group.members == []


def test_ids_that_were_only_given_out_are_no_members() -> None:
    state = made()
    new_id(state)

    [group] = call(state, DescribeGroupsRequest(groups=["g"])).groups

    assert (group.group_state, group.protocol_type, group.members) == ("Empty", "", [])


@pytest.mark.parametrize("version", range(7))
def test_a_group_that_is_not_there_is_dead(version: int) -> None:
    state = made()
    state.groups.consumer("modern", create=True)

    missing, other = call(
        state, DescribeGroupsRequest(groups=["g", "modern"]), version=version
    ).groups

    code = GroupIdNotFound.code if version >= 6 else 0
    assert (missing.error_code, other.error_code) == (code, code)
    assert missing.group_state == other.group_state == "Dead"
    assert missing.error_message == ("Group g not found." if version >= 6 else None)
    assert other.error_message == ("Group modern is not a classic group." if version >= 6 else None)


@pytest.mark.parametrize(
    ("version", "group", "operations"),
    [(3, "g", ALL), (6, "g", ALL), (5, "missing", ALL), (6, "missing", -(2**31))],
)
def test_what_one_may_do_with_a_group_is_told_on_demand(
    version: int, group: str, operations: int
) -> None:
    state = made()
    stable(state)

    asked = call(
        state,
        DescribeGroupsRequest(groups=[group], include_authorized_operations=True),
        version=version,
    )
    not_asked = call(state, DescribeGroupsRequest(groups=[group]), version=version)

    assert asked.groups[0].authorized_operations == operations
    assert not_asked.groups[0].authorized_operations == -(2**31)


def test_groups_are_described_by_their_coordinator_only() -> None:
    state = made(nodes=2)
    stable(state)
    other = 3 - state.groups.coordinator_of("g")

    [group] = call(state, DescribeGroupsRequest(groups=["g"]), node=other).groups

    assert (group.error_code, group.group_state) == (NotCoordinator.code, "")
    assert group.error_message is None


# Delete


@pytest.mark.parametrize("version", range(3))
def test_groups_without_members_are_deleted(version: int) -> None:
    state = made()
    stable(state)
    state.groups.classic("lone", create=True)
    state.groups.consumer("modern", create=True)
    names = ["g", "lone", "modern", "missing", "lone"]

    answer = call(state, DeleteGroupsRequest(groups_names=names), version=version)

    assert [(each.group_id, each.error_code) for each in answer.results] == [
        ("g", NonEmptyGroup.code),
        ("lone", 0),
        ("modern", 0),
        ("missing", GroupIdNotFound.code),
    ]
    assert list(state.groups.by_id) == ["g"]


def test_a_deleted_group_is_dead_and_forgets_the_ids_that_it_gave_out() -> None:
    state = made()
    new_id(state)
    group = state.groups.classic("g")

    call(state, DeleteGroupsRequest(groups_names=["g"]))

    assert group.state_name == "Dead"
    assert state.agenda.next_at >= 600


def test_groups_are_deleted_by_their_coordinator_only() -> None:
    state = made(nodes=2)
    state.groups.classic("g", create=True)
    other = 3 - state.groups.coordinator_of("g")

    answer = call(state, DeleteGroupsRequest(groups_names=["g"]), node=other)

    assert answer.results[0].error_code == NotCoordinator.code
    assert "g" in state.groups.by_id
