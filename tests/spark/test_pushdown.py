"""Filters that are pushed down: the same rows, and less to read; on request only."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from typing import TYPE_CHECKING, NamedTuple

import pytest

pytest.importorskip("pyspark")

from tests.spark.queries import FORMAT, Place, places
from tests.spark.topics import T0, Topics

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SETTING = "spark.sql.python.filterPushdown.enabled"


class Found(NamedTuple):
    """What a query gave, and what it took."""

    places: list[Place]
    tasks: int
    scanned: int
    """Rows that came out of the source, before Spark looked at them."""


@pytest.fixture(scope="module")
def topic(topics: Topics) -> str:
    """Three partitions with ten records each, one second apart."""
    short = f"pushed-{uuid.uuid4().hex[:8]}"
    topics.create(short, 3)
    topics.produce(short, {0: 10, 1: 10, 2: 10})
    return topics.name(short)


@contextmanager
def allowed(spark: SparkSession) -> Iterator[None]:
    """Spark gives filters to Python sources in here."""
    spark.conf.set(SETTING, "true")
    try:
        yield
    finally:
        spark.conf.unset(SETTING)


def read(spark: SparkSession, topics: Topics, topic: str, where: str, **more: str) -> Found:
    reader = spark.read.format(FORMAT).option("kafka.bootstrap.servers", topics.bootstrap)
    frame = reader.options(subscribe=topic, **more).load()
    found = frame.where(where).select("partition", "offset")
    rows = found.collect()
    leaves = found._jdf.queryExecution().executedPlan().collectLeaves()
    scanned = leaves.apply(0).metrics().apply("numOutputRows").value()
    return Found(sorted((row[0], row[1]) for row in rows), found.rdd.getNumPartitions(), scanned)


@pytest.mark.parametrize(
    ("where", "rows", "tasks", "scanned"),
    [
        ("partition = 1", places({1: 10}), 1, 10),
        ("partition IN (0, 2) AND offset >= 8", places({0: 2, 2: 2}, first=8), 2, 4),
        ("partition > 0 AND offset < 3", places({1: 3, 2: 3}), 2, 6),
        ("partition < 1 AND offset = 4", places({0: 1}, first=4), 1, 1),
        (f"timestamp >= timestamp_millis({T0 + 7000})", places({0: 3, 1: 3, 2: 3}, first=7), 3, 9),
        ("partition = 5", [], 1, 0),
        # Of an OR, Spark pushes neither side.
        ("partition = 1 AND offset = 4 OR offset = 10", places({1: 1}, first=4), 3, 30),
        ("string(value) = '1:4'", places({1: 1}, first=4), 3, 30),
    ],
)
def test_what_filters_rule_out_is_not_read(
    spark: SparkSession,
    topics: Topics,
    topic: str,
    where: str,
    rows: list[Place],
    tasks: int,
    scanned: int,
) -> None:
    with allowed(spark):
        found = read(spark, topics, topic, where, pushFilters="true")

    assert found == Found(rows, tasks, scanned)


@pytest.mark.parametrize("is_allowed", [True, False])
def test_filters_are_sparks_where_it_is_not_asked_for(
    spark: SparkSession, topics: Topics, topic: str, is_allowed: bool
) -> None:
    with allowed(spark) if is_allowed else nullcontext():
        plain = read(spark, topics, topic, "partition = 1")

    assert plain == Found(places({1: 10}), 3, 30)


def test_spark_plans_a_frame_once_so_it_has_one_set_of_filters(
    spark: SparkSession, topics: Topics, topic: str, spark_says: Callable[[str], bool]
) -> None:
    """Not as one would wish: docs/spark.md tells users to load the frame anew."""
    reader = spark.read.format(FORMAT).option("kafka.bootstrap.servers", topics.bootstrap)
    frame = reader.options(subscribe=topic, pushFilters="true").load()

    with allowed(spark):
        filtered = frame.where("partition = 1").count()
        everything = frame.count()

    assert (filtered, everything) == (10, 10)
    assert spark_says("load() it anew")


def test_spark_plans_a_frame_once_so_it_has_the_records_of_its_first_use(
    spark: SparkSession, topics: Topics
) -> None:
    """As above."""
    short = f"planned-{uuid.uuid4().hex[:8]}"
    topics.create(short, 1)
    topics.produce(short, {0: 2})
    reader = spark.read.format(FORMAT).option("kafka.bootstrap.servers", topics.bootstrap)
    reader = reader.option("subscribe", topics.name(short))
    frame = reader.load()

    first = frame.count()
    topics.produce(short, {0: 3})

    assert (first, frame.count(), reader.load().count()) == (2, 2, 5)
