"""Tells how far streams are behind: a listener for `spark.streams`."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import TYPE_CHECKING, Final
from uuid import UUID

from pyspark.sql.streaming.listener import StreamingQueryListener

from spark_connector.lag import QueryLag, source_lag

if TYPE_CHECKING:
    from pyspark.sql.streaming.listener import (
        QueryIdleEvent,
        QueryProgressEvent,
        QueryStartedEvent,
        QueryTerminatedEvent,
        StreamingQueryProgress,
    )

log = logging.getLogger("spark_connector")

MOST_QUERIES: Final = 1_000
"""Of so many queries the newest lag is kept; of those beyond, the oldest is forgotten."""


class LagListener(StreamingQueryListener):
    """Knows how far each query is behind Kafka, since its last batch.

        listener = LagListener(lambda lag: gauge.set(lag.total))
        spark.streams.addListener(listener)
        ...
        listener.lag(query.id).total

    It works for `format("kafka_aio")` and for Spark's own `format("kafka")`. Nothing is raised out
    of it, as that would be Spark's trouble: what goes wrong is logged.

    Args:
        callback: Is called with each new lag, on a thread of Spark's; it should not take long.
    """

    def __init__(self, callback: Callable[[QueryLag], object] | None = None) -> None:
        self._callback = callback
        self._lags: dict[str, QueryLag] = {}

    def __repr__(self) -> str:
        return f"<LagListener: {len(self._lags)} queries>"

    def lag(self, query_id: str | UUID) -> QueryLag | None:
        """The newest lag of a query, by its `id`; None if no batch of it has ended yet.

        It stays after the query has ended.
        """
        return self._lags.get(str(query_id))

    # What Spark calls.

    def onQueryStarted(self, event: QueryStartedEvent) -> None:
        """There is nothing to tell yet."""

    def onQueryProgress(self, event: QueryProgressEvent) -> None:
        """A batch has ended."""
        try:
            found = query_lag(event.progress)
            if not found.sources:
                return
            self._keep(found)
            if self._callback is not None:
                self._callback(found)
        except Exception:
            log.exception("the lag of a query could not be told")

    def onQueryIdle(self, event: QueryIdleEvent) -> None:
        """There was nothing to read: the lag is that of the last batch."""

    def onQueryTerminated(self, event: QueryTerminatedEvent) -> None:
        """The last lag is kept."""

    def _keep(self, found: QueryLag) -> None:
        self._lags.pop(found.query_id, None)
        self._lags[found.query_id] = found
        while len(self._lags) > MOST_QUERIES:
            self._lags.pop(next(iter(self._lags)), None)


def query_lag(progress: StreamingQueryProgress) -> QueryLag:
    """What Spark tells of a batch, as a lag."""
    found = [
        source_lag(source.description, source.endOffset, source.latestOffset)
        for source in progress.sources
    ]
    return QueryLag(
        query_id=str(progress.id),
        name=progress.name,
        batch_id=progress.batchId,
        timestamp=progress.timestamp,
        sources=tuple(each for each in found if each is not None),
    )
