"""The same broker on a loop with virtual time and the network in memory."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from pathlib import Path

import pytest

from kafka_aio import Admin
from kafka_aio.broker import EmbeddedBroker
from kafka_aio.broker.connection import IDLE_SECONDS
from kafka_aio.errors import StateError
from kafka_aio.testing import VirtualLoop
from tests.embedded.client import VERSIONS, connected, fetch, produce

ROOT = Path(__file__).parents[2]


def test_a_long_poll_of_an_hour_takes_no_time() -> None:
    async def main() -> float:
        loop = asyncio.get_running_loop()
        async with EmbeddedBroker(topics={"t": 1}) as broker, connected(broker) as client:
            start = loop.time()
            client.send(fetch(max_wait_ms=3_600_000), version=12)
            async with asyncio.timeout(4000):
                await client.reader.readexactly(4)
            return loop.time() - start

    with VirtualLoop(seed=1) as loop:
        assert 3600 <= loop.run_until_complete(main()) < 3601


def test_who_says_nothing_for_ten_minutes_is_let_go() -> None:
    async def main() -> float:
        loop = asyncio.get_running_loop()
        async with EmbeddedBroker() as broker, connected(broker) as client:
            await client.ask(VERSIONS)
            start = loop.time()
            assert await client.reader.read() == b""
            return loop.time() - start

    with VirtualLoop(seed=1) as loop:
        assert IDLE_SECONDS - 1 < loop.run_until_complete(main()) < IDLE_SECONDS + 1


def test_records_are_stamped_with_the_time_of_the_loop() -> None:
    async def main() -> list[int]:
        options = {"log.message.timestamp.type": "LogAppendTime"}
        async with EmbeddedBroker(topics={"t": 1}, options=options) as broker:
            broker.produce("t", ["a"])
            await asyncio.sleep(60)
            broker.produce("t", ["b"])
            return [record.timestamp for record in broker.records("t")]

    with VirtualLoop(seed=1, wall_start=1_000_000.0) as loop:
        first, second = loop.run_until_complete(main())

    assert 1_000_000_000 <= first < 1_000_001_000
    assert 59_999 <= second - first <= 60_100


@pytest.mark.parametrize("seed", range(5))
def test_frames_arrive_whole_however_the_network_cuts_them(seed: int) -> None:
    async def main() -> list[bytes | None]:
        async with EmbeddedBroker(topics={"t": 1}) as broker, connected(broker) as client:
            for number in range(50):
                client.send(produce(bytes([number]) * 700), version=12)
            for number in range(1, 51):
                assert await client.next_id() == number
            return [record.value for record in broker.records("t")]

    with VirtualLoop(seed=seed) as loop:
        loop.network.chunk = (1, 300)
        assert loop.run_until_complete(main()) == [bytes([number]) * 700 for number in range(50)]


TRACED = """
import asyncio
from kafka_aio.broker import EmbeddedBroker
from kafka_aio.testing import VirtualLoop
from tests.embedded.client import METADATA, VERSIONS, connected, fetch, produce

async def main():
    async with EmbeddedBroker(nodes=3, topics={"t": 1}, seed=SEED) as broker:
        broker.faults.delay("Metadata", 0.3, probability=0.3)
        broker.faults.disconnect("ApiVersions", when="after", probability=0.3)
        for turn in range(20):
            node = turn % 3 + 1
            async with connected(broker, 2) as first, connected(broker, 3) as second:
                first.send(produce(b"%d" % turn), version=12)
                second.send(fetch(turn, max_wait_ms=500), version=12)
                first.send(METADATA)
                second.send(VERSIONS)
                for client in (first, second):
                    try:
                        await client.frame()
                        await client.frame()
                    except (ConnectionError, asyncio.IncompleteReadError):
                        pass
            if node == 1:
                await broker.stop_node(node)
                await asyncio.sleep(2)
                await broker.start_node(node)

with VirtualLoop(seed=SEED, trace=True) as loop:
    loop.run_until_complete(main())
    for each in loop.trace:
        print(each)
"""


def trace(seed: int, hash_seed: str) -> str:
    program = TRACED.replace("SEED", str(seed))
    environment = {**os.environ, "PYTHONHASHSEED": hash_seed}
    ended = subprocess.run(
        [sys.executable, "-c", program],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
        timeout=50,
    )
    assert ended.returncode == 0, ended.stderr
    return ended.stdout


def test_the_same_seed_gives_the_same_trace_in_any_process() -> None:
    first = trace(1, "1")

    assert trace(1, "2") == first
    assert len(first.splitlines()) > 100
    assert trace(2, "1") != first


def test_our_clients_work_on_it() -> None:
    async def main() -> list[str]:
        async with (
            EmbeddedBroker(nodes=3, topics={"a": 1, "b": 2}) as broker,
            Admin(bootstrap_servers=broker.bootstrap_servers) as admin,
        ):
            await broker.stop_node(1)
            return [topic.name for topic in await admin.list_topics()]

    with VirtualLoop(seed=3) as loop:
        assert loop.run_until_complete(main()) == ["a", "b"]


def test_a_broker_belongs_to_its_loop() -> None:
    broker = EmbeddedBroker()
    with VirtualLoop() as loop:
        loop.run_until_complete(broker.start())
        loop.run_until_complete(broker.aclose())

    with VirtualLoop() as loop, pytest.raises(StateError, match="closed: make a new one"):
        loop.run_until_complete(broker.start())
