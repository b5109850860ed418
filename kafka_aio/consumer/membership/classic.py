"""A member of a classic group: it joins, leads, keeps its place, and gives it up. Pure.

| phase | what is under way | what comes next |
|---|---|---|
| UNJOINED | nothing: it has to join, or may not | JOINING |
| JOINING | a JoinGroup is out | SHARING (it leads), SYNCING; UNJOINED, if that failed |
| SHARING | the ShareOut of the leader | SYNCING; UNJOINED, if that failed |
| SYNCING | a SyncGroup is out | STABLE; UNJOINED, if that failed |
| STABLE | nothing: it has its assignment | JOINING again; UNJOINED, if it is out of the group |

Beside the phase there is the place: member id and generation. UNJOINED with a generation, it is in
the group and has to join again: what it owns is its own. Without one it is out: what it owns is
lost. The id outlives the generation, so that no ghost of us stays in the group.

Whether it keeps its partitions while it joins (KIP-429) goes by what we offer, not by what the
group chooses: it does if all our assignors are cooperative. So a group moves over in two rolling
restarts: first both kinds are offered, then the cooperative one alone.

Rules for whoever changes this:

1. What to do next is derived, not remembered. Each `_..._at` says when one kind of step is due;
   `deadline` is the least of them, and `poll` does what is due.
2. What is under way is known by its identity. Who forgets `_call`, `_sharing` or the heartbeat that
   is out makes its answer change nothing.
3. A place is lost in `_fall_out`, and nowhere else.
4. While a step of the user's runs, nothing is joined. Heartbeats go on. They rest while a join or a
   sync is out: that waits at the coordinator, which knows meanwhile that we are there; a heartbeat
   on the same connection would wait behind it. What one that is out would say, the answer to the
   join or the sync says too.
5. Nothing is joined and nothing happens to the user unless records are asked for: anew, after an
   error was told, and after we left by ourselves because nobody asked for too long.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum
from math import inf
from typing import Any, Final

from kafka_aio.backoff import Backoff
from kafka_aio.consumer.assignors.assignor import Assignment, Assignor
from kafka_aio.consumer.membership.classic_answers import check, hear, read_join, read_sync
from kafka_aio.consumer.membership.classic_heartbeats import Heartbeats
from kafka_aio.consumer.membership.classic_requests import ClassicRequests, Place
from kafka_aio.consumer.membership.holdings import Holdings
from kafka_aio.consumer.membership.leading import Led
from kafka_aio.consumer.membership.member import (
    Assign,
    Lose,
    OfUser,
    Overdue,
    Revoke,
    Send,
    ShareOut,
    Step,
    Tally,
    Tell,
    Wanted,
    may_pass,
)
from kafka_aio.errors import (
    BrokerError,
    ConfigError,
    FencedInstanceId,
    IllegalGeneration,
    KafkaError,
    MemberIdRequired,
    RebalanceInProgress,
    UnknownMemberId,
    fresh,
)
from kafka_aio.protocol.messages.groups import (
    HeartbeatResponse,
    JoinGroupResponse,
    SyncGroupRequestAssignment,
    SyncGroupResponse,
)
from kafka_aio.protocol.schema import Request
from kafka_aio.types import TopicPartition

_JOIN_LAPSE: Final = 5.0
"""Seconds that the answer to a join may take beyond what the coordinator waits for others."""


class _Phase(Enum):
    """How far it is; the table above says what each means."""

    UNJOINED = "out"
    JOINING = "joining"
    SHARING = "sharing out"
    SYNCING = "syncing"
    STABLE = "stable"


_WORDS: Final[dict[type[OfUser], str]] = {Revoke: "revoking", Lose: "losing", Assign: "assigning"}


class ClassicMember:
    """A `Membership` of a classic group: one whose leader shares the partitions out."""

    def __init__(  # noqa: PLR0913 - keyword-only, from the configuration
        self,
        *,
        group_id: str,
        assignors: Sequence[Assignor],
        session_timeout: float,
        heartbeat_interval: float,
        rebalance_timeout: float,
        backoff: Backoff,
        instance_id: str | None = None,
        rack: str | None = None,
    ) -> None:
        """Begin outside of the group.

        Args:
            group_id: The group.
            assignors: What is offered to the group, the one that we prefer first.
            session_timeout: After how long without a heartbeat the coordinator throws us out.
            heartbeat_interval: From one heartbeat to the next.
            rebalance_timeout: How long (max.poll.interval) the user may take between two requests
                for records, and how long the others wait for us to join again.
            backoff: The pauses between attempts that fail.
            instance_id: The name of a static member (KIP-345).
            rack: Where the member is (KIP-881).

        Raises:
            ConfigError: There is no assignor, or two have the same name.
        """
        self._requests = ClassicRequests(
            group_id=group_id,
            instance_id=instance_id,
            assignors=assignors,
            session_timeout=session_timeout,
            rebalance_timeout=rebalance_timeout,
            rack=rack,
        )
        self._backoff = backoff
        self._heartbeats = Heartbeats(heartbeat_interval, backoff)
        self._is_cooperative = all(each.is_cooperative for each in assignors)
        self._holdings = Holdings(is_cooperative=self._is_cooperative)

        self._wanted: frozenset[str] = frozenset()
        self._is_asked = False
        self._asked_at = -inf
        self.barred: KafkaError | None = None

        self._phase = _Phase.UNJOINED
        self._place = Place()
        self._call: Request[Any] | None = None
        """The JoinGroup or SyncGroup that is out."""
        self._sharing: ShareOut | None = None
        self._tells: list[Tell | Overdue] = []
        self.tally = Tally()
        self.is_overdue = False

        self._reason = ""
        """Why it has to join, while it has not joined (KIP-800)."""
        self._again: str | None = None
        """Why it has to join again, although it has joined."""
        self._joined_for: frozenset[str] = frozenset()
        """The topics of the last join."""
        self._assignor = assignors[0]
        """The one that the group has chosen."""
        self._led: Led | None = None
        """The group, if we lead it."""
        self._shares: list[SyncGroupRequestAssignment] = []
        """What its members get from us."""
        self._failures = 0
        self._rests_until = -inf

    def __repr__(self) -> str:
        return (
            f"<ClassicMember of {self._requests.group_id!r}: {self.state}, "
            f"generation {self.generation}, {len(self.owned)} partitions>"
        )

    @property
    def member_id(self) -> str:
        return self._place.member_id

    @property
    def generation(self) -> int:
        return self._place.generation

    @property
    def owned(self) -> frozenset[TopicPartition]:
        return self._holdings.owned

    @property
    def watched(self) -> frozenset[str]:
        """The topics of the group while we lead it: `rejoin` when their partitions change."""
        return frozenset() if self._led is None else self._led.topics

    @property
    def state(self) -> str:
        step = self._holdings.step or (self._next_of_user() if self._is_asked else None)
        if step is not None:
            return _WORDS[type(step)]
        if self.barred is not None:
            return "fenced"
        will_join = self._is_asked and self._why_join is not None
        return _Phase.JOINING.value if will_join else self._phase.value

    # What is due, and when

    @property
    def deadline(self) -> float:
        told_at = -inf if self._tells else inf
        return min(told_at, self._overdue_at, self._heartbeat_at, self._advance_at)

    def poll(self, *, now: float) -> list[Step]:
        steps: list[Step | None] = []
        if now >= self._overdue_at:
            steps.append(self._give_place_up(now))
        if now >= self._advance_at:
            steps.append(self._advance(now))
        if now >= self._heartbeat_at:
            steps.append(self._send_heartbeat(now))
        told, self._tells = self._tells, []
        return [*told, *(each for each in steps if each is not None)]

    @property
    def _is_settled(self) -> bool:
        """Whether it has a place that neither a join nor a sync is about to change."""
        return self._place.generation >= 0 and self._call is None

    @property
    def _overdue_at(self) -> float:
        """When nobody has asked for too long: who is out waits for the user too, to lose all."""
        must_lose = self._is_asked and self._place.generation < 0 and bool(self.owned)
        waits = self._is_settled or must_lose
        return self._asked_at + self._requests.rebalance_timeout if waits else inf

    @property
    def _heartbeat_at(self) -> float:
        return self._heartbeats.due if self._is_settled else inf

    @property
    def _advance_at(self) -> float:
        """When to go on: with a step of the user's, a join, or what follows from one."""
        is_busy = self._holdings.step or self._call or self._sharing
        if is_busy or not (self._is_asked or self.barred):
            return inf
        if self._phase in (_Phase.SHARING, _Phase.SYNCING) or self._next_of_user() is not None:
            return -inf
        return self._rests_until if self._is_asked and self._why_join is not None else inf

    @property
    def _why_join(self) -> str | None:
        """Why a join is to be sent, in words for the broker's log; None if none is."""
        if self._phase is _Phase.STABLE:
            is_other = self._wanted != self._joined_for
            return "the subscription has changed" if is_other else self._again
        # Who wants nothing has no cause to come; but who is in the group has to say so.
        has_cause = self._wanted or self._place.generation >= 0
        return self._reason if self._phase is _Phase.UNJOINED and has_cause else None

    def _next_of_user(self) -> OfUser | None:
        return self._holdings.next(
            self._wanted,
            is_member=self._place.generation >= 0,
            joins=self._why_join is not None,
        )

    def _advance(self, now: float) -> Step | None:
        step = self._next_of_user()
        if step is not None:
            return self._holdings.begin(step)
        if self._phase is _Phase.SHARING:
            return self._share_out()
        return self._sync() if self._phase is _Phase.SYNCING else self._join(now)

    # The user

    def subscribe(self, wanted: Wanted, *, now: float) -> None:
        """Want this from now on: joins, once records are asked for, or joins again.

        Raises:
            ConfigError: A pattern that the broker matches is for groups of the other protocol.
        """
        del now  # the other protocol needs it
        if wanted.regex is not None:
            raise ConfigError("brokers match patterns for groups of group_protocol=consumer only")
        self._wanted = wanted.topics
        self.barred = None

    def asked(self, *, now: float) -> None:
        self._is_asked = True
        self._asked_at = now
        self.is_overdue = False

    def done(self, step: OfUser, *, now: float) -> None:
        del now
        self._holdings.done(step)
        self.tally.rebalances += isinstance(step, Assign)

    def rejoin(self, reason: str) -> None:
        if self._phase is _Phase.UNJOINED:
            self._reason = reason
        elif self._phase is not _Phase.JOINING:  # there, the join that is out will do
            self._again = reason

    def leave(self, reason: str, *, stays: bool | None = None) -> Request[Any] | None:
        is_static = self._requests.instance_id is not None
        says_so = not (is_static if stays is None else stays) and self._place.member_id
        request = self._requests.leave(self._place, reason) if says_so else None
        self._fall_out(reason="")
        self._holdings.forget()
        self._wanted = frozenset()
        self._is_asked = self.is_overdue = False
        self.barred = None
        self._tells.clear()
        return request

    def _give_place_up(self, now: float) -> Step | None:
        """Nobody has asked for too long: leave, so that others get what we own."""
        reason = "no records were asked for within max.poll.interval.ms"
        group_id, limit = self._requests.group_id, self._requests.rebalance_timeout
        says_so = self._requests.instance_id is None and self._place.member_id
        request = self._requests.leave(self._place, reason) if says_so else None
        self._tells.append(Overdue(group_id, now - self._asked_at, limit))
        self._fall_out(reason=reason)
        self._is_asked = False
        self.is_overdue = True
        return None if request is None else Send(request)

    # A rebalance, step by step

    def _join(self, now: float) -> Step | None:
        try:
            if self.barred is not None:
                raise fresh(self.barred)
            request = self._requests.join(
                self._place, self._wanted, self.owned, self._holdings.last, self._why_join or ""
            )
        except KafkaError as error:
            self._give_up(error, now, 0.0)
            return None
        self._call = request
        self._phase = _Phase.JOINING
        self._joined_for = self._wanted
        self._again = None
        self._heartbeats.forget()
        return Send(request, timeout=self._requests.rebalance_timeout + _JOIN_LAPSE)

    def _joined(self, answer: JoinGroupResponse, now: float) -> None:
        is_known = bool(self._place.member_id)
        if answer.error_code == MemberIdRequired.code and answer.member_id and not is_known:
            self._fall_out(answer.member_id, reason="a member id was required")
            return
        joined = read_join(answer, self._requests)
        self._place, self._assignor, self._led = joined.place, joined.assignor, joined.led
        self._heartbeats.begin(now=now)
        self._shares = []
        self._phase = _Phase.SYNCING if joined.led is None else _Phase.SHARING

    def _share_out(self) -> Step | None:
        if (led := self._led) is not None:
            self._sharing = ShareOut(self._assignor, led.members, led.topics, led.keeps)
        return self._sharing

    def shared_out(
        self, step: ShareOut, assignment: Assignment | KafkaError, *, now: float
    ) -> None:
        if step is not self._sharing or self._led is None:
            return
        self._sharing = None
        if isinstance(assignment, KafkaError):
            self._give_up(assignment, now, 0.0)
            return
        try:
            self._shares = self._led.shares(
                step.assignor, assignment, is_cooperative=self._is_cooperative
            )
            self._phase = _Phase.SYNCING
        except KafkaError as error:
            self._give_up(error, now, 0.0)

    def _sync(self) -> Step:
        self._call = self._requests.sync(self._place, self._assignor.name, self._shares)
        self._heartbeats.forget()
        return Send(self._call)

    def _synced(self, answer: SyncGroupResponse, now: float, jitter: float) -> None:
        assigned = read_sync(answer, self._assignor, self._requests.group_id)
        partitions = frozenset(assigned.partitions)
        self._phase = _Phase.STABLE
        if not {each.topic for each in partitions} <= self._wanted:
            self._again = "the assignment does not match the subscription"
            if self._wanted == self._joined_for:  # so it is not we who have changed
                self._rest(now, jitter)
            return
        self._failures = 0
        self._tells += hear(self._assignor, assigned, self._place.generation)
        if self._holdings.assign(partitions, self._place.generation):
            self._again = "partitions were revoked, for others to have them"

    # Answers, and what goes wrong

    def answered(self, request: Request[Any], response: Any, *, now: float, jitter: float) -> None:
        if request is self._heartbeats.out:
            self._heard(response, now, jitter)
        elif request is self._call:
            self._call = None
            try:
                if self._phase is _Phase.JOINING:
                    self._joined(response, now)
                else:
                    self._synced(response, now, jitter)
            except KafkaError as error:
                self._refused(error, now, jitter)

    def failed(
        self, request: Request[Any], error: KafkaError, *, now: float, jitter: float
    ) -> None:
        if request is self._heartbeats.out:
            self._unheard(error, now, jitter)
        elif request is self._call:
            self._call = None
            self._refused(error, now, jitter)

    def _refused(self, error: KafkaError, now: float, jitter: float) -> None:
        """To join or to sync has failed: join again, at once or later."""
        self._must_join_after(error)
        if self._falls_out_by(error) or isinstance(error, RebalanceInProgress):
            self._rest(now, jitter, spares_first=True)
        elif may_pass(error):
            self._rest(now, jitter)
        else:
            self._give_up(error, now, jitter)

    def _send_heartbeat(self, now: float) -> Step:
        request = self._requests.heartbeat(self._place)
        self._heartbeats.sent(request, now=now)
        self.tally.heartbeats += 1
        # After that the coordinator has given us up, or is not there: better look for it anew.
        return Send(request, timeout=self._requests.session_timeout)

    def _heard(self, answer: HeartbeatResponse, now: float, jitter: float) -> None:
        """A heartbeat is answered."""
        try:
            check(answer.error_code, self._requests.group_id)
        except RebalanceInProgress:
            if self._phase is _Phase.STABLE:
                self._again = "the group is rebalancing"
        except BrokerError as error:
            self._unheard(error, now, jitter)
            return
        self._heartbeats.ended()

    def _unheard(self, error: KafkaError, now: float, jitter: float) -> None:
        """A heartbeat has failed."""
        if self._falls_out_by(error):
            return
        if may_pass(error):
            self._heartbeats.failed(now=now, jitter=jitter)
        else:
            self._heartbeats.ended()
            self._tells.append(Tell(error))

    def _falls_out_by(self, error: KafkaError) -> bool:
        """Fall out of the group if the error says that our place is gone; whether it does."""
        if not isinstance(error, (IllegalGeneration, UnknownMemberId, FencedInstanceId)):
            return False
        still_known = self._place.member_id if isinstance(error, IllegalGeneration) else ""
        self._fall_out(still_known, reason=f"the place was lost: {type(error).__name__}")
        if isinstance(error, FencedInstanceId):
            self.barred = error
            self._is_asked = False
            self._tells.append(Tell(error))
        return True

    def _fall_out(self, member_id: str = "", *, reason: str) -> None:
        """Be out of the group, with an id if the coordinator still knows it."""
        self._place = Place(member_id)
        self._phase = _Phase.UNJOINED
        self._reason = reason
        self._call = self._sharing = self._led = None
        self._holdings.drop_assignment()
        self._heartbeats.forget()

    def _give_up(self, error: KafkaError, now: float, jitter: float) -> None:
        """Tell, and join when records are asked for again, but not too soon."""
        self._must_join_after(error)
        self._tells.append(Tell(error))
        self._is_asked = False
        self._rest(now, jitter)

    def _must_join_after(self, error: KafkaError) -> None:
        self._phase = _Phase.UNJOINED
        self._reason = f"the rebalance failed: {type(error).__name__}"

    def _rest(self, now: float, jitter: float, *, spares_first: bool = False) -> None:
        """Pause before the next join: longer with each failure; the first may go without."""
        is_spared = spares_first and self._failures == 0
        pause = 0.0 if is_spared else self._backoff.delay(self._failures, jitter=jitter)
        self._failures += 1
        self._rests_until = now + pause
