"""Many records in one call: lists of values, records, or Arrow columns.

Values and columns are appended by the codec, a batch at a time, with no Python work per record.
Some batches give the loop a turn: so a request carries more than one of them.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from itertools import chain, repeat
from typing import TYPE_CHECKING, Any, Final

from kafka_aio.errors import KafkaError
from kafka_aio.net import clock
from kafka_aio.producer.deliveries import Deliveries
from kafka_aio.producer.delivery import OpenBatch, OpenTopic
from kafka_aio.producer.intake import Intake
from kafka_aio.producer.record import ProducerRecord

if TYPE_CHECKING:
    from kafka_aio.producer.rows import Portion


BATCHES_A_TURN: Final = 8
"""After so many, which take less than a millisecond, the Sender and other tasks have a turn."""


@contextmanager
def noted(accepted: Deliveries) -> Iterator[None]:
    """Who is cancelled here gets to know how many records were accepted."""
    try:
        yield
    except asyncio.CancelledError as error:
        error.add_note(f"{len(accepted)} records of this call were accepted")
        raise


class Many:
    """One call of `submit_many`."""

    def __init__(
        self,
        intake: Intake,
        topic: str | None,
        *,
        partition: int | None = None,
        timestamp: int | None = None,
    ) -> None:
        self._intake = intake
        self._topic = topic
        self._partition = partition
        self._timestamp = timestamp
        self._now_ms = int(clock.wall_time() * 1000)
        self._deliveries = Deliveries()
        self._opened = 0

    async def submit(self, records: Any, keys: Iterable[Any] | None) -> Deliveries:
        """Have all of them accepted.

        Raises:
            SendManyError: Some were not: it says how many were, and why the next was not.
        """
        total = len(records) if hasattr(records, "__len__") else None
        try:
            with noted(self._deliveries):
                await self._submit(records, keys)
        except (KafkaError, TypeError, ValueError) as error:
            if not len(self._deliveries):
                raise
            made = self._deliveries.error(error, total)
            assert made is not None
            raise made from error
        return self._deliveries

    async def _submit(self, records: Any, keys: Iterable[Any] | None) -> None:
        if hasattr(records, "schema") and hasattr(records, "num_rows"):
            await self._submit_columns(records)
        elif keys is None and self._intake.is_plain and _are_values(records):
            await self._submit_values(records)
        else:
            await self._submit_one_by_one(records, keys)

    # Values, all for one topic.

    async def _submit_values(self, values: list[Any]) -> None:
        topic = self._named_topic()
        open_topic = await self._intake.wait_topic(topic, self._partition)
        timestamp = self._now_ms if self._timestamp is None else self._timestamp
        self._deliveries.begin(lambda place: place)
        at = 0
        while at < len(values):
            at = await self._fill(
                open_topic,
                topic,
                self._partition,
                lambda batch, start: batch.builder.append_many(values, timestamp, None, start),
                at,
                lambda start: _length(values[start]),
            )

    # Columns.

    async def _submit_columns(self, data: Any) -> None:
        from kafka_aio.producer import rows  # late: pyarrow is an extra

        if not self._intake.is_plain:
            raise TypeError(
                "columns are sent as they are: serializers, interceptors and a partitioner of yours"
                " would see none of the rows; give bytes, and a column `partition` if need be"
            )
        intake = self._intake
        for block in rows.blocks(data, self._topic):
            opened = {name: await intake.wait_topic(name) for name in block.topics}
            counts = {name: topic.partitions for name, topic in opened.items()}
            for portion in block.scatter(counts, ignore_keys=intake.ignores_keys):
                await self._submit_portion(portion, opened[portion.topic])

    async def _submit_portion(self, portion: Portion, open_topic: OpenTopic) -> None:
        self._deliveries.begin(lambda place: portion.row_at(portion.start + place))
        partition = self._partition if portion.partition is None else portion.partition
        at = portion.start
        while at < portion.stop:
            at = await self._fill(
                open_topic,
                portion.topic,
                partition,
                lambda batch, start: portion.append_to(batch.builder, start, self._now_ms),
                at,
                portion.size_at,
            )

    async def _fill(
        self,
        open_topic: OpenTopic,
        topic: str,
        partition: int | None,
        append: Callable[[OpenBatch, int], int],
        start: int,
        size_at: Callable[[int], int],
    ) -> int:
        """Append to one batch what it takes. Returns the first that it did not."""
        batch = open_topic.get(partition)
        reached = start if batch is None else self._append(batch, append, start)
        if reached > start:
            return reached
        size = self._intake.checked_size(size_at(start), topic)
        self._opened += 1
        if self._opened % BATCHES_A_TURN == 0:
            await asyncio.sleep(0)
        attempt = partial(self._open, open_topic, topic, partition, size)
        opened = attempt(None)
        if opened is None:
            opened = await self._intake.wait_room(attempt, (topic, partition), size)
        return self._append(opened, append, start)

    def _open(
        self,
        open_topic: OpenTopic,
        topic: str,
        partition: int | None,
        size: int,
        ticket: asyncio.Event | None,
    ) -> OpenBatch | None:
        self._intake.check()
        if self._intake.make_room(topic, partition, size, ticket):
            return open_topic.get(partition)
        return None

    def _append(self, batch: OpenBatch, append: Callable[[OpenBatch, int], int], start: int) -> int:
        first = batch.builder.count
        try:
            return append(batch, start)
        finally:
            written = batch.builder.count - first
            if written:
                self._deliveries.add(batch.outcome, first, written, self._now_ms)
            elif not first:
                self._intake.drop_empty(batch.outcome.topic)

    # Anything else.

    async def _submit_one_by_one(self, records: Iterable[Any], keys: Iterable[Any] | None) -> None:
        self._deliveries.begin(lambda place: place)
        for record in self._records(records, keys):
            delivery = self._intake.accept_quickly(record)
            if delivery is None:
                await asyncio.sleep(0)
                delivery = await self._intake.accept(record)
            self._deliveries.add(delivery.outcome, delivery.index, 1, delivery.timestamp)

    def _records(
        self, records: Iterable[Any], keys: Iterable[Any] | None
    ) -> Iterator[ProducerRecord]:
        missing = object()
        keys = repeat(None) if keys is None else chain(keys, repeat(missing))
        for each, key in zip(records, keys, strict=False):
            if key is missing:
                raise ValueError("there are fewer keys than values")
            if isinstance(each, ProducerRecord):
                yield each
            else:
                partition, timestamp = self._partition, self._timestamp
                yield ProducerRecord(self._named_topic(), each, key, partition, timestamp)

    def _named_topic(self) -> str:
        if self._topic is None:
            raise TypeError("name the topic, or give records that do: ProducerRecord, or a column")
        return self._topic


def _are_values(records: Any) -> bool:
    """By the first: another kind among them is refused where it stands."""
    return isinstance(records, list) and not isinstance(next(iter(records), None), ProducerRecord)


def _length(value: Any) -> int:
    return 0 if value is None else memoryview(value).nbytes
