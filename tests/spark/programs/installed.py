"""Writes and reads by an installed kafka_aio, and says where tasks have it from.

It is given to spark-submit, in an environment without the checkout: it imports none of it.
"""

from __future__ import annotations

import json
import re
import sys

from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

ROWS = 200


def written_and_read(spark: SparkSession, kafka: dict[str, str], topic: str) -> list[str]:
    """A batch each way."""
    rows = spark.range(0, ROWS, numPartitions=2).selectExpr("string(id) AS value")
    rows.write.format("kafka_aio").options(**kafka, topic=topic).mode("append").save()
    reader = spark.read.format("kafka_aio").options(**kafka, subscribe=topic)
    return [row[0] for row in reader.load().selectExpr("string(value)").collect()]


def streamed(spark: SparkSession, kafka: dict[str, str], topic: str, checkpoint: str) -> None:
    """What is in the topic, to the topic: once more, in reverse."""
    from spark_connector import write_batch

    reader = spark.readStream.format("kafka_aio").options(**kafka, subscribe=topic)
    rows = reader.option("startingOffsets", "earliest").load()
    writer = rows.selectExpr("reverse(string(value)) AS value").writeStream
    writer = writer.foreachBatch(write_batch({**kafka, "topic": topic}))
    query = writer.option("checkpointLocation", checkpoint).trigger(availableNow=True).start()
    query.awaitTermination()


def home_of_tasks(spark: SparkSession, kafka: dict[str, str], topic: str) -> str:
    """The file of the writer that a task has run, from the error of one that fails."""
    row = spark.sql("SELECT 'one' AS value, 9 AS partition")
    try:
        row.write.format("kafka_aio").options(**kafka, topic=topic).mode("append").save()
    except PySparkException as error:
        files: list[str] = re.findall(r'File "(.*/spark_connector/writer\.py)"', str(error))
        return files[0]
    return "a partition 9 of 2 was written"


def is_compiled(_: int) -> bool:
    """On an executor."""
    import kafka_aio

    return kafka_aio.codec_info().compiled


def main() -> None:
    told = json.loads(sys.argv[1])
    kafka, topic = told["kafka"], told["topic"]
    spark = SparkSession.builder.getOrCreate()
    values = written_and_read(spark, kafka, topic)
    streamed(spark, kafka, topic, told["checkpoint"])
    home = home_of_tasks(spark, {**kafka, "kafka.max.block.ms": "500"}, topic)
    compiled = spark.sparkContext.parallelize(range(4), 4).map(is_compiled).collect()
    print(json.dumps({"values": values, "home": home, "compiled": all(compiled)}))
    spark.stop()


if __name__ == "__main__":
    main()
