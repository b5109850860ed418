"""The requests of a member of a classic group. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from kafka_aio.consumer.assignors.assignor import Assignor
from kafka_aio.consumer.assignors.claims import Claim
from kafka_aio.consumer.membership.subscriptions import Subscription
from kafka_aio.errors import ConfigError, KafkaError
from kafka_aio.protocol.messages.groups import (
    HeartbeatRequest,
    JoinGroupRequest,
    JoinGroupRequestProtocol,
    LeaveGroupRequest,
    MemberIdentity,
    SyncGroupRequest,
    SyncGroupRequestAssignment,
)
from kafka_aio.types import TopicPartition

PROTOCOL_TYPE: Final = "consumer"
"""What the members of the group are, as against those of Kafka Connect, for one."""
_LONGEST_REASON: Final = 255


@dataclass(frozen=True, slots=True)
class Place:
    """A place in the group, as its coordinator knows it."""

    member_id: str = ""
    """Empty until the coordinator has given one."""
    generation: int = -1
    """-1 for none: the member is not in the group, or does not know of it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ClassicRequests:
    """What a member says of itself in each request.

    Raises:
        ConfigError: There is no assignor, or two have the same name.
    """

    group_id: str
    instance_id: str | None
    """The name of a static member (KIP-345)."""
    assignors: Sequence[Assignor]
    session_timeout: float
    rebalance_timeout: float
    rack: str | None

    def __post_init__(self) -> None:
        names = [each.name for each in self.assignors]
        if not names or len(set(names)) < len(names):
            raise ConfigError(f"a group is shared out by assignors of different names, not {names}")

    def assignor(self, name: str | None) -> Assignor | None:
        """The one that the group has chosen; None if we do not offer it."""
        return next((each for each in self.assignors if each.name == name), None)

    def join(
        self,
        place: Place,
        topics: frozenset[str],
        owned: frozenset[TopicPartition],
        last: Claim,
        reason: str,
    ) -> JoinGroupRequest:
        """Join, with what each assignor has to know.

        Raises:
            KafkaError: An assignor, which may be the user's, does not say it.
        """
        protocols = []
        for assignor in self.assignors:
            subscription = Subscription(
                topics=tuple(topics),
                user_data=_user_data(assignor, last),
                owned=tuple(owned),
                generation=place.generation,
                rack=self.rack,
            )
            protocols.append(
                JoinGroupRequestProtocol(name=assignor.name, metadata=subscription.encode())
            )
        return JoinGroupRequest(
            group_id=self.group_id,
            session_timeout_ms=_milliseconds(self.session_timeout),
            rebalance_timeout_ms=_milliseconds(self.rebalance_timeout),
            member_id=place.member_id,
            group_instance_id=self.instance_id,
            protocol_type=PROTOCOL_TYPE,
            protocols=protocols,
            reason=_shortened(reason),
        )

    def sync(
        self, place: Place, assignor: str, shares: list[SyncGroupRequestAssignment]
    ) -> SyncGroupRequest:
        """Tell what each member gets, if we lead; ask what we get."""
        return SyncGroupRequest(
            group_id=self.group_id,
            generation_id=place.generation,
            member_id=place.member_id,
            group_instance_id=self.instance_id,
            protocol_type=PROTOCOL_TYPE,
            protocol_name=assignor,
            assignments=shares,
        )

    def heartbeat(self, place: Place) -> HeartbeatRequest:
        """Say that we are there."""
        return HeartbeatRequest(
            group_id=self.group_id,
            generation_id=place.generation,
            member_id=place.member_id,
            group_instance_id=self.instance_id,
        )

    def leave(self, place: Place, reason: str) -> LeaveGroupRequest:
        """Say that we go."""
        identity = MemberIdentity(
            member_id=place.member_id,
            group_instance_id=self.instance_id,
            reason=_shortened(reason),
        )
        return LeaveGroupRequest(group_id=self.group_id, members=[identity])


def _user_data(assignor: Assignor, last: Claim) -> bytes | None:
    try:
        return assignor.user_data(last.partitions, last.generation)
    except Exception as error:
        text = f"assignor {assignor.name!r} has failed to make its user data: {error!r}"
        raise KafkaError(text) from error


def _milliseconds(seconds: float) -> int:
    return round(seconds * 1000)


def _shortened(reason: str) -> str | None:
    return reason[:_LONGEST_REASON] or None
