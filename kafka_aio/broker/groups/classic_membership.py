"""How the members of a classic group agree on a generation and its assignment. Pure.

Theory of operation. A generation is made in two rounds, each of which ends for all at one time.

* Join. Whatever changes the group (a member comes, goes, or wants other topics) makes it *prepare*
  a rebalance. Members hear so by their heartbeats. Each sends JoinGroup, which is kept until all of
  them have, or the longest of their rebalance time-outs is over: who has not joined by then is out.
  Now the generation counts up, and all are answered; one is told that it leads, and what the others
  want.
* Sync. While the group is *completing* the rebalance, each sends SyncGroup, which is kept until the
  leader's is there: it has the assignment. Then the group is *stable*, until something changes it.

What is easily forgotten:

* Who comes to an empty group waits a while for others, and longer if others do come: ten consumers
  that start together cause one rebalance, not ten.
* A client of JoinGroup 4 or later is given an id first, and joins with it (KIP-394). Until then the
  id is *pending*: the group waits for it, but it is no member.
* A member that waits for an answer need not send heartbeats. One that waits for its first answer
  cannot: it has no other limit than `NEW_MEMBER_TIMEOUT`.
* A static member (KIP-345) has a name. Who joins under a name that is taken, without an id, gets
  the place of the other, which is fenced; in a stable group nobody else notices. A static member
  that does not join again in time stays one until its session is over.
* Who does not send SyncGroup within a rebalance time-out is out, too.
* A member that asks again has given up its older call, which is answered: nobody waits for ever.
"""

from __future__ import annotations

from collections.abc import Collection
from enum import Enum
from math import inf
from typing import TYPE_CHECKING, Final

from kafka_aio.broker.groups.classic_members import Member, Members, join_refusal, protocols_of
from kafka_aio.broker.groups.group import CONSUMER
from kafka_aio.broker.groups.java import random_uuid
from kafka_aio.errors import (
    BrokerError,
    FencedInstanceId,
    GroupMaxSizeReached,
    IllegalGeneration,
    InconsistentGroupProtocol,
    MemberIdRequired,
    NotCoordinator,
    RebalanceInProgress,
    UnknownMemberId,
    UnknownServerError,
)
from kafka_aio.protocol.messages.groups import (
    JoinGroupResponse,
    SyncGroupResponse,
)

if TYPE_CHECKING:
    from kafka_aio.broker.agenda import Appointment
    from kafka_aio.broker.call import Call
    from kafka_aio.broker.state import State
    from kafka_aio.protocol.messages.groups import (
        HeartbeatRequest,
        JoinGroupRequest,
        MemberIdentity,
        SyncGroupRequest,
    )

NEW_MEMBER_TIMEOUT: Final = 300.0
"""For so long a new member may wait for its first generation, in seconds."""

_MEMBER_ID_REQUIRED_SINCE: Final = 4
_SKIP_ASSIGNMENT_SINCE: Final = 9


class Phase(Enum):
    """Where a group is. The values are what Kafka's tools print."""

    EMPTY = "Empty"
    PREPARING = "PreparingRebalance"
    COMPLETING = "CompletingRebalance"
    STABLE = "Stable"
    DEAD = "Dead"


TRANSITIONS: Final[dict[Phase, tuple[Phase, ...]]] = {
    Phase.EMPTY: (Phase.PREPARING, Phase.DEAD),
    Phase.PREPARING: (Phase.COMPLETING, Phase.EMPTY, Phase.DEAD),
    Phase.COMPLETING: (Phase.STABLE, Phase.PREPARING, Phase.DEAD),
    Phase.STABLE: (Phase.PREPARING, Phase.DEAD),
    Phase.DEAD: (),
}
"""What may follow on what: a join from Empty, the end of each round, a change, the deletion."""


class Membership:
    """The members of a group, and how far they are with their next generation."""

    def __init__(self, state: State) -> None:
        self.phase = Phase.EMPTY
        self.members = Members(state.room)
        self.generation = 0
        self.protocol_type = ""
        self.protocol = ""
        """The assignor that all members support, by the name they have for it."""
        self.topics: frozenset[str] | None = None
        """What its consumers want; None if nobody can tell."""
        self.empty_since = inf
        """When the last member left; never, where there was none."""
        self._state = state
        self._is_first_round = False
        self._has_grown = False
        self._unsynced: dict[str, None] = {}
        self._end_of_join: Appointment | None = None
        self._end_of_sync: Appointment | None = None

    def __repr__(self) -> str:
        return f"<{self.phase.value}, generation {self.generation}, {len(self.members)} members>"

    def join(self, request: JoinGroupRequest, call: Call) -> JoinGroupResponse | None:
        """A client wants to be a member, or a member wants to be one of the next generation.

        Returns:
            The answer, or None if it has to wait for the others.

        Raises:
            BrokerError: It cannot.
        """
        members, member_id = self.members, request.member_id
        if not self._has_room_for(member_id):
            if (member := members.by_id.get(member_id)) is not None:
                members.remove(member)
            members.forget_pending(member_id)
            raise GroupMaxSizeReached()
        if not self._understands(request):
            raise InconsistentGroupProtocol()
        if not members.have_room_for(member_id, protocols_of(request)):
            raise GroupMaxSizeReached()
        if not member_id:
            return self._join_first(request, call)
        if member_id in members.pending:
            if request.group_instance_id is not None:
                raise UnknownServerError()  # static members get their ids when they join
            self._add(member_id, request, call)
            return None
        member = members.checked(member_id, request.group_instance_id)
        if self._changes_nothing(member, request):
            return self._joined(member, call)
        self._update(member, request, call)
        self._rebalance(now=call.now)
        return None

    def sync(self, request: SyncGroupRequest, call: Call) -> SyncGroupResponse | None:
        """A member wants to know its partitions; the leader says what they are.

        Returns:
            The answer, or None if it has to wait for the leader.

        Raises:
            BrokerError: It is no member of this generation, or the next one is being made.
        """
        member = self._member_of_generation(request)
        if _differ(request.protocol_type, self.protocol_type) or _differ(
            request.protocol_name, self.protocol
        ):
            raise InconsistentGroupProtocol()
        if self.phase is Phase.PREPARING:
            raise RebalanceInProgress()
        leads = member.id == self.members.leader
        assignments = {each.member_id: each.assignment for each in request.assignments}
        if leads and not self.members.have_room_to_get(assignments.values()):
            raise UnknownServerError()  # as Kafka, if its log cannot take what a group is
        self._unsynced.pop(member.id, None)
        if not self._unsynced:
            _cancel(self._end_of_sync)
        if self.phase is Phase.STABLE:
            return self._synced(member)
        member.refuse_sync(RebalanceInProgress())
        member.syncing = call
        if leads:
            self._begin_generation(assignments, now=call.now)
        return None

    def heartbeat(self, request: HeartbeatRequest, *, now: float) -> None:
        """A member lives.

        Raises:
            BrokerError: It is no member of this generation, or it must join the next one.
        """
        self._expect(self._member_of_generation(request), now=now)
        if self.phase is Phase.PREPARING:
            raise RebalanceInProgress()

    def committed(self, member_id: str, *, now: float) -> None:
        """A member has committed offsets, which is as good as a heartbeat."""
        if self.phase in (Phase.STABLE, Phase.PREPARING):
            self._expect(self.members.by_id[member_id], now=now)

    def leave(self, leaving: Collection[MemberIdentity], *, now: float) -> list[BrokerError | None]:
        """Members want to go, or an admin wants them gone. What became of each of them."""
        outcomes = [self._leave(each) for each in leaving]
        if None in outcomes and self.phase is not Phase.EMPTY:
            self._rebalance(now=now)
        return outcomes

    def close(self) -> None:
        """The group is gone: nothing that was agreed on happens any more."""
        self._become(Phase.DEAD)
        _cancel(self._end_of_join)
        _cancel(self._end_of_sync)
        for member in list(self.members):
            self.members.remove(member)
        for member_id in list(self.members.pending):
            self.members.forget_pending(member_id)
        self._set_protocol_type("")

    def coordinator_moved(self, node: int) -> None:
        """Another node coordinates it: send those who wait at others there. They stay members."""
        for member in self.members:
            if member.joining is not None and member.joining.node != node:
                member.refuse_join(NotCoordinator(), member.id)
            if member.syncing is not None and member.syncing.node != node:
                member.refuse_sync(NotCoordinator())

    # Joining

    def _has_room_for(self, member_id: str) -> bool:
        limit = self._state.settings.group_max_size
        member = self.members.by_id.get(member_id)
        if self.phase is Phase.EMPTY:
            return True
        if self.phase is Phase.PREPARING:  # who has not joined yet may have to stay out
            return bool(member and member.joining) or self.members.joining < limit
        return member is not None or len(self.members) < limit

    def _understands(self, request: JoinGroupRequest) -> bool:
        names = [protocol.name for protocol in request.protocols]
        if self.phase is Phase.EMPTY:
            return bool(request.protocol_type and names)
        return request.protocol_type == self.protocol_type and self.members.support_one_of(names)

    def _join_first(self, request: JoinGroupRequest, call: Call) -> JoinGroupResponse | None:
        instance_id = request.group_instance_id
        prefix = call.client_id if instance_id is None else instance_id
        member_id = f"{prefix}-{random_uuid(self._state.rng)}"
        if (taken := self.members.with_instance(instance_id)) is not None:
            return self._take_place(self.members.by_id[taken], member_id, request, call)
        if instance_id is None and call.version >= _MEMBER_ID_REQUIRED_SINCE:
            expiry = self._state.agenda.at(
                call.now + request.session_timeout_ms / 1000,
                lambda now: self._pending_expired(member_id, now=now),
            )
            self.members.add_pending(member_id, expiry)
            return join_refusal(call, MemberIdRequired(), member_id)
        self._add(member_id, request, call)
        return None

    def _add(self, member_id: str, request: JoinGroupRequest, call: Call) -> None:
        if self._is_first_round and self.phase is Phase.PREPARING:
            self._has_grown = True
        if not self.members:
            self._set_protocol_type(request.protocol_type)
        member = Member(member_id, request.group_instance_id, call)
        self.members.add(member)
        self._update(member, request, call)
        self._expect(member, NEW_MEMBER_TIMEOUT, now=call.now)
        self._rebalance(now=call.now)

    def _set_protocol_type(self, name: str) -> None:
        self._state.room.take(len(name) - len(self.protocol_type))
        self.protocol_type = name

    def _changes_nothing(self, member: Member, request: JoinGroupRequest) -> bool:
        """It may have missed the answer. But the leader joins when it wants a new assignment."""
        if self.phase is Phase.PREPARING or protocols_of(request) != member.protocols:
            return False
        return self.phase is Phase.COMPLETING or member.id != self.members.leader

    def _take_place(
        self, member: Member, member_id: str, request: JoinGroupRequest, call: Call
    ) -> JoinGroupResponse | None:
        """The client of a static member is back, or a second one runs: the newest is right."""
        leader = self.members.leader
        member.refuse_join(FencedInstanceId(), member.id)
        member.refuse_sync(FencedInstanceId())
        if member.id in self._unsynced:
            del self._unsynced[member.id]
            self._unsynced[member_id] = None
        self.members.rename(member, member_id)
        member.is_new = False
        self._expect(member, now=call.now)
        self._update(member, request, call)
        if self.phase is Phase.STABLE and self.members.vote() == self.protocol:
            member.joining = None
            if call.version >= _SKIP_ASSIGNMENT_SINCE:
                is_leader = self.members.leader == member_id
                return self._joined(member, call, skip_assignment=is_leader)
            # An older client must not hear that it leads, or it would assign (KAFKA-13435).
            return self._joined(member, call, leader=leader)
        self._rebalance(now=call.now)
        return None

    def _update(self, member: Member, request: JoinGroupRequest, call: Call) -> None:
        self.members.update_protocols(member, protocols_of(request))
        timeout_ms = request.rebalance_timeout_ms if call.version else request.session_timeout_ms
        member.rebalance_timeout = timeout_ms / 1000
        member.session_timeout = request.session_timeout_ms / 1000
        member.refuse_join(RebalanceInProgress(), member.id)
        member.joining = call

    # The two rounds

    def _rebalance(self, *, now: float) -> None:
        """Something changed: prepare a rebalance, or see whether the one under way can go on."""
        if self.phase is not Phase.PREPARING:
            self._prepare(now=now)
        elif not self._is_first_round and self.members.have_all_joined:
            self._complete_join(now=now)

    def _prepare(self, *, now: float) -> None:
        if self.phase is Phase.COMPLETING:
            for member in self.members:
                self.members.assign(member, b"")
                if member.syncing is not None:
                    member.refuse_sync(RebalanceInProgress())
                    self._expect(member, now=now)
        self._unsynced.clear()
        _cancel(self._end_of_sync)
        self._is_first_round = self.phase is Phase.EMPTY
        self._become(Phase.PREPARING)
        if self._is_first_round:
            self._has_grown = False
            delay = self._state.settings.group_initial_rebalance_delay_ms / 1000
            rest = max(self.members.rebalance_timeout - delay, 0.0)
            self._delay_first_round(delay, rest, now=now)
        elif self.members.have_all_joined:
            self._complete_join(now=now)
        else:
            self._await_joins(now=now)

    def _delay_first_round(self, delay: float, rest: float, *, now: float) -> None:
        """Wait for others, and once more if there were some, `rest` seconds longer at most."""

        def end(now: float) -> None:
            if not self._has_grown or not rest:
                self._complete_join(now=now)
                return
            self._has_grown = False
            longer = self._state.settings.group_initial_rebalance_delay_ms / 1000
            self._delay_first_round(min(longer, rest), max(rest - delay, 0.0), now=now)

        self._end_of_join = self._state.agenda.at(now + delay, end)

    def _await_joins(self, *, now: float) -> None:
        self._end_of_join = self._state.agenda.at(
            now + self.members.rebalance_timeout, lambda now: self._complete_join(now=now)
        )

    def _complete_join(self, *, now: float) -> None:
        """End the first round, with those who have joined."""
        _cancel(self._end_of_join)
        members = self.members
        for member in list(members):
            if member.joining is None and member.instance_id is None:
                members.remove(member)
        if not members.lead_by_joined() and members:
            self._await_joins(now=now)  # static ones only: until the last session is over
            return
        self.generation += 1
        self.protocol = members.vote() if members else ""
        self.topics = members.topics(self.protocol) if self.protocol_type == CONSUMER else None
        if not members:
            self.empty_since = now
            self._become(Phase.EMPTY)
            return
        self._become(Phase.COMPLETING)
        for member in members:
            if (call := member.joining) is not None:
                member.joining = None
                call.answer(self._joined(member, call))
            member.is_new = False
            self._expect(member, now=now)
            self._unsynced[member.id] = None
        self._end_of_sync = self._state.agenda.at(
            now + members.rebalance_timeout, lambda now: self._sync_expired(now=now)
        )

    def _begin_generation(self, assignments: dict[str, bytes], *, now: float) -> None:
        """End the second round: the leader has said who gets what."""
        for member in self.members:
            self.members.assign(member, assignments.get(member.id, b""))
            if (call := member.syncing) is not None:
                member.syncing = None
                call.answer(self._synced(member))
                self._expect(member, now=now)
        self._become(Phase.STABLE)

    def _become(self, phase: Phase) -> None:
        assert phase in TRANSITIONS[self.phase], f"{self.phase} to {phase}"
        self.phase = phase

    # Whoever goes

    def _leave(self, leaving: MemberIdentity) -> BrokerError | None:
        members, member_id = self.members, leaving.member_id
        if member_id in members.pending:
            members.forget_pending(member_id)
            return None
        try:
            if not member_id:  # an admin knows the name only
                member_id = members.with_instance(leaving.group_instance_id) or ""
            self._remove(members.checked(member_id, leaving.group_instance_id))
        except BrokerError as error:
            return error
        return None

    def _remove(self, member: Member) -> None:
        member.refuse_join(UnknownMemberId(), "")
        member.refuse_sync(UnknownMemberId())
        self._unsynced.pop(member.id, None)
        self.members.remove(member)

    def _expect(self, member: Member, timeout: float | None = None, *, now: float) -> None:
        """Begin its session anew."""
        member.end_session()
        when = now + (member.session_timeout if timeout is None else timeout)
        member.session = self._state.agenda.at(when, lambda now: self._expired(member, now=now))

    def _expired(self, member: Member, *, now: float) -> None:
        if not member.is_new and (member.joining or member.syncing):
            self._expect(member, now=now)  # it waits for us
            return
        self._remove(member)
        self._gone(now=now)

    def _pending_expired(self, member_id: str, *, now: float) -> None:
        self.members.forget_pending(member_id)
        if self.phase is Phase.PREPARING:
            self._gone(now=now)

    def _gone(self, *, now: float) -> None:
        """Somebody is not awaited any more; who was the last may end even the first delay."""
        if self.phase is not Phase.PREPARING:
            self._prepare(now=now)
        elif self.members.have_all_joined:
            self._complete_join(now=now)

    def _sync_expired(self, *, now: float) -> None:
        for member_id in list(self._unsynced):
            self._remove(self.members.by_id[member_id])
        self._prepare(now=now)

    # Answers

    def _member_of_generation(self, request: SyncGroupRequest | HeartbeatRequest) -> Member:
        member = self.members.checked(request.member_id, request.group_instance_id)
        if request.generation_id != self.generation:
            raise IllegalGeneration()
        return member

    def _joined(
        self,
        member: Member,
        call: Call,
        *,
        leader: str | None = None,
        skip_assignment: bool = False,
    ) -> JoinGroupResponse:
        found = self.members.leader if leader is None else leader
        return JoinGroupResponse(
            error_code=0,
            generation_id=self.generation,
            protocol_type=self.protocol_type,
            protocol_name=self.protocol,
            leader=found,
            skip_assignment=skip_assignment,
            member_id=member.id,
            members=self.members.for_leader(self.protocol) if found == member.id else [],
        )

    def _synced(self, member: Member) -> SyncGroupResponse:
        return SyncGroupResponse(
            error_code=0,
            protocol_type=self.protocol_type,
            protocol_name=self.protocol,
            assignment=member.assignment,
        )


def _differ(said: str | None, ours: str) -> bool:
    """Versions before 5 do not say; and before the first generation nothing is chosen."""
    return said is not None and ours not in ("", said)


def _cancel(appointment: Appointment | None) -> None:
    if appointment is not None:
        appointment.cancel()
