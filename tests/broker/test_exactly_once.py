"""`examples/exactly_once.py` on real Kafka: killed and stopped, its sums stay right."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.embedded.adding import DATABASES, Shop, kill_some, stop_one
from tests.kafka.cluster import Cluster

pytestmark = [
    pytest.mark.kafka,
    pytest.mark.timeout(240),
    pytest.mark.skipif(sys.platform == "win32", reason="signals of Unix"),
    pytest.mark.usefixtures("_ours"),  # members that are silent are dead sooner than usual
]


@pytest.fixture(params=list(DATABASES))
def shop(request: pytest.FixtureRequest, kafka: Cluster, tmp_path: Path) -> Iterator[Shop]:
    with DATABASES[request.param](tmp_path) as database:
        topic = f"orders-{tmp_path.name}"
        opened = Shop(kafka.bootstrap, topic, database, tmp_path)
        try:
            yield opened
        finally:
            opened.close()


def test_members_that_are_killed_count_each_order_once(shop: Shop) -> None:
    kill_some(shop, kills=4, seed=3)


def test_a_member_that_was_stopped_rolls_back_what_is_another_s(shop: Shop) -> None:
    stop_one(shop, batches=2, seed=4)
