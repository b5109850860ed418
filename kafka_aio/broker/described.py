"""What a test wants to know of a group or of the traffic, as small values. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from kafka_aio.errors import ProtocolError
from kafka_aio.protocol.member_data import Assigned
from kafka_aio.types import TopicPartition

if TYPE_CHECKING:
    from kafka_aio.protocol.messages import consumer_group, groups


@dataclass(frozen=True, slots=True)
class MemberDescription:
    """A member of a group."""

    id: str
    instance_id: str | None
    client_id: str
    partitions: tuple[TopicPartition, ...]
    """What is assigned to it; empty where that is not a consumer's assignment."""


@dataclass(frozen=True, slots=True)
class GroupDescription:
    """A group, whichever protocol its members speak."""

    id: str
    kind: Literal["classic", "consumer"]
    state: str
    """As Kafka's tools print it: Empty, PreparingRebalance, Stable, ..."""
    protocol: str
    """The assignor, if there is an assignment."""
    members: tuple[MemberDescription, ...]


@dataclass(slots=True)
class Traffic:
    """What has gone over connections, of one API."""

    requests: int = 0
    bytes_in: int = 0
    bytes_out: int = 0


@dataclass(frozen=True, slots=True)
class Statistics:
    """What a broker has done so far."""

    connections: int
    """Open now."""
    connections_made: int
    apis: Mapping[str, Traffic]
    """Requests and bytes, by the name of the API."""

    @property
    def requests(self) -> int:
        return sum(api.requests for api in self.apis.values())


def classic_group(group: groups.DescribedGroup) -> GroupDescription:
    """A classic group, from the answer to DescribeGroups."""
    return GroupDescription(
        group.group_id,
        "classic",
        group.group_state,
        group.protocol_data,
        tuple(
            MemberDescription(
                member.member_id,
                member.group_instance_id,
                member.client_id,
                _assigned(member.member_assignment) if group.protocol_type == "consumer" else (),
            )
            for member in group.members
        ),
    )


def consumer_protocol_group(group: consumer_group.DescribedGroup) -> GroupDescription:
    """A group of the consumer protocol, from the answer to ConsumerGroupDescribe."""
    return GroupDescription(
        group.group_id,
        "consumer",
        group.group_state,
        group.assignor_name,
        tuple(
            MemberDescription(
                member.member_id,
                member.instance_id,
                member.client_id,
                tuple(
                    TopicPartition(topic.topic_name, partition)
                    for topic in member.assignment.topic_partitions
                    for partition in topic.partitions
                ),
            )
            for member in group.members
        ),
    )


def _assigned(assignment: bytes) -> tuple[TopicPartition, ...]:
    """The partitions in what the leader of a group has sent: any bytes, if it likes."""
    try:
        return Assigned.decode(assignment).partitions
    except ProtocolError:
        return ()
