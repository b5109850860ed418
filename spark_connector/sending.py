"""Sending the rows of a task: what the DataFrame writer and the sink for RDDs share."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Iterable, Mapping
from contextlib import AsyncExitStack, suppress
from itertools import chain
from typing import TYPE_CHECKING, Final

from kafka_aio.errors import ConfigError, KafkaError
from spark_connector import clients
from spark_connector.bridge import LoopThread, pump

if TYPE_CHECKING:
    from kafka_aio import Producer
    from spark_connector.rows import Chunk, Rows

WINDOW: Final = 4
"""Chunks that are on their way to Kafka at the same time."""
PATIENCE: Final = 0.05
"""Seconds that rows may linger while no others can come."""


def send_all(
    thread: LoopThread, chunks: Iterable[Chunk], rows: Rows, options: Mapping[str, str]
) -> int:
    """Send the chunks of a task, and wait until all is acknowledged. Without any, nothing is done.

    Args:
        thread: Where they are sent.
        chunks: Advanced on the caller's thread alone.
        rows: What an error says of them.
        options: Those of the producer, by Kafka's names.

    Returns:
        How many rows that are.

    Raises:
        RowError: Some of a chunk were not: it has the place of the first of them. Or none was, as
            the cluster cannot be reached or does not let us in: it has the place of all.
        ConfigError: The options are wrong on this machine: a file is not there, for one.
    """
    send = _Sending(rows, options).send
    return sum(pump(thread, chain(chunks, [None]), send, window=WINDOW))


class _Sending:
    """Sends the chunks of one task, several at once, and in their order.

    A chunk is given to the producer as a whole before the next: it may have to wait for room, or
    give others a turn, and then the rows of the next would overtake.
    """

    def __init__(self, rows: Rows, options: Mapping[str, str]) -> None:
        self._rows = rows
        self._options = options
        self._may_linger = int(options.get("linger.ms", 0)) > PATIENCE * 1000
        self._turn = asyncio.Lock()  # whoever asked first has it first
        self._window: deque[asyncio.Timeout] = deque(maxlen=WINDOW)
        """How long the last chunks may wait to be acknowledged; no others are under way."""
        self._producer: Producer | None = None

    async def send(self, chunk: Chunk | None) -> int:
        """Send a chunk, and wait until all of it is acknowledged.

        None comes last: nothing is to linger any more for what might come.
        """
        if chunk is None:
            async with self._turn:
                await self._hurry()
            return 0
        async with AsyncExitStack() as borrowed:
            try:
                async with self._turn:
                    producer = await borrowed.enter_async_context(clients.producer(self._options))
                    deliveries = await producer.submit_many(self._rows.topic, chunk.batch)
                self._producer = producer
                try:
                    async with asyncio.timeout(None) as limit:
                        self._window.append(limit)
                        self._limit_oldest()
                        await deliveries
                except TimeoutError:
                    await self._hurry()
                    await deliveries
            except ConfigError:  # no row is to blame
                raise
            except (KafkaError, TypeError, ValueError) as error:
                raise self._rows.error(chunk, error) from error
        count: int = chunk.batch.num_rows
        return count

    def _limit_oldest(self) -> None:
        """Where the window is full, no more rows come before the oldest chunk is acknowledged.

        So its own are not to linger for others, however long linger.ms is.
        """
        if self._may_linger and len(self._window) == WINDOW:
            with suppress(RuntimeError):  # it is acknowledged already
                self._window[0].reschedule(asyncio.get_running_loop().time() + PATIENCE)

    async def _hurry(self) -> None:
        """Have all that was accepted sent now. Who waits for a chunk is told what becomes of it."""
        if self._producer is not None:
            with suppress(KafkaError):
                await self._producer.flush(timeout=0)
