"""The cluster and its nodes: answers read as values. Pure."""

from __future__ import annotations

from kafka_aio.admin.values import ApiVersionRange, ClusterDescription, Feature
from kafka_aio.errors import UnsupportedVersion
from kafka_aio.protocol.messages import for_key
from kafka_aio.protocol.messages.api_versions import ApiVersionsResponse
from kafka_aio.protocol.messages.cluster import DescribeClusterResponse
from kafka_aio.protocol.schema import schema_of
from kafka_aio.protocol.versions import BrokerVersions
from kafka_aio.types import Node


def cluster(response: DescribeClusterResponse) -> ClusterDescription:
    nodes = {
        broker.broker_id: Node(broker.broker_id, broker.host, broker.port, broker.rack)
        for broker in response.brokers
    }
    in_order = tuple(nodes[each] for each in sorted(nodes))
    return ClusterDescription(response.cluster_id, nodes.get(response.controller_id), in_order)


def versions(response: ApiVersionsResponse) -> tuple[ApiVersionRange, ...]:
    """The APIs of a broker, by key, and which version of each we use."""
    theirs = BrokerVersions.from_response(response)
    found = []
    for api in sorted(response.api_keys, key=lambda each: each.api_key):
        name, used = "", None
        try:
            cls = for_key(api.api_key)
            name = schema_of(cls).api
            used = theirs.pick(cls)
        except UnsupportedVersion:
            pass  # an API or a version that is newer than we are
        found.append(ApiVersionRange(api.api_key, name, api.min_version, api.max_version, used))
    return tuple(found)


def features(response: ApiVersionsResponse) -> tuple[Feature, ...]:
    levels = {each.name: each.max_version_level for each in response.finalized_features}
    return tuple(
        Feature(each.name, (each.min_version, each.max_version), levels.get(each.name))
        for each in sorted(response.supported_features, key=lambda each: each.name)
    )
