"""What members of a classic group tell each other through the coordinator. Pure.

A member sends its subscription when it joins, the leader an assignment for each: `Assigned`, which
an admin reads too. `protocol.member_data` has their bytes.
"""

from __future__ import annotations

from dataclasses import dataclass

from kafka_aio.consumer.assignors.assignor import Member
from kafka_aio.protocol.member_data import NEWEST, read, write
from kafka_aio.protocol.member_data import Assigned as Assigned
from kafka_aio.protocol.messages.consumer_protocol import (
    ConsumerProtocolSubscription,
    ConsumerProtocolSubscriptionTopicPartition,
)
from kafka_aio.types import TopicPartition, by_topic


@dataclass(frozen=True, slots=True)
class Subscription:
    """What a member tells the leader."""

    topics: tuple[str, ...]
    user_data: bytes | None = None
    """What its assignor adds."""
    owned: tuple[TopicPartition, ...] = ()
    """What it keeps while it joins; since version 1."""
    generation: int = -1
    """The generation in which it got that; since version 2, else -1."""
    rack: str | None = None
    """Where it is; since version 3."""

    def encode(self, version: int = NEWEST) -> bytes:
        """Its bytes; what the version has no place for is left out."""
        message = ConsumerProtocolSubscription(
            topics=sorted(self.topics),
            user_data=self.user_data,
            owned_partitions=[
                ConsumerProtocolSubscriptionTopicPartition(topic=topic, partitions=numbers)
                for topic, numbers in by_topic(sorted(self.owned)).items()
            ],
            generation_id=self.generation,
            rack_id=self.rack,
        )
        return write(message, version)

    @classmethod
    def decode(cls, data: bytes) -> Subscription:
        """The subscription that a member sent.

        Raises:
            ProtocolError: Not even the topics can be read.
        """
        told = read(ConsumerProtocolSubscription, data)
        return cls(
            topics=tuple(told.topics),
            user_data=None if told.user_data is None else bytes(told.user_data),
            owned=tuple(
                TopicPartition(each.topic, number)
                for each in told.owned_partitions
                for number in each.partitions
            ),
            generation=max(-1, told.generation_id),
            rack=told.rack_id or None,
        )

    def member(self, member_id: str, instance_id: str | None = None) -> Member:
        """The one who sent it, as assignors know it."""
        return Member(
            id=member_id,
            topics=self.topics,
            owned=self.owned,
            generation=self.generation,
            instance_id=instance_id,
            rack=self.rack,
            user_data=self.user_data or b"",
        )
