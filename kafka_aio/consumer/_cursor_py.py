"""The walk over decoded records in plain Python: the twin of `_cursor`. Pure."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Generator
from typing import Any, final

from kafka_aio.errors import StateError


@final
class Cursor:
    """Records that are decoded, and how many of them were handed over."""

    __slots__ = ("_ask", "_end", "_late", "_records", "taken", "total")

    def __init__(self, ask: Callable[[], Coroutine[Any, Any, Any]]) -> None:
        self._ask = ask
        self._records: list[Any] = []
        self._end = 0
        self._late: Coroutine[Any, Any, Any] | None = None
        self.taken = 0
        self.total = 0

    def __repr__(self) -> str:
        return f"<Cursor: {self.taken} of {len(self._records)} records taken>"

    def __aiter__(self) -> Cursor:
        return self

    def __anext__(self) -> Any:
        return self if self.taken < self._end else self._ask()

    def __await__(self) -> Generator[Any, Any, Any]:
        return self._at_once() if self.taken < self._end else self._ask().__await__()

    def _at_once(self) -> Generator[Any, Any, Any]:
        return self._next()
        yield

    def send(self, value: Any) -> Any:
        if self.taken < self._end:
            raise StopIteration(self._next())
        try:
            return self._later().send(value)
        except BaseException:
            self._late = None
            raise

    def throw(self, kind: Any, value: Any = None, traceback: Any = None) -> Any:
        if self._late is None:
            raise kind if value is None else value
        try:
            return self._late.throw(kind if value is None else value)
        except BaseException:
            self._late = None
            raise

    def close(self) -> None:
        if self._late is not None:
            late, self._late = self._late, None
            late.close()

    @property
    def left(self) -> int:
        return len(self._records) - self.taken

    @property
    def is_open(self) -> bool:
        """Whether the next one is handed over without a look."""
        return self.taken < self._end

    def load(self, records: list[Any]) -> None:
        """These come next; those before are gone."""
        self._records = records
        self.taken = 0
        self._end = len(records)

    def interrupt(self) -> None:
        """Ask before the next one is handed over."""
        self._end = 0

    def resume(self) -> None:
        """Those that are left may be handed over."""
        self._end = len(self._records)

    def take(self, most: int) -> list[Any]:
        """The next ones, so many at most, whether there was an interruption or not.

        Nothing is kept of a list that is taken whole: it is the user's.
        """
        begin, records = self.taken, self._records
        end = min(begin + max(most, 0), len(records))
        self.total += end - begin
        if begin == 0 and end == len(records):
            self.load([])
            return records
        self.taken = end
        return records[begin:end]

    def peek(self, back: int) -> Any:
        """One that was handed over: the last is 1 back; None before the first of those loaded."""
        return self._records[self.taken - back] if 0 < back <= self.taken else None

    def _later(self) -> Coroutine[Any, Any, Any]:
        if self._late is None:
            if self._end == len(self._records):
                raise StateError("two tasks read from one consumer: let one of them do it")
            self._late = self._ask()
        return self._late

    def _next(self) -> Any:
        record = self._records[self.taken]
        self.taken += 1
        self.total += 1
        return record
