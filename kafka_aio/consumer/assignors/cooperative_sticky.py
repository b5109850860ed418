"""Cooperative sticky: members keep what they have, and give back only what others get. Pure.

A partition that moves is first taken from the one who has it, and given to nobody. That member
gives it back and joins again, and so the other gets it in the next generation (KIP-429).
"""

from __future__ import annotations

import struct
from collections.abc import Sequence

from kafka_aio.consumer.assignors.assignor import Assignment, Assignor, Member, Topics
from kafka_aio.consumer.assignors.claims import Claim, claimants, owners
from kafka_aio.consumer.assignors.sticky import assign_sticky
from kafka_aio.types import TopicPartition

_GENERATION = struct.Struct(">i")


class CooperativeStickyAssignor(Assignor):
    """Moves no more than evenness takes, and nothing that its owner has not given back yet."""

    name = "cooperative-sticky"
    is_cooperative = True

    def user_data(self, owned: Sequence[TopicPartition], generation: int) -> bytes | None:
        # What is owned is in the subscription, and for newer members the generation too.
        return _GENERATION.pack(generation)

    def assign(self, members: Sequence[Member], topics: Topics) -> Assignment:
        claims = {member.id: Claim(member.owned, _generation(member)) for member in members}
        assignment = assign_sticky(members, topics, claims)
        rightful = owners(claims)
        claimed = claimants(claims)
        return {
            member_id: [
                partition
                for partition in partitions
                if rightful.get(partition) == member_id
                or claimed.get(partition, set()) <= {member_id}
            ]
            for member_id, partitions in assignment.items()
        }


def _generation(member: Member) -> int:
    """Since when it owns what it owns: older subscriptions have it in the user data alone."""
    if member.generation >= 0 or len(member.user_data) < _GENERATION.size:
        return member.generation
    generation: int = _GENERATION.unpack_from(member.user_data)[0]
    return generation
