"""Declarations only, with no limit of lines: which versions a broker speaks. Pure."""

from kafka_aio.protocol.schema import (
    Bool,
    Int16,
    Int32,
    Int64,
    Request,
    String,
    message,
    request,
    response,
    since,
    tagged,
)


@message
class ApiVersion:
    api_key: Int16
    min_version: Int16
    max_version: Int16


@message
class SupportedFeatureKey:
    name: String
    min_version: Int16
    max_version: Int16


@message
class FinalizedFeatureKey:
    name: String
    max_version_level: Int16
    min_version_level: Int16


@response(key=18, versions=(0, 4), flexible=3)
class ApiVersionsResponse:
    error_code: Int16
    api_keys: list[ApiVersion]
    throttle_time_ms: Int32 = since(1, default=0, ignorable=True)
    supported_features: list[SupportedFeatureKey] = tagged(0, since=3, default=[], ignorable=True)
    finalized_features_epoch: Int64 = tagged(1, since=3, default=-1, ignorable=True)
    finalized_features: list[FinalizedFeatureKey] = tagged(2, since=3, default=[], ignorable=True)
    zk_migration_ready: Bool = tagged(3, since=3, default=False, ignorable=True)


@request(key=18, versions=(0, 4), flexible=3)
class ApiVersionsRequest(Request[ApiVersionsResponse]):
    client_software_name: String = since(3, default="", ignorable=True)
    client_software_version: String = since(3, default="", ignorable=True)
