"""From end to end: how long a record takes from the call that sends it to who reads it.

Both ends are in one process, so that there is one clock. A record is known by its key.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable, Iterable, Iterator
from time import perf_counter, sleep
from typing import Final

from kafka_aio.cli.bench.work import Run, Work
from kafka_aio.cli.bench.workloads import Give, settle

PAUSE: Final = 0.1
"""Seconds that a call waits for records."""
_TICK: Final = 0.001
_PATIENCE: Final = 20.0
"""Seconds that the last records have to arrive."""

Keys = Iterable[bytes | None]


class Crossing:
    """The records of one run that are on their way."""

    def __init__(self, work: Work, run: Run) -> None:
        self._run = run
        self._rate = work.load.rate
        self._records = run.records()
        self._prefix = f"{work.group[-8:]}-{id(run):x}-".encode()
        self._sent_at: dict[bytes, float] = {}
        self._began_at = perf_counter()
        self._ended_at: float | None = None

    def __repr__(self) -> str:
        return f"<Crossing: {len(self._sent_at)} records on their way>"

    def due(self) -> Iterator[tuple[bytes, bytes]]:
        """Values and keys to send now: one, or as many as the rate asks for."""
        while self._rate is None or self._run.sent < self._rate * self._seconds():
            record = next(self._records, None)
            if record is None:
                self._ended_at = perf_counter()
                return
            key = b"%b%d" % (self._prefix, self._run.sent)
            self._sent_at[key] = perf_counter()
            yield record[0], key
            if self._rate is None:
                return

    def _seconds(self) -> float:
        return perf_counter() - self._began_at

    def arrived(self, keys: Keys) -> None:
        """Records were handed over; others than ours may be among them."""
        now = perf_counter()
        for key in keys:
            sent_at = self._sent_at.pop(key, None) if key is not None else None
            if sent_at is not None:
                self._run.latencies.append(now - sent_at)

    @property
    def is_sent(self) -> bool:
        """Whether there is nothing more to send."""
        return self._ended_at is not None

    @property
    def has_arrived(self) -> bool:
        """Whether nothing is on its way."""
        return not self._sent_at

    @property
    def is_over(self) -> bool:
        """Whether all have arrived, or nobody waits for them any longer."""
        if self._ended_at is None or self.has_arrived:
            return self.is_sent
        if perf_counter() < self._ended_at + _PATIENCE:
            return False
        self._run.failed("they have not arrived", len(self._sent_at))
        return True


async def end_to_end(work: Work, give: Give, receive: Callable[[], Awaitable[Keys]]) -> None:
    """One record after the other, or so many a second.

    Args:
        work: What is to be done.
        give: Sends a record.
        receive: Waits a little for records, and gives their keys.
    """
    for run in work.runs():
        crossing = Crossing(work, run)
        deliveries: list[Awaitable[object]] = []
        if work.load.rate is None:
            while not crossing.is_sent:
                for value, key in crossing.due():
                    deliveries.append(await give(work.topic, value, key=key))
                while not crossing.has_arrived:
                    crossing.arrived(await receive())
        else:
            sending = asyncio.create_task(_send(work, give, crossing, deliveries))
            while not crossing.is_over:
                crossing.arrived(await receive())
            await sending
        await settle(run, deliveries)


async def _send(
    work: Work, give: Give, crossing: Crossing, deliveries: list[Awaitable[object]]
) -> None:
    while not crossing.is_sent:
        for value, key in crossing.due():
            deliveries.append(await give(work.topic, value, key=key))
        await asyncio.sleep(_TICK)


def blocking_end_to_end(
    work: Work, send: Callable[..., object], receive: Callable[[], Keys]
) -> None:
    """The same for a client without a loop; what it sends at a rate it sends in a thread."""
    for run in work.runs():
        crossing = Crossing(work, run)
        if work.load.rate is None:
            while not crossing.is_sent:
                for value, key in crossing.due():
                    send(work.topic, value, key=key)
                while not crossing.has_arrived:
                    crossing.arrived(receive())
            continue
        sending = threading.Thread(target=_blocking_send, args=(work, send, crossing))
        sending.start()
        while not crossing.is_over:
            crossing.arrived(receive())
        sending.join()


def _blocking_send(work: Work, send: Callable[..., object], crossing: Crossing) -> None:
    while not crossing.is_sent:
        for value, key in crossing.due():
            send(work.topic, value, key=key)
        sleep(_TICK)
