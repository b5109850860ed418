"""ListGroups, DescribeGroups, DeleteGroups: groups as admins see them. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from kafka_aio.broker.api.authorized import GROUP_OPERATIONS, NOT_ASKED
from kafka_aio.broker.groups.classic_membership import Phase
from kafka_aio.errors import BrokerError, GroupIdNotFound
from kafka_aio.protocol.messages.groups import (
    DeletableGroupResult,
    DeleteGroupsRequest,
    DeleteGroupsResponse,
    DescribedGroup,
    DescribedGroupMember,
    DescribeGroupsRequest,
    DescribeGroupsResponse,
    ListedGroup,
    ListGroupsRequest,
    ListGroupsResponse,
)

if TYPE_CHECKING:
    from kafka_aio.broker.call import Call
    from kafka_aio.broker.groups.classic import ClassicGroup

_NOT_FOUND_SINCE: Final = 6


def list_groups(request: ListGroupsRequest, call: Call) -> ListGroupsResponse:
    """The groups that the asked node coordinates. What is in a filter is alike in any case."""
    call.check_faults()
    groups = call.state.groups
    states = {state.lower().strip() for state in request.states_filter}
    types = {kind.lower() for kind in request.types_filter}
    return ListGroupsResponse(
        error_code=0,
        groups=[
            ListedGroup(
                group_id=group.id,
                protocol_type=group.protocol_type,
                group_state=group.state_name,
                group_type=group.kind,
            )
            for group in groups.by_id.values()
            if (not states or group.state_name.lower() in states)
            and (not types or group.kind in types)
            and groups.coordinator_of(group.id) == call.node
        ],
    )


def describe_classic(request: DescribeGroupsRequest, call: Call) -> DescribeGroupsResponse:
    """Classic groups with their members. One that is not there is dead, and so is another kind."""
    return DescribeGroupsResponse(
        groups=[
            _described(group_id, call, asked=request.include_authorized_operations)
            for group_id in request.groups
        ]
    )


def delete_groups(request: DeleteGroupsRequest, call: Call) -> DeleteGroupsResponse:
    """Delete groups without members, and what they have committed."""
    return DeleteGroupsResponse(
        throttle_time_ms=0,
        results=[
            DeletableGroupResult(group_id=group_id, error_code=_deleted(group_id, call))
            for group_id in dict.fromkeys(request.groups_names)
        ],
    )


def _described(group_id: str, call: Call, *, asked: bool) -> DescribedGroup:
    groups = call.state.groups
    operations = GROUP_OPERATIONS if asked else NOT_ASKED
    try:
        groups.check_coordinator(call, group_id, may_be_empty=True)
        return _description(groups.classic(group_id), operations)
    except GroupIdNotFound as error:
        if call.version < _NOT_FOUND_SINCE:
            return _nothing(group_id, Phase.DEAD.value, operations=operations)
        return _nothing(group_id, Phase.DEAD.value, error=error)
    except BrokerError as error:
        return _nothing(group_id, error=error)


def _description(group: ClassicGroup, operations: int) -> DescribedGroup:
    membership = group.membership
    protocol = membership.protocol if membership.phase is Phase.STABLE else ""
    return DescribedGroup(
        error_code=0,
        group_id=group.id,
        group_state=group.state_name,
        protocol_type=group.protocol_type,
        protocol_data=protocol,
        members=[
            DescribedGroupMember(
                member_id=member.id,
                group_instance_id=member.instance_id,
                client_id=member.client_id,
                client_host=member.client_host,
                member_metadata=member.metadata(protocol) if protocol else b"",
                member_assignment=member.assignment,
            )
            for member in membership.members
        ],
        authorized_operations=operations,
    )


def _nothing(
    group_id: str,
    group_state: str = "",
    *,
    error: BrokerError | None = None,
    operations: int = NOT_ASKED,
) -> DescribedGroup:
    is_missing = isinstance(error, GroupIdNotFound)
    return DescribedGroup(
        error_code=error.code if error else 0,
        error_message=error.message if error and is_missing else None,
        group_id=group_id,
        group_state=group_state,
        protocol_type="",
        protocol_data="",
        members=[],
        authorized_operations=operations,
    )


def _deleted(group_id: str, call: Call) -> int:
    groups = call.state.groups
    try:
        groups.check_coordinator(call, group_id, may_be_empty=True)
        group = groups.get(group_id)
        group.check_deletion()
    except BrokerError as error:
        return error.code
    groups.delete(group)
    return 0
