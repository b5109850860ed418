"""Ctrl-C and SIGTERM, where a command has something to finish."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import Iterator
from types import FrameType

import pytest

from kafka_aio.cli.interruption import cancelled_by_signals

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="signals of Unix")

SIGNALS = (signal.SIGINT, signal.SIGTERM)


def noted(number: int, frame: FrameType | None) -> None:
    """What whoever came before does with a signal."""


@pytest.fixture(autouse=True)
def before() -> Iterator[None]:
    found = {each: signal.signal(each, noted) for each in SIGNALS}
    yield
    for each, action in found.items():
        signal.signal(each, action)


@pytest.mark.parametrize("number", SIGNALS)
def test_a_signal_cancels_the_task(number: int) -> None:
    async def work() -> None:
        with cancelled_by_signals():
            os.kill(os.getpid(), number)
            await asyncio.sleep(10)

    with pytest.raises(asyncio.CancelledError):
        asyncio.run(work())


def test_afterwards_signals_do_what_they_did_before() -> None:
    async def work() -> list[object]:
        with cancelled_by_signals():
            await asyncio.sleep(0)
        return [signal.getsignal(each) for each in SIGNALS]

    assert asyncio.run(work()) == [noted, noted]
