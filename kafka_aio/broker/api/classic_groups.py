"""JoinGroup, SyncGroup, Heartbeat and LeaveGroup: members of classic groups. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from kafka_aio.broker.groups.classic_members import join_refusal
from kafka_aio.errors import (
    BrokerError,
    GroupIdNotFound,
    GroupMaxSizeReached,
    InconsistentGroupProtocol,
    InvalidSessionTimeout,
    NotCoordinator,
    UnknownMemberId,
    UnknownServerError,
)
from kafka_aio.protocol.messages.groups import (
    HeartbeatRequest,
    HeartbeatResponse,
    JoinGroupRequest,
    JoinGroupResponse,
    LeaveGroupRequest,
    LeaveGroupResponse,
    MemberIdentity,
    MemberResponse,
    SyncGroupRequest,
    SyncGroupResponse,
)

if TYPE_CHECKING:
    from kafka_aio.broker.call import Call
    from kafka_aio.broker.groups.classic_membership import Membership
    from kafka_aio.broker.groups.consumer import ConsumerGroup
    from kafka_aio.broker.groups.groups import AnyGroup

_NAMELESS: Final = (GroupMaxSizeReached, NotCoordinator, UnknownServerError)
"""The errors of JoinGroup that come without the id of the member."""

_SEVERAL_LEAVE_SINCE: Final = 3
_PROTOCOL_IN_SYNC_SINCE: Final = 5


def join(request: JoinGroupRequest, call: Call) -> JoinGroupResponse | None:
    """Be a member of a group, or of its next generation; answered when all others want it, too."""
    settings = call.state.settings
    shortest, longest = settings.group_min_session_timeout_ms, settings.group_max_session_timeout_ms
    try:
        if request.group_id and not shortest <= request.session_timeout_ms <= longest:
            raise InvalidSessionTimeout()
        call.state.groups.check_coordinator(call, request.group_id)
        return _to_join(request, call).join(request, call)
    except BrokerError as error:
        return join_refusal(call, error, "" if isinstance(error, _NAMELESS) else request.member_id)


def sync(request: SyncGroupRequest, call: Call) -> SyncGroupResponse | None:
    """Learn the assignment of a generation; answered when the leader has sent it.

    Raises:
        BrokerError: There will be none for this member.
    """
    if call.version >= _PROTOCOL_IN_SYNC_SINCE and None in (
        request.protocol_type,
        request.protocol_name,
    ):
        raise InconsistentGroupProtocol()
    return _membership(request.group_id, call).sync(request, call)


def heartbeat(request: HeartbeatRequest, call: Call) -> HeartbeatResponse:
    """Stay a member.

    Raises:
        BrokerError: It is none, or it must join again.
    """
    _membership(request.group_id, call).heartbeat(request, now=call.now)
    return HeartbeatResponse(error_code=0)


def leave(request: LeaveGroupRequest, call: Call) -> LeaveGroupResponse:
    """Be a member no longer; from version 3 on, for several at once.

    Raises:
        BrokerError: This is not a node to ask, or not a group.
    """
    groups = call.state.groups
    groups.check_coordinator(call, request.group_id)
    leaving = request.members
    if call.version < _SEVERAL_LEAVE_SINCE:
        leaving = [MemberIdentity(member_id=request.member_id)]
    if (group := groups.by_id.get(request.group_id)) is None:
        codes = [UnknownMemberId.code] * len(leaving)
    else:
        codes = [error.code if error else 0 for error in _outcomes(group, leaving, now=call.now)]
    if call.version < _SEVERAL_LEAVE_SINCE:
        return LeaveGroupResponse(error_code=codes[0])
    return LeaveGroupResponse(
        error_code=0,
        members=[
            MemberResponse(
                member_id=each.member_id, group_instance_id=each.group_instance_id, error_code=code
            )
            for each, code in zip(leaving, codes, strict=True)
        ],
    )


def _outcomes(
    group: AnyGroup, leaving: list[MemberIdentity], *, now: float
) -> list[BrokerError | None]:
    if group.kind == "classic":
        return group.membership.leave(leaving, now=now)
    return [_dismissed(group, each) for each in leaving]


def _dismissed(group: ConsumerGroup, leaving: MemberIdentity) -> BrokerError | None:
    """Admins use this API for members of the other protocol, too; static ones by their names."""
    member_id, instance_id = leaving.member_id, leaving.group_instance_id
    if not member_id and (named := group.members.named(instance_id)) is not None:
        member_id = named.id
    try:
        group.leave(member_id, instance_id, epoch=-1)
    except BrokerError as error:
        return error
    return None


def _to_join(request: JoinGroupRequest, call: Call) -> Membership:
    groups = call.state.groups
    found = groups.by_id.get(request.group_id)
    if found is not None and found.kind == "consumer" and not found.is_empty:
        # Kafka would take it in as one of another protocol, in a group that migrates (KIP-848).
        raise InconsistentGroupProtocol()
    try:
        return groups.classic(request.group_id, create=not request.member_id).membership
    except GroupIdNotFound:
        raise UnknownMemberId() from None


def _membership(group_id: str, call: Call) -> Membership:
    groups = call.state.groups
    groups.check_coordinator(call, group_id)
    try:
        return groups.classic(group_id).membership
    except GroupIdNotFound:
        raise UnknownMemberId() from None
