"""The blocks of the README that need a Kafka run as they stand, but for its address."""

from __future__ import annotations

import pytest

from tests.kafka.cluster import Cluster
from tests.test_readme import BLOCKS, Block, line


@pytest.mark.parametrize("block", [each for each in BLOCKS if each.is_for_kafka], ids=line)
def test_the_block_runs(block: Block, kafka: Cluster) -> None:
    assert kafka.nodes  # ours: it may delete topics, whatever their names
    block.run(kafka.bootstrap)
