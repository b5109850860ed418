"""SyncGroup, heartbeats, sessions, and members that leave."""

from typing import Any

import pytest

from kafka_aio.broker.groups.classic_membership import TRANSITIONS, Phase
from kafka_aio.broker.state import State
from kafka_aio.errors import (
    BrokerError,
    IllegalGeneration,
    InconsistentGroupProtocol,
    InvalidGroupId,
    NotCoordinator,
    RebalanceInProgress,
    UnknownMemberId,
)
from kafka_aio.protocol.messages.groups import (
    HeartbeatRequest,
    LeaveGroupRequest,
    LeaveGroupResponse,
    MemberIdentity,
    SyncGroupRequest,
)
from kafka_aio.protocol.schema import Request
from tests.unit.broker.clusters import answer_to, call, made, pass_time, send
from tests.unit.broker.groups.classic import (
    completing,
    heartbeat,
    join,
    leave,
    membership,
    new_id,
    stable,
    sync,
)

# Sync


def test_followers_wait_for_the_leaders_assignment() -> None:
    state = made()
    first, second = completing(state, 2)
    follower = sync(state, second, 1)
    assert answer_to(state, follower) is None

    leader = sync(state, first, 1, {first: b"a", second: b"b"})

    answer = answer_to(state, leader)
    assert (answer.protocol_type, answer.protocol_name) == ("consumer", "range")
    assert answer.assignment == b"a"
    assert answer_to(state, follower).assignment == b"b"
    assert membership(state).phase is Phase.STABLE


def test_an_assignment_stays_through_the_first_round_and_is_void_if_the_second_one_fails() -> None:
    state = made()
    [first] = stable(state)
    join(state, first)
    assert membership(state).phase is Phase.COMPLETING
    assert membership(state).members.by_id[first].assignment == b"for 0"

    join(state, version=3)

    assert membership(state).members.by_id[first].assignment == b""


def test_what_a_follower_sends_as_an_assignment_is_ignored() -> None:
    state = made()
    _, second = completing(state, 2)

    follower = sync(state, second, 1, {second: b"mine"})

    assert answer_to(state, follower) is None
    assert membership(state).phase is Phase.COMPLETING


def test_whom_the_leader_forgets_gets_nothing_and_strangers_do_not_matter() -> None:
    state = made()
    first, second = completing(state, 2)
    sync(state, first, 1, {first: b"a", "stranger": b"b"})

    assert answer_to(state, sync(state, second, 1)).assignment == b""


def test_a_stable_group_repeats_its_assignment() -> None:
    state = made()
    _, second = stable(state, 2)

    assert answer_to(state, sync(state, second, 1)).assignment == b"for 1"


@pytest.mark.parametrize(
    ("wrong", "error"),
    [
        ({"member_id": "x"}, UnknownMemberId),
        ({"generation": 2}, IllegalGeneration),
        ({"generation": 0}, IllegalGeneration),
        ({"protocol_type": "connect"}, InconsistentGroupProtocol),
        ({"protocol": "sticky"}, InconsistentGroupProtocol),
        ({"protocol": None}, InconsistentGroupProtocol),
        ({"protocol_type": None}, InconsistentGroupProtocol),
    ],
)
def test_what_is_wrong_with_a_sync_is_said(wrong: dict[str, Any], error: type[BrokerError]) -> None:
    state = made()
    [first] = completing(state)

    answer = answer_to(state, sync(state, **{"member_id": first, "generation": 1, **wrong}))

    assert answer.error_code == error.code
    assert answer.assignment == b""
    assert answer.protocol_name is None


@pytest.mark.parametrize("version", range(5))
def test_older_versions_need_not_say_the_protocol(version: int) -> None:
    state = made()
    [first] = completing(state)

    answer = answer_to(state, sync(state, first, 1, {first: b"a"}, version=version))

    assert (answer.error_code, answer.assignment) == (0, b"a")


def test_during_a_rebalance_a_member_must_join_first() -> None:
    state = made()
    first, second = stable(state, 2)
    join(state, first)

    assert answer_to(state, sync(state, second, 1)).error_code == RebalanceInProgress.code


def test_who_does_not_sync_within_a_rebalance_timeout_is_out() -> None:
    state = made()
    first, second = completing(state, 2, rebalance=5.0, session=60.0)
    follower = sync(state, second, 1)
    pass_time(state, now=4.9)
    assert answer_to(state, follower) is None

    pass_time(state, now=5.0)

    assert answer_to(state, follower).error_code == RebalanceInProgress.code
    assert list(membership(state).members.by_id) == [second]
    assert heartbeat(state, first, 1, now=5.0) == UnknownMemberId.code


def test_a_follower_that_does_not_sync_is_out_of_a_stable_group_too() -> None:
    state = made()
    first, _ = completing(state, 2, rebalance=5.0, session=60.0)
    sync(state, first, 1, {first: b"a"})

    pass_time(state, now=5.0)

    assert list(membership(state).members.by_id) == [first]
    assert membership(state).phase is Phase.PREPARING


def test_a_group_of_which_nobody_syncs_is_empty() -> None:
    state = made()
    completing(state, 2, rebalance=5.0, session=60.0)

    pass_time(state, now=5.0)

    assert membership(state).phase is Phase.EMPTY
    assert membership(state).generation == 2


def test_a_member_that_syncs_twice_gets_an_answer_to_both_calls() -> None:
    state = made()
    first, second = completing(state, 2)
    older = sync(state, second, 1)

    newer = sync(state, second, 1)

    assert answer_to(state, older).error_code == RebalanceInProgress.code
    sync(state, first, 1, {second: b"b"})
    assert answer_to(state, newer).assignment == b"b"


# Heartbeats and sessions


def test_heartbeats_are_fine_as_soon_as_there_is_a_generation() -> None:
    state = made()
    [first] = completing(state)
    assert heartbeat(state, first, 1) == 0
    sync(state, first, 1, {})

    assert heartbeat(state, first, 1) == 0


@pytest.mark.parametrize(
    ("member", "generation", "error"),
    [("x", 1, UnknownMemberId), (None, 2, IllegalGeneration), (None, -1, IllegalGeneration)],
)
def test_what_is_wrong_with_a_heartbeat_is_said(
    member: str | None, generation: int, error: type[BrokerError]
) -> None:
    state = made()
    [first] = stable(state)

    assert heartbeat(state, member or first, generation) == error.code


def test_a_group_that_is_not_there_has_no_members() -> None:
    state = made()

    assert heartbeat(state, "x", 1) == UnknownMemberId.code
    assert answer_to(state, sync(state, "x", 1)).error_code == UnknownMemberId.code


@pytest.mark.parametrize(
    "request_",
    [
        HeartbeatRequest(group_id="", generation_id=1, member_id="x"),
        SyncGroupRequest(
            group_id="",
            generation_id=1,
            member_id="x",
            protocol_type="",
            protocol_name="",
            assignments=[],
        ),
        LeaveGroupRequest(group_id="", members=[MemberIdentity(member_id="x")]),
    ],
)
def test_members_must_name_their_group(
    request_: Request[Any],
) -> None:
    assert call(made(), request_).error_code == InvalidGroupId.code


def test_a_member_that_is_not_heard_of_is_out_when_its_session_is_over() -> None:
    state = made()
    first, second = stable(state, 2, session=5.0)
    pass_time(state, now=3.0)
    assert heartbeat(state, first, 1, now=3.0) == 0
    pass_time(state, now=4.9)
    assert heartbeat(state, first, 1, now=4.9) == 0

    pass_time(state, now=5.0)

    assert heartbeat(state, second, 1, now=5.0) == UnknownMemberId.code
    assert heartbeat(state, first, 1, now=5.0) == RebalanceInProgress.code
    assert answer_to(state, join(state, first, now=5.0)).generation_id == 2


def test_heartbeats_count_during_a_rebalance() -> None:
    state = made()
    first, second = stable(state, 2, session=5.0, rebalance=60.0)
    join(state, first, session=5.0, rebalance=60.0)
    for now in (4.0, 8.0, 12.0):
        pass_time(state, now=now)
        assert heartbeat(state, second, 1, now=now) == RebalanceInProgress.code

    pass_time(state, now=17.0)

    assert list(membership(state).members.by_id) == [first]


def test_a_rebalance_goes_on_when_the_one_that_it_waits_for_is_out() -> None:
    state = made()
    first, _ = stable(state, 2, session=5.0, rebalance=60.0)
    waiting = join(state, first, session=5.0, rebalance=60.0)

    pass_time(state, now=5.0)

    assert answer_to(state, waiting).generation_id == 2


def test_the_session_of_a_member_that_waited_begins_with_its_answer() -> None:
    state = made()
    first, second = completing(state, 2, session=5.0, rebalance=60.0)
    follower = sync(state, second, 1)
    pass_time(state, now=4.0)
    heartbeat(state, first, 1, now=4.0)
    pass_time(state, now=8.0)  # longer than its session
    sync(state, first, 1, {}, now=8.0)
    assert answer_to(state, follower).error_code == 0

    pass_time(state, now=12.9)
    assert list(membership(state).members.by_id) == [first, second]
    pass_time(state, now=13.0)
    assert membership(state).phase is Phase.EMPTY


def test_a_leader_that_dies_before_it_assigns_makes_the_others_join_again() -> None:
    state = made()
    _, second = completing(state, 2, session=5.0, rebalance=60.0)
    follower = sync(state, second, 1)

    pass_time(state, now=5.0)

    assert answer_to(state, follower).error_code == RebalanceInProgress.code
    assert membership(state).members.leader == second


def test_a_new_session_timeout_counts_once_the_member_has_joined_again() -> None:
    state = made()
    [first] = stable(state, session=5.0)
    join(state, first, session=20.0)
    sync(state, first, 2, {first: b""})

    pass_time(state, now=19.9)
    assert list(membership(state).members.by_id) == [first]
    pass_time(state, now=20.0)
    assert membership(state).phase is Phase.EMPTY


# Whoever leaves


@pytest.mark.parametrize("version", range(3))
def test_one_member_leaves_in_older_versions(version: int) -> None:
    state = made()
    first, second = stable(state, 2)
    request = LeaveGroupRequest(group_id="g", member_id=second)

    assert call(state, request, version=version) == LeaveGroupResponse(error_code=0)
    assert list(membership(state).members.by_id) == [first]
    assert membership(state).phase is Phase.PREPARING
    assert call(state, request, version=version).error_code == UnknownMemberId.code


@pytest.mark.parametrize("version", range(3, 6))
def test_several_leave_at_once_and_each_hears_of_itself(version: int) -> None:
    state = made()
    first, second, third = stable(state, 3)

    codes = leave(
        state,
        first,
        "stranger",
        third,
        "",
        MemberIdentity(member_id="", group_instance_id="nobody"),
        version=version,
    )

    unknown = UnknownMemberId.code
    assert codes == [0, unknown, 0, unknown, unknown]
    assert list(membership(state).members.by_id) == [second]
    assert membership(state).members.leader == second


@pytest.mark.parametrize(("version", "code"), [(2, UnknownMemberId.code), (5, 0)])
def test_nobody_leaves_a_group_that_is_not_there(version: int, code: int) -> None:
    request = LeaveGroupRequest(
        group_id="g",
        member_id="x" if version < 3 else "",
        members=[] if version < 3 else [MemberIdentity(member_id="x")],
    )

    answer = call(made(), request, version=version)

    assert answer.error_code == code
    assert [each.error_code for each in answer.members] == [UnknownMemberId.code] * (version > 2)


def test_a_group_is_empty_when_its_last_member_leaves() -> None:
    state = made()
    [first] = stable(state)

    assert leave(state, first) == [0]
    assert membership(state).phase is Phase.EMPTY
    assert membership(state).generation == 2
    assert membership(state).members.leader == ""


def test_strangers_who_leave_disturb_nobody() -> None:
    state = made()
    stable(state)

    leave(state, "stranger")

    assert membership(state).phase is Phase.STABLE


def test_a_rebalance_does_not_wait_for_who_leaves() -> None:
    state = made()
    first, second = stable(state, 2)
    waiting = join(state, first)

    leave(state, second)

    assert answer_to(state, waiting).generation_id == 2


def test_the_first_delay_is_not_cut_short_by_who_leaves() -> None:
    state = made(group_initial_rebalance_delay_ms=3000)
    waiting = join(state, version=3)
    other = new_id(state)

    assert leave(state, other) == [0]
    assert not membership(state).members.pending
    assert answer_to(state, waiting) is None
    pass_time(state, now=3.0)
    assert answer_to(state, waiting).generation_id == 1


def test_who_waits_and_is_removed_hears_so() -> None:
    state = made()
    first, second = stable(state, 2)
    joining = join(state, first)
    leave(state, first)
    assert answer_to(state, joining).error_code == UnknownMemberId.code

    other = made()
    first, second = completing(other, 2)
    syncing = sync(other, second, 1)
    leave(other, second)
    assert answer_to(other, syncing).error_code == UnknownMemberId.code


# The coordinator moves


def of_two_nodes() -> tuple[State, int, int]:
    """A cluster, the node that coordinates group "g", and the other one, which may."""
    state = made(nodes=2, offsets_topic_replication_factor=2)
    coordinator = state.groups.coordinator_of("g")
    return state, coordinator, 3 - coordinator


def test_members_go_on_at_the_node_that_coordinates_the_group_now() -> None:
    state, old, new = of_two_nodes()
    [first] = stable(state)

    state.move_leader("__consumer_offsets", 0, new)

    assert heartbeat(state, first, 1, node=old) == NotCoordinator.code
    assert heartbeat(state, first, 1, node=new) == 0


def test_who_waits_at_the_old_coordinator_is_sent_away_and_may_join_at_the_new_one() -> None:
    state, old, new = of_two_nodes()
    first, second = stable(state, 2)
    waiting = join(state, first, node=old)

    state.move_leader("__consumer_offsets", 0, new)

    refused = answer_to(state, waiting)
    assert (refused.error_code, refused.member_id) == (NotCoordinator.code, first)
    calls = [join(state, each, node=new) for each in (first, second)]
    assert [answer_to(state, each).generation_id for each in calls] == [2, 2]


def test_who_waits_for_its_partitions_is_sent_to_the_new_coordinator_too() -> None:
    state, old, new = of_two_nodes()
    first, second = completing(state, 2)
    waiting = sync(state, second, 1)

    state.node_down(old)

    assert answer_to(state, waiting).error_code == NotCoordinator.code
    sync(state, first, 1, {second: b"b"}, node=new)
    assert answer_to(state, sync(state, second, 1, node=new)).assignment == b"b"


# The table


def test_every_phase_but_the_last_can_be_left_and_reached() -> None:
    reached = {after for follow in TRANSITIONS.values() for after in follow}

    assert reached == set(Phase)
    assert [phase for phase, follow in TRANSITIONS.items() if not follow] == [Phase.DEAD]


def test_a_dead_group_stays_dead() -> None:
    state = made()
    completing(state, 2, rebalance=5.0)
    group = state.groups.classic("g")
    group.close()

    with pytest.raises(AssertionError):
        group.close()
    pass_time(state, now=1000.0)

    assert group.state_name == "Dead"
    assert membership(state).generation == 1


def test_requests_reach_only_the_coordinator() -> None:
    state = made(nodes=2)
    other = 3 - state.groups.coordinator_of("g")

    answer = answer_to(state, join(state, "x", node=other))

    assert (answer.error_code, answer.member_id) == (NotCoordinator.code, "")
    request = LeaveGroupRequest(group_id="g", members=[MemberIdentity(member_id="x")])
    answer = answer_to(state, send(state, request, node=other))
    assert (answer.error_code, answer.members) == (NotCoordinator.code, [])
