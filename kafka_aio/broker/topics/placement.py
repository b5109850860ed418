"""Which names a topic may have, and on which nodes its partitions are kept. Pure.

The texts of the errors are Kafka's: tools show them.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Final

from kafka_aio.errors import InvalidReplicaAssignment, InvalidReplicationFactor, InvalidTopic

if TYPE_CHECKING:
    from kafka_aio.broker.nodes import Node

MOST_CHARACTERS: Final = 249
_FORM: Final = re.compile("[a-zA-Z0-9._-]+")


def check_topic_name(name: str) -> None:
    """Raise InvalidTopic for a name that no topic may have."""
    if why := _what_is_wrong(name):
        raise InvalidTopic(f"Topic name is invalid: {why}")


def _what_is_wrong(name: str) -> str:
    if not name:
        return "the empty string is not allowed"
    if name in (".", ".."):
        return f"'{name}' is not allowed"
    if len(name) > MOST_CHARACTERS:
        return f"the length of '{name}' is longer than the max allowed length {MOST_CHARACTERS}"
    if not _FORM.fullmatch(name):
        return (
            f"'{name}' contains one or more characters other than ASCII alphanumerics,"
            " '.', '_' and '-'"
        )
    return ""


def collision_key(name: str) -> str:
    """What two names share that would be one in the metrics of Kafka; empty if none could."""
    return name.replace(".", "_") if "." in name or "_" in name else ""


def place(
    nodes: Mapping[int, Node], partitions: int, factor: int, *, first: int
) -> list[list[int]]:
    """The replicas of each partition, in turn over the nodes; those that are down come last.

    Args:
        nodes: By id.
        partitions: How many.
        factor: How many replicas each has.
        first: How many partitions were placed before: the leaders go on from there.

    Raises:
        InvalidReplicationFactor: There are not so many nodes, or none is up.
    """
    up = [node.id for node in nodes.values() if node.is_up]
    down = [node.id for node in nodes.values() if not node.is_up]
    if not up:
        raise InvalidReplicationFactor(
            "All brokers are currently fenced, or have all their log directories cordoned."
        )
    if factor > len(nodes):
        raise InvalidReplicationFactor(
            f"The target replication factor of {factor} cannot be reached because only"
            f" {len(nodes)} broker(s) are registered or some brokers have all their log"
            " directories cordoned."
        )
    placed = []
    for turn in range(first, first + partitions):
        start = turn % len(up)
        placed.append((up[start:] + up[:start] + down)[:factor])
    return placed


def check_replicas(
    replicas: Sequence[int], nodes: Collection[int], factor: int | None = None
) -> None:
    """Raise what Kafka says of replicas that somebody has chosen for a partition.

    Args:
        replicas: The ids of their nodes.
        nodes: All ids that there are.
        factor: How many replicas the partitions before have; None for the first.

    Raises:
        InvalidReplicaAssignment: They cannot be.
    """
    what = "The manual partition assignment includes"
    if not replicas:
        raise InvalidReplicaAssignment(f"{what} an empty replica list.")
    before = None
    for node in sorted(replicas):
        if node not in nodes:
            raise InvalidReplicaAssignment(
                f"{what} broker {node}, but no such broker is registered."
            )
        if node == before:
            raise InvalidReplicaAssignment(f"{what} the broker {node} more than once.")
        before = node
    if factor is not None and len(replicas) != factor:
        raise InvalidReplicaAssignment(
            f"{what} a partition with {len(replicas)} replica(s), but this is not consistent with"
            f" previous partitions, which have {factor} replica(s)."
        )
