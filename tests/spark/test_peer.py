"""Ours beside Spark's own connector, in one session: what the one writes, the other reads."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.spark.conftest import PEER
from tests.spark.topics import Topics

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

pytestmark = pytest.mark.spark_peer

OURS, THEIRS = "kafka_aio", "kafka"
SECONDS = 60

# Nothing, empty and something, in every column that may have it.
HEADER = "named_struct('key', '{}', 'value', {})"
FRAME = f"""
    select binary('k') key, binary('v') value, 0 partition,
           array({HEADER.format("x", "X'31'")}, {HEADER.format("x", "X'32'")},
                 {HEADER.format("n", "binary(null)")}, {HEADER.format("", "X''")}) headers
    union all select null, null, 1, null
    union all select X'', X'', 1, array()
    union all select X'00ff', binary(repeat('long', 10000)), 0, array({HEADER.format("ü€", "X'f'")})
    union all select binary('by its key'), binary('v'), null, null
"""
ROWS = [
    (0, b"k", b"v", [("x", b"1"), ("x", b"2"), ("n", None), ("", b"")]),
    (1, None, None, None),
    (1, b"", b"", None),
    (0, b"\x00\xff", b"long" * 10_000, [("ü€", b"\x0f")]),
    (1, b"by its key", b"v", None),
]


@pytest.fixture(autouse=True)
def _with_their_jars(peer: bool) -> None:
    if not peer:
        pytest.skip(f"needs the jars of Spark's own connector: make test-spark-peer sets {PEER}")


@pytest.mark.parametrize("codec", ["none", "gzip", "snappy", "lz4", "zstd"])
@pytest.mark.parametrize("writer", [OURS, THEIRS])
def test_both_read_the_same_of_what_either_has_written(
    writer: str, codec: str, spark: SparkSession, topics: Topics
) -> None:
    short = f"peer-{writer}-{codec}".replace("_", "-")
    topics.create(short, 2)
    into = {"kafka.bootstrap.servers": topics.bootstrap, "topic": topics.name(short)}
    sink = spark.sql(FRAME).write.format(writer).options(**into)
    sink.option("kafka.compression.type", codec).mode("append").save()

    ours, theirs = (rows(spark, reader, topics, short) for reader in (OURS, THEIRS))

    assert ours == theirs
    assert sorted(map(content, ours), key=repr) == sorted(ROWS, key=repr)


@pytest.mark.parametrize(("reader", "writer"), [(OURS, THEIRS), (THEIRS, OURS)])
def test_a_stream_goes_from_the_one_to_the_other(
    reader: str, writer: str, spark: SparkSession, topics: Topics, tmp_path: Path
) -> None:
    short = f"peer-stream-{writer}".replace("_", "-")
    topics.create(short, 2)
    frame = stream(spark, reader, topics, "h", includeHeaders="true")
    sink: Any = frame.select("key", "value", "headers").writeStream.format(writer)
    into = {"kafka.bootstrap.servers": topics.bootstrap, "topic": topics.name(short)}
    sink = sink.options(**into, checkpointLocation=str(tmp_path / "checkpoint"))
    query = sink.trigger(availableNow=True).start()
    assert query.awaitTermination(SECONDS)

    found = [(s.key, s.value, s.headers) for s in topics.read(short)]

    written = [(s.key, s.value, s.headers) for s in topics.read("h")]
    assert sorted(found, key=repr) == sorted(written, key=repr)


@pytest.mark.parametrize(("first", "second"), [(OURS, THEIRS), (THEIRS, OURS)])
def test_the_one_goes_on_with_the_offsets_of_the_other(
    first: str, second: str, spark: SparkSession, topics: Topics, tmp_path: Path
) -> None:
    short = f"peer-offsets-{first}".replace("_", "-")
    topics.create(short, 2)
    topics.produce(short, {0: 3, 1: 4})
    run(stream(spark, first, topics, short), tmp_path / "first")
    topics.produce(short, {0: 2, 1: 1}, first=4)

    ends = (tmp_path / "first" / "offsets" / "0").read_text().splitlines()[-1]
    found = run(stream(spark, second, topics, short, startingOffsets=ends), tmp_path / "second")

    assert json.loads(ends) == {topics.name(short): {"0": 3, "1": 4}}
    assert sorted(found) == [(0, 3), (0, 4), (1, 4)]


def rows(spark: SparkSession, reader: str, topics: Topics, short: str) -> list[tuple[Any, ...]]:
    """All columns of all rows, by partition and offset."""
    source = {"kafka.bootstrap.servers": topics.bootstrap, "subscribe": topics.name(short)}
    frame = spark.read.format(reader).options(**source, includeHeaders="true").load()
    return [tuple(row) for row in frame.orderBy("partition", "offset").collect()]


def content(row: tuple[Any, ...]) -> tuple[int, bytes | None, bytes | None, Any]:
    key, value, _topic, partition, *_, headers = row
    return partition, key, value, headers and [tuple(header) for header in headers]


def stream(spark: SparkSession, reader: str, topics: Topics, short: str, **more: str) -> DataFrame:
    source = {"kafka.bootstrap.servers": topics.bootstrap, "subscribe": topics.name(short)}
    return (
        spark.readStream.format(reader)
        .options(**{"startingOffsets": "earliest", **source, **more})
        .load()
    )


def run(frame: DataFrame, checkpoint: Path) -> list[tuple[int, int]]:
    """Partition and offset of all that is there now."""
    found: list[tuple[int, int]] = []

    def keep(batch: DataFrame, number: int) -> None:
        found.extend((row[0], row[1]) for row in batch.select("partition", "offset").collect())

    sink: Any = frame.writeStream.foreachBatch(keep)
    sink = sink.option("checkpointLocation", str(checkpoint))
    assert sink.trigger(availableNow=True).start().awaitTermination(SECONDS)
    return found
