"""An async `mapPartitions` in the workers of a real Spark.

Functions that travel are made inside of the tests: so workers need not import this module.
"""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("pyspark")

from pyspark.sql import SparkSession

from spark_connector import map_partitions
from tests.spark.sessions import failure


@pytest.mark.parametrize("fresh_loop", [False, True])
def test_rows_are_mapped_in_order(spark: SparkSession, fresh_loop: bool) -> None:
    async def add(row: int) -> int:
        await asyncio.sleep(0.0001 * (row * 7 % 5))
        return row + 1

    rdd = spark.sparkContext.parallelize(range(1000), 3)
    found = rdd.mapPartitions(map_partitions(add, fresh_loop=fresh_loop)).collect()

    assert found == list(range(1, 1001))


def test_rows_are_mapped_as_they_are_done_where_order_does_not_matter(spark: SparkSession) -> None:
    async def slow_first(row: int) -> int:
        await asyncio.sleep(0.3 if row == 0 else 0)
        return row

    rdd = spark.sparkContext.parallelize(range(500), 1)
    found = rdd.mapPartitions(map_partitions(slow_first, ordered=False, concurrency=5)).collect()

    assert found != sorted(found)
    assert sorted(found) == list(range(500))


def test_never_more_calls_are_under_way_than_are_allowed(spark: SparkSession) -> None:
    async def counted(row: int, running: list[int]) -> int:
        running[0] += 1
        await asyncio.sleep(0.002)
        seen = running[0]
        running[0] -= 1
        return seen

    @asynccontextmanager
    async def counter() -> AsyncIterator[list[int]]:
        yield [0]

    rdd = spark.sparkContext.parallelize(range(600), 2)
    function = map_partitions(counted, concurrency=20, chunk_rows=7, setup=counter)
    found = rdd.mapPartitions(function).collect()

    assert max(found) == 20


def test_many_wait_at_the_same_time(spark: SparkSession) -> None:
    async def wait(row: int) -> int:
        await asyncio.sleep(0.1)
        return row

    rdd = spark.sparkContext.parallelize(range(400), 2)
    rdd.mapPartitions(map_partitions(wait, concurrency=200)).count()  # workers are warm now
    begun = time.monotonic()
    assert rdd.mapPartitions(map_partitions(wait, concurrency=200)).count() == 400

    assert time.monotonic() - begun < 10  # one after the other would take 20 in each worker


def test_one_mapping_after_another_does_not_lock(spark: SparkSession) -> None:
    async def add(row: int) -> int:
        await asyncio.sleep(0.001)
        return row + 1

    once = map_partitions(add, concurrency=4, chunk_rows=3)
    rdd = spark.sparkContext.parallelize(range(200), 2)
    found = rdd.mapPartitions(once).mapPartitions(once).mapPartitions(once).collect()

    assert found == list(range(3, 203))


def test_who_takes_a_few_rows_cancels_the_calls_and_ends_what_was_set_up(
    spark: SparkSession, tmp_path: Path
) -> None:
    marks = str(tmp_path)

    async def wait(row: int, tell: Any) -> int:
        try:
            await asyncio.sleep(0 if row < 5 else 60)
        except asyncio.CancelledError:
            tell("cancelled")
            raise
        return row

    def mark(name: str) -> None:
        Path(marks, name).touch()

    @asynccontextmanager
    async def marking() -> AsyncIterator[Callable[[str], None]]:
        try:
            yield mark
        finally:
            mark("ended")

    rdd = spark.sparkContext.parallelize(range(10_000), 1)
    function = map_partitions(wait, concurrency=10, chunk_rows=5, setup=marking)
    begun = time.monotonic()
    found = rdd.mapPartitions(function).take(5)  # with others under way

    assert found == [0, 1, 2, 3, 4]
    assert time.monotonic() - begun < 30
    assert {path.name for path in tmp_path.iterdir()} == {"cancelled", "ended"}


def test_a_row_whose_call_fails_fails_the_task_with_its_place(spark: SparkSession) -> None:
    async def divide(row: int) -> float:
        await asyncio.sleep(0)
        return 1 / (row - 75)

    rdd = spark.sparkContext.parallelize(range(100), 2)
    said = failure(lambda: rdd.mapPartitions(map_partitions(divide)).collect())

    assert "ZeroDivisionError: division by zero\nSpark partition 1, row 25" in said
    assert "in divide" in said


def test_an_error_that_takes_no_note_fails_the_task_with_its_place(spark: SparkSession) -> None:
    async def fail(row: int) -> None:
        class Frozen(Exception):
            def __setattr__(self, name: str, value: object) -> None:
                raise AttributeError("not this one")

        raise Frozen("its words")

    rdd = spark.sparkContext.parallelize(range(3), 1)
    said = failure(lambda: rdd.mapPartitions(map_partitions(fail)).collect())

    assert "RowError: Spark partition 0, row 0: Frozen" in said
    assert "its words" in said


def test_map_in_place_of_map_partitions_is_refused(spark: SparkSession) -> None:
    async def same(row: str) -> str:
        return row

    rdd = spark.sparkContext.parallelize(["a", "b"], 1)
    said = failure(lambda: rdd.map(map_partitions(same)).count())

    assert "this is for mapPartitions, not for map" in said


def test_a_row_that_is_done_is_taken_while_others_take_their_time(spark: SparkSession) -> None:
    async def slow(row: int) -> int:
        await asyncio.sleep(0 if row < 3 else 60)
        return row

    rdd = spark.sparkContext.parallelize(range(10_000), 1)
    once = map_partitions(slow, concurrency=4)
    begun = time.monotonic()

    assert rdd.mapPartitions(once).take(1) == [0]
    assert time.monotonic() - begun < 30


def test_a_task_that_fails_once_is_tried_again(spark: SparkSession, tmp_path: Path) -> None:
    mark = tmp_path / "tried"

    async def failing_once(row: int) -> int:
        await asyncio.sleep(0)
        if row == 5 and not mark.exists():
            mark.touch()
            raise RuntimeError("once")
        return row

    rdd = spark.sparkContext.parallelize(range(10), 1)

    assert rdd.mapPartitions(map_partitions(failing_once)).collect() == list(range(10))
    assert mark.exists()


def test_an_error_that_cannot_be_pickled_is_told(spark: SparkSession) -> None:
    async def fail(row: int) -> None:
        class Unpicklable(Exception):
            def __reduce__(self) -> str:
                raise TypeError("not this one")

        raise Unpicklable("its words")

    rdd = spark.sparkContext.parallelize(range(3), 1)
    said = failure(lambda: rdd.mapPartitions(map_partitions(fail)).collect())

    assert "its words\nSpark partition 0, row 0" in said


def test_a_worker_goes_on_after_a_mapping(spark: SparkSession) -> None:
    """The input was drained, and nothing is left on its loop: Spark uses it again."""

    async def pid(row: int) -> int:
        await asyncio.sleep(0)
        return os.getpid()

    rdd = spark.sparkContext.parallelize(range(4), 2)
    pids: set[int] = set()
    for _ in range(4):
        pids.update(rdd.mapPartitions(map_partitions(pid)).collect())

    assert len(pids) <= 4  # two at a time, where earlier tests may have left others
