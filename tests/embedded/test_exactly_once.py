"""`examples/exactly_once.py` on the embedded broker: killed and stopped, its sums stay right."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from kafka_aio.broker import BrokerThread
from tests.embedded.adding import DATABASES, ROOT, Shop, kill_some, stop_one

pytestmark = [
    pytest.mark.timeout(240),
    pytest.mark.skipif(sys.platform == "win32", reason="signals of Unix"),
]

SEEDS = range(10) if os.environ.get("KAFKA_AIO_LONG") else range(2)


@pytest.fixture(params=list(DATABASES))
def shop(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Shop]:
    with DATABASES[request.param](tmp_path) as database, BrokerThread() as broker:
        opened = Shop(broker.bootstrap_servers, "orders", database, tmp_path)
        try:
            yield opened
        finally:
            opened.close()


@pytest.mark.parametrize("seed", SEEDS)
def test_members_that_are_killed_count_each_order_once(shop: Shop, seed: int) -> None:
    kill_some(shop, kills=4, seed=seed)


@pytest.mark.parametrize("batches", [1, 3], ids=["its first batch", "a later batch"])
def test_a_member_that_was_stopped_rolls_back_what_is_another_s(shop: Shop, batches: int) -> None:
    stop_one(shop, batches=batches, seed=batches)


def test_without_a_cluster_it_brings_its_own() -> None:
    done = subprocess.run(
        [sys.executable, str(ROOT / "examples/exactly_once.py"), "--produce", "500"],
        capture_output=True,
        text=True,
        timeout=50,
        check=True,
    )

    lines = done.stdout.splitlines()
    assert lines[0].removeprefix("sent: ") == lines[-1].removeprefix("sums: ")
    assert lines[0].startswith("sent: 500 orders, ")
    assert done.stderr == ""
