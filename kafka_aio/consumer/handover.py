"""Where records change hands: between the tasks of a consumer and who reads from it.

Whoever asks for records is done with those handed over before. That is the moment at which the
group may take partitions away: `stop` waits for it, and from then on nothing is handed over until
`go_on`. So code of the user's that runs between the two sees positions that stand still, and no
record is in the user's hands that is committed behind its back, or not.

What goes wrong in the background is told here (`tell`), and raised to who reads next.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from math import inf
from typing import Protocol

from kafka_aio.errors import KafkaError
from kafka_aio.net.tasks import Wakeup
from kafka_aio.types import TopicPartition


class Receiver(Protocol):
    """Who is told that records came, or why they do not."""

    def wake(self) -> None: ...

    def tell(self, error: KafkaError, partition: TopicPartition | None = None) -> None: ...


class Handover:
    """Lets records through, or not."""

    def __init__(self) -> None:
        """Begin: nothing was handed over yet."""
        self.interrupt: Callable[[], None] = lambda: None
        """Called when what is at hand must not be handed over without a look first."""
        self._stops = 0
        self._is_dealt_with = True  # all that was handed over
        self._waiting: list[asyncio.Future[None]] = []  # for that
        self._told: deque[KafkaError] = deque()
        self._wakeup = Wakeup()

    def __repr__(self) -> str:
        stopped = f", stopped {self._stops} times" if self._stops else ""
        whose = "with us" if self._is_dealt_with else "with the user"
        return f"<Handover: records are {whose}{stopped}, {len(self._told)} errors to tell>"

    # What the tasks do.

    async def stop(self) -> None:
        """Hand over nothing from now on, and wait until all that was is dealt with.

        Each call is followed by one of `go_on`, also if it is cancelled: then by itself.
        """
        self._stops += 1
        self.interrupt()
        try:
            while not self._is_dealt_with:
                waiter = asyncio.get_running_loop().create_future()
                self._waiting.append(waiter)
                await waiter
        except BaseException:
            self.go_on()
            raise

    def go_on(self) -> None:
        self._stops -= 1
        self.wake()

    def tell(self, error: KafkaError, partition: TopicPartition | None = None) -> None:
        """Raise this to who reads next; what was told already, and not raised, is not told again.

        Args:
            error: What is wrong.
            partition: The one that it is about, if it is about one.
        """
        if not any(type(each) is type(error) and str(each) == str(error) for each in self._told):
            self._told.append(error)
        self.interrupt()
        self.wake()

    def wake(self) -> None:
        """There may be something to hand over."""
        self._wakeup.set()

    # What the reader does.

    @property
    def is_stopped(self) -> bool:
        return self._stops > 0

    def ask(self) -> None:
        """Records are asked for: those before are dealt with."""
        if not self._is_dealt_with:
            self._is_dealt_with = True
            waiting, self._waiting = self._waiting, []
            for waiter in waiting:
                if not waiter.done():
                    waiter.set_result(None)

    def gave(self) -> None:
        """Records were handed over."""
        self._is_dealt_with = False

    def raise_told(self) -> None:
        """Raise what was told first, if anything was."""
        if self._told:
            raise self._told.popleft()

    def forget_told(self) -> None:
        """What was told is about something that is no more: the subscription is another."""
        self._told.clear()

    async def wait(self, *, until: float = inf) -> None:
        """Wait until there may be something, or until that time of the loop."""
        await self._wakeup.wait(until=until)
