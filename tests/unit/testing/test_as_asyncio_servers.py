"""What servers do, in memory and over sockets: it must be the same."""

from __future__ import annotations

import asyncio
from typing import Any

import anyio
import pytest

from tests.unit.testing.recorder import HOST, Play, Recorder, connected


def test_who_connects_where_nobody_listens_is_refused(play: Play) -> None:
    async def story() -> tuple[OSError, int]:
        loop = asyncio.get_running_loop()
        server = await loop.create_server(Recorder, HOST, 0)
        port = server.sockets[0].getsockname()[1]
        server.close()
        await server.wait_closed()
        with pytest.raises(ConnectionRefusedError) as caught:
            await loop.create_connection(Recorder, HOST, port)
        return caught.value, port

    error, port = play(story)

    assert error.errno == 111
    assert str(error) == f"[Errno 111] Connect call failed ('127.0.0.1', {port})"


def test_two_servers_do_not_share_an_address(play: Play) -> None:
    async def story() -> OSError:
        loop = asyncio.get_running_loop()
        server = await loop.create_server(Recorder, HOST, 0)
        port = server.sockets[0].getsockname()[1]
        try:
            with pytest.raises(OSError, match="address already in use") as caught:
                await loop.create_server(Recorder, HOST, port)
        finally:
            server.close()
            await server.wait_closed()
        return caught.value

    assert play(story).errno == 98


def test_both_ends_know_both_addresses(play: Play) -> None:
    async def story() -> list[tuple[str, int]]:
        async with connected() as (client, server):
            return [
                end.transport.get_extra_info(name)
                for end, name in (
                    (client, "sockname"),
                    (server, "peername"),
                    (client, "peername"),
                    (server, "sockname"),
                )
            ]

    mine, seen, theirs, own = play(story)

    assert mine == seen
    assert theirs == own
    assert mine[0] == theirs[0] == HOST


def test_a_protocol_that_fails_to_begin_still_has_its_connection(
    play: Play,
) -> None:
    class Failing(Recorder):
        def connection_made(self, transport: asyncio.BaseTransport) -> None:
            super().connection_made(transport)
            raise ZeroDivisionError("by the protocol")

    async def story() -> tuple[Recorder, list[dict[str, Any]]]:
        seen: list[dict[str, Any]] = []
        asyncio.get_running_loop().set_exception_handler(lambda _, context: seen.append(context))
        async with connected(server=Failing) as (client, server):
            client.transport.write(b"x")
            await server.got.wait()
        return server, seen

    server, (context,) = play(story)

    assert isinstance(context["exception"], ZeroDivisionError)
    assert server.data == b"x"


def test_a_server_closes_without_its_connections_and_waits_for_them(
    play: Play,
) -> None:
    async def story() -> tuple[Recorder, list[object]]:
        loop = asyncio.get_running_loop()
        server = await loop.create_server(Recorder, HOST, 0)
        seen: list[object] = [server.is_serving(), len(server.sockets)]
        port = server.sockets[0].getsockname()[1]
        transport, client = await loop.create_connection(Recorder, HOST, port)
        server.close()
        server.close()
        seen += [server.is_serving(), server.sockets, transport.is_closing()]
        transport.close()
        await server.wait_closed()
        await client.lost.wait()
        await server.wait_closed()
        await asyncio.sleep(0.05)
        return client, seen

    client, seen = play(story)

    assert seen == [True, 1, False, (), False]
    assert client.events == ["made", "lost"]


def test_a_server_that_serves_for_ever_ends_when_it_is_cancelled(
    play: Play,
) -> None:
    async def story() -> list[bool]:
        loop = asyncio.get_running_loop()
        server = await loop.create_server(Recorder, HOST, 0, start_serving=False)
        seen = [server.is_serving()]
        task = asyncio.create_task(server.serve_forever())
        await asyncio.sleep(0.01)
        seen.append(server.is_serving())
        task.cancel()
        await asyncio.wait([task])
        return [*seen, server.is_serving(), task.cancelled()]

    assert play(story) == [False, True, False, True]


def test_streams_work(play: Play) -> None:
    async def shout(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        async for line in reader:
            writer.write(line.upper())
            await writer.drain()
        writer.close()
        await writer.wait_closed()

    async def story() -> bytes:
        async with await asyncio.start_server(shout, HOST, 0) as server:
            port = server.sockets[0].getsockname()[1]
            reader, writer = await asyncio.open_connection(HOST, port)
            writer.writelines([b"one\n", b"two\n"])
            await writer.drain()
            writer.write_eof()
            answer = await reader.read()
            writer.close()
            await writer.wait_closed()
            return answer

    assert play(story) == b"ONE\nTWO\n"


def test_streams_of_anyio_work(play: Play) -> None:
    async def turn(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write((await reader.read())[::-1])
        writer.close()
        await writer.wait_closed()

    async def story() -> bytes:
        async with await asyncio.start_server(turn, HOST, 0) as server:
            port = server.sockets[0].getsockname()[1]
            async with await anyio.connect_tcp(HOST, port) as stream:
                await stream.send(b"x" * 300_000 + b"y")
                await stream.send_eof()
                return b"".join([piece async for piece in stream])

    assert play(story) == b"y" + b"x" * 300_000
