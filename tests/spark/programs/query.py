"""Two queries over one topic, which go on until they are killed: to a journal, and to a topic."""

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
        register(spark)  # else they may not begin at the same time
        sink = {**told.kafka, "topic": told.target}
        values = reading(spark, told).select("value")
        with (
            running(
                reading(spark, told),
                told.file("checkpoint-journal"),
                Journal(told.file("journal")),
            ),
            running(values, told.file("checkpoint-topic"), sink),
        ):
            spark.streams.awaitAnyTermination()


def reading(spark: SparkSession, told: Told) -> DataFrame:
    servers = told.kafka["kafka.bootstrap.servers"]
    return stream(spark, servers, told.source, maxOffsetsPerTrigger=IN_A_BATCH)


if __name__ == "__main__":
    main()
