"""The four kinds on Spark Connect, where a frame knows Spark by its protocol only."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.spark import clusters
from tests.spark.clusters import Place
from tests.spark.programs.on_connect import ROWS
from tests.spark.topics import Topics

EXPECTED = [[f"key-{n}", None if n % 10 == 0 else f"value-{n}", str(n)] for n in range(ROWS)]


@pytest.fixture(autouse=True)
def _with_spark(spark_here: None) -> None:
    """Skipped where Spark cannot be had."""


@pytest.mark.spark_long
@pytest.mark.timeout(clusters.RUN_SECONDS + 120)
def test_the_four_kinds_on_spark_connect(topics: Topics, tmp_path: Path) -> None:
    found = read_by_a_program(topics, tmp_path)

    assert sorted(found, key=str) == sorted(EXPECTED, key=str)


def read_by_a_program(topics: Topics, folder: Path) -> list[list[str | None]]:
    """What a program in a process of its own has read that it has written, through two topics."""
    for short in ("connect-1", "connect-2"):
        topics.create(short, 2)
    names = (topics.name("connect-1"), topics.name("connect-2"))
    program = "tests.spark.programs.on_connect"
    printed = clusters.run(Place(), program, str(folder / "spark"), topics.bootstrap, *names)
    found: list[list[str | None]] = json.loads(printed.splitlines()[-1])
    return found
