"""Another subscription: what is not wanted any more is not handed over; one change at a time."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from kafka_aio import Consumer
from kafka_aio.broker import EmbeddedBroker
from kafka_aio.errors import DeserializationError, StateError
from kafka_aio.types import TopicPartition
from tests.scenarios.consumer.grouped import GROUP, PROTOCOLS, options_of
from tests.scenarios.consumer.world import committed as committed_of
from tests.scenarios.consumer.world import consumer_of, consuming, failure, values
from tests.scenarios.producer.delivering import on_virtual_time

T0, U0 = TopicPartition("t", 0), TopicPartition("u", 0)
TOPICS = {"t": 1, "u": 1}

by_protocol = pytest.mark.parametrize("protocol", [*PROTOCOLS, None])


def options(protocol: str | None) -> dict[str, Any]:
    """None is a consumer without a group."""
    return {} if protocol is None else {"group_id": GROUP, **options_of(protocol)}


async def topics_read(consumer: Consumer[Any, Any], way: str) -> list[str]:
    """The topics of the next records, up to the first of "u"."""
    found: list[str] = []
    async with asyncio.timeout(60):
        while "u" not in found:
            if way == "async for":
                found.append((await anext(consumer)).topic)
            elif way == "poll":
                found += [name.topic for name in await consumer.poll()]
            else:
                found.append((await anext(consumer.batches())).topic)
    return found


@pytest.mark.parametrize("way", ["async for", "poll", "batches"])
@by_protocol
@on_virtual_time
async def test_no_record_of_a_topic_comes_that_is_not_subscribed_to_any_more(
    protocol: str | None, way: str
) -> None:
    async with EmbeddedBroker(topics=TOPICS) as broker:
        for _ in range(20):
            broker.produce("t", values(1_000))
        broker.produce("u", values(10))
        async with consumer_of(broker, "t", **options(protocol)) as consumer:
            before = [(await anext(consumer)).topic for _ in range(3)]
            consumer.subscribe(["u"])
            owned = set(consumer.assignment())
            after = await topics_read(consumer, way)

        assert (before, owned) == (["t"] * 3, {T0})
        assert set(after) == {"u"}


@pytest.mark.parametrize("protocol", PROTOCOLS)
@on_virtual_time
async def test_what_was_handed_over_before_is_committed_when_it_is_revoked(protocol: str) -> None:
    async with EmbeddedBroker(topics=TOPICS) as broker:
        broker.produce("t", values(100))
        broker.produce("u", values(1))
        more = {"auto_commit_interval_ms": 10**6, **options(protocol)}
        async with consumer_of(broker, "t", **more) as consumer:
            for _ in range(3):
                await anext(consumer)
            consumer.subscribe(["u"])
            await anext(consumer)

            assert consumer.assignment() == {U0}
            assert committed_of(broker) == {T0: 3}


@by_protocol
@on_virtual_time
async def test_a_topic_that_is_wanted_again_goes_on_where_it_was(protocol: str | None) -> None:
    async with EmbeddedBroker(topics=TOPICS) as broker:
        broker.produce("t", values(100))
        async with consumer_of(broker, "t", **options(protocol)) as consumer:
            found = [(await anext(consumer)).offset for _ in range(3)]
            consumer.subscribe(["u"])
            consumer.subscribe(["u", "t"])
            found += [(await anext(consumer)).offset for _ in range(97)]

        assert found == list(range(100))


@on_virtual_time
async def test_an_error_of_a_topic_that_is_not_subscribed_to_any_more_is_not_raised() -> None:
    async with EmbeddedBroker(topics=TOPICS) as broker:
        broker.produce("t", [b"1", b"x"])
        broker.produce("u", [b"7"])
        more = {"value_deserializer": int, **options("consumer")}
        async with consumer_of(broker, "t", **more) as consumer:
            await consumer.poll()
            consumer.subscribe(["u"])
            found = await consumer.poll()

        assert [record.value for record in found[U0]] == [7]


@on_virtual_time
async def test_an_error_of_a_topic_that_is_wanted_again_is_raised() -> None:
    async with EmbeddedBroker(topics=TOPICS) as broker:
        broker.produce("t", [b"1", b"x"])
        more = {"value_deserializer": int, **options("consumer")}
        async with consumer_of(broker, "t", **more) as consumer:
            await consumer.poll()
            consumer.subscribe(["u"])
            consumer.subscribe(["t"])
            error = await failure(consumer.poll())

        assert isinstance(error, DeserializationError)


# One change at a time.


@pytest.mark.parametrize("protocol", PROTOCOLS)
@on_virtual_time
async def test_who_is_unsubscribing_cannot_be_subscribed_meanwhile(protocol: str) -> None:
    async with EmbeddedBroker(topics=TOPICS) as broker:
        broker.produce("t", values(1))
        broker.produce("u", values(1))
        async with consumer_of(broker, "t", **options(protocol)) as consumer:
            await anext(consumer)
            leaving = asyncio.create_task(consumer.unsubscribe())
            await asyncio.sleep(0)
            with pytest.raises(StateError, match="unsubscribe"):
                consumer.subscribe(["u"])
            await leaving
            consumer.subscribe(["u"])
            record = await anext(consumer)

        assert record.topic == "u"


@on_virtual_time
async def test_who_is_unsubscribing_cannot_be_assigned_partitions_meanwhile() -> None:
    async with consuming(T0, topics=TOPICS, group_id=GROUP) as (broker, consumer):
        broker.produce("t", values(1))
        await anext(consumer)
        await consumer.poll(timeout=0)
        leaving = asyncio.create_task(consumer.unsubscribe())
        await asyncio.sleep(0)
        with pytest.raises(StateError, match="unsubscribe"):
            consumer.assign([U0])
        await leaving
        consumer.assign([U0])

        assert consumer.assignment() == {U0}


@on_virtual_time
async def test_an_unsubscribing_that_is_cut_short_can_be_followed_by_another_subscription() -> None:
    async with EmbeddedBroker(topics=TOPICS) as broker:
        broker.produce("t", values(1))
        async with consumer_of(broker, "t", **options("classic")) as consumer:
            await anext(consumer)
            leaving = asyncio.create_task(consumer.unsubscribe())
            await asyncio.sleep(0)
            leaving.cancel()
            await asyncio.wait([leaving])
            consumer.subscribe(["u"])

            assert consumer.subscription() == {"u"}
