"""The tasks that send: one call after another, of all kinds, and what each record was told."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable
from itertools import count
from typing import Any

from kafka_aio.errors import BufferFull, KafkaError, SendManyError
from kafka_aio.producer import Producer, ProducerRecord
from kafka_aio.producer.deliveries import Deliveries
from tests.simulation.ledger import Entry, Ledger
from tests.simulation.plan import LONGEST_VALUE, PARTITIONS, Plan

TOPIC = "orders"
KEYS = [b"key %d" % number for number in range(20)]
MOST_AT_ONCE = 60


class Sending:
    """One task. Its order of records is the order of its calls."""

    def __init__(
        self, task: int, plan: Plan, producer: Producer[bytes, bytes], ledger: Ledger
    ) -> None:
        self._task = task
        self._plan = plan
        self._producer = producer
        self._ledger = ledger
        self._rng = random.Random(f"task {task} of {plan.seed}")
        self._numbers = count()
        self._open: list[Awaitable[None]] = []
        """What became of records that were submitted: is awaited later, in order."""
        self._calls: list[tuple[Callable[[int], Awaitable[None]], int]] = [
            (self.send, 1),
            (self.submit, 30),
            (self.submit_nowait, 30),
            (self.send_many, MOST_AT_ONCE),
            (self.submit_many, MOST_AT_ONCE),
            (self.send_side_by_side, 30),
        ]

    async def run(self) -> None:
        """Send our part of the records in about the time of the plan, and see what they came to."""
        rng, loop = self._rng, asyncio.get_running_loop()
        quota = self._plan.records // self._plan.tasks + 1
        begun, sent = loop.time(), 0
        while sent < quota:
            due = begun + self._plan.seconds * sent / quota
            await asyncio.sleep(max(due - loop.time(), 0) * rng.uniform(0.5, 1.5))
            call, most = rng.choice(self._calls)
            size = rng.randint(1, most)
            sent += size
            if self._plan.cancels and rng.random() < 0.2:
                await self._cancelled(call(size))
            else:
                await call(size)
            if rng.random() < 0.3:
                await self.settle()
        await self.settle()

    async def settle(self) -> None:
        """Learn what became of all that was submitted so far."""
        waiting, self._open = self._open, []
        for each in waiting:
            await each

    async def send(self, count: int) -> None:
        for entry in self._entries(count):
            await self._send(entry)

    async def send_side_by_side(self, count: int) -> None:
        """As a service does: a task for each. They begin in their order."""
        entries = self._entries(count)
        for entry in entries:
            has_place = entry.key is not None and not self._plan.options["partitioner_ignore_keys"]
            entry.is_loose = entry.partition is None and not has_place
        await asyncio.gather(*[self._send(entry) for entry in entries])

    async def submit(self, count: int) -> None:
        for entry in self._entries(count):
            try:
                delivery = await self._producer.submit(TOPIC, **_arguments(entry))
            except KafkaError as error:
                entry.failed(error)
            else:
                entry.watch(delivery)
                self._open.append(entry.settle(delivery))

    async def submit_nowait(self, count: int) -> None:
        for entry in self._entries(count):
            try:
                delivery = self._producer.submit_nowait(TOPIC, **_arguments(entry))
            except BufferFull as error:
                entry.failed(error)
                await asyncio.sleep(0)
            else:
                entry.watch(delivery)
                self._open.append(entry.settle(delivery))

    async def send_many(self, count: int) -> None:
        entries = self._entries(count)
        try:
            _tell(entries, await self._producer.send_many(*self._many(entries)))
        except SendManyError as error:
            _tell_failed(entries, error)
        except KafkaError as error:
            _tell_all(entries, error)

    async def submit_many(self, count: int) -> None:
        entries = self._entries(count)
        try:
            deliveries = await self._producer.submit_many(*self._many(entries))
        except SendManyError as error:
            _tell_failed(entries, error)
        except KafkaError as error:
            _tell_all(entries, error)
        else:
            for index, entry in enumerate(entries):
                entry.watch(deliveries[index])
                self._open.append(entry.settle(deliveries[index]))

    def _many(self, entries: list[Entry]) -> tuple[str | None, list[Any]]:
        """Values where they have nothing else, or records."""
        if self._plan.keys == "none":
            return TOPIC, [entry.value for entry in entries]
        return None, [ProducerRecord(TOPIC, **_arguments(entry)) for entry in entries]

    async def _send(self, entry: Entry) -> None:
        try:
            entry.delivered(await self._producer.send(TOPIC, **_arguments(entry)))
        except KafkaError as error:
            entry.failed(error)

    async def _cancelled(self, call: Awaitable[None]) -> None:
        """Have a call, and cancel it if it takes long. What is submitted is not forgotten."""
        try:
            async with asyncio.timeout(self._rng.uniform(0, 0.2)):
                await call
        except TimeoutError:
            pass

    def _entries(self, count: int) -> list[Entry]:
        entries = [self._entry() for _ in range(count)]
        for entry in entries:
            self._ledger.add(entry)
        return entries

    def _entry(self) -> Entry:
        rng, number = self._rng, next(self._numbers)
        kind = self._plan.keys
        if kind == "mixed":
            kind = rng.choice(["none", "keys", "partitions"])
        value = b"%d %d " % (self._task, number)
        return Entry(
            self._task,
            number,
            value + rng.randbytes(rng.randint(0, LONGEST_VALUE - len(value))),
            key=rng.choice(KEYS) if kind == "keys" else None,
            partition=rng.randrange(PARTITIONS) if kind == "partitions" else None,
        )


def _arguments(entry: Entry) -> dict[str, Any]:
    return {"value": entry.value, "key": entry.key, "partition": entry.partition}


def _tell(entries: list[Entry], deliveries: Deliveries) -> None:
    for index, entry in enumerate(entries):
        entry.delivered(deliveries[index].result())


def _tell_failed(entries: list[Entry], error: SendManyError) -> None:
    """Some failed, or were not accepted: then nothing is known yet of those that were."""
    failed = dict(error.failed)
    for index, entry in enumerate(entries):
        if index in failed:
            entry.failed(failed[index])
        elif index >= error.accepted:
            entry.failed(KafkaError("not accepted"))
        elif error.accepted == len(entries):
            entry.delivered(None)


def _tell_all(entries: list[Entry], error: KafkaError) -> None:
    for entry in entries:
        entry.failed(error)
