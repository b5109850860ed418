"""The embedded broker: how many bytes it takes and gives in a second, and at what price.

    python -m benchmarks.broker [--without-kafka]

The broker has a process and, where there are two, a core of its own. Another process writes 1 KiB
records to it, in batches of 64 KiB made beforehand, and reads them, over a connection of ours; the
bare server beside it only counts bytes. In the last rows librdkafka writes and reads: on this
broker, and on a real Kafka in the same run.
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import os
import random
import time
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import uvloop

from benchmarks import broker_process, ratio
from benchmarks.broker_confluent import confluent_rows
from benchmarks.broker_process import HOST, Served
from benchmarks.ratio import Row
from kafka_aio.cli.bench import ceiling
from kafka_aio.cli.bench.ceiling import IN_FLIGHT, batch, request
from kafka_aio.config import AdminConfig
from kafka_aio.net.connection import Connection
from kafka_aio.net.dial import Dialer
from kafka_aio.net.limits import Limits, Traffic
from kafka_aio.protocol import frame
from kafka_aio.protocol.messages.api_versions import (
    ApiVersion,
    ApiVersionsRequest,
    ApiVersionsResponse,
)
from kafka_aio.protocol.messages.fetch import (
    FetchableTopicResponse,
    FetchPartition,
    FetchRequest,
    FetchResponse,
    FetchTopic,
    PartitionData,
)
from kafka_aio.protocol.messages.produce import (
    PartitionProduceResponse,
    ProduceRequest,
    ProduceResponse,
    TopicProduceResponse,
)
from kafka_aio.protocol.messages.transactions import InitProducerIdRequest
from kafka_aio.protocol.schema import Request, schema_of
from kafka_aio.records.layout import ProducerStamp

KIB = 1 << 10
MIB = 1 << 20
RECORDS = 63
"""Values of 1 KiB in a batch of 64 KiB."""
PARTITIONS = 6
REQUESTS = 1_800
ROUNDS = 5
GOAL = 300.0
"""Megabytes of records a second."""
FETCHES = {"fetch, up to 1 MiB": MIB, "fetch, up to 50 MiB": 50 * MIB}
VERSION = ceiling.LAST_WITH_NAMES
"""Of Fetch too it is the last one in which topics have names."""
WRITTEN, READ = "written", "read"
RETAINED = 16 * MIB
"""Of each partition: its log is full, and drops what is old, before the first round ends."""
TOPICS = {
    WRITTEN: {
        "partitions": PARTITIONS,
        "configs": {"retention.bytes": str(RETAINED), "segment.bytes": str(8 * MIB)},
    },
    READ: PARTITIONS,
}


def cores() -> tuple[int | None, int | None]:
    """One for this process, and one for the broker, if there are two."""
    found = sorted(os.sched_getaffinity(0))
    return (found[0], found[1]) if len(found) > 1 else (None, None)


VALUES = [random.Random(number).randbytes(KIB) for number in range(RECORDS)]
BATCH = batch((VALUES, None), 2 * 64 * KIB).data


class Result(NamedTuple):
    """One run: megabytes of records a second, and what it has cost the server."""

    rate: float
    cpu: float
    """Seconds for a million records."""


# -- what is sent


def writes(topic: str, acks: int, count: int) -> list[ProduceRequest]:
    return [request(topic, {number % PARTITIONS: BATCH}, acks=acks) for number in range(count)]


def idempotent_writes(producer_id: int, count: int) -> list[ProduceRequest]:
    """Each batch has the number that follows the last one of its partition."""
    made = []
    for number in range(count):
        turn, partition = divmod(number, PARTITIONS)
        stamp = ProducerStamp(producer_id, 0, turn * RECORDS)
        stamped = batch((VALUES, None), 2 * 64 * KIB, stamp=stamp)
        made.append(request(WRITTEN, {partition: stamped.data}, acks=-1))
    return made


class Reader:
    """A consumer of all partitions, from the beginning, again and again."""

    def __init__(self, max_bytes: int) -> None:
        self._max_bytes = max_bytes
        self._offsets = [0] * PARTITIONS
        self.records = 0

    def request(self) -> FetchRequest:
        partitions = [
            FetchPartition(partition=index, fetch_offset=offset, partition_max_bytes=MIB)
            for index, offset in enumerate(self._offsets)
        ]
        return FetchRequest(
            max_wait_ms=500,
            min_bytes=1,
            max_bytes=self._max_bytes,
            session_epoch=-1,
            topics=[FetchTopic(topic=READ, partitions=partitions)],
        )

    def take(self, response: FetchResponse) -> None:
        for data in response.responses[0].partitions:
            assert data.error_code == 0, data
            count = len(data.records or b"") // len(BATCH) * RECORDS
            self.records += count
            self._offsets[data.partition_index] += count
            if self._offsets[data.partition_index] == data.high_watermark:
                self._offsets[data.partition_index] = 0


# -- the floor


def canned(max_bytes: int) -> dict[int, bytes]:
    """What the floor answers: as many bytes as the broker."""
    asked: list[type[Request[Any]]] = [ApiVersionsRequest, ProduceRequest, FetchRequest]
    keys = [
        ApiVersion(api_key=schema.key, min_version=0, max_version=schema.versions[1])
        for schema in map(schema_of, asked)
    ]
    hello = ApiVersionsResponse(error_code=0, api_keys=keys)
    done = PartitionProduceResponse(index=0, error_code=0, base_offset=0)
    produced = ProduceResponse(
        responses=[TopicProduceResponse(name=WRITTEN, partition_responses=[done])]
    )
    each = min(max_bytes, MIB) // len(BATCH) * BATCH
    partitions = [
        PartitionData(
            partition_index=index,
            error_code=0,
            high_watermark=-1,
            aborted_transactions=None,
            records=each,
        )
        for index in range(min(PARTITIONS, max_bytes // MIB))
    ]
    fetched = FetchResponse(
        throttle_time_ms=0, responses=[FetchableTopicResponse(topic=READ, partitions=partitions)]
    )
    messages: list[tuple[type[Request[Any]], object, int]] = [
        (ApiVersionsRequest, hello, schema_of(ApiVersionsRequest).versions[1]),
        (ProduceRequest, produced, VERSION),
        (FetchRequest, fetched, VERSION),
    ]
    return {
        schema_of(cls).key: b"".join(frame.encode_response(cls, body, version, correlation_id=0))
        for cls, body, version in messages
    }


# -- measuring


async def dial(port: int) -> Connection:
    config = AdminConfig(bootstrap_servers=f"{HOST}:{port}", client_id="bench")
    limits = Limits(client_id="bench", max_in_flight=IN_FLIGHT)
    dialer = Dialer(config, limits, Traffic(), tokens=None, rng=random.Random(0))
    return await dialer.dial(HOST, port, timeout=5)


async def write(connection: Connection, requests: list[ProduceRequest]) -> int:
    """Send them, five at a time. Returns how many records they were."""
    deadline = asyncio.get_running_loop().time() + 300

    async def ask(asked: ProduceRequest) -> ProduceResponse:
        return await connection.send(asked, deadline=deadline, at_most=VERSION)

    await ceiling.write(ask, iter(requests))
    return len(requests) * RECORDS


async def read(connection: Connection, max_bytes: int) -> int:
    """Fetch as much as is written in the other rows. Returns how many records they were."""
    deadline = asyncio.get_running_loop().time() + 300
    reader = Reader(max_bytes)
    while reader.records < REQUESTS * RECORDS:
        reader.take(await connection.send(reader.request(), deadline=deadline, at_most=VERSION))
    return reader.records


Work = Callable[[Connection], Awaitable[int]]


async def timed(served: Served, prepare: Callable[[Connection], Awaitable[Work]]) -> Result:
    connection = await dial(served.port)
    work = await prepare(connection)
    gc.collect()
    cpu, started = served.cpu_seconds, time.perf_counter()
    records = await work(connection)
    seconds, cpu = time.perf_counter() - started, served.cpu_seconds - cpu
    await connection.aclose()
    return Result(records * KIB / seconds / 1e6, cpu / records * 1e6)


@dataclass(frozen=True)
class Case:
    """One row: what is sent to the broker, and what to the floor, which knows no producers."""

    name: str
    ours: Callable[[Connection], Awaitable[Work]]
    bare: Callable[[Connection], Awaitable[Work]]
    max_bytes: int = MIB


def cases() -> Iterator[Case]:
    for acks in (1, -1):
        yield Case(f"produce, acks={acks}", _plain(acks), _plain(acks))
    yield Case("produce, idempotent", _idempotent, _plain(-1))
    for name, max_bytes in FETCHES.items():
        yield Case(name, _reading(max_bytes), _reading(max_bytes), max_bytes)


def _plain(acks: int) -> Callable[[Connection], Awaitable[Work]]:
    async def prepare(connection: Connection) -> Work:
        requests = writes(WRITTEN, acks, REQUESTS)
        return lambda connection: write(connection, requests)

    return prepare


async def _idempotent(connection: Connection) -> Work:
    deadline = asyncio.get_running_loop().time() + 10
    asked = InitProducerIdRequest(transactional_id=None, transaction_timeout_ms=60_000)
    answer = await connection.send(asked, deadline=deadline)
    requests = idempotent_writes(answer.producer_id, REQUESTS)
    return lambda connection: write(connection, requests)


def _reading(max_bytes: int) -> Callable[[Connection], Awaitable[Work]]:
    async def prepare(connection: Connection) -> Work:
        return lambda connection: read(connection, max_bytes)

    return prepare


async def fill(port: int) -> None:
    connection = await dial(port)
    await write(connection, writes(READ, 1, 1_200))
    await connection.aclose()


def measure(loop: str, case: Case) -> tuple[Result, Result]:
    """The best of some runs on the broker, and of as many on the floor, in turn."""
    _, core = cores()
    served = broker_process.broker(loop, core=core, topics=TOPICS)
    with (
        served as ours,
        broker_process.floor(loop, core=core, answers=canned(case.max_bytes)) as bare,
    ):
        results: dict[Served, list[Result]] = {ours: [], bare: []}
        with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
            runner.run(fill(ours.port))
            for _ in range(ROUNDS):
                results[ours].append(runner.run(timed(ours, case.ours)))
                results[bare].append(runner.run(timed(bare, case.bare)))
    return best(results[ours]), best(results[bare])


def best(results: list[Result]) -> Result:
    return Result(max(each.rate for each in results), min(each.cpu for each in results))


def rows_of(loop: str, prices: dict[str, dict[str, float]]) -> Iterator[Row]:
    """The rows of one kind of loop; what they cost is put into `prices`."""
    produced = GOAL
    for case in cases():
        ours, bare = measure(loop, case)
        name = f"{case.name}, {loop}"
        is_produce = case.name.startswith("produce")
        prices[name] = {
            "cpu_seconds_per_million_records": round(ours.cpu, 2),
            "of_a_bare_server": round(bare.cpu, 2),
            "rate_of_a_bare_server": round(bare.rate, 1),
        }
        yield Row(
            name=name,
            peer_name="the goal",
            ours=ours.rate,
            peer=GOAL,
            goal=1 if is_produce else produced / GOAL,  # to be fetched at least as fast
            unit="MB/s",
        )
        if is_produce:
            produced = max(produced, ours.rate)


def price_table(prices: dict[str, dict[str, float]]) -> str:
    lines = [f"{'':44}{'CPU s/M':>10}{'bare':>10}{'bare MB/s':>11}"]
    lines += [
        f"{name:44}" + f"{each[0]:>10.2f}{each[1]:>10.2f}{each[2]:>11.0f}"
        for name, price in prices.items()
        for each in [list(price.values())]
    ]
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.broker", description=__doc__)
    parser.add_argument("--without-kafka", action="store_true", help="leave out the last rows")
    options = parser.parse_args()
    everywhere = os.sched_getaffinity(0)
    core, _ = cores()
    prices: dict[str, dict[str, float]] = {}
    if core is not None:
        os.sched_setaffinity(0, {core})
    rows = [row for loop in ("asyncio", "uvloop") for row in rows_of(loop, prices)]
    os.sched_setaffinity(0, everywhere)
    if not options.without_kafka:
        rows += confluent_rows()
    print(ratio.table(rows))
    print(price_table(prices))
    saved = ratio.save("broker", rows, prices=prices)
    print(f"written to {saved.relative_to(ratio.RESULTS.parent.parent)}")


if __name__ == "__main__":
    main()
