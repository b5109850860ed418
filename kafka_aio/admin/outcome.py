"""What has become of the items of a call: which are settled, and which may be tried again. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from copy import copy
from typing import Final, Generic, TypeVar

from kafka_aio.errors import (
    KafkaConnectionError,
    KafkaError,
    KafkaTimeoutError,
    NotController,
    ProtocolError,
    RebootstrapRequired,
    RequestTimedOut,
    ThrottlingQuotaExceeded,
)

K = TypeVar("K")
V = TypeVar("V")

_STALE: Final = (NotController, RebootstrapRequired)
_WORTH_ANOTHER: Final = (*_STALE, ThrottlingQuotaExceeded)
"""What an item may be refused with and yet succeed a moment later, without harm in trying."""


class Outcome(Generic[K, V]):
    """The items of one call, until each has a value or an error of its own.

    An error of a whole request is raised in the end if no item has an answer. Otherwise it is the
    value of those that have none, so that what was done is not kept from the caller.

    Attributes:
        pending: The items to ask for next.
        attempts: How many requests there were.
    """

    def __init__(self, name: str, items: Iterable[K], *, changes: bool) -> None:
        """Begin with all items pending.

        Args:
            name: What error messages call the call.
            items: What it is about.
            changes: Whether it changes anything: it is then not repeated if it may have happened.
        """
        self.pending = list(items)
        self.attempts = 0
        self._name = name
        self._items = tuple(self.pending)
        self._changes = changes
        self._answers: dict[K, V | KafkaError] = {}
        self._refusals: dict[K, KafkaError] = {}  # of those that may succeed yet
        self._error: KafkaError | None = None  # why some are pending
        self._failure: KafkaError | None = None  # why some will have no answer

    def __repr__(self) -> str:
        settled = f"{len(self._answers)} of {len(self._items)} settled"
        return f"<Outcome of {self._name}: {settled}, {self.attempts} attempts>"

    @property
    def is_stale(self) -> bool:
        """Whether what we know of the cluster is out of date."""
        return any(isinstance(error, _STALE) for error in self._refusals.values())

    def answered(self, answers: Mapping[K, V | KafkaError]) -> None:
        """What a broker says of the pending items. One that it says nothing about ends the call."""
        self.attempts += 1
        self._refusals = {}
        missing = []
        for item in self.pending:
            if item not in answers:
                missing.append(item)
                continue
            answer = answers[item]
            if isinstance(answer, _WORTH_ANOTHER):
                self._refusals[item] = self._error = answer
                continue
            if isinstance(answer, RequestTimedOut):
                answer.indefinite = self._changes
            self._answers[item] = answer
        self.pending = list(self._refusals)
        if missing:
            error = ProtocolError(f"{self._name}: the answer says nothing about {missing[0]}")
            error.indefinite = self._changes
            self._end(error)

    def failed(self, error: KafkaError) -> None:
        """There is no answer. The call ends, unless it can be repeated without harm."""
        self.attempts += 1
        self._refusals = {}
        self._error = error
        is_unknown = error.indefinite and self._changes
        if not isinstance(error, KafkaConnectionError | KafkaTimeoutError) or is_unknown:
            self._end(self._with_advice(error) if is_unknown else error)

    def give_up(self) -> None:
        """There were enough attempts: the last errors are what remains."""
        self._end(None if self._refusals else self._error)

    def time_over(self) -> None:
        """There is no time for another attempt."""
        tried = "1 attempt" if self.attempts == 1 else f"{self.attempts} attempts"
        error = KafkaTimeoutError(
            f"{self._name}: not done in time, after {tried}; the last: {self._error}"
        )
        error.__cause__ = self._error
        self._refusals = {}
        self._end(error)

    def result(self) -> dict[K, V | KafkaError]:
        """A value or an error for each item, in their order; none is pending.

        Raises:
            KafkaError: What concerns all of them; `indefinite` if it may have been carried out.
        """
        failure = self._failure
        if failure is not None and not self._answers:
            raise failure
        for item in self._items:
            if item not in self._answers:
                assert failure is not None
                self._answers[item] = copy(failure)
        return {item: self._answers[item] for item in self._items}

    def _end(self, failure: KafkaError | None) -> None:
        self._answers.update(self._refusals)
        self._failure = failure
        self.pending = []

    def _with_advice(self, error: KafkaError) -> KafkaError:
        told = type(error)(
            f"{self._name}: {error}; it may have been carried out, so look before you repeat it"
        )
        told.indefinite = True
        told.__cause__ = error
        return told
