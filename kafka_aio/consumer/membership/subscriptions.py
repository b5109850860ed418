"""What members of a classic group tell each other through the coordinator. Pure.

A member sends its subscription when it joins, the leader an assignment for each. Both begin with a
version; later versions only add fields at the end. So what is newer than we know is read as the
newest that we know, and what ends too early as an older one.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import Final, TypeVar

from kafka_aio.consumer.assignors.assignor import Member
from kafka_aio.consumer.assignors.claims import by_topic
from kafka_aio.errors import ProtocolError
from kafka_aio.protocol.codec import decode_from, encode
from kafka_aio.protocol.messages.consumer_protocol import (
    ConsumerProtocolAssignment,
    ConsumerProtocolAssignmentTopicPartition,
    ConsumerProtocolSubscription,
    ConsumerProtocolSubscriptionTopicPartition,
)
from kafka_aio.types import TopicPartition

NEWEST: Final = 3
"""The version that is written."""

_VERSION = struct.Struct(">h")

T = TypeVar("T")


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
        return _VERSION.pack(version) + encode(message, version)

    @classmethod
    def decode(cls, data: bytes) -> Subscription:
        """The subscription that a member sent.

        Raises:
            ProtocolError: Not even the topics can be read.
        """
        read = _decode(ConsumerProtocolSubscription, data)
        return cls(
            topics=tuple(read.topics),
            user_data=None if read.user_data is None else bytes(read.user_data),
            owned=tuple(
                TopicPartition(each.topic, number)
                for each in read.owned_partitions
                for number in each.partitions
            ),
            generation=max(-1, read.generation_id),
            rack=read.rack_id or None,
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


@dataclass(frozen=True, slots=True)
class Assigned:
    """What the leader tells a member."""

    partitions: tuple[TopicPartition, ...] = ()
    user_data: bytes | None = None

    def encode(self, version: int = NEWEST) -> bytes:
        """Its bytes."""
        message = ConsumerProtocolAssignment(
            assigned_partitions=[
                ConsumerProtocolAssignmentTopicPartition(topic=topic, partitions=numbers)
                for topic, numbers in by_topic(self.partitions).items()
            ],
            user_data=self.user_data,
        )
        return _VERSION.pack(version) + encode(message, version)

    @classmethod
    def decode(cls, data: bytes) -> Assigned:
        """What the leader sent; nothing, where it had nothing to say to this member.

        Raises:
            ProtocolError: These bytes are no assignment.
        """
        if not data:
            return cls()
        read = _decode(ConsumerProtocolAssignment, data)
        return cls(
            partitions=tuple(
                TopicPartition(each.topic, number)
                for each in read.assigned_partitions
                for number in each.partitions
            ),
            user_data=None if read.user_data is None else bytes(read.user_data),
        )


def _decode(cls: type[T], data: bytes) -> T:
    """Read what is there of the version that it says, or of as much of it as we know."""
    if len(data) < _VERSION.size:
        raise ProtocolError(f"{cls.__name__}: no version in {len(data)} bytes")
    (version,) = _VERSION.unpack_from(data)
    if version < 0:
        raise ProtocolError(f"{cls.__name__}: version {version} does not exist")
    for older in range(min(version, NEWEST), 0, -1):
        try:
            return decode_from(cls, data, older, _VERSION.size)[0]
        except ProtocolError:
            continue
    return decode_from(cls, data, 0, _VERSION.size)[0]
