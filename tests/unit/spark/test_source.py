"""The source itself: which Spark it is for."""

from __future__ import annotations

import subprocess
import sys

import pytest

pytest.importorskip("pyspark")

import pyspark

from spark_connector import foreach_partition, map_partitions, records_rdd, register
from spark_connector.source import KafkaSource

WITHOUT_SOURCES = """
import sys

import pyspark

pyspark.__version__ = "3.5.9"
sys.modules["pyspark.sql.datasource"] = None  # cannot be imported
import pyspark_kafka_aio

assert not hasattr(pyspark_kafka_aio, "DefaultSource")
from spark_connector import register
"""


@pytest.mark.parametrize("version", ["4.1.4", "4.0.5"])
def test_a_spark_that_is_too_old_is_told_so_by_every_call(
    version: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pyspark, "__version__", version)
    source = KafkaSource({})

    for call in (
        source.schema,
        lambda: source.reader(None),  # type: ignore[arg-type]  # it does not come so far
        lambda: source.streamReader(None),  # type: ignore[arg-type]  # as above
        lambda: source.writer(None, False),  # type: ignore[arg-type]  # as above
        lambda: source.streamWriter(None, False),  # type: ignore[arg-type]  # as above
        lambda: register(None),  # type: ignore[arg-type]  # as above
        lambda: foreach_partition({}),
        lambda: map_partitions(print),  # type: ignore[arg-type]  # as above
        lambda: records_rdd(None, [], {}),  # type: ignore[arg-type]  # as above
    ):
        with pytest.raises(ImportError, match=f"needs pyspark 4.2 or newer, and this is {version}"):
            call()


def test_a_spark_without_python_sources_is_told_so_by_the_import() -> None:
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT_SOURCES], capture_output=True, text=True, check=False
    )

    assert "ImportError: spark_connector needs pyspark 4.2 or newer" in done.stderr
    assert "this is 3.5.9" in done.stderr
