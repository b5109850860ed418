"""How `kafka-aio consume` ends while nothing comes: in a process of its own."""

from __future__ import annotations

import sys
from collections.abc import Iterator

import pytest

from kafka_aio.broker import BrokerThread
from tests.embedded.running import PATIENCE, Running

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="signals and pipes of Unix")


@pytest.fixture
def broker() -> Iterator[BrokerThread]:
    with BrokerThread(topics={"t": 1}) as started:
        started.produce("t", [b"one"])
        yield started


def test_who_has_seen_enough_ends_it_although_no_more_records_come(broker: BrokerThread) -> None:
    with Running(broker, "consume", "t", "--from", "beginning") as consume:
        line = consume.stdout.readline()
        consume.stdout.close()
        code = consume.process.wait(timeout=PATIENCE)
        consume.process.stdout = None

    assert (line, code) == (b"one\n", 141)
