"""What members of a classic group tell each other through the coordinator, as bytes. Pure.

The bytes begin with a version; later versions only add fields at the end. So what is newer than we
know is read as the newest that we know, and what ends too early as an older one.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import Final, TypeVar

from kafka_aio.errors import ProtocolError
from kafka_aio.protocol.codec import decode_from, encode
from kafka_aio.protocol.messages.consumer_protocol import (
    ConsumerProtocolAssignment,
    ConsumerProtocolAssignmentTopicPartition,
)
from kafka_aio.types import TopicPartition, by_topic

NEWEST: Final = 3
"""The version that is written."""

_VERSION = struct.Struct(">h")

T = TypeVar("T")


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
        return write(message, version)

    @classmethod
    def decode(cls, data: bytes) -> Assigned:
        """What the leader sent; nothing, where it had nothing to say to this member.

        Raises:
            ProtocolError: These bytes are no assignment.
        """
        if not data:
            return cls()
        told = read(ConsumerProtocolAssignment, data)
        return cls(
            partitions=tuple(
                TopicPartition(each.topic, number)
                for each in told.assigned_partitions
                for number in each.partitions
            ),
            user_data=None if told.user_data is None else bytes(told.user_data),
        )


def write(message: object, version: int) -> bytes:
    """A message with its version before it."""
    return _VERSION.pack(version) + encode(message, version)


def read(cls: type[T], data: bytes) -> T:
    """What is there of the version that the bytes say, or of as much of it as we know.

    Raises:
        ProtocolError: There is no version, or not even what its first one has.
    """
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
