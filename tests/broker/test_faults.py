"""Three real nodes that are killed, paused and stopped in turn, under load."""

from __future__ import annotations

import asyncio
import itertools
import os
import random
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field

import pytest

from kafka_aio.config import AdminConfig
from kafka_aio.errors import KafkaConnectionError, KafkaError, KafkaTimeoutError
from kafka_aio.net.cluster import Cluster
from kafka_aio.net.tasks import Tasks
from kafka_aio.protocol.messages.api_versions import ApiVersionsRequest
from kafka_aio.protocol.messages.metadata import MetadataRequest
from kafka_aio.protocol.versions import Negotiation
from tests.kafka import cluster as kafka
from tests.kafka.node import Node

SECONDS = float(os.environ.get("KAFKA_AIO_FAULT_SECONDS", "45"))
CALLERS = 200
LEAST_REQUESTS = int(SECONDS * 110)
LEAST_FAULTS = int(SECONDS // 15)
REQUEST_TIMEOUT = 3.0
LATE = 0.25
"""What may be added to the end of a time-out, beside the longest stall of the loop itself."""
BACK_WITHIN = 2.0
DOWN_SECONDS = 4.0

# It takes as long as it takes: on one loop, unless somebody asks for both (`make test-faults`).
pytestmark = [] if "KAFKA_AIO_LOOP" in os.environ else [pytest.mark.loop("asyncio")]

HELLO = ApiVersionsRequest(client_software_name="faults", client_software_version="1")


@dataclass
class Report:
    """What became of the requests, and of the nodes."""

    answered: int = 0
    errors: Counter[str] = field(default_factory=Counter)
    slowest: float = 0.0
    stall: float = 0.0
    """The longest time that the loop was late for a timer: the machine is busy."""
    back_after: list[tuple[str, float]] = field(default_factory=list)

    @property
    def requests(self) -> int:
        return self.answered + self.errors.total()


async def call(cluster: Cluster, node: int | None, report: Report) -> None:
    loop = asyncio.get_running_loop()
    began_at = loop.time()
    try:
        if node is None:
            await cluster.send_any(MetadataRequest(topics=[]))
        else:
            await cluster.send(node, HELLO)
        report.answered += 1
    except (KafkaConnectionError, KafkaTimeoutError) as error:
        report.errors[type(error).__name__] += 1
    report.slowest = max(report.slowest, loop.time() - began_at)


async def measure_stalls(until: float, report: Report) -> None:
    loop = asyncio.get_running_loop()
    while loop.time() < until:
        due = loop.time() + 0.05
        await asyncio.sleep(0.05)
        report.stall = max(report.stall, loop.time() - due)


async def caller(cluster: Cluster, until: float, report: Report, rng: random.Random) -> None:
    """Ask one node after another, and sometimes any, evenly until the time is over."""
    loop = asyncio.get_running_loop()
    pause = SECONDS * CALLERS / LEAST_REQUESTS * 0.6
    await asyncio.sleep(rng.random() * pause)
    for node in itertools.cycle((1, None, 2, None, 3, None)):
        if loop.time() >= until:
            return
        next_at = loop.time() + pause
        await call(cluster, node, report)
        await asyncio.sleep(max(0.0, next_at - loop.time()))


async def wait_back(cluster: Cluster, node: Node, what: str, report: Report) -> None:
    """From the answer to a raw connection, how long until a request of ours is answered too."""
    await asyncio.to_thread(wait_raw, node)
    loop = asyncio.get_running_loop()
    began_at = loop.time()
    while True:
        try:
            await cluster.send(node.id, HELLO)
        except (KafkaConnectionError, KafkaTimeoutError):
            assert loop.time() < began_at + 30, f"node {node.id} is not reached after {what}"
            await asyncio.sleep(0.02)
        else:
            break
    report.back_after.append((f"{what} of node {node.id}", loop.time() - began_at))


def wait_raw(node: Node) -> None:
    for _ in range(2_000):
        try:
            with node.connect(timeout=1) as connection:
                connection.negotiate(Negotiation("faults", "1"))
                return
        except (OSError, EOFError, KafkaError):
            time.sleep(0.01)
    raise AssertionError(f"{node!r} does not come back")


async def break_nodes(
    cluster: Cluster, running: kafka.Cluster, until: float, report: Report
) -> None:
    """Kill, pause and stop, node after node; the last fault ends before the time is over."""
    loop = asyncio.get_running_loop()
    faults: list[tuple[str, Callable[[Node], None], Callable[[Node], None]]] = [
        ("kill", Node.kill, Node.start),
        ("pause", Node.pause, Node.resume),
        ("stop", Node.stop, Node.start),
    ]
    for turn in itertools.count():
        if loop.time() > until - 2 * DOWN_SECONDS:
            return
        what, down, up = faults[turn % 3]
        node = running.nodes[(turn + turn // 3) % 3]
        await asyncio.to_thread(down, node)
        await asyncio.sleep(DOWN_SECONDS)
        await asyncio.to_thread(up, node)
        await wait_back(cluster, node, what, report)
        await asyncio.to_thread(running.wait_in_sync)


@pytest.mark.timeout(300)
async def test_requests_end_in_time_while_nodes_fail_and_nodes_are_found_again(
    kafka_cluster: kafka.Cluster,
) -> None:
    loop = asyncio.get_running_loop()
    report = Report()
    config = AdminConfig(
        bootstrap_servers=kafka_cluster.bootstrap, request_timeout_ms=int(REQUEST_TIMEOUT * 1000)
    )
    tasks = Tasks("test")
    await tasks.start()
    try:
        cluster = Cluster(config, tasks)
        await cluster.start()
        until = loop.time() + SECONDS
        async with asyncio.TaskGroup() as group:
            for number in range(CALLERS):
                group.create_task(caller(cluster, until, report, random.Random(number)))
            group.create_task(measure_stalls(until, report))
            group.create_task(break_nodes(cluster, kafka_cluster, until, report))
    finally:
        await tasks.aclose()
        await asyncio.to_thread(kafka_cluster.heal)

    print(f"{report.requests} requests, {report.answered} answered, {dict(report.errors)}")
    print(f"slowest {report.slowest:.2f} s, the loop was late by up to {report.stall:.2f} s")
    print("\n".join(f"{what}: back after {seconds:.2f} s" for what, seconds in report.back_after))
    assert report.stall < 2
    assert report.slowest <= REQUEST_TIMEOUT + LATE + report.stall
    assert report.requests >= LEAST_REQUESTS
    assert report.answered > 0.7 * report.requests
    assert len(report.back_after) >= LEAST_FAULTS
    assert [each for each in report.back_after if each[1] > BACK_WITHIN] == []
