from __future__ import annotations

import asyncio
import logging
import struct
from typing import Any

import pytest

from kafka_aio.broker import EmbeddedBroker
from kafka_aio.broker.call import Call
from kafka_aio.broker.connection import Connection
from kafka_aio.protocol.messages.api_versions import ApiVersionsResponse
from kafka_aio.protocol.messages.groups import HeartbeatRequest
from kafka_aio.protocol.schema import Request
from kafka_aio.protocol.wire import LIMIT_BEFORE_AUTHENTICATION
from tests.embedded.client import (
    METADATA,
    VERSIONS,
    Client,
    batch,
    connected,
    connections,
    fetch,
    framed,
    produce,
    produce_batch,
)

UNSUPPORTED_VERSION = 35


def warnings(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [record.getMessage() for record in caplog.records if record.name.startswith("kafka_aio")]


# Frames as they come.


@pytest.mark.parametrize("size", [1, 3, 7])
async def test_a_frame_may_come_in_pieces(client: Client, size: int) -> None:
    frame = framed(VERSIONS, 7)
    for at in range(0, len(frame), size):
        client.write(frame[at : at + size])
        await asyncio.sleep(0)

    assert await client.next_id() == 7


async def test_pipelined_requests_are_answered_in_their_order(client: Client) -> None:
    requests: list[Request[Any]] = [
        VERSIONS,
        METADATA,
        HeartbeatRequest(group_id="", generation_id=0, member_id=""),
    ]
    sent = [client.send(requests[number % 3]) for number in range(300)]

    assert [await client.next_id() for _ in sent] == sent


async def test_a_request_waits_for_the_answer_to_the_one_before(
    broker: EmbeddedBroker, client: Client
) -> None:
    waits = client.send(fetch(max_wait_ms=30_000), version=12)
    behind = client.send(VERSIONS)
    assert await client.is_silent()

    broker.produce("t", [b"at last"])

    assert [await client.next_id(), await client.next_id()] == [waits, behind]


async def test_a_request_that_waits_keeps_nobody_else_from_an_answer(
    broker: EmbeddedBroker, client: Client
) -> None:
    client.send(fetch(max_wait_ms=30_000), version=12)

    async with connected(broker) as other:
        assert (await other.ask(VERSIONS)).error_code == 0


async def test_a_produce_without_acks_is_not_answered_and_the_next_request_is(
    broker: EmbeddedBroker, client: Client
) -> None:
    client.send(produce(b"a", acks=0), version=12)
    following = client.send(VERSIONS)

    assert await client.next_id() == following
    assert [record.value for record in broker.records("t")] == [b"a"]


async def test_a_frame_of_several_megabytes_is_taken(
    broker: EmbeddedBroker, client: Client
) -> None:
    broker.create_topic("large", configs={"max.message.bytes": "20000000"})

    answer = await client.ask(produce(bytes(9_000_000), topic="large"), version=12)

    assert answer.responses[0].partition_responses[0].error_code == 0
    (record,) = broker.records("large")
    assert record.value == bytes(9_000_000)


async def test_memory_that_a_request_was_read_into_is_not_what_the_log_keeps(
    broker: EmbeddedBroker, client: Client
) -> None:
    values = [bytes([number]) * 5_000 for number in range(60)]
    for value in values:
        client.send(produce(value), version=12)
    for _ in values:
        await client.frame()

    assert [record.value for record in broker.records("t")] == values


# Versions.


async def test_who_asks_what_we_speak_in_a_version_of_the_future_is_told(client: Client) -> None:
    client.write(struct.pack(">ihhihb", 11, 18, 99, 5, -1, 0))

    frame = await client.frame()

    correlation_id, error, count, key, first, last = struct.unpack(">ihihhh", frame)
    assert (correlation_id, error, count) == (5, UNSUPPORTED_VERSION, 1)
    assert (key, first) == (18, 0)
    assert last >= 4
    assert (await client.ask(VERSIONS)).error_code == 0


@pytest.mark.parametrize(
    ("key", "version"),
    [(0, 2), (0, 99), (3, -1), (18, -1), (7, 3), (27, 1), (999, 0), (-1, 0)],
)
async def test_an_api_or_a_version_that_is_not_served_ends_the_connection(
    client: Client, key: int, version: int
) -> None:
    client.write(struct.pack(">ihhihb", 11, key, version, 5, -1, 0))

    await client.wait_closed()


async def test_what_was_answered_before_is_still_sent(client: Client) -> None:
    client.write(framed(VERSIONS, 1) + framed(VERSIONS, 2) + struct.pack(">i", -1))

    assert [await client.next_id(), await client.next_id()] == [1, 2]
    await client.wait_closed()


# Nonsense.


@pytest.mark.parametrize(
    "data",
    [
        struct.pack(">i", -1),
        struct.pack(">i", -(2**31)),
        struct.pack(">i", 2**31 - 1),
        struct.pack(">i", 100 * 2**20 + 1),
        struct.pack(">i", 0),
        struct.pack(">ib", 1, 0),
        struct.pack(">ihhi", 8, 18, 0, 1),
        struct.pack(">ihhih", 10, 18, 0, 1, 100),
        struct.pack(">ihhihi", 14, 3, 0, 1, -1, 2**31 - 1),
        struct.pack(">ihhihi", 14, 3, 0, 1, -1, -7),
        b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n",
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
        framed(METADATA)[:-1] + b"\xff",
    ],
    ids=repr,
)
async def test_nonsense_ends_its_connection_and_no_other(
    broker: EmbeddedBroker, client: Client, caplog: pytest.LogCaptureFixture, data: bytes
) -> None:
    async with connected(broker) as hostile:
        hostile.write(data)
        await hostile.wait_closed()

    assert (await client.ask(VERSIONS)).error_code == 0
    assert [text.startswith("closed <Connection of 127.0.0.1") for text in warnings(caplog)] == [
        True
    ]


async def test_what_is_left_over_in_a_frame_is_ignored_as_kafka_does(client: Client) -> None:
    client.write(struct.pack(">i", 60) + framed(METADATA, 7)[4:].ljust(60, b"\xff"))

    assert await client.next_id() == 7
    assert (await client.ask(VERSIONS)).error_code == 0


async def test_a_frame_that_never_ends_takes_no_memory(
    broker: EmbeddedBroker, client: Client
) -> None:
    client.write(struct.pack(">i", 100 * 2**20) + b"x")
    await asyncio.sleep(0.02)

    (connection,) = connections(broker)
    assert len(connection._inbox._memory) < 100_000


async def test_who_says_goodbye_in_the_middle_of_a_frame_is_let_go(
    broker: EmbeddedBroker, client: Client
) -> None:
    client.write(framed(VERSIONS)[:-1])
    client.writer.write_eof()

    await client.wait_closed()
    assert connections(broker) == []


async def test_a_broken_batch_is_an_error_in_the_answer_and_no_more(client: Client) -> None:
    broken = bytearray(batch(b"a"))
    broken[-1] ^= 1

    answer = await client.ask(produce_batch(bytes(broken)), version=12)

    assert answer.responses[0].partition_responses[0].error_code == 2
    assert (await client.ask(VERSIONS)).error_code == 0


async def test_before_a_log_in_frames_are_small() -> None:
    async with (
        EmbeddedBroker(users={"alice": "secret"}, mechanisms=["PLAIN"]) as broker,
        connected(broker) as client,
    ):
        client.write(struct.pack(">i", LIMIT_BEFORE_AUTHENTICATION + 1))

        await client.wait_closed()


async def test_before_a_log_in_nothing_else_is_answered() -> None:
    async with (
        EmbeddedBroker(users={"alice": "secret"}, mechanisms=["PLAIN"]) as broker,
        connected(broker) as client,
    ):
        client.send(METADATA)

        await client.wait_closed()


# A bug.


async def test_a_bug_costs_the_connection_that_met_it_and_is_logged(
    broker: EmbeddedBroker,
    client: Client,
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def bug(key: int) -> None:
        raise ZeroDivisionError("a bug")

    async with connected(broker) as other:
        with monkeypatch.context() as patch:
            patch.setattr("kafka_aio.broker.core.answerer_of", bug)
            client.send(VERSIONS)
            await client.wait_closed()

        assert (await other.ask(VERSIONS)).error_code == 0
    (record,) = [each for each in caplog.records if each.name.startswith("kafka_aio")]
    assert record.levelno == logging.ERROR
    assert "ZeroDivisionError: a bug" in caplog.text


async def test_an_answer_that_comes_twice_is_sent_once(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    answer = ApiVersionsResponse(error_code=0, api_keys=[])

    def answer_twice(request: object, call: Call) -> ApiVersionsResponse:
        call.answer(answer)
        return answer

    with monkeypatch.context() as patch:
        patch.setattr("kafka_aio.broker.core.answerer_of", lambda key: answer_twice)
        first = client.send(VERSIONS)
        assert await client.next_id() == first

    second = client.send(VERSIONS)
    assert await client.next_id() == second


async def test_who_was_accepted_just_before_a_node_went_down_is_let_go(
    broker: EmbeddedBroker,
) -> None:
    shared = broker._listening().shared
    loop = asyncio.get_running_loop()
    gone = 7
    server = await loop.create_server(lambda: Connection(gone, shared), "127.0.0.1", 0)
    reader, writer = await asyncio.open_connection(*server.sockets[0].getsockname())
    client = Client(reader, writer)

    await client.wait_closed()

    assert connections(broker) == []
    writer.close()
    server.close()
    await server.wait_closed()
