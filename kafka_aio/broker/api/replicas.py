"""Where partitions are: what the asked node has of them, and who leads them instead. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kafka_aio.errors import (
    FencedLeaderEpoch,
    NotLeaderOrFollower,
    UnknownLeaderEpoch,
    UnknownTopicOrPartition,
)

if TYPE_CHECKING:
    from kafka_aio.broker.call import Call
    from kafka_aio.broker.nodes import Node
    from kafka_aio.broker.topics.topics import Partition, Topic


def existing(topic: Topic | None, index: int) -> Partition:
    """A partition of a topic.

    Raises:
        UnknownTopicOrPartition: There is no such topic, or it has no such partition.
    """
    if topic is None or not 0 <= index < len(topic.partitions):
        raise UnknownTopicOrPartition()
    return topic.partitions[index]


def check_replica(
    call: Call, partition: Partition, *, epoch: int = -1, leader_only: bool = True
) -> None:
    """See whether the asked node can answer for a partition.

    Args:
        call: The call.
        partition: The partition.
        epoch: The leader epoch that the client believes in; -1 if it does not say.
        leader_only: Whether only the leader can; otherwise any replica.

    Raises:
        NotLeaderOrFollower: It cannot.
        FencedLeaderEpoch: There is a newer leader than the client knows.
        UnknownLeaderEpoch: The client knows a newer leader than there is.
    """
    if call.node not in partition.replicas:
        raise NotLeaderOrFollower()
    if epoch >= 0 and epoch != partition.leader_epoch:
        raise FencedLeaderEpoch() if epoch < partition.leader_epoch else UnknownLeaderEpoch()
    if leader_only and partition.leader != call.node:
        raise NotLeaderOrFollower()


def leader_node(call: Call, partition: Partition) -> Node | None:
    """The node that leads a partition, if it is up: clients are told where it is (KIP-951)."""
    node = call.state.nodes.get(partition.leader)
    return node if node is not None and node.is_up else None
