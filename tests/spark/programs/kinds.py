"""Every way to write to Kafka and to read from it, on the session of a cluster."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TYPE_CHECKING

from kafka_aio import Record
from spark_connector import OffsetRange, foreach_partition, map_partitions, records_rdd
from tests.spark import clusters
from tests.spark.programs.told import Told, answer
from tests.spark.queries import FORMAT, Journal, run, stream

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

ROWS = 600


def write(spark: SparkSession, told: Told) -> None:
    """A batch to the source, in four tasks."""
    rows = spark.range(0, ROWS, numPartitions=4).selectExpr("string(id) AS key", "key AS value")
    writer = rows.write.format(FORMAT).options(**told.kafka, topic=told.source)
    writer.mode("append").save()


def read(spark: SparkSession, told: Told) -> list[str]:
    """The keys of a batch of the source."""
    reader = spark.read.format(FORMAT).options(**told.kafka, subscribe=told.source)
    return [row[0] for row in reader.load().selectExpr("string(key)").collect()]


def read_stream(spark: SparkSession, told: Told) -> list[tuple[int, int]]:
    """Where the records of the source are, which came in batches of a stream."""
    journal = Journal(told.file("journal"))
    run(_stream(spark, told), told.file("checkpoint-read"), journal)
    journal.check_tries()
    return journal.kept()


def write_stream(spark: SparkSession, told: Told) -> None:
    """From the source to the target."""
    sink = {**told.kafka, "topic": told.target}
    frame = _stream(spark, told).select("key", "value")
    run(frame, told.file("checkpoint-write"), sink)


def write_rdd(spark: SparkSession, told: Told) -> None:
    """To the target, other keys than those that the stream writes there."""
    keys = [str(number).encode() for number in range(ROWS, 2 * ROWS)]
    rows = spark.sparkContext.parallelize([(key, key) for key in keys], 4)
    rows.foreachPartition(foreach_partition(told.kafka, topic=told.target))


def read_rdd(spark: SparkSession, told: Told) -> list[str]:
    """The keys of the source, each by a call of an async function."""
    reader = spark.read.format(FORMAT).options(**told.kafka, subscribe=told.source)
    counts = reader.load().groupBy("partition").count().collect()
    ranges = [OffsetRange(told.source, row[0], 0, row[1]) for row in counts]
    records = records_rdd(spark.sparkContext, ranges, told.kafka)
    return records.mapPartitions(map_partitions(_key)).collect()


async def _key(record: Record) -> str:
    await asyncio.sleep(0)
    return (record.key or b"").decode()


def _stream(spark: SparkSession, told: Told) -> DataFrame:
    kafka = {name: value for name, value in told.kafka.items() if not name.endswith(".servers")}
    servers = told.kafka["kafka.bootstrap.servers"]
    return stream(spark, servers, told.source, maxOffsetsPerTrigger=ROWS // 2, **kafka)


WAYS: dict[str, Callable[[SparkSession, Told], object]] = {
    each.__name__: each for each in (write, read, read_stream, write_stream, write_rdd, read_rdd)
}


def main() -> None:
    told = Told.read()
    with clusters.session(told.file("session")) as spark:
        answer({way: WAYS[way](spark, told) for way in told.what})


if __name__ == "__main__":
    main()
