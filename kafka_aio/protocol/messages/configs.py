"""Declarations only, with no limit of lines: configuration of topics, brokers and clients. Pure."""

from kafka_aio.protocol.schema import (
    Bool,
    Int8,
    Int16,
    Int32,
    Request,
    SecretString,
    String,
    message,
    request,
    response,
    since,
)


@message
class DescribeConfigsSynonym:
    name: String
    value: String | None
    source: Int8


@message
class DescribeConfigsResourceResult:
    name: String
    value: String | None
    read_only: Bool
    config_source: Int8 = -1
    is_sensitive: Bool
    synonyms: list[DescribeConfigsSynonym]
    config_type: Int8 = since(3, default=0, ignorable=True)
    documentation: String | None = since(3, default="", ignorable=True)


@message
class DescribeConfigsResult:
    error_code: Int16
    error_message: String | None
    resource_type: Int8
    resource_name: String
    configs: list[DescribeConfigsResourceResult]


@response(key=32, versions=(1, 4), flexible=4)
class DescribeConfigsResponse:
    throttle_time_ms: Int32
    results: list[DescribeConfigsResult]


@message
class DescribeConfigsResource:
    resource_type: Int8
    resource_name: String
    configuration_keys: list[String] | None


@request(key=32, versions=(1, 4), flexible=4)
class DescribeConfigsRequest(Request[DescribeConfigsResponse]):
    resources: list[DescribeConfigsResource]
    include_synonyms: Bool = False
    include_documentation: Bool = since(3, default=False)


@message
class AlterConfigsAlterConfigsResourceResponse:
    error_code: Int16
    error_message: String | None
    resource_type: Int8
    resource_name: String


@response(key=33, versions=(0, 2), flexible=2)
class AlterConfigsResponse:
    throttle_time_ms: Int32
    responses: list[AlterConfigsAlterConfigsResourceResponse]


@message
class AlterConfigsAlterableConfig:
    name: String
    value: SecretString | None


@message
class AlterConfigsAlterConfigsResource:
    resource_type: Int8
    resource_name: String
    configs: list[AlterConfigsAlterableConfig]


@request(key=33, versions=(0, 2), flexible=2)
class AlterConfigsRequest(Request[AlterConfigsResponse]):
    resources: list[AlterConfigsAlterConfigsResource]
    validate_only: Bool


@message
class IncrementalAlterConfigsAlterConfigsResourceResponse:
    error_code: Int16
    error_message: String | None
    resource_type: Int8
    resource_name: String


@response(key=44, versions=(0, 1), flexible=1)
class IncrementalAlterConfigsResponse:
    throttle_time_ms: Int32
    responses: list[IncrementalAlterConfigsAlterConfigsResourceResponse]


@message
class IncrementalAlterConfigsAlterableConfig:
    name: String
    config_operation: Int8
    value: SecretString | None


@message
class IncrementalAlterConfigsAlterConfigsResource:
    resource_type: Int8
    resource_name: String
    configs: list[IncrementalAlterConfigsAlterableConfig]


@request(key=44, versions=(0, 1), flexible=1)
class IncrementalAlterConfigsRequest(Request[IncrementalAlterConfigsResponse]):
    resources: list[IncrementalAlterConfigsAlterConfigsResource]
    validate_only: Bool


@message
class ConfigResource:
    resource_name: String
    resource_type: Int8 = since(1, default=16, ignorable=True)


@response(key=74, versions=(0, 1), flexible=0)
class ListConfigResourcesResponse:
    throttle_time_ms: Int32
    error_code: Int16
    config_resources: list[ConfigResource]


@request(key=74, versions=(0, 1), flexible=0)
class ListConfigResourcesRequest(Request[ListConfigResourcesResponse]):
    resource_types: list[Int8] = since(1, default=[])
