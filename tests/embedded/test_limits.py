from __future__ import annotations

import asyncio
import struct
from collections.abc import Callable
from contextlib import AsyncExitStack

import pytest

from kafka_aio.broker import EmbeddedBroker, connection
from kafka_aio.protocol.messages.fetch import FetchResponse
from tests.embedded.client import VERSIONS, Client, connected, connections, fetch, framed, produce

MEBIBYTE = 2**20


async def eventually(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(10):
        while not condition():  # noqa: ASYNC110 - the broker has no events for tests
            await asyncio.sleep(0.005)


async def test_there_are_no_more_connections_than_allowed() -> None:
    async with (
        EmbeddedBroker(options={"max.connections": 2}) as broker,
        connected(broker) as first,
        connected(broker) as second,
    ):
        await first.ask(VERSIONS)
        await second.ask(VERSIONS)

        async with connected(broker) as third:
            await third.wait_closed()

        assert (await first.ask(VERSIONS)).error_code == 0
        first.writer.close()
        await eventually(lambda: len(connections(broker)) == 1)
        async with connected(broker) as fourth:
            assert (await fourth.ask(VERSIONS)).error_code == 0
        assert broker.statistics().connections_made == 4


async def test_a_connection_that_is_gone_keeps_no_memory_for_what_it_was_sent() -> None:
    async with EmbeddedBroker() as broker:
        async with connected(broker) as client:
            await client.ask(VERSIONS)
            (gone,) = connections(broker)
            assert len(gone._inbox._memory) > 0

        await eventually(lambda: not connections(broker))

        assert len(gone._inbox._memory) == 0


async def test_a_frame_is_no_larger_than_allowed() -> None:
    async with (
        EmbeddedBroker(options={"socket.request.max.bytes": 1000}) as broker,
        connected(broker) as client,
    ):
        await client.ask(VERSIONS)
        client.write(struct.pack(">i", 1001))

        await client.wait_closed()


async def test_who_does_not_log_in_in_time_is_let_go(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection, "LOGIN_SECONDS", 0.05)
    async with (
        EmbeddedBroker(users={"alice": "secret"}, mechanisms=["PLAIN"]) as broker,
        connected(broker) as client,
    ):
        await client.ask(VERSIONS)

        await client.wait_closed()


async def test_who_says_nothing_for_long_is_let_go_but_not_who_waits_for_an_answer(
    broker: EmbeddedBroker, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connection, "IDLE_SECONDS", 0.1)
    async with connected(broker) as idle, connected(broker) as waiting:
        waiting.send(fetch(max_wait_ms=500), version=12)

        await idle.wait_closed()

        assert (await waiting.answer(fetch(), version=12)).error_code == 0
        await waiting.wait_closed()


# Large requests.


def large_frame(number: int) -> bytes:
    """It is answered with an error, as no record may be so large."""
    return framed(produce(bytes(3 * MEBIBYTE)), number, version=12)


def memory_of(broker: EmbeddedBroker) -> int:
    return sum(len(each._inbox._memory) for each in connections(broker))


async def test_large_requests_of_many_clients_together_take_bounded_memory() -> None:
    count = 10
    async with (
        EmbeddedBroker(options={"queued.max.request.bytes": MEBIBYTE}) as broker,
        AsyncExitStack() as stack,
    ):
        clients = [await stack.enter_async_context(connected(broker)) for _ in range(count)]
        for number, client in enumerate(clients):
            client.write(large_frame(number)[:-1])
        await eventually(lambda: sum(not each._is_reading for each in connections(broker)) == 9)

        assert memory_of(broker) < 4 * MEBIBYTE + count * 2**18

        for number, client in enumerate(clients):
            client.write(large_frame(number)[-1:])
        assert sorted([await client.next_id() for client in clients]) == list(range(count))
        assert memory_of(broker) < count * 2**18
        assert broker._listening().shared.large.used == 0


async def test_who_waits_for_memory_goes_on_when_another_is_gone() -> None:
    async with (
        EmbeddedBroker(options={"queued.max.request.bytes": MEBIBYTE}) as broker,
        connected(broker) as waits,
        connected(broker) as small,
    ):
        async with connected(broker) as first:
            first.write(large_frame(1)[:-1])
            await eventually(lambda: broker._listening().shared.large.used > 0)
            waits.write(large_frame(2))
            await eventually(lambda: not all(each._is_reading for each in connections(broker)))
            assert (await small.ask(VERSIONS)).error_code == 0

        assert await waits.next_id() == 2


async def test_who_waits_for_memory_and_goes_keeps_nobody_from_it() -> None:
    async with (
        EmbeddedBroker(options={"queued.max.request.bytes": MEBIBYTE}) as broker,
        connected(broker) as first,
        connected(broker) as last,
    ):
        first.write(large_frame(1)[:-1])
        await eventually(lambda: broker._listening().shared.large.used > 0)
        async with connected(broker) as goes:
            goes.write(large_frame(2))
            await eventually(lambda: not all(each._is_reading for each in connections(broker)))
            (waiting,) = [each for each in connections(broker) if not each._is_reading]
            last.write(large_frame(3))
            waiting.abort()

        first.write(large_frame(1)[-1:])

        assert [await first.next_id(), await last.next_id()] == [1, 3]


async def test_memory_for_large_requests_is_kept_for_the_next_one_but_not_for_very_large_ones(
    broker: EmbeddedBroker, client: Client
) -> None:
    await client.ask(produce(bytes(3 * MEBIBYTE)), version=12)
    assert memory_of(broker) == 4 * MEBIBYTE

    await client.ask(produce(bytes(5 * MEBIBYTE)), version=12)
    assert memory_of(broker) == 0


# A client that sends and does not read.


def stopped(client: Client) -> None:
    client.writer.transport.pause_reading()  # type: ignore[attr-defined]  # of a socket, it does


def reading(client: Client) -> None:
    client.writer.transport.resume_reading()  # type: ignore[attr-defined]  # of a socket, it does


async def test_requests_of_a_client_that_does_not_read_are_not_carried_out(
    broker: EmbeddedBroker, client: Client
) -> None:
    broker.produce("t", [bytes(MEBIBYTE // 2)] * 2)
    count = 100
    stopped(client)
    for _ in range(count):
        client.send(fetch(), version=12)
    await eventually(lambda: not connections(broker)[0]._is_free)
    await asyncio.sleep(0.05)

    done = broker.statistics().apis["Fetch"].requests
    assert done < count / 2
    (open_one,) = connections(broker)
    assert open_one._transport is not None
    assert open_one._transport.get_write_buffer_size() < 3 * MEBIBYTE

    reading(client)

    for number in range(1, count + 1):
        assert await client.next_id() == number


async def test_what_is_sent_behind_a_request_that_waits_takes_bounded_memory(
    broker: EmbeddedBroker, client: Client
) -> None:
    client.send(fetch(max_wait_ms=60_000), version=12)
    await eventually(lambda: connections(broker)[0]._call is not None)
    count = 200
    for _ in range(count):
        client.send(produce(bytes(50_000)), version=12)
    await eventually(lambda: not connections(broker)[0]._is_reading)

    (open_one,) = connections(broker)
    assert len(open_one._inbox._memory) <= 2**18
    assert client.writer.transport.get_write_buffer_size() > MEBIBYTE

    broker.produce("t", [b"go"])

    for number in range(1, count + 2):
        assert await client.next_id() == number
    assert broker.end_offsets("t") == {("t", 0): count + 1}


async def test_a_client_that_goes_while_its_request_waits_leaves_nothing(
    broker: EmbeddedBroker,
) -> None:
    async with connected(broker) as client:
        client.send(fetch(max_wait_ms=60_000), version=12)
        await eventually(lambda: connections(broker)[0]._call is not None)
    await eventually(lambda: not connections(broker))

    broker.produce("t", [b"for nobody"])

    async with connected(broker) as other:
        answer: FetchResponse = await other.ask(fetch(), version=12)
        assert answer.responses[0].partitions[0].records


async def test_who_does_not_read_the_last_answers_is_let_go_in_time(
    broker: EmbeddedBroker, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connection, "CLOSE_SECONDS", 0.05)
    broker.produce("t", [bytes(MEBIBYTE // 2)] * 2)
    stopped(client)
    for _ in range(20):
        client.send(fetch(), version=12)
    await eventually(lambda: bool(connections(broker)) and connections(broker)[0]._is_full)

    connections(broker)[0].close()

    await eventually(lambda: not connections(broker))


async def test_many_clients_are_served_at_once(broker: EmbeddedBroker) -> None:
    async def work(number: int) -> int:
        async with connected(broker) as client:
            for turn in range(20):
                client.send(produce(f"{number}-{turn}".encode()), version=12)
            return len([await client.next_id() for _ in range(20)])

    assert sum(await asyncio.gather(*(work(number) for number in range(30)))) == 600
    values = [record.value for record in broker.records("t")]
    assert len(set(values)) == 600
    for number in range(30):
        mine = [value for value in values if value and value.startswith(f"{number}-".encode())]
        assert mine == [f"{number}-{turn}".encode() for turn in range(20)]


async def test_closing_the_broker_closes_all_connections() -> None:
    async with (
        EmbeddedBroker(topics={"t": 1}) as broker,
        connected(broker) as idle,
        connected(broker) as waiting,
        connected(broker) as mid,
    ):
        await idle.ask(VERSIONS)
        waiting.send(fetch(max_wait_ms=60_000), version=12)
        mid.write(framed(VERSIONS)[:7])
        await eventually(lambda: len(connections(broker)) == 3)

        await broker.aclose()

        for client in (idle, waiting, mid):
            await client.wait_closed()


async def test_nothing_is_kept_of_a_fetch_whose_client_has_gone() -> None:
    async with EmbeddedBroker(topics={"t": 1}) as broker:
        state = broker._state
        before, due = repr(state.waiting), repr(state.agenda)
        async with connected(broker) as client:
            client.send(fetch(max_wait_ms=2**31 - 1), version=12)
            while repr(state.waiting) == before:  # noqa: ASYNC110 - there is no event for it
                await asyncio.sleep(0)
        while broker.statistics().connections:  # noqa: ASYNC110 - nor for this
            await asyncio.sleep(0)

        assert (repr(state.waiting), repr(state.agenda)) == (before, due)
