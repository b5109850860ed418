"""The APIs of classic groups, where the group is of the other kind, or a fault is on its way."""

from collections.abc import Callable

import pytest

from kafka_aio.errors import (
    CoordinatorLoadInProgress,
    FencedInstanceId,
    InconsistentGroupProtocol,
    UnknownMemberId,
)
from kafka_aio.protocol.messages.groups import (
    HeartbeatRequest,
    JoinGroupRequest,
    LeaveGroupRequest,
    MemberIdentity,
    SyncGroupRequest,
)
from tests.unit.broker.clusters import answer_to, call, made
from tests.unit.broker.groups.classic import heartbeat, join, leave, new_id, stable, sync
from tests.unit.broker.groups.consumers import Consumer, group


def test_a_group_of_the_other_protocol_that_has_members_takes_no_classic_ones() -> None:
    state = made(topics={"t": 1})
    Consumer(state, "m").beat()

    answer = answer_to(state, join(state))

    assert answer.error_code == InconsistentGroupProtocol.code
    assert heartbeat(state, "m", 1) == UnknownMemberId.code
    assert answer_to(state, sync(state, "m", 1)).error_code == UnknownMemberId.code


def test_an_empty_group_of_the_other_protocol_becomes_a_classic_one() -> None:
    state = made(topics={"t": 1})
    consumer = Consumer(state, "m")
    consumer.beat()
    consumer.leave()

    assert new_id(state)
    assert state.groups.get("g").kind == "classic"


def test_a_member_of_an_empty_group_of_the_other_protocol_is_unknown() -> None:
    state = made(topics={"t": 1})
    state.groups.consumer("g", create=True)

    assert answer_to(state, join(state, "x")).error_code == UnknownMemberId.code
    assert state.groups.get("g").kind == "consumer"


def test_an_admin_removes_members_of_the_other_protocol() -> None:
    state = made(topics={"t": 1})
    Consumer(state, "m").beat()
    Consumer(state, "n", instance_id="s").beat()
    Consumer(state, "o", instance_id="t").beat()

    codes = leave(
        state,
        "m",
        "stranger",
        MemberIdentity(member_id="", group_instance_id="s"),
        MemberIdentity(member_id="", group_instance_id="nobody"),
        MemberIdentity(member_id="other", group_instance_id="t"),
    )

    unknown = UnknownMemberId.code
    assert codes == [0, unknown, 0, unknown, FencedInstanceId.code]
    assert [member.id for member in group(state).members] == ["o"]


@pytest.mark.parametrize(
    "api", [JoinGroupRequest, SyncGroupRequest, HeartbeatRequest, LeaveGroupRequest]
)
def test_a_fault_is_answered_and_nothing_happens(api: type) -> None:
    state = made()
    first, second = stable(state, 2)
    fault = state.faults.fail(api, CoordinatorLoadInProgress, group="g")

    asks: dict[type, Callable[[], int]] = {
        JoinGroupRequest: lambda: answer_to(state, join(state, first)).error_code,
        SyncGroupRequest: lambda: answer_to(state, sync(state, first, 1)).error_code,
        HeartbeatRequest: lambda: heartbeat(state, first, 1),
        LeaveGroupRequest: lambda: (
            call(
                state, LeaveGroupRequest(group_id="g", members=[MemberIdentity(member_id=second)])
            ).error_code
        ),
    }

    assert asks[api]() == CoordinatorLoadInProgress.code
    fault.remove()
    assert heartbeat(state, second, 1) == 0
