from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator

import pytest

pytest.importorskip("pyarrow")
pytest.importorskip("pyspark")

from kafka_aio.broker import BrokerThread
from spark_connector import foreach_partition

PROGRAM = """
import asyncio, gc, sys
from importlib.machinery import ModuleSpec

import pyarrow
from pyspark.sql.types import StringType, StructField, StructType
from spark_connector import KafkaSource, OffsetRange, foreach_partition, map_partitions
from spark_connector.options import ReadOptions, WriteOptions
from spark_connector.ranges import read_range
from spark_connector.rdd import _Reading
from spark_connector.workers import settle
from spark_connector.writer import PartitionWrite

_, main, bootstrap = sys.argv
sys.modules["__main__"].__spec__ = ModuleSpec(main, None)  # as `python -m` has it
schema = StructType([StructField("value", StringType())])
batch = pyarrow.record_batch({"value": ["a"]})
place = {"kafka.bootstrap.servers": bootstrap}
options = {**place, "topic": "t", "subscribe": "t"}
to_write, to_read = WriteOptions.parse(options), ReadOptions.parse(options)
source = KafkaSource(options)

class Garbage:
    collected = 0
    def __init__(self): self.myself = self
    def __del__(self): Garbage.collected += 1

gc.disable()  # by itself it would collect at any time
Garbage()
ACT
once = gc.get_freeze_count()
later = [[] for _ in range(1000)]
settle()
print(once, gc.get_freeze_count() <= once, Garbage.collected)  # some end meanwhile
"""
ACTS = {
    "a write is planned": "source.writer(schema, False)",
    "a write of a stream is planned": "source.streamWriter(schema, False)",
    "rows are written": "PartitionWrite(to_write, ('value',)).run(iter([batch]))",
    "a read is planned": "source.reader(source.schema()).partitions()",
    "rows are read": "list(read_range(OffsetRange('t', 0, 0, 1), to_read))",
}
FUNCTIONS = {
    "a sink": "foreach_partition(place, topic='t')([b'a'])",
    "a mapping": "list(map_partitions(asyncio.sleep)([0]))",
    "a source": "list(_Reading(options, False)([OffsetRange('t', 0, 0, 1)]))",
}


def told(act: str, *, main: str = "pyspark.daemon", bootstrap: str = "") -> tuple[int, bool, int]:
    """Objects that are passed over, whether a second call has changed that, garbage collected."""
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM.replace("ACT", act), main, bootstrap or "localhost:1"],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    frozen, is_same, collected = done.stdout.split()
    return int(frozen), is_same == "True", int(collected)


def test_what_a_worker_has_loaded_is_passed_over_by_its_collections_but_no_garbage() -> None:
    frozen, is_same, collected = told("settle()")

    assert frozen > 10_000
    assert is_same  # what comes later is collected as ever
    assert collected == 1


@pytest.mark.parametrize("main", ["__main__", "users.program", "pyspark.worker"])
def test_a_process_that_is_not_of_sparks_daemon_is_left_alone(main: str) -> None:
    assert told("settle()", main=main) == (0, True, 0)


@pytest.fixture(scope="module")
def bootstrap() -> Iterator[str]:
    """A broker with a record in a topic `t`."""
    with BrokerThread(topics={"t": 1}) as broker:
        where = {"kafka.bootstrap.servers": broker.bootstrap_servers}
        foreach_partition(where, topic="t", fresh_loop=True)([b"first"])
        yield broker.bootstrap_servers


@pytest.mark.parametrize("act", ACTS)
def test_who_works_for_the_data_source_is_settled_when(act: str, bootstrap: str) -> None:
    frozen, is_same, collected = told(ACTS[act], bootstrap=bootstrap)

    assert frozen > 10_000
    assert is_same
    assert collected == 1


@pytest.mark.parametrize("act", FUNCTIONS)
def test_functions_for_rdds_freeze_nothing_as_the_user_may_hold_what_goes_later(
    act: str, bootstrap: str
) -> None:
    frozen, _, _ = told(FUNCTIONS[act], bootstrap=bootstrap)

    assert frozen == 0
