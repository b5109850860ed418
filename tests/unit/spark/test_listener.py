from __future__ import annotations

import json
import logging
from typing import Any
from uuid import UUID

import pytest

from kafka_aio.types import TopicPartition
from spark_connector.lag import QueryLag, SourceLag, source_lag

A0, A1 = TopicPartition("a", 0), TopicPartition("a", 1)
B0 = TopicPartition("b", 0)


def test_a_source_is_behind_by_what_lies_between_its_end_and_that_of_the_logs() -> None:
    found = source_lag("Kafka", '{"a":{"0":4,"1":8}}', '{"a":{"0":10,"1":20}}')

    assert found == SourceLag("Kafka", {A0: 6, A1: 12})
    assert (found.total, found.max) == (18, 12)


def test_a_new_partition_counts_from_0_and_one_that_went_back_is_not_behind() -> None:
    found = source_lag("Kafka", '{"a":{"0":20}}', '{"a":{"0":5,"1":3}}')

    assert found == SourceLag("Kafka", {A0: 0, A1: 3})


@pytest.mark.parametrize(
    ("end", "latest"),
    [("5", "7"), (None, None), ("null", "null"), ('{"a":{"0":1}}', "None"), ("{", "")],
)
def test_a_source_without_offsets_of_kafkas_has_no_lag(end: str | None, latest: str | None) -> None:
    assert source_lag("Rate", end, latest) is None


def test_a_query_is_behind_by_what_its_sources_are() -> None:
    lag = QueryLag("q", None, 3, "now", (SourceLag("x", {A0: 9, B0: 1}), SourceLag("y", {A0: 6})))

    assert (lag.total, lag.max) == (16, 9)
    assert lag.by_partition == {A0: 9, B0: 1}
    assert (QueryLag("q", None, 3, "now", ()).total, QueryLag("q", None, 3, "now", ()).max) == (
        0,
        0,
    )


# The listener itself, fed with Spark's own events, without a session.

pyspark = pytest.importorskip("pyspark.sql.streaming.listener")

ONE, TWO = (UUID(int=number) for number in (1, 2))


def event(query: UUID, batch: int, *sources: tuple[object, object]) -> Any:
    """As Spark Connect sends it: with offsets as JSON."""
    return pyspark.QueryProgressEvent.fromJson(
        {
            "progress": {
                "id": str(query),
                "runId": str(UUID(int=9)),
                "name": "counts",
                "timestamp": "2026-11-18T00:00:00.000Z",
                "batchId": batch,
                "batchDuration": 5,
                "numInputRows": 1,
                "inputRowsPerSecond": 1.0,
                "processedRowsPerSecond": 1.0,
                "durationMs": {},
                "eventTime": {},
                "stateOperators": [],
                "sources": [
                    {
                        "description": f"source {number}",
                        "startOffset": None,
                        "endOffset": end,
                        "latestOffset": latest,
                        "numInputRows": 1,
                        "inputRowsPerSecond": 1.0,
                        "processedRowsPerSecond": 1.0,
                        "metrics": {},
                    }
                    for number, (end, latest) in enumerate(sources)
                ],
                "sink": {"description": "sink", "numOutputRows": 1, "metrics": {}},
                "observedMetrics": {},
            }
        }
    )


def test_the_newest_lag_of_each_query_is_kept_and_told() -> None:
    from spark_connector.listener import LagListener

    told: list[QueryLag] = []
    listener = LagListener(told.append)

    listener.onQueryProgress(event(ONE, 0, ({"a": {"0": 1}}, {"a": {"0": 10}})))
    listener.onQueryProgress(event(TWO, 0, ({"b": {"0": 1}}, {"b": {"0": 3}}), (5, 9)))
    listener.onQueryProgress(event(ONE, 1, (json.dumps({"a": {"0": 8}}), '{"a": {"0": 10}}')))

    newest = listener.lag(ONE)
    assert newest is not None
    assert (newest.batch_id, newest.name, newest.total) == (1, "counts", 2)
    assert listener.lag(str(TWO)) == QueryLag(
        str(TWO), "counts", 0, "2026-11-18T00:00:00.000Z", (SourceLag("source 0", {B0: 2}),)
    )
    assert [lag.total for lag in told] == [9, 2, 2]
    assert listener.lag(UUID(int=5)) is None


def test_a_query_that_does_not_read_kafka_is_left_alone() -> None:
    from spark_connector.listener import LagListener

    told: list[QueryLag] = []
    listener = LagListener(told.append)

    listener.onQueryProgress(event(ONE, 0, (5, 9)))

    assert listener.lag(ONE) is None
    assert told == []


def test_what_goes_wrong_is_logged_and_not_raised(caplog: pytest.LogCaptureFixture) -> None:
    from spark_connector.listener import LagListener

    def fail(lag: QueryLag) -> None:
        raise RuntimeError("the gauge is gone")

    listener = LagListener(fail)

    with caplog.at_level(logging.ERROR, "spark_connector"):
        listener.onQueryProgress(event(ONE, 0, ({"a": {"0": 1}}, {"a": {"0": 10}})))
        listener.onQueryProgress(None)  # type: ignore[arg-type]

    assert listener.lag(ONE) is not None
    assert [record.getMessage() for record in caplog.records] == [
        "the lag of a query could not be told"
    ] * 2
    assert "the gauge is gone" in caplog.text


def test_old_queries_are_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    from spark_connector import listener as module

    monkeypatch.setattr(module, "MOST_QUERIES", 2)
    listener = module.LagListener()

    for number in (1, 2, 1, 3):
        listener.onQueryProgress(event(UUID(int=number), 0, ({"a": {"0": 1}}, {"a": {"0": 2}})))

    assert [listener.lag(UUID(int=number)) is not None for number in (1, 2, 3)] == [
        True,
        False,
        True,
    ]
