"""Declarations only, with no limit of lines: access control lists. Pure."""

from kafka_aio.protocol.schema import (
    Int8,
    Int16,
    Int32,
    Request,
    String,
    message,
    request,
    response,
)


@message
class AclDescription:
    principal: String
    host: String
    operation: Int8
    permission_type: Int8


@message
class DescribeAclsResource:
    resource_type: Int8
    resource_name: String
    pattern_type: Int8 = 3
    acls: list[AclDescription]


@response(key=29, versions=(1, 3), flexible=2)
class DescribeAclsResponse:
    throttle_time_ms: Int32
    error_code: Int16
    error_message: String | None
    resources: list[DescribeAclsResource]


@request(key=29, versions=(1, 3), flexible=2)
class DescribeAclsRequest(Request[DescribeAclsResponse]):
    resource_type_filter: Int8
    resource_name_filter: String | None
    pattern_type_filter: Int8 = 3
    principal_filter: String | None
    host_filter: String | None
    operation: Int8
    permission_type: Int8


@message
class AclCreationResult:
    error_code: Int16
    error_message: String | None


@response(key=30, versions=(1, 3), flexible=2)
class CreateAclsResponse:
    throttle_time_ms: Int32
    results: list[AclCreationResult]


@message
class AclCreation:
    resource_type: Int8
    resource_name: String
    resource_pattern_type: Int8 = 3
    principal: String
    host: String
    operation: Int8
    permission_type: Int8


@request(key=30, versions=(1, 3), flexible=2)
class CreateAclsRequest(Request[CreateAclsResponse]):
    creations: list[AclCreation]


@message
class DeleteAclsMatchingAcl:
    error_code: Int16
    error_message: String | None
    resource_type: Int8
    resource_name: String
    pattern_type: Int8 = 3
    principal: String
    host: String
    operation: Int8
    permission_type: Int8


@message
class DeleteAclsFilterResult:
    error_code: Int16
    error_message: String | None
    matching_acls: list[DeleteAclsMatchingAcl]


@response(key=31, versions=(1, 3), flexible=2)
class DeleteAclsResponse:
    throttle_time_ms: Int32
    filter_results: list[DeleteAclsFilterResult]


@message
class DeleteAclsFilter:
    resource_type_filter: Int8
    resource_name_filter: String | None
    pattern_type_filter: Int8 = 3
    principal_filter: String | None
    host_filter: String | None
    operation: Int8
    permission_type: Int8


@request(key=31, versions=(1, 3), flexible=2)
class DeleteAclsRequest(Request[DeleteAclsResponse]):
    filters: list[DeleteAclsFilter]
