"""A sink and a source for RDDs, in the workers of a real Spark.

Functions that travel are made inside of the tests: so workers need not import this module.
"""

from __future__ import annotations

import asyncio
import gc
import os
import uuid
import weakref
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("pyspark")

from pyspark.sql import Row, SparkSession

from kafka_aio import ProducerRecord
from kafka_aio.errors import UnknownTopicOrPartition
from spark_connector import OffsetRange, foreach_partition, map_partitions, records_rdd
from tests.spark.sessions import failure
from tests.spark.topics import Topics


@pytest.fixture
def topic(topics: Topics) -> str:
    """The short name of a new topic."""
    short = f"rdd-{uuid.uuid4().hex[:8]}"
    topics.create(short, 2)
    return short


@pytest.fixture
def sink(topics: Topics, topic: str) -> Callable[..., Any]:
    """The sink, for that topic."""

    def make(*, name_it: bool = True, **more: Any) -> Any:
        options = {"kafka.bootstrap.servers": topics.bootstrap, **more.pop("options", {})}
        return foreach_partition(options, topic=topics.name(topic) if name_it else None, **more)

    return make


# The sink.


def test_an_rdd_of_values_is_in_kafka_when_the_action_ends(
    spark: SparkSession, topics: Topics, topic: str, sink: Callable[..., Any]
) -> None:
    values = [b"%d" % number for number in range(10_000)]

    spark.sparkContext.parallelize(values, 3).foreachPartition(sink())

    assert Counter(record.value for record in topics.read(topic)) == Counter(values)


def test_what_a_user_holds_while_a_worker_connects_is_collected_as_ever(
    spark: SparkSession, sink: Callable[..., Any]
) -> None:
    send_all = sink()

    class Model:
        def __init__(self) -> None:
            self.myself = self

    def send(rows: Iterable[bytes]) -> Iterator[bool]:
        def used(model: Model) -> Iterator[bytes]:
            for row in rows:
                yield row if model.myself is model else b""

        model = Model()
        alive = weakref.ref(model)
        send_all(used(model))
        del model
        gc.collect()
        yield alive() is not None

    parted = spark.sparkContext.parallelize([b"a"] * 1000, 1)

    assert parted.mapPartitions(send).collect() == [False]


def test_pairs_are_keys_and_values_and_keep_the_order_of_a_key(
    spark: SparkSession, topics: Topics, topic: str, sink: Callable[..., Any]
) -> None:
    pairs = [(f"k{number % 3}", f"{number}") for number in range(3000)]

    spark.sparkContext.parallelize(pairs, 1).foreachPartition(sink())

    found = topics.read(topic)
    assert len(found) == 3000
    for key in (b"k0", b"k1", b"k2"):
        numbers = [int(record.value or b"") for record in found if record.key == key]
        assert numbers == sorted(numbers)


def test_rows_and_records_have_all_that_kafka_has(
    spark: SparkSession, topics: Topics, topic: str, sink: Callable[..., Any]
) -> None:
    whole = topics.name(topic)
    rows = [
        Row(value="a", key=b"k", topic=whole, partition=1, headers=[Row(key="h", value=b"x")]),
        {"value": b"b", "topic": whole, "partition": 1},
        ProducerRecord(whole, b"c", partition=1, timestamp=1_700_000_000_000),
    ]

    spark.sparkContext.parallelize(rows, 1).foreachPartition(sink(name_it=False))

    first, second, third = topics.read(topic)
    assert (first.partition, first.key, first.value) == (1, b"k", b"a")
    assert first.headers == [("h", b"x")]
    assert (second.value, third.value, third.timestamp) == (b"b", b"c", 1_700_000_000_000)


def test_the_rows_of_a_frame_can_be_written_with_their_time_where_it_is_asked_for(
    spark: SparkSession, topics: Topics, topic: str, sink: Callable[..., Any]
) -> None:
    frame = spark.range(100).selectExpr(
        "cast(id as string) as key",
        "cast(concat('v', id) as binary) as value",
        "array(named_struct('key', 'h', 'value', cast('x' as binary))) as headers",
        "timestamp_millis(1700000000123) as timestamp",
        "id as other",
    )

    frame.foreachPartition(sink(options={"useTimestampColumn": "true"}))

    found = topics.read(topic)
    assert sorted(int(record.key or b"") for record in found) == list(range(100))
    assert {record.timestamp for record in found} == {1_700_000_000_123}
    assert found[0].headers == [("h", b"x")]
    assert found[0].value == b"v" + (found[0].key or b"")


def test_a_row_that_cannot_be_sent_fails_the_task_and_says_its_place(
    spark: SparkSession, sink: Callable[..., Any], topics: Topics, topic: str
) -> None:
    values: list[Any] = [b"v"] * 20
    values[15] = 5  # row 5 of the second partition

    said = failure(
        lambda: spark.sparkContext.parallelize(values, 2).foreachPartition(sink(chunk_rows=3))
    )

    assert f"RowError: Spark partition 1, row 5, topic {topics.name(topic)}: a row is" in said


def test_a_task_that_is_tried_again_sends_its_rows(
    spark: SparkSession, topics: Topics, topic: str, sink: Callable[..., Any], tmp_path: Path
) -> None:
    mark = tmp_path / "tried"

    def failing_once(rows: Iterable[bytes]) -> Iterator[bytes]:
        for number, row in enumerate(rows):
            if number == 30 and not mark.exists():
                mark.touch()
                raise RuntimeError("once")
            yield row

    values = [b"%d" % number for number in range(50)]
    rows = spark.sparkContext.parallelize(values, 1).mapPartitions(failing_once)
    rows.foreachPartition(sink(chunk_rows=10))

    assert {record.value for record in topics.read(topic)} == set(values)


@pytest.mark.parametrize("fresh_loop", [False, True])
def test_clients_stay_connected_from_partition_to_partition_unless_loops_are_fresh(
    spark: SparkSession, sink: Callable[..., Any], fresh_loop: bool
) -> None:
    send = sink(fresh_loop=fresh_loop)

    def watched(rows: Iterable[int]) -> Iterator[tuple[int, int, int]]:
        from kafka_aio import Producer

        opened = []
        start = Producer.start

        async def noted(self: Any, **options: Any) -> None:
            opened.append(self)
            await start(self, **options)

        Producer.start = noted  # type: ignore[method-assign]  # in the worker, for this task
        try:
            for _ in range(3):  # as for three partitions
                send(iter([b"v"]))
        finally:
            Producer.start = start  # type: ignore[method-assign]  # as it was
        yield os.getpid(), len(opened), sum(each.health().state == "open" for each in opened)

    rdd = spark.sparkContext.parallelize(range(6), 6).mapPartitions(watched)
    found = rdd.collect()

    opened = Counter[int]()
    for pid, count, still_open in found:
        opened[pid] += count
        assert still_open == (0 if fresh_loop else count)
    assert set(opened.values()) <= ({3 * n for n in range(1, 7)} if fresh_loop else {0, 1})


def test_a_mapping_may_feed_the_sink(
    spark: SparkSession, topics: Topics, topic: str, sink: Callable[..., Any]
) -> None:
    async def text(row: int) -> str:
        await asyncio.sleep(0)
        return str(row)

    rdd = spark.sparkContext.parallelize(range(500), 2)
    rdd.mapPartitions(map_partitions(text)).foreachPartition(sink(chunk_rows=50))

    assert sorted(int(record.value or b"") for record in topics.read(topic)) == list(range(500))


# The source.


def test_each_range_is_a_partition_and_read_exactly(
    spark: SparkSession, topics: Topics, topic: str
) -> None:
    topics.produce(topic, {0: 100, 1: 50})
    whole = topics.name(topic)
    ranges = [
        OffsetRange(whole, 0, 10, 60),
        OffsetRange(whole, 1, 0, 50),
        OffsetRange(whole, 0, 60, 60),
        OffsetRange(whole, 0, 99, 100),
    ]
    rdd = records_rdd(spark.sparkContext, ranges, {"kafka.bootstrap.servers": topics.bootstrap})

    parts = rdd.glom().collect()
    assert [[record.offset for record in part] for part in parts] == [
        [*range(10, 60)],
        [*range(50)],
        [],
        [99],
    ]
    first = parts[0][0]
    assert (first.topic, first.partition, first.value) == (whole, 0, b"0:10")
    assert rdd.map(lambda record: record.partition).countByValue() == {0: 51, 1: 50}


def test_aborted_records_are_left_out_where_only_committed_ones_are_read(
    spark: SparkSession, topics: Topics
) -> None:
    ranges = [OffsetRange(topics.name("tx"), 0, 0, 18)]  # three times 5, and the ends of each
    options = {"kafka.bootstrap.servers": topics.bootstrap}
    committed = {**options, "kafka.isolation.level": "read_committed"}

    assert records_rdd(spark.sparkContext, ranges, options).count() == 15
    found = records_rdd(spark.sparkContext, ranges, committed).collect()
    assert [record.offset for record in found] == [*range(5), *range(12, 17)]


def test_records_travel_on_to_a_mapping_and_back_to_kafka(
    spark: SparkSession, topics: Topics, topic: str, sink: Callable[..., Any]
) -> None:
    async def shout(record: Any) -> tuple[bytes, bytes]:
        await asyncio.sleep(0)
        return b"k", record.value + b"!"

    ranges = [OffsetRange(topics.name("b"), number, 0, 5) for number in (0, 1)]
    rdd = records_rdd(spark.sparkContext, ranges, {"kafka.bootstrap.servers": topics.bootstrap})
    rdd.mapPartitions(map_partitions(shout)).foreachPartition(sink())

    found = [record.value for record in topics.read(topic)]
    assert sorted(found, key=str) == [b"%d:%d!" % (part, i) for part in (0, 1) for i in range(5)]


def test_a_range_that_is_not_in_the_log_fails_the_task(spark: SparkSession, topics: Topics) -> None:
    ranges = [OffsetRange(topics.name("del"), 0, 0, 100)]  # it begins at 40
    options = {"kafka.bootstrap.servers": topics.bootstrap}

    said = failure(lambda: records_rdd(spark.sparkContext, ranges, options).collect())

    assert "DataLossError" in said
    assert topics.name("del") in said


def test_a_range_of_a_topic_that_is_not_there_is_an_error_at_once(
    spark: SparkSession, topics: Topics
) -> None:
    options = {"kafka.bootstrap.servers": topics.bootstrap}

    with pytest.raises(UnknownTopicOrPartition, match=r"range no-such-0 0\.\.5"):
        records_rdd(spark.sparkContext, [OffsetRange("no-such", 0, 0, 5)], options)


def test_no_ranges_are_an_empty_rdd(spark: SparkSession, topics: Topics) -> None:
    options = {"kafka.bootstrap.servers": topics.bootstrap}

    assert records_rdd(spark.sparkContext, [], options).collect() == []
