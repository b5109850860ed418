"""Who writes and reads in the benchmark of the Spark connector, and how each is told to."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.functions import col, count, length
from pyspark.sql.functions import sum as total

from benchmarks import spark_ceiling, spark_sinks
from benchmarks.spark_ceiling import FETCH_BYTES, PARTITIONS
from benchmarks.spark_sinks import BATCH_BYTES, LINGER_MS

TUNED_WRITE = {"kafka.linger.ms": str(LINGER_MS), "kafka.batch.size": str(BATCH_BYTES)}
TUNED_READ = {
    "kafka.max.poll.records": "20000",
    "kafka.max.partition.fetch.bytes": str(FETCH_BYTES),
}

SHORT_WAIT = {"kafka.fetch.max.wait.ms": "10"}
"""With this the JVM connector reads a topic of this size more than twice as fast as with 500 ms,
with the same CPU: so the rest was waiting, at the ends of its ranges as it seems. It is the peer at
its best; the goal names the settings of the other."""


@dataclass(frozen=True)
class Place:
    """A topic on a cluster."""

    bootstrap: str
    topic: str
    ends: Sequence[int] = ()
    """How many records each of its partitions has, where it is read."""

    @property
    def rows(self) -> int:
        return sum(self.ends)


Write = Callable[[DataFrame, Place], None]
Read = Callable[[SparkSession, Place], DataFrame]


@dataclass(frozen=True)
class Writer:
    """Writes all rows of a DataFrame to a topic."""

    name: str
    write: Write = field(repr=False)
    drops: bool = False
    """Whether nothing is there afterwards."""


@dataclass(frozen=True)
class Reader:
    """Reads a topic from the beginning to the end."""

    name: str
    read: Read = field(repr=False)


def to_format(name: str, **options: str) -> Write:
    """A sink of Spark's, by its name."""

    def write(rows: DataFrame, place: Place) -> None:
        where = {"kafka.bootstrap.servers": place.bootstrap, "bootstrap": place.bootstrap}
        sink = rows.write.format(name).options(**where, **options).option("topic", place.topic)
        sink.mode("append").save()

    return write


def to_partitions(sink: Callable[[str, str], Callable[[spark_sinks.Rows], None]]) -> Write:
    """A function for each partition."""

    def write(rows: DataFrame, place: Place) -> None:
        rows.foreachPartition(sink(place.bootstrap, place.topic))

    return write


def from_kafka(name: str, **options: str) -> Read:
    """A source of Spark's for Kafka, by its name."""

    def read(spark: SparkSession, place: Place) -> DataFrame:
        source = spark.read.format(name).option("kafka.bootstrap.servers", place.bootstrap)
        return source.options(**options).option("subscribe", place.topic).load()

    return read


def generated(spark: SparkSession, place: Place) -> DataFrame:
    return rows_of(spark, place.rows, PARTITIONS)


def rows_of(spark: SparkSession, rows: int, partitions: int) -> DataFrame:
    source = spark.read.format("bench_generated").options(rows=rows, partitions=partitions)
    return source.load()


def fetched(spark: SparkSession, place: Place) -> DataFrame:
    ends = ",".join(map(str, place.ends))
    source = spark.read.format("bench_fetched").options(topic=place.topic, ends=ends)
    return source.option("bootstrap", place.bootstrap).load()


def use(rows: DataFrame) -> tuple[int, int]:
    """How many rows there are, and how many bytes their values have together."""
    found = rows.select(count("*"), total(length(col("value")))).first()
    assert found is not None
    return found[0], found[1] or 0


def register(spark: SparkSession) -> None:
    """Make the data sources of the benchmark known."""
    for source in spark_ceiling.SOURCES:
        spark.dataSource.register(source)


OURS, OURS_DEFAULT = "kafka_aio", "kafka_aio, defaults"
JVM, JVM_DEFAULT = "JVM connector", "JVM connector, defaults"
JVM_SHORT = "JVM connector, short waits"
AIOKAFKA, CONFLUENT = "foreachPartition, aiokafka", "foreachPartition, confluent-kafka"
DROPPED, ENCODED = "ceiling: batches dropped", "ceiling: requests encoded beforehand"
GENERATED, FETCHED = "ceiling: generated columns", "ceiling: fetches, canned columns"

WRITERS = (
    Writer(OURS, to_format("kafka_aio", **TUNED_WRITE)),
    Writer(OURS_DEFAULT, to_format("kafka_aio")),
    Writer(JVM, to_format("kafka", **TUNED_WRITE)),
    Writer(JVM_DEFAULT, to_format("kafka")),
    Writer(CONFLUENT, to_partitions(spark_sinks.with_confluent_kafka)),
    Writer(AIOKAFKA, to_partitions(spark_sinks.with_aiokafka)),
    Writer(DROPPED, to_format("bench_drop"), drops=True),
    Writer(ENCODED, to_format("bench_encoded")),
)
READERS = (
    Reader(OURS, from_kafka("kafka_aio", **TUNED_READ)),
    Reader(OURS_DEFAULT, from_kafka("kafka_aio")),
    Reader(JVM, from_kafka("kafka", **TUNED_READ)),
    Reader(JVM_SHORT, from_kafka("kafka", **TUNED_READ, **SHORT_WAIT)),
    Reader(JVM_DEFAULT, from_kafka("kafka")),
    Reader(GENERATED, generated),
    Reader(FETCHED, fetched),
)
