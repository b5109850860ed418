"""Batches to a Produce request, and its answer back to the batches. Pure."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from kafka_aio.errors import BrokerError, DeliveryError, KafkaError, for_code
from kafka_aio.producer.batch import Batch
from kafka_aio.protocol.messages.produce import (
    PartitionProduceData,
    PartitionProduceResponse,
    ProduceRequest,
    ProduceResponse,
    TopicProduceData,
)
from kafka_aio.protocol.schema import NO_UUID, Uuid
from kafka_aio.types import TopicPartition

_BY_NAME: Final = 12
"""The last version of Produce in which topics are named; later ones have their ids."""


def produce(
    batches: Sequence[Batch],
    *,
    acks: int,
    timeout: float,
    topic_id: Callable[[str], Uuid | None],
) -> tuple[ProduceRequest, int | None]:
    """The request with these finished batches, and the highest version that it can have.

    Each topic has its name and its id: a version writes one of them.
    """
    topics: dict[str, TopicProduceData] = {}
    at_most: int | None = None
    for batch in batches:
        name, partition = batch.partition
        topic = topics.get(name)
        if topic is None:
            found = topic_id(name)
            if found is None:
                at_most = _BY_NAME
            topic = TopicProduceData(name=name, topic_id=found or NO_UUID, partition_data=[])
            topics[name] = topic
        topic.partition_data.append(PartitionProduceData(index=partition, records=batch.wire))
    request = ProduceRequest(
        acks=acks, timeout_ms=int(timeout * 1000), topic_data=list(topics.values())
    )
    return request, at_most


def answers(
    batches: Sequence[Batch], response: ProduceResponse, topic_name: Callable[[Uuid], str | None]
) -> list[tuple[Batch, PartitionProduceResponse | None]]:
    """What the broker says of each batch; None where it says nothing."""
    told = {
        TopicPartition(topic.name or topic_name(topic.topic_id) or "", each.index): each
        for topic in response.responses
        for each in topic.partition_responses
    }
    return [(batch, told.get(batch.partition)) for batch in batches]


def blamed(
    batch: Batch, error: BrokerError, answer: PartitionProduceResponse
) -> tuple[KafkaError, dict[int, KafkaError]]:
    """The error of a batch, and those of its records that the broker blames (KIP-467), by index.

    Where it blames some, the others were refused with them, and could be sent again.
    """
    where = str(batch.partition)
    by_index: dict[int, KafkaError] = {
        each.batch_index: for_code(
            error.code, each.batch_index_error_message or answer.error_message, where
        )
        for each in answer.record_errors
    }
    if not by_index:
        return error, by_index
    others = DeliveryError(
        f"{where}: refused for the sake of other records of its batch: {error}",
        count=batch.record_count - len(by_index),
        causes=(error,),
    )
    others.__cause__ = error
    return others, by_index
