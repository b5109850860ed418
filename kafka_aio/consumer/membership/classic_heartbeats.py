"""When a member of a classic group sends its next heartbeat: one at a time. Pure."""

from __future__ import annotations

import math
from typing import Any

from kafka_aio.backoff import Backoff
from kafka_aio.protocol.schema import Request


class Heartbeats:
    """The heartbeats of one generation after the other; whether there is one, the member knows.

    They keep their interval from one sending to the next, so that a slow answer delays nothing. One
    that failed is repeated sooner, after a pause that grows.
    """

    def __init__(self, interval: float, backoff: Backoff) -> None:
        self._interval = interval
        self._backoff = backoff
        self._next = math.inf
        self._failures = 0
        self.out: Request[Any] | None = None
        """The one that is not answered yet."""

    def __repr__(self) -> str:
        under_way = "one out" if self.out is not None else "none out"
        return f"<Heartbeats: next at {self._next:.3f}, {under_way}>"

    @property
    def due(self) -> float:
        """When the next one is to be sent; `inf` while one is out."""
        return math.inf if self.out is not None else self._next

    def begin(self, *, now: float) -> None:
        """A generation begins: it was heard of us just now."""
        self._next = now + self._interval
        self._failures = 0

    def forget(self) -> None:
        """What is answered to the one that is out changes nothing."""
        self.out = None

    def sent(self, request: Request[Any], *, now: float) -> None:
        """This one goes out."""
        self.out = request
        self._next = now + self._interval

    def ended(self) -> None:
        """It is answered: the next one goes by the interval."""
        self.out = None
        self._failures = 0

    def failed(self, *, now: float, jitter: float) -> None:
        """The coordinator has not heard it, as far as we know."""
        self.out = None
        self._next = now + self._backoff.delay(self._failures, jitter=jitter)
        self._failures += 1
