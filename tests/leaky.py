"""Async tests, most of which leave something behind: tests/test_loops.py runs them.

Not collected by itself. What a test is expected to say stands beside it there.
"""

from __future__ import annotations

import asyncio
import socket
import threading
import time
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

import kafka_aio

KEPT: list[object] = []


@pytest.fixture
async def server() -> AsyncIterator[tuple[str, int]]:
    """An echo of one message; its connections end when the other side ends."""

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(await reader.read(100))
        await reader.read()
        writer.close()
        await writer.wait_closed()

    listening = await asyncio.start_server(answer, "127.0.0.1", 0)
    yield listening.sockets[0].getsockname()
    listening.close()


async def test_clean(server: tuple[str, int]) -> None:
    reader, writer = await asyncio.open_connection(*server)
    writer.write(b"hello")
    answer = await reader.read(100)
    await asyncio.to_thread(time.sleep, 0)
    writer.close()
    await writer.wait_closed()

    assert answer == b"hello"


async def test_named(request: pytest.FixtureRequest) -> None:
    on_asyncio = isinstance(asyncio.get_running_loop(), asyncio.BaseEventLoop)

    assert request.node.name == f"test_named[{'asyncio' if on_asyncio else 'uvloop'}]"


@pytest.mark.loop("uvloop")
async def test_on_uvloop_alone() -> None:
    assert not isinstance(asyncio.get_running_loop(), asyncio.BaseEventLoop)


async def test_failed() -> None:
    KEPT.append(socket.socket())

    pytest.fail("as such")


@pytest.mark.timeout(0.2)
async def test_that_hangs() -> None:
    await asyncio.Event().wait()  # for ever


async def test_task() -> None:
    KEPT.append(asyncio.create_task(asyncio.Event().wait(), name="forgotten"))


async def test_task_without_owner() -> None:
    task = asyncio.create_task(asyncio.Event().wait())
    await asyncio.sleep(0)
    del task


async def test_connection(server: tuple[str, int]) -> None:
    KEPT.append(await asyncio.open_connection(*server))


async def test_socket() -> None:
    KEPT.append(socket.socket())


async def test_socket_without_owner() -> None:
    made = socket.socket()
    del made


async def test_socket_in_a_cycle() -> None:
    cycle: list[object] = [socket.socket()]
    cycle.append(cycle)


async def test_file(tmp_path: Path) -> None:
    KEPT.append((tmp_path / "forgotten").open("w"))


async def test_thread() -> None:
    thread = threading.Thread(target=threading.Event().wait, name="forgotten", daemon=True)
    thread.start()


async def test_failure_of_a_task() -> None:
    async def fail() -> None:
        raise ValueError("nobody has seen this")

    task = asyncio.create_task(fail())
    await asyncio.sleep(0)
    del task


async def test_failure_of_a_task_in_a_cycle() -> None:
    async def fail() -> None:
        raise ValueError("nobody has seen this")

    cycle: list[object] = [asyncio.create_task(fail())]
    cycle.append(cycle)
    await asyncio.sleep(0)


async def test_failure_of_a_callback() -> None:
    asyncio.get_running_loop().call_soon(int, "not a number")
    await asyncio.sleep(0)


async def test_coroutine() -> None:
    cycle: list[object] = [asyncio.sleep(0)]
    cycle.append(cycle)


def of_the_product(source: str) -> None:
    """Runs the source as if it stood in a module of kafka_aio."""
    path = Path(kafka_aio.__path__[0]) / "made_up.py"
    exec(compile(source, str(path), "exec"), {})


@pytest.mark.parametrize(
    "source",
    [
        pytest.param("import time; time.sleep(0)", id="sleep"),
        pytest.param("import socket; socket.getaddrinfo('localhost', 1)", id="lookup"),
        pytest.param("import ssl; ssl.create_default_context()", id="certificates"),
        pytest.param("import hashlib; hashlib.pbkdf2_hmac('sha256', b'', b'', 1)", id="hash"),
        pytest.param(f"with open({__file__!r}) as file: file.read()", id="file"),
    ],
)
async def test_block(source: str) -> None:
    of_the_product(source)


async def test_block_in_a_thread() -> None:
    await asyncio.to_thread(of_the_product, "import time; time.sleep(0)")


async def test_block_of_a_test() -> None:
    time.sleep(0)  # noqa: ASYNC251 - the point of it
