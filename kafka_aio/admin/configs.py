"""Options of topics, brokers and groups: requests to make, and answers read as values. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from kafka_aio.admin.values import (
    ConfigChange,
    ConfigEntry,
    ConfigResource,
    ConfigResourceKind,
)
from kafka_aio.errors import KafkaError, for_code
from kafka_aio.protocol.messages.configs import (
    DescribeConfigsRequest,
    DescribeConfigsResource,
    DescribeConfigsResourceResult,
    DescribeConfigsResponse,
    IncrementalAlterConfigsAlterableConfig,
    IncrementalAlterConfigsAlterConfigsResource,
    IncrementalAlterConfigsRequest,
    IncrementalAlterConfigsResponse,
)
from kafka_aio.types import ConfigSource, ConfigType

_OF_ONE_NODE = (ConfigResourceKind.BROKER, ConfigResourceKind.BROKER_LOGGER)


def node_of(resource: ConfigResource) -> int | None:
    """The node that alone can answer; None if any can.

    Raises:
        ValueError: It is a broker's, and not named by a node id.
    """
    if resource.kind not in _OF_ONE_NODE or not resource.name:
        return None
    if not resource.name.isascii() or not resource.name.isdigit():
        raise ValueError(f"{resource}: a broker is named by its node id, such as '1'")
    return int(resource.name)


def describe(resources: Iterable[ConfigResource]) -> DescribeConfigsRequest:
    return DescribeConfigsRequest(
        resources=[
            DescribeConfigsResource(
                resource_type=resource.kind, resource_name=resource.name, configuration_keys=None
            )
            for resource in resources
        ],
        include_synonyms=True,
        include_documentation=True,
    )


def described(
    response: DescribeConfigsResponse,
) -> dict[ConfigResource, dict[str, ConfigEntry] | KafkaError]:
    found: dict[ConfigResource, dict[str, ConfigEntry] | KafkaError] = {}
    for result in response.results:
        resource = _resource(result.resource_type, result.resource_name)
        if resource is None:
            continue
        if result.error_code:
            found[resource] = for_code(result.error_code, result.error_message, where=str(resource))
        else:
            found[resource] = {config.name: _entry(config) for config in result.configs}
    return found


def alter(
    changes: Mapping[ConfigResource, Iterable[ConfigChange]], *, validate: bool
) -> IncrementalAlterConfigsRequest:
    return IncrementalAlterConfigsRequest(
        resources=[
            IncrementalAlterConfigsAlterConfigsResource(
                resource_type=resource.kind,
                resource_name=resource.name,
                configs=[
                    IncrementalAlterConfigsAlterableConfig(
                        name=change.name, config_operation=change.operation, value=change.value
                    )
                    for change in each
                ],
            )
            for resource, each in changes.items()
        ],
        validate_only=validate,
    )


def altered(
    response: IncrementalAlterConfigsResponse,
) -> dict[ConfigResource, KafkaError | None]:
    found: dict[ConfigResource, KafkaError | None] = {}
    for result in response.responses:
        resource = _resource(result.resource_type, result.resource_name)
        if resource is None:
            continue
        code, message = result.error_code, result.error_message
        found[resource] = for_code(code, message, where=str(resource)) if code else None
    return found


def _resource(kind: int, name: str) -> ConfigResource | None:
    """What an answer is about; None if it is nothing that we can have asked for."""
    try:
        return ConfigResource(ConfigResourceKind(kind), name)
    except ValueError:
        return None


def _entry(config: DescribeConfigsResourceResult) -> ConfigEntry:
    return ConfigEntry(
        name=config.name,
        value=config.value,
        source=ConfigSource(config.config_source),
        is_read_only=config.read_only,
        is_sensitive=config.is_sensitive,
        type=ConfigType(config.config_type),
        documentation=config.documentation or "",
        synonyms=tuple(
            (synonym.name, synonym.value, ConfigSource(synonym.source))
            for synonym in config.synonyms
        ),
    )
