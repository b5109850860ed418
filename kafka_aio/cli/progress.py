"""A line on the terminal while somebody has to wait."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Final

from kafka_aio.cli import terminal

PATIENCE: Final = 1
"""How many seconds go by without a word."""


@asynccontextmanager
async def progress(what: str) -> AsyncIterator[None]:
    """Say what is waited for, and for how long already, if it takes long."""
    task = asyncio.create_task(_show(what))
    try:
        yield
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


async def _show(what: str) -> None:
    seconds = PATIENCE
    await asyncio.sleep(PATIENCE)
    try:
        while True:
            terminal.show(f"{what} ... {seconds} s")
            await asyncio.sleep(1)
            seconds += 1
    finally:
        terminal.show("")
