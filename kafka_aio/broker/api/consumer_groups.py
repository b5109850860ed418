"""ConsumerGroupHeartbeat, ConsumerGroupDescribe: the consumer protocol (KIP-848). Pure."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Final

from kafka_aio.broker.api.authorized import GROUP_OPERATIONS, NOT_ASKED
from kafka_aio.broker.groups.consumer_member import JOINING, LEAVING, LEAVING_FOR_NOW
from kafka_aio.broker.groups.patterns import Pattern
from kafka_aio.errors import BrokerError, GroupIdNotFound, InvalidRequest, UnsupportedAssignor
from kafka_aio.protocol.messages.consumer_group import (
    ConsumerGroupDescribeAssignment,
    ConsumerGroupDescribeRequest,
    ConsumerGroupDescribeResponse,
    ConsumerGroupDescribeTopicPartitions,
    ConsumerGroupHeartbeatAssignment,
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
    ConsumerGroupHeartbeatTopicPartitions,
    DescribedGroup,
)
from kafka_aio.protocol.messages.consumer_group import Member as DescribedMember

if TYPE_CHECKING:
    from kafka_aio.broker.call import Call
    from kafka_aio.broker.groups.assignors import Slot
    from kafka_aio.broker.groups.consumer import ConsumerGroup
    from kafka_aio.broker.groups.consumer_member import Member
    from kafka_aio.broker.topics.topics import Topics
    from kafka_aio.protocol.schema import Uuid

_MEMBERS_MAKE_IDS_SINCE: Final = 1
_CONSUMER_PROTOCOL: Final = 1
"""The type of a member that speaks the protocol of its group. None speaks the classic one here."""


def heartbeat(request: ConsumerGroupHeartbeatRequest, call: Call) -> ConsumerGroupHeartbeatResponse:
    """A member joins, stays or leaves."""
    try:
        _check(request, call)
        call.check_faults_as_whole()
        call.state.groups.check_node(call, request.group_id)
        if request.member_epoch in (LEAVING, LEAVING_FOR_NOW):
            return _leave(request, call)
        return _stay(request, call)
    except BrokerError as error:
        return ConsumerGroupHeartbeatResponse(
            throttle_time_ms=0,
            error_code=error.code,
            error_message=error.message or None,
            member_epoch=0,
            heartbeat_interval_ms=0,
        )


def describe(request: ConsumerGroupDescribeRequest, call: Call) -> ConsumerGroupDescribeResponse:
    """Groups with their members, what these own and are to own."""
    operations = GROUP_OPERATIONS if request.include_authorized_operations else NOT_ASKED
    return ConsumerGroupDescribeResponse(
        throttle_time_ms=0,
        # Kafka answers for ids that are none before it looks for the others.
        groups=[
            _described(group_id, call, operations)
            for group_id in sorted(request.group_ids, key=bool)
        ],
    )


# Heartbeats


def _check(request: ConsumerGroupHeartbeatRequest, call: Call) -> None:
    """Raise what is wrong with a request, whatever the group is."""
    epoch = request.member_epoch
    needs_id = call.version >= _MEMBERS_MAKE_IDS_SINCE or epoch > 0 or epoch == LEAVING
    for is_wrong, why in (
        (needs_id and not request.member_id.strip(), "MemberId can't be empty."),
        (not request.group_id.strip(), "GroupId can't be empty."),
        (_is_blank(request.instance_id), "InstanceId can't be empty."),
        (_is_blank(request.rack_id), "RackId can't be empty."),
        (
            epoch == JOINING and request.rebalance_timeout_ms == -1,
            "RebalanceTimeoutMs must be provided in first request.",
        ),
        (
            epoch == JOINING and request.topic_partitions != [],
            "TopicPartitions must be empty when (re-)joining.",
        ),
        (
            epoch == JOINING
            and request.subscribed_topic_names is None
            and request.subscribed_topic_regex is None,
            "Either SubscribedTopicNames or SubscribedTopicRegex must be non-null when"
            " (re-)joining.",
        ),
        (
            epoch == LEAVING_FOR_NOW and request.instance_id is None,
            "InstanceId can't be null.",
        ),
        (epoch < LEAVING_FOR_NOW, "MemberEpoch is invalid."),
    ):
        if is_wrong:
            raise InvalidRequest(why)
    assignors = call.state.settings.group_consumer_assignors
    if request.server_assignor is not None and request.server_assignor not in assignors:
        raise UnsupportedAssignor(
            f"ServerAssignor {request.server_assignor} is not supported. Supported assignors:"
            f" {', '.join(assignors)}."
        )


def _is_blank(text: str | None) -> bool:
    return text is not None and not text.strip()


def _leave(request: ConsumerGroupHeartbeatRequest, call: Call) -> ConsumerGroupHeartbeatResponse:
    group = call.state.groups.consumer(request.group_id)
    group.leave(request.member_id, request.instance_id, epoch=request.member_epoch)
    return ConsumerGroupHeartbeatResponse(
        throttle_time_ms=0,
        error_code=0,
        member_id=request.member_id,
        member_epoch=request.member_epoch,
        heartbeat_interval_ms=0,
    )


def _stay(request: ConsumerGroupHeartbeatRequest, call: Call) -> ConsumerGroupHeartbeatResponse:
    group = _group_of(request, call)
    outcome = group.heartbeat(
        request, client_id=call.client_id, client_host=f"/{call.peer.host}", now=call.now
    )
    assignment = None
    if outcome.tells_assignment:
        assignment = ConsumerGroupHeartbeatAssignment(
            topic_partitions=[
                ConsumerGroupHeartbeatTopicPartitions(topic_id=topic_id, partitions=indexes)
                for topic_id, indexes in _by_topic(outcome.member.assigned).items()
            ]
        )
    return ConsumerGroupHeartbeatResponse(
        throttle_time_ms=0,
        error_code=0,
        member_id=outcome.member.id,
        member_epoch=outcome.member.epoch,
        heartbeat_interval_ms=group.heartbeat_interval_ms,
        assignment=assignment,
    )


def _group_of(request: ConsumerGroupHeartbeatRequest, call: Call) -> ConsumerGroup:
    """The group, made if the member joins: also out of a classic one without members."""
    groups = call.state.groups
    found = groups.by_id.get(request.group_id)
    if request.member_epoch != JOINING:
        if found is None:
            raise GroupIdNotFound(f"Consumer group {request.group_id} not found.")
        return groups.consumer(request.group_id)
    if found is not None and found.kind == "classic" and not found.is_empty:
        # As Kafka with the migration policy "disabled": a group has members of one protocol.
        raise GroupIdNotFound(
            f"Cannot upgrade classic group {request.group_id} to consumer group because online"
            " upgrade is disabled."
        )
    if (found is None or found.kind == "classic") and request.subscribed_topic_regex:
        # The one thing that can be wrong with the first member: then there is no group.
        Pattern(request.subscribed_topic_regex)
    return groups.consumer(request.group_id, create=True)


# Descriptions


def _described(group_id: str, call: Call, operations: int) -> DescribedGroup:
    groups = call.state.groups
    try:
        groups.check_coordinator(call, group_id)
        return _description(groups.consumer(group_id), call.state.topics, operations)
    except BrokerError as error:
        return DescribedGroup(
            error_code=error.code,
            error_message=error.message or None,
            group_id=group_id,
            group_state="",
            group_epoch=0,
            assignment_epoch=0,
            assignor_name="",
            members=[],
        )


def _description(group: ConsumerGroup, topics: Topics, operations: int) -> DescribedGroup:
    return DescribedGroup(
        error_code=0,
        group_id=group.id,
        group_state=group.state_name,
        group_epoch=group.epoch,
        assignment_epoch=group.target_epoch,
        assignor_name=group.assignor,
        members=[_member(member, group.target_of(member.id), topics) for member in group.members],
        authorized_operations=operations,
    )


def _member(member: Member, target: Iterable[Slot], topics: Topics) -> DescribedMember:
    return DescribedMember(
        member_id=member.id,
        instance_id=member.instance_id,
        rack_id=member.rack_id,
        member_epoch=member.epoch,
        client_id=member.client_id,
        client_host=member.client_host,
        subscribed_topic_names=list(member.topics),
        subscribed_topic_regex=member.pattern,
        # A member answers for what it is asked to give back until it has.
        assignment=_assignment([*member.assigned, *member.revoking], topics),
        target_assignment=_assignment(target, topics),
        member_type=_CONSUMER_PROTOCOL,
    )


def _assignment(slots: Iterable[Slot], topics: Topics) -> ConsumerGroupDescribeAssignment:
    """Partitions of the topics that are still there."""
    return ConsumerGroupDescribeAssignment(
        topic_partitions=[
            ConsumerGroupDescribeTopicPartitions(
                topic_id=topic_id, topic_name=topics.by_id[topic_id].name, partitions=indexes
            )
            for topic_id, indexes in _by_topic(slots).items()
            if topic_id in topics.by_id
        ]
    )


def _by_topic(slots: Iterable[Slot]) -> dict[Uuid, list[int]]:
    found: dict[Uuid, list[int]] = {}
    for topic_id, index in sorted(slots):
        found.setdefault(topic_id, []).append(index)
    return found
