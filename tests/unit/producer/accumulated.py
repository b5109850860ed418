"""An accumulator with two topics, records for it, and what it needs around it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from kafka_aio.metadata import Leader
from kafka_aio.producer.accumulator import Accumulator, Choice
from kafka_aio.producer.batch import Batch
from kafka_aio.producer.delivery import Delivery
from kafka_aio.producer.memory import Memory
from kafka_aio.records.compression import Codec, Compression
from kafka_aio.types import TopicPartition

PLAIN = Compression(Codec.NONE)
A0, A1, A2, B0 = (
    TopicPartition("a", 0),
    TopicPartition("a", 1),
    TopicPartition("a", 2),
    TopicPartition("b", 0),
)


class StillLoop:
    """What an outcome needs of a loop, where nobody waits: callbacks are called at once."""

    owner = None
    cancelled = BaseException

    def call_soon(self, callback: Callable[[Any], object], value: object, /) -> None:
        callback(value)


class Accumulated:
    """An accumulator of topics "a" with 3 partitions and "b" with 1, all led by node 1."""

    def __init__(
        self,
        *,
        batch_size: int = 1000,
        linger: float = 5.0,
        delivery_timeout: float = 100.0,
        memory: int = 1_000_000,
        choice: Choice | None = None,
        in_order: bool = False,
    ) -> None:
        self.leaders = dict.fromkeys((A0, A1, A2, B0), Leader(1, 0))
        self.memory: Memory[str] = Memory(memory)
        self.it = Accumulator(
            batch_size=batch_size,
            linger=linger,
            delivery_timeout=delivery_timeout,
            memory=self.memory,
            loop=StillLoop(),
            leader_of=self.leaders.get,
            choice=choice,
            in_order=in_order,
        )
        self.it.topic("a", 3)
        self.it.topic("b", 1)
        self.now = 0.0

    def add(
        self, place: TopicPartition, value: bytes = b"v", *, ticket: str | None = None
    ) -> Delivery | None:
        """Append a record, to a new batch if need be; None where there is no memory."""
        topic, partition = place
        while True:
            found = self.it.topics[topic].append(None, value, 0, 0.0, None, partition)
            if found is not None:
                return found
            need = len(value) + 128
            if not self.it.make_room(
                topic, partition, need, now=self.now, chance=0.0, ticket=ticket
            ):
                return None

    def added(self, place: TopicPartition, value: bytes = b"v") -> Delivery:
        found = self.add(place, value)
        assert found is not None
        return found

    def add_batches(self, place: TopicPartition, count: int) -> None:
        """So many batches of one record: the next does not fit into the same one."""
        for _ in range(count):
            self.added(place, bytes(900))

    def ready(self) -> dict[int, list[TopicPartition]]:
        return self.it.ready(now=self.now).by_node

    def drain(
        self,
        node: int = 1,
        *,
        max_size: int = 1_000_000,
        may_send: Callable[[Batch], bool] = lambda _: True,
    ) -> list[Batch]:
        """What one request takes now, finished."""
        partitions = self.ready().get(node)
        if not partitions:
            return []
        found = self.it.drain(node, partitions, max_size=max_size, may_send=may_send)
        for batch in found:
            batch.finish(PLAIN)
        return found

    def drain_all(self) -> list[Batch]:
        """All that can be sent at this time, request by request."""
        found: list[Batch] = []
        while batches := self.drain():
            found += batches
        return found
