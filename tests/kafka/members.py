"""Members of groups that do nothing but be there: by requests of ours, on any broker."""

from __future__ import annotations

import base64
import uuid
from collections.abc import Iterable
from typing import Any, NamedTuple, TypeVar

from kafka_aio.admin import Admin
from kafka_aio.consumer.membership.subscriptions import Subscription
from kafka_aio.net.coordinators import Coordinator, CoordinatorKind
from kafka_aio.protocol.member_data import Assigned
from kafka_aio.protocol.messages.consumer_group import (
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
    ConsumerGroupHeartbeatTopicPartitions,
)
from kafka_aio.protocol.messages.groups import (
    JoinGroupRequest,
    JoinGroupRequestProtocol,
    JoinGroupResponse,
    LeaveGroupRequest,
    MemberIdentity,
    SyncGroupRequest,
    SyncGroupRequestAssignment,
)
from kafka_aio.protocol.schema import Request
from kafka_aio.types import TopicPartition

R = TypeVar("R")

SESSION = 40_000
NEEDS_AN_ID = 79


class Member(NamedTuple):
    """Somebody in a group."""

    id: str
    epoch: int
    """Or generation."""


async def ask(admin: Admin, group: str, request: Request[R]) -> R:
    """The answer of a group's coordinator."""
    coordinator = Coordinator(CoordinatorKind.GROUP, group)
    while True:
        answer = await admin._cluster.send_to_coordinator(coordinator, request)
        if getattr(answer, "error_code", 0) not in (14, 15, 16):  # it has just begun
            return answer
        admin._cluster.coordinator_moved(coordinator)


async def join(
    admin: Admin,
    group: str,
    assigned: Iterable[TopicPartition],
    *,
    instance: str | None = None,
    kind: str = "consumer",
    assignment: bytes | None = None,
) -> Member:
    """The one member of a classic group, which gives itself some partitions."""
    partitions = tuple(assigned)
    subscription = Subscription(tuple(dict.fromkeys(each.topic for each in partitions)))
    joined = await _join(admin, group, "", subscription, instance, kind)
    if joined.error_code == NEEDS_AN_ID:
        joined = await _join(admin, group, joined.member_id, subscription, instance, kind)
    assert joined.error_code == 0, joined
    given = Assigned(partitions).encode() if assignment is None else assignment
    synced = await ask(
        admin,
        group,
        SyncGroupRequest(
            group_id=group,
            generation_id=joined.generation_id,
            member_id=joined.member_id,
            group_instance_id=instance,
            protocol_type=kind,
            protocol_name="range",
            assignments=[SyncGroupRequestAssignment(member_id=joined.member_id, assignment=given)],
        ),
    )
    assert synced.error_code == 0, synced
    return Member(joined.member_id, joined.generation_id)


async def _join(
    admin: Admin,
    group: str,
    member: str,
    subscription: Subscription,
    instance: str | None,
    kind: str,
) -> JoinGroupResponse:
    request = JoinGroupRequest(
        group_id=group,
        session_timeout_ms=SESSION,
        rebalance_timeout_ms=SESSION,
        member_id=member,
        group_instance_id=instance,
        protocol_type=kind,
        protocols=[JoinGroupRequestProtocol(name="range", metadata=subscription.encode())],
    )
    return await ask(admin, group, request)


async def leave(admin: Admin, group: str, member: Member) -> None:
    identity = MemberIdentity(member_id=member.id)
    answer = await ask(admin, group, LeaveGroupRequest(group_id=group, members=[identity]))
    assert answer.error_code == 0, answer


async def consume(
    admin: Admin, group: str, *topics: str, instance: str | None = None, rack: str | None = None
) -> Member:
    """The one member of a group of the consumer protocol, which has taken what it was given."""
    name = base64.urlsafe_b64encode(uuid.uuid4().bytes).decode().rstrip("=")
    first = await _beat(
        admin,
        group,
        name,
        0,
        instance_id=instance,
        rack_id=rack,
        rebalance_timeout_ms=SESSION,
        subscribed_topic_names=list(topics),
        topic_partitions=[],
    )
    given = first.assignment.topic_partitions if first.assignment else []
    owned = [
        ConsumerGroupHeartbeatTopicPartitions(topic_id=each.topic_id, partitions=each.partitions)
        for each in given
    ]
    second = await _beat(
        admin,
        group,
        name,
        first.member_epoch,
        instance_id=instance,
        topic_partitions=owned,
    )
    return Member(name, second.member_epoch)


async def stop_consuming(admin: Admin, group: str, member: Member) -> None:
    await _beat(admin, group, member.id, -1)


async def _beat(
    admin: Admin, group: str, member: str, epoch: int, **fields: Any
) -> ConsumerGroupHeartbeatResponse:
    request = ConsumerGroupHeartbeatRequest(
        group_id=group, member_id=member, member_epoch=epoch, **fields
    )
    answer = await ask(admin, group, request)
    assert answer.error_code == 0, answer
    return answer
