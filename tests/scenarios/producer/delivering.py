"""What the tests of deliveries share: a broker and a producer of it, on virtual time."""

from __future__ import annotations

import asyncio
import functools
from collections.abc import AsyncIterator, Callable, Coroutine, Mapping
from contextlib import asynccontextmanager, suppress
from typing import Any

from kafka_aio.broker import EmbeddedBroker
from kafka_aio.errors import KafkaError, Persistence
from kafka_aio.producer import Producer
from kafka_aio.producer.delivery import Delivery
from kafka_aio.testing import VirtualLoop

TOPIC = "t"


def on_virtual_time(test: Callable[..., Coroutine[Any, Any, None]]) -> Callable[..., None]:
    """A test whose hours take no time."""

    @functools.wraps(test)
    def run(**arguments: Any) -> None:
        with VirtualLoop(seed=1, time_limit=7_200) as loop:
            loop.run_until_complete(test(**arguments))

    return run


@asynccontextmanager
async def delivering(
    *,
    nodes: int = 1,
    topics: Mapping[str, Any] | None = None,
    users: Mapping[str, str] | None = None,
    **options: Any,
) -> AsyncIterator[tuple[EmbeddedBroker, Producer[Any, Any]]]:
    """A broker with a topic "t" of one partition, and a producer that is connected to it.

    What was not delivered is for the test to look at: the end of the producer does not raise it.
    """
    async with EmbeddedBroker(nodes=nodes, topics=topics or {TOPIC: 1}, users=users) as broker:
        producer: Producer[Any, Any] = Producer(
            bootstrap_servers=broker.bootstrap_servers, **{"linger_ms": 0, **options}
        )
        await producer.start()
        try:
            for topic in topics or {TOPIC: 1}:
                await producer.partitions_for(topic)
            yield broker, producer
        finally:
            with suppress(KafkaError):
                await producer.aclose(timeout=0)


def values(broker: EmbeddedBroker, topic: str = TOPIC) -> list[bytes | None]:
    """What is in the log of a topic."""
    return [record.value for record in broker.records(topic)]


def batch_sizes(broker: EmbeddedBroker) -> list[int]:
    """How many records each batch in the log of the first partition has."""
    log = broker._state.topics.by_name[TOPIC].partitions[0].log
    return [int.from_bytes(bytes(batch)[57:61], "big") for batch in log.batches()]


async def failure(delivery: Delivery) -> KafkaError:
    """The error of a delivery, which has to have one."""
    try:
        metadata = await delivery
    except KafkaError as error:
        return error
    raise AssertionError(f"it was delivered: {metadata}")


async def outcome(delivery: Delivery) -> tuple[type[KafkaError], Persistence | None]:
    """Of which kind the error of a delivery is, and what that says of the record."""
    error = await failure(delivery)
    return type(error), error.persistence


async def submitted(producer: Producer[Any, Any], *records: bytes, **where: Any) -> list[Delivery]:
    """Deliveries of records that are submitted one after the other."""
    return [await producer.submit(TOPIC, value, **where) for value in records]


async def leader_of(producer: Producer[Any, Any], partition: int = 0) -> int:
    """The node that leads a partition, as far as the producer knows."""
    leader = (await producer.partitions_for(TOPIC))[partition].leader
    assert leader is not None
    return leader.id


def now() -> float:
    return asyncio.get_running_loop().time()
