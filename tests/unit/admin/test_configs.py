from __future__ import annotations

import pytest

from kafka_aio.admin import configs
from kafka_aio.admin.values import (
    ConfigChange,
    ConfigEntry,
    ConfigResource,
    ConfigResourceKind,
)
from kafka_aio.errors import InvalidConfig, UnknownTopicOrPartition
from kafka_aio.protocol import codec
from kafka_aio.protocol.messages.configs import (
    DescribeConfigsResourceResult,
    DescribeConfigsResponse,
    DescribeConfigsResult,
    DescribeConfigsSynonym,
    IncrementalAlterConfigsAlterConfigsResourceResponse,
    IncrementalAlterConfigsResponse,
)
from kafka_aio.types import ConfigSource, ConfigType

TOPIC = ConfigResource.topic("orders")
RETENTION = DescribeConfigsResourceResult(
    name="retention.ms",
    value="5",
    read_only=False,
    config_source=1,
    is_sensitive=False,
    synonyms=[DescribeConfigsSynonym(name="log.retention.ms", value="7", source=4)],
    config_type=5,
    documentation="How long.",
)


def result(
    resource: ConfigResource,
    *options: DescribeConfigsResourceResult,
    code: int = 0,
    kind: int | None = None,
) -> DescribeConfigsResult:
    return DescribeConfigsResult(
        error_code=code,
        error_message="so it says" if code else None,
        resource_type=resource.kind if kind is None else kind,
        resource_name=resource.name,
        configs=list(options),
    )


@pytest.mark.parametrize(
    ("resource", "node"),
    [
        (ConfigResource.broker(3), 3),
        (ConfigResource.broker_logger(3), 3),
        (ConfigResource.broker(None), None),
        (ConfigResource.topic("3"), None),
        (ConfigResource.group("3"), None),
        (ConfigResource(ConfigResourceKind.CLIENT_METRICS, "3"), None),
    ],
)
def test_what_belongs_to_one_node_is_asked_of_it(
    resource: ConfigResource, node: int | None
) -> None:
    assert configs.node_of(resource) == node


@pytest.mark.parametrize("name", ["one", "-1", "1.0", "²", "1 "])
def test_a_broker_is_named_by_its_id(name: str) -> None:
    with pytest.raises(ValueError, match="named by its node id, such as '1'"):
        configs.node_of(ConfigResource(ConfigResourceKind.BROKER, name))


def test_all_options_of_a_resource_are_asked_for() -> None:
    request = configs.describe([TOPIC, ConfigResource.broker(1)])

    assert codec.encode(request, 4)
    assert [(each.resource_type, each.resource_name) for each in request.resources] == [
        (2, "orders"),
        (4, "1"),
    ]
    assert [each.configuration_keys for each in request.resources] == [None, None]


def test_an_option_is_read_with_where_it_comes_from() -> None:
    response = DescribeConfigsResponse(throttle_time_ms=0, results=[result(TOPIC, RETENTION)])

    found = configs.described(response)

    assert found == {
        TOPIC: {
            "retention.ms": ConfigEntry(
                "retention.ms",
                "5",
                ConfigSource.TOPIC,
                type=ConfigType.LONG,
                documentation="How long.",
                synonyms=(("log.retention.ms", "7", ConfigSource.STATIC_BROKER),),
            )
        }
    }


def test_a_resource_that_cannot_be_described_is_an_error_in_its_place() -> None:
    response = DescribeConfigsResponse(throttle_time_ms=0, results=[result(TOPIC, code=3)])

    error = configs.described(response)[TOPIC]

    assert isinstance(error, UnknownTopicOrPartition)
    assert str(error).startswith("topic orders: ")
    assert error.message == "so it says"


def test_a_kind_of_resource_that_we_do_not_know_is_left_out() -> None:
    stranger = result(TOPIC, RETENTION, kind=99)
    response = DescribeConfigsResponse(throttle_time_ms=0, results=[stranger, result(TOPIC)])
    altered = IncrementalAlterConfigsAlterConfigsResourceResponse(
        error_code=0, error_message=None, resource_type=99, resource_name="orders"
    )

    assert configs.described(response) == {TOPIC: {}}
    assert (
        configs.altered(IncrementalAlterConfigsResponse(throttle_time_ms=0, responses=[altered]))
        == {}
    )


def test_changes_are_sent_with_their_operations() -> None:
    changes = [
        ConfigChange.set("a", "1"),
        ConfigChange.delete("b"),
        ConfigChange.append("c", "2"),
        ConfigChange.subtract("d", "3"),
    ]

    request = configs.alter({TOPIC: changes}, validate=True)

    assert codec.encode(request, 1)
    assert request.validate_only
    (resource,) = request.resources
    assert [(each.config_operation, each.name, each.value) for each in resource.configs] == [
        (0, "a", "1"),
        (1, "b", None),
        (2, "c", "2"),
        (3, "d", "3"),
    ]


def test_a_value_does_not_show_in_the_request() -> None:
    request = configs.alter({TOPIC: [ConfigChange.set("a", "hush")]}, validate=True)

    assert "hush" not in repr(request)


def test_the_outcome_of_each_change_is_told() -> None:
    results = [
        IncrementalAlterConfigsAlterConfigsResourceResponse(
            error_code=code, error_message=None, resource_type=2, resource_name=name
        )
        for name, code in (("orders", 0), ("other", 40))
    ]

    found = configs.altered(IncrementalAlterConfigsResponse(throttle_time_ms=0, responses=results))

    assert found[TOPIC] is None
    assert isinstance(found[ConfigResource.topic("other")], InvalidConfig)
