"""What the calls of `Admin` about offsets take and return. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from enum import Enum
from typing import Any, Final, Self

from kafka_aio.admin.values import check_number
from kafka_aio.listing import BEGINNING, END, MAX_TIMESTAMP

LARGEST: Final = 2**63 - 1
"""An offset, or a time in milliseconds, has no more."""
EARLIEST_LOCAL: Final = -4
LATEST_TIERED: Final = -5
EARLIEST_PENDING_UPLOAD: Final = -6
_NAMES: Final = {
    BEGINNING: "earliest",
    END: "latest",
    MAX_TIMESTAMP: "max_timestamp",
    EARLIEST_LOCAL: "earliest_local",
    LATEST_TIERED: "latest_tiered",
    EARLIEST_PENDING_UPLOAD: "earliest_pending_upload",
}


@dataclass(frozen=True, slots=True)
class OffsetSpec:
    """Which offset of a partition is asked for; made by the class methods.

    await admin.list_offsets({TopicPartition("orders", 0): OffsetSpec.latest()})
    """

    timestamp: int
    """In milliseconds since 1970; or a negative number of the wire, in place of a time."""

    def __repr__(self) -> str:
        name = _NAMES.get(self.timestamp)
        return f"OffsetSpec.{name}()" if name else f"OffsetSpec.at({self.timestamp})"

    @classmethod
    def earliest(cls) -> Self:
        """Where the log begins."""
        return cls(BEGINNING)

    @classmethod
    def latest(cls) -> Self:
        """The offset of the next record; with read_committed, of the next that may be read."""
        return cls(END)

    @classmethod
    def max_timestamp(cls) -> Self:
        """The record with the greatest timestamp (KIP-734)."""
        return cls(MAX_TIMESTAMP)

    @classmethod
    def at(cls, time: int | datetime) -> Self:
        """The first record that is not older than a time.

        Args:
            time: In milliseconds since 1970, or a datetime with a time zone.

        Raises:
            TypeError: It is neither.
            ValueError: It has no time zone, or is before 1970.
        """
        return cls(milliseconds(time))

    @classmethod
    def earliest_local(cls) -> Self:
        """The first record that is not in tiered storage alone (KIP-405)."""
        return cls(EARLIEST_LOCAL)

    @classmethod
    def latest_tiered(cls) -> Self:
        """The last record that is in tiered storage (KIP-1005)."""
        return cls(LATEST_TIERED)

    @classmethod
    def earliest_pending_upload(cls) -> Self:
        """The first record that is yet to go to tiered storage (KIP-1023); Kafka 4.2 and later."""
        return cls(EARLIEST_PENDING_UPLOAD)


class ResetKind(Enum):
    """Where committed offsets are moved to."""

    EARLIEST = "earliest"
    LATEST = "latest"
    TIMESTAMP = "timestamp"
    DURATION = "duration"
    OFFSET = "offset"
    SHIFT = "shift"
    CURRENT = "current"


@dataclass(frozen=True, slots=True)
class OffsetReset:
    """Where the committed offsets of a group are moved to; made by the class methods.

    await admin.reset_group_offsets("billing", OffsetReset.earliest(), topics=["orders"])
    """

    kind: ResetKind
    value: int = 0
    """Milliseconds since 1970, or of a duration; an offset; by how many."""

    def __repr__(self) -> str:
        has_value = self.kind not in (ResetKind.EARLIEST, ResetKind.LATEST, ResetKind.CURRENT)
        return f"OffsetReset.{self.kind.value}({self.value if has_value else ''})"

    @classmethod
    def earliest(cls) -> Self:
        """To where the log begins."""
        return cls(ResetKind.EARLIEST)

    @classmethod
    def latest(cls) -> Self:
        """To its end: only what is produced from now on is read."""
        return cls(ResetKind.LATEST)

    @classmethod
    def timestamp(cls, time: int | datetime) -> Self:
        """To the first record that is not older than a time; to the end, if there is none.

        Raises:
            TypeError, ValueError: As `OffsetSpec.at`.
        """
        return cls(ResetKind.TIMESTAMP, milliseconds(time))

    @classmethod
    def duration(cls, ago: timedelta | float) -> Self:
        """To the first record of the last so many seconds; to the end, if there is none.

        Raises:
            TypeError: It is neither a timedelta nor a number.
            ValueError: It is negative.
        """
        seconds = ago.total_seconds() if isinstance(ago, timedelta) else ago
        if isinstance(seconds, bool) or not isinstance(seconds, int | float):
            raise TypeError(f"a duration is a timedelta or seconds, not {type(ago).__name__}")
        if not 0 <= seconds <= LARGEST / 1000:
            raise ValueError(f"a duration is 0 s or more, not {seconds}")
        return cls(ResetKind.DURATION, int(seconds * 1000))

    @classmethod
    def offset(cls, offset: int) -> Self:
        """To one offset in each partition, or as near to it as there are records.

        Raises:
            TypeError, ValueError: It is no offset.
        """
        check_number("an offset", offset, 0, LARGEST)
        return cls(ResetKind.OFFSET, offset)

    @classmethod
    def shift(cls, by: int) -> Self:
        """By so many from where each is, back if negative, or as far as there are records.

        Raises:
            TypeError, ValueError: It is no number of records.
        """
        check_number("a shift", by, -LARGEST, LARGEST)
        return cls(ResetKind.SHIFT, by)

    @classmethod
    def current(cls) -> Self:
        """To where each is; to the end of the log, if nothing was committed."""
        return cls(ResetKind.CURRENT)


@dataclass(frozen=True, slots=True)
class OffsetChange:
    """A committed offset that was moved, or would be."""

    before: int | None
    """None if there was none."""
    after: int


def milliseconds(time: Any) -> int:
    """A time as the wire has it.

    Raises:
        TypeError, ValueError: As `OffsetSpec.at`.
    """
    if isinstance(time, datetime):
        if time.tzinfo is None:
            raise ValueError("give the time a time zone, such as datetime.now(UTC)")
        time = (time - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(milliseconds=1)
    check_number("a time in milliseconds since 1970", time, 0, LARGEST)
    return int(time)
