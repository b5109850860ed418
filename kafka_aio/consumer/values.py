"""What a consumer tells of itself. Pure."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ConsumerStatistics:
    """What a consumer has done, and what it holds."""

    records: int
    """Records that were handed over, one by one or in lists; those in batches are not counted."""
    assigned: int
    """Partitions that it owns."""
    paused: int
    """Those of them that are paused."""
    buffered_bytes: int
    """Bytes that were fetched and not handed over yet."""
    fetches: int
    """Fetches that are not answered."""
    commits: int
    """Commits that wait or are not answered."""
    lag: int | None
    """Records ahead in all partitions whose lag is known; None if it is of none."""


@dataclass(frozen=True, slots=True)
class ConsumerHealth:
    """Whether a consumer gets records, as far as it can know."""

    is_healthy: bool
    state: str
    """"new", "open", "closed" or "failed"."""
    group: str = ""
    """What the member of the group is doing, in a word."""
    reason: str = ""
    """Why it is not healthy."""
