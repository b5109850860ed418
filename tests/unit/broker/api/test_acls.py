from __future__ import annotations

from kafka_aio.protocol.messages.acls import (
    AclCreation,
    AclCreationResult,
    CreateAclsRequest,
    CreateAclsResponse,
    DeleteAclsFilter,
    DeleteAclsFilterResult,
    DeleteAclsRequest,
    DeleteAclsResponse,
    DescribeAclsRequest,
    DescribeAclsResponse,
)
from tests.unit.broker import clusters

ANY, TOPIC, ALLOW = 1, 2, 3
SECURITY_DISABLED = 54
NOBODY = "No Authorizer is configured."


def test_there_are_no_acls_to_describe_as_nobody_authorizes() -> None:
    state = clusters.made()

    answer = clusters.call(
        state,
        DescribeAclsRequest(
            resource_type_filter=ANY,
            resource_name_filter=None,
            principal_filter=None,
            host_filter=None,
            operation=ANY,
            permission_type=ANY,
        ),
    )

    assert answer == DescribeAclsResponse(
        throttle_time_ms=0,
        error_code=SECURITY_DISABLED,
        error_message="No Authorizer is configured on the broker",
        resources=[],
    )


def test_each_acl_that_somebody_creates_is_refused() -> None:
    state = clusters.made()
    acl = AclCreation(
        resource_type=TOPIC,
        resource_name="orders",
        principal="User:alice",
        host="*",
        operation=3,
        permission_type=ALLOW,
    )

    answer = clusters.call(state, CreateAclsRequest(creations=[acl, acl]))

    refused = AclCreationResult(error_code=SECURITY_DISABLED, error_message=NOBODY)
    assert answer == CreateAclsResponse(throttle_time_ms=0, results=[refused, refused])


def test_each_filter_of_acls_to_delete_is_refused() -> None:
    state = clusters.made()
    chosen = DeleteAclsFilter(
        resource_type_filter=ANY,
        resource_name_filter=None,
        principal_filter=None,
        host_filter=None,
        operation=ANY,
        permission_type=ANY,
    )

    answer = clusters.call(state, DeleteAclsRequest(filters=[chosen]))

    refused = DeleteAclsFilterResult(
        error_code=SECURITY_DISABLED, error_message=NOBODY, matching_acls=[]
    )
    assert answer == DeleteAclsResponse(throttle_time_ms=0, filter_results=[refused])
