"""What the tests of classic groups ask of a broker, and a group that is ready for them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kafka_aio.broker.call import Call
from kafka_aio.broker.groups.classic_membership import Membership
from kafka_aio.broker.state import State
from kafka_aio.protocol.codec import encode
from kafka_aio.protocol.messages.consumer_protocol import ConsumerProtocolSubscription
from kafka_aio.protocol.messages.groups import (
    HeartbeatRequest,
    JoinGroupRequest,
    JoinGroupRequestProtocol,
    LeaveGroupRequest,
    MemberIdentity,
    SyncGroupRequest,
    SyncGroupRequestAssignment,
)
from tests.unit.broker.clusters import answer_to, call, pass_time, send


def wanting(*topics: str) -> bytes:
    """What a consumer of these topics tells its leader."""
    return b"\0\1" + encode(ConsumerProtocolSubscription(topics=list(topics)), 1)


RANGE = {"range": wanting("t")}


def join(
    state: State,
    member_id: str = "",
    *,
    group: str = "g",
    instance: str | None = None,
    protocols: Mapping[str, bytes] = RANGE,
    protocol_type: str = "consumer",
    session: float = 10.0,
    rebalance: float = 30.0,
    **how: Any,
) -> Call:
    """JoinGroup; the answer may come later. `how` goes to `send`."""
    request = JoinGroupRequest(
        group_id=group,
        session_timeout_ms=int(session * 1000),
        rebalance_timeout_ms=int(rebalance * 1000),
        member_id=member_id,
        group_instance_id=instance,
        protocol_type=protocol_type,
        protocols=[
            JoinGroupRequestProtocol(name=name, metadata=metadata)
            for name, metadata in protocols.items()
        ],
    )
    return send(state, request, **how)


def new_id(state: State, **how: Any) -> str:
    """The id that a new member is given."""
    found: str = answer_to(state, join(state, **how)).member_id
    return found


def sync(
    state: State,
    member_id: str,
    generation: int,
    assignments: Mapping[str, bytes] | None = None,
    *,
    instance: str | None = None,
    protocol_type: str | None = "consumer",
    protocol: str | None = "range",
    **how: Any,
) -> Call:
    """SyncGroup of group "g"; the answer may come later."""
    request = SyncGroupRequest(
        group_id="g",
        generation_id=generation,
        member_id=member_id,
        group_instance_id=instance,
        protocol_type=protocol_type,
        protocol_name=protocol,
        assignments=[
            SyncGroupRequestAssignment(member_id=each, assignment=assignment)
            for each, assignment in (assignments or {}).items()
        ],
    )
    return send(state, request, **how)


def heartbeat(
    state: State, member_id: str, generation: int, instance: str | None = None, **how: Any
) -> int:
    """The error code that a heartbeat of group "g" is answered with."""
    request = HeartbeatRequest(
        group_id="g", generation_id=generation, member_id=member_id, group_instance_id=instance
    )
    code: int = call(state, request, **how).error_code
    return code


def leave(state: State, *members: str | MemberIdentity, **how: Any) -> list[int]:
    """The error codes of members that leave group "g" at once."""
    leaving = [
        MemberIdentity(member_id=each) if isinstance(each, str) else each for each in members
    ]
    answer = call(state, LeaveGroupRequest(group_id="g", members=leaving), **how)
    assert answer.error_code == 0
    return [each.error_code for each in answer.members]


def membership(state: State, group: str = "g") -> Membership:
    return state.groups.classic(group).membership


def completing(
    state: State, count: int = 1, *, now: float = 0.0, instances: tuple[str, ...] = (), **how: Any
) -> list[str]:
    """The ids of the members of a group "g" that wait for their leader, who is the first.

    Static members, named by `instances`, come after the dynamic ones.
    """
    ids = [new_id(state, now=now, **how) for _ in range(count)]
    calls = [join(state, each, now=now, **how) for each in ids]
    calls += [join(state, instance=each, now=now, **how) for each in instances]
    pass_time(state, now=now)
    answers = [answer_to(state, each) for each in calls]
    assert {each.generation_id for each in answers} == {membership(state).generation}
    return [each.member_id for each in answers]


def stable(
    state: State, count: int = 1, *, now: float = 0.0, instances: tuple[str, ...] = (), **how: Any
) -> list[str]:
    """As `completing`, and the leader has given `b"for <number>"` to each."""
    ids = completing(state, count, now=now, instances=instances, **how)
    names: list[str | None] = [None] * count + list(instances)
    assignments = {each: b"for %d" % index for index, each in enumerate(ids)}
    calls = [
        sync(state, each, 1, assignments if each == ids[0] else None, instance=name, now=now)
        for each, name in zip(ids, names, strict=True)
    ]
    assert [answer_to(state, each).error_code for each in calls] == [0] * len(calls)
    return ids
