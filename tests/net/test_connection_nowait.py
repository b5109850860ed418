"""Requests that are written in the step in which they are asked for, and that nobody awaits."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from math import inf
from typing import Any

import pytest

from kafka_aio.errors import (
    KafkaConnectionError,
    KafkaTimeoutError,
    ProtocolError,
    UnsupportedVersion,
)
from kafka_aio.net.connection import Connection
from kafka_aio.net.limits import Traffic
from kafka_aio.protocol.versions import BrokerVersions
from tests.net.exchanges import (
    MIB,
    Told,
    answer_in_kind,
    answer_to,
    answered,
    ask,
    errors_of,
    numbered,
    numbers,
    produced,
    seconds_since,
    start,
    throttled,
    turns,
)
from tests.net.server import PATIENCE, Asked, Broker, Peer, until

SOON = 0.05


def send(connection: Connection, number: int, told: Any, *, seconds: float = PATIENCE) -> None:
    deadline = asyncio.get_running_loop().time() + seconds
    connection.send_nowait(numbered(number), told, deadline=deadline)


def reported() -> list[dict[str, Any]]:
    """What the loop is told of callbacks that fail, from now on."""
    contexts: list[dict[str, Any]] = []
    loop = asyncio.get_running_loop()
    loop.set_exception_handler(lambda _, context: contexts.append(context))
    return contexts


def nonsense_for(asked: Asked) -> bytes:
    """A frame with the right number, and nothing else in it."""
    return b"\0\0\0\4" + asked.correlation_id.to_bytes(4, "big")


# Answers.


async def test_it_is_written_at_once_and_its_answer_comes_to_the_callback(broker: Broker) -> None:
    traffic = Traffic()
    async with broker.connected(traffic) as (connection, _):
        told = Told()
        send(connection, 7, told)
        written = traffic.requests
        asked = await broker.next()
        early = len(told)
        answer_in_kind(asked)
        await until(lambda: traffic.answers == 1)  # the very step in which it came

        assert (written, early) == (1, 0)
        assert told.answers == [answer_to(7)]
        assert told.errors == []
        assert connection.in_flight == 0


async def test_each_callback_gets_its_own_answer_in_order(broker: Broker) -> None:
    async with broker.connected() as (connection, peer):
        told = Told()
        for number in range(5):
            send(connection, number, told)
        asked = [await broker.next() for _ in range(5)]
        peer.write(b"".join(each.framed(answer_to(n)) for n, each in enumerate(asked)))
        await until(lambda: len(told) == 5)

        assert told.answers == [answer_to(number) for number in (0, 1, 2, 3, 4)]


async def test_it_keeps_to_the_highest_version_that_is_asked_for(broker: Broker) -> None:
    async with broker.connected() as (connection, _):
        told = Told()
        connection.send_nowait(numbered(0), told, deadline=inf, at_most=1)
        asked = await broker.next()
        answer_in_kind(asked)
        await until(lambda: len(told) == 1)

        assert asked.version == 1


async def test_without_a_callback_no_answer_is_awaited(broker: Broker) -> None:
    async with broker.connected(max_in_flight=1) as (connection, _):
        for _ in range(3):
            connection.send_nowait(produced(10), None, deadline=inf)
        in_flight = connection.in_flight
        for _ in range(3):
            await broker.next()

        assert in_flight == 0
        assert connection.can_send
        assert await ask(connection, broker, 4) == answer_to(4)


async def test_its_answer_does_not_count_as_one_that_waits_to_be_read(broker: Broker) -> None:
    async with broker.connected() as (connection, _):
        told = Told()
        send(connection, 0, told)
        await answered(broker)
        await until(lambda: len(told) == 1)

        assert connection._untaken == 0


async def test_a_throttle_in_its_answer_is_honoured(broker: Broker) -> None:
    async with broker.connected() as (connection, _):
        told, free = Told(), asyncio.Event()
        send(connection, 0, told)
        (await broker.next()).answer(throttled(60))
        await until(lambda: len(told) == 1)
        began = asyncio.get_running_loop().time()
        could_send, why = connection.can_send, connection.why_not()
        connection.when_free(free.set)
        async with asyncio.timeout(PATIENCE):
            await free.wait()

        assert not could_send
        assert why == "the broker asked us to pause (a quota)"
        assert seconds_since(began) >= 0.05
        assert connection.can_send


# Failures.


async def test_a_lost_connection_is_told_to_each_and_may_have_carried_it_out(
    broker: Broker,
) -> None:
    async with broker.connected() as (connection, peer):
        told = [Told(), Told()]
        for number, each in enumerate(told):
            send(connection, number, each)
            await broker.next()
        peer.close()
        await connection.wait_closed()

        assert [len(each.errors) for each in told] == [1, 1]
        errors = [each.errors[0] for each in told]
        assert all(type(error) is KafkaConnectionError for error in errors)
        assert all(error.indefinite for error in errors)
        assert errors[0] is not errors[1]
        assert str(errors[0]) == f"{connection.peer}: the broker closed the connection"


async def test_one_without_an_answer_in_time_ends_the_connection(broker: Broker) -> None:
    async with broker.connected() as (connection, _):
        late, other = Told(), Told()
        send(connection, 0, other)
        send(connection, 1, late, seconds=SOON)
        await connection.wait_closed(until=asyncio.get_running_loop().time() + PATIENCE)

        for told in (late, other):
            (error,) = told.errors
            assert type(error) is KafkaTimeoutError
            assert error.indefinite
            assert "no answer to Heartbeat within" in str(error)
        assert not connection.is_open


async def test_nonsense_in_an_answer_ends_the_connection_and_all_are_told(broker: Broker) -> None:
    async with broker.connected(max_in_flight=3) as (connection, peer):
        first, second = Told(), Told()
        send(connection, 0, first)
        send(connection, 1, second)
        task = start(connection, 2)
        queued = start(connection, 3)
        asked = [await broker.next() for _ in range(3)]
        peer.write(nonsense_for(asked[0]))
        errors = await errors_of([task, queued])
        await connection.wait_closed()

        (of_first,), (of_second,) = first.errors, second.errors
        assert isinstance(of_first, ProtocolError)
        assert isinstance(of_first.__cause__, ProtocolError)
        assert isinstance(of_second, ProtocolError)
        assert [error.indefinite for error in (of_first, of_second, *errors)] == [
            *[True] * 3,
            False,
        ]
        assert first.answers == second.answers == []
        assert numbers(broker) == [0, 1, 2]


async def test_an_answer_that_came_with_nonsense_before_it_is_not_lost(broker: Broker) -> None:
    async with broker.connected() as (connection, peer):
        told = [Told(), Told(), Told()]
        for number, each in enumerate(told):
            send(connection, number, each)
        task = start(connection, 3)
        asked = [await broker.next() for _ in range(4)]
        answers = [each.framed(answer_to(number)) for number, each in enumerate(asked)]
        peer.write(b"".join([nonsense_for(asked[0]), answers[1], answers[3][:2]]))
        await connection.wait_closed()

        assert [len(each.errors) for each in told] == [1, 0, 1]
        assert told[1].answers == [answer_to(1)]
        assert len(await errors_of([task])) == 1


async def test_what_the_broker_does_not_know_is_refused_at_once(broker: Broker) -> None:
    async with broker.connected() as (connection, _):
        told = Told()
        connection.versions = BrokerVersions({3: (0, 13)})

        with pytest.raises(UnsupportedVersion, match=f"127.0.0.1:{broker.port}: Heartbeat: "):
            send(connection, 0, told)

        assert len(told) == 0
        assert connection.in_flight == 0
        assert connection.is_open


async def test_a_value_that_cannot_be_written_is_refused_and_takes_no_place(
    broker: Broker,
) -> None:
    async with broker.connected(max_in_flight=1) as (connection, _):
        told = Told()
        with pytest.raises(ValueError, match="generation_id"):
            send(connection, 2**31, told)

        assert len(told) == 0
        assert connection.can_send
        assert await ask(connection, broker, 1) == answer_to(1)


@pytest.mark.parametrize("done", [Told(), None], ids=["a callback", "no callback"])
async def test_what_cannot_be_sent_now_is_refused_at_once(
    broker: Broker, done: Told | None
) -> None:
    async with broker.connected(max_in_flight=1) as (connection, _):
        first = Told()
        send(connection, 0, first)
        asked = await broker.next()
        with pytest.raises(KafkaConnectionError) as caught:
            connection.send_nowait(produced(1), done, deadline=inf)
        answer_in_kind(asked)
        await until(lambda: len(first) == 1)

        assert not caught.value.indefinite
        assert str(caught.value) == (
            f"{connection.peer}: 1 requests before it are not answered yet"
        )
        assert numbers(broker) == [0]
        assert not done


async def test_on_a_closed_connection_it_is_refused_at_once(broker: Broker) -> None:
    async with broker.connected() as (connection, _):
        told = Told()
        connection.close(KafkaConnectionError("broken"))

        with pytest.raises(KafkaConnectionError, match="broken") as caught:
            send(connection, 0, told)

        assert not connection.can_send
        assert connection.why_not() == "broken"
        assert not caught.value.indefinite
        assert len(told) == 0


# Callbacks that fail.


def fails(response: object, error: object) -> None:
    raise ZeroDivisionError


async def test_a_callback_that_fails_at_its_answer_keeps_nothing_from_the_others(
    broker: Broker,
) -> None:
    contexts = reported()
    async with broker.connected(max_in_flight=4) as (connection, peer):
        told = Told()
        send(connection, 0, fails)
        send(connection, 1, told)
        task = start(connection, 2)
        asked = [await broker.next() for _ in range(3)]
        peer.write(b"".join(each.framed(answer_to(n)) for n, each in enumerate(asked)))

        assert (await task).error_code == 2
        assert told.answers == [answer_to(1)]
        assert await ask(connection, broker, 3) == answer_to(3)
    (context,) = contexts
    assert isinstance(context["exception"], ZeroDivisionError)
    assert context["message"] == f"{connection.peer}: a callback failed"


async def test_a_callback_that_fails_at_the_end_keeps_nothing_from_the_others(
    broker: Broker,
) -> None:
    contexts = reported()
    async with broker.connected(max_in_flight=3) as (connection, _):
        told = Told()
        send(connection, 0, fails)
        send(connection, 1, told)
        tasks = [start(connection, 2), start(connection, 3)]
        for _ in range(3):
            await broker.next()
        connection.close(KafkaConnectionError("broken"))

        assert [str(error) for error in await errors_of(tasks)] == ["broken", "broken"]
        assert [str(error) for error in told.errors] == ["broken"]
    assert [type(context["exception"]) for context in contexts] == [ZeroDivisionError]


# When it can be sent.


async def after_an_answer(connection: Connection, broker: Broker, peer: Peer) -> None:
    await answered(broker)


async def after_a_pause(connection: Connection, broker: Broker, peer: Peer) -> None:
    (await broker.next()).answer(throttled(30))


async def after_another(connection: Connection, broker: Broker, peer: Peer) -> None:
    await answered(broker)
    task = start(connection, 1)
    await answered(broker)
    await task


async def after_a_renewal(connection: Connection, broker: Broker, peer: Peer) -> None:
    async def renew() -> None:
        async with connection.exclusive():
            deadline = asyncio.get_running_loop().time() + PATIENCE
            await connection.exchange(numbered(1), 3, deadline=deadline)

    task = asyncio.create_task(renew())
    await answered(broker)
    asked = await broker.next()
    assert connection.why_not() == "the connection authenticates itself anew"
    assert not connection.can_send
    answer_in_kind(asked)
    await task


REASONS: list[Callable[[Connection, Broker, Peer], Coroutine[Any, Any, None]]] = [
    after_an_answer,
    after_a_pause,
    after_another,
    after_a_renewal,
]


@pytest.mark.parametrize("reason", REASONS)
async def test_who_does_not_wait_is_called_when_it_can_be_sent_again(
    broker: Broker, reason: Callable[[Connection, Broker, Peer], Coroutine[Any, Any, None]]
) -> None:
    async with broker.connected(max_in_flight=1) as (connection, peer):
        told = Told()
        could: list[bool] = []
        send(connection, 0, told)
        connection.when_free(lambda: could.append(connection.can_send))
        before = connection.can_send
        await reason(connection, broker, peer)
        await until(lambda: connection.can_send)

        assert not before
        assert could
        assert all(could)


async def test_who_does_not_wait_is_called_when_the_socket_takes_more(broker: Broker) -> None:
    async with broker.connected() as (connection, peer):
        could: list[bool] = []
        peer.stop_reading()
        sent = 0
        while connection.can_send and sent < 100:
            connection.send_nowait(produced(MIB), None, deadline=inf)
            sent += 1
        connection.when_free(lambda: could.append(connection.can_send))
        why = connection.why_not()
        await turns(20)
        early = list(could)
        peer.read_on()
        for _ in range(sent):
            await broker.next()
        await until(lambda: bool(could))

        assert sent < 100
        assert why == "the broker does not read what was sent before"
        assert early == []
        assert could == [True]


async def test_who_does_not_wait_is_called_at_the_end_to_look_elsewhere(broker: Broker) -> None:
    async with broker.connected() as (connection, _):
        told = Told()
        send(connection, 0, told)
        (await broker.next()).answer(throttled(5_000))  # so nothing else would tell of it
        await until(lambda: len(told) == 1)
        could: list[bool] = []
        connection.when_free(lambda: could.append(connection.can_send))
        connection.close(KafkaConnectionError("broken"))

        assert could == [False]


async def test_who_does_not_wait_is_not_called_while_others_stand_in_line(broker: Broker) -> None:
    async with broker.connected(max_in_flight=1) as (connection, _):
        called: list[int] = []
        connection.when_free(lambda: called.append(len(broker.seen)))
        tasks = [start(connection, number) for number in range(4)]
        for _ in range(2):
            await answered(broker)
        asked = await broker.next()  # the last one is in line
        early, could_send = list(called), connection.can_send
        answer_in_kind(asked)
        await answered(broker)
        await asyncio.gather(*tasks)

        assert early == []
        assert not could_send
        assert called[-1] == 4


async def test_who_does_not_wait_does_not_overtake_those_in_line(broker: Broker) -> None:
    traffic = Traffic()
    async with broker.connected(traffic, max_in_flight=1) as (connection, _):
        told = Told()
        tasks = [start(connection, number) for number in range(2)]
        (await broker.next()).answer(answer_to(0))
        await until(lambda: traffic.answers == 1)  # there is room, and 1 has not run yet
        with pytest.raises(KafkaConnectionError):
            send(connection, 2, told)
        await answered(broker)
        await asyncio.gather(*tasks)
        send(connection, 2, told)
        await answered(broker)
        await until(lambda: len(told) == 1)

        assert numbers(broker) == [0, 1, 2]


async def test_requests_of_both_kinds_are_written_and_answered_in_their_order(
    broker: Broker,
) -> None:
    async with broker.connected(max_in_flight=10) as (connection, _):
        order: list[int] = []
        told = Told()

        async def awaited(number: int) -> None:
            deadline = asyncio.get_running_loop().time() + PATIENCE
            response = await connection.send(numbered(number), deadline=deadline)
            order.append(response.error_code)

        tasks = []
        for number in range(0, 8, 2):
            send(connection, number, told)
            tasks.append(asyncio.create_task(awaited(number + 1)))
            await turns(1)
        for _ in range(8):
            await answered(broker)
        await asyncio.gather(*tasks)

        assert numbers(broker) == list(range(8))
        assert told.answers == [answer_to(number) for number in (0, 2, 4, 6)]
        assert order == [1, 3, 5, 7]
