"""What the tests of this folder stand on."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest

from kafka_aio.net.tasks import Tasks
from tests.net.server import Broker


@pytest.fixture
async def broker() -> AsyncIterator[Broker]:
    async with Broker().listening() as listening:
        yield listening


@pytest.fixture
async def tasks() -> AsyncIterator[Tasks]:
    made = Tasks("producer")
    await made.start()
    yield made
    await made.aclose()


async def sleep_for_ever() -> None:
    await asyncio.Event().wait()
