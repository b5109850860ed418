from __future__ import annotations

import asyncio
import socket
import struct
from math import inf

import pytest

from kafka_aio.errors import (
    AuthenticationError,
    CorrelationIdError,
    KafkaConnectionError,
    ProtocolError,
    SerializationError,
    UnsupportedVersion,
)
from kafka_aio.net.connection import Connection, address_text
from kafka_aio.net.limits import Limits, Traffic
from kafka_aio.protocol.messages.metadata import MetadataRequest
from kafka_aio.protocol.messages.produce import ProduceRequest
from kafka_aio.protocol.versions import BrokerVersions
from tests.net.exchanges import (
    FETCH,
    MIB,
    answer_to,
    ask,
    errors_of,
    fetched,
    numbered,
    produced,
    start,
)
from tests.net.peers import serving
from tests.net.server import HOST, PATIENCE, Broker, until

# Answers.


async def test_each_request_gets_its_own_answer(broker: Broker) -> None:
    async with broker.connected() as (connection, peer):
        tasks = [start(connection, number) for number in range(5)]
        asked = [await broker.next() for _ in tasks]
        glued = b"".join(each.framed(answer_to(n)) for n, each in enumerate(asked))
        peer.write(glued)

        answers = await asyncio.gather(*tasks)

        assert [each.message.generation_id for each in asked] == [0, 1, 2, 3, 4]
        assert [answer.error_code for answer in answers] == [0, 1, 2, 3, 4]


async def test_an_answer_may_come_byte_by_byte(broker: Broker) -> None:
    async with broker.connected() as (connection, peer):
        task = start(connection)
        asked = await broker.next()

        await peer.drip(asked.framed(answer_to(7)), pause=0)

        assert (await task).error_code == 7


async def test_the_highest_version_that_both_speak_is_used(broker: Broker) -> None:
    async with broker.connected(client_id="me") as (connection, _):
        connection.versions = BrokerVersions({12: (0, 3)})
        await ask(connection, broker)
        deadline = asyncio.get_running_loop().time() + PATIENCE
        task = asyncio.create_task(connection.send(numbered(0), deadline=deadline, at_most=1))
        (await broker.next()).answer(answer_to(0))
        await task

        assert [asked.version for asked in broker.seen] == [3, 1]
        assert [asked.client_id for asked in broker.seen] == ["me", "me"]


async def test_a_request_that_the_broker_does_not_know_is_not_sent(broker: Broker) -> None:
    async with broker.connected() as (connection, _):
        connection.versions = BrokerVersions({3: (0, 13)})

        with pytest.raises(UnsupportedVersion, match=f"127.0.0.1:{broker.port}: Heartbeat: "):
            await connection.send(numbered(0), deadline=inf)

        known = await connection.send(MetadataRequest(topics=[]), deadline=inf)
        assert known.cluster_id == "scripted"
        assert len(broker.seen) == 1


async def test_a_request_that_cannot_be_encoded_fails_alone(broker: Broker) -> None:
    async with broker.connected() as (connection, _):
        before = start(connection, 1)
        asked = await broker.next()
        (error,) = await errors_of([start(connection, 2**31)])
        after = start(connection, 3)
        later = await broker.next()
        asked.answer(answer_to(1))
        later.answer(answer_to(3))

        assert isinstance(error, SerializationError)
        assert isinstance(error, ValueError)
        assert not error.indefinite
        assert str(error) == (
            "not sent: HeartbeatRequest v4: generation_id: 2147483648 is not a int32"
        )
        assert [(await each).error_code for each in (before, after)] == [1, 3]
        assert connection.in_flight == 0


async def test_what_is_posted_and_cannot_be_encoded_fails_alone(broker: Broker) -> None:
    async with broker.connected() as (connection, _):
        wrong = ProduceRequest(acks=0, timeout_ms=2**31, topic_data=[])
        with pytest.raises(SerializationError, match="timeout_ms: 2147483648 is not a int32"):
            await connection.post(wrong, deadline=inf)

        assert (await ask(connection, broker, 3)).error_code == 3


async def test_a_failure_that_is_not_of_the_encoding_is_not_taken_for_one(
    broker: Broker, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with broker.connected() as (connection, _):

        def fail(*_: object) -> None:
            raise ValueError("a bug")

        monkeypatch.setattr(connection, "_write", fail)
        with pytest.raises(ValueError, match=r"^a bug$") as caught:
            await connection.post(produced(1), deadline=inf)

        assert not isinstance(caught.value, SerializationError)


async def test_a_request_without_a_deadline_can_wait_for_ever(broker: Broker) -> None:
    async with broker.connected(max_in_flight=1) as (connection, _):
        first = asyncio.create_task(connection.send(numbered(1), deadline=inf))
        second = asyncio.create_task(connection.send(numbered(2), deadline=inf))
        (await broker.next()).answer(answer_to(1))
        (await broker.next()).answer(answer_to(2))

        assert (await first, await second) == (answer_to(1), answer_to(2))


async def test_requests_and_answers_may_be_large(broker: Broker) -> None:
    async with broker.connected() as (connection, _):
        deadline = asyncio.get_running_loop().time() + PATIENCE
        await connection.post(produced(3 * MIB), deadline=deadline)
        posted = await broker.next()
        sizes = [0, 40_000, 3 * MIB, 8 * MIB, 40_000]
        tasks = [asyncio.create_task(connection.send(FETCH, deadline=deadline)) for _ in sizes]
        for size in sizes:
            (await broker.next()).answer(fetched(size))

        answers = await asyncio.gather(*tasks)

        assert len(posted.message.topic_data[0].partition_data[0].records) == 3 * MIB
        records = [answer.responses[0].partitions[0].records for answer in answers]
        assert [len(each) for each in records if each is not None] == sizes


async def test_what_is_posted_has_no_answer(broker: Broker) -> None:
    async with broker.connected() as (connection, _):
        await connection.post(produced(10), deadline=inf)
        await broker.next()

        assert await ask(connection, broker) == answer_to(0)
        assert [asked.correlation_id for asked in broker.seen] == [1, 2]


async def test_traffic_is_counted(broker: Broker) -> None:
    traffic = Traffic()
    async with broker.connected(traffic) as (connection, _):
        task = start(connection)
        asked = await broker.next()
        asked.answer(answer_to(0))
        await task

        assert (traffic.requests, traffic.answers, traffic.dropped) == (1, 1, 0)
        assert traffic.bytes_in == len(asked.framed(answer_to(0)))
        assert traffic.bytes_out == 4 + 8 + 2 + 1 + 2 + 4 + 2 + 1 + 1  # header v2 with no id, body


async def test_a_connection_knows_since_when_it_is_idle(broker: Broker) -> None:
    async with broker.connected() as (connection, _):
        began = connection.idle_since
        task = start(connection)
        asked = await broker.next()
        busy = connection.idle_since
        await asyncio.sleep(0.01)
        asked.answer(answer_to(0))
        await task
        answered = connection.idle_since
        await asyncio.sleep(0.01)
        await connection.post(produced(1), deadline=inf)

        assert busy == inf
        assert began < answered < connection.idle_since < inf


# Answers that cannot be.


@pytest.mark.parametrize("turn", [1, -1, 5])
async def test_an_answer_out_of_turn_closes_the_connection(broker: Broker, turn: int) -> None:
    async with broker.connected() as (connection, peer):
        tasks = [start(connection, number) for number in range(2)]
        first, _ = await broker.next(), await broker.next()
        peer.write(first.framed(answer_to(0), turn=turn))

        errors = await errors_of(tasks)

        assert {type(error) for error in errors} == {CorrelationIdError}
        assert all(error.indefinite for error in errors)
        assert all(str(error).startswith(f"127.0.0.1:{broker.port}: ") for error in errors)
        await peer.wait_gone()


async def test_an_answer_that_is_repeated_closes_the_connection(broker: Broker) -> None:
    async with broker.connected() as (connection, peer):
        tasks = [start(connection, number) for number in range(2)]
        first, _ = await broker.next(), await broker.next()
        peer.write(2 * first.framed(answer_to(5)))

        (error,) = await errors_of(tasks[1:])

        assert (await tasks[0]).error_code == 5
        assert isinstance(error, CorrelationIdError)
        assert error.indefinite


async def test_an_answer_to_nothing_closes_the_connection(broker: Broker) -> None:
    async with broker.connected() as (connection, peer):
        peer.write(b"\x00\x00\x00\x06\x00\x00\x00\x01ok")
        await peer.wait_gone()

        assert isinstance(connection.error, CorrelationIdError)
        assert not connection.is_open


@pytest.mark.parametrize("length", [-1, 0, 3, 2**31 - 1])
async def test_an_impossible_length_closes_the_connection(broker: Broker, length: int) -> None:
    async with broker.connected() as (connection, peer):
        task = start(connection)
        await broker.next()
        peer.write(length.to_bytes(4, "big", signed=True))

        (error,) = await errors_of([task])

        assert isinstance(error, ProtocolError)
        assert error.indefinite
        await peer.wait_gone()


async def test_an_answer_without_sense_closes_the_connection(broker: Broker) -> None:
    async with broker.connected() as (connection, peer):
        tasks = [start(connection, number) for number in range(3)]
        first, *_ = [await broker.next() for _ in tasks]
        peer.write(first.framed(answer_to(0))[:3] + b"\x06" + first.framed(answer_to(0))[4:10])

        errors = await errors_of(tasks)

        assert {type(error) for error in errors} == {ProtocolError}
        assert all(error.indefinite for error in errors)
        assert all(str(error).startswith(f"127.0.0.1:{broker.port}: ") for error in errors)
        assert "Heartbeat" in str(errors[0])
        assert len({id(error) for error in [*errors, connection.error]}) == 4
        await peer.wait_gone()


# The end of a connection.


@pytest.mark.parametrize("how", ["close", "reset"])
@pytest.mark.parametrize("received", [0, 3, 10])
async def test_a_broker_that_goes_away_fails_what_is_in_flight(
    broker: Broker, how: str, received: int
) -> None:
    traffic = Traffic()
    async with broker.connected(traffic, max_in_flight=2) as (connection, peer):
        tasks = [start(connection, number) for number in range(3)]
        asked = [await broker.next() for _ in range(2)]
        peer.write(asked[0].framed(answer_to(0))[:received])
        await until(lambda: traffic.bytes_in == received)  # a reset would overtake it
        getattr(peer, how)()

        errors = await errors_of(tasks)

        assert {type(error) for error in errors} == {KafkaConnectionError}
        assert [error.indefinite for error in errors] == [True, True, False]
        assert len({id(error) for error in errors}) == 3
        assert all(str(error).startswith(f"127.0.0.1:{broker.port}: ") for error in errors)
        assert not connection.is_open


async def test_an_answer_before_the_goodbye_is_an_answer(broker: Broker) -> None:
    async with broker.connected() as (connection, peer):
        tasks = [start(connection, number) for number in range(2)]
        first, _ = await broker.next(), await broker.next()
        first.answer(answer_to(9))
        peer.close()

        (error,) = await errors_of(tasks[1:])

        assert (await tasks[0]).error_code == 9
        assert error.indefinite


async def test_each_failure_has_its_own_traceback(broker: Broker) -> None:
    async with broker.connected() as (connection, peer):
        tasks = [start(connection, number) for number in range(2)]
        await broker.next()
        peer.reset()

        one, other = await errors_of(tasks)

        assert one.__traceback__ is not None
        assert one.__traceback__ is not other.__traceback__
        assert connection.error is not None
        assert connection.error.__traceback__ is None


@pytest.mark.loop("asyncio")  # uvloop writes at the end of a turn
async def test_nothing_is_written_after_the_write_that_broke_the_connection() -> None:
    with socket.create_server((HOST, 0)) as listening:
        port = listening.getsockname()[1]
        _, connection = await asyncio.get_running_loop().create_connection(
            lambda: Connection(HOST, port, Limits()), HOST, port
        )
        accepted, _ = listening.accept()
        accepted.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        accepted.close()
    connection.versions = BrokerVersions({12: (0, 3)})

    errors = await errors_of([start(connection, 1), start(connection, 2)])

    assert {type(error) for error in errors} == {KafkaConnectionError}
    assert [error.indefinite for error in errors] == [True, False]


async def test_nothing_can_be_sent_on_a_closed_connection(broker: Broker) -> None:
    async with broker.connected() as (connection, _):
        await connection.aclose()

        for attempt in (
            connection.send(numbered(0), deadline=inf),
            connection.post(produced(1), deadline=inf),
            connection.exchange(numbered(0), 3, deadline=inf),
        ):
            with pytest.raises(KafkaConnectionError, match="the connection was closed") as caught:
                await attempt
            assert not caught.value.indefinite


async def test_closing_fails_what_is_in_flight_and_what_waits(broker: Broker) -> None:
    async with broker.connected(max_in_flight=1) as (connection, peer):
        tasks = [start(connection, number) for number in range(2)]
        await broker.next()

        connection.close()
        errors = await errors_of(tasks)

        assert [error.indefinite for error in errors] == [True, False]
        assert {type(error) for error in errors} == {KafkaConnectionError}
        assert connection.was_closed_by_us
        assert await connection.wait_closed(until=asyncio.get_running_loop().time() + PATIENCE)
        await peer.wait_gone()


async def test_the_reason_to_close_reaches_everyone(broker: Broker) -> None:
    async with broker.connected(max_in_flight=1) as (connection, _):
        tasks = [start(connection, number) for number in range(2)]
        await broker.next()

        connection.close(AuthenticationError("not you"))
        connection.close(KafkaConnectionError("the first reason stays"))
        errors = await errors_of(tasks)

        assert [str(error) for error in errors] == ["not you", "not you"]
        assert {type(error) for error in errors} == {AuthenticationError}
        assert [error.indefinite for error in errors] == [True, False]
        assert not connection.was_closed_by_us
        with pytest.raises(AuthenticationError, match="not you"):
            await connection.send(numbered(0), deadline=inf)


async def test_waiting_for_the_end_has_an_end(broker: Broker) -> None:
    async with broker.connected() as (connection, _):
        soon = asyncio.get_running_loop().time() + 0.01

        assert not await connection.wait_closed(until=soon)
        assert connection.is_open


async def test_closing_twice_is_closing_once(broker: Broker) -> None:
    async with broker.connected() as (connection, peer):
        await asyncio.gather(connection.aclose(), connection.aclose())
        await connection.aclose()

        await peer.wait_gone()


async def test_a_connection_that_was_never_made_can_be_closed() -> None:
    connection = Connection("broker", 9092, Limits())

    await connection.aclose()

    with pytest.raises(KafkaConnectionError, match="broker:9092: the connection was closed"):
        await connection.send(numbered(0), deadline=inf)


async def test_bytes_after_the_end_change_nothing(broker: Broker) -> None:
    traffic = Traffic()
    async with broker.connected(traffic, frame_timeout=0.01) as (connection, _):
        await ask(connection, broker)
        connection.close()
        received = traffic.bytes_in

        connection.get_buffer(-1)[:1] = b"\x00"
        connection.buffer_updated(1)  # as TLS does, which reads on until the other side agrees

        assert traffic.bytes_in == received
        assert str(connection.error) == f"127.0.0.1:{broker.port}: the connection was closed"


# Words.


async def test_a_connection_says_how_it_is(broker: Broker) -> None:
    async with broker.connected() as (connection, _):
        task = start(connection)
        await broker.next()
        while_open = repr(connection)
        connection.close()
        await asyncio.wait([task])

        peer = f"127.0.0.1:{broker.port}"
        assert while_open == f"<Connection to {peer}: 1 in flight, open>"
        assert repr(connection) == (
            f"<Connection to {peer}: 0 in flight, closed: {peer}: the connection was closed>"
        )
        assert isinstance(task.exception(), KafkaConnectionError)


def test_an_address_is_written_as_people_write_it() -> None:
    assert address_text("broker", 9092) == "broker:9092"
    assert address_text("::1", 9092) == "[::1]:9092"


async def test_what_was_not_sent_yet_is_sent_before_it_is_closed() -> None:
    received = 0

    async def swallow(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal received
        while part := await reader.read(2**20):
            received += len(part)

    async with serving(swallow) as port:
        _, connection = await asyncio.get_running_loop().create_connection(
            lambda: Connection("127.0.0.1", port, Limits()), "127.0.0.1", port
        )
        assert connection.transport is not None
        connection.transport.write(bytes(8_000_000))
        assert connection.transport.get_write_buffer_size() > 0
        await connection.aclose()
        await until(lambda: received == 8_000_000)

    assert connection.transport.is_closing()
