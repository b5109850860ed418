"""The proxy of the tests before a broker: responses that are held, dropped and cut."""

from __future__ import annotations

import asyncio
import struct
import uuid
from collections.abc import AsyncIterator
from typing import Any

import pytest

from kafka_aio.protocol import frame
from kafka_aio.protocol.messages.groups import (
    HeartbeatRequest,
    HeartbeatResponse,
    ListGroupsRequest,
    ListGroupsResponse,
)
from kafka_aio.protocol.messages.metadata import MetadataRequest
from kafka_aio.protocol.messages.topics import CreatableTopic, CreateTopicsRequest
from kafka_aio.protocol.schema import Request
from tests.broker.echo import HOST, Client, Server, connected, serving
from tests.kafka.cluster import Cluster
from tests.kafka.proxy import TO_CLIENT, TO_SERVER, Event, Proxy
from tests.kafka.raw import RawConnection

LENGTH = struct.Struct(">i")
VERSION = 1
TOPIC_ALREADY_EXISTS = 36
HEARTBEAT = HeartbeatRequest(group_id="group", generation_id=1, member_id="member")
LISTING = ListGroupsRequest()
ANSWERS: dict[type[Request[Any]], object] = {
    HeartbeatRequest: HeartbeatResponse(error_code=0),
    ListGroupsRequest: ListGroupsResponse(error_code=0, groups=[]),
}


async def answer_requests(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Of those two APIs, a byte at a time."""
    while head := await reader.read(LENGTH.size):
        (length,) = LENGTH.unpack(head)
        header, cls, _ = frame.decode_request_head(await reader.readexactly(length))
        answer = frame.encode_response(
            cls, ANSWERS[cls], VERSION, correlation_id=header.correlation_id
        )
        for byte in b"".join(answer):
            writer.write(bytes([byte]))
            await asyncio.sleep(0)


def request(message: Request[Any], correlation_id: int) -> bytes:
    return b"".join(
        frame.encode_request(message, VERSION, correlation_id=correlation_id, client_id=None)
    )


async def read_response(client: Client) -> int:
    """The request that the next one answers."""
    (length,) = LENGTH.unpack(await client.read_exactly(LENGTH.size))
    return frame.correlation_id_of(await client.read_exactly(length))


@pytest.fixture
async def server() -> AsyncIterator[Server]:
    async with serving() as server:
        server.answer = answer_requests
        yield server


@pytest.fixture
async def proxy(server: Server) -> AsyncIterator[Proxy]:
    async with Proxy(server.address, frames=True) as proxy:
        yield proxy


async def test_a_held_response_and_those_behind_it_come_when_it_is_released(proxy: Proxy) -> None:
    async with connected(proxy.port) as client:
        hold = proxy.hold(HeartbeatRequest)
        await client.send(request(LISTING, 1) + request(HEARTBEAT, 2) + request(LISTING, 3))
        first = await read_response(client)
        await hold.wait_held()
        hold.release()

        assert [first, await read_response(client), await read_response(client)] == [1, 2, 3]
    listed = 4 + 4 + 4 + 2 + 4  # length, correlation id, throttle time, error, no groups
    _, held, released, *_ = proxy.trace
    assert held == Event("hold", 1, TO_CLIENT, listed)
    assert released == Event("release", 1, TO_CLIENT, listed)


async def test_a_dropped_response_never_comes(proxy: Proxy) -> None:
    async with connected(proxy.port) as client:
        hold = proxy.hold(HeartbeatRequest)
        await client.send(request(HEARTBEAT, 1) + request(HEARTBEAT, 2) + request(LISTING, 3))
        await hold.wait_held()
        hold.drop()

        assert [await read_response(client), await read_response(client)] == [2, 3]
    assert [event.what for event in proxy.trace] == ["accept", "hold", "drop"]


async def test_a_drop_may_be_told_before_and_more_than_once(proxy: Proxy) -> None:
    async with connected(proxy.port) as client:
        hold = proxy.hold(HeartbeatRequest, times=2)
        hold.drop()
        await client.send(b"".join(request(HEARTBEAT, number) for number in range(4)))

        assert [await read_response(client), await read_response(client)] == [2, 3]
    assert hold.held == 2


async def test_a_hold_may_be_for_one_connection(proxy: Proxy) -> None:
    async with connected(proxy.port) as first, connected(proxy.port) as second:
        hold = proxy.hold(HeartbeatRequest, connection=2)
        await first.send(request(HEARTBEAT, 1))
        assert await read_response(first) == 1
        await second.send(request(HEARTBEAT, 2))
        await hold.wait_held()
        proxy.heal()

        assert await read_response(second) == 2


async def test_the_response_to_an_earlier_request_can_be_held(proxy: Proxy) -> None:
    async with connected(proxy.port) as client:
        with proxy.stall(direction=TO_SERVER):
            await client.send(request(HEARTBEAT, 1))
            await proxy.wait_for("stall")
            hold = proxy.hold(HeartbeatRequest)
        await hold.wait_held()
        hold.release()

        assert await read_response(client) == 1


async def test_a_held_response_can_be_cut_in_the_middle(proxy: Proxy, server: Server) -> None:
    async with connected(proxy.port) as client:
        hold = proxy.hold(HeartbeatRequest)
        await client.send(request(HEARTBEAT, 1))
        await hold.wait_held()
        proxy.cut_after(5, "rst", direction=TO_CLIENT)
        hold.release()
        received, end = await client.read_to_end()

    assert (len(received), end) == (5, "rst")


async def test_bytes_that_are_no_frames_go_through_as_they_are(
    proxy: Proxy, server: Server
) -> None:
    server.answer = server.echo
    async with connected(proxy.port) as client:
        assert await client.exchange(b"\xff" * 12) == b"\xff" * 12
        assert await client.exchange(b"x") == b"x"


async def test_what_is_too_short_for_a_frame_comes_with_the_end(
    proxy: Proxy, server: Server
) -> None:
    server.answer = server.echo
    async with connected(proxy.port) as client:
        await client.send(b"short")
        client.end()

        assert await client.read_to_end() == (b"short", "fin")


async def test_only_a_proxy_that_knows_of_frames_holds_one(server: Server) -> None:
    async with Proxy(server.address) as proxy:
        with pytest.raises(AssertionError, match="frames=True"):
            proxy.hold(HeartbeatRequest)


@pytest.fixture
async def node(kafka: Cluster) -> AsyncIterator[Proxy]:
    """A proxy where a real node says that it is."""
    node = kafka.nodes[0]
    target = (HOST, node.ports["PROXY"])
    async with Proxy(target, listen_port=node.proxy_port, frames=True) as proxy:
        yield proxy


async def test_a_node_is_found_behind_its_proxy(node: Proxy) -> None:
    node.slice()

    def ask() -> list[int]:
        with RawConnection(HOST, node.port) as connection:
            return [broker.port for broker in connection.send(MetadataRequest(topics=[])).brokers]

    assert await asyncio.to_thread(ask) == [node.port]
    assert {event.direction for event in node.trace if event.what == "slice"} == {
        TO_SERVER,
        TO_CLIENT,
    }


async def test_a_request_is_carried_out_though_nobody_hears_of_it(
    node: Proxy, kafka: Cluster
) -> None:
    topic = CreatableTopic(
        name=f"unheard-{uuid.uuid4()}",
        num_partitions=1,
        replication_factor=1,
        assignments=[],
        configs=[],
    )

    def create(connection: RawConnection) -> int:
        with connection:
            (created,) = connection.send(CreateTopicsRequest(topics=[topic])).topics
            return created.error_code

    hold = node.hold(CreateTopicsRequest)
    behind_proxy = await asyncio.to_thread(RawConnection, HOST, node.port)
    unheard = asyncio.create_task(asyncio.to_thread(create, behind_proxy))
    await hold.wait_held()
    node.cut("rst")

    with pytest.raises(ConnectionResetError):
        await unheard
    assert await asyncio.to_thread(create, kafka.connect()) == TOPIC_ALREADY_EXISTS
