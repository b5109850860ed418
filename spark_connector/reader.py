"""Reading a batch: offset ranges are planned on the driver, and read on the executors as Arrow."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from pyspark.sql.datasource import DataSourceReader, Filter, InputPartition

from kafka_aio import TopicPartition
from kafka_aio.errors import ConfigError
from spark_connector import offsets
from spark_connector.bridge import loop_thread
from spark_connector.filters import Bounds
from spark_connector.offsets import OffsetRange, Offsets
from spark_connector.options import ByOffset, ReadOptions, Word
from spark_connector.places import EARLIEST, LATEST
from spark_connector.ranges import read_range
from spark_connector.topics import Topics
from spark_connector.workers import settle

if TYPE_CHECKING:
    from pyarrow import RecordBatch

log = logging.getLogger("spark_connector")


class BatchReader(DataSourceReader):
    """Reads what a topic holds now."""

    def __init__(self, options: ReadOptions) -> None:
        self._options = options

    def partitions(self) -> Sequence[InputPartition]:
        """On the driver: the ranges to read, each a Spark partition.

        Raises:
            ConfigError: The offsets that are asked for do not fit what there is.
            KafkaError: What there is cannot be found out.
        """
        ranges = loop_thread().run(self._ranges())
        settle()
        split = offsets.split(
            ranges,
            min_partitions=self._options.min_partitions,
            max_records=self._options.max_records_per_partition,
            asked=[self._asked(each) for each in ranges],
        )
        return [InputPartition(each) for each in split]

    def read(self, partition: InputPartition) -> Iterator[RecordBatch]:
        """On an executor: the records of one range."""
        return read_range(partition.value, self._options)

    def _asked(self, planned: OffsetRange) -> int:
        """How large a range is by the options, where earliest is -2 and latest -1.

        Spark's own connector looks at that to see whether anything is to be cut.
        """
        start, end = planned.start, planned.end
        match self._options.starting or Word.EARLIEST:
            case Word.EARLIEST:
                start = EARLIEST
            case ByOffset(offsets):
                start = offsets[planned.topic_partition]
        match self._options.ending or Word.LATEST:
            case Word.LATEST:
                end = LATEST
            case ByOffset(offsets):
                end = offsets[planned.topic_partition]
        return end - start

    async def _ranges(self) -> list[OffsetRange]:
        topics = Topics(self._options)
        partitions = (await topics.find()).partitions
        start = await topics.resolve(partitions, self._options.starting or Word.EARLIEST, "start")
        end = await topics.resolve(partitions, self._options.ending or Word.LATEST, "end")
        return await self._within(_ranges(start.offsets, end.offsets), topics)

    async def _within(self, ranges: list[OffsetRange], topics: Topics) -> list[OffsetRange]:
        """What is left of them for who has filters."""
        return ranges


class FilteringReader(BatchReader):
    """Leaves out what the query's filters on partition, offset and timestamp rule out.

    It is made on request only. With Spark's default settings, a reader that takes filters fails;
    and Spark keeps one plan for each `load()`, the last one: a second scan of the same frame reads
    what the filters of the first left over. Nothing here can see that.
    """

    def __init__(self, options: ReadOptions) -> None:
        super().__init__(options)
        self._bounds = Bounds()

    def pushFilters(self, filters: list[Filter]) -> Iterable[Filter]:
        """Take what we can; returns what Spark has to look at itself."""
        self._bounds, left = Bounds.of(filters)
        if self._bounds != Bounds():
            log.warning(
                "pushFilters: this frame is read with these filters from now on; load() it anew for"
                " every other query, and for each side of a join or union"
            )
        return left

    async def _within(self, ranges: list[OffsetRange], topics: Topics) -> list[OffsetRange]:
        bounds = self._bounds
        kept = [each for each in ranges if bounds.has_partition(each.partition)]
        first: dict[TopicPartition, int | None] = {}
        if bounds.since is not None:
            first = await topics.first_at([each.topic_partition for each in kept], bounds.since)
        return [bounds.cut(each, first.get(each.topic_partition, each.start)) for each in kept]


def _ranges(start: Offsets, end: Offsets) -> list[OffsetRange]:
    for name, begin in start.items():
        if begin > end[name]:
            raise ConfigError(
                f"{name} is to be read from offset {begin}, and ends at {end[name]}: the offsets or"
                " times that are given do not fit, or the topic was made anew since"
            )
    return [OffsetRange(*name, start[name], end[name]) for name in sorted(start)]
