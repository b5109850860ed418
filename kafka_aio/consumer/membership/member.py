"""What a member of a group has to do next, and what it is told: one face for both protocols. Pure.

    poll -> steps to begin now; each is told of when it has ended:
        Send        answered | failed
        ShareOut    shared_out                                  (classic groups, the leader)
        Revoke, Lose, Assign                                    done
        Tell        nothing: whoever reads next gets the error
        Overdue     nothing: it goes into the log

Steps of the user's (Revoke, Lose, Assign) come one after the other. Heartbeats do not wait for
them: a callback may take longer than a session.

"Generation" is the generation of a classic group, and the member epoch of a consumer group.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias

from kafka_aio.consumer.assignors.assignor import Assignment, Assignor, Member
from kafka_aio.errors import (
    BrokerError,
    CoordinatorNotAvailable,
    KafkaConnectionError,
    KafkaError,
    KafkaTimeoutError,
    NotCoordinator,
)
from kafka_aio.protocol.schema import Request
from kafka_aio.types import TopicPartition


@dataclass(frozen=True, slots=True, eq=False)
class Send:
    """Send this to the coordinator of the group, and tell what came of it."""

    request: Request[Any]
    timeout: float | None = None
    """Seconds to wait for the answer, where that may take longer than others: a join."""


@dataclass(frozen=True, slots=True, eq=False)
class ShareOut:
    """We lead the group: share its partitions out, by an assignor that may be the user's."""

    assignor: Assignor
    members: tuple[Member, ...]
    topics: frozenset[str]
    """All that a member subscribes to: the metadata has to have these, or know that they are not
    there."""
    keeps: bool = False
    """Whether all keep what they have (KIP-814): then the topics are looked at, for what they get
    later, and nobody is asked to assign."""


@dataclass(frozen=True, slots=True, eq=False)
class Revoke:
    """Give these up: what was read of them is committed, and the user told, before they go."""

    partitions: tuple[TopicPartition, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Lose:
    """These may be another's already: the user is told, and nothing is committed."""

    partitions: tuple[TopicPartition, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Assign:
    """These are ours now, all of them; the user is told of those that are new, even if none is."""

    partitions: tuple[TopicPartition, ...]
    added: tuple[TopicPartition, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Tell:
    """Something is wrong that the user has to know of."""

    error: KafkaError


@dataclass(frozen=True, slots=True, eq=False)
class Overdue:
    """It is out, as nobody has asked for records in time: that is logged."""

    group_id: str
    since: float
    """So many seconds ago they were last asked for."""
    limit: float
    """So many may pass (max.poll.interval)."""

    def text(self, callback: str = "") -> str:
        """Why that is so, and what to do about it.

        Args:
            callback: That of the listener which runs: until it has ended, nobody can ask.
        """
        why = "no records were asked for in"
        what = (
            "Take fewer records at a time (max_poll_records), raise max_poll_interval_ms, or hand"
            " the work to tasks and go on asking"
        )
        if callback:
            why = f"the callback {callback!r} has held up all reading for"
            what = "Have it hand its work to tasks, or raise max_poll_interval_ms"
        return (
            f"group {self.group_id!r}: {why} {self.since:.1f} s, which is longer than"
            f" max_poll_interval_ms={self.limit * 1000:.0f} allows; this consumer is out of the"
            f" group until it asks again, and others get its partitions. {what}"
        )


Step: TypeAlias = Send | ShareOut | Revoke | Lose | Assign | Tell | Overdue
OfUser: TypeAlias = Revoke | Lose | Assign
"""Steps in which code of the user's is called."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """What a member subscribes to."""

    topics: frozenset[str] = frozenset()
    """By name; with a pattern of the client's, those that match it."""
    regex: str | None = None
    """A pattern that the broker matches; consumer groups only."""


@dataclass(slots=True)
class Tally:
    """What a member has done so far."""

    heartbeats: int = 0
    """Those that were sent."""
    rebalances: int = 0
    """Assignments that were carried out."""


class Membership(Protocol):
    """A member of a group, of either protocol."""

    @property
    def tally(self) -> Tally:
        """What it has done so far."""

    @property
    def member_id(self) -> str:
        """Empty, or made up by us, until the coordinator knows it."""

    @property
    def generation(self) -> int:
        """-1 while it is in none: then nothing can be committed for a member."""

    @property
    def owned(self) -> frozenset[TopicPartition]:
        """What it was given, and has not given back: by the steps that are done."""

    @property
    def state(self) -> str:
        """In a word, for people: "joining", "stable" and so on."""

    @property
    def is_overdue(self) -> bool:
        """Whether it is out as nobody asked for records in time, and nobody has since."""

    @property
    def barred(self) -> KafkaError | None:
        """Why it is out until the user subscribes anew; None if it is not."""

    @property
    def deadline(self) -> float:
        """When to `poll` again, if nothing else happens before; `inf` for never."""

    def poll(self, *, now: float) -> list[Step]:
        """What is to be begun now. Each step is returned once."""

    def answered(self, request: Request[Any], response: Any, *, now: float, jitter: float) -> None:
        """The coordinator has answered; perhaps with an error."""

    def failed(
        self, request: Request[Any], error: KafkaError, *, now: float, jitter: float
    ) -> None:
        """There is no answer: the coordinator was not found, not reached, or said nothing."""

    def shared_out(
        self, step: ShareOut, assignment: Assignment | KafkaError, *, now: float
    ) -> None:
        """What each member gets, or why that cannot be said."""

    def done(self, step: OfUser, *, now: float) -> None:
        """The step has ended, whatever the user's code did."""

    def subscribe(self, wanted: Wanted, *, now: float) -> None:
        """Want this from now on: joins, once records are asked for, or joins again."""

    def asked(self, *, now: float) -> None:
        """Records are asked for: who does not do that for max.poll.interval.ms is out."""

    def rejoin(self, reason: str) -> None:
        """Join again soon: the user wants it, or the topics have changed."""

    def leave(self, reason: str, *, stays: bool | None = None) -> Request[Any] | None:
        """Be out of the group at once; the request that says so, if one is to be sent.

        Nothing is owned afterwards: whoever calls this has revoked it. What is answered later to
        requests that are out changes nothing.

        Args:
            reason: What the broker may write into its log (KIP-800).
            stays: None for what the protocol does by itself: dynamic members leave, static ones
                stay for their session timeout. False: leave. True: send nothing.
        """


def is_moved(error: KafkaError) -> bool:
    """Whether the group has another coordinator: look for that one before the next request."""
    return isinstance(error, (CoordinatorNotAvailable, NotCoordinator))


def may_pass(error: KafkaError) -> bool:
    """Whether it may go well next time, without anybody doing something about it."""
    if isinstance(error, BrokerError):
        return error.retriable
    return isinstance(error, (KafkaConnectionError, KafkaTimeoutError))
