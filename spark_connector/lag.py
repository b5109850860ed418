"""How far a stream is behind, from what Spark tells of its progress. Pure.

A Python source cannot fill Spark's own `sources[].metrics`, but the offsets there tell the same.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import chain

from kafka_aio.errors import ConfigError
from kafka_aio.types import TopicPartition
from spark_connector.offsets import from_json


@dataclass(frozen=True)
class SourceLag:
    """How many offsets one source of a query is behind; there may be fewer records."""

    description: str
    """What Spark calls the source."""
    by_partition: Mapping[TopicPartition, int]

    @property
    def total(self) -> int:
        """Of all partitions together."""
        return sum(self.by_partition.values())

    @property
    def max(self) -> int:
        """Of the partition that is furthest behind; 0 without partitions."""
        return max(self.by_partition.values(), default=0)


@dataclass(frozen=True)
class QueryLag:
    """How many offsets a query was behind at the end of a batch; there may be fewer records."""

    query_id: str
    """The same after a restart from the checkpoint."""
    name: str | None
    """What the user called the query; None if nothing."""
    batch_id: int
    timestamp: str
    """When the batch began, as Spark writes it."""
    sources: tuple[SourceLag, ...]
    """Those that have Kafka's offsets; a source of another kind is left out."""

    @property
    def total(self) -> int:
        """Of all sources together."""
        return sum(source.total for source in self.sources)

    @property
    def max(self) -> int:
        """Of the partition that is furthest behind."""
        return max((source.max for source in self.sources), default=0)

    @property
    def by_partition(self) -> dict[TopicPartition, int]:
        """Of each partition; of one that two sources read, the larger."""
        found: dict[TopicPartition, int] = {}
        for name, behind in chain.from_iterable(each.by_partition.items() for each in self.sources):
            found[name] = max(behind, found.get(name, 0))
        return found


def source_lag(description: str, end: str | None, latest: str | None) -> SourceLag | None:
    """The lag of one source; None if these are no offsets of Kafka's.

    A partition that was not read yet counts from offset 0. One that is at its end, or beyond the
    end of a topic that was made anew, is not behind.

    Args:
        description: What Spark calls the source.
        end: Where the batch ended, as JSON.
        latest: Where the logs ended, as JSON.
    """
    try:
        ends, latests = from_json(end), from_json(latest)
    except ConfigError:
        return None
    behind = {name: max(latests[name] - ends.get(name, 0), 0) for name in sorted(latests)}
    return SourceLag(description, behind)
