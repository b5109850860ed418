"""What the tests of the producer's API share: producers, virtual time, and calls that are cut."""

from __future__ import annotations

import asyncio
import gc
from collections.abc import Awaitable, Callable, Coroutine, Generator
from contextlib import suppress
from typing import Any, TypeVar

from kafka_aio.broker import EmbeddedBroker
from kafka_aio.producer import Producer
from kafka_aio.testing import VirtualLoop

T = TypeVar("T")

TOPIC = "t"
MOST_POINTS = 200
"""A call has fewer await points: one that seems to have more does not end."""


def producer_of(broker: EmbeddedBroker, **options: Any) -> Producer[Any, Any]:
    return Producer(**{"bootstrap_servers": broker.bootstrap_servers, "linger_ms": 0, **options})


def virtual(main: Callable[[], Coroutine[Any, Any, T]], *, seed: int = 1) -> T:
    """Run it on virtual time. What it has dropped goes while its loop is there."""
    with VirtualLoop(seed=seed, time_limit=7_200) as loop:
        found = loop.run_until_complete(main())
        gc.collect()
        return found


def values(broker: EmbeddedBroker, topic: str = TOPIC) -> list[bytes | None]:
    return [record.value for record in broker.records(topic)]


def is_at_rest(producer: Producer[Any, Any]) -> bool:
    """Whether nothing is buffered, and nobody waits."""
    found = producer.statistics()
    return not (found.batches or found.buffered_bytes or found.waiting or found.in_flight)


async def ended(work: Awaitable[Any]) -> Any:
    """What comes out of it, an exception too."""
    outcomes = await asyncio.gather(work, return_exceptions=True)
    return outcomes[0]


async def until(condition: Callable[[], bool]) -> None:
    """Wait for it in turns of the loop."""
    async with asyncio.timeout(10):
        while not condition():  # noqa: ASYNC110 - of what others do, there is no event
            await asyncio.sleep(0.001)


class _Cut(Coroutine[Any, Any, T]):
    """A coroutine whose task is cancelled at one of its suspensions."""

    def __init__(self, work: Coroutine[Any, Any, T], point: int, *, late: bool) -> None:
        self._work = work
        self._left = point
        self._late = late
        self.task: asyncio.Task[T] | None = None
        self.was_cut = False

    def send(self, value: Any) -> Any:
        return self._suspended(self._work.send(value))

    def throw(self, *args: Any) -> Any:
        return self._suspended(self._work.throw(*args))

    def close(self) -> None:
        self._work.close()

    def __await__(self) -> Generator[Any, Any, T]:
        return (yield from self._work.__await__())

    def _suspended(self, waits_for: asyncio.Future[object] | None) -> Any:
        self._left -= 1
        if self._left == 0:
            if self._late and waits_for is not None:
                waits_for.add_done_callback(self._cancel)
            else:
                asyncio.get_running_loop().call_soon(self._cancel)
        return waits_for

    def _cancel(self, _: object = None) -> None:
        assert self.task is not None
        self.was_cut = self.task.cancel()


async def cut(work: Coroutine[Any, Any, object], point: int, *, late: bool) -> bool:
    """Run it, and cancel it at its so-many-th suspension.

    Early: while it waits. Late: when what it waits for is there, and it has not gone on yet.

    Returns:
        False if it ended before there was anything to cancel.
    """
    cutting = _Cut(work, point, late=late)
    cutting.task = asyncio.create_task(cutting)
    with suppress(asyncio.CancelledError):
        await cutting.task
    assert cutting.task.cancelled() == cutting.was_cut, "the cancellation was swallowed"
    return cutting.was_cut


def cut_everywhere(
    scenario: Callable[[Callable[[Coroutine[Any, Any, object]], Awaitable[bool]]], Any],
) -> list[Any]:
    """Run a scenario on virtual time once for each await point of the call that it cuts.

    Args:
        scenario: Gets a function that runs a call and cuts it; its results are collected.
    """
    found: list[Any] = []
    for late in (False, True):
        for point in range(1, MOST_POINTS):
            was_cut = False

            async def cutting(work: Coroutine[Any, Any, object]) -> bool:
                nonlocal was_cut
                was_cut = await cut(work, point, late=late)  # noqa: B023 - called in this turn
                return was_cut

            found.append(virtual(lambda: scenario(cutting)))
            if not was_cut:
                assert point > 1, "the call has no await point"
                break
        else:
            raise AssertionError("the call does not end")
    return found
