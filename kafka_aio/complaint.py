"""When to say that something takes long: after 5 s, and then ever more rarely. Pure."""

from __future__ import annotations

from math import inf
from typing import Final

FIRST_AFTER: Final = 5.0
LONGEST: Final = 300.0


class Complaint:
    """Decides when to warn of trouble that goes on.

    Attributes:
        reason: What is known of it; empty where nothing is.
        next_at: When to look again; `inf` while there is no trouble.
    """

    def __init__(self) -> None:
        self.reason = ""
        self.next_at = inf
        self._pause = FIRST_AFTER

    def __repr__(self) -> str:
        return f"<Complaint: next at {self.next_at}, {self.reason!r}>"

    def is_due(self, since: float, *, now: float) -> bool:
        """Whether to warn now of trouble that began then."""
        if now < since + FIRST_AFTER:
            self._pause = FIRST_AFTER
            self.next_at = since + FIRST_AFTER
            return False
        if now < self.next_at < inf:
            return False
        self.next_at = now + self._pause
        self._pause = min(self._pause * 2, LONGEST)
        return True

    def settled(self) -> None:
        """There is no trouble any more."""
        self.reason = ""
        self.next_at = inf
        self._pause = FIRST_AFTER
