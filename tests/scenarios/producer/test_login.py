"""A cluster that does not let us in any more: whoever waits for it is told, and at once."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from kafka_aio.broker import EmbeddedBroker
from kafka_aio.config import Secret
from kafka_aio.errors import Persistence, SaslAuthenticationFailed
from kafka_aio.producer import Producer
from tests.scenarios.producer.delivering import (
    TOPIC,
    delivering,
    leader_of,
    now,
    on_virtual_time,
    outcome,
    submitted,
    values,
)

LOGIN: dict[str, Any] = {
    "security_protocol": "SASL_PLAINTEXT",
    "sasl_mechanism": "PLAIN",
    "sasl_username": "alice",
    "sasl_password": "alice-secret",
}
AT_ONCE = 2.0
"""Seconds; delivery_timeout_ms is 120 of them."""


@asynccontextmanager
async def logged_in(**options: Any) -> AsyncIterator[tuple[EmbeddedBroker, Producer[Any, Any]]]:
    """A broker and a producer that has sent a record to each of the two partitions of "t"."""
    users = {"alice": "alice-secret"}
    async with delivering(users=users, topics={TOPIC: 2}, **LOGIN, **options) as found:
        for partition in range(2):
            await found[1].send(TOPIC, b"before", partition=partition)
        yield found


async def refuse(broker: EmbeddedBroker) -> None:
    """Give the user another password, close the connections, and let the producer notice."""
    broker._state.users.passwords["alice"] = Secret("another-secret")
    broker.close_connections()
    await asyncio.sleep(1)


@on_virtual_time
async def test_batches_that_wait_to_be_sent_fail_at_once() -> None:
    async with logged_in(linger_ms=60_000) as (broker, producer):
        waiting = await submitted(producer, b"a", b"b", partition=0)
        await refuse(broker)
        start = now()
        flushing = asyncio.create_task(producer.flush())
        found = [await outcome(delivery) for delivery in waiting]
        await flushing

        assert found == [(SaslAuthenticationFailed, Persistence.NOT_PERSISTED)] * 2
        assert now() - start < AT_ONCE
        assert values(broker) == [b"before"] * 2


@on_virtual_time
async def test_a_batch_that_was_on_its_way_fails_at_once_and_may_be_there() -> None:
    async with logged_in() as (broker, producer):
        held = broker.faults.hold("Produce", when="after")
        (delivery,) = await submitted(producer, b"a", partition=0)
        await broker.wait_hits(held)
        start = now()
        await refuse(broker)

        assert await outcome(delivery) == (
            SaslAuthenticationFailed,
            Persistence.POSSIBLY_PERSISTED,
        )
        assert now() - start < AT_ONCE
        assert values(broker) == [b"before", b"a", b"before"]


@on_virtual_time
async def test_the_error_does_not_show_the_password() -> None:
    async with logged_in() as (broker, producer):
        await refuse(broker)
        (delivery,) = await submitted(producer, b"a", partition=0)
        (error,) = await asyncio.gather(delivery, return_exceptions=True)

        assert isinstance(error, SaslAuthenticationFailed)
        assert "secret" not in f"{error} {error!r}"


@on_virtual_time
async def test_what_waits_for_another_node_is_delivered() -> None:
    async with logged_in(nodes=2, linger_ms=5_000) as (broker, producer):
        refusing, other = [await leader_of(producer, partition) for partition in range(2)]
        broker.faults.fail("SaslAuthenticate", SaslAuthenticationFailed, node=refusing)
        broker.close_connections(refusing)
        await asyncio.sleep(1)  # it has noticed
        (lingering,) = await submitted(producer, b"b", partition=1)
        (full,) = await submitted(producer, bytes(20_000), partition=0)

        assert refusing != other
        assert await outcome(full) == (SaslAuthenticationFailed, Persistence.NOT_PERSISTED)
        assert not lingering.done()
        await lingering
        assert values(broker) == [b"before", b"before", b"b"]


@on_virtual_time
async def test_once_we_are_let_in_again_records_are_delivered() -> None:
    async with logged_in() as (broker, producer):
        await refuse(broker)
        (refused,) = await submitted(producer, b"a", partition=0)
        await outcome(refused)
        broker._state.users.passwords["alice"] = Secret("alice-secret")
        await producer.send(TOPIC, b"b", partition=0)

        assert values(broker) == [b"before", b"b", b"before"]
