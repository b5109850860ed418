"""A committer on an embedded broker, without the rest of a consumer."""

from __future__ import annotations

import asyncio
import functools
from collections.abc import AsyncIterator, Callable, Coroutine, Mapping
from contextlib import asynccontextmanager
from typing import Any

from kafka_aio.broker import EmbeddedBroker
from kafka_aio.config import ConsumerConfig
from kafka_aio.consumer.committer import Committer
from kafka_aio.consumer.user_code import UserCode
from kafka_aio.errors import KafkaError
from kafka_aio.net.cluster import Cluster
from kafka_aio.net.tasks import Tasks
from kafka_aio.testing import VirtualLoop
from kafka_aio.types import TopicPartition

GROUP = "g"
T0, T1, T2 = (TopicPartition("t", number) for number in range(3))


def on_virtual_time(test: Callable[..., Coroutine[Any, Any, None]]) -> Callable[..., None]:
    """A test whose hours take no time."""

    @functools.wraps(test)
    def run(**arguments: Any) -> None:
        with VirtualLoop(seed=1, time_limit=7_200) as loop:
            loop.run_until_complete(test(**arguments))

    return run


@asynccontextmanager
async def committing(
    *, nodes: int = 1, topics: Mapping[str, Any] | None = None, **options: Any
) -> AsyncIterator[tuple[EmbeddedBroker, Committer]]:
    """A broker with a topic "t" of three partitions, and a committer for group "g"."""
    async with EmbeddedBroker(nodes=nodes, topics=topics or {"t": 3}) as broker:
        config = ConsumerConfig.from_options(
            {"bootstrap_servers": broker.bootstrap_servers, "group_id": GROUP, **options}
        )
        tasks = Tasks("consumer")
        await tasks.start()
        try:
            cluster = Cluster(config, tasks)
            await cluster.start()
            await cluster.refresh(["t"])
            user_code = UserCode(tasks, interceptors=config.interceptors)
            committer = Committer(cluster, tasks, GROUP, config, user_code=user_code)
            tasks.spawn(committer.run, name="commits")
            yield broker, committer
        finally:
            await tasks.aclose()


def offsets(broker: EmbeddedBroker, group: str = GROUP) -> dict[TopicPartition, int]:
    """What the broker has of a group."""
    return {name: each.offset for name, each in broker.committed(group).items()}


def now() -> float:
    return asyncio.get_running_loop().time()


async def failure(awaited: Any) -> KafkaError:
    """The error of something that has to fail."""
    try:
        await awaited
    except KafkaError as error:
        return error
    raise AssertionError("it did not fail")
