"""What `register` does beside naming the source: streams may begin at once, threads may write."""

from __future__ import annotations

import uuid
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

pytest.importorskip("pyspark")

from spark_connector import register, write_batch
from tests.spark.queries import FORMAT, Journal, places, run, stream
from tests.spark.topics import Topics

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


def test_a_stream_of_a_registered_source_adds_nothing_to_what_streams_share(
    spark: SparkSession, topics: Topics, tmp_path: Path
) -> None:
    topic, journal = f"register-{uuid.uuid4().hex[:8]}", Journal(tmp_path / "journal")
    topics.create(topic, 1)
    topics.produce(topic, {0: 3})
    session = spark.newSession()
    register(session)
    before = environment(session)

    run(stream(session, topics.bootstrap, topics.name(topic)), tmp_path / "checkpoint", journal)

    after = environment(session)
    assert journal.kept() == places({0: 3})
    assert after != before  # so this is the map that streams write to
    assert after.keys() == before.keys()


def test_the_session_that_is_active_stays_so(spark: SparkSession) -> None:
    sessions: Any = spark._get_j_spark_session_class(spark._jvm)
    sessions.setActiveSession(spark._jsparkSession)

    register(spark.newSession())

    assert sessions.getActiveSession().get().equals(spark._jsparkSession)


def test_a_thread_of_the_users_writes_after_register(
    spark: SparkSession, topics: Topics, tmp_path: Path
) -> None:
    short = f"register-{uuid.uuid4().hex[:8]}"
    topics.create(short, 1)
    options = {"kafka.bootstrap.servers": topics.bootstrap, "topic": topics.name(short)}

    def write(text: str) -> None:
        register(spark)
        frame = spark.sql(f"SELECT '{text}' AS value")
        frame.write.format(FORMAT).options(**options).mode("append").save()

    def begin(text: str) -> None:
        register(spark)
        frame = spark.readStream.format("rate-micro-batch").option("rowsPerBatch", 1).load()
        values = frame.selectExpr(f"'{text}' AS value").writeStream.format(FORMAT)
        made = values.options(**options, checkpointLocation=str(tmp_path / text))
        made.trigger(once=True).start().awaitTermination(60)

    with ThreadPoolExecutor() as threads:
        for work in (
            threads.submit(write, "a batch"),
            threads.submit(begin, "a stream"),
            threads.submit(write_batch(options), spark.sql("SELECT 'by hand' AS value"), 0),
        ):
            work.result()

    found = {record.value for record in topics.read(short)}
    assert found == {b"a batch", b"a stream", b"by hand"}


def test_threads_write_what_a_batch_of_a_stream_has(
    spark: SparkSession, topics: Topics, tmp_path: Path
) -> None:
    shorts = [f"register-{uuid.uuid4().hex[:8]}" for _ in range(2)]
    for short in shorts:
        topics.create(short, 1)
    topics.produce(shorts[0], {0: 3})
    copies = write_batch(
        {"kafka.bootstrap.servers": topics.bootstrap, "topic": topics.name(shorts[1])}
    )

    def write_twice(frame: DataFrame, batch_id: int) -> None:
        with ThreadPoolExecutor() as threads:
            for done in [threads.submit(copies, frame, batch_id) for _ in range(2)]:
                done.result()

    values = stream(spark, topics.bootstrap, topics.name(shorts[0])).select("value")
    run(values, tmp_path / "checkpoint", write_twice)

    assert len(topics.read(shorts[1])) == 6


def environment(spark: SparkSession) -> dict[str, str]:
    """What Spark's JVM gives to the Python processes of the source, in this session."""
    state: Any = spark._jsparkSession.sessionState()
    return dict(state.dataSourceManager().lookupDataSource(FORMAT).dataSourceCls().envVars())
