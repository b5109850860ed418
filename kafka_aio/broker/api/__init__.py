"""What the broker answers: one module per family of APIs, imported when first asked. Pure."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from importlib import import_module
from typing import Any, Final, TypeAlias

from kafka_aio.broker.call import Call

Answerer: TypeAlias = Callable[[Any, Call], object | None]
"""Takes a request and its call; returns the response, or None if it answers later."""

SERVED: Final = {
    0: "produce.produce",
    1: "fetch.fetch",
    2: "offsets.list_offsets",
    3: "metadata.metadata",
    8: "group_offsets.commit",
    9: "group_offsets.fetch",
    10: "coordinators.find_coordinator",
    11: "classic_groups.join",
    12: "classic_groups.heartbeat",
    13: "classic_groups.leave",
    14: "classic_groups.sync",
    15: "group_admin.describe_classic",
    16: "group_admin.list_groups",
    17: "sasl.handshake",
    18: "versions.api_versions",
    19: "topics.create",
    20: "topics.delete",
    21: "offsets.delete_records",
    22: "producers.init_producer_id",
    23: "offsets.offset_for_leader_epoch",
    29: "acls.describe",
    30: "acls.create",
    31: "acls.delete",
    32: "configs.describe",
    33: "configs.alter",
    36: "sasl.authenticate",
    37: "topics.create_partitions",
    42: "group_admin.delete_groups",
    43: "cluster.elect_leaders",
    44: "configs.incremental_alter",
    45: "cluster.alter_partition_reassignments",
    46: "cluster.list_partition_reassignments",
    47: "group_offsets.delete",
    48: "quotas.describe",
    50: "users.describe",
    51: "users.alter",
    60: "cluster.describe_cluster",
    61: "producers.describe_producers",
    68: "consumer_groups.heartbeat",
    69: "consumer_groups.describe",
    74: "configs.list_resources",
    75: "metadata.describe_topic_partitions",
}
"""The module and function of each API key that is served."""


@cache
def answerer_of(key: int) -> Answerer:
    """Who answers the requests of an API."""
    module, _, name = SERVED[key].partition(".")
    found: Answerer = getattr(import_module(f"{__name__}.{module}"), name)
    return found
