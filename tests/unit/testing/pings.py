"""Five clients that ask a server something now and then, for a time.

As a program it prints the trace of a seed: `python -m tests.unit.testing.pings 7`.
"""

from __future__ import annotations

import asyncio
import sys

from kafka_aio.testing import Traced, VirtualLoop

HOURS = 0.5


async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """To a number, so many bytes."""
    try:
        while True:
            size = int.from_bytes(await reader.readexactly(2), "big")
            writer.write(b"x" * size)
            await writer.drain()
    except (asyncio.IncompleteReadError, ConnectionError):
        pass
    finally:
        writer.close()


async def ask(loop: VirtualLoop, port: int, until: float) -> None:
    """Connects again when the connection breaks."""
    while loop.time() < until:
        reader, writer = await asyncio.open_connection("localhost", port)
        try:
            while loop.time() < until:
                await asyncio.sleep(loop.rng.uniform(0, 30))
                size = loop.rng.randint(1, 1_000)
                writer.write(size.to_bytes(2, "big"))
                await reader.readexactly(size)
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()


async def play(loop: VirtualLoop, hours: float) -> None:
    server = await asyncio.start_server(answer, "localhost", 0)
    port = server.sockets[0].getsockname()[1]
    loop.network.cut_after((1_000, 50_000), port)
    until = loop.time() + hours * 3_600
    async with asyncio.TaskGroup() as group:
        for _ in range(5):
            group.create_task(ask(loop, port, until))
    server.close()
    await server.wait_closed()
    await asyncio.sleep(1)


def trace(seed: int, *, hours: float = HOURS) -> list[Traced]:
    """What has happened."""
    with VirtualLoop(seed, trace=True) as loop:
        loop.run_until_complete(play(loop, hours))
        return loop.trace


if __name__ == "__main__":
    for event in trace(int(sys.argv[1])):
        print(*event)
