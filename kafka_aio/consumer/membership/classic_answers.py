"""What a coordinator answers to a member of a classic group, checked. Pure.

A coordinator may be wrong, or hostile. What cannot be so is a ProtocolError, and changes nothing.
"""

from __future__ import annotations

from dataclasses import dataclass

from kafka_aio.consumer.assignors.assignor import Assignor
from kafka_aio.consumer.membership.classic_requests import PROTOCOL_TYPE, ClassicRequests, Place
from kafka_aio.consumer.membership.leading import Led
from kafka_aio.consumer.membership.member import Tell
from kafka_aio.consumer.membership.subscriptions import Assigned
from kafka_aio.errors import (
    InconsistentGroupProtocol,
    ProtocolError,
    UserCodeError,
    for_code,
)
from kafka_aio.protocol.messages.groups import JoinGroupResponse, SyncGroupResponse


@dataclass(frozen=True, slots=True)
class Joined:
    """A generation that we are in."""

    place: Place
    assignor: Assignor
    """The one that the group has chosen."""
    led: Led | None
    """The group, if we lead it."""


def check(code: int, group_id: str) -> None:
    """Nothing, if the answer is none of an error.

    Raises:
        BrokerError: It is.
    """
    if code:
        raise for_code(code, where=f"group {group_id!r}")


def read_join(answer: JoinGroupResponse, requests: ClassicRequests) -> Joined:
    """What came of a JoinGroup.

    Raises:
        BrokerError: The coordinator refuses.
        ProtocolError: This cannot be so.
    """
    check(answer.error_code, requests.group_id)
    _check_type(answer.protocol_type, requests.group_id)
    if answer.generation_id < 0 or not answer.member_id:
        raise ProtocolError("the group was joined without a generation, or without a member id")
    assignor = requests.assignor(answer.protocol_name)
    if assignor is None:
        raise ProtocolError(
            f"the group has chosen the assignor {answer.protocol_name!r}, which we do not offer"
        )
    led = None
    if answer.leader == answer.member_id:
        led = Led.of(answer.members, keeps=answer.skip_assignment)
        if answer.member_id not in led.ids:
            raise ProtocolError("we lead the group, but are not among its members")
    return Joined(
        place=Place(answer.member_id, answer.generation_id),
        assignor=assignor,
        led=led,
    )


def read_sync(answer: SyncGroupResponse, assignor: Assignor, group_id: str) -> Assigned:
    """What we get.

    Raises:
        BrokerError: The coordinator refuses.
        ProtocolError: This cannot be so.
    """
    check(answer.error_code, group_id)
    _check_type(answer.protocol_type, group_id)
    if answer.protocol_name not in (None, assignor.name):
        raise InconsistentGroupProtocol(where=f"group {group_id!r}")
    assigned = Assigned.decode(bytes(answer.assignment))
    if any(each.partition < 0 for each in assigned.partitions):
        raise ProtocolError("the assignment has a partition below 0")
    return assigned


def hear(assignor: Assignor, assigned: Assigned, generation: int) -> list[Tell]:
    """Let the assignor hear what we get; what it raises is to be told."""
    try:
        assignor.on_assignment(assigned.partitions, assigned.user_data or b"", generation)
    except Exception as error:  # it may be the user's
        kind = type(error).__name__
        told = UserCodeError(f"assignor {assignor.name!r} raised {kind} when it heard what we get")
        told.__cause__ = error
        return [Tell(told)]
    return []


def _check_type(protocol_type: str | None, group_id: str) -> None:
    if protocol_type not in (None, PROTOCOL_TYPE):
        raise InconsistentGroupProtocol(
            f"the group is one of {protocol_type!r}", where=f"group {group_id!r}"
        )
