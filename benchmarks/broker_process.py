"""What `benchmarks.broker` measures, in a process of its own: the embedded broker, or a floor.

The floor is the least that a server can do: it counts the bytes of requests, and answers each with
a frame made beforehand.
"""

from __future__ import annotations

import asyncio
import multiprocessing
import os
import struct
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from multiprocessing.connection import Connection as Pipe
from pathlib import Path
from typing import Any, cast

import uvloop

from kafka_aio.broker import EmbeddedBroker

HOST = "127.0.0.1"

_HEAD = struct.Struct(">ihhi")
_INT32 = struct.Struct(">i")
_TICKS = os.sysconf("SC_CLK_TCK")


class Served:
    """A process that serves."""

    def __init__(self, port: int, pid: int) -> None:
        self.port = port
        self._stat = Path(f"/proc/{pid}/stat")

    @property
    def cpu_seconds(self) -> float:
        """What it has used so far."""
        fields = self._stat.read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / _TICKS


@contextmanager
def broker(loop: str, *, core: int | None, topics: Mapping[str, Any]) -> Iterator[Served]:
    """The embedded broker on that kind of loop, and on one core alone if said."""
    with _process(_serve_broker, loop, core, topics) as served:
        yield served


@contextmanager
def floor(loop: str, *, core: int | None, answers: Mapping[int, bytes]) -> Iterator[Served]:
    """A server that gives the same answer to each request with a key of `answers`."""
    with _process(_serve_floor, loop, core, answers) as served:
        yield served


@contextmanager
def _process(target: Any, loop: str, core: int | None, given: object) -> Iterator[Served]:
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe()
    process = context.Process(target=_run, args=(target, loop, core, given, theirs), daemon=True)
    process.start()
    theirs.close()
    try:
        port = ours.recv()
        assert process.pid is not None
        yield Served(port, process.pid)
    finally:
        process.kill()
        process.join()


def _run(target: Any, loop: str, core: int | None, given: object, pipe: Pipe) -> None:
    if core is not None:
        os.sched_setaffinity(0, {core})
    factory = uvloop.new_event_loop if loop == "uvloop" else asyncio.new_event_loop
    with asyncio.Runner(loop_factory=factory) as runner:
        runner.run(target(given, pipe))


async def _serve_broker(topics: Mapping[str, Any], pipe: Pipe) -> None:
    async with EmbeddedBroker(topics=topics, host=HOST) as embedded:
        pipe.send(int(embedded.bootstrap_servers.rpartition(":")[2]))
        await asyncio.Event().wait()


async def _serve_floor(answers: Mapping[int, bytes], pipe: Pipe) -> None:
    server = await asyncio.get_running_loop().create_server(lambda: _Floor(answers), HOST, 0)
    pipe.send(server.sockets[0].getsockname()[1])
    await asyncio.Event().wait()


class _Floor(asyncio.BufferedProtocol):
    """Looks at nothing but the heads of frames."""

    def __init__(self, answers: Mapping[int, bytes]) -> None:
        self._answers = {key: bytearray(answer) for key, answer in answers.items()}
        self._memory = memoryview(bytearray(256 * 1024))
        self._kept = 0
        """Bytes of a head that is not whole yet, at the front."""
        self._body = 0
        """Bytes of a request that are still to come."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)

    def get_buffer(self, sizehint: int) -> memoryview:
        return self._memory[self._kept :]

    def buffer_updated(self, nbytes: int) -> None:
        end, at = self._kept + nbytes, 0
        self._kept = 0
        while at < end:
            if self._body:
                step = min(self._body, end - at)
                self._body -= step
                at += step
                if not self._body:
                    self._answer()
            elif end - at < _HEAD.size:
                self._kept = end - at
                self._memory[: self._kept] = self._memory[at:end]
                return
            else:
                length, self._key, _, self._correlation_id = _HEAD.unpack_from(self._memory, at)
                at += _HEAD.size
                self._body = length + _INT32.size - _HEAD.size

    def _answer(self) -> None:
        answer = self._answers[self._key]
        _INT32.pack_into(answer, _INT32.size, self._correlation_id)
        self._transport.write(bytes(answer) if len(answer) < 4096 else answer)
