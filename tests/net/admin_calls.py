"""Every call of `Admin`, by name."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any, TypeAlias

import pytest

from kafka_aio.admin import (
    Admin,
    ConfigChange,
    ConfigResource,
    NewTopic,
    OffsetReset,
    OffsetSpec,
)
from kafka_aio.protocol.messages.cluster import DescribeClusterRequest
from kafka_aio.protocol.messages.configs import (
    DescribeConfigsRequest,
    IncrementalAlterConfigsRequest,
)
from kafka_aio.protocol.messages.consumer_group import ConsumerGroupDescribeRequest
from kafka_aio.protocol.messages.groups import (
    DeleteGroupsRequest,
    LeaveGroupRequest,
    ListGroupsRequest,
)
from kafka_aio.protocol.messages.metadata import DescribeTopicPartitionsRequest
from kafka_aio.protocol.messages.offsets import (
    ListOffsetsRequest,
    OffsetCommitRequest,
    OffsetDeleteRequest,
    OffsetFetchRequest,
)
from kafka_aio.protocol.messages.topics import (
    CreatePartitionsRequest,
    CreateTopicsRequest,
    DeleteRecordsRequest,
    DeleteTopicsRequest,
)
from kafka_aio.types import TopicPartition

Called: TypeAlias = Callable[..., Coroutine[Any, Any, Any]]

ORDERS = ConfigResource.topic("orders")
ORDERS_0 = TopicPartition("orders", 0)
SET = [ConfigChange.set("retention.ms", "1")]

CALLS: dict[str, Called] = {
    "create_topics": lambda admin, **more: admin.create_topics([NewTopic("orders")], **more),
    "delete_topics": lambda admin, **more: admin.delete_topics(["orders"], **more),
    "create_partitions": lambda admin, **more: admin.create_partitions({"orders": 2}, **more),
    "list_topics": lambda admin, **more: admin.list_topics(**more),
    "describe_topics": lambda admin, **more: admin.describe_topics(["orders"], **more),
    "describe_configs": lambda admin, **more: admin.describe_configs([ORDERS], **more),
    "alter_configs": lambda admin, **more: admin.alter_configs({ORDERS: SET}, **more),
    "describe_cluster": lambda admin, **more: admin.describe_cluster(**more),
    "list_groups": lambda admin, **more: admin.list_groups(**more),
    "describe_groups": lambda admin, **more: admin.describe_groups(["billing"], **more),
    "delete_groups": lambda admin, **more: admin.delete_groups(["billing"], **more),
    "remove_members": lambda admin, **more: admin.remove_members(
        "billing", member_ids=["m"], **more
    ),
    "list_group_offsets": lambda admin, **more: admin.list_group_offsets(["billing"], **more),
    "alter_group_offsets": lambda admin, **more: admin.alter_group_offsets(
        "billing", {ORDERS_0: 1}, **more
    ),
    "delete_group_offsets": lambda admin, **more: admin.delete_group_offsets(
        "billing", [ORDERS_0], **more
    ),
    "reset_group_offsets": lambda admin, **more: admin.reset_group_offsets(
        "billing", OffsetReset.latest(), topics=["orders"], **more
    ),
    "list_offsets": lambda admin, **more: admin.list_offsets(
        {ORDERS_0: OffsetSpec.latest()}, **more
    ),
    "delete_records": lambda admin, **more: admin.delete_records({ORDERS_0: -1}, **more),
    "nodes": lambda admin, **more: admin.nodes(**more),
}
REQUESTS: dict[str, type[Any]] = {
    "create_topics": CreateTopicsRequest,
    "delete_topics": DeleteTopicsRequest,
    "create_partitions": CreatePartitionsRequest,
    "describe_topics": DescribeTopicPartitionsRequest,
    "describe_configs": DescribeConfigsRequest,
    "alter_configs": IncrementalAlterConfigsRequest,
    "describe_cluster": DescribeClusterRequest,
    "list_groups": ListGroupsRequest,
    "describe_groups": ConsumerGroupDescribeRequest,
    "delete_groups": DeleteGroupsRequest,
    "remove_members": LeaveGroupRequest,
    "list_group_offsets": OffsetFetchRequest,
    "alter_group_offsets": OffsetCommitRequest,
    "delete_group_offsets": OffsetDeleteRequest,
    "list_offsets": ListOffsetsRequest,
    "delete_records": DeleteRecordsRequest,
}
CHANGES = (
    *("create_topics", "delete_topics", "create_partitions", "alter_configs"),
    *("delete_groups", "remove_members", "alter_group_offsets", "delete_group_offsets"),
    "delete_records",
)
QUESTIONS = (
    *("describe_topics", "describe_configs", "describe_cluster"),
    *("list_groups", "describe_groups", "list_group_offsets", "list_offsets"),
)

each_call = pytest.mark.parametrize("call", [pytest.param(CALLS[name], id=name) for name in CALLS])


async def is_well(admin: Admin) -> bool:
    """Whether it can still be used."""
    created = await admin.create_topics([NewTopic("another")])
    return (await admin.describe_cluster()).cluster_id == "scripted" and "another" in created


async def cancelled_after(turns: int, work: Coroutine[Any, Any, object]) -> bool:
    """Cancel it after so many turns of the loop. True if it was done by then."""
    task = asyncio.create_task(work)
    for _ in range(turns):
        await asyncio.sleep(0)
    if task.done():
        await task
        return True
    task.cancel()
    (outcome,) = await asyncio.gather(task, return_exceptions=True)
    assert isinstance(outcome, asyncio.CancelledError)
    return False
