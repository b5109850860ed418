"""Many records in one call: lists of values, records, or Arrow columns.

Values and columns are appended by the codec, a batch at a time, with no Python work per record.
Some batches give the loop a turn: so a request carries more than one of them.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Iterator, Sized
from contextlib import contextmanager
from functools import partial
from itertools import repeat
from operator import index
from typing import TYPE_CHECKING, Any, Final

from kafka_aio.errors import BrokerError, KafkaError
from kafka_aio.net import clock
from kafka_aio.producer.deliveries import Deliveries
from kafka_aio.producer.delivery import OpenBatch, OpenTopic
from kafka_aio.producer.intake import Intake
from kafka_aio.producer.record import ProducerRecord
from kafka_aio.records.codec import BatchBuilder
from kafka_aio.records.text import not_bytes

if TYPE_CHECKING:
    from kafka_aio.producer.rows import Block, Portion


BATCHES_A_TURN: Final = 8
"""After so many, which take less than a millisecond, the Sender and other tasks have a turn."""


@contextmanager
def noted(accepted: Deliveries) -> Iterator[None]:
    """Who is cancelled here gets to know how many records were accepted, and which."""
    try:
        yield
    except asyncio.CancelledError as error:
        error.add_note(f"{len(accepted)} records of this call were accepted")
        error.deliveries = accepted  # type: ignore[attr-defined]  # it is ours to add
        raise


class Values:
    """A list of values to write: what a `Portion` is of columns."""

    def __init__(self, topic: str, partition: int | None, values: list[Any]) -> None:
        self.topic = topic
        self.partition = partition
        self.start = 0
        self._values = values

    @property
    def stop(self) -> int:
        return len(self._values)  # which somebody may change while we wait

    def name_at(self, place: int) -> str:
        """What an error calls the value."""
        return f"record {place}"

    def size_at(self, place: int) -> int:
        """The bytes of the value at a place.

        Raises:
            TypeError: It has none.
        """
        value = self._values[place]
        try:
            return 0 if value is None else memoryview(value).nbytes
        except TypeError:
            raise TypeError(f"{self.name_at(place)}: {not_bytes('value', value)}") from None

    def append_to(self, builder: BatchBuilder, start: int, timestamp: int) -> int:
        """Write from a place on, while there is room. Returns the first place not written.

        Raises:
            TypeError, ValueError: A value cannot be written. Those before it are.
        """
        before = builder.count
        try:
            return builder.append_many(self._values, timestamp, None, start)
        except Exception as error:
            place = start + builder.count - before
            record = ProducerRecord(self.topic, self._values[place])
            raise _named(_explained(error, record), self.name_at(place)) from None


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
        self._time = int(clock.wall_time() * 1000) if timestamp is None else timestamp
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
        except Exception as error:
            if not len(self._deliveries):
                raise
            made = self._deliveries.error(error, total)
            assert made is not None
            raise made from error
        return self._deliveries

    async def _submit(self, records: Any, keys: Iterable[Any] | None) -> None:
        if self._timestamp is not None and not _is_time(self._timestamp):
            raise ValueError(_no_time(self._timestamp))
        if hasattr(records, "schema") and hasattr(records, "num_rows"):
            if keys is not None:
                raise TypeError("keys= is for values: a table has its keys in a column `key`")
            await self._submit_columns(records)
        elif keys is None and self._intake.is_plain and _are_values(records):
            topic = self._named_topic()
            open_topic = await self._intake.wait_topic(topic, self._partition)
            self._deliveries.begin(lambda place: place)
            await self._submit_portion(Values(topic, self._partition, records), open_topic)
        else:
            await self._submit_one_by_one(records, keys)

    # Values, all for one topic, and columns.

    async def _submit_columns(self, data: Any) -> None:
        from kafka_aio.producer import rows  # late: pyarrow is an extra

        if not self._intake.is_plain:
            raise TypeError(
                "columns are sent as they are: serializers, interceptors and a partitioner of yours"
                " would see none of the rows; give bytes, and a column `partition` if need be"
            )
        for block in rows.blocks(data, self._topic):
            opened = {name: await self._topic_of_rows(name, block) for name in block.topics}
            counts = {name: topic.partitions for name, topic in opened.items()}
            for portion in block.scatter(
                counts, ignore_keys=self._intake.ignores_keys, default=self._partition
            ):
                self._begin(portion)
                await self._submit_portion(portion, opened[portion.topic])

    def _begin(self, portion: Portion) -> None:
        self._deliveries.begin(
            lambda place: portion.row_at(portion.start + place),
            lambda place: portion.time_at(portion.start + place),
        )

    async def _topic_of_rows(self, topic: str, block: Block) -> OpenTopic:
        try:
            return await self._intake.wait_topic(topic, self._partition)
        except Exception as error:
            if topic == self._topic:
                raise
            raise _named(error, block.name_of(topic)) from error.__cause__

    async def _submit_portion(self, portion: Portion | Values, open_topic: OpenTopic) -> None:
        at = portion.start
        while at < portion.stop:
            at = await self._fill(open_topic, portion, at)

    async def _fill(self, open_topic: OpenTopic, portion: Portion | Values, start: int) -> int:
        """Append to one batch what it takes. Returns the first that it did not."""
        batch = open_topic.get(portion.partition)
        reached = start if batch is None else self._append(batch, portion, start)
        if reached > start:
            return reached
        payload = portion.size_at(start)
        try:
            opened = await self._opened_for(payload, open_topic, portion)
        except Exception as error:
            raise _named(error, portion.name_at(start)) from error.__cause__
        return self._append(opened, portion, start)

    async def _opened_for(
        self, payload: int, open_topic: OpenTopic, portion: Portion | Values
    ) -> OpenBatch:
        topic, partition = portion.topic, portion.partition
        size = self._intake.checked_size(payload, topic)
        self._opened += 1
        if self._opened % BATCHES_A_TURN == 0:
            await asyncio.sleep(0)
        attempt = partial(self._open, open_topic, topic, partition, size)
        opened = attempt(None)
        if opened is None:
            opened = await self._intake.wait_room(attempt, (topic, partition), size)
        return opened

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

    def _append(self, batch: OpenBatch, portion: Portion | Values, start: int) -> int:
        first = batch.builder.count
        try:
            return portion.append_to(batch.builder, start, self._time)
        finally:
            written = batch.builder.count - first
            if written:
                self._deliveries.add(batch.outcome, first, written, self._time)
            elif not first:
                self._intake.drop_empty(batch.outcome.topic)

    # Anything else.

    async def _submit_one_by_one(self, records: Iterable[Any], keys: Iterable[Any] | None) -> None:
        self._deliveries.begin(lambda place: place)
        for record in self._records(records, keys):
            try:
                delivery = self._intake.accept_quickly(record)
                if delivery is None:
                    await asyncio.sleep(0)
                    delivery = await self._intake.accept(record)
            except Exception as error:
                explained = _explained(error, record)
                raise _named(explained, f"record {len(self._deliveries)}") from error.__cause__
            self._deliveries.add(delivery.outcome, delivery.index, 1, delivery.timestamp)

    def _records(
        self, records: Iterable[Any], keys: Iterable[Any] | None
    ) -> Iterator[ProducerRecord]:
        for each, key in _pairs(records, keys):
            if not isinstance(each, ProducerRecord):
                partition, timestamp = self._partition, self._timestamp
                yield ProducerRecord(self._named_topic(), each, key, partition, timestamp)
            elif keys is not None:
                raise TypeError("keys= is for values: a ProducerRecord has its own")
            else:
                yield self._completed(each)

    def _completed(self, record: ProducerRecord) -> ProducerRecord:
        """With what the call says, where the record does not."""
        if record.partition is None and self._partition is not None:
            record = record._replace(partition=self._partition)
        if record.timestamp is None and self._timestamp is not None:
            record = record._replace(timestamp=self._timestamp)
        return record

    def _named_topic(self) -> str:
        if self._topic is None:
            raise TypeError("name the topic, or give records that do: ProducerRecord, or a column")
        return self._topic


def _are_values(records: Any) -> bool:
    """By the first: another kind among them is refused where it stands."""
    return isinstance(records, list) and not isinstance(next(iter(records), None), ProducerRecord)


def _pairs(records: Iterable[Any], keys: Iterable[Any] | None) -> Iterator[tuple[Any, Any]]:
    """Each with its key, of which there are as many.

    Raises:
        ValueError: There are not: at once where both can be counted, else at the end.
    """
    if keys is None:
        yield from zip(records, repeat(None), strict=False)
        return
    if isinstance(records, Sized) and isinstance(keys, Sized) and len(records) != len(keys):
        raise ValueError(f"as many keys as values are needed: {len(keys)} for {len(records)}")
    missing = object()
    rest = iter(keys)
    for each in records:
        key = next(rest, missing)
        if key is missing:
            raise ValueError("there are fewer keys than values")
        yield each, key
    if next(rest, missing) is not missing:
        raise ValueError("there are more keys than values")


def _is_time(timestamp: int) -> bool:
    return 0 <= index(timestamp) < 1 << 63


def _no_time(timestamp: int | None) -> str:
    return f"a timestamp is milliseconds since 1970 in 64 bits, not {timestamp}"


def _explained(error: Exception, record: ProducerRecord) -> Exception:
    """Why a record cannot be written, where Python's own words say little about it."""
    problem = error.__cause__ or error
    if isinstance(problem, OverflowError) and not _is_time(record.timestamp or 0):
        return ValueError(_no_time(record.timestamp))
    for what, part in (("key", record.key), ("value", record.value)):
        is_apart = isinstance(part, memoryview) and not part.c_contiguous
        if isinstance(problem, BufferError) and is_apart:
            return ValueError(f"the bytes of a {what} are not contiguous: give bytes({what})")
    return error


def _named(error: Exception, what: str) -> Exception:
    """The error, which says now what record it is about."""
    if isinstance(error, BrokerError):
        error.where = f"{what}: {error.where}" if error.where else what
    elif error.args and (isinstance(error, KafkaError) or type(error) in (TypeError, ValueError)):
        error.args = (f"{what}: {error.args[0]}", *error.args[1:])
    else:  # the user's own
        error.add_note(f"{what} of this call")
    return error
