"""What the tests of the bridge share: work that waits, fails, or is interrupted."""

from __future__ import annotations

import asyncio
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from typing import Any

import pytest

from spark_connector.bridge import LoopThread

SECONDS = 10.0
NEEDS_UVLOOP = pytest.mark.skipif(find_spec("uvloop") is None, reason="uvloop is not installed")


async def soon(value: Any) -> Any:
    await asyncio.sleep(0)
    return value


async def turns() -> None:
    """As many as what is ready takes, however slow the machine."""
    for _ in range(50):
        await asyncio.sleep(0)


class Gate:
    """Work that ends when it is told to, by another thread."""

    def __init__(self, thread: LoopThread) -> None:
        self._loop = thread.loop
        self._open = asyncio.Event()
        self.begun = threading.Event()
        self.cancelled = threading.Event()

    async def work(self, value: Any = None) -> Any:
        self.begun.set()
        try:
            await self._open.wait()
        except asyncio.CancelledError:
            await asyncio.sleep(0.01)  # who cancels it waits for this
            self.cancelled.set()
            raise
        return value

    async def work_but_first(self, number: int) -> int:
        """The first ends when another has begun."""
        if number > 0:
            return int(await self.work(number))
        await asyncio.to_thread(self.begun.wait, SECONDS)
        return number

    def open(self) -> None:
        self._loop.call_soon_threadsafe(self._open.set)


class Boom(Exception):
    """Of the tests."""


@contextmanager
def interrupted_after(begun: threading.Event) -> Iterator[None]:
    """As by Ctrl-C, once the main thread waits for what has begun."""
    main = threading.main_thread().ident
    assert main is not None

    def interrupt() -> None:
        begun.wait(SECONDS)
        time.sleep(0.1)
        signal.pthread_kill(main, signal.SIGINT)

    # A process in the background may be deaf to it.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    thread = threading.Thread(target=interrupt)
    thread.start()
    try:
        yield
    finally:
        thread.join(SECONDS)
        signal.signal(signal.SIGINT, before)


async def boom(*_: Any) -> Any:
    await asyncio.sleep(0)
    raise Boom("boom")
