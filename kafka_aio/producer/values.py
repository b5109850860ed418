"""What a producer tells of itself. Pure."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ProducerStatistics:
    """What a producer has done, and what it has to do."""

    delivered: int
    """Records that were acknowledged."""
    failed: int
    """Records that were not delivered."""
    retried: int
    """How often a batch was sent again."""
    batches: int
    """Batches that are not settled."""
    buffered_bytes: int
    """Bytes that these take of buffer_memory."""
    waiting: int
    """Calls that wait for room in the buffer."""
    in_flight: int
    """Requests that are not answered."""


@dataclass(frozen=True, slots=True)
class ProducerHealth:
    """Whether a producer gets its records delivered."""

    is_healthy: bool
    state: str
    """"new", "open", "closed" or "failed"."""
    reason: str = ""
    """Why it is not healthy."""
