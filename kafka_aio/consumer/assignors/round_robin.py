"""Round robin: one partition after the other to one member after the other. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import cycle

from kafka_aio.consumer.assignors.assignor import (
    Assignment,
    Assignor,
    Member,
    Topics,
    in_order,
    partitions_of,
    subscribers,
)
from kafka_aio.types import TopicPartition


class RoundRobinAssignor(Assignor):
    """Shares all partitions of all topics out in turn; a member is passed over if it has no use."""

    name = "roundrobin"
    is_cooperative = False

    def user_data(self, owned: Sequence[TopicPartition], generation: int) -> bytes | None:
        return None

    def assign(self, members: Sequence[Member], topics: Topics) -> Assignment:
        assignment: Assignment = {member.id: [] for member in members}
        turns = cycle(in_order(members))
        for topic, wanting in subscribers(members, topics).items():
            ids = {member.id for member in wanting}
            for partition in partitions_of(topic, topics):
                # There is one: the topic is in the list because somebody wants it.
                member = next(member for member in turns if member.id in ids)
                assignment[member.id].append(partition)
        return assignment
