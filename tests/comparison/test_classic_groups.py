"""Classic groups: members join, sync, beat and leave; groups are described, listed, deleted."""

from __future__ import annotations

import pytest

from kafka_aio.protocol.messages.groups import (
    DeleteGroupsRequest,
    DescribeGroupsRequest,
    HeartbeatRequest,
    JoinGroupRequest,
    JoinGroupRequestProtocol,
    JoinGroupResponse,
    LeaveGroupRequest,
    ListGroupsRequest,
    MemberIdentity,
    SyncGroupRequest,
    SyncGroupRequestAssignment,
)
from tests.comparison.sides import Both, Side

LAST = 9


def joins(
    group: str,
    member: str = "",
    *protocols: str,
    instance: str | None = None,
    timeout: int = 30_000,
    kind: str = "consumer",
) -> JoinGroupRequest:
    return JoinGroupRequest(
        group_id=group,
        session_timeout_ms=timeout,
        rebalance_timeout_ms=30_000,
        member_id=member,
        group_instance_id=instance,
        protocol_type=kind,
        protocols=[
            JoinGroupRequestProtocol(name=name, metadata=name.encode())
            for name in protocols or ("range",)
        ],
    )


def syncs(
    group: str,
    joined: JoinGroupResponse,
    *,
    member: str | None = None,
    generation: int | None = None,
    instance: str | None = None,
    kind: str | None = "consumer",
    protocol: str | None = "range",
    assigned: bool = True,
) -> SyncGroupRequest:
    given = SyncGroupRequestAssignment(member_id=joined.member_id, assignment=b"assigned")
    return SyncGroupRequest(
        group_id=group,
        generation_id=joined.generation_id if generation is None else generation,
        member_id=joined.member_id if member is None else member,
        group_instance_id=instance,
        protocol_type=kind,
        protocol_name=protocol,
        assignments=[given] if assigned else [],
    )


def beats(
    group: str, generation: int, member: str, instance: str | None = None
) -> HeartbeatRequest:
    return HeartbeatRequest(
        group_id=group, generation_id=generation, member_id=member, group_instance_id=instance
    )


def leaves(group: str, *members: tuple[str, str | None]) -> LeaveGroupRequest:
    return LeaveGroupRequest(
        group_id=group,
        members=[MemberIdentity(member_id=m, group_instance_id=i) for m, i in members],
    )


def joined(side: Side, group: str, version: int = LAST, by: str = "one") -> JoinGroupResponse:
    """Join as a new member does, in two steps where the version wants them."""
    answer = side.ask(joins(group), version, by=by)
    if answer.error_code == 79:
        answer = side.ask(joins(group, answer.member_id), version, by=by)
    return answer


def stable(side: Side, group: str) -> JoinGroupResponse:
    """The one member of a group that has its assignment."""
    side.coordinated(group)
    answer = joined(side, group)
    side.ask(syncs(group, answer))
    return answer


@pytest.mark.parametrize("version", range(LAST + 1))
def test_a_member_comes_and_goes(both: Both, version: int) -> None:
    group = both.name("group")
    for side in both:
        side.coordinated(group)
        answer = joined(side, group, version)
        side.ask_in_each_version(syncs(group, answer))
        side.ask_in_each_version(beats(group, answer.generation_id, answer.member_id))
        side.ask_in_each_version(DescribeGroupsRequest(groups=[group]))
        side.ask(leaves(group, (answer.member_id, None)))
        side.ask_in_each_version(DescribeGroupsRequest(groups=[group]))

    both.agree()


def test_a_second_member(both: Both) -> None:
    group = both.name("group")
    for side in both:
        one = stable(side, group)
        named = side.ask(joins(group), by="two").member_id
        second = side.begin(joins(group, named), by="two")
        side.until(lambda answer: answer.error_code == 27, beats(group, 1, one.member_id))
        side.ask(beats(group, 1, one.member_id))
        again = side.ask(joins(group, one.member_id))
        two = second.result()
        follower = side.begin(syncs(group, two, assigned=False), by="two")
        side.ask(syncs(group, again))
        follower.result()
        side.ask(beats(group, 2, two.member_id), by="two")
        side.ask(leaves(group, (two.member_id, None)))
        side.ask(beats(group, 2, one.member_id))

    both.agree()


def test_members_with_an_instance(both: Both) -> None:
    group = both.name("group")
    for side in both:
        side.coordinated(group)
        one = side.ask(joins(group, instance="i"))
        side.ask(syncs(group, one, instance="i"))
        side.ask(beats(group, 1, one.member_id, "i"))
        side.ask(beats(group, 1, one.member_id, "other"))
        two = side.ask(joins(group, instance="i"), by="two")
        side.ask(beats(group, 1, one.member_id, "i"))
        side.ask(syncs(group, one, instance="i"))
        side.ask(joins(group, one.member_id, instance="i"))
        side.ask(beats(group, 1, two.member_id, "i"))
        side.ask(DescribeGroupsRequest(groups=[group]))
        side.ask(leaves(group, ("", "i"), ("", "unknown"), (one.member_id, "i")))

    both.agree()


@pytest.mark.parametrize("timeout", [0, 999, 1_000, 1_800_000, 1_800_001, -1])
def test_session_timeouts(both: Both, timeout: int) -> None:
    group = both.name("group")
    for side in both:
        side.coordinated(group)
        side.ask_in_versions(joins(group, timeout=timeout), 4, LAST)

    both.agree()


@pytest.mark.parametrize("version", [3, 9])
def test_a_group_without_a_name(both: Both, version: int) -> None:
    for side in both:
        side.coordinated("some")
        side.ask(joins(""), version)
        side.ask_in_each_version(beats("", 1, "m"))
        side.ask_in_each_version(DescribeGroupsRequest(groups=[""]))
        side.ask_in_each_version(DeleteGroupsRequest(groups_names=[""]))
        side.ask_in_versions(leaves("", ("m", None)), 3, 5)

    both.agree()


def test_members_and_groups_that_do_not_exist(both: Both) -> None:
    group = both.name("group")
    for side in both:
        side.coordinated(group)
        side.ask_in_each_version(joins(group, "unknown"))
        side.ask_in_each_version(beats(group, 1, "unknown"))
        side.ask_in_versions(leaves(group, ("unknown", None), ("", "i")), 3, 5)
        side.ask_in_versions(LeaveGroupRequest(group_id=group, member_id="unknown"), 0, 2)
        side.ask_in_each_version(DescribeGroupsRequest(groups=[group, "other"]))
        side.ask_in_each_version(DeleteGroupsRequest(groups_names=[group]))

    both.agree()


@pytest.mark.parametrize("generation", [0, 1, 2, -1])
@pytest.mark.parametrize("is_known", [True, False])
def test_generations_and_members(both: Both, generation: int, is_known: bool) -> None:
    group = both.name("group")
    for side in both:
        one = stable(side, group)
        member = one.member_id if is_known else "unknown"
        side.ask_in_each_version(beats(group, generation, member))
        side.ask_in_each_version(syncs(group, one, member=member, generation=generation))

    both.agree()


@pytest.mark.parametrize(
    ("kind", "protocol"),
    [("other", "range"), ("consumer", "other"), (None, None), ("consumer", None)],
)
def test_a_sync_of_another_protocol(both: Both, kind: str | None, protocol: str | None) -> None:
    group = both.name("group")
    for side in both:
        one = stable(side, group)
        side.ask_in_each_version(syncs(group, one, kind=kind, protocol=protocol))

    both.agree()


def test_members_that_cannot_agree(both: Both) -> None:
    group = both.name("group")
    for side in both:
        stable(side, group)
        side.ask_in_versions(joins(group, "", "other"), 4, LAST)
        side.ask_in_versions(joins(group, kind="connect"), 4, LAST)
        side.ask_in_versions(joins(group, kind=""), 4, LAST)

    both.agree()


def test_a_member_that_knows_no_protocol(both: Both) -> None:
    group = both.name("group")
    for side in both:
        side.coordinated(group)
        nothing = JoinGroupRequest(
            group_id=group,
            session_timeout_ms=30_000,
            member_id="",
            protocol_type="consumer",
            protocols=[],
        )
        side.ask_in_each_version(nothing)

    both.agree()


def test_a_group_is_deleted(both: Both) -> None:
    group = both.name("group")
    for side in both:
        one = stable(side, group)
        side.ask_in_each_version(DeleteGroupsRequest(groups_names=[group, both.name("other")]))
        side.ask(leaves(group, (one.member_id, None)))
        side.ask(DeleteGroupsRequest(groups_names=[group, group]))
        side.ask(DescribeGroupsRequest(groups=[group]))

    both.agree()


@pytest.mark.parametrize("operations", [False, True])
def test_what_one_may_do_with_a_group(both: Both, operations: bool) -> None:
    group = both.name("group")
    for side in both:
        stable(side, group)
        side.ask_in_each_version(
            DescribeGroupsRequest(groups=[group], include_authorized_operations=operations)
        )

    both.agree()


@pytest.mark.parametrize("states", [[], ["Stable"], ["stable"], ["Empty"], ["Unheard"]], ids=str)
def test_groups_are_listed(both: Both, states: list[str]) -> None:
    group = both.name("group")
    for side in both:
        stable(side, group)
        for types in ([], ["classic"], ["Classic"], ["consumer"], ["odd"]):
            for version in range(5 if types else 4 if states else 0, 6):
                asked = ListGroupsRequest(states_filter=states, types_filter=types)
                answer = side.quietly(asked, version)
                side.keep("error", answer.error_code)
                # Those of other cases are there too.
                side.keep("listed", [each for each in answer.groups if each.group_id == group])

    both.agree()
