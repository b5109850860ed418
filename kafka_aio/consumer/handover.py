"""Where records change hands: between the tasks of a consumer and who reads from it.

Whoever asks for records is done with those handed over before. That is the moment at which the
group may take partitions away: `stop` waits for it, and from then on nothing is handed over until
`go_on`. So code of the user's that runs between the two sees positions that stand still, and no
record is in the user's hands that is committed behind its back, or not.

What goes wrong is told here (`tell`), and raised to who reads next; unless it was about a position
that is gone by then, by a seek or with its partition (B45).
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from math import inf
from typing import Protocol

from kafka_aio.consumer.position import OwnedPartition
from kafka_aio.errors import KafkaError
from kafka_aio.net.tasks import Wakeup
from kafka_aio.types import TopicPartition


class Receiver(Protocol):
    """Who is told that records came, or why they do not."""

    def wake(self) -> None: ...

    def tell(self, error: KafkaError, partition: TopicPartition = ..., /) -> None: ...


@dataclass(slots=True, eq=False)
class _Told:
    """An error, and the partitions that it is about, each with its era; of none, if it has none."""

    error: KafkaError
    eras: dict[TopicPartition, int]

    def is_like(self, other: _Told) -> bool:
        is_same = type(self.error) is type(other.error) and str(self.error) == str(other.error)
        return is_same and self.eras == other.eras


class Handover:
    """Lets records through, or not."""

    def __init__(self) -> None:
        """Begin: nothing was handed over yet."""
        self.interrupt: Callable[[], None] = lambda: None
        """Called when what is at hand must not be handed over without a look first."""
        self.partitions: Mapping[TopicPartition, OwnedPartition] = {}
        """The assignment: where it is known whether an error is old."""
        self._stops = 0
        self._is_dealt_with = True  # all that was handed over
        self._waiting: list[asyncio.Future[None]] = []  # for that
        self._told: list[_Told] = []
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

    def tell(self, error: KafkaError, *partitions: TopicPartition) -> None:
        """Raise this to who reads next; what was told already, and not raised, is not told again.

        Args:
            error: What is wrong.
            partitions: Those that it is about, if it is about some: it is so until all are gone,
                or were sought elsewhere.
        """
        owned = self.partitions
        told = _Told(error, {name: owned[name].era for name in partitions if name in owned})
        if partitions and not told.eras:
            return  # they are gone
        if not any(each.is_like(told) for each in self._told):
            self._told.append(told)
        self.interrupt()
        self.wake()

    def wake(self) -> None:
        """There may be something to hand over."""
        self._wakeup.set()

    # What the reader does.

    @property
    def is_dealt_with(self) -> bool:
        """Whether all that was handed over is: nothing is with the user."""
        return self._is_dealt_with

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

    @property
    def has_told(self) -> bool:
        """Whether there is something to raise."""
        return bool(self._told) and self._first_told() is not None

    def raise_told(self) -> None:
        """Raise what was told first, and still is so."""
        if self._told and (told := self._first_told()) is not None:
            self._told.remove(told)
            raise told.error

    def _first_told(self) -> _Told | None:
        """What is about partitions that are held waits: they go, or are released."""
        self._told = [each for each in self._told if not each.eras or self._of_now(each)]
        for each in self._told:
            if not each.eras or not all(owned.is_held for owned in self._of_now(each)):
                return each
        return None

    def _of_now(self, told: _Told) -> list[OwnedPartition]:
        """Those of its partitions of which it still is so."""
        found = ((self.partitions.get(name), era) for name, era in told.eras.items())
        return [owned for owned, era in found if owned is not None and owned.era == era]

    def forget_told(self) -> None:
        """What was told is about something that is no more: the subscription is another."""
        self._told.clear()

    async def wait(self, *, until: float = inf) -> None:
        """Wait until there may be something, or until that time of the loop."""
        await self._wakeup.wait(until=until)
