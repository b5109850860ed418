"""What is to be done later, and when: time-outs of groups, ends of long polls. Pure."""

from __future__ import annotations

from collections.abc import Callable
from heapq import heapify, heappop, heappush
from math import inf
from typing import Final, TypeAlias

Action: TypeAlias = Callable[[float], None]
"""Is told the time at which it runs."""

_MANY: Final = 64


class Appointment:
    """Something that will be done at its time, unless it is cancelled before."""

    __slots__ = ("action", "at")

    def __init__(self, at: float, action: Action) -> None:
        self.at = at
        self.action: Action | None = action

    def cancel(self) -> None:
        self.action = None


class Agenda:
    """Appointments, by their time; those of one time in the order in which they were made."""

    def __init__(self) -> None:
        self._heap: list[tuple[float, int, Appointment]] = []
        self._made = 0

    def __repr__(self) -> str:
        waiting = sum(appointment.action is not None for _, _, appointment in self._heap)
        return f"<Agenda of {waiting}, the next at {self.next_at}>"

    @property
    def next_at(self) -> float:
        """When `run` has something to do; infinity if never."""
        heap = self._heap
        while heap and heap[0][2].action is None:
            heappop(heap)
        return heap[0][0] if heap else inf

    def at(self, when: float, action: Action) -> Appointment:
        """Do something at that time, or as soon as `run` is called after it."""
        self._made += 1
        if self._made % _MANY == 0:
            self._forget_cancelled()
        appointment = Appointment(when, action)
        heappush(self._heap, (when, self._made, appointment))
        return appointment

    def run(self, *, now: float) -> None:
        """Do what is due, and what becomes due by that."""
        while self.next_at <= now:
            appointment = heappop(self._heap)[2]
            action, appointment.action = appointment.action, None
            assert action is not None, "next_at leaves no cancelled one in front"
            action(now)

    def _forget_cancelled(self) -> None:
        """Heartbeats cancel far more than ever comes due: half of the heap at most is dead."""
        alive = [entry for entry in self._heap if entry[2].action is not None]
        if len(alive) * 2 < len(self._heap):
            self._heap = alive
            heapify(self._heap)
