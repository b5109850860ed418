"""What happens on a connection in memory, and on one over sockets: it must be the same."""

from __future__ import annotations

import asyncio
import logging
from typing import Any

import pytest

from tests.unit.testing.recorder import BufferedRecorder, Play, Recorder, connected

MUCH = b"x" * 20_000_000  # more than the system keeps for us


def test_what_is_written_is_read_and_a_close_is_an_eof(play: Play) -> None:
    async def story() -> tuple[Recorder, Recorder]:
        async with connected() as (client, server):
            client.transport.write(b"one ")
            client.transport.writelines([b"two ", bytearray(b"three "), memoryview(b"four")])
            client.transport.close()
            await server.lost.wait()
            await client.lost.wait()
        return client, server

    client, server = play(story)

    assert client.events == ["made", "lost"]
    assert server.events == ["made", "data", "eof", "lost"]
    assert server.data == b"one two three four"


def test_close_writes_what_is_buffered_first(play: Play) -> None:
    async def story() -> tuple[Recorder, Recorder]:
        async with connected() as (client, server):
            client.transport.write(MUCH)
            client.transport.close()
            assert client.transport.is_closing()
            await client.lost.wait()
            await server.lost.wait()
        return client, server

    client, server = play(story)

    assert client.events == ["made", "paused", "resumed", "lost"]
    assert server.data == MUCH


def test_abort_does_not_write_what_is_buffered(play: Play) -> None:
    async def story() -> tuple[Recorder, Recorder]:
        async with connected() as (client, server):
            client.transport.write(MUCH)
            client.transport.abort()
            assert client.transport.get_write_buffer_size() == 0
            await client.lost.wait()
            await server.lost.wait()
        return client, server

    client, server = play(story)

    assert client.events == ["made", "paused", "lost"]
    assert len(server.data) < len(MUCH)
    assert server.events == ["made", "data", "eof", "lost"]


def test_a_writer_pauses_while_the_other_end_does_not_read(play: Play) -> None:
    async def story() -> tuple[Recorder, Recorder]:
        async with connected() as (client, server):
            server.transport.pause_reading()
            assert not server.transport.is_reading()
            client.transport.write(MUCH)
            assert client.events == ["made", "paused"]
            assert client.transport.get_write_buffer_size() > 0
            server.transport.resume_reading()
            while len(server.data) < len(MUCH):  # noqa: ASYNC110  # it is not the test that writes
                await asyncio.sleep(0.001)
            assert client.transport.get_write_buffer_size() == 0
        return client, server

    client, server = play(story)

    assert client.events[:3] == ["made", "paused", "resumed"]
    assert server.data == MUCH


def test_the_limits_of_the_buffer_are_asyncios(play: Play) -> None:
    async def story() -> list[object]:
        async with connected() as (client, _):
            transport = client.transport
            limits = [transport.get_write_buffer_limits()]
            for arguments in ({"high": 100}, {"low": 100}, {"high": 9, "low": 3}, {"high": 0}):
                transport.set_write_buffer_limits(**arguments)
                limits.append(transport.get_write_buffer_limits())
            with pytest.raises(ValueError, match="must be >= low"):
                transport.set_write_buffer_limits(high=1, low=2)
            return limits

    assert play(story) == [(16_384, 65_536), (25, 100), (100, 400), (3, 9), (0, 0)]


def test_one_half_of_a_connection_can_be_closed(play: Play) -> None:
    async def story() -> tuple[Recorder, Recorder]:
        async with connected() as (client, server):
            server.keeps_open = True
            assert client.transport.can_write_eof()
            client.transport.write(b"question")
            client.transport.write_eof()
            client.transport.write_eof()
            with pytest.raises(RuntimeError, match=r"Cannot call write\(\) after write_eof\(\)"):
                client.transport.write(b"more")
            await server.ended.wait()
            server.transport.write(b"answer")
            server.transport.close()
            await client.lost.wait()
            await server.lost.wait()
        return client, server

    client, server = play(story)

    assert server.events == ["made", "data", "eof", "lost"]
    assert server.data == b"question"
    assert client.events == ["made", "data", "eof", "lost"]
    assert client.data == b"answer"


def test_an_eof_comes_behind_what_is_buffered(play: Play) -> None:
    async def story() -> Recorder:
        async with connected() as (client, server):
            client.transport.write(MUCH)
            client.transport.write_eof()
            await server.lost.wait()
            result: Recorder = server
            return result

    server = play(story)

    assert server.data == MUCH
    assert server.events == ["made", "data", "eof", "lost"]


def test_closing_with_unread_bytes_resets_the_other_end(play: Play) -> None:
    async def story() -> tuple[Recorder, Recorder]:
        async with connected() as (client, server):
            server.transport.pause_reading()
            client.transport.write(b"nobody reads this")
            await asyncio.sleep(0.05)
            server.transport.write(b"last words")
            await asyncio.sleep(0.05)
            server.transport.close()
            await server.lost.wait()
            await client.lost.wait()
        return client, server

    client, server = play(story)

    assert client.events == ["made", "data", "lost: ConnectionResetError"]
    assert client.data == b"last words"
    assert server.events == ["made", "lost"]


def test_writing_to_one_who_is_gone_ends_in_a_broken_pipe(play: Play) -> None:
    async def story() -> Recorder:
        async with connected() as (client, server):
            client.keeps_open = True
            server.transport.close()
            await client.ended.wait()
            while not client.transport.is_closing():  # the first is answered by a reset
                client.transport.write(b"hello?")
                await asyncio.sleep(0.01)
            await client.lost.wait()
            result: Recorder = client
            return result

    assert play(story).events == ["made", "eof", "lost: BrokenPipeError"]


def test_one_who_does_not_read_finds_a_reset_when_it_writes(play: Play) -> None:
    async def story() -> Recorder:
        async with connected() as (client, server):
            server.transport.pause_reading()
            client.transport.write(b"nobody reads this")
            await asyncio.sleep(0.05)
            client.transport.pause_reading()
            server.transport.close()
            await asyncio.sleep(0.05)
            assert not client.lost.is_set()
            client.transport.write(b"hello?")
            await client.lost.wait()
            result: Recorder = client
            return result

    assert play(story).events == ["made", "lost: ConnectionResetError"]


def test_a_full_buffer_finds_out_that_the_other_end_is_gone(play: Play) -> None:
    async def story() -> Recorder:
        async with connected() as (client, server):
            server.transport.pause_reading()
            client.transport.write(MUCH)
            client.transport.close()
            await asyncio.sleep(0.05)
            assert not client.lost.is_set()
            server.transport.abort()
            await client.lost.wait()
            result: Recorder = client
            return result

    assert play(story).events == [
        "made",
        "paused",
        "lost: ConnectionResetError",
    ]


def test_writes_after_the_end_are_dropped_and_at_last_logged(
    play: Play, caplog: pytest.LogCaptureFixture
) -> None:
    async def story() -> Recorder:
        async with connected() as (client, server):
            client.transport.close()
            for _ in range(7):
                client.transport.write(b"x")
            client.transport.write_eof()
            client.transport.pause_reading()
            client.transport.resume_reading()
            await server.lost.wait()
            result: Recorder = server
            return result

    with caplog.at_level(logging.WARNING, "asyncio"):
        server = play(story)

    assert server.data == b""
    assert [record.message for record in caplog.records] == ["socket.send() raised exception."] * 3


def test_what_is_not_bytes_is_refused(play: Play) -> None:
    async def story() -> Recorder:
        async with connected() as (client, server):
            with pytest.raises(TypeError, match="data argument must be a bytes-like object, not"):
                client.transport.write("text")
            client.transport.write(b"")
            client.transport.close()
            await server.lost.wait()
            result: Recorder = server
            return result

    assert play(story).events == ["made", "eof", "lost"]


@pytest.mark.parametrize("method", ["data_received", "eof_received"])
def test_a_protocol_that_raises_ends_its_connection(
    play: Play, method: str, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(*args: object) -> None:
        raise ZeroDivisionError("by the protocol")

    async def story() -> tuple[Recorder, Recorder, list[dict[str, Any]]]:
        seen: list[dict[str, Any]] = []
        asyncio.get_running_loop().set_exception_handler(lambda _, context: seen.append(context))
        async with connected() as (client, server):
            setattr(server, method, fail)
            client.transport.write(b"x")
            client.transport.write_eof()
            await server.lost.wait()
            await client.lost.wait()
        return client, server, seen

    client, server, (context,) = play(story)

    assert context["message"] == f"Fatal error: protocol.{method}() call failed."
    assert isinstance(context["exception"], ZeroDivisionError)
    assert context["protocol"] is server
    assert server.events[-1] == "lost: ZeroDivisionError"
    assert client.events == ["made", "eof", "lost"]


@pytest.mark.parametrize("method", ["pause_writing", "resume_writing"])
def test_a_protocol_that_fails_to_pause_goes_on(play: Play, method: str) -> None:
    def fail() -> None:
        raise ZeroDivisionError("by the protocol")

    async def story() -> tuple[Recorder, list[dict[str, Any]]]:
        seen: list[dict[str, Any]] = []
        asyncio.get_running_loop().set_exception_handler(lambda _, context: seen.append(context))
        async with connected() as (client, server):
            setattr(client, method, fail)
            client.transport.write(MUCH)
            client.transport.close()
            await server.lost.wait()
            await client.lost.wait()
        return server, seen

    server, (context,) = play(story)

    assert context["message"] == f"protocol.{method}() failed"
    assert len(server.data) == len(MUCH)


def test_a_buffered_protocol_gets_as_much_as_it_has_room_for(play: Play) -> None:
    async def story() -> BufferedRecorder:
        async with connected(server=BufferedRecorder) as (client, server):
            client.transport.write(bytes(range(100)))
            client.transport.close()
            await server.lost.wait()
            result: BufferedRecorder = server
            return result

    server = play(story)

    assert server.data == bytes(range(100))
    assert max(server.sizes) <= 7


def test_a_buffered_protocol_without_room_loses_its_connection(
    play: Play,
) -> None:
    async def story() -> list[dict[str, Any]]:
        seen: list[dict[str, Any]] = []
        asyncio.get_running_loop().set_exception_handler(lambda _, context: seen.append(context))
        async with connected(server=lambda: BufferedRecorder(room=0)) as (client, server):
            client.transport.write(b"x")
            await server.lost.wait()
        return seen

    (context,) = play(story)

    assert context["message"] == "Fatal error: protocol.get_buffer() call failed."
    assert str(context["exception"]) == "get_buffer() returned an empty buffer"


def test_a_protocol_can_be_changed_for_another_kind(play: Play) -> None:
    async def story() -> tuple[Recorder, BufferedRecorder]:
        async with connected() as (client, server):
            client.transport.write(b"first")
            await server.got.wait()
            second = BufferedRecorder()
            server.transport.set_protocol(second)
            assert server.transport.get_protocol() is second
            client.transport.write(b"second")
            client.transport.close()
            await second.lost.wait()
            server.lost.set()
        return server, second

    server, second = play(story)

    assert server.data == b"first"
    assert second.data == b"second"


def test_one_who_pauses_while_it_reads_is_given_no_more_until_it_resumes(play: Play) -> None:
    class Hesitant(BufferedRecorder):
        def connection_made(self, transport: asyncio.BaseTransport) -> None:
            self.transport = transport

        def buffer_updated(self, nbytes: int) -> None:
            super().buffer_updated(nbytes)
            assert isinstance(self.transport, asyncio.Transport)
            self.transport.pause_reading()
            asyncio.get_running_loop().call_later(0.001, self.resume, len(self.sizes))

        def resume(self, count: int) -> None:
            at_rest.append(len(self.sizes) == count)
            assert isinstance(self.transport, asyncio.Transport)
            self.transport.resume_reading()

    at_rest: list[bool] = []

    async def story() -> Hesitant:
        async with connected(server=Hesitant) as (client, server):
            client.transport.write(bytes(range(100)))
            client.transport.close()
            await server.lost.wait()
            result: Hesitant = server
            return result

    assert play(story).data == bytes(range(100))
    assert len(at_rest) >= 100 / 7
    assert all(at_rest)
