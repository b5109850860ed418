"""A member of a consumer group (KIP-848): the coordinator shares out, the members follow. Pure.

Theory of operation. All goes by one kind of request, the heartbeat. It bears the epoch of the
member: 0 to join, -1 or -2 to leave. An answer may bring a newer epoch and a target: what the
member is to own. `reconciliation` goes there, step by step, while heartbeats go on.

| state | heartbeats | it ends when |
|---|---|---|
| unsubscribed | none | something is wanted and records are asked for: joining |
| joining | at once | the coordinator answers: reconciling |
| reconciling | by the interval | the user's steps are done: acknowledging |
| acknowledging | at once | the heartbeat goes out: stable |
| stable | by the interval | a target comes: reconciling |
| fenced | none | all that was owned is lost: joining |
| fatal | none | all that was owned is lost and records are asked for again: joining |
| leaving | the last one, at once | it goes out: stale |
| stale | none | records are asked for again; all that was owned is lost: joining |

Where a target has topics without a name, the state stays "reconciling" until the metadata has them.
Any of the states in which heartbeats go out ends with an error (fenced, fatal), or when records are
not asked for in time (leaving). Only `leave` leads back to "unsubscribed".

Rules for whoever changes this:

1. `poll` is the only one that begins steps, and the only one that changes the phase because of the
   time. Everything else takes note of what happened.
2. One heartbeat is out at a time. Only the answer to that one is heard, and only while we join or
   are members: after that it is about a membership that has ended.
3. Joining waits until nothing is owned, no step is under way, and the last heartbeat of the
   membership before is out of the way: the coordinator wants it so.
4. A heartbeat that failed may have been heard or not. So the next one says everything.
5. What is worth a retry is retried after a pause that grows; everything else is told to the user.
   Nothing goes on by itself after that: only who asks for records again tries again.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum, auto
from math import inf
from typing import Any, Final

from kafka_aio.backoff import Backoff
from kafka_aio.consumer.assignors.assignor import Assignment
from kafka_aio.consumer.membership.consumer_errors import explained
from kafka_aio.consumer.membership.consumer_heartbeats import JOINING, Heartbeats
from kafka_aio.consumer.membership.member import (
    Assign,
    OfUser,
    Overdue,
    Send,
    ShareOut,
    Step,
    Tally,
    Tell,
    Wanted,
    is_moved,
    may_pass,
)
from kafka_aio.consumer.membership.reconciliation import Reconciliation
from kafka_aio.errors import (
    FencedMemberEpoch,
    GroupIdNotFound,
    KafkaError,
    StateError,
    TopicAuthorizationFailed,
    UnknownMemberId,
    for_code,
)
from kafka_aio.protocol.messages.consumer_group import (
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
)
from kafka_aio.protocol.schema import Request, Uuid
from kafka_aio.types import TopicPartition

_AT_ONCE: Final = -inf


class _Phase(Enum):
    """Where a member is; what its state is called inside of a group depends on its target."""

    UNSUBSCRIBED = auto()
    JOINING = auto()
    MEMBER = auto()
    FENCED = auto()
    FATAL = auto()
    LEAVING = auto()
    STALE = auto()


_HEARD = (_Phase.JOINING, _Phase.MEMBER)
"""Phases in which the coordinator counts."""
_GIVING_UP = (_Phase.FENCED, _Phase.FATAL)
"""Phases in which what is owned is lost at once; a stale member first hears from its user."""


class ConsumerMember:
    """A `Membership` of a consumer group."""

    def __init__(  # noqa: PLR0913 - keyword-only, from the configuration
        self,
        *,
        group_id: str,
        member_id: str,
        rebalance_timeout: float,
        backoff: Backoff,
        topic_name: Callable[[Uuid], str | None],
        instance_id: str | None = None,
        rack: str | None = None,
        server_assignor: str | None = None,
    ) -> None:
        """Begin outside of the group.

        Args:
            group_id: The group.
            member_id: One made up for this member, new for each process (KIP-1082).
            rebalance_timeout: How long (max.poll.interval) the user may take between two requests
                for records, and for all the steps of a reconciliation.
            backoff: The pauses between heartbeats that fail.
            topic_name: The name of a topic, as far as the metadata has it.
            instance_id: The name of a static member.
            rack: Where the member is.
            server_assignor: The coordinator's assignor that is asked for.
        """
        self._group_id = group_id
        self._member_id = member_id
        self._rebalance_timeout = rebalance_timeout
        self._backoff = backoff
        self._heartbeats = Heartbeats(
            group_id=group_id,
            instance_id=instance_id,
            rack=rack,
            server_assignor=server_assignor,
            rebalance_timeout=rebalance_timeout,
        )
        self._reconciliation = Reconciliation(topic_name)
        self._phase = _Phase.UNSUBSCRIBED
        self._epoch = JOINING
        self._wanted = Wanted()
        self._asked_at: float | None = None
        self._is_known = False
        """The coordinator may have us as a member."""
        self._out: ConsumerGroupHeartbeatRequest | None = None
        self._sent_at = _AT_ONCE
        self._heartbeat_at = _AT_ONCE
        """When the next heartbeat is due: by the interval, or after a pause."""
        self._is_pressing = False
        """The next heartbeat does not wait for the interval."""
        self._failures = 0
        self._errors: list[KafkaError] = []
        self._has_told = False
        """The user knows of an error that lasts, and has not asked for records since."""
        self.tally = Tally()
        self.barred: KafkaError | None = None
        """As `Membership` says: here, who asks for records again may join again."""

    def __repr__(self) -> str:
        out = ", heartbeat out" if self._out else ""
        return (
            f"<ConsumerMember {self._member_id} of {self._group_id}: {self.state},"
            f" epoch {self._epoch}, {len(self.owned)} partitions, {self._failures} failures{out}>"
        )

    # What it is

    @property
    def member_id(self) -> str:
        """As `Membership` says."""
        return self._member_id

    @property
    def generation(self) -> int:
        """As `Membership` says."""
        return self._epoch if self._phase is _Phase.MEMBER else -1

    @property
    def owned(self) -> frozenset[TopicPartition]:
        """As `Membership` says."""
        return self._reconciliation.owned

    @property
    def unresolved(self) -> frozenset[Uuid]:
        """Topics that we are to own partitions of, and whose names the metadata does not have.

        While there are any, all topics have to be looked up; then `metadata_changed` is called.
        """
        return self._reconciliation.unresolved

    @property
    def state(self) -> str:
        """As `Membership` says."""
        if self._phase is not _Phase.MEMBER:
            return self._phase.name.lower()
        if not self._reconciliation.is_reconciled:
            return "reconciling"
        return "acknowledging" if self._reconciliation.must_acknowledge else "stable"

    @property
    def is_overdue(self) -> bool:
        """As `Membership` says."""
        return self._phase in (_Phase.LEAVING, _Phase.STALE) and self._asked_at is None

    @property
    def deadline(self) -> float:
        """As `Membership` says. What can be begun at once is due before all time."""
        if self._errors or self._can_begin_step or self._can_join:
            return _AT_ONCE
        return min(self._due_at, self._stale_at)

    # What is to be done

    def poll(self, *, now: float) -> list[Step]:
        """As `Membership` says."""
        if self._can_join:
            self._phase = _Phase.JOINING
        steps: list[Step] = []
        if now >= self._stale_at:  # after the other: who would leave again does not join
            steps.append(self._go_stale(now))
        steps += [Tell(error) for error in self._errors]
        self._errors.clear()
        if self._phase is _Phase.LEAVING and self._out is None:
            steps.append(Send(self._say_goodbye()))
        if step := self._begin_step():
            steps.append(step)
        if self._due_at <= now:
            steps.append(Send(self._beat(now)))
        return steps

    @property
    def _stale_at(self) -> float:
        """When nobody has asked for too long: who is out waits for the user too, to lose all."""
        must_lose = self._phase is _Phase.FENCED and bool(self.owned)
        if self._asked_at is None or not (self._phase in _HEARD or must_lose):
            return inf
        return self._asked_at + self._rebalance_timeout

    def _go_stale(self, now: float) -> Overdue:
        since = self._rebalance_timeout + now - self._stale_at
        self._phase = _Phase.LEAVING if self._is_known else _Phase.STALE
        self._asked_at = None
        self._end_membership()
        return Overdue(self._group_id, since, self._rebalance_timeout)

    @property
    def _can_join(self) -> bool:
        is_out = self._phase not in (*_HEARD, _Phase.LEAVING)
        is_wanted = bool(self._wanted.topics) or self._wanted.regex is not None
        is_free = self._reconciliation.is_idle and not self.owned and self._out is None
        return is_out and is_wanted and is_free and self._asked_at is not None

    @property
    def _can_begin_step(self) -> bool:
        if self._phase is _Phase.MEMBER:
            return self._reconciliation.can_begin
        return self._must_lose and self._reconciliation.can_lose

    @property
    def _must_lose(self) -> bool:
        is_back = self._phase is _Phase.STALE and self._asked_at is not None
        return is_back or self._phase in _GIVING_UP

    def _begin_step(self) -> OfUser | None:
        if self._phase is _Phase.MEMBER:
            return self._reconciliation.begin()
        return self._reconciliation.lose() if self._must_lose else None

    @property
    def _due_at(self) -> float:
        """When a heartbeat goes out."""
        if self._out is not None:
            return inf
        if self._phase is _Phase.LEAVING:
            return _AT_ONCE
        if self._phase not in _HEARD:
            return inf
        if self._failures:
            return self._heartbeat_at
        has_news = self._heartbeats.has_news(self._wanted)
        is_pressing = self._is_pressing or self._reconciliation.must_acknowledge or has_news
        return _AT_ONCE if is_pressing else self._heartbeat_at

    def _say_goodbye(self) -> ConsumerGroupHeartbeatRequest:
        self._phase = _Phase.STALE
        self._is_known = False
        self._out = self._heartbeats.leave(self._member_id, is_for_good=False)
        return self._out

    def _beat(self, now: float) -> ConsumerGroupHeartbeatRequest:
        self._is_known = True
        self._is_pressing = False
        self._sent_at = now
        self.tally.heartbeats += 1
        tells_owned = self._heartbeats.is_full or self._reconciliation.must_acknowledge
        owned = self._reconciliation.topic_partitions() if tells_owned else None
        self._out = self._heartbeats.write(self._member_id, self._epoch, self._wanted, owned)
        self._reconciliation.must_acknowledge = False
        return self._out

    # What comes back

    def answered(self, request: Request[Any], response: Any, *, now: float, jitter: float) -> None:
        """As `Membership` says."""
        heard = self._came_back(request)
        if heard is None:
            return
        if response.error_code:
            message = response.error_message
            error = for_code(response.error_code, message, where=f"group {self._group_id}")
            self._refused(heard, error, now=now, jitter=jitter)
        else:
            self._accepted(response)

    def failed(
        self, request: Request[Any], error: KafkaError, *, now: float, jitter: float
    ) -> None:
        """As `Membership` says."""
        if heard := self._came_back(request):
            self._refused(heard, error, now=now, jitter=jitter)

    def shared_out(
        self, step: ShareOut, assignment: Assignment | KafkaError, *, now: float
    ) -> None:
        """As `Membership` says; but in this protocol the coordinator does that.

        Raises:
            StateError: Always.
        """
        raise StateError("nobody was asked to share out: in this protocol the coordinator does")

    def done(self, step: OfUser, *, now: float) -> None:
        """As `Membership` says."""
        self._reconciliation.done(step)
        self.tally.rebalances += isinstance(step, Assign)

    def _came_back(self, request: Request[Any]) -> ConsumerGroupHeartbeatRequest | None:
        """The heartbeat whose end this is, if that is news to us."""
        out = self._out
        if out is None or out is not request:
            return None
        self._out = None
        return out if self._phase in _HEARD and out.member_epoch >= JOINING else None

    def _accepted(self, response: ConsumerGroupHeartbeatResponse) -> None:
        self._failures = 0
        self._has_told = False
        self._heartbeat_at = self._sent_at + response.heartbeat_interval_ms / 1000
        if response.member_epoch < self._epoch:
            return
        self._phase = _Phase.MEMBER
        self._epoch = response.member_epoch
        self._member_id = response.member_id or self._member_id
        if response.assignment is not None:
            self._reconciliation.aim_at(
                frozenset(
                    (topic.topic_id, number)
                    for topic in response.assignment.topic_partitions
                    for number in topic.partitions
                )
            )

    def _refused(
        self,
        request: ConsumerGroupHeartbeatRequest,
        error: KafkaError,
        *,
        now: float,
        jitter: float,
    ) -> None:
        self._heartbeats.forget()
        was_member = self._phase is _Phase.MEMBER
        is_gone = was_member and isinstance(error, GroupIdNotFound)
        if is_gone or isinstance(error, (FencedMemberEpoch, UnknownMemberId)):
            self._phase = _Phase.FENCED
            self._is_known = isinstance(error, FencedMemberEpoch)
            self._end_membership()
            if was_member:
                self._failures = 0
                return  # and join without a pause
        elif isinstance(error, TopicAuthorizationFailed):
            # We stay: the right may be given later.
            if not self._has_told:
                self._tell(error)
        elif not may_pass(error):
            self._phase = _Phase.FATAL
            self._is_known = False
            self._asked_at = None
            self._end_membership()
            self._tell(explained(error, request))
        self._back_off(error, now=now, jitter=jitter)

    def _back_off(self, error: KafkaError, *, now: float, jitter: float) -> None:
        pause = self._backoff.delay(self._failures, jitter=jitter)
        # Looking for the coordinator is pause enough, once.
        self._heartbeat_at = now if is_moved(error) and not self._failures else now + pause
        self._failures += 1

    def _tell(self, error: KafkaError) -> None:
        self._errors.append(error)
        self._has_told = True

    def _end_membership(self) -> None:
        """We are out; whatever is owned is to be lost."""
        self._epoch = JOINING
        self._heartbeats.forget()
        self._reconciliation.abandon()

    # What the user does

    def subscribe(self, wanted: Wanted, *, now: float) -> None:
        """As `Membership` says. A member tells the coordinator at once; it need not join again."""
        if wanted == self._wanted:
            return
        self._wanted = wanted
        self._has_told = False
        if self._phase is _Phase.FATAL:
            self._failures = 0  # what was wrong may be right now

    def asked(self, *, now: float) -> None:
        """As `Membership` says. Who waits for records asks for them all the time."""
        if self._phase is _Phase.FATAL and self._errors:
            return  # the user does not know yet
        self._asked_at = now
        self._has_told = False

    def metadata_changed(self, *, now: float) -> None:
        """The metadata has changed: topics may have got their names."""
        self._reconciliation.metadata_changed()

    def rejoin(self, reason: str) -> None:
        """As `Membership` says; but here the coordinator decides. It hears from us at once."""
        self._is_pressing = True

    def leave(
        self, reason: str, *, stays: bool | None = None
    ) -> ConsumerGroupHeartbeatRequest | None:
        """As `Membership` says. Nothing is wanted afterwards; this protocol has no reasons."""
        is_known = self._is_known
        self._phase = _Phase.UNSUBSCRIBED
        self._wanted = Wanted()
        self._asked_at = self._out = None
        self._is_known = self._is_pressing = self._has_told = False
        self._failures = 0
        self._errors.clear()
        self._end_membership()
        self._reconciliation.forget()
        if not is_known or stays:
            return None
        return self._heartbeats.leave(self._member_id, is_for_good=stays is False)
