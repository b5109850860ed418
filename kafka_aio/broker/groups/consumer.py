"""A group of the consumer protocol (KIP-848): the coordinator assigns, the members follow. Pure.

Theory of operation. Three epochs follow each other, and each member goes at its own pace:

1. The *epoch of the group* counts up when a member comes, goes, or wants other topics, and when one
   of the topics comes, goes or grows.
2. The *epoch of the target* follows at the next heartbeat of any member: an assignor decides who is
   to own what.
3. The *epoch of a member* follows when it has given back what it is to own no more:
   `consumer_member` has the rules.

Patterns are resolved after the heartbeat that brought them or that came after a new topic, which
counts the first epoch up; so a member hears of what they match one heartbeat later.

A heartbeat that is refused changes nothing.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final, Literal

from kafka_aio.broker.groups.assignors import ASSIGNORS, Candidate, Slot
from kafka_aio.broker.groups.consumer_member import (
    JOINING,
    LEAVING_FOR_NOW,
    Goal,
    Member,
    MemberState,
    reconcile,
)
from kafka_aio.broker.groups.consumer_members import Members
from kafka_aio.broker.groups.group import CONSUMER
from kafka_aio.broker.groups.offsets import Offsets
from kafka_aio.broker.groups.patterns import Pattern
from kafka_aio.broker.groups.subscriptions import Subscriptions
from kafka_aio.broker.nodes import new_id
from kafka_aio.errors import (
    GroupMaxSizeReached,
    NonEmptyGroup,
    StaleMemberEpoch,
    UnreleasedInstanceId,
    UnsupportedByBroker,
)
from kafka_aio.protocol.schema import Uuid, uuid_text

if TYPE_CHECKING:
    from kafka_aio.broker.agenda import Appointment
    from kafka_aio.broker.state import State
    from kafka_aio.protocol.messages.consumer_group import ConsumerGroupHeartbeatRequest

_FIRST_EPOCH: Final = 1
"""Of a new group, and of its target."""

_COMMITS_OF_MEMBERS_SINCE: Final = 9


@dataclass(slots=True)
class _Target:
    """What each member is to own."""

    epoch: int = _FIRST_EPOCH
    made_at: float | None = None
    slots: dict[str, tuple[Slot, ...]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Heartbeat:
    """What comes of a heartbeat."""

    member: Member
    tells_assignment: bool
    """Whether the member is to hear what it owns: it is new, is not sure, or that has changed."""


class ConsumerGroup:
    """A group whose members are told what to own."""

    kind: Final[Literal["consumer"]] = "consumer"
    protocol_type: Final = CONSUMER

    def __init__(self, group_id: str, state: State) -> None:
        self.id = group_id
        self.offsets = Offsets(state.room)
        self.epoch = _FIRST_EPOCH
        self.members = Members(group_id, state.room)
        self._state = state
        self._subscriptions = Subscriptions(state.topics, state.room)
        self._topics: dict[Uuid, int] = {}
        """The topics and their sizes as of the group's epoch: others make it count up."""
        self._seen = -1
        self._target = _Target()
        self._sessions: dict[str, Appointment] = {}
        self._rebalances: dict[str, Appointment] = {}
        self._resolution: Appointment | None = None

    def __repr__(self) -> str:
        return (
            f"<ConsumerGroup {self.id}: {self.state_name}, {len(self.members)} members,"
            f" epoch {self.epoch}, target of {self._target.epoch}>"
        )

    # What it is

    @property
    def state_name(self) -> str:
        """As Kafka's tools print it."""
        if not self.members:
            return "Empty"
        if self.epoch > self._target.epoch:
            return "Assigning"
        if all(member.is_at(self._target.epoch) for member in self.members):
            return "Stable"
        return "Reconciling"

    @property
    def is_empty(self) -> bool:
        return not self.members

    @property
    def target_epoch(self) -> int:
        return self._target.epoch

    @property
    def assignor(self) -> str:
        """The one that most members ask for, of those that are enabled; else the first of them."""
        wanted = Counter(member.assignor for member in self.members)
        return max(self._state.settings.group_consumer_assignors, key=lambda name: wanted[name])

    @property
    def heartbeat_interval_ms(self) -> int:
        return self._option("consumer.heartbeat.interval.ms")

    def target_of(self, member_id: str) -> tuple[Slot, ...]:
        """What a member is to own."""
        return self._target.slots.get(member_id, ())

    def is_subscribed(self, topic: str) -> bool:
        """As `Group` says."""
        return any(topic in self._subscriptions.names(member) for member in self.members)

    def close(self) -> None:
        """As `Group` says."""
        for appointment in (*self._sessions.values(), *self._rebalances.values()):
            appointment.cancel()
        if self._resolution:
            self._resolution.cancel()

    # What others may do with it

    def check_commit(
        self,
        member_id: str,
        epoch: int,
        instance_id: str | None,
        *,
        version: int,
        partitions: Collection[tuple[str, int]],
    ) -> None:
        """As `Group` says. Who is behind may commit what it has had since its epoch (KIP-1251).

        Raises:
            UnknownMemberId: It is no member.
            StaleMemberEpoch: It does not own a partition, or came by it after that epoch.
            UnsupportedByBroker: The version does not know the errors that members must know.
        """
        del instance_id  # Kafka does not look at it here
        if epoch < 0 and self.is_empty:
            return
        member = self.members.known(member_id)
        if version < _COMMITS_OF_MEMBERS_SINCE:
            raise UnsupportedByBroker(
                "OffsetCommit version 9 or above must be used by members using the consumer group"
                " protocol"
            )
        if epoch > member.epoch:
            raise StaleMemberEpoch(
                f"Received member epoch {epoch} is newer than current member epoch {member.epoch}."
            )
        if epoch < member.epoch:
            for topic, index in partitions:
                self._check_older_commit(member, epoch, topic, index)

    def _check_older_commit(self, member: Member, epoch: int, name: str, index: int) -> None:
        since = None
        if topic := self._state.topics.by_name.get(name):
            since = {**member.revoking, **member.assigned}.get((topic.id, index))
        if since is None:
            raise StaleMemberEpoch(
                f"Partition {name}-{index} is not assigned or pending revocation for member."
            )
        if epoch < since:
            raise StaleMemberEpoch(
                f"Received member epoch {epoch} is older than assignment epoch {since} for"
                f" partition {name}-{index}."
            )

    def check_fetch(self, member_id: str | None, epoch: int) -> None:
        """As `Group` says.

        Raises:
            UnknownMemberId: It is no member.
            StaleMemberEpoch: It is in another epoch.
        """
        if member_id is None and epoch < 0:
            return
        member = self.members.known(member_id or "")
        if epoch != member.epoch:
            raise StaleMemberEpoch(
                f"The received member epoch {epoch} does not match the expected member epoch"
                f" {member.epoch}."
            )

    def check_offset_deletion(self) -> None:
        """As `Group` says: it is always known which topics the members want."""

    def check_deletion(self) -> None:
        """As `Group` says.

        Raises:
            NonEmptyGroup: It has members.
        """
        if not self.is_empty:
            raise NonEmptyGroup()

    # Members come, stay and go

    def heartbeat(
        self,
        request: ConsumerGroupHeartbeatRequest,
        *,
        client_id: str,
        client_host: str,
        now: float,
    ) -> Heartbeat:
        """Hear a member that joins or stays.

        Raises:
            GroupMaxSizeReached: There is no room for one more, or for all that it says.
            UnknownMemberId: It is no member; its session may have ended.
            UnreleasedInstanceId: There is a static member of its name.
            FencedInstanceId: There is another static member of its name by now.
            FencedMemberEpoch: It is not in the epoch that it has here.
            InvalidRegularExpression: It subscribes by one that is wrong.
        """
        self._check_room(request.member_id)
        owned = _owned(request)
        before = self._member_of(request, owned)
        member = before.told(request, client_id=client_id, client_host=client_host)
        if member.pattern != before.pattern:
            Pattern(member.pattern)
        if not self.members.have_room_for(member):
            raise GroupMaxSizeReached("There is no room for more members.")

        # Nothing is refused from here on.
        has_resubscribed = self._subscribe(before, member, now=now)
        self._aim(now=now)
        after = reconcile(
            member,
            Goal(
                epoch=self._target.epoch,
                slots=self.target_of(member.id),
                topics=self._subscriptions.topic_ids(member),
            ),
            owned=owned,
            has_resubscribed=has_resubscribed,
            is_taken=self.members.owners.__contains__,
        )
        if after != member:
            self.members.put(after)
            self._watch_rebalance(after, now=now)
        self._watch_session(after.id, now=now)
        is_told = (
            request.member_epoch == JOINING
            or _is_full(request)
            or after.assigned != before.assigned
        )
        return Heartbeat(after, is_told)

    def leave(self, member_id: str, instance_id: str | None, *, epoch: int) -> None:
        """A member goes; a static one may say that it will be back.

        Raises:
            UnknownMemberId: It is no member.
            FencedInstanceId: There is another static member of its name by now.
        """
        member = self.members.known(member_id, instance_id)
        if epoch == LEAVING_FOR_NOW:
            self.members.put(member.left_for_now())
        else:
            self._remove(member)

    def _check_room(self, member_id: str) -> None:
        most = self._state.settings.group_consumer_max_size
        if len(self.members) >= most and member_id not in self.members:
            raise GroupMaxSizeReached(
                f"The consumer group has reached its maximum capacity of {most} members."
            )

    def _member_of(
        self, request: ConsumerGroupHeartbeatRequest, owned: Collection[Slot] | None
    ) -> Member:
        """Whose heartbeat it is. A new member is not in the group yet."""
        if request.member_epoch != JOINING:
            member = self.members.known(request.member_id, request.instance_id)
            member.check_epoch(request.member_epoch, owned)
            return member
        # Version 0 leaves it to the coordinator to make an id.
        member_id = request.member_id or uuid_text(new_id(self._state.rng))
        if (namesake := self.members.named(request.instance_id)) is None:
            return self.members.get(member_id) or Member(id=member_id)
        if namesake.epoch != LEAVING_FOR_NOW:
            raise UnreleasedInstanceId(
                f"Static member {member_id} with instance id {request.instance_id} cannot join the"
                f" group because the instance id is owned by {namesake.id} member."
            )
        return replace(namesake, id=member_id, epoch=0, previous_epoch=0)

    def _subscribe(self, before: Member, member: Member, *, now: float) -> bool:
        """Take what a member says about itself; has it changed its subscription?"""
        has_other_names = member.topics != before.topics
        has_other_pattern = member.pattern != before.pattern
        # What a new pattern matches is not known yet. When it is, that will be the reason.
        is_resolved = not member.pattern or self._subscriptions.is_resolved(member.pattern)
        is_reason = has_other_names or (has_other_pattern and is_resolved)
        # Before the namesake is out: a pattern that nobody has is forgotten.
        self._subscriptions.change(self.members.get(member.id), member)
        if (namesake := self.members.named(member.instance_id)) and namesake.id != member.id:
            target = self.target_of(namesake.id)
            self._take_out(namesake)
            self._target.slots[member.id] = target
        self.members.put(member)
        if is_reason or self._seen != self._state.topics.changes:
            self._seen = self._state.topics.changes
            self._count_up(is_reason=is_reason)
        if self._resolution is None and self._subscriptions.needs_resolving():
            self._resolution = self._state.agenda.at(now, self._resolve)
        return has_other_names or has_other_pattern

    def _remove(self, member: Member) -> None:
        self._take_out(member)
        self._count_up(is_reason=True)

    def _take_out(self, member: Member) -> None:
        self.members.remove(member)
        self._subscriptions.change(member, None)
        self._target.slots.pop(member.id, None)
        for appointments in (self._sessions, self._rebalances):
            if appointment := appointments.pop(member.id, None):
                appointment.cancel()

    # Epochs

    def _count_up(self, *, is_reason: bool) -> None:
        """Count the epoch up if there is a reason, or if the topics are not what they were."""
        topics = self._subscriptions.partition_counts(self.members)
        if is_reason or topics != self._topics:
            self.epoch += 1
            self._topics = topics

    def _resolve(self, _: float) -> None:
        self._resolution = None
        self._count_up(is_reason=self._subscriptions.resolve())

    def _aim(self, *, now: float) -> None:
        """Make a new target if the group has gone on, and the last one is not too young."""
        if self._target.epoch >= self.epoch:
            return
        made_at = self._target.made_at
        pause = self._option("consumer.assignment.interval.ms") / 1000
        if made_at is not None and now < made_at + pause:
            return
        candidates = [
            Candidate(
                id=member.id,
                instance_id=member.instance_id,
                topics=self._subscriptions.topic_ids(member),
                slots=frozenset(self.target_of(member.id)),
            )
            for member in self.members
        ]
        counts = self._subscriptions.partition_counts(self.members)
        assigned = ASSIGNORS[self.assignor](candidates, counts)
        slots = {member_id: tuple(sorted(each)) for member_id, each in assigned.items()}
        self._target = _Target(self.epoch, now, slots)

    # Time-outs

    def _watch_session(self, member_id: str, *, now: float) -> None:
        def end(_: float) -> None:
            self._remove(self.members.known(member_id))

        if session := self._sessions.get(member_id):
            session.cancel()
        timeout = self._option("consumer.session.timeout.ms") / 1000
        self._sessions[member_id] = self._state.agenda.at(now + timeout, end)

    def _watch_rebalance(self, member: Member, *, now: float) -> None:
        """Give a member its time to give back what it is to own no more."""

        def end(_: float) -> None:
            late = self.members.known(member.id)
            if late.epoch == member.epoch:
                self._remove(late)

        if appointment := self._rebalances.pop(member.id, None):
            appointment.cancel()
        if member.state is MemberState.UNREVOKED_PARTITIONS:
            timeout = member.rebalance_timeout_ms / 1000
            self._rebalances[member.id] = self._state.agenda.at(now + timeout, end)

    def _option(self, name: str) -> int:
        """An option of this group, or of all groups."""
        value = self._state.configs.group_value(self.id, name)
        assert isinstance(value, int)
        return value


def _owned(request: ConsumerGroupHeartbeatRequest) -> list[Slot] | None:
    """What the member says that it owns; None if it does not say."""
    if request.topic_partitions is None:
        return None
    return [
        (topic.topic_id, index) for topic in request.topic_partitions for index in topic.partitions
    ]


def _is_full(request: ConsumerGroupHeartbeatRequest) -> bool:
    """Whether a heartbeat says all it can, as it does after an answer that was lost."""
    return (
        request.rebalance_timeout_ms != -1
        and request.topic_partitions is not None
        and (
            request.subscribed_topic_names is not None or request.subscribed_topic_regex is not None
        )
    )
