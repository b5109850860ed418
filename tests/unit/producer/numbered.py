"""Batches to be numbered, for the tests of `Sequences`."""

from __future__ import annotations

from dataclasses import dataclass

from kafka_aio.errors import KafkaConnectionError
from kafka_aio.producer.sequences import Sequences
from kafka_aio.records.layout import UNSTAMPED, ProducerStamp
from kafka_aio.types import TopicPartition

ORDERS = TopicPartition("orders", 0)
BILLS = TopicPartition("bills", 3)
ID = 7


@dataclass(eq=False)
class Batch:
    """As much of a batch as is numbered."""

    record_count: int = 1
    partition: TopicPartition = ORDERS
    stamp: ProducerStamp = UNSTAMPED

    @property
    def sequence(self) -> int:
        return self.stamp.base_sequence


def begun() -> Sequences:
    """With an id, on a partition that has acknowledged the number 0."""
    sequences = Sequences()
    sequences.identified(ID, 0)
    deliver(sequences, Batch())
    return sequences


def deliver(sequences: Sequences, *batches: Batch) -> None:
    for batch in batches:
        sequences.stamp(batch)
        sequences.delivered(batch)


def send(sequences: Sequences, count: int, partition: TopicPartition = ORDERS) -> list[Batch]:
    batches = [Batch(partition=partition) for _ in range(count)]
    for batch in batches:
        sequences.stamp(batch)
    return batches


def come_back(sequences: Sequences, *batches: Batch) -> None:
    for batch in batches:
        assert sequences.came_back(batch, KafkaConnectionError("lost"))
