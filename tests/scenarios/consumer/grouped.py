"""Members of a group on an embedded broker, and what they are told."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Collection, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from typing import Any

from kafka_aio.broker import EmbeddedBroker
from kafka_aio.consumer.consumer import Consumer
from kafka_aio.errors import KafkaError
from kafka_aio.types import TopicPartition

GROUP = "g"
PROTOCOLS = ("classic", "cooperative", "consumer")
"""The group protocols; "cooperative" is classic, with an assignor that lets members keep theirs."""


def options_of(protocol: str) -> dict[str, Any]:
    """The options that choose a protocol."""
    if protocol == "cooperative":
        return {"partition_assignment_strategy": ["cooperative-sticky"]}
    return {"group_protocol": protocol}


class Notes:
    """A listener that notes what it is told, as (name, what, partitions)."""

    def __init__(self, name: str = "a", log: list[Any] | None = None) -> None:
        self.name = name
        self.log: list[tuple[str, str, list[int]]] = [] if log is None else log

    def _note(self, what: str, partitions: Collection[TopicPartition]) -> None:
        self.log.append((self.name, what, sorted(each.partition for each in partitions)))

    def revoked(self, partitions: Collection[TopicPartition]) -> Any:
        self._note("revoked", partitions)

    def assigned(self, partitions: Collection[TopicPartition]) -> Any:
        self._note("assigned", partitions)

    def lost(self, partitions: Collection[TopicPartition]) -> Any:
        self._note("lost", partitions)

    @property
    def told(self) -> list[tuple[str, list[int]]]:
        """Without the calls that were about nothing."""
        return [(what, which) for _, what, which in self.log if which]


def member(
    broker: EmbeddedBroker, protocol: str = "classic", listener: object = None, **options: Any
) -> Consumer[Any, Any]:
    """A consumer that subscribes to "t", made but not started."""
    consumer: Consumer[Any, Any] = Consumer(
        bootstrap_servers=broker.bootstrap_servers,
        **{"group_id": GROUP, "auto_offset_reset": "earliest"} | options_of(protocol) | options,
    )
    consumer.subscribe(["t"], listener)
    return consumer


@asynccontextmanager
async def joined(
    broker: EmbeddedBroker,
    protocol: str = "classic",
    listener: object = None,
    *others: Consumer[Any, Any],
    **options: Any,
) -> AsyncIterator[Consumer[Any, Any]]:
    """A member that has its partitions; the others of the group ask for records meanwhile."""
    consumer = member(broker, protocol, listener, **options)
    await consumer.start()
    try:
        await until(consumer.assignment, consumer, *others)
        yield consumer
    finally:
        with suppress(KafkaError):
            await consumer.aclose(timeout=1)


async def until(
    condition: Callable[[], object], *asking: Consumer[Any, Any], within: float = 120
) -> None:
    """Wait until something is so; meanwhile these consumers ask for records, and want none."""
    async with asyncio.timeout(within):
        while not condition():
            for consumer in asking:
                await consumer.poll(timeout=0)
            await asyncio.sleep(0.1)


@contextmanager
def reading(*consumers: Consumer[Any, Any]) -> Iterator[list[tuple[int, int]]]:
    """Tasks that read, in the background; (partition, offset) of what they got."""
    got: list[tuple[int, int]] = []

    async def read(consumer: Consumer[Any, Any]) -> None:
        async for record in consumer:
            got.append((record.partition, record.offset))  # noqa: PERF401 - it never ends

    tasks = [asyncio.ensure_future(read(consumer)) for consumer in consumers]
    try:
        yield got
    finally:
        for task in tasks:
            task.cancel()


def committed(broker: EmbeddedBroker, group: str = GROUP) -> dict[int, int]:
    """What a group has committed of topic "t", by partition."""
    with suppress(KafkaError):
        return {name.partition: each.offset for name, each in broker.committed(group).items()}
    return {}


def members(broker: EmbeddedBroker, group: str = GROUP) -> int:
    """How many members a group has."""
    with suppress(KafkaError):
        return len(broker.group(group).members)
    return 0


def numbers(consumer: Consumer[Any, Any]) -> list[int]:
    """The partitions that a consumer has."""
    return sorted(each.partition for each in consumer.assignment())
