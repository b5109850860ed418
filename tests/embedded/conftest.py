"""What the tests of this folder stand on."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from kafka_aio.broker import EmbeddedBroker
from tests.embedded.client import Client, connected


@pytest.fixture
async def broker() -> AsyncIterator[EmbeddedBroker]:
    async with EmbeddedBroker(topics={"t": 1}, seed=1) as started:
        yield started


@pytest.fixture
async def client(broker: EmbeddedBroker) -> AsyncIterator[Client]:
    async with connected(broker) as made:
        yield made
