"""Callbacks and interceptors: on the loop, after the batch is settled, and harmless (B10)."""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest

from kafka_aio.broker import EmbeddedBroker
from kafka_aio.errors import (
    KafkaError,
    KafkaTimeoutError,
    NotLeaderOrFollower,
    TopicAuthorizationFailed,
)
from kafka_aio.producer import Delivery
from tests.scenarios.producer.api_world import TOPIC, ended, producer_of, until, values, virtual


# B10
async def test_a_callback_gets_the_delivery_once_it_is_settled() -> None:
    called: list[tuple[Delivery, bool]] = []

    async with EmbeddedBroker(topics={TOPIC: 1}) as broker, producer_of(broker) as producer:
        delivery = await producer.submit(TOPIC, b"a")
        delivery.add_done_callback(lambda each: called.append((each, each.done())))
        await delivery
        delivery.add_done_callback(lambda each: called.append((each, each.done())))
        were_called = len(called)
        await until(lambda: len(called) == 2)

    assert called == [(delivery, True)] * 2
    assert were_called < 2  # never from inside the call that adds it


# B10
async def test_a_callback_may_submit_again() -> None:
    async with EmbeddedBroker(topics={TOPIC: 1}) as broker, producer_of(broker) as producer:
        submitted: list[Delivery] = []

        def again(delivery: Delivery) -> None:
            if len(submitted) < 10:
                submitted.append(producer.submit_nowait(TOPIC, b"%d" % len(submitted)))
                submitted[-1].add_done_callback(again)

        (await producer.submit(TOPIC, b"first")).add_done_callback(again)
        await until(lambda: len(submitted) == 10)
        await producer.flush()

        assert [each.result().offset for each in submitted] == list(range(1, 11))


# B10
def test_a_callback_of_a_record_whose_time_was_over_may_submit_again() -> None:
    async def main() -> None:
        async with (
            EmbeddedBroker(topics={TOPIC: 1}) as broker,
            producer_of(broker, delivery_timeout_ms=30_000, request_timeout_ms=5_000) as producer,
        ):
            await producer.partitions_for(TOPIC)
            again: list[Delivery] = []
            broker.faults.fail("Produce", NotLeaderOrFollower)
            first = producer.submit_nowait(TOPIC, b"a")
            first.add_done_callback(lambda _: again.append(producer.submit_nowait(TOPIC, b"b")))
            assert isinstance(await ended(first), KafkaTimeoutError)
            await until(lambda: bool(again))
            broker.faults.clear()
            await again[0]

            assert values(broker) == [b"b"]

    virtual(main)


# B10
async def test_a_callback_that_raises_is_logged_and_harms_nothing(
    caplog: pytest.LogCaptureFixture,
) -> None:
    called: list[Delivery] = []

    def fails(delivery: Delivery) -> None:
        raise ZeroDivisionError("mine")

    async with EmbeddedBroker(topics={TOPIC: 1}) as broker, producer_of(broker) as producer:
        for at in range(2):
            delivery = await producer.submit(TOPIC, b"%d" % at)
            delivery.add_done_callback(fails)
            delivery.add_done_callback(called.append)
            await delivery
            await until(lambda: delivery in called)  # noqa: B023 - called in this turn
        assert producer.health().is_healthy
        assert values(broker) == [b"0", b"1"]
    logged = [each for each in caplog.records if each.name == "kafka_aio.producer.user_code"]

    assert len(logged) == 2
    assert all("fails raised" in each.getMessage() and each.exc_info for each in logged)


async def test_a_callback_that_looks_at_a_failure_has_seen_it() -> None:
    seen: list[KafkaError] = []

    def look(delivery: Delivery) -> None:
        try:
            delivery.result()
        except KafkaError as error:
            seen.append(error)

    async with EmbeddedBroker(topics={TOPIC: 1}) as broker, producer_of(broker) as producer:
        await producer.partitions_for(TOPIC)
        broker.faults.fail("Produce", TopicAuthorizationFailed)
        producer.submit_nowait(TOPIC, b"a").add_done_callback(look)
        await producer.flush()
        await until(lambda: bool(seen))

    assert [type(each) for each in seen] == [TopicAuthorizationFailed]


async def test_an_interceptor_that_is_told_of_a_failure_does_not_hide_it() -> None:
    class Watches:
        """Counts."""

        def __init__(self) -> None:
            self.errors: list[Any] = []

        def on_acknowledgement(self, metadata: Any, error: Any) -> None:
            self.errors.append(error)

    watches = Watches()
    async with EmbeddedBroker(topics={TOPIC: 1}) as broker:
        broker.faults.fail("Produce", TopicAuthorizationFailed)
        with pytest.raises(KafkaError, match="1 records were not delivered, and nobody awaited"):
            async with producer_of(broker, interceptors=[watches]) as producer:
                await producer.submit(TOPIC, b"a")

    assert [type(each) for each in watches.errors] == [TopicAuthorizationFailed]


async def test_callbacks_are_called_in_the_order_of_the_records() -> None:
    called: list[int] = []

    def note(at: int, delivery: Delivery) -> None:
        called.append(at)

    async with EmbeddedBroker(topics={TOPIC: 1}) as broker, producer_of(broker) as producer:
        await producer.partitions_for(TOPIC)
        for at in range(50):
            delivery = producer.submit_nowait(TOPIC, b"x" * 1_000)
            delivery.add_done_callback(partial(note, at))
        await producer.flush()
        await until(lambda: len(called) == 50)

    assert called == list(range(50))
