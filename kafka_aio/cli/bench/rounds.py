"""The rounds of a benchmark: every client in a process of its own, one after the other."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager, nullcontext
from dataclasses import dataclass, replace
from functools import partial
from random import SystemRandom
from typing import Any, Final, NamedTuple

from kafka_aio.admin import Admin, NewTopic
from kafka_aio.cli.bench.clients import CEILING, OURS, ROOT, Client
from kafka_aio.cli.bench.plan import Order, Workload
from kafka_aio.cli.bench.summary import Measured
from kafka_aio.errors import KafkaError

WORKER: Final = "kafka_aio.cli.bench.worker"
_GRACE: Final = 5.0
"""Seconds that a worker has to end by itself when its time is over."""
_CEILING_SECONDS: Final = 2.0
"""It is no longer than this: gigabytes on their way to the disk would hold up who comes next."""

Show = Callable[[str], None]
Outcomes = dict[Client, list[Measured | KafkaError]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Match:
    """Who writes or reads what, where, and how often."""

    workload: Workload
    clients: Sequence[Client]
    connection: Mapping[str, Any]
    repetitions: int = 3
    topic: str | None = None
    """If none, each run gets a topic of its own, which is deleted after it."""
    replication_factor: int = -1


class Topic(NamedTuple):
    """Where a client writes to or reads from."""

    name: str
    partitions: int


async def play(match: Match, admin: Admin, show: Show) -> Outcomes:
    """Run every client, then every client again.

    Each round begins with another one: who comes after the ceiling may find a broker that still
    writes to its disk.

    Raises:
        KafkaError: There is no topic to write to, or it could not be filled for who reads.
    """
    if not match.workload.reads:
        return await _rounds(match, admin, show)
    async with _topic(match, admin) as topic:
        filling = replace(match, workload=match.workload.filling())
        filled = await _run(filling, OURS, topic, partial(_show, show, "filling the topic"))
        if isinstance(filled, KafkaError):
            raise filled
        return await _rounds(match, admin, show, topic)


async def _rounds(match: Match, admin: Admin, show: Show, topic: Topic | None = None) -> Outcomes:
    clients = list(match.clients)
    outcomes: Outcomes = {client: [] for client in clients}
    for number in range(match.repetitions):
        for client in clients:
            if client not in outcomes:
                continue
            title = f"{client.name}, {number + 1} of {match.repetitions}"
            async with _topic(match, admin) if topic is None else nullcontext(topic) as here:
                outcome = await _run(match, client, here, partial(_show, show, title))
            if outcome is None:
                del outcomes[client]
            else:
                outcomes[client].append(outcome)
        clients.append(clients.pop(0))
    show("")
    return {client: outcomes[client] for client in match.clients if client in outcomes}


def _show(show: Show, title: str, text: str) -> None:
    show(f"{title}: {text}")


async def _run(
    match: Match, client: Client, topic: Topic, show: Show
) -> Measured | KafkaError | None:
    """What came of one run; None if the client cannot be used this way."""
    show("begins")
    seconds = match.workload.seconds
    if client == CEILING:
        seconds = min(seconds, _CEILING_SECONDS)
    order = Order(
        module=client.module,
        topic=topic.name,
        workload=replace(match.workload, partitions=topic.partitions, seconds=seconds),
        connection=match.connection,
    )
    try:
        async with asyncio.timeout(order.workload.patience + _GRACE):
            said = await _worker(order, show)
    except TimeoutError:
        said = {"error": f"it has not ended within {order.workload.patience:.0f} s"}
    if "lacks" in said:
        return None
    if "error" in said:
        return KafkaError(f"{client.name}: {said['error']}")
    measured = Measured.of(said["result"])
    if not measured.records:
        return KafkaError(
            f"{client.name}: nothing was measured: give it more records, or more time"
        )
    if measured.failures:
        return KafkaError(
            f"{client.name}: {measured.failures} of {measured.records} records were not delivered:"
            f" {measured.error}"
        )
    return measured


async def _worker(order: Order, show: Show) -> dict[str, Any]:
    """The last word of a worker."""
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-P", "-m", WORKER),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        start_new_session=True,  # Ctrl-C is for us: we end it
    )
    stdin, stdout, stderr = process.stdin, process.stdout, process.stderr
    assert stdin is not None
    assert stdout is not None
    assert stderr is not None
    complaints = asyncio.create_task(stderr.read())
    last: dict[str, Any] = {}
    try:
        stdin.write(json.dumps(order.document()).encode() + b"\n")
        began_at = asyncio.get_running_loop().time()
        async for line in stdout:
            last = json.loads(line)
            if "sent" in last:
                seconds = asyncio.get_running_loop().time() - began_at
                show(f"{last['sent']:,} records, {seconds:.0f} s")
        await process.wait()
        if not last or "sent" in last:
            lines = (await complaints).decode(errors="replace").strip().splitlines()
            reason = lines[-1] if lines else f"exit code {process.returncode}"
            last = {"error": f"its process has ended: {reason}"}
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
        await complaints
    return last


@asynccontextmanager
async def _topic(match: Match, admin: Admin) -> AsyncIterator[Topic]:
    """A topic to write to.

    Raises:
        KafkaError: It is not there, or cannot be created.
    """
    if match.topic is not None:
        described = (await admin.describe_topics([match.topic]))[match.topic]
        if isinstance(described, KafkaError):
            raise described
        yield Topic(match.topic, len(described.partitions))
        return
    name = f"kafka-aio-bench-{SystemRandom().getrandbits(32):08x}"
    new = NewTopic(name, match.workload.partitions, match.replication_factor)
    created = (await admin.create_topics([new]))[name]
    if isinstance(created, KafkaError):
        raise created
    try:
        yield Topic(name, match.workload.partitions)
    finally:
        await admin.delete_topics([name])
