"""What has become of the items of a call: which are settled, and which may be tried again. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Final, Generic, TypeVar

from kafka_aio.errors import (
    CoordinatorLoadInProgress,
    CoordinatorNotAvailable,
    KafkaConnectionError,
    KafkaError,
    KafkaTimeoutError,
    NotController,
    NotCoordinator,
    ProtocolError,
    RebootstrapRequired,
    RequestTimedOut,
    ThrottlingQuotaExceeded,
    fresh,
)

K = TypeVar("K")
V = TypeVar("V")

_STALE: Final = (NotController, RebootstrapRequired)
_WORTH_ANOTHER: Final = (
    *_STALE,
    CoordinatorLoadInProgress,
    CoordinatorNotAvailable,
    NotCoordinator,
    ThrottlingQuotaExceeded,
)


def is_worth_another(error: KafkaError) -> bool:
    """Whether an item that is refused so may succeed a moment later, without harm in trying."""
    return isinstance(error, _WORTH_ANOTHER)


class Outcome(Generic[K, V]):
    """The items of one call, until each has a value or an error of its own.

    An error of a whole request is raised in the end if no item has an answer. Otherwise it is the
    value of those that have none, so that what was done is not kept from the caller.

    Attributes:
        pending: The items to ask for next.
        attempts: How many times they were asked for.
    """

    def __init__(
        self,
        name: str,
        items: Iterable[K],
        *,
        changes: bool,
        again: Callable[[KafkaError], bool] = is_worth_another,
    ) -> None:
        """Begin with all items pending.

        Args:
            name: What error messages call the call.
            items: What it is about.
            changes: Whether it changes anything: it is then not repeated if it may have happened.
            again: Whether an item that was refused with an error is asked for again.
        """
        self.pending = list(items)
        self.attempts = 0
        self._name = name
        self._items = tuple(self.pending)
        self._changes = changes
        self._again = again
        self._answers: dict[K, V | KafkaError] = {}
        self._failures: dict[K, KafkaError] = {}  # why an item will have no answer
        self._refusals: dict[K, KafkaError] = {}  # of those that may succeed yet
        self._losses: dict[K, KafkaError] = {}  # the same, of requests without an answer
        self._error: KafkaError | None = None  # why some are pending

    def __repr__(self) -> str:
        settled = f"{len(self._answers)} of {len(self._items)} settled"
        return f"<Outcome of {self._name}: {settled}, {self.attempts} attempts>"

    @property
    def is_stale(self) -> bool:
        """Whether what we know of the cluster is out of date."""
        errors = (*self._refusals.values(), *self._losses.values())
        return any(isinstance(error, _STALE) for error in errors)

    def settled(self, answers: Mapping[K, V | KafkaError]) -> None:
        """What is known of some items without asking for them."""
        self._answers.update(answers)
        self.pending = [item for item in self.pending if item not in answers]

    def answered(
        self, answers: Mapping[K, V | KafkaError], lost: Mapping[K, KafkaError] | None = None
    ) -> None:
        """What brokers say of the pending items, and why some of them have no answer.

        One that neither says anything about ends the call.
        """
        self.attempts += 1
        self._refusals, self._losses = {}, {}
        missing = []
        for item in self.pending:
            if lost is not None and item in lost:
                self._lose(item, lost[item])
            elif item in answers:
                self._take(item, answers[item])
            else:
                missing.append(item)
        self.pending = [*self._refusals, *self._losses]
        if missing:
            error = ProtocolError(f"{self._name}: the answer says nothing about {missing[0]}")
            error.indefinite = self._changes
            self._end(dict.fromkeys([*missing, *self._losses], error))

    def failed(self, error: KafkaError) -> None:
        """There is no answer. The call ends, unless it can be repeated without harm."""
        self.answered({}, dict.fromkeys(self.pending, error))

    def give_up(self) -> None:
        """There were enough attempts: the last errors are what remains."""
        self._end(self._losses)

    def time_over(self) -> None:
        """There is no time for another attempt."""
        tried = "1 attempt" if self.attempts == 1 else f"{self.attempts} attempts"
        error = KafkaTimeoutError(
            f"{self._name}: not done in time, after {tried}; the last: {self._error}"
        )
        error.__cause__ = self._error
        self._refusals = {}
        self._end(dict.fromkeys(self.pending, error))

    def result(self) -> dict[K, V | KafkaError]:
        """A value or an error for each item, in their order; none is pending.

        Raises:
            KafkaError: What concerns all of them; `indefinite` if it may have been carried out.
        """
        if self._failures and not self._answers:
            raise next(iter(self._failures.values()))
        told = {item: fresh(error) for item, error in self._failures.items()}
        return {item: told[item] if item in told else self._answers[item] for item in self._items}

    def _take(self, item: K, answer: V | KafkaError) -> None:
        if isinstance(answer, KafkaError) and self._again(answer):
            self._refusals[item] = self._error = answer
            return
        if isinstance(answer, RequestTimedOut):
            answer.indefinite = self._changes
        self._answers[item] = answer

    def _lose(self, item: K, error: KafkaError) -> None:
        is_passing = isinstance(error, KafkaConnectionError | KafkaTimeoutError)
        if error.indefinite and self._changes:
            self._failures[item] = self._with_advice(error)
        elif is_passing or self._again(error):
            self._losses[item] = self._error = error
        else:
            self._failures[item] = error

    def _end(self, failures: Mapping[K, KafkaError]) -> None:
        self._answers.update(self._refusals)
        self._failures.update(failures)
        self.pending = []

    def _with_advice(self, error: KafkaError) -> KafkaError:
        told = type(error)(
            f"{self._name}: {error}; it may have been carried out, so look before you repeat it"
        )
        told.indefinite = True
        told.__cause__ = error
        return told
