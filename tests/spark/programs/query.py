"""Two queries over one topic, which go on until they are killed: to a journal, and to a topic.

Each has a session of its own. Of two queries in one session, one was seen to fail in two runs of
four, frames of their own or not: "Task not serializable: Illegal size 5 of collection, expected 6",
in Spark's JVM, at the first batch of the other.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from spark_connector import register
from tests.spark import clusters
from tests.spark.programs.told import Told
from tests.spark.queries import Journal, running, stream

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

IN_A_BATCH = 40


def main() -> None:
    told = Told.read()
    with clusters.session(told.file("session")) as spark:
        sink = {**told.kafka, "topic": told.target}
        other = spark.newSession()
        register(other)
        values = reading(other, told).select("value")
        with (
            running(
                reading(spark, told),
                told.file("checkpoint-journal"),
                Journal(told.file("journal")),
            ),
            running(values, told.file("checkpoint-topic"), sink),
        ):
            while not spark.streams.awaitAnyTermination(1):
                assert other.streams.active, "the query to the topic has ended"


def reading(spark: SparkSession, told: Told) -> DataFrame:
    servers = told.kafka["kafka.bootstrap.servers"]
    return stream(spark, servers, told.source, maxOffsetsPerTrigger=IN_A_BATCH)


if __name__ == "__main__":
    main()
