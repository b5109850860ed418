"""Where a consumer is in one partition that it owns. Pure.

    phase                   leaves it by
    INITIALISING            seek (the committed offset is one), reset
    AWAITING_RESET          the offset that was listed, seek, another reset
    AWAITING_VALIDATION     confirmed, truncated, seek, reset
    FETCHING                another leader (to AWAITING_VALIDATION), seek, reset

Records are fetched and handed over in FETCHING only. Whatever makes the position jump (`seek`,
each step of a reset, `truncated`) begins a new era; answers to what was asked in an earlier one are
old, and nobody reads them (B45, B46). Within an era the position only grows, over gaps too (B42). A
pause, a callback and a validation that confirms the position do not begin an era.

To whoever edits this: `phase`, `position` and `era` are assigned here only.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum, auto
from math import inf
from typing import Final, NamedTuple

from kafka_aio.errors import KafkaError, StateError
from kafka_aio.metadata import Leader
from kafka_aio.types import OffsetAndMetadata, TopicPartition

NO_EPOCH: Final = -1
"""In place of a leader epoch that is not known; so it is on the wire."""


class Phase(Enum):
    """What has to happen before records of a partition can be fetched."""

    INITIALISING = auto()
    """Nobody knows yet where to begin: the committed offset is looked for."""
    AWAITING_RESET = auto()
    """The offset is asked for to which the position is reset."""
    AWAITING_VALIDATION = auto()
    """The leader is asked whether its log still has what was read (KIP-320)."""
    FETCHING = auto()


_MISSING: Final = {
    Phase.INITIALISING: "the committed offset was not found out",
    Phase.AWAITING_RESET: "the leader has not said where its log begins or ends",
    Phase.AWAITING_VALIDATION: "the leader has not said whether it has what was read",
    Phase.FETCHING: "no records can be fetched",
}


class ResetTo(Enum):
    """Where a reset leads."""

    EARLIEST = "earliest"
    LATEST = "latest"
    BY_DURATION = "by_duration"
    """To the first record that is not older than a duration (KIP-1106)."""


class Reset(NamedTuple):
    """A reset policy that leads somewhere; the policy `none` is None."""

    to: ResetTo
    lookback: float = 0.0
    """How many seconds back `BY_DURATION` goes."""


EARLIEST: Final = Reset(ResetTo.EARLIEST)
LATEST: Final = Reset(ResetTo.LATEST)


def reset_policy(name: str, lookback: float | None = None) -> Reset | None:
    """The policy of `auto_offset_reset`, and of `auto_offset_reset_lookback`.

    Raises:
        ValueError: There is no such policy.
    """
    if lookback is not None:
        return Reset(ResetTo.BY_DURATION, lookback)
    return None if name == "none" else Reset(ResetTo(name))


class Position(NamedTuple):
    """The next offset to hand over."""

    offset: int
    epoch: int = NO_EPOCH
    """The leader's epoch of the record before it; -1 where that is not known."""

    def to_commit(self) -> OffsetAndMetadata:
        epoch = None if self.epoch == NO_EPOCH else self.epoch
        return OffsetAndMetadata(self.offset, leader_epoch=epoch)

    def __str__(self) -> str:
        return f"{self.offset}" if self.epoch == NO_EPOCH else f"{self.offset} (epoch {self.epoch})"


class Moves:
    """Which partitions of a consumer have moved, and in which era each is."""

    def __init__(self) -> None:
        self._era = 0
        self._moved: dict[OwnedPartition, None] = {}

    def __repr__(self) -> str:
        return f"<Moves: era {self._era}, {len(self._moved)} partitions moved>"

    def next_era(self) -> int:
        """One that no partition ever had, so that one that comes back is another."""
        self._era += 1
        return self._era

    def add(self, partition: OwnedPartition) -> None:
        self._moved[partition] = None

    def discard(self, partition: OwnedPartition) -> None:
        self._moved.pop(partition, None)

    def take(self) -> list[OwnedPartition]:
        """Those that have moved since they were last taken."""
        taken = list(self._moved)
        self._moved.clear()
        return taken


class Trouble(NamedTuple):
    """Brokers have said nothing but errors of a partition."""

    error: KafkaError
    """The last one."""
    since: float
    """When the first one came."""
    lasts: float
    """So many seconds later the last one came."""


@dataclass(slots=True, eq=False)
class OwnedPartition:
    """A partition of the assignment. Others read it; only `Subscription` and `offsets` change it.

    Two of the same name are equal only if they are one: what was revoked and came back is another.
    """

    partition: TopicPartition
    moves: Moves
    """Told of each move of the position; one for all partitions of a consumer."""
    is_held: bool = False
    """A callback about it has not ended: nothing is fetched or handed over."""
    is_paused: bool = False
    """The user wants no records of it for now."""
    is_stuck: bool = False
    """What comes next cannot be read, and the user was told: nothing is fetched until a seek."""
    phase: Phase = Phase.INITIALISING
    era: int = field(init=False)
    """Grows when the position jumps: what was asked for or fetched in another era is old."""
    position: Position | None = None
    """None until it is known."""
    committable: Position | None = None
    """Where the position was when records were last asked for: all before it are dealt with."""
    handed_over: int = 0
    """All records that the user was given lie before this; a jump back takes it along."""
    stop: float = inf
    """Nothing is fetched from this offset on: who reads a range wants no more."""
    reset_to: Reset | None = None
    """Where it goes, while it awaits a reset."""
    asks_end: bool = False
    """A reset by duration has found no record: the end of the log is asked for."""
    end_before: int | None = None
    """That end. Then the time is asked for once more: a record may have come before the end."""
    leader: Leader | None = None
    """Who leads it now; None while nobody does, or nobody we know."""
    checked_epoch: int | None = None
    """The epoch of the leader that the position was last held against; None for no leader."""
    retry_at: float = -inf
    """When its reset or validation may be asked for again."""
    trouble: Trouble | None = None
    """None where brokers last gave what they were asked for."""
    high_watermark: int | None = None
    last_stable_offset: int | None = None
    log_start_offset: int | None = None

    def __post_init__(self) -> None:
        self.era = self.moves.next_era()

    def __repr__(self) -> str:
        named = {"paused": self.is_paused, "held": self.is_held, "stuck": self.is_stuck}
        flags = "".join(f", {name}" for name, is_so in named.items() if is_so)
        where = "nowhere yet" if self.position is None else f"at {self.position}"
        return f"<OwnedPartition {self.partition}: {self.phase.name}, {where}{flags}>"

    @property
    def is_fetchable(self) -> bool:
        """Whether its records may be fetched, from its leader, and handed over."""
        is_free = not (self.is_held or self.is_paused or self.is_stuck)
        return is_free and self.phase is Phase.FETCHING and self.leader is not None

    @property
    def missing(self) -> str:
        """What there has to be before its records can be handed over, and why it is not."""
        last = "" if self.trouble is None else f"; last: {self.trouble.error}"
        return _MISSING[self.phase] + last

    def lag(self, *, read_committed: bool = False) -> int | None:
        """How many offsets are ahead that could be read; None where that is not known."""
        end = self.last_stable_offset if read_committed else self.high_watermark
        if end is None or self.position is None:
            return None
        return max(end - self.position.offset, 0)

    def seek(self, position: Position) -> None:
        """Go there; if its epoch is known, not before the leader was asked about it."""
        self._jump(position)
        self.checked_epoch = None
        self._hold_against_leader()

    def reset(self, to: Reset) -> None:
        """Go where this leads, as soon as that is known."""
        self.position = None
        self.is_stuck = False
        self.phase = Phase.AWAITING_RESET
        self.reset_to = to
        self._step_of_reset(asks_end=False, end_before=None)

    def look_for_end(self) -> None:
        """A reset by duration has found no record: it leads to the end of the log.

        Raises:
            StateError: It awaits no reset.
        """
        self._expect(Phase.AWAITING_RESET)
        self._step_of_reset(asks_end=True, end_before=None)

    def found_end(self, offset: int) -> None:
        """The end for which a reset by duration has looked.

        Raises:
            StateError: It awaits no reset.
        """
        self._expect(Phase.AWAITING_RESET)
        self._step_of_reset(asks_end=False, end_before=offset)

    def settle_reset(self, offset: int) -> None:
        """The reset leads here. The leader of now has said so: there is nothing to validate.

        Raises:
            StateError: It awaits no reset.
        """
        self._expect(Phase.AWAITING_RESET)
        self._jump(Position(offset))
        self.checked_epoch = None if self.leader is None else self.leader.epoch

    def advance(self, position: Position) -> None:
        """Records up to here were handed over, or left out: gaps, markers, aborted ones.

        Raises:
            StateError: It has no position, or one further on.
        """
        if self.position is None or position.offset < self.position.offset:
            raise StateError(f"{self!r} does not go on to {position}: that takes a seek")
        self.position = position
        self.moves.add(self)

    def failed(self, error: KafkaError, *, now: float) -> None:
        """What was asked about it was answered by an error, or not at all."""
        since = now if self.trouble is None else self.trouble.since
        self.trouble = Trouble(error, since, now - since)

    def saw(self, high_watermark: int, last_stable_offset: int, log_start_offset: int) -> None:
        """What an answer says of its log; -1 for what it does not say."""
        self.trouble = None
        self.high_watermark = high_watermark if high_watermark >= 0 else None
        self.last_stable_offset = last_stable_offset if last_stable_offset >= 0 else None
        self.log_start_offset = log_start_offset if log_start_offset >= 0 else None

    def saw_end(self, offset: int, *, read_committed: bool) -> None:
        """Where what can be read of its log ends, as somebody was told who asked for that alone."""
        if read_committed:
            self.last_stable_offset = offset
        else:
            self.high_watermark = offset

    def ask(self) -> None:
        """Records are asked for: what was handed over before is dealt with."""
        if self.position is not None:
            self.committable = self.position

    def lead(self, leader: Leader | None) -> None:
        """Who leads it now. Another one than before is asked whether it has what was read."""
        self.leader = leader
        self._hold_against_leader()

    def confirm(self) -> None:
        """The leader's log has what was read.

        Raises:
            StateError: It awaits no validation.
        """
        self._expect(Phase.AWAITING_VALIDATION)
        self.phase = Phase.FETCHING
        self.trouble = None

    def truncated(self, position: Position) -> None:
        """The leader's log parts from what was read here: go on from there.

        Raises:
            StateError: It awaits no validation.
        """
        self._expect(Phase.AWAITING_VALIDATION)
        self._jump(position)

    def _jump(self, position: Position) -> None:
        self.position = position
        self.era = self.moves.next_era()
        self.moves.add(self)
        self.phase = Phase.FETCHING
        self.reset_to = self.end_before = self.trouble = None
        self.asks_end = self.is_stuck = False
        self.retry_at = -inf
        if self.committable is not None and self.committable.offset > position.offset:
            self.committable = position
        self.handed_over = min(self.handed_over, position.offset)

    def _step_of_reset(self, *, asks_end: bool, end_before: int | None) -> None:
        self.era = self.moves.next_era()
        self.asks_end = asks_end
        self.end_before = end_before
        self.trouble = None
        self.retry_at = -inf

    def _hold_against_leader(self) -> None:
        """Await validation, if there is a leader that was not asked, and something to ask it."""
        if self.leader is None or self.position is None or self.leader.epoch == self.checked_epoch:
            return
        self.checked_epoch = self.leader.epoch
        can_be_asked = NO_EPOCH not in (self.leader.epoch, self.position.epoch)
        self.phase = Phase.AWAITING_VALIDATION if can_be_asked else Phase.FETCHING
        self.retry_at = -inf

    def _expect(self, phase: Phase) -> None:
        if self.phase is not phase:
            raise StateError(f"{self!r} is not {phase.name}")
