from __future__ import annotations

import asyncio
import random
from contextlib import suppress
from math import inf

import pytest

from kafka_aio.errors import KafkaConnectionError, KafkaTimeoutError
from kafka_aio.net.connection import Connection
from kafka_aio.net.limits import Traffic
from kafka_aio.protocol.messages.groups import HeartbeatRequest, HeartbeatResponse
from tests.net.exchanges import (
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
from tests.net.server import PATIENCE, Broker, until

# The queue.


@pytest.mark.parametrize("limit", [1, 3])
async def test_no_more_requests_are_in_flight_than_allowed(broker: Broker, limit: int) -> None:
    async with broker.connected(max_in_flight=limit) as (connection, _):
        tasks = [start(connection, number) for number in range(8)]
        most = 0
        for _ in tasks:
            asked = await broker.next()
            await turns()
            most = max(most, len(broker.seen) - asked.message.generation_id)
            asked.answer(answer_to(asked.message.generation_id))

        answers = await asyncio.gather(*tasks)

        assert most == limit
        assert [answer.error_code for answer in answers] == list(range(8))
        assert numbers(broker) == list(range(8))
        assert connection.in_flight == 0


async def test_who_comes_later_does_not_overtake_those_in_the_queue(broker: Broker) -> None:
    traffic = Traffic()
    async with broker.connected(traffic, max_in_flight=1) as (connection, _):
        tasks = [start(connection, number) for number in range(2)]
        asked = await broker.next()
        broker.reactions[HeartbeatRequest] = answer_in_kind
        asked.answer(answer_to(0))
        await until(lambda: traffic.answers == 1)  # there is room, and 1 has not run yet
        await connection.send(numbered(2), deadline=inf)
        await asyncio.gather(*tasks)

        assert numbers(broker) == [0, 1, 2]


async def test_those_in_the_queue_count_as_work_to_do(broker: Broker) -> None:
    async with broker.connected(max_in_flight=1) as (connection, _):
        tasks = [start(connection, number) for number in range(3)]
        await turns()
        waiting = connection.in_flight
        for _ in tasks:
            await answered(broker)
        await asyncio.gather(*tasks)

        assert waiting == 3
        assert connection.in_flight == 0


async def test_a_deadline_that_passes_in_the_queue_ends_that_request_alone(broker: Broker) -> None:
    async with broker.connected(max_in_flight=1) as (connection, _):
        tasks = [start(connection, 0), start(connection, 1, seconds=0.03), start(connection, 2)]
        asked = await broker.next()

        (error,) = await errors_of(tasks[1:2])
        asked.answer(answer_to(0))
        await answered(broker)

        assert isinstance(error, KafkaTimeoutError)
        assert not error.indefinite
        assert str(error) == (
            f"127.0.0.1:{broker.port}: Heartbeat was not sent in time:"
            " 1 requests before it are not answered yet"
        )
        assert [(await task).error_code for task in (tasks[0], tasks[2])] == [0, 2]
        assert numbers(broker) == [0, 2]


async def test_a_request_that_cannot_be_written_makes_room_for_the_next(broker: Broker) -> None:
    async with broker.connected(max_in_flight=1) as (connection, _):
        tasks = [start(connection, 0), start(connection, 2**31), start(connection, 2)]
        await answered(broker)
        with pytest.raises(ValueError, match="generation_id"):
            await tasks[1]

        await answered(broker)

        assert (await tasks[2]).error_code == 2
        await tasks[0]


async def test_what_is_posted_waits_for_its_turn_and_takes_no_place(broker: Broker) -> None:
    async with broker.connected(max_in_flight=1) as (connection, _):
        first = start(connection, 0)
        posts = [asyncio.create_task(connection.post(produced(1), deadline=inf)) for _ in range(3)]
        last = start(connection, 4)
        asked = await broker.next()
        await turns()
        early = len(broker.seen)
        asked.answer(answer_to(0))
        await asyncio.gather(first, *posts)
        for _ in posts:
            await broker.next()
        await answered(broker)

        assert early == 1
        assert (await last).error_code == 4


async def test_closing_in_the_turn_in_which_there_is_room_is_closing_before_it(
    broker: Broker,
) -> None:
    traffic = Traffic()
    async with broker.connected(traffic, max_in_flight=1) as (connection, _):
        tasks = [start(connection, number) for number in range(3)]
        (await broker.next()).answer(answer_to(0))
        await until(lambda: traffic.answers == 1)
        connection.close(KafkaConnectionError("broken"))

        errors = await errors_of(tasks[1:])

        assert (await tasks[0]).error_code == 0
        assert [error.indefinite for error in errors] == [False, False]
        assert numbers(broker) == [0]


# Cancellation.


async def test_a_request_cancelled_in_the_queue_is_not_sent(broker: Broker) -> None:
    async with broker.connected(max_in_flight=1) as (connection, _):
        tasks = [start(connection, number) for number in range(3)]
        asked = await broker.next()
        tasks[1].cancel()
        await asyncio.wait(tasks[1:2])
        asked.answer(answer_to(0))
        await answered(broker)

        assert (await tasks[2]).error_code == 2
        assert (await tasks[0]).error_code == 0
        assert numbers(broker) == [0, 2]


async def test_a_request_cancelled_when_its_turn_has_come_passes_the_turn_on(
    broker: Broker,
) -> None:
    traffic = Traffic()
    async with broker.connected(traffic, max_in_flight=1) as (connection, _):
        tasks = [start(connection, number) for number in range(3)]
        (await broker.next()).answer(answer_to(0))
        await until(lambda: traffic.answers == 1)
        tasks[1].cancel()
        await answered(broker)

        assert (await tasks[2]).error_code == 2
        assert tasks[1].cancelled()
        assert numbers(broker) == [0, 2]
        assert traffic.dropped == 0


async def test_the_answer_to_a_request_cancelled_in_flight_is_dropped(broker: Broker) -> None:
    traffic = Traffic()
    async with broker.connected(traffic, max_in_flight=1) as (connection, _):
        task = start(connection, 0)
        asked = await broker.next()
        task.cancel()
        await asyncio.wait([task])
        following = start(connection, 1)
        await turns()
        still_in_flight = len(broker.seen)
        asked.answer(answer_to(0))
        await answered(broker)

        assert still_in_flight == 1
        assert (await following).error_code == 1
        assert (traffic.answers, traffic.dropped) == (2, 1)
        assert connection.in_flight == 0


async def test_a_request_cancelled_after_its_answer_came_is_counted_as_dropped(
    broker: Broker,
) -> None:
    traffic = Traffic()
    async with broker.connected(traffic) as (connection, _):
        task = start(connection, 0)
        (await broker.next()).answer(answer_to(0))
        await until(lambda: traffic.answers == 1)
        task.cancel()
        await asyncio.wait([task])

        assert task.cancelled()
        assert traffic.dropped == 1
        assert await ask(connection, broker, 1) == answer_to(1)


async def test_a_request_cancelled_when_the_connection_breaks_complains_to_nobody(
    broker: Broker,
) -> None:
    async with broker.connected(max_in_flight=1) as (connection, _):
        tasks = [start(connection, number) for number in range(2)]
        await broker.next()
        connection.close(KafkaConnectionError("broken"))
        for task in tasks:
            task.cancel()
        await asyncio.wait(tasks)

        assert [task.cancelled() for task in tasks] == [True, True]


@pytest.mark.parametrize("seed", range(5))
async def test_whoever_is_cancelled_the_others_get_their_answers(broker: Broker, seed: int) -> None:
    broker.reactions[HeartbeatRequest] = answer_in_kind
    rng = random.Random(seed)
    async with broker.connected(max_in_flight=3) as (connection, _):
        tasks = [start(connection, number) for number in range(60)]
        cancelled = set()
        for number in rng.sample(range(60), 30):
            await turns(rng.randrange(6))
            if tasks[number].cancel():
                cancelled.add(number)

        kept = [number for number in range(60) if number not in cancelled]
        assert [(await tasks[number]).error_code for number in kept] == kept
        assert cancelled
        assert numbers(broker) == sorted(numbers(broker))
        assert (await start(connection, 99)).error_code == 99
        assert connection.in_flight == 0


# One at a time.


async def exchange(connection: Connection, number: int) -> HeartbeatResponse:
    deadline = asyncio.get_running_loop().time() + PATIENCE
    return await connection.exchange(numbered(number), 3, deadline=deadline)


async def test_while_one_has_the_connection_for_itself_the_others_wait(broker: Broker) -> None:
    async with broker.connected() as (connection, _):
        async with connection.exclusive():
            waiting = [start(connection, number) for number in (8, 9)]
            for number in (1, 2):
                own = asyncio.create_task(exchange(connection, number))
                await answered(broker)
                assert (await own).error_code == number
        for _ in waiting:
            await answered(broker)

        assert [(await task).error_code for task in waiting] == [8, 9]
        assert numbers(broker) == [1, 2, 8, 9]


async def alone(connection: Connection, number: int) -> HeartbeatResponse:
    async with connection.exclusive():
        return await exchange(connection, number)


async def test_who_wants_the_connection_for_itself_waits_for_the_answers_due_before(
    broker: Broker,
) -> None:
    async with broker.connected() as (connection, _):
        before = [start(connection, number) for number in (0, 1)]
        asked = [await broker.next() for _ in before]
        own = asyncio.create_task(alone(connection, 2))
        await turns()
        after = start(connection, 3)
        asked[0].answer(answer_to(0))
        await before[0]
        await turns()
        early = numbers(broker)
        asked[1].answer(answer_to(1))
        await answered(broker)
        await answered(broker)

        assert early == [0, 1]
        assert [(await task).error_code for task in (*before, own, after)] == [0, 1, 2, 3]
        assert numbers(broker) == [0, 1, 2, 3]


async def test_who_wants_the_connection_for_itself_waits_for_the_end_of_a_pause(
    broker: Broker,
) -> None:
    async with broker.connected() as (connection, _):
        first = start(connection, 0)
        asked = await broker.next()
        own = asyncio.create_task(alone(connection, 1))
        await turns()
        asked.answer(throttled(60))
        await first
        began = asyncio.get_running_loop().time()
        await answered(broker)
        await own

        assert seconds_since(began) >= 0.055


async def test_who_wants_the_connection_for_itself_learns_that_it_is_lost(broker: Broker) -> None:
    async with broker.connected() as (connection, peer):
        before = start(connection, 0)
        await broker.next()
        own = asyncio.create_task(alone(connection, 1))
        await turns()
        peer.close()

        errors = await errors_of([before, own])

        assert {type(error) for error in errors} == {KafkaConnectionError}
        assert [error.indefinite for error in errors] == [True, False]


async def test_who_does_not_want_the_connection_for_itself_any_more_lets_the_others_go_on(
    broker: Broker,
) -> None:
    async with broker.connected() as (connection, _):
        before = start(connection, 0)
        asked = await broker.next()
        own = asyncio.create_task(alone(connection, 1))
        await turns()
        after = start(connection, 2)
        await turns()
        own.cancel()
        following = await broker.next()
        asked.answer(answer_to(0))
        answer_in_kind(following)

        assert [(await task).error_code for task in (before, after)] == [0, 2]
        assert own.cancelled()
        assert numbers(broker) == [0, 2]


async def test_those_whose_turn_had_come_wait_too_and_keep_their_order(broker: Broker) -> None:
    traffic = Traffic()
    async with broker.connected(traffic, max_in_flight=2) as (connection, peer):
        tasks = [start(connection, number) for number in range(6)]
        asked = [await broker.next() for _ in range(2)]
        peer.write(b"".join(each.framed(answer_to(n)) for n, each in enumerate(asked)))
        await until(lambda: traffic.answers == 2)  # there is room for 2 and 3, which did not run
        async with connection.exclusive():
            own = asyncio.create_task(exchange(connection, 100))
            await answered(broker)
            await own
        for _ in range(4):
            await answered(broker)

        assert [(await task).error_code for task in tasks] == list(range(6))
        assert numbers(broker) == [0, 1, 100, 2, 3, 4, 5]


async def test_a_deadline_meanwhile_says_why(broker: Broker) -> None:
    async with broker.connected() as (connection, _):
        async with connection.exclusive():
            (error,) = await errors_of([start(connection, 1, seconds=0.03)])

        assert "the connection authenticates itself anew" in str(error)
        assert not error.indefinite


async def test_the_others_go_on_also_after_a_failure(broker: Broker) -> None:
    async with broker.connected() as (connection, _):
        waiting = None
        with suppress(ZeroDivisionError):
            async with connection.exclusive():
                waiting = start(connection, 1)
                await turns()
                raise ZeroDivisionError
        assert waiting is not None
        await answered(broker)

        assert (await waiting).error_code == 1
