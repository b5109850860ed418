"""Frames of 1 MiB over one connection, against a bare asyncio Protocol that only counts bytes.

    python -m benchmarks.net

Both speak to the same server, a process of its own, which answers each Produce with a small frame
and each Fetch with one of 1 MiB. Both keep five requests in flight. Ours encodes each request and
decodes each answer; the bare one writes bytes made beforehand and looks at no more than lengths.
"""

from __future__ import annotations

import asyncio
import gc
import multiprocessing
import random
import socket
import struct
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, cast

import uvloop

from benchmarks import ratio
from benchmarks.ratio import Row
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
    FetchRequest,
    FetchResponse,
    PartitionData,
)
from kafka_aio.protocol.messages.produce import (
    PartitionProduceData,
    ProduceRequest,
    ProduceResponse,
    TopicProduceData,
)
from kafka_aio.protocol.schema import Request, schema_of

MIB = 1 << 20
IN_FLIGHT = 5
REQUESTS = 400
ROUNDS = 5
GOAL = 0.7
HOST = "127.0.0.1"

_LENGTH = struct.Struct(">i")
_HEAD = struct.Struct(">ihhi")
_PRODUCE_VERSION = schema_of(ProduceRequest).stable_versions[1]
_FETCH_VERSION = schema_of(FetchRequest).stable_versions[1]

PAYLOAD = random.Random(4).randbytes(MIB)
PRODUCE = ProduceRequest(
    acks=-1,
    timeout_ms=1_000,
    topic_data=[TopicProduceData(partition_data=[PartitionProduceData(index=0, records=PAYLOAD)])],
)
FETCH = FetchRequest(max_wait_ms=0, min_bytes=1, topics=[])


def answers() -> dict[int, bytes]:
    """The frame that answers each API, with a correlation id of 0."""
    fetched = PartitionData(
        partition_index=0,
        error_code=0,
        high_watermark=1,
        records=PAYLOAD,
        aborted_transactions=None,
    )
    messages: list[tuple[type[Request[Any]], object, int]] = [
        (ProduceRequest, ProduceResponse(responses=[]), _PRODUCE_VERSION),
        (
            FetchRequest,
            FetchResponse(
                throttle_time_ms=0, responses=[FetchableTopicResponse(partitions=[fetched])]
            ),
            _FETCH_VERSION,
        ),
    ]
    asked = [ApiVersionsRequest, ProduceRequest, FetchRequest]
    keys = [
        ApiVersion(api_key=schema.key, min_version=0, max_version=schema.versions[1])
        for schema in map(schema_of, asked)
    ]
    hello = ApiVersionsResponse(error_code=0, api_keys=keys)
    messages.append((ApiVersionsRequest, hello, schema_of(ApiVersionsRequest).versions[1]))
    return {
        schema_of(cls).key: b"".join(frame.encode_response(cls, body, version, correlation_id=0))
        for cls, body, version in messages
    }


def serve(listener: socket.socket) -> None:
    """Answer one connection after another, until the process is ended."""
    prepared = {key: bytearray(answer) for key, answer in answers().items()}
    received = bytearray(2 * MIB)
    while True:
        peer, _ = listener.accept()
        with peer, memoryview(received) as view:
            while _read(peer, view[: _HEAD.size]):
                length, key, _, correlation_id = _HEAD.unpack_from(view)
                _read(peer, view[: length + _LENGTH.size - _HEAD.size])
                _LENGTH.pack_into(prepared[key], _LENGTH.size, correlation_id)
                peer.sendall(prepared[key])


def _read(peer: socket.socket, into: memoryview) -> bool:
    done = 0
    while done < len(into):
        count = peer.recv_into(into[done:])
        if not count:
            return False
        done += count
    return True


@contextmanager
def server() -> Iterator[int]:
    """The port of a server in a process of its own."""
    with socket.create_server((HOST, 0)) as listener:
        process = multiprocessing.get_context("fork").Process(target=serve, args=(listener,))
        process.start()
        try:
            yield listener.getsockname()[1]
        finally:
            process.kill()
            process.join()


class Bare(asyncio.Protocol):
    """The least that a client must do: write requests, and count the bytes of the answers."""

    def __init__(self, requests: list[bytes], answer_sizes: list[int]) -> None:
        self._requests = requests
        self._expected = sum(answer_sizes)
        self._sizes = answer_sizes
        self._received = 0
        self._answered = 0
        self._boundary = answer_sizes[0]
        self._sent = 0
        self.done: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)
        for _ in range(IN_FLIGHT):
            self._write()

    def _write(self) -> None:
        if self._sent < len(self._requests):
            self._transport.write(self._requests[self._sent])
            self._sent += 1

    def data_received(self, data: bytes) -> None:
        self._received += len(data)
        while self._received >= self._boundary:
            self._answered += 1
            if self._answered == len(self._sizes):
                self._transport.close()
                self.done.set_result(None)
                return
            self._boundary += self._sizes[self._answered]
            self._write()


async def bare(port: int, requests: list[Request[Any]]) -> float:
    """Seconds that a bare protocol takes for the requests."""
    sizes = {key: len(answer) for key, answer in answers().items()}
    raw = {
        id(request): b"".join(
            frame.encode_request(request, version, correlation_id=1, client_id="bench")
        )
        for request, version in ((PRODUCE, _PRODUCE_VERSION), (FETCH, _FETCH_VERSION))
    }
    written = [raw[id(request)] for request in requests]
    expected = [sizes[schema_of(type(request)).key] for request in requests]
    loop = asyncio.get_running_loop()
    started = time.perf_counter()
    _, protocol = await loop.create_connection(lambda: Bare(written, expected), HOST, port)
    await protocol.done
    return time.perf_counter() - started


async def ours(port: int, requests: list[Request[Any]]) -> float:
    """Seconds that our connection takes for them."""
    config = AdminConfig(bootstrap_servers=f"{HOST}:{port}", client_id="bench")
    limits = Limits(client_id="bench", max_in_flight=IN_FLIGHT)
    dialer = Dialer(config, limits, Traffic(), tokens=None, rng=random.Random(0))
    connection = await dialer.dial(HOST, port, timeout=5)
    waiting = iter(requests)
    deadline = asyncio.get_running_loop().time() + 60
    started = time.perf_counter()
    await asyncio.gather(*(_ask(connection, waiting, deadline) for _ in range(IN_FLIGHT)))
    taken = time.perf_counter() - started
    await connection.aclose()
    return taken


async def _ask(connection: Connection, waiting: Iterator[Request[Any]], deadline: float) -> None:
    for request in waiting:
        await connection.send(request, deadline=deadline)


def measure(port: int, loop_name: str) -> list[Row]:
    factory = uvloop.new_event_loop if loop_name == "uvloop" else asyncio.new_event_loop
    both: list[Request[Any]] = [PRODUCE, FETCH]
    works: dict[str, list[Request[Any]]] = {
        "out": [PRODUCE] * REQUESTS,
        "in": [FETCH] * REQUESTS,
        "both ways": both * (REQUESTS // 2),
    }
    rows = []
    for name, requests in works.items():
        gigabytes = len(requests) * MIB / 1e9
        fastest = {bare: 0.0, ours: 0.0}
        for _ in range(ROUNDS):
            for side in fastest:
                gc.collect()
                with asyncio.Runner(loop_factory=factory) as runner:
                    fastest[side] = max(fastest[side], gigabytes / runner.run(side(port, requests)))
        rows.append(
            Row(
                name=f"1 MiB frames {name}, {loop_name}",
                peer_name="a bare Protocol",
                ours=fastest[ours],
                peer=fastest[bare],
                goal=GOAL,
                unit="GB/s",
            )
        )
    return rows


def main() -> None:
    with server() as port:
        rows = [row for loop in ("asyncio", "uvloop") for row in measure(port, loop)]
    print(ratio.table(rows))
    print(f"written to {ratio.save('net', rows).relative_to(ratio.RESULTS.parent.parent)}")


if __name__ == "__main__":
    main()
