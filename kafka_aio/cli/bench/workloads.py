"""The ways to write and to read records, for every client that has them.

An adapter brings the calls.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterable, Awaitable, Callable, Iterable
from time import perf_counter
from typing import Any, Final

from kafka_aio.cli.bench.work import Run, Work

CHUNK: Final = 500
"""So many records are given one by one before anybody looks at the clock."""
BEHIND: Final = 100
"""So many such chunks may wait for their deliveries."""
CALL: Final = 10_000
"""Records in a call that takes many."""
CALLS: Final = 4
"""So many of these calls run at the same time."""

LIST: Final = 4_000
"""Records that come in one call, at most; a client that is faster with fewer takes fewer."""
PAUSE: Final = 1.0
"""Seconds that a call waits for records."""

Give = Callable[..., Awaitable[Awaitable[object]]]
"""(topic, value, key=): accepts a record; what it returns waits for the delivery."""
Send = Callable[..., Awaitable[object]]
"""(topic, value, key=): waits for the delivery."""
SendMany = Callable[[Any], Awaitable[object]]
"""(what `prepare` made of a chunk): waits for the deliveries."""


async def submit(work: Work, give: Give) -> None:
    """One call for each record, then a look at each delivery."""
    topic = work.topic
    for run in work.runs():
        waiting: deque[list[Awaitable[object]]] = deque()
        for values, keys in run.chunks(CHUNK):
            if keys is None:
                waiting.append([await give(topic, value) for value in values])
            else:
                pairs = zip(values, keys, strict=True)
                waiting.append([await give(topic, value, key=key) for value, key in pairs])
            if len(waiting) > BEHIND:
                await settle(run, waiting.popleft())
        for deliveries in waiting:
            await settle(run, deliveries)


async def settle(run: Run, deliveries: Iterable[Awaitable[object]]) -> None:
    """Wait for deliveries, and count those that failed."""
    for delivery in deliveries:
        try:
            await delivery
        except Exception as error:
            run.failed(error)


async def many(
    work: Work, send: SendMany, prepare: Callable[[list[bytes], list[bytes] | None], Any]
) -> None:
    """Many records in one call, some calls at a time.

    Args:
        work: What is to be done.
        send: The call.
        prepare: From values and keys to what the user of `send` is thought to have already.
    """
    prepared: dict[tuple[int, int], Any] = {}

    async def call(run: Run) -> None:
        for span in run.spans(CALL):
            if span not in prepared:
                prepared[span] = prepare(*work.pool.part(*span))
            try:
                await send(prepared[span])
            except Exception as error:
                run.failed(error, span[1] - span[0])

    for run in work.runs():
        await asyncio.gather(*(call(run) for _ in range(CALLS)))


async def tasks(work: Work, send: Send) -> None:
    """Many tasks, each of which writes one record after the other, and waits for each."""
    topic = work.topic

    async def write(run: Run, records: Iterable[tuple[bytes, bytes | None]]) -> None:
        took = run.latencies.append
        for value, key in records:
            began_at = perf_counter()
            try:
                await send(topic, value, key=key)
            except Exception as error:
                run.failed(error)
            took(perf_counter() - began_at)

    for run in work.runs():
        records = run.records()
        async with asyncio.TaskGroup() as group:
            for _ in range(work.load.tasks):
                group.create_task(write(run, records))


async def latency(work: Work, send: Send) -> None:
    """One record after the other."""
    topic = work.topic
    for run in work.runs():
        for value, key in run.records():
            began_at = perf_counter()
            try:
                await send(topic, value, key=key)
            except Exception as error:
                run.failed(error)
            run.latencies.append(perf_counter() - began_at)


def blocking_latency(work: Work, send: Callable[..., object]) -> None:
    """The same for a client without a loop."""
    topic = work.topic
    for run in work.runs():
        for value, key in run.records():
            began_at = perf_counter()
            try:
                send(topic, value, key=key)
            except Exception as error:
                run.failed(error)
            run.latencies.append(perf_counter() - began_at)


# Reading.


async def read_lists(work: Work, read: Callable[[int], Awaitable[int]]) -> None:
    """As many records as a call brings.

    Args:
        work: What is to be done.
        read: From the most that are wanted to how many have come.
    """
    for run in work.runs():
        while (count := run.portion(LIST)) and run.has_read(await read(count)):
            pass


async def read_each(work: Work, records: AsyncIterable[object]) -> None:
    """One record after the other."""
    for run in work.runs():
        count, stop = 0, run.portion(CHUNK)
        if not stop:
            continue
        async for _ in records:
            count += 1
            if count == stop:
                if not run.has_read(count):
                    break
                count, stop = 0, run.portion(CHUNK)


def blocking_lists(work: Work, read: Callable[[int], int]) -> None:
    """`read_lists` for a client without a loop."""
    for run in work.runs():
        while (count := run.portion(LIST)) and run.has_read(read(count)):
            pass


def blocking_each(work: Work, read: Callable[[], object | None]) -> None:
    """`read_each` for a client without a loop; what `read` returns is None if nothing came."""
    for run in work.runs():
        goes_on = True
        while goes_on:
            count, stop = 0, run.portion(CHUNK)
            while count < stop:
                if read() is not None:
                    count += 1
            goes_on = run.has_read(count)
