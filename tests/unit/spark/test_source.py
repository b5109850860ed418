"""The source itself: which Spark it is for."""

from __future__ import annotations

import subprocess
import sys

import pytest

pytest.importorskip("pyspark")

import pyspark

from spark_connector import foreach_partition, map_partitions, records_rdd, register, write_batch
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


def test_options_of_write_batch_that_are_none_are_not_given() -> None:
    given: dict[str, str] = {}
    frame = Frame(given)

    write_batch({"topic": None, "Kafka.Acks": -1, "useTimestampColumn": True})(frame, 0)  # type: ignore[arg-type]  # all that it asks of one

    assert given == {"kafka.acks": "-1", "usetimestampcolumn": "true"}


def test_options_of_write_batch_that_are_no_options_are_refused() -> None:
    with pytest.raises(TypeError, match="options are a mapping of names to values, not list"):
        write_batch([("topic", "t")])  # type: ignore[arg-type]  # that is what is tried
    with pytest.raises(TypeError, match="the name of an option is a str, not 1"):
        write_batch({1: "t"})  # type: ignore[dict-item]  # as above


class Frame:
    """A frame, and its writer: keeps the options."""

    def __init__(self, given: dict[str, str]) -> None:
        self._given = given
        self.write = self

    def format(self, _: str) -> Frame:
        return self

    def options(self, **given: str) -> Frame:
        self._given.update(given)
        return self

    def mode(self, _: str) -> Frame:
        return self

    def save(self) -> None:
        pass


def test_a_spark_without_python_sources_is_told_so_by_the_import() -> None:
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT_SOURCES], capture_output=True, text=True, check=False
    )

    assert "ImportError: spark_connector needs pyspark 4.2 or newer" in done.stderr
    assert "this is 3.5.9" in done.stderr
