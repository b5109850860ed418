"""Sending a chunk of rows: what the DataFrame writer and the sink for RDDs share. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from kafka_aio.errors import KafkaError
from spark_connector import clients

if TYPE_CHECKING:
    from spark_connector.rows import Chunk, Rows


async def send(rows: Rows, options: Mapping[str, str], chunk: Chunk) -> int:
    """Send a chunk, by the producer of this process, and wait until all of it is acknowledged.

    Returns:
        How many rows that are.

    Raises:
        RowError: Some were not: it has the place of the first.
        KafkaError: The cluster cannot be reached, or does not let us in.
    """
    async with clients.producer(options) as producer:
        try:
            await producer.send_many(rows.topic, chunk.batch)
        except (KafkaError, TypeError, ValueError) as error:
            raise rows.error(chunk, error) from error
    count: int = chunk.batch.num_rows
    return count
