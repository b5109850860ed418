from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from math import inf

import pytest

from kafka_aio.errors import KafkaTimeoutError
from kafka_aio.net import connection as connections
from kafka_aio.net.connection import Traffic
from tests.net.exchanges import FETCH, MIB, answer_to, ask, errors_of, fetched, produced, start
from tests.net.server import PATIENCE, Broker, until


@pytest.fixture
async def broker() -> AsyncIterator[Broker]:
    async with Broker().listening() as listening:
        yield listening


async def test_reading_pauses_while_too_many_bytes_wait_for_their_tasks(broker: Broker) -> None:
    traffic = Traffic()
    async with broker.connected(traffic) as (connection, _):
        deadline = asyncio.get_running_loop().time() + PATIENCE
        task = asyncio.create_task(connection.send(FETCH, deadline=deadline))
        (await broker.next()).answer(fetched(connections.UNTAKEN_LIMIT))
        assert connection.transport is not None

        await until(lambda: traffic.answers == 1)
        was_reading = connection.transport.is_reading()
        await task

        assert not was_reading
        assert connection.transport.is_reading()
        assert await ask(connection, broker) == answer_to(0)


async def test_reading_goes_on_when_the_task_that_should_take_the_answer_is_cancelled(
    broker: Broker,
) -> None:
    traffic = Traffic()
    async with broker.connected(traffic) as (connection, _):
        deadline = asyncio.get_running_loop().time() + PATIENCE
        task = asyncio.create_task(connection.send(FETCH, deadline=deadline))
        (await broker.next()).answer(fetched(connections.UNTAKEN_LIMIT))

        await until(lambda: traffic.answers == 1)
        task.cancel()
        await asyncio.wait([task])

        assert task.cancelled()
        assert traffic.dropped == 1
        assert await ask(connection, broker) == answer_to(0)


async def test_a_peer_that_does_not_read_makes_the_others_wait(broker: Broker) -> None:
    async with broker.connected() as (connection, peer):
        peer.stop_reading()
        await connection.post(produced(8 * MIB), deadline=inf)

        with pytest.raises(KafkaTimeoutError, match="the broker does not read") as caught:
            await start(connection, 1, seconds=0.05)

        assert not caught.value.indefinite
        task = start(connection, 2)
        await asyncio.sleep(0)
        peer.read_on()
        await broker.next()
        (await broker.next()).answer(answer_to(2))
        assert (await task).error_code == 2


async def test_what_was_given_to_a_peer_that_does_not_read_is_overdue_in_the_end(
    broker: Broker,
) -> None:
    async with broker.connected() as (connection, peer):
        peer.stop_reading()
        deadline = asyncio.get_running_loop().time() + 0.05
        task = asyncio.create_task(connection.send(produced(8 * MIB), deadline=deadline))

        (error,) = await errors_of([task])

        assert isinstance(error, KafkaTimeoutError)
        assert error.indefinite
        peer.read_on()
        await peer.wait_gone()


async def test_a_peer_that_does_not_read_cannot_keep_the_connection_open(
    broker: Broker, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connections, "CLOSE_SECONDS", 0.05)
    async with broker.connected() as (connection, peer):
        peer.stop_reading()
        await connection.post(produced(8 * MIB), deadline=inf)

        async with asyncio.timeout(PATIENCE):
            await connection.aclose()

        peer.read_on()
        await peer.wait_gone()


async def test_closing_that_is_cancelled_leaves_no_socket_behind(broker: Broker) -> None:
    async with broker.connected() as (connection, peer):
        peer.stop_reading()
        await connection.post(produced(8 * MIB), deadline=inf)
        closing = asyncio.create_task(connection.aclose())
        await asyncio.sleep(0)
        closing.cancel()
        await asyncio.wait([closing])

        assert await connection.wait_closed(until=asyncio.get_running_loop().time() + 0.5)
        peer.read_on()
