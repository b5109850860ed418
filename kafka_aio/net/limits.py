"""What connections are held to, and what is counted of them. Pure."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """What a connection is held to."""

    client_id: str | None = None
    max_in_flight: int = 100
    frame_timeout: float = 30.0
    """How long a frame may take from its first byte to its last, and a throttle at most."""
    receive_max_bytes: int = 100 * 2**20


@dataclass(slots=True)
class Traffic:
    """What has gone over connections. One is shared by all of a client."""

    requests: int = 0
    answers: int = 0
    dropped: int = 0
    """Answers to requests that were cancelled."""
    bytes_out: int = 0
    bytes_in: int = 0
    throttled: float = 0.0
    """Seconds that brokers have asked us to pause."""
