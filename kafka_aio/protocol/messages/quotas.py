"""Declarations only, with no limit of lines: client quotas. Pure."""

from kafka_aio.protocol.schema import (
    Bool,
    Float64,
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
class DescribeClientQuotasEntityData:
    entity_type: String
    entity_name: String | None


@message
class ValueData:
    key: String
    value: Float64


@message
class DescribeClientQuotasEntryData:
    entity: list[DescribeClientQuotasEntityData]
    values: list[ValueData]


@response(key=48, versions=(0, 1), flexible=1)
class DescribeClientQuotasResponse:
    throttle_time_ms: Int32
    error_code: Int16
    error_message: String | None
    entries: list[DescribeClientQuotasEntryData] | None


@message
class ComponentData:
    entity_type: String
    match_type: Int8
    match: String | None


@request(key=48, versions=(0, 1), flexible=1)
class DescribeClientQuotasRequest(Request[DescribeClientQuotasResponse]):
    components: list[ComponentData]
    strict: Bool


@message
class AlterClientQuotasEntityData:
    entity_type: String
    entity_name: String | None


@message
class AlterClientQuotasResponseEntryData:
    error_code: Int16
    error_message: String | None
    entity: list[AlterClientQuotasEntityData]


@response(key=49, versions=(0, 1), flexible=1)
class AlterClientQuotasResponse:
    throttle_time_ms: Int32
    entries: list[AlterClientQuotasResponseEntryData]


@message
class OpData:
    key: String
    value: Float64
    remove: Bool


@message
class AlterClientQuotasRequestEntryData:
    entity: list[AlterClientQuotasEntityData]
    ops: list[OpData]


@request(key=49, versions=(0, 1), flexible=1)
class AlterClientQuotasRequest(Request[AlterClientQuotasResponse]):
    entries: list[AlterClientQuotasRequestEntryData]
    validate_only: Bool
