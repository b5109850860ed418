from __future__ import annotations

from kafka_aio.admin import nodes
from kafka_aio.admin.values import ApiVersionRange, ClusterDescription, Feature
from kafka_aio.protocol.messages.api_versions import (
    ApiVersion,
    ApiVersionsResponse,
    FinalizedFeatureKey,
    SupportedFeatureKey,
)
from kafka_aio.protocol.messages.cluster import DescribeClusterBroker, DescribeClusterResponse
from kafka_aio.types import Node


def cluster(controller: int) -> ClusterDescription:
    brokers = [
        DescribeClusterBroker(broker_id=node, host="kafka", port=9092, rack=rack)
        for node, rack in ((2, None), (1, "rack-1"))
    ]
    return nodes.cluster(
        DescribeClusterResponse(
            throttle_time_ms=0,
            error_code=0,
            cluster_id="c",
            controller_id=controller,
            brokers=brokers,
        )
    )


def test_a_cluster_has_its_nodes_by_id() -> None:
    first, second = Node(1, "kafka", 9092, "rack-1"), Node(2, "kafka", 9092)

    assert cluster(2) == ClusterDescription("c", second, (first, second))


def test_a_cluster_may_be_without_a_controller() -> None:
    assert cluster(-1).controller is None


def test_the_versions_of_a_broker_are_told_beside_the_one_we_use() -> None:
    response = ApiVersionsResponse(
        error_code=0,
        api_keys=[
            ApiVersion(api_key=9_999, min_version=0, max_version=1),  # newer than we are
            ApiVersion(api_key=18, min_version=0, max_version=3),
            ApiVersion(api_key=3, min_version=90, max_version=99),  # has left us behind
        ],
    )

    metadata, hello, unknown = nodes.versions(response)

    assert metadata == ApiVersionRange(3, "Metadata", 90, 99, None)
    assert hello == ApiVersionRange(18, "ApiVersions", 0, 3, 3)
    assert unknown == ApiVersionRange(9_999, "", 0, 1, None)


def test_features_are_told_with_the_level_that_the_cluster_has() -> None:
    response = ApiVersionsResponse(
        error_code=0,
        api_keys=[],
        supported_features=[
            SupportedFeatureKey(name="share.version", min_version=0, max_version=1),
            SupportedFeatureKey(name="group.version", min_version=0, max_version=1),
        ],
        finalized_features=[
            FinalizedFeatureKey(name="group.version", max_version_level=1, min_version_level=1)
        ],
    )

    assert nodes.features(response) == (
        Feature("group.version", (0, 1), 1),
        Feature("share.version", (0, 1), None),
    )
