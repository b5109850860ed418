"""Sticky: as even as can be, and each member keeps what it had as far as that allows. Pure.

A member of an eager group gives everything back before it joins again; what it had and since when
is in its user data (KIP-54, KIP-341).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from kafka_aio.consumer.assignors.assignor import (
    Assignment,
    Assignor,
    Member,
    Topics,
    in_order,
    partitions_of,
    subscribers,
)
from kafka_aio.consumer.assignors.balance import share_between_some
from kafka_aio.consumer.assignors.claims import Claim, owners
from kafka_aio.consumer.assignors.nearness import Racks, bring_near_to_all, bring_near_to_some
from kafka_aio.consumer.assignors.shares import share_between_all
from kafka_aio.errors import ProtocolError
from kafka_aio.protocol.codec import decode_from, encode
from kafka_aio.protocol.messages.consumer_protocol import ConsumerProtocolAssignmentTopicPartition
from kafka_aio.protocol.schema import Int32, data, since
from kafka_aio.types import TopicPartition, by_topic


@data(versions=(0, 1))
class StickyUserData:
    """What a member had. Nothing in the bytes tells the version: the older one ends earlier."""

    previous_assignment: list[ConsumerProtocolAssignmentTopicPartition]
    generation: Int32 = since(1, default=-1)


class StickyAssignor(Assignor):
    """Moves no more than evenness takes; members give all back before they join again."""

    name = "sticky"
    is_cooperative = False

    def user_data(self, owned: Sequence[TopicPartition], generation: int) -> bytes | None:
        if not owned and generation < 0:
            return None  # it was never in the group
        return encode_claim(Claim(owned, generation))

    def assign(self, members: Sequence[Member], topics: Topics) -> Assignment:
        claims = {member.id: decode_claim(member.user_data) for member in members}
        return assign_sticky(members, topics, claims)


def assign_sticky(
    members: Sequence[Member], topics: Topics, claims: Mapping[str, Claim]
) -> Assignment:
    """Share all partitions out evenly, and move as few as possible from those who had them."""
    ordered = in_order(members)
    wanting = {
        topic: [member.id for member in wanting]
        for topic, wanting in subscribers(ordered, topics).items()
    }
    partitions = {topic: partitions_of(topic, topics) for topic in wanting}
    had = {
        partition: member_id
        for partition, member_id in sorted(owners(claims).items())
        if member_id in wanting.get(partition.topic, ())
        and 0 <= partition.partition < len(partitions[partition.topic])
    }
    ids = [member.id for member in ordered]
    racks = Racks(ordered, {topic: topics[topic] for topic in wanting})
    if all(len(each) == len(ids) for each in wanting.values()):
        shared = share_between_all(ids, [each for run in partitions.values() for each in run], had)
        if racks.matter:
            shared = bring_near_to_all(shared, racks, had)
    else:
        shared = share_between_some(ids, partitions, wanting, had)
        if racks.matter:
            shared = bring_near_to_some(shared, racks, had, wanting)
    return {member.id: sorted(shared[member.id]) for member in members}


def encode_claim(claim: Claim) -> bytes:
    """The user data of a member."""
    previous = [
        ConsumerProtocolAssignmentTopicPartition(topic=topic, partitions=numbers)
        for topic, numbers in by_topic(sorted(claim.partitions)).items()
    ]
    return encode(StickyUserData(previous_assignment=previous, generation=claim.generation), 1)


def decode_claim(user_data: bytes) -> Claim:
    """What a member had; nothing where its bytes cannot be understood.

    It does not fail, because one strange member must not keep the others from their work.
    """
    for version in (1, 0):
        try:
            read, _ = decode_from(StickyUserData, user_data, version, 0)
        except ProtocolError:
            continue
        partitions = [
            TopicPartition(each.topic, number)
            for each in read.previous_assignment
            for number in each.partitions
        ]
        return Claim(partitions, read.generation)
    return Claim()
