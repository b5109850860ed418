"""What the tests of the producer's API share: producers, virtual time, and calls that are cut."""

from __future__ import annotations

import asyncio
import gc
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any, TypeVar

from kafka_aio.broker import EmbeddedBroker
from kafka_aio.producer import Producer
from kafka_aio.testing import VirtualLoop

T = TypeVar("T")

TOPIC = "t"
MOST_TURNS = 500
"""A call takes fewer turns of the loop: one that seems to take more does not end."""


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


class _CuttingLoop(VirtualLoop):
    """Virtual time that calls something before one of its turns."""

    _turns_left = 0
    _then: Callable[[], object]

    def before_turn(self, number: int, then: Callable[[], object]) -> None:
        """Call it before the so-many-th turn from now on."""
        self._turns_left, self._then = number, then

    def _run_once(self) -> None:
        self._turns_left -= 1
        if self._turns_left == 0:
            self._then()
        super()._run_once()


class Cut:
    """Runs one call, and cancels it before one of the loop's turns: while it waits, or when what
    it waits for is there, and it has not gone on yet."""

    def __init__(self, loop: _CuttingLoop, turn: int) -> None:
        self._loop = loop
        self._turn = turn
        self.was_called = False
        self.was_cut = False

    async def __call__(self, call: Awaitable[object]) -> asyncio.CancelledError | None:
        """Returns what comes out of it when cut; None if it ended before that."""
        assert not self.was_called
        self.was_called = True

        async def work() -> None:
            await call

        task = asyncio.create_task(work())
        self._loop.before_turn(self._turn, lambda: setattr(self, "was_cut", task.cancel()))
        try:
            await task
        except asyncio.CancelledError as error:
            assert self.was_cut
            return error
        assert not self.was_cut, "the cancellation was swallowed"
        return None


def cut_everywhere(scenario: Callable[[Cut], Coroutine[Any, Any, T]]) -> list[T]:
    """Run a scenario on virtual time once for each turn of the loop in which its call can be cut.

    At its end no task is left, and there was no failure that nobody has seen.

    Returns:
        What came out of the scenario each time; the last time, the call was not cut.
    """
    found: list[T] = []
    for turn in range(2, MOST_TURNS):  # in the first one the call begins
        with _CuttingLoop(seed=1, time_limit=7_200) as loop:
            unseen: list[dict[str, Any]] = []
            loop.set_exception_handler(lambda _, context: unseen.append(context))  # noqa: B023
            cut = Cut(loop, turn)
            found.append(loop.run_until_complete(scenario(cut)))
            gc.collect()
            assert not asyncio.all_tasks(loop)
            assert not unseen
        if not cut.was_cut:
            assert len(found) > 1, "the call has no await point"
            return found
    raise AssertionError("the call does not end")
