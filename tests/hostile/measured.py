"""A client in a process of its own, which says how far its memory grew: `python -m` this module.

It reads a list of cases from its input, and writes a line about each. A case runs in a fork, after
the same calls on brokers that behave: what every client needs is there by then, and what a case
leaves behind is gone with it.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
from pathlib import Path
from typing import Any, TypedDict

from kafka_aio.errors import KafkaError
from kafka_aio.net.cluster import Cluster
from kafka_aio.net.coordinators import Coordinator, CoordinatorKind
from kafka_aio.types import BearerToken
from tests.hostile.attacks import BEAT
from tests.net.clusters import made
from tests.net.server import HOST

GROUP = Coordinator(CoordinatorKind.GROUP, "g")


class Case(TypedDict):
    """What to do, and where."""

    call: str
    options: dict[str, Any]
    hostile: int
    """The port of the hostile broker, and of one that behaves."""
    good: int


class Result(TypedDict):
    """What came of it."""

    error: str
    received: int
    grown: int


async def token() -> BearerToken:
    return BearerToken("token")


async def make(call: str, cluster: Cluster) -> None:
    await cluster.start()
    if call == "refresh":
        await cluster.refresh(["t"])
    elif call == "refresh all":
        cluster.metadata.want_all()
        await cluster.refresh()
    elif call == "find":
        await cluster.send_to_coordinator(GROUP, BEAT)
    elif call == "send":
        await cluster.send(1, BEAT)


async def run(case: Case, port: int) -> tuple[str, int]:
    """The error, and how many bytes came."""
    options = dict(case["options"])
    if options.get("sasl_mechanism") == "OAUTHBEARER":
        options["sasl_oauthbearer_token_provider"] = token
    async with made(f"{HOST}:{port}", **options) as cluster:
        try:
            await make(case["call"], cluster)
            error = ""
        except KafkaError as raised:
            error = type(raised).__name__
        families = {family.name: family.samples for family in cluster.registry.snapshot()}
        received = families["bytes_in"][0].value
        assert isinstance(received, int)
        return error, received


def resident(name: str) -> int:
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith(name))


def measure(case: Case) -> Result:
    before = resident("VmRSS")
    Path("/proc/self/clear_refs").write_text("5")  # the peak is counted from here
    error, received = asyncio.run(run(case, case["hostile"]))
    return {"error": error, "received": received, "grown": resident("VmHWM") - before}


def main() -> None:
    for line in sys.stdin:
        case: Case = json.loads(line)
        error, _ = asyncio.run(run(case, case["good"]))
        assert not error, error
        child = os.fork()
        if not child:
            print(json.dumps(measure(case)), flush=True)
            os._exit(0)
        assert os.waitpid(child, 0)[1] == 0


if __name__ == "__main__":
    main()
