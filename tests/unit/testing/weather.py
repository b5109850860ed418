"""Our client and three brokers in bad weather: connections are cut, cables break, servers refuse.

As a program it prints the story of a seed: `python -m tests.unit.testing.weather 7`.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from kafka_aio.config import AdminConfig
from kafka_aio.errors import KafkaError
from kafka_aio.net.cluster import Cluster
from kafka_aio.net.tasks import Tasks
from kafka_aio.protocol.messages.groups import HeartbeatRequest, HeartbeatResponse
from kafka_aio.testing import Network, VirtualLoop
from tests.net.clusters import scripted
from tests.net.server import says

BEAT = HeartbeatRequest(group_id="g", generation_id=1, member_id="m")
SECONDS = 1_200.0


def loop() -> VirtualLoop:
    return VirtualLoop.running()


def network() -> Network:
    return loop().network


@asynccontextmanager
async def joined(bootstrap: str, **options: Any) -> AsyncIterator[Cluster]:
    """A cluster with Kafka's own time-outs, and the loop's random numbers."""
    config = AdminConfig.from_options({"bootstrap_servers": bootstrap, **options})
    tasks = Tasks("test")
    await tasks.start()
    try:
        cluster = Cluster(config, tasks, rng=loop().rng)
        await cluster.start()
        yield cluster
    finally:
        await tasks.aclose()


async def ask(cluster: Cluster, number: int, until: float, outcomes: list[str]) -> None:
    while loop().time() < until:
        await asyncio.sleep(loop().rng.uniform(0, 20))
        try:
            await cluster.send(loop().rng.randint(1, 3), BEAT)
        except KafkaError as error:
            outcomes.append(f"request {number} {type(error).__name__}")
        else:
            outcomes.append(f"request {number} answered")


async def rage(ports: list[int], until: float) -> None:
    while loop().time() < until:
        await asyncio.sleep(loop().rng.uniform(0, 120))
        port = loop().rng.choice(ports)
        kind = loop().rng.choice(["cut", "cut_after", "black_hole", "refuse"])
        if kind == "cut":
            network().cut(port)
        elif kind == "cut_after":
            network().cut_after((1, 500), port, times=1)
        else:
            with getattr(network(), kind)(port):
                network().cut(port)
                await asyncio.sleep(loop().rng.uniform(0, 90))


async def weather() -> list[str]:
    """How the requests of twenty minutes went."""
    outcomes: list[str] = []
    async with scripted(3) as script:
        script.react(HeartbeatRequest, says(HeartbeatResponse(error_code=0)))
        async with joined(script.bootstrap()) as cluster:
            until = loop().time() + SECONDS
            async with asyncio.TaskGroup() as group:
                for number in range(5):
                    group.create_task(ask(cluster, number, until, outcomes))
                group.create_task(rage([*script.ports.values()], until))
        network().heal()
    await asyncio.sleep(1)
    return outcomes


def story(seed: int) -> list[str]:
    """All that has happened."""
    with VirtualLoop(seed, trace=True) as loop:
        outcomes = loop.run_until_complete(weather())
        return [*outcomes, *(" ".join(map(str, event)) for event in loop.trace)]


if __name__ == "__main__":
    print(*story(int(sys.argv[1])), sep="\n")
