"""Writes and reads two topics by Spark Connect, in batches and in streams; prints what came.

`python -m tests.spark.programs.on_connect FOLDER BOOTSTRAP FIRST SECOND`
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tests.spark import sessions

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

FORMAT = "kafka_aio"
ROWS = 100
FRAME = """
    select 'key-' || id key, if(id % 10 = 0, null, 'value-' || id) value,
           array(named_struct('key', 'id', 'value', cast(cast(id as string) as binary))) headers
    from range({rows})
"""


def main(folder: Path, bootstrap: str, first: str, second: str) -> None:
    servers = {"kafka.bootstrap.servers": bootstrap}
    with connected(folder) as spark:
        frame = spark.sql(FRAME.format(rows=ROWS)).repartition(3)
        frame.write.format(FORMAT).options(**servers, topic=first).mode("append").save()

        source = servers | {"includeHeaders": "true", "startingOffsets": "earliest"}
        stream = spark.readStream.format(FORMAT).options(**source, subscribe=first).load()
        sink: Any = stream.select("key", "value", "headers").writeStream.format(FORMAT)
        sink = sink.options(**servers, topic=second, checkpointLocation=str(folder / "checkpoint"))
        query = sink.trigger(availableNow=True).start()
        assert query.awaitTermination(60), "the stream goes on"

        read = spark.read.format(FORMAT).options(**source, subscribe=second).load()
        rows = read.selectExpr(
            "cast(key as string)", "cast(value as string)", "cast(headers[0].value as string)"
        ).collect()
        print(json.dumps([tuple(row) for row in rows]))


@contextmanager
def connected(folder: Path) -> Iterator[SparkSession]:
    """A session that talks to a server, which is started here too."""
    from pyspark.sql import SparkSession

    os.environ["SPARK_TESTING"] = "1"  # its server listens where nobody else does
    builder = SparkSession.builder.remote("local[2]")
    for name, value in sessions.settings(folder).items():
        builder = builder.config(name, value)
    session = builder.getOrCreate()
    try:
        yield session
    finally:
        session.stop()


if __name__ == "__main__":
    main(Path(sys.argv[1]), *sys.argv[2:])
