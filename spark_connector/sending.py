"""Sending the rows of a task: what the DataFrame writer and the sink for RDDs share."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from contextlib import AsyncExitStack
from typing import TYPE_CHECKING

from kafka_aio.errors import KafkaError
from spark_connector import clients

if TYPE_CHECKING:
    from spark_connector.rows import Chunk, Rows


class Sending:
    """Sends the chunks of one task, several at once, and in their order.

    A chunk is given to the producer as a whole before the next: it may have to wait for room, or
    give others a turn, and then the rows of the next would overtake.
    """

    def __init__(self, rows: Rows, options: Mapping[str, str]) -> None:
        """Begin with no chunk.

        Args:
            rows: What an error says of them.
            options: Those of the producer, by Kafka's names.
        """
        self._rows = rows
        self._options = options
        self._turn = asyncio.Lock()  # whoever asked first has it first

    async def send(self, chunk: Chunk) -> int:
        """Send a chunk, by the producer of this process, and wait until all of it is acknowledged.

        Returns:
            How many rows that are.

        Raises:
            RowError: Some were not: it has the place of the first. Or none was, as the cluster
                cannot be reached or does not let us in: it has the place of all.
        """
        async with AsyncExitStack() as borrowed:
            try:
                async with self._turn:
                    producer = await borrowed.enter_async_context(clients.producer(self._options))
                    deliveries = await producer.submit_many(self._rows.topic, chunk.batch)
                await deliveries
            except (KafkaError, TypeError, ValueError) as error:
                raise self._rows.error(chunk, error) from error
        count: int = chunk.batch.num_rows
        return count
