"""DescribeAcls, CreateAcls, DeleteAcls: nobody is authorized here, and Kafka says so. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from kafka_aio.errors import SecurityDisabled
from kafka_aio.protocol.messages.acls import (
    AclCreationResult,
    CreateAclsRequest,
    CreateAclsResponse,
    DeleteAclsFilterResult,
    DeleteAclsRequest,
    DeleteAclsResponse,
    DescribeAclsRequest,
    DescribeAclsResponse,
)

if TYPE_CHECKING:
    from kafka_aio.broker.call import Call

_CODE: Final = SecurityDisabled.code
_NOBODY: Final = "No Authorizer is configured."


def describe(request: DescribeAclsRequest, call: Call) -> DescribeAclsResponse:
    """That there are none to describe."""
    call.check_faults()
    raise SecurityDisabled("No Authorizer is configured on the broker")


def create(request: CreateAclsRequest, call: Call) -> CreateAclsResponse:
    """None of them: each is refused."""
    call.check_faults()
    refused = AclCreationResult(error_code=_CODE, error_message=_NOBODY)
    return CreateAclsResponse(throttle_time_ms=0, results=[refused] * len(request.creations))


def delete(request: DeleteAclsRequest, call: Call) -> DeleteAclsResponse:
    """None of them: each filter is refused."""
    call.check_faults()
    refused = DeleteAclsFilterResult(error_code=_CODE, error_message=_NOBODY, matching_acls=[])
    return DeleteAclsResponse(throttle_time_ms=0, filter_results=[refused] * len(request.filters))
