"""Groups and their members: requests to make, and answers read as values. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from kafka_aio.admin.group_values import (
    AclOperation,
    Departure,
    GroupDescription,
    GroupList,
    GroupListing,
    GroupMember,
    GroupState,
    GroupType,
)
from kafka_aio.errors import (
    GroupIdNotFound,
    KafkaError,
    ProtocolError,
    UnsupportedVersion,
    for_code,
    fresh,
)
from kafka_aio.protocol.member_data import Assigned
from kafka_aio.protocol.messages import consumer_group as consumer
from kafka_aio.protocol.messages import groups as classic
from kafka_aio.types import TopicPartition

_NOT_ASKED: Final = -0x80000000
"""In place of the operations that are allowed."""
_CONSUMER: Final = "consumer"
"""The protocol type of groups whose assignments are of partitions."""
_CLASSIC_MEMBER, _CONSUMER_MEMBER = 0, 1
_LONGEST_REASON: Final = 255
_REASON: Final = "member was removed by an admin"


def list_all(states: Sequence[str], types: Sequence[str]) -> classic.ListGroupsRequest:
    return classic.ListGroupsRequest(states_filter=list(states), types_filter=list(types))


def listed(answers: Mapping[int, classic.ListGroupsResponse | KafkaError]) -> GroupList:
    """All of them, of the answers of the nodes.

    While a group moves two nodes may have it, or none. Of two the later counts.
    """
    errors = {node: answer for node, answer in answers.items() if isinstance(answer, KafkaError)}
    found = {
        group.group_id: GroupListing(
            group_id=group.group_id,
            type=GroupType(group.group_type),
            state=GroupState(group.group_state),
            protocol_type=group.protocol_type,
            coordinator=node,
        )
        for node, answer in answers.items()
        if not isinstance(answer, KafkaError)
        for group in answer.groups
    }
    return GroupList(tuple(found[each] for each in sorted(found)), errors)


# Descriptions.


def describe(
    ids: Iterable[str], *, authorized_operations: bool
) -> consumer.ConsumerGroupDescribeRequest:
    return consumer.ConsumerGroupDescribeRequest(
        group_ids=list(ids), include_authorized_operations=authorized_operations
    )


def described(
    response: consumer.ConsumerGroupDescribeResponse,
) -> dict[str, GroupDescription | KafkaError]:
    """Groups of the consumer protocol; an error for all others."""
    return {group.group_id: _consumer_group(group) for group in response.groups}


def is_of_another_protocol(answer: object) -> bool:
    """Whether a group may still be a classic one: it was not found, or the broker is too old."""
    return isinstance(answer, GroupIdNotFound | UnsupportedVersion)


def describe_classic(
    ids: Iterable[str], *, authorized_operations: bool
) -> classic.DescribeGroupsRequest:
    return classic.DescribeGroupsRequest(
        groups=list(ids), include_authorized_operations=authorized_operations
    )


def classic_described(
    response: classic.DescribeGroupsResponse,
) -> dict[str, GroupDescription | KafkaError]:
    return {group.group_id: _classic_group(group) for group in response.groups}


def _consumer_group(group: consumer.DescribedGroup) -> GroupDescription | KafkaError:
    if group.error_code:
        return for_code(group.error_code, group.error_message, where=place(group.group_id))
    return GroupDescription(
        group_id=group.group_id,
        type=GroupType.CONSUMER,
        state=GroupState(group.group_state),
        protocol_type=_CONSUMER,
        assignor=group.assignor_name,
        members=_in_order(_consumer_member(member) for member in group.members),
        epoch=group.group_epoch,
        target_assignment_epoch=group.assignment_epoch,
        authorized_operations=_operations(group.authorized_operations),
    )


def _consumer_member(member: consumer.Member) -> GroupMember:
    is_classic = {_CLASSIC_MEMBER: True, _CONSUMER_MEMBER: False}.get(member.member_type)
    return GroupMember(
        member_id=member.member_id,
        client_id=member.client_id,
        host=_host(member.client_host),
        assignment=_partitions(member.assignment),
        instance_id=member.instance_id,
        rack=member.rack_id or None,
        target_assignment=_partitions(member.target_assignment),
        epoch=member.member_epoch,
        subscribed_topics=tuple(sorted(member.subscribed_topic_names)),
        subscribed_pattern=member.subscribed_topic_regex or None,
        is_classic=is_classic,
    )


def _partitions(
    assignment: consumer.ConsumerGroupDescribeAssignment,
) -> tuple[TopicPartition, ...]:
    return tuple(
        sorted(
            TopicPartition(topic.topic_name, number)
            for topic in assignment.topic_partitions
            for number in topic.partitions
        )
    )


def _classic_group(group: classic.DescribedGroup) -> GroupDescription | KafkaError:
    where = place(group.group_id)
    if group.error_code:
        return for_code(group.error_code, group.error_message, where=where)
    state = GroupState(group.group_state)
    if state is GroupState.DEAD:  # so brokers before 4.0 say that there is none
        return GroupIdNotFound(where=where)
    is_consumer = group.protocol_type == _CONSUMER
    return GroupDescription(
        group_id=group.group_id,
        type=GroupType.CLASSIC,
        state=state,
        protocol_type=group.protocol_type,
        assignor=group.protocol_data,
        members=_in_order(_classic_member(member, is_consumer) for member in group.members),
        authorized_operations=_operations(group.authorized_operations),
    )


def _classic_member(member: classic.DescribedGroupMember, is_consumer: bool) -> GroupMember:
    try:
        assigned = Assigned.decode(bytes(member.member_assignment)) if is_consumer else Assigned()
    except ProtocolError:  # its leader may have sent any bytes
        assigned = Assigned()
    return GroupMember(
        member_id=member.member_id,
        client_id=member.client_id,
        host=_host(member.client_host),
        assignment=tuple(sorted(assigned.partitions)),
        instance_id=member.group_instance_id,
        is_classic=True,
    )


def _in_order(members: Iterable[GroupMember]) -> tuple[GroupMember, ...]:
    return tuple(sorted(members, key=lambda member: member.member_id))


def _host(text: str) -> str:
    """Java writes an address without a name as `/127.0.0.1`."""
    return text.removeprefix("/")


def _operations(bits: int) -> frozenset[AclOperation] | None:
    if bits == _NOT_ASKED:
        return None
    return frozenset(each for each in AclOperation if bits & 1 << each)


# Deletions.


def delete(ids: Iterable[str]) -> classic.DeleteGroupsRequest:
    return classic.DeleteGroupsRequest(groups_names=list(ids))


def deleted(response: classic.DeleteGroupsResponse) -> dict[str, KafkaError | None]:
    return {
        result.group_id: _error(result.error_code, place(result.group_id))
        for result in response.results
    }


def remove(
    group: str, members: Iterable[Departure], *, reason: str = ""
) -> classic.LeaveGroupRequest:
    """The request that members leave, as if they had sent it themselves."""
    told = f"{_REASON}: {reason}" if reason else _REASON
    return classic.LeaveGroupRequest(
        group_id=group,
        members=[
            classic.MemberIdentity(
                member_id=member.member_id,
                group_instance_id=member.instance_id,
                reason=told[:_LONGEST_REASON],
            )
            for member in members
        ],
    )


def removed(
    group: str, asked: Iterable[Departure], response: classic.LeaveGroupResponse
) -> dict[Departure, KafkaError | None]:
    if response.error_code:
        error = for_code(response.error_code, where=place(group))
        return {member: fresh(error) for member in asked}
    return {
        departure: _error(member.error_code, f"{place(group)}, member {str(departure)!r}")
        for member in response.members
        for departure in (_departure(member),)
    }


def _departure(member: classic.MemberResponse) -> Departure:
    """As it was asked for: with one of the ids, whatever the broker adds."""
    if member.group_instance_id is not None:
        return Departure(instance_id=member.group_instance_id)
    return Departure(member.member_id)


def place(group: str) -> str:
    """What errors call a group."""
    return f"group {group!r}"


def _error(code: int, where: str) -> KafkaError | None:
    return for_code(code, where=where) if code else None
