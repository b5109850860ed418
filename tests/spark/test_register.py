"""What `register` does beside naming the source: streams of a session may begin at once."""

from __future__ import annotations

import uuid
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

pytest.importorskip("pyspark")

from spark_connector import register
from tests.spark.queries import FORMAT, Journal, places, run, stream
from tests.spark.topics import Topics

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


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


def environment(spark: SparkSession) -> dict[str, str]:
    """What Spark's JVM gives to the Python processes of the source, in this session."""
    state: Any = spark._jsparkSession.sessionState()
    return dict(state.dataSourceManager().lookupDataSource(FORMAT).dataSourceCls().envVars())
