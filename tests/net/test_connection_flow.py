from __future__ import annotations

import asyncio
import gc
from math import inf

import pytest

from kafka_aio.errors import KafkaConnectionError, KafkaTimeoutError
from kafka_aio.net import connection as connections
from kafka_aio.net.limits import Traffic
from tests.net.exchanges import (
    FETCH,
    MIB,
    answer_to,
    answered,
    ask,
    errors_of,
    fetched,
    numbers,
    produced,
    seconds_since,
    start,
    throttled,
    turns,
)
from tests.net.server import PATIENCE, Broker, until


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


async def test_the_memory_of_an_answer_is_free_when_its_reader_lets_go_of_it(
    broker: Broker,
) -> None:
    async with broker.connected() as (connection, _):
        deadline = asyncio.get_running_loop().time() + PATIENCE
        seen = []
        gc.disable()  # a cycle would keep the frame until it runs
        try:
            for _ in range(4):
                task = asyncio.create_task(connection.send(FETCH, deadline=deadline))
                (await broker.next()).answer(fetched(MIB))
                response = await task
                records = response.responses[0].partitions[0].records
                assert isinstance(records, memoryview)
                seen.append(id(records.obj))
                del response, task, records
        finally:
            gc.enable()

        assert len(set(seen)) == 1


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


# Throttling.


async def test_a_broker_that_asks_for_a_pause_gets_it(broker: Broker) -> None:
    traffic = Traffic()
    async with broker.connected(traffic) as (connection, _):
        first = start(connection, 0)
        (await broker.next()).answer(throttled(60))
        await first
        began = asyncio.get_running_loop().time()
        following = start(connection, 1)
        await answered(broker)
        await following

        assert seconds_since(began) >= 0.055
        assert connection.throttled_until == pytest.approx(began + 0.06, abs=0.05)
        assert traffic.throttled == 0.06


async def test_who_waits_in_the_queue_waits_for_the_pause_too(broker: Broker) -> None:
    async with broker.connected(max_in_flight=1) as (connection, _):
        tasks = [start(connection, number) for number in range(3)]
        (await broker.next()).answer(throttled(60))
        await tasks[0]
        began = asyncio.get_running_loop().time()
        await answered(broker)
        pause = seconds_since(began)
        await answered(broker)

        assert pause >= 0.05
        assert [(await task).error_code for task in tasks] == [0, 1, 2]
        assert numbers(broker) == [0, 1, 2]


@pytest.mark.parametrize("milliseconds", [1, 2, 3, 7])
async def test_the_pause_always_ends(broker: Broker, milliseconds: int) -> None:
    # uvloop counts whole milliseconds, and wakes up a little before the time.
    async with broker.connected(frame_timeout=milliseconds / 1000 - 0.0006) as (connection, _):
        for number in range(5):
            task = start(connection, number)
            (await broker.next()).answer(throttled(milliseconds, error_code=number))
            async with asyncio.timeout(PATIENCE):
                assert (await task).error_code == number


async def test_a_pause_is_not_longer_than_a_frame_may_take(broker: Broker) -> None:
    traffic = Traffic()
    async with broker.connected(traffic, frame_timeout=0.05) as (connection, _):
        first = start(connection, 0)
        (await broker.next()).answer(throttled(2**31 - 1))
        await first
        following = start(connection, 1)
        await answered(broker)

        assert (await following).error_code == 1
        assert traffic.throttled == 0.05


async def test_a_deadline_in_a_pause_says_that_the_broker_asked_for_it(broker: Broker) -> None:
    async with broker.connected() as (connection, _):
        first = start(connection, 0)
        (await broker.next()).answer(throttled(30_000))
        await first

        (error,) = await errors_of([start(connection, 1, seconds=0.03)])

        assert "the broker asked us to pause (a quota)" in str(error)
        assert not error.indefinite


async def test_closing_ends_the_pause_for_those_who_wait(broker: Broker) -> None:
    async with broker.connected() as (connection, _):
        first = start(connection, 0)
        (await broker.next()).answer(throttled(30_000))
        await first
        waiting = [start(connection, number) for number in (1, 2)]
        await turns()
        connection.close()

        errors = await errors_of(waiting)

        assert {type(error) for error in errors} == {KafkaConnectionError}
        assert not any(error.indefinite for error in errors)


async def test_a_pause_is_of_one_connection_alone(broker: Broker) -> None:
    async with broker.connected() as (slow, _), broker.connected() as (fast, _):
        first = start(slow, 0)
        (await broker.next()).answer(throttled(30_000))
        await first

        assert await ask(fast, broker, 1) == answer_to(1)
        assert fast.throttled_until == 0.0


async def test_a_shorter_pause_does_not_end_a_longer_one(broker: Broker) -> None:
    async with broker.connected() as (connection, peer):
        tasks = [start(connection, number) for number in range(2)]
        asked = [await broker.next() for _ in tasks]
        peer.write(asked[0].framed(throttled(80)) + asked[1].framed(throttled(1)))
        await asyncio.gather(*tasks)
        began = asyncio.get_running_loop().time()
        following = start(connection, 2)
        await answered(broker)
        await following

        assert seconds_since(began) >= 0.07


@pytest.mark.parametrize("milliseconds", [0, -5])
async def test_no_pause_is_no_pause(broker: Broker, milliseconds: int) -> None:
    async with broker.connected() as (connection, _):
        first = start(connection, 0)
        (await broker.next()).answer(throttled(milliseconds))
        await first

        assert connection.throttled_until == 0.0
        assert await ask(connection, broker, 1) == answer_to(1)
