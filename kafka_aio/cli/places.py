"""Where in a partition to begin and to end, as it is written at a shell. Pure."""

from __future__ import annotations

import argparse
import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import Enum
from typing import Final, NamedTuple

from kafka_aio.types import OffsetAndTimestamp, TopicPartition

_UNITS: Final = {"s": 1_000, "m": 60_000, "h": 3_600_000, "d": 86_400_000}
_AGO: Final = re.compile(rf"([0-9]{{1,9}})([{''.join(_UNITS)}])")
_NUMBER: Final = re.compile(r"[@-]?[0-9]{1,18}")


class Kind(Enum):
    """What a place is measured by."""

    BEGINNING = "beginning"
    END = "end"
    OFFSET = "an offset"
    LAST = "so many before the end"
    TIME = "milliseconds since 1970"
    AGO = "so many milliseconds ago"


class Log(NamedTuple):
    """What there is of a partition."""

    begin: int
    end: int
    found: OffsetAndTimestamp | None = None
    """The first record at or after the time of a place, if it has one."""


@dataclass(frozen=True, slots=True)
class Place:
    """A place in every partition that is read."""

    kind: Kind
    number: int = 0

    def __str__(self) -> str:
        return self.kind.value if self.kind in (Kind.BEGINNING, Kind.END) else str(self.number)

    def time(self, *, now: float) -> int | None:
        """The time to ask for, in milliseconds since 1970; None where it is not about time."""
        if self.kind is Kind.TIME:
            return self.number
        return max(0, round(now * 1000) - self.number) if self.kind is Kind.AGO else None

    def offset(self, log: Log) -> int:
        """Where that is; the nearest offset that there is, if it is outside."""
        begin, end, found = log
        match self.kind:
            case Kind.BEGINNING:
                return begin
            case Kind.OFFSET:
                return max(begin, min(self.number, end))
            case Kind.LAST:
                return max(begin, end - self.number)
            case Kind.TIME | Kind.AGO if found is not None:
                return max(begin, min(found.offset, end))
        return end

    def is_after(self, other: Place) -> bool:
        """Whether it is after another in any log; False where that depends on the log."""
        match self.kind, other.kind:
            case (Kind.OFFSET, Kind.OFFSET) | (Kind.TIME, Kind.TIME):
                return self.number > other.number
            case (Kind.LAST, Kind.LAST) | (Kind.AGO, Kind.AGO):
                return self.number < other.number
        is_at_end = self.kind is Kind.END or other.kind is Kind.BEGINNING
        return is_at_end and self.kind is not other.kind

    def missed(self, logs: Mapping[TopicPartition, Log]) -> str | None:
        """What to say where there is no such offset."""
        if self.kind is not Kind.OFFSET:
            return None
        without = [place for place, log in logs.items() if self.offset(log) != self.number]
        if not without:
            return None
        begin, end, _ = logs[without[0]]
        others = f", and {len(without) - 1} more lack it" if len(without) > 1 else ""
        return f"there is no offset {self.number}: {without[0]} has {begin} to {end}{others}"


BEGINNING: Final = Place(Kind.BEGINNING)
END: Final = Place(Kind.END)


def place(text: str) -> Place:
    """A place, from an argument."""
    if text in (BEGINNING.kind.value, END.kind.value):
        return Place(Kind(text))
    if match := _AGO.fullmatch(text):
        return Place(Kind.AGO, int(match[1]) * _UNITS[match[2]])
    if _NUMBER.fullmatch(text):
        kind = {"-": Kind.LAST, "@": Kind.TIME}.get(text[0], Kind.OFFSET)
        return Place(kind, int(text.lstrip("-@")))
    try:
        # Without a zone it is the time of this machine.
        seconds = datetime.fromisoformat(text).timestamp()
    except (ValueError, OverflowError, OSError):
        raise argparse.ArgumentTypeError(
            f"{text!r} is no place: give beginning, end, an offset, -N for the last N, a time as"
            " 2026-11-30T08:00, or 15m for 15 minutes ago (s, m, h, d)"
        ) from None
    return Place(Kind.TIME, max(0, round(seconds * 1000)))
