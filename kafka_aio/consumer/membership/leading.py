"""What the leader of a classic group knows of its members, and tells them. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from kafka_aio.consumer.assignors.assignor import Assignment, Assignor, Member
from kafka_aio.consumer.assignors.cooperative_sticky import CooperativeStickyAssignor
from kafka_aio.consumer.membership.subscriptions import Assigned, Subscription
from kafka_aio.errors import KafkaError, ProtocolError
from kafka_aio.protocol.messages.groups import JoinGroupResponseMember, SyncGroupRequestAssignment
from kafka_aio.types import TopicPartition


@dataclass(frozen=True, slots=True)
class Led:
    """A group that we lead."""

    ids: tuple[str, ...]
    """All members, even those that cannot be understood."""
    members: tuple[Member, ...]
    """Those that get something: one whose subscription cannot be read has no say."""
    keeps: bool = False
    """Whether all keep what they have: we came back as a static leader (KIP-814)."""

    @classmethod
    def of(cls, members: Sequence[JoinGroupResponseMember], *, keeps: bool = False) -> Led:
        """The group of which the coordinator sent us the members."""
        read = (_read(each) for each in members)
        return cls(
            ids=tuple(dict.fromkeys(each.member_id for each in members)),
            members=tuple(each for each in read if each is not None),
            keeps=keeps,
        )

    @property
    def topics(self) -> frozenset[str]:
        """All that somebody subscribes to."""
        return frozenset(topic for member in self.members for topic in member.topics)

    def shares(
        self, assignor: Assignor, assignment: Assignment, *, is_cooperative: bool
    ) -> list[SyncGroupRequestAssignment]:
        """What each member is told; an empty share is one too, and those unknown get none.

        Nobody is told anything where all keep what they have.

        Raises:
            KafkaError: This is no assignment, or a partition would change hands before its owner
                has given it back.
        """
        if self.keeps:
            return []
        members = {member.id: member for member in self.members}
        shares = {}
        try:
            for each in self.ids:
                share = tuple(assignment.get(each, ()))
                data = assignor.share_data(members[each], share) if each in members else None
                shares[each] = Assigned(share, data).encode()
        except Exception as error:  # what the user's code returns may be anything
            text = f"assignor {assignor.name!r} has not returned an assignment, or its data"
            raise KafkaError(f"{text}: {error!r}") from error
        # The one of ours looks at generations, so it knows better which claims are true.
        if is_cooperative and not isinstance(assignor, CooperativeStickyAssignor):
            self._check_hands(assignor, assignment)
        return [
            SyncGroupRequestAssignment(member_id=each, assignment=share)
            for each, share in shares.items()
        ]

    def _check_hands(self, assignor: Assignor, assignment: Assignment) -> None:
        added: set[TopicPartition] = set()
        revoked: set[TopicPartition] = set()
        for member in self.members:
            share = set(assignment.get(member.id, ()))
            added |= share - set(member.owned)
            revoked |= set(member.owned) - share
        if early := sorted(added & revoked):
            raise KafkaError(
                f"assignor {assignor.name!r} is cooperative, but gives {early[0]} to a member "
                "before another has given it back"
            )


def _read(member: JoinGroupResponseMember) -> Member | None:
    try:
        subscription = Subscription.decode(bytes(member.metadata))
    except ProtocolError:
        return None
    return subscription.member(member.member_id, member.group_instance_id)
