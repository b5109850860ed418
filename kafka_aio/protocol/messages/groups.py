"""Declarations only, with no limit of lines: coordinators and classic groups. Pure."""

from kafka_aio.protocol.schema import (
    Bool,
    Bytes,
    Int8,
    Int16,
    Int32,
    Request,
    String,
    message,
    nullable,
    request,
    response,
    since,
    until,
)


@message
class Coordinator:
    key: String
    node_id: Int32
    host: String
    port: Int32
    error_code: Int16
    error_message: String | None


@response(key=10, versions=(0, 6), flexible=3)
class FindCoordinatorResponse:
    throttle_time_ms: Int32 = since(1, default=0, ignorable=True)
    error_code: Int16 = until(3, default=0)
    error_message: String | None = since(1, until=3, default="", ignorable=True)
    node_id: Int32 = until(3, default=0)
    host: String = until(3, default="")
    port: Int32 = until(3, default=0)
    coordinators: list[Coordinator] = since(4, default=[])


@request(key=10, versions=(0, 6), flexible=3)
class FindCoordinatorRequest(Request[FindCoordinatorResponse]):
    key: String = until(3, default="")
    key_type: Int8 = since(1, default=0)
    coordinator_keys: list[String] = since(4, default=[])


@message
class JoinGroupResponseMember:
    member_id: String
    group_instance_id: String | None = since(5, default=None, ignorable=True)
    metadata: Bytes


@response(key=11, versions=(0, 9), flexible=6)
class JoinGroupResponse:
    throttle_time_ms: Int32 = since(2, default=0, ignorable=True)
    error_code: Int16
    generation_id: Int32 = -1
    protocol_type: String | None = since(7, default=None, ignorable=True)
    protocol_name: String | None = nullable(since=7)
    leader: String
    skip_assignment: Bool = since(9, default=False)
    member_id: String
    members: list[JoinGroupResponseMember]


@message
class JoinGroupRequestProtocol:
    name: String
    metadata: Bytes


@request(key=11, versions=(0, 9), flexible=6)
class JoinGroupRequest(Request[JoinGroupResponse]):
    group_id: String
    session_timeout_ms: Int32
    rebalance_timeout_ms: Int32 = since(1, default=-1, ignorable=True)
    member_id: String
    group_instance_id: String | None = since(5, default=None)
    protocol_type: String
    protocols: list[JoinGroupRequestProtocol]
    reason: String | None = since(8, default=None, ignorable=True)


@response(key=12, versions=(0, 4), flexible=4)
class HeartbeatResponse:
    throttle_time_ms: Int32 = since(1, default=0, ignorable=True)
    error_code: Int16


@request(key=12, versions=(0, 4), flexible=4)
class HeartbeatRequest(Request[HeartbeatResponse]):
    group_id: String
    generation_id: Int32
    member_id: String
    group_instance_id: String | None = since(3, default=None)


@message
class MemberResponse:
    member_id: String
    group_instance_id: String | None
    error_code: Int16


@response(key=13, versions=(0, 5), flexible=4)
class LeaveGroupResponse:
    throttle_time_ms: Int32 = since(1, default=0, ignorable=True)
    error_code: Int16
    members: list[MemberResponse] = since(3, default=[])


@message
class MemberIdentity:
    member_id: String
    group_instance_id: String | None = None
    reason: String | None = since(5, default=None, ignorable=True)


@request(key=13, versions=(0, 5), flexible=4)
class LeaveGroupRequest(Request[LeaveGroupResponse]):
    group_id: String
    member_id: String = until(2, default="")
    members: list[MemberIdentity] = since(3, default=[])


@response(key=14, versions=(0, 5), flexible=4)
class SyncGroupResponse:
    throttle_time_ms: Int32 = since(1, default=0, ignorable=True)
    error_code: Int16
    protocol_type: String | None = since(5, default=None, ignorable=True)
    protocol_name: String | None = since(5, default=None, ignorable=True)
    assignment: Bytes


@message
class SyncGroupRequestAssignment:
    member_id: String
    assignment: Bytes


@request(key=14, versions=(0, 5), flexible=4)
class SyncGroupRequest(Request[SyncGroupResponse]):
    group_id: String
    generation_id: Int32
    member_id: String
    group_instance_id: String | None = since(3, default=None)
    protocol_type: String | None = since(5, default=None, ignorable=True)
    protocol_name: String | None = since(5, default=None, ignorable=True)
    assignments: list[SyncGroupRequestAssignment]


@message
class DescribedGroupMember:
    member_id: String
    group_instance_id: String | None = since(4, default=None, ignorable=True)
    client_id: String
    client_host: String
    member_metadata: Bytes
    member_assignment: Bytes


@message
class DescribedGroup:
    error_code: Int16
    error_message: String | None = since(6, default=None)
    group_id: String
    group_state: String
    protocol_type: String
    protocol_data: String
    members: list[DescribedGroupMember]
    authorized_operations: Int32 = since(3, default=-0x80000000)


@response(key=15, versions=(0, 6), flexible=5)
class DescribeGroupsResponse:
    throttle_time_ms: Int32 = since(1, default=0, ignorable=True)
    groups: list[DescribedGroup]


@request(key=15, versions=(0, 6), flexible=5)
class DescribeGroupsRequest(Request[DescribeGroupsResponse]):
    groups: list[String]
    include_authorized_operations: Bool = since(3, default=False)


@message
class ListedGroup:
    group_id: String
    protocol_type: String
    group_state: String = since(4, default="", ignorable=True)
    group_type: String = since(5, default="", ignorable=True)


@response(key=16, versions=(0, 5), flexible=3)
class ListGroupsResponse:
    throttle_time_ms: Int32 = since(1, default=0, ignorable=True)
    error_code: Int16
    groups: list[ListedGroup]


@request(key=16, versions=(0, 5), flexible=3)
class ListGroupsRequest(Request[ListGroupsResponse]):
    states_filter: list[String] = since(4, default=[])
    types_filter: list[String] = since(5, default=[])


@message
class DeletableGroupResult:
    group_id: String
    error_code: Int16


@response(key=42, versions=(0, 2), flexible=2)
class DeleteGroupsResponse:
    throttle_time_ms: Int32
    results: list[DeletableGroupResult]


@request(key=42, versions=(0, 2), flexible=2)
class DeleteGroupsRequest(Request[DeleteGroupsResponse]):
    groups_names: list[String]
