"""When the Sender writes: only what its connection takes at once, and as soon as it does."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from typing import Any

import pytest

from kafka_aio.broker import EmbeddedBroker
from kafka_aio.errors import (
    ClusterAuthorizationFailed,
    DeliveryError,
    KafkaError,
    Persistence,
    StateError,
)
from kafka_aio.producer import Delivery, Producer
from kafka_aio.producer import sender as sender_module
from kafka_aio.producer.batch import Batch
from kafka_aio.producer.settling import Settling
from kafka_aio.records.compression import Compression
from kafka_aio.testing import VirtualLoop
from tests.scenarios.producer.api_world import ended, is_at_rest, producer_of, until
from tests.scenarios.producer.delivering import (
    TOPIC,
    batch_sizes,
    delivering,
    failure,
    now,
    on_virtual_time,
    submitted,
    values,
)

AT_ONCE = 1.0
"""Seconds: dialling takes less, and so does an answer."""
LARGE = 150_000
"""More than a socket takes at once."""


async def throttle(broker: EmbeddedBroker, producer: Producer[Any, Any], seconds: int) -> None:
    """Have a record answered with the wish for a pause, which begins now."""
    with broker.faults.throttle("Produce", seconds * 1_000, times=1):
        await producer.send(TOPIC, b"first")


# Pauses that the broker asks for.


@on_virtual_time
async def test_in_a_pause_nothing_is_drained_and_more_records_join_the_batch() -> None:
    async with delivering() as (broker, producer):
        await throttle(broker, producer, 10)
        start = now()
        (early,) = await submitted(producer, b"a")
        await asyncio.sleep(4)
        late = await submitted(producer, b"b", b"c")
        await asyncio.sleep(4)
        in_flight = producer.statistics().in_flight
        await asyncio.gather(early, *late)

        assert in_flight == 0
        assert 9 < now() - start < 10 + AT_ONCE
        assert batch_sizes(broker) == [1, 3]
        assert producer.statistics().retried == 0


@on_virtual_time
async def test_the_reason_for_a_pause_is_said(caplog: pytest.LogCaptureFixture) -> None:
    async with delivering() as (broker, producer):
        await throttle(broker, producer, 9)
        (delivery,) = await submitted(producer, b"a")
        with caplog.at_level(logging.WARNING, sender_module.__name__):
            await asyncio.sleep(4)
            early = producer.health()
            await asyncio.sleep(2)
            later = producer.health()
            await delivery

        reason = "the broker asked us to pause (a quota)"
        assert early.is_healthy
        assert (later.is_healthy, later.reason) == (False, f"t-0: {reason}")
        said = [each.getMessage() for each in caplog.records if each.name == sender_module.__name__]
        assert said == [f"t-0: records are not acknowledged for 5.0 s, still trying: {reason}"]
        assert producer.health().is_healthy


@on_virtual_time
async def test_a_connection_that_is_lost_in_a_pause_is_made_anew_at_once() -> None:
    async with delivering() as (broker, producer):
        await throttle(broker, producer, 25)
        (delivery,) = await submitted(producer, b"a")
        await asyncio.sleep(1)
        start = now()
        broker.close_connections()  # nothing is in flight, whose failure would tell
        await delivery

        assert now() - start < AT_ONCE
        assert values(broker) == [b"first", b"a"]


# Sockets that take no more.


@on_virtual_time
async def test_what_a_broker_does_not_read_is_not_drained_and_all_arrives_later() -> None:
    options: dict[str, Any] = {"batch_size": 100_000, "max_in_flight_requests_per_connection": 5}
    async with delivering(**options) as (broker, producer):
        await producer.send(TOPIC, b"first")
        hole = VirtualLoop.running().network.black_hole()
        records = [bytes([number]) * LARGE for number in range(20)]
        deliveries = await submitted(producer, *records)
        await asyncio.sleep(10)
        found = producer.statistics()
        hole.heal()
        await asyncio.gather(*deliveries)

        assert found.in_flight == 1
        assert found.batches == 20
        assert values(broker) == [b"first", *records]
        assert producer.statistics().retried == 0


@on_virtual_time
async def test_a_broker_that_does_not_read_is_said_to_be_so() -> None:
    options: dict[str, Any] = {"acks": 0, "enable_idempotence": False, "batch_size": 100_000}
    async with delivering(**options) as (broker, producer):
        await producer.send(TOPIC, b"first")
        hole = VirtualLoop.running().network.black_hole()
        records = [bytes([number]) * LARGE for number in range(5)]
        deliveries = await submitted(producer, *records)
        await asyncio.sleep(6)
        done = [each.done() for each in deliveries]
        health = producer.health()
        hole.heal()
        await asyncio.gather(*deliveries)
        await until(lambda: len(values(broker)) == 6)

        assert done == [True, *[False] * 4]
        assert health.reason == "t-0: the broker does not read what was sent before"
        assert values(broker) == [b"first", *records]


# Requests of others.


@on_virtual_time
async def test_who_waits_for_the_answer_to_another_request_lets_records_join() -> None:
    topics = {TOPIC: 1, "other": 1}
    options: dict[str, Any] = {"max_in_flight_requests_per_connection": 1}
    async with EmbeddedBroker(topics=topics) as broker, producer_of(broker, **options) as producer:
        await producer.send(TOPIC, b"first")
        with broker.faults.hold("Metadata") as hold:
            asking = asyncio.create_task(producer.partitions_for("other"))
            await broker.wait_hits(hold)
            deliveries = await submitted(producer, b"a")
            await asyncio.sleep(1)
            deliveries += await submitted(producer, b"b")
            await asyncio.sleep(5)
            in_flight, reason = producer.statistics().in_flight, producer.health().reason
        start = now()
        await asyncio.gather(asking, *deliveries)

        assert in_flight == 0
        assert reason == "t-0: 1 requests before it are not answered yet"
        assert now() - start < AT_ONCE
        assert batch_sizes(broker) == [1, 2]


@on_virtual_time
async def test_who_waits_for_a_re_authentication_goes_on_after_it() -> None:
    login = {
        "security_protocol": "SASL_PLAINTEXT",
        "sasl_mechanism": "PLAIN",
        "sasl_username": "alice",
        "sasl_password": "alice-secret",
    }
    async with (
        EmbeddedBroker(
            topics={TOPIC: 1},
            users={"alice": "alice-secret"},
            options={"connections.max.reauth.ms": 60_000},
        ) as broker,
        producer_of(broker, **login) as producer,
    ):
        await producer.send(TOPIC, b"first")
        made = broker.statistics().connections_made
        with broker.faults.hold("SaslAuthenticate") as hold:
            await broker.wait_hits(hold, timeout=60)
            deliveries = await submitted(producer, b"a")
            await asyncio.sleep(3)
            deliveries += await submitted(producer, b"b")
            await asyncio.sleep(3)
            in_flight, reason = producer.statistics().in_flight, producer.health().reason
        start = now()
        await asyncio.gather(*deliveries)

        assert in_flight == 0
        assert reason == "t-0: the connection authenticates itself anew"
        assert now() - start < AT_ONCE
        assert batch_sizes(broker) == [1, 2]
        assert broker.statistics().connections_made == made


# Ends.


@on_virtual_time
async def test_a_bug_in_settling_ends_the_producer_and_every_delivery_is_told(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def fails(*_: object) -> None:
        raise ZeroDivisionError("of a bug")

    async with delivering(topics={TOPIC: 2}, linger_ms=60_000) as (_, producer):
        monkeypatch.setattr(Settling, "answered", fails)
        in_flight = await submitted(producer, b"x" * 20_000, partition=0)
        open_ones = await submitted(producer, b"a", b"b", partition=1)
        async with asyncio.timeout(5):
            errors = [await failure(each) for each in (*in_flight, *open_ones)]
        with pytest.raises(StateError) as later:
            await producer.send(TOPIC, b"c")

        text = "the producer ended by a failure of its own: ZeroDivisionError"
        assert [str(each) for each in errors] == [
            f"t-0: {text} (possibly persisted)",
            *[f"t-1: {text} (not persisted)"] * 2,
        ]
        assert str(later.value) == text
        assert {type(each.__cause__) for each in (*errors, later.value)} == {ZeroDivisionError}
        assert producer.health().state == "failed"
        assert is_at_rest(producer)


@on_virtual_time
async def test_what_ends_the_producer_is_told_at_once_while_others_stand_in_line() -> None:
    topics = {TOPIC: 2, "other": 1}
    options: dict[str, Any] = {"max_in_flight_requests_per_connection": 1, "linger_ms": 60_000}
    async with EmbeddedBroker(topics=topics) as broker:
        producer = producer_of(broker, **options)
        await producer.start()
        await producer.partitions_for(TOPIC)
        broker.faults.fail("Produce", ClusterAuthorizationFailed)
        with broker.faults.hold("Produce") as hold, broker.faults.hold("Metadata"):
            await submitted(producer, b"x" * 20_000, partition=0)
            (lingering,) = await submitted(producer, b"a", partition=1)
            await broker.wait_hits(hold)
            asking = asyncio.create_task(ended(producer.partitions_for("other")))
            await asyncio.sleep(1)
            hold.release()
            start = now()
            error = await failure(lingering)
            took = now() - start
        await asking
        await ended(producer.aclose())

        assert isinstance(error, ClusterAuthorizationFailed)
        assert took < AT_ONCE


@pytest.mark.parametrize("is_numbered", [True, False], ids=["numbered", "not numbered"])
@pytest.mark.parametrize("when", ["before", "after"])
@on_virtual_time
async def test_after_a_forced_close_nothing_changes_any_more(when: Any, is_numbered: bool) -> None:
    called: list[Delivery] = []
    async with delivering(enable_idempotence=is_numbered) as (broker, producer):
        await producer.send(TOPIC, b"first")
        with broker.faults.hold("Produce", when=when) as hold:
            (delivery,) = await submitted(producer, b"a")
            delivery.add_done_callback(called.append)
            await broker.wait_hits(hold)
            with pytest.raises(DeliveryError):
                await producer.aclose(timeout=0)
            before = producer.statistics()
        await asyncio.sleep(60)

        error = await failure(delivery)
        assert isinstance(error, StateError)
        assert error.persistence is Persistence.POSSIBLY_PERSISTED
        assert called == [delivery]
        assert producer.statistics() == before
        assert (before.delivered, before.failed, before.retried) == (1, 1, 0)
        assert is_at_rest(producer)


@on_virtual_time
async def test_an_answer_that_comes_while_it_closes_by_force_changes_nothing() -> None:
    async with delivering() as (broker, producer):
        await producer.send(TOPIC, b"first")
        (delivery,) = await submitted(producer, b"a")
        await until(lambda: producer.statistics().in_flight == 1)
        producer._sender._abandon()
        error = await failure(delivery)
        await until(lambda: producer.statistics().in_flight == 0)

        assert isinstance(error, KafkaError)
        assert values(broker) == [b"first", b"a"]
        assert producer.statistics().delivered == 1
        assert is_at_rest(producer)


@on_virtual_time
async def test_a_connection_that_is_lost_while_batches_are_compressed_costs_no_attempt(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    compressed: list[int] = []
    finish = sender_module._finish

    def finish_late(batches: Sequence[Batch], compression: Compression) -> None:
        finish(batches, compression)
        compressed.append(len(batches))
        if len(compressed) == 1:
            loop.network.cut()

    loop = VirtualLoop.running()
    options: dict[str, Any] = {"compression_type": "gzip", "batch_size": 200_000, "retries": 0}
    async with delivering(topics={TOPIC: 2}, linger_ms=10, **options) as (broker, producer):
        for partition in range(2):
            await producer.send(TOPIC, b"first", partition=partition)
        monkeypatch.setattr(sender_module, "_finish", finish_late)
        start = now()
        records = [bytes([number]) * LARGE for number in range(2)]
        deliveries = [
            await producer.submit(TOPIC, value, partition=at) for at, value in enumerate(records)
        ]
        found = await asyncio.gather(*deliveries)

        assert compressed[0] == 2
        assert [each.offset for each in found] == [1, 1]
        assert values(broker) == [b"first", records[0], b"first", records[1]]
        assert producer.statistics().retried == 0
        assert now() - start < AT_ONCE


@on_virtual_time
async def test_a_forced_close_does_not_wait_for_what_is_compressed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    options: dict[str, Any] = {"compression_type": "gzip", "batch_size": 200_000}
    async with delivering(**options) as (broker, producer):
        await producer.send(TOPIC, b"first")
        loop = asyncio.get_running_loop()
        never: asyncio.Future[None] = loop.create_future()
        monkeypatch.setattr(loop, "run_in_executor", lambda *_: never)
        (delivery,) = await submitted(producer, bytes(LARGE))
        await asyncio.sleep(1)
        start = now()
        with pytest.raises(DeliveryError):
            await producer.aclose(timeout=0)

        assert isinstance(await failure(delivery), StateError)
        assert now() - start < AT_ONCE
        assert values(broker) == [b"first"]
        assert is_at_rest(producer)
