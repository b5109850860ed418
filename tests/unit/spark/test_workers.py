from __future__ import annotations

import subprocess
import sys

import pytest

pytest.importorskip("pyspark")

PROGRAM = """
import gc, sys
from importlib.machinery import ModuleSpec
from pyspark.sql.types import StringType, StructField, StructType
from spark_connector import KafkaSource
from spark_connector.workers import settle

if sys.argv[1] != "no worker":
    sys.modules["__main__"].__spec__ = ModuleSpec(sys.argv[1], None)  # as `python -m` has it

class Garbage:
    collected = 0
    def __init__(self): self.myself = self
    def __del__(self): Garbage.collected += 1

gc.disable()  # by itself it would collect at any time
Garbage()
{act}
once = gc.get_freeze_count()
later = [[] for _ in range(1000)]
settle()
print(once, gc.get_freeze_count() == once, Garbage.collected)
"""
PLAN_A_WRITE = """
options = {"kafka.bootstrap.servers": "localhost:1", "topic": "t"}
schema = StructType([StructField("value", StringType())])
source = KafkaSource(options)
source.writer(schema, False) if sys.argv[2] == "batch" else source.streamWriter(schema, False)
"""


def told(act: str, *arguments: str) -> tuple[int, bool, int]:
    """Objects that are passed over, whether a second call has changed that, garbage collected."""
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM.format(act=act), *arguments],
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    frozen, is_same, collected = done.stdout.split()
    return int(frozen), is_same == "True", int(collected)


def test_what_a_worker_has_loaded_is_passed_over_by_its_collections_but_no_garbage() -> None:
    frozen, is_same, collected = told("settle()", "pyspark.daemon")

    assert frozen > 10_000
    assert is_same  # what comes later is collected as ever
    assert collected == 1


@pytest.mark.parametrize("main", ["no worker", "users.program", "pyspark.worker"])
def test_a_process_that_is_not_of_sparks_daemon_is_left_alone(main: str) -> None:
    assert told("settle()", main) == (0, True, 0)


@pytest.mark.parametrize("kind", ["batch", "stream"])
def test_who_plans_a_write_is_settled_too(kind: str) -> None:
    frozen, _, _ = told(PLAN_A_WRITE, "pyspark.daemon", kind)

    assert frozen > 10_000
