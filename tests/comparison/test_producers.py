"""InitProducerId and DescribeProducers."""

from __future__ import annotations

import pytest

from kafka_aio.protocol.messages.transactions import (
    DescribeProducersRequest,
    InitProducerIdRequest,
    TopicRequest,
)
from kafka_aio.records.layout import ProducerStamp
from tests.comparison.batches import batch
from tests.comparison.sides import Both


def describes(topic: str, *partitions: int) -> DescribeProducersRequest:
    return DescribeProducersRequest(
        topics=[TopicRequest(name=topic, partition_indexes=list(partitions))]
    )


def test_a_new_producer(both: Both) -> None:
    for side in both:
        side.producer()
        side.ask_in_each_version(
            InitProducerIdRequest(transactional_id=None, transaction_timeout_ms=60_000)
        )

    both.agree()


@pytest.mark.parametrize(("number", "epoch"), [(5, 0), (5, -1), (-1, 5), (2**40, 7)])
def test_a_producer_that_was_one_before(both: Both, number: int, epoch: int) -> None:
    for side in both:
        side.producer()
        side.ask_in_each_version(
            InitProducerIdRequest(
                transactional_id=None,
                transaction_timeout_ms=60_000,
                producer_id=number,
                producer_epoch=epoch,
            )
        )

    both.agree()


def test_an_empty_transactional_id(both: Both) -> None:
    for side in both:
        side.producer()
        side.ask_in_each_version(
            InitProducerIdRequest(transactional_id="", transaction_timeout_ms=60_000)
        )

    both.agree()


def test_who_wrote_to_a_partition(both: Both) -> None:
    name = both.name("producers")
    for side in both:
        topic = side.topic(name, 2)
        number = side.producer()
        side.ask(describes(name, 0, 1))
        topic.produce(batch(1_000, 2_000, stamp=ProducerStamp(number, 0, 0)))
        topic.produce(batch(3_000))
        side.ask(describes(name, 0, 1))
        topic.produce(batch(4_000, stamp=ProducerStamp(number, 1, 0)))
        side.ask(describes(name, 0))

    both.agree()


@pytest.mark.parametrize("partition", [1, -1])
def test_producers_of_what_does_not_exist(both: Both, partition: int) -> None:
    name = both.name("producers")
    for side in both:
        side.topic(name)
        side.ask(describes(name, partition))
        side.ask(describes(both.name("nowhere"), partition))
        side.ask(describes("no name/of a topic", 0))

    both.agree()
