"""The blocks of the README that need Spark run as they stand, in the session of the tests."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.test_readme import BLOCKS, Block, line

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.mark.parametrize("block", [each for each in BLOCKS if each.is_for_spark], ids=line)
def test_the_block_runs(
    block: Block, spark: SparkSession, capsys: pytest.CaptureFixture[str]
) -> None:
    block.run()

    assert capsys.readouterr().out == "1000 999000\n"
