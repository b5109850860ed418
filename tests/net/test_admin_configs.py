from __future__ import annotations

import asyncio
from typing import Any

import pytest

from kafka_aio.admin import ConfigChange, ConfigResource
from kafka_aio.errors import (
    InvalidConfig,
    KafkaConnectionError,
    KafkaError,
    KafkaTimeoutError,
    UnknownTopicOrPartition,
    UnsupportedVersion,
)
from kafka_aio.protocol.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse
from kafka_aio.protocol.messages.configs import (
    DescribeConfigsRequest,
    IncrementalAlterConfigsRequest,
)
from kafka_aio.protocol.schema import schema_of
from tests.net.admin_answers import all_is_well, alters_configs, describes_configs
from tests.net.clusters import Scripted, admin_of, scripted
from tests.net.server import ALL_VERSIONS, HOST, closes, falls_silent, says
from tests.net.test_cluster import refusing_port

TOPIC, GROUP, EVERYWHERE = (
    ConfigResource.topic("orders"),
    ConfigResource.group("g"),
    ConfigResource.broker(None),
)
NODE_1, NODE_2, NODE_3 = (ConfigResource.broker(node) for node in (1, 2, 3))
LOGGERS_2 = ConfigResource.broker_logger(2)
SET = [ConfigChange.set("a", "1")]


def asked_of(script: Scripted, cls: type[Any], node: int) -> list[list[tuple[int, str]]]:
    return [
        [(each.resource_type, each.resource_name) for each in asked.message.resources]
        for asked in script.asked(cls, node)
    ]


def value(found: object) -> str | None:
    assert isinstance(found, dict), found
    text: str | None = found["its name"].value
    return text


async def test_options_of_a_node_are_asked_of_it_and_all_others_of_any() -> None:
    async with scripted(3) as script, admin_of(script.bootstrap()) as admin:
        all_is_well(script)
        resources = [NODE_2, TOPIC, NODE_3, LOGGERS_2, GROUP, EVERYWHERE]

        found = await admin.describe_configs(resources)

        assert list(found) == resources
        assert [value(each) for each in found.values()] == ["2", "orders", "3", "2", "g", ""]
        anywhere = [(2, "orders"), (32, "g"), (4, "")]
        by_node = [asked_of(script, DescribeConfigsRequest, node) for node in (1, 2, 3)]
        assert [(4, "2"), (8, "2")] in by_node[1]
        assert [(4, "3")] in by_node[2]
        assert sum(anywhere in each for each in by_node) == 1
        assert len(script.asked(DescribeConfigsRequest)) == 3


async def test_options_of_a_node_are_changed_on_it() -> None:
    async with scripted(2) as script, admin_of(script.bootstrap()) as admin:
        all_is_well(script)

        result = await admin.alter_configs({NODE_2: SET, NODE_1: SET, LOGGERS_2: SET})

        assert result == {NODE_2: None, NODE_1: None, LOGGERS_2: None}
        assert asked_of(script, IncrementalAlterConfigsRequest, 1) == [[(4, "1")]]
        assert asked_of(script, IncrementalAlterConfigsRequest, 2) == [[(4, "2"), (8, "2")]]


async def test_nodes_are_asked_at_the_same_time() -> None:
    async with scripted(3) as script, admin_of(script.bootstrap()) as admin:
        task = asyncio.create_task(admin.describe_configs([NODE_1, NODE_2, NODE_3]))
        asked = [await script.brokers[node].next() for node in (1, 2, 3)]  # none is answered yet

        for each in asked:
            describes_configs()(each)

        assert list(await task) == [NODE_1, NODE_2, NODE_3]


async def test_what_is_refused_is_an_error_in_its_place() -> None:
    async with scripted(1) as script, admin_of(script.bootstrap()) as admin:
        script.react(DescribeConfigsRequest, describes_configs({"orders": 3}))
        script.react(IncrementalAlterConfigsRequest, alters_configs({"orders": 40}))

        described = await admin.describe_configs([TOPIC, GROUP, NODE_1])
        altered = await admin.alter_configs({TOPIC: SET, NODE_1: SET})

        assert isinstance(described[TOPIC], UnknownTopicOrPartition)
        assert (value(described[GROUP]), value(described[NODE_1])) == ("g", "1")
        assert isinstance(altered[TOPIC], InvalidConfig)
        assert altered[NODE_1] is None


async def test_a_node_that_is_down_fails_what_is_its_own() -> None:
    async with scripted(2) as script:
        all_is_well(script)
        script.ports[2] = refusing_port()
        async with admin_of(script.bootstrap(1)) as admin:
            found = await admin.describe_configs([NODE_2, TOPIC, NODE_1, LOGGERS_2], timeout=0.5)

            assert (value(found[TOPIC]), value(found[NODE_1])) == ("orders", "1")
            first, second = found[NODE_2], found[LOGGERS_2]
            assert isinstance(first, KafkaTimeoutError)
            assert isinstance(second, KafkaTimeoutError)
            assert first is not second
            assert f"the last: {HOST}:{script.ports[2]}: " in str(first)
            assert "refused" in str(first)


async def test_a_node_that_is_down_is_raised_when_there_is_nothing_else_to_tell() -> None:
    async with scripted(3) as script:
        script.ports[2], script.ports[3] = refusing_port(), refusing_port()
        async with admin_of(script.bootstrap(1)) as admin:
            with pytest.raises(KafkaTimeoutError, match="describe_configs: not done in time"):
                await admin.describe_configs([NODE_2, NODE_3], timeout=0.3)


async def test_a_node_that_comes_back_in_time_is_no_error() -> None:
    async with scripted(2) as script:
        all_is_well(script)
        right = script.ports[2]
        script.ports[2] = refusing_port()
        async with admin_of(script.bootstrap(1)) as admin:
            script.ports[2] = right

            found = await admin.describe_configs([NODE_1, NODE_2])

            assert [value(each) for each in found.values()] == ["1", "2"]


@pytest.mark.parametrize("goes", [closes, falls_silent])
async def test_a_change_that_one_node_lost_says_so_in_its_place(goes: Any) -> None:
    async with scripted(2) as script:
        all_is_well(script)
        script.brokers[2].reactions[IncrementalAlterConfigsRequest] = goes
        async with admin_of(script.bootstrap(), request_timeout_ms=300) as admin:
            result = await admin.alter_configs({NODE_1: SET, NODE_2: SET})

            assert result[NODE_1] is None
            error = result[NODE_2]
            assert isinstance(error, KafkaConnectionError | KafkaTimeoutError)
            assert error.indefinite
            assert len(script.asked(IncrementalAlterConfigsRequest, 2)) == 1


async def test_a_node_of_another_version_fails_what_is_its_own() -> None:
    key = schema_of(IncrementalAlterConfigsRequest).key
    rest = [each for each in ALL_VERSIONS if each.api_key != key]
    async with scripted(2) as script:
        all_is_well(script)
        script.brokers[2].reactions[ApiVersionsRequest] = says(
            ApiVersionsResponse(error_code=0, api_keys=rest)
        )
        async with admin_of(script.bootstrap(1)) as admin:
            result = await admin.alter_configs({NODE_1: SET, NODE_2: SET})

            assert result[NODE_1] is None
            assert isinstance(result[NODE_2], UnsupportedVersion)


async def test_a_node_that_does_not_exist_ends_with_the_time() -> None:
    async with scripted(1) as script, admin_of(script.bootstrap()) as admin:
        with pytest.raises(KafkaError, match="node 9 is not in the cluster"):
            await admin.describe_configs([ConfigResource.broker(9)], timeout=0.3)


async def test_a_value_that_is_set_is_shown_by_no_error() -> None:
    async with scripted(1) as script, admin_of(script.bootstrap()) as admin:
        script.react(IncrementalAlterConfigsRequest, closes)

        with pytest.raises(KafkaConnectionError) as raised:
            await admin.alter_configs({NODE_1: [ConfigChange.set("ssl.key.password", "hush")]})

        assert "hush" not in str(raised.value)
        assert "hush" not in repr(raised.value)
