"""Topics that change while records are sent to them."""

from __future__ import annotations

import asyncio

import pytest

from kafka_aio.broker import EmbeddedBroker
from kafka_aio.errors import ClusterAuthorizationFailed, LeaderNotAvailable
from tests.scenarios.producer.api_world import ended, is_at_rest, producer_of, values


async def test_a_topic_that_is_not_led_for_a_moment_keeps_the_order_of_calls() -> None:
    async with (
        EmbeddedBroker(topics={"t": 1}) as broker,
        producer_of(broker, linger_ms=200, batch_size=300) as producer,
    ):
        await producer.send("t", b"first")
        broker.faults.fail("Metadata", LeaderNotAvailable, topic="t", times=1)
        await producer._cluster.refresh(["t"])
        sizes = [100, 250, 20, 30]  # the second does not fit the batch that the third would
        await asyncio.gather(*(producer.send("t", bytes(size), key=b"k") for size in sizes))

        assert [len(value or b"") for value in values(broker)] == [5, *sizes]


async def test_a_topic_made_anew_with_fewer_partitions_gets_records_in_those_alone() -> None:
    async with (
        EmbeddedBroker(topics={"t": 9}) as broker,
        producer_of(broker, delivery_timeout_ms=5_000, request_timeout_ms=2_000) as producer,
    ):
        keys = [b"%d" % number for number in range(40)]
        await producer.send_many("t", keys, keys=keys)
        broker.delete_topic("t")
        broker.create_topic("t", 2)
        await producer._cluster.refresh(["t"])
        sent = await producer.send_many("t", keys, keys=keys)
        unkeyed = [await producer.send("t", b"") for _ in range(3)]

        assert {each.result().partition for each in sent} == {0, 1}
        assert all(place.partition < 2 for place in unkeyed)
        assert is_at_rest(producer)


async def test_a_fatal_answer_for_one_partition_leaves_what_is_said_of_the_others() -> None:
    # B27
    async with EmbeddedBroker(topics={"t": 3}) as broker:
        producer = producer_of(broker, linger_ms=60_000)
        await producer.start()
        await producer.partitions_for("t")
        broker.faults.fail("Produce", ClusterAuthorizationFailed, topic="t", partition=0)
        sent = [await producer.submit("t", b"v", partition=number) for number in range(3)]
        await producer.flush()  # all three in one request
        outcomes = await asyncio.gather(*sent, return_exceptions=True)

        assert isinstance(outcomes[0], ClusterAuthorizationFailed)
        assert [getattr(each, "offset", each) for each in outcomes[1:]] == [0, 0]
        with pytest.raises(ClusterAuthorizationFailed):
            await producer.send("t", b"later")
        await ended(producer.aclose())
