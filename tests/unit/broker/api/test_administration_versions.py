"""Every answer of an administrator's APIs, in every version that is served."""

from __future__ import annotations

from typing import Any

import pytest

from kafka_aio.broker.api import SERVED
from kafka_aio.errors import UnknownServerError, UnsupportedVersion
from kafka_aio.protocol.codec import encode
from kafka_aio.protocol.messages.cluster import DescribeClusterRequest
from kafka_aio.protocol.messages.configs import ListConfigResourcesRequest
from kafka_aio.protocol.messages.metadata import MetadataRequest, MetadataRequestTopic
from kafka_aio.protocol.messages.topics import (
    DeleteTopicsRequest,
    ElectLeadersRequest,
    ListPartitionReassignmentsRequest,
)
from kafka_aio.protocol.schema import Request, schema_of
from tests.unit.broker.api.administration import (
    BROKER,
    GROUP,
    NOBODYS_ID,
    SET,
    TOPIC,
    alter,
    change,
    create,
    delete,
    describe,
    describe_partitions,
    elect,
    grow,
    metadata,
    reassign,
    topic,
)
from tests.unit.broker.clusters import call, made

MODULES = ("metadata", "topics", "configs", "cluster")

REQUESTS: list[Request[Any]] = [
    MetadataRequest(topics=[MetadataRequestTopic(name=name) for name in ("t", "new", "a b")]),
    MetadataRequest(topics=[]),
    MetadataRequest(topics=None),
    MetadataRequest(
        topics=[MetadataRequestTopic(name="t")], include_topic_authorized_operations=True
    ),
    metadata("t", by_id=[NOBODYS_ID]),
    metadata("t", "nope"),
    describe_partitions("t", "nope", limit=1),
    create(topic("new", 2, 1), topic("t"), topic("new.er", configs={"retention.ms": "5"})),
    delete("t", "nope", by_id=[NOBODYS_ID]),
    DeleteTopicsRequest(topic_names=["t", "nope"], timeout_ms=1_000),
    grow(("t", 5), ("nope", 2)),
    describe(TOPIC, "t", synonyms=True),
    describe(TOPIC, "nope"),
    describe(BROKER, "1", synonyms=True),
    describe(BROKER, ""),
    describe(GROUP, "g"),
    alter(TOPIC, "t", {"retention.ms": "5"}),
    alter(TOPIC, "t", {"nope": "5"}),
    change(TOPIC, "t", (SET, "retention.ms", "5")),
    change(TOPIC, "t", (SET, "nope", "5")),
    ListConfigResourcesRequest(),
    ListConfigResourcesRequest(resource_types=[TOPIC]),
    DescribeClusterRequest(include_cluster_authorized_operations=True),
    DescribeClusterRequest(include_cluster_authorized_operations=False, endpoint_type=2),
    DescribeClusterRequest(
        include_cluster_authorized_operations=False, include_fenced_brokers=True
    ),
    elect(0, t=[0, 9], nope=[0]),
    elect(1, t=[0, 1]),
    ElectLeadersRequest(topic_partitions=None),
    reassign("t", 0, [1]),
    reassign("t", 0, None),
    ListPartitionReassignmentsRequest(topics=None),
]


def versions(request: Request[Any]) -> list[int]:
    """Those in which it can be said."""
    first, last = schema_of(type(request)).stable_versions
    found = []
    for version in range(first, last + 1):
        try:
            encode(request, version)
        except UnsupportedVersion:
            continue
        found.append(version)
    return found


CASES = [
    pytest.param(request, version, id=f"{schema_of(type(request)).api}-{index}-v{version}")
    for index, request in enumerate(REQUESTS)
    for version in versions(request)
]


@pytest.mark.parametrize("with_fault", [False, True])
@pytest.mark.parametrize(("request_", "version"), CASES)
def test_the_answer_can_be_sent(request_: Request[Any], version: int, with_fault: bool) -> None:
    state = made(2, {"t": 3}, delete_topic_enable=True)
    state.node_down(2)
    if with_fault:
        state.faults.fail(type(request_), UnknownServerError)

    assert call(state, request_, version=version) is not None


def test_every_version_of_every_api_is_among_the_cases() -> None:
    asked = {
        (schema_of(type(request)).key, version)
        for request in REQUESTS
        for version in versions(request)
    }
    ours = [key for key, name in SERVED.items() if name.partition(".")[0] in MODULES]

    served = set()
    for key in ours:
        (cls,) = {type(each) for each in REQUESTS if schema_of(type(each)).key == key}
        first, last = schema_of(cls).stable_versions
        served |= {(key, version) for version in range(first, last + 1)}

    assert asked == served
