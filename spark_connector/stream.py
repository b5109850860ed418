"""Reading a stream: what each micro-batch reads is decided on the driver, in one process per query.

Spark asks for the latest offsets, writes them to its log, and reads up to them; an idle query asks
some 25 times a second. So one request for offsets is made for each question, by a client that stays
connected, and partitions that came or went are looked for once a second.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Collection, Iterator, Sequence
from math import inf
from typing import TYPE_CHECKING, Final

from pyspark.sql.datasource import DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import (
    ReadAllAvailable,
    ReadLimit,
    ReadMaxRows,
    ReadMinRows,
    SupportsTriggerAvailableNow,
)

from kafka_aio import TopicPartition
from kafka_aio.errors import UnknownTopicOrPartition
from spark_connector import offsets
from spark_connector.bridge import loop_thread
from spark_connector.errors import DataLossError
from spark_connector.offsets import (
    Admission,
    Changes,
    OffsetRange,
    Offsets,
    between,
    changes,
    from_json,
    to_json,
)
from spark_connector.options import ReadOptions, Word
from spark_connector.ranges import read_range
from spark_connector.topics import Found, Resolved, Topics

if TYPE_CHECKING:
    from pyarrow import RecordBatch

log = logging.getLogger("spark_connector")

DISCOVERY_SECONDS: Final = 1.0
"""How long it may take until a new partition is seen. It is read from its beginning anyway."""

OffsetJson = dict[str, dict[str, int]]


class StreamReader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """Reads a stream. On executors it only reads; what is kept between calls is the driver's."""

    def __init__(self, options: ReadOptions) -> None:
        self._options = options
        self._topics = Topics(options)
        self._admission = Admission(
            most=options.max_offsets_per_trigger,
            least=options.min_offsets_per_trigger,
            delay=options.max_trigger_delay,
        )
        self._initial: Resolved | None = None
        self._has_begun = False
        self._found = Found()
        self._found_at = -inf
        self._missing: set[str] = set()
        """Topics that are gone, as the cluster was asked often enough."""
        self._latest: Offsets = {}
        self._losses: set[str] = set()

    # What Spark calls on the driver, in the order of a batch.

    def initialOffset(self) -> OffsetJson:
        """Where a query without a checkpoint begins: the same for all calls in one run of it."""
        if self._initial is None:
            self._initial = loop_thread().run(self._begin())
        return to_json(self._initial.offsets)

    def getDefaultReadLimit(self) -> ReadLimit:
        """What Spark gives to `latestOffset`, unless its trigger wants all there is."""
        if self._options.max_offsets_per_trigger is not None:
            return ReadMaxRows(self._options.max_offsets_per_trigger)
        if self._options.min_offsets_per_trigger is not None:
            return ReadMinRows(self._options.min_offsets_per_trigger)
        return ReadAllAvailable()

    def prepareForTriggerAvailableNow(self) -> None:
        """Read up to where the logs end at the first batch, and no further."""
        self._admission.fix_end()

    def latestOffset(self, start: OffsetJson, limit: ReadLimit) -> OffsetJson:
        """Where the next batch ends; where it starts, if there is nothing to read.

        Raises:
            DataLossError: Partitions are gone, or end before where we are.
            KafkaError: What there is cannot be found out.
        """
        return to_json(loop_thread().run(self._end(from_json(start), limit)))

    def reportLatestOffset(self) -> OffsetJson | None:
        """Where the logs ended when that was last asked for: the progress of the query shows it."""
        return to_json(self._latest) if self._latest else None

    def partitions(self, start: OffsetJson, end: OffsetJson) -> Sequence[InputPartition]:
        """The ranges of a batch; one that is done again after a restart has the same.

        Raises:
            DataLossError: Partitions that were read before are not in it, or go backwards.
        """
        ranges = loop_thread().run(self._ranges(from_json(start), from_json(end)))
        split = offsets.split(
            ranges,
            min_partitions=self._options.min_partitions,
            max_records=self._options.max_records_per_partition,
            keep_empty=False,
        )
        return [InputPartition(each) for each in split]

    # On an executor.

    def read(self, partition: InputPartition) -> Iterator[RecordBatch]:
        """The records of one range."""
        return read_range(partition.value, self._options)

    # Behind the calls, on the loop.

    async def _begin(self) -> Resolved:
        await self._discover()
        return await self._topics.resolve(
            self._found.partitions, self._options.starting or Word.LATEST, "start"
        )

    async def _end(self, start: Offsets, limit: ReadLimit) -> Offsets:
        if self._admission.fixed is None:
            self._latest = await self._ends(start)
        added = await self._beginnings(start, self._latest)
        self._judge(changes(start, self._latest, earliest=added))
        end = self._admission.end(
            start,
            self._latest,
            now=time.monotonic(),
            beginnings=added,
            everything=isinstance(limit, ReadAllAvailable),
        )
        is_first, self._has_begun = not self._has_begun, True
        # The first batch ends where it starts, if that is the end of a log: so the start is in
        # Spark's log. Else Spark asks for it again if this batch fails, and what comes until then
        # would be left out.
        initial = self._initial
        begins_at_end = initial is not None and initial.has_latest and start == initial.offsets
        return start if is_first and begins_at_end else end

    async def _ends(self, start: Offsets) -> Offsets:
        """Where the logs end, of all partitions that there are."""
        if time.monotonic() - self._found_at >= DISCOVERY_SECONDS:
            await self._discover(start)
        try:
            return await self._topics.latest(self._found.partitions)
        except UnknownTopicOrPartition:  # deleted since they were found
            await self._discover(start)
            return await self._topics.latest(self._found.partitions)

    async def _discover(self, read: Collection[TopicPartition] = ()) -> None:
        """See which partitions there are; those of `read` there were."""
        known = self._found.topic_ids
        expected = (known.keys() | {each.topic for each in read}) - self._missing
        try:
            self._found = await self._topics.find(known=expected)
        except UnknownTopicOrPartition as error:
            error.add_note("to go on without a topic that was deleted, take it out of the options")
            raise
        self._missing = (self._missing | expected) - self._found.topic_ids.keys()
        self._found_at = time.monotonic()
        for topic, topic_id in self._found.topic_ids.items():
            if known.get(topic, topic_id) != topic_id:
                self._lose(f"topic {topic} was deleted and made anew while it was read")

    async def _beginnings(self, start: Offsets, end: Offsets) -> Offsets:
        """Where the partitions begin that are new."""
        return await self._topics.earliest([name for name in end if name not in start])

    async def _ranges(self, start: Offsets, end: Offsets) -> list[OffsetRange]:
        self._has_begun = True  # if a batch that was planned before is done again, too
        # The end of the first batch was judged when it was found. If that batch is done again,
        # Spark has its end in its log, but asks anew where the query begins. That may be elsewhere
        # now: a log has grown, a time has found its record, a partition is new. What lies behind
        # the end is in the next batch.
        is_first = self._initial is not None and start == self._initial.offsets
        gone = await self._gone(end)
        self._judge(changes(dict.fromkeys(gone, 0), {}))
        start, end = _without(gone, start), _without(gone, end)
        if is_first:
            start = {name: offset for name, offset in start.items() if name in end}
        added = await self._beginnings(start, end)
        if not is_first:
            self._judge(changes(start, end, earliest=added))
        return between({**added, **start}, end)

    async def _gone(self, end: Offsets) -> list[TopicPartition]:
        """Partitions of a batch that was planned, and may have been by an earlier run."""
        if not end.keys() <= set(self._found.partitions):
            await self._discover(end)
        return sorted(end.keys() - set(self._found.partitions))

    def _judge(self, found: Changes) -> None:
        for loss in found.losses:
            self._lose(loss)

    def _lose(self, loss: str) -> None:
        if self._options.fail_on_data_loss:
            raise DataLossError(f"{loss}. To go on all the same, set failOnDataLoss to false")
        if loss not in self._losses:  # an idle query would say it 25 times a second
            self._losses.add(loss)
            log.warning("%s; the query goes on, as failOnDataLoss is false", loss)


def _without(names: Collection[TopicPartition], offsets: Offsets) -> Offsets:
    return {name: offset for name, offset in offsets.items() if name not in names}
