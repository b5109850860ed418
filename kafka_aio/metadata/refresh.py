"""When to ask the cluster about itself again, and when to give up on the brokers known. Pure.

A refresh is due when what is known is too old, or when somebody asked for one. It waits after
attempts that failed, longer each time (KIP-580). One that was asked for waits also while
answers bring nothing new: then the cluster is not ready to tell more.
"""

from __future__ import annotations

from math import inf

from kafka_aio.backoff import Backoff


class Refresh:
    """The times of requests for metadata."""

    def __init__(self, *, max_age: float, backoff: Backoff, rebootstrap_after: float) -> None:
        self._max_age = max_age
        self._backoff = backoff
        self._rebootstrap_after = rebootstrap_after

        # Counted, so that a refresh asked for while another is under way is still due after it: the
        # answer may be older than the reason. So is one whose attempt ends without an outcome.
        self._asked, self._sent, self._answered = 1, 0, 0
        self._is_answered = True  # the last attempt, if there was one
        self._expires_at = -inf
        self._not_before = -inf
        self._asked_not_before = -inf
        self._failures = 0
        self._repeats = 0  # answers in a row that brought nothing new
        self._trying_since: float | None = None
        self._is_told_to_rebootstrap = False

    def __repr__(self) -> str:
        asked = "asked for, " if self.is_asked_for else ""
        return f"<Refresh {asked}{self._failures} failures, {self._repeats} repeats>"

    @property
    def is_asked_for(self) -> bool:
        return self._asked > self._answered

    def is_due_in_full(self, *, now: float) -> bool:
        """Whether everything is to be looked at, and not only what is new."""
        return self.is_asked_for or self._expires_at <= now

    def at(self, *, has_new_topics: bool) -> float:
        """When the next request is to be sent.

        New topics do not wait for the pause after an answer, as that was not about them.
        """
        if has_new_topics:
            return -inf if self._is_answered else self._not_before
        expires_at = max(self._expires_at, self._not_before)
        return min(expires_at, self._asked_not_before) if self.is_asked_for else expires_at

    def ask(self) -> None:
        self._asked += 1

    def sent(self, *, now: float) -> None:
        """An attempt begins. Should it end without an outcome, there is the shortest pause."""
        self._sent = self._asked
        self._is_answered = False
        self._pause(now + self._backoff.first)
        self._try(now)

    def failed(self, *, now: float, jitter: float) -> None:
        self._pause(now + self._backoff.delay(self._failures, jitter=jitter))
        self._is_answered = False
        self._failures += 1
        self._repeats = 0
        self._try(now)

    def answered(self, *, is_full: bool, is_progress: bool, now: float, jitter: float) -> None:
        self._is_answered = True
        self._failures = 0
        self._repeats = 0 if is_progress else self._repeats + 1
        self._pause(now + self._backoff.delay(0, jitter=jitter))
        waits = max(0, self._repeats - 1)
        self._asked_not_before = now + self._backoff.delay(waits, jitter=jitter)
        self._trying_since = None
        if is_full:
            self._expires_at = now + self._max_age
            self._answered = self._sent

    def is_rebootstrap_due(self, *, now: float) -> bool:
        tried_for = 0.0 if self._trying_since is None else now - self._trying_since
        return self._is_told_to_rebootstrap or tried_for > self._rebootstrap_after

    def told_to_rebootstrap(self) -> bool:
        """A broker asks for it. Returns whether it is to be done."""
        self._is_told_to_rebootstrap = self._rebootstrap_after < inf
        return self._is_told_to_rebootstrap

    def bootstrapped(self) -> None:
        """A refresh is due. A pause after failures still holds, lest this goes round and round."""
        self._trying_since = None
        self._is_told_to_rebootstrap = False
        self.ask()

    def _pause(self, until: float) -> None:
        self._not_before = self._asked_not_before = until

    def _try(self, now: float) -> None:
        if self._trying_since is None:
            self._trying_since = now
