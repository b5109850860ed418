"""Batch reads of the table, with Spark's own connector or with ours."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pytest

from tests.spark import sessions
from tests.spark.cases import Failed, Fails, Read, Rows, assert_fails, options, places
from tests.spark.cases_offsets import OFFSETS_AND_SPLITS
from tests.spark.cases_read import TOPICS_AND_OPTIONS
from tests.spark.topics import Topics

pytestmark = pytest.mark.spark_peer

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

READS = [*TOPICS_AND_OPTIONS, *OFFSETS_AND_SPLITS]
PLACE = ("topic", "partition", "offset")


@pytest.mark.parametrize(
    "case", [*TOPICS_AND_OPTIONS, *OFFSETS_AND_SPLITS], ids=lambda case: case.id
)
def test_batch_read(
    case: Read,
    spark: SparkSession,
    connector: str,
    topics: Topics,
    spark_says: Callable[[str], bool],
) -> None:
    expected = case.theirs if connector == "kafka" or case.ours is None else case.ours

    found = outcome(case, spark, connector, topics)

    if isinstance(expected, Fails):
        assert_fails(found, expected, topics)
    else:
        assert isinstance(found, Rows), found
        check(found, expected, topics)
    assert case.afterwards(topics)
    assert connector == "kafka" or spark_says(topics.filled(case.says))


def check(found: Rows, expected: Rows, topics: Topics) -> None:
    assert found.values is not None
    if expected.values is None:
        assert sorted(found.values) == places(expected.places, topics)
    else:
        assert found.values == expected.values
    if expected.partitions is not None:
        assert found.partitions == expected.partitions


def outcome(case: Read, spark: SparkSession, connector: str, topics: Topics) -> Rows | Failed:
    from pyspark.sql.types import StructType

    call = "load"
    try:
        frame = load(case, spark, connector, topics)
        if case.columns is not None:
            assert frame.schema == StructType.fromDDL(case.columns)
        call = "action"
        rows = frame.where(case.where or "true").selectExpr(*(case.select or PLACE)).rdd
        partitions = rows.getNumPartitions()
        return Rows(values=[tuple(row) for row in rows.collect()], partitions=partitions)
    except sessions.errors() as error:
        return Failed(call, str(error))


def load(case: Read, spark: SparkSession, connector: str, topics: Topics) -> DataFrame:
    reader: Any = spark.read.format(connector)
    if case.schema is not None:
        reader = reader.schema(case.schema)
    for name, value in options(case.options, topics).items():
        reader = reader.option(name, value)  # one by one: the last of a name is to win
    loaded: DataFrame = reader.load()
    return loaded
