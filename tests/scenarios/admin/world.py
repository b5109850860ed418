"""What the tests of the whole admin share: a cluster, an admin of it, and virtual time."""

from __future__ import annotations

import functools
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from contextlib import asynccontextmanager
from typing import Any

from kafka_aio import Admin
from kafka_aio.broker import EmbeddedBroker
from kafka_aio.testing import VirtualLoop
from kafka_aio.types import TopicPartition

T0, T1, T2 = (TopicPartition("t", number) for number in range(3))
GROUP = "billing"


@asynccontextmanager
async def cluster(*, nodes: int = 1, **options: Any) -> AsyncIterator[tuple[EmbeddedBroker, Admin]]:
    """A broker with a topic "t" of three partitions, and an admin of it."""
    settings = {"offsets.topic.num.partitions": 9}  # so that each node coordinates some groups
    async with (
        EmbeddedBroker(nodes=nodes, topics={"t": 3}, options=settings) as broker,
        Admin(bootstrap_servers=broker.bootstrap_servers, **options) as admin,
    ):
        yield broker, admin


def on_virtual_time(test: Callable[[], Coroutine[Any, Any, None]]) -> Callable[[], None]:
    """Runs a test on a loop of its own, on which an hour takes no time."""

    @functools.wraps(test)
    def run() -> None:
        with VirtualLoop(seed=1, time_limit=7_200) as loop:
            loop.run_until_complete(test())

    return run


async def settled(awaited: Awaitable[Any]) -> Any:
    """What comes out of it, an exception too."""
    try:
        return await awaited
    except Exception as error:
        return error
