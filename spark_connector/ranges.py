"""The records of one offset range: all of them, or a word on those that are gone."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator, AsyncIterator, Collection, Iterator
from contextlib import aclosing
from functools import partial
from typing import TYPE_CHECKING, Final, NoReturn

from kafka_aio import Admin, Consumer, FetchedBatch, TopicPartition
from kafka_aio.errors import (
    KafkaError,
    KafkaTimeoutError,
    OffsetOutOfRange,
    UnknownTopicOrPartition,
)
from spark_connector import clients
from spark_connector.bridge import loop_thread, read_ahead
from spark_connector.errors import DataLossError
from spark_connector.offsets import OffsetRange
from spark_connector.options import ReadOptions
from spark_connector.workers import settle

if TYPE_CHECKING:
    from pyarrow import RecordBatch

log = logging.getLogger("spark_connector")

AHEAD: Final = 4
"""Arrow batches that are ready before Spark asks for them."""
LOOK_SECONDS: Final = 2.0
"""After so long without a record, and then again, it is asked whether there is the partition; and
so long it is waited for what the cluster says."""


def read_range(wanted: OffsetRange | None, options: ReadOptions) -> Iterator[RecordBatch]:
    """The records of a range as Arrow batches; None, which Spark makes of no ranges, has none."""
    if wanted:
        yield from read_ahead(loop_thread(), partial(_arrow, wanted, options), ahead=AHEAD)
        settle()


async def _arrow(wanted: OffsetRange, options: ReadOptions) -> AsyncIterator[RecordBatch]:
    async with aclosing(batches(wanted, options)) as found:
        async for batch in found:
            rows = batch.to_arrow(headers=options.include_headers)
            yield _without_empty_headers(rows) if options.include_headers else rows


def _without_empty_headers(rows: RecordBatch) -> RecordBatch:
    """A record without headers has null there, as with Spark's own connector, not an empty list."""
    import pyarrow as pa
    import pyarrow.compute as pc

    headers = rows.column("headers")
    nulled = pa.ListArray.from_arrays(
        headers.offsets,
        headers.values,
        type=headers.type,
        mask=pc.equal(pc.list_value_length(headers), 0),
    )
    return rows.set_column(rows.schema.get_field_index("headers"), "headers", nulled)


async def check(ranges: Collection[OffsetRange], admin: Admin) -> None:
    """Whether there are the partitions of ranges; a range without offsets may be of none.

    Raises:
        UnknownTopicOrPartition: There is no such partition; says which range that is.
        KafkaError: That cannot be found out.
    """
    wanted = [each for each in ranges if each]
    found = await admin.describe_topics({each.topic for each in wanted})
    for each in wanted:
        topic = found[each.topic]
        if isinstance(topic, UnknownTopicOrPartition):
            raise UnknownTopicOrPartition(topic.message, where=f"range {each}") from topic
        if isinstance(topic, KafkaError):
            raise topic
        count = len(topic.partitions)
        if each.partition >= count:
            text = f"the topic has partitions 0 to {count - 1}"
            raise UnknownTopicOrPartition(text, where=f"range {each}")


async def batches(wanted: OffsetRange, options: ReadOptions) -> AsyncGenerator[FetchedBatch, None]:
    """Read a range, by the consumer of this process.

    Raises:
        DataLossError: Some of it is not in the log, and failOnDataLoss is true.
        KafkaError: It cannot be read.
    """
    partition, at, end = wanted.topic_partition, wanted.start, wanted.end
    is_cut = False
    async with clients.consumer(options.consumer_options()) as consumer:
        while at < end:
            try:
                if is_cut:
                    at, end = await _left(consumer, partition, at, end)
                async with aclosing(consumer.read_range(partition, at, end)) as found:
                    while (batch := await _next(found, wanted, options)) is not None:
                        at = batch.next_offset
                        yield batch
                return
            except OffsetOutOfRange as error:
                if options.fail_on_data_loss:
                    raise _lost(partition, at, end, error) from error
                is_cut = True
            except (KafkaTimeoutError, UnknownTopicOrPartition) as error:
                if await _why_gone(wanted, options) is None:
                    raise
                if options.fail_on_data_loss:
                    raise _lost(partition, at, end, error) from error
                log.warning(
                    "%s is to be read from offset %d to %d, and is not there any more: it is left"
                    " out, as failOnDataLoss is false",
                    *(partition, at, end),
                )
                return


async def _next(
    found: AsyncIterator[FetchedBatch], wanted: OffsetRange, options: ReadOptions
) -> FetchedBatch | None:
    """The next batch of a range, if there is one.

    While nothing comes, the cluster is asked whether there is the partition at all: the consumer
    would look for it as long as kafkaConsumer.pollTimeoutMs says.

    Raises:
        UnknownTopicOrPartition: There is not, as the cluster has said twice.
        KafkaError: It cannot be read.
    """
    tasks: list[asyncio.Future[FetchedBatch | None]] = [asyncio.ensure_future(anext(found, None))]
    try:
        await asyncio.wait(tasks, timeout=LOOK_SECONDS)
        if not tasks[0].done():
            tasks.append(asyncio.ensure_future(_until_gone(wanted, options)))
            await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        return await next(each for each in tasks if each.done())
    finally:
        if len(tasks) > 1 or not tasks[0].done():
            for each in tasks:
                each.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)  # and what failed was looked at


async def _until_gone(wanted: OffsetRange, options: ReadOptions) -> NoReturn:
    before = None
    while True:
        why = await _why_gone(wanted, options)
        if why is not None and before is not None:
            raise why
        before = why
        await asyncio.sleep(LOOK_SECONDS)


async def _why_gone(wanted: OffsetRange, options: ReadOptions) -> UnknownTopicOrPartition | None:
    """What the cluster says if there is no such partition; None where there is, or may be."""
    try:
        async with (
            asyncio.timeout(LOOK_SECONDS),
            clients.admin(options.admin_options()) as admin,
        ):
            await check([wanted], admin)
    except UnknownTopicOrPartition as error:
        return error
    except (KafkaError, TimeoutError):  # why it cannot be read is known better
        pass
    return None


async def _left(
    consumer: Consumer, partition: TopicPartition, at: int, end: int
) -> tuple[int, int]:
    """What the log still has of a range."""
    first = (await consumer.beginning_offsets([partition]))[partition]
    last = (await consumer.end_offsets([partition]))[partition]
    log.warning(
        "%s is to be read from offset %d to %d, and has %d to %d: the rest is left out, as"
        " failOnDataLoss is false",
        *(partition, at, end, first, last),
    )
    return max(at, first), min(end, last)


def _lost(partition: TopicPartition, at: int, end: int, why: Exception) -> DataLossError:
    return DataLossError(
        f"{partition} is to be read from offset {at} to {end}, and not all of that is there:"
        f" {why}. Records have expired, the topic was deleted or made anew, or, with"
        " read_committed, a transaction is open there. To read what is left, set failOnDataLoss to"
        " false"
    )
