from __future__ import annotations

import asyncio
import contextvars
import gc
import ssl
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_aio.testing import Network, VirtualLoop, run
from kafka_aio.testing.loop import START
from tests.unit.testing.recorder import HOST, BufferedRecorder, Recorder, connected


def network() -> Network:
    return VirtualLoop.running().network


@given(
    st.lists(st.binary(max_size=300), max_size=10),
    st.sampled_from([Recorder, BufferedRecorder]),
    st.sampled_from([None, (1, 1), (1, 50), (1, 65_536)]),
    st.sampled_from([(0.0, 0.0), (0.0, 1.0), (0.1, 0.1)]),
    st.integers(1, 400),
    st.integers(0, 2**32),
)
def test_bytes_arrive_whole_and_in_order_whatever_the_network_does(
    parts: list[bytes],
    reader: Any,
    chunk: tuple[int, int] | None,
    latency: tuple[float, float],
    window: int,
    seed: int,
) -> None:
    async def main() -> tuple[bytes, bytes]:
        network().chunk, network().latency, network().window = chunk, latency, window
        loop = asyncio.get_running_loop()
        async with await loop.create_server(lambda: server, HOST, 9092):
            transport, client = await loop.create_connection(Recorder, HOST, 9092)
            transport.writelines(parts[:3])
            for data in parts[3:]:
                transport.write(data)
                await asyncio.sleep(0.05)
            transport.close()
            await server.lost.wait()
            await client.lost.wait()
            return bytes(server.data), b"".join(parts)

    server = reader()
    got, sent = run(main(), seed=seed)

    assert got == sent


def test_what_is_sent_takes_a_time_within_the_latency() -> None:
    async def main() -> list[float]:
        network().latency = (2.0, 3.0)
        loop = asyncio.get_running_loop()
        times = []
        async with connected() as (client, server):
            for _ in range(20):
                server.got.clear()
                sent_at = loop.time()
                client.transport.write(b"x")
                async with asyncio.timeout(5):
                    await server.got.wait()
                times.append(loop.time() - sent_at)
        return times

    times = run(main())

    assert min(times) >= 2.0
    assert max(times) <= 3.0
    assert len(set(times)) > 1


def test_a_connection_takes_a_round_trip() -> None:
    async def main() -> float:
        network().latency = (0.5, 0.5)
        async with connected():
            return asyncio.get_running_loop().time()

    assert run(main()) == START + 1.0


def test_what_is_read_is_cut_and_merged_by_chance() -> None:
    async def main(seed: int) -> list[int]:
        sizes: list[int] = []
        async with connected() as (client, server):
            server.data_received = lambda data: sizes.append(len(data))
            for _ in range(200):
                client.transport.write(b"x" * 10)
                await asyncio.sleep(0.000_1)
            client.transport.close()
            await server.lost.wait()
        return sizes

    sizes = run(main(1), seed=1)

    assert sum(sizes) == 2_000
    assert min(sizes) < 10 < max(sizes)
    assert run(main(1), seed=1) == sizes
    assert run(main(2), seed=2) != sizes


def test_without_chunks_all_that_is_there_is_read_at_once() -> None:
    async def main() -> list[int]:
        network().chunk = None
        network().window = 1_000_000
        sizes: list[int] = []
        async with connected() as (client, server):
            server.data_received = lambda data: sizes.append(len(data))
            client.transport.write(b"x" * 600_000)
            client.transport.close()
            await server.lost.wait()
        return sizes

    assert run(main()) == [262_144, 262_144, 75_712]


def test_bytes_beyond_the_window_stay_with_the_writer() -> None:
    async def main() -> list[Any]:
        network().window = 1_000
        async with connected() as (client, server):
            client.transport.set_write_buffer_limits(high=500, low=100)
            server.transport.pause_reading()
            client.transport.write(b"x" * 1_500)
            seen = [client.transport.get_write_buffer_size(), [*client.events]]
            client.transport.write(b"x")
            seen += [client.transport.get_write_buffer_size(), [*client.events]]
            await asyncio.sleep(3_600)
            seen += [client.transport.get_write_buffer_size(), len(server.data)]
            server.transport.resume_reading()
            await asyncio.sleep(1)
            return [*seen, client.transport.get_write_buffer_size(), [*client.events]]

    assert run(main()) == [
        *(500, ["made"]),
        *(501, ["made", "paused"]),
        *(501, 0),
        *(0, ["made", "paused", "resumed"]),
    ]


def test_a_writer_goes_on_when_its_buffer_is_low_but_not_empty() -> None:
    async def main() -> list[int]:
        sizes: list[int] = []
        network().window, network().latency = 10, (1.0, 1.0)
        async with connected() as (client, _):
            client.resume_writing = lambda: sizes.append(client.transport.get_write_buffer_size())
            client.transport.set_write_buffer_limits(high=100, low=40)
            client.transport.write(b"x" * 200)
            await asyncio.sleep(1_000)
        return sizes

    (size,) = run(main())

    assert 0 < size <= 40


def test_a_writer_that_drains_waits_for_the_reader() -> None:
    async def main() -> float:
        network().window = 1_000
        loop = asyncio.get_running_loop()
        done = asyncio.Event()

        async def read_late(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            await asyncio.sleep(3_600)
            await reader.read()
            writer.close()
            await writer.wait_closed()
            done.set()

        server = await asyncio.start_server(read_late, HOST, 9092, limit=1_000)
        _, writer = await asyncio.open_connection(HOST, 9092)
        writer.write(b"x" * 1_000_000)
        await writer.drain()
        drained_at = loop.time()
        writer.close()
        await done.wait()
        await writer.wait_closed()
        server.close()
        return drained_at

    assert run(main()) > START + 3_600


def test_the_callbacks_of_a_protocol_run_in_the_context_of_its_own_side() -> None:
    side = contextvars.ContextVar("side", default="none")
    seen: set[tuple[str, str]] = set()

    class Seen(Recorder):
        def __init__(self, name: str) -> None:
            super().__init__()
            self.name = name

        def __getattribute__(self, name: str) -> Any:
            if name in ("data_received", "connection_lost", "eof_received", "connection_made"):
                seen.add((self.name, side.get()))
            return super().__getattribute__(name)

    async def main() -> None:
        loop = asyncio.get_running_loop()
        ends = [Seen("server"), Seen("client")]

        async def serve() -> asyncio.AbstractServer:
            side.set("server")
            return await loop.create_server(lambda: ends[0], HOST, 9092)

        async def connect() -> None:
            side.set("client")
            await loop.create_connection(lambda: ends[1], HOST, 9092)

        server = await asyncio.create_task(serve())
        await asyncio.create_task(connect())
        await ends[0].made.wait()
        for end in ends:
            end.transport.write(b"x")
            await asyncio.sleep(1)
        ends[0].transport.close()
        await ends[1].lost.wait()
        server.close()
        await server.wait_closed()

    run(main())

    assert seen == {("server", "server"), ("client", "client")}


def test_a_server_that_has_not_started_refuses() -> None:
    async def main() -> None:
        loop = asyncio.get_running_loop()
        server = await loop.create_server(Recorder, HOST, 9092, start_serving=False)
        with pytest.raises(ConnectionRefusedError):
            await loop.create_connection(Recorder, HOST, 9092)
        await server.start_serving()
        transport, client = await loop.create_connection(Recorder, HOST, 9092)
        transport.close()
        await client.lost.wait()
        server.close()
        await server.wait_closed()
        with pytest.raises(RuntimeError, match="is closed"):
            await server.start_serving()

    run(main())


@pytest.mark.parametrize(("method", "last"), [("close_clients", "lost"), ("abort_clients", "lost")])
def test_a_server_can_end_its_connections(method: str, last: str) -> None:
    async def main() -> list[str]:
        loop = asyncio.get_running_loop()
        server: Any = await loop.create_server(Recorder, HOST, 9092)
        _, client = await loop.create_connection(Recorder, HOST, 9092)
        await asyncio.sleep(1)
        server.close()
        getattr(server, method)()
        await server.wait_closed()
        await client.lost.wait()
        return client.events

    assert run(main()) == ["made", "eof", last]


def test_a_server_whose_protocol_cannot_be_made_says_so_and_hangs_up() -> None:
    async def main() -> tuple[list[str], list[dict[str, Any]]]:
        seen: list[dict[str, Any]] = []
        loop = asyncio.get_running_loop()
        loop.set_exception_handler(lambda _, context: seen.append(context))
        await loop.create_server(lambda: 1 / 0, HOST, 9092)  # type: ignore[arg-type, return-value]  # it is not made
        _, client = await loop.create_connection(Recorder, HOST, 9092)
        await client.lost.wait()
        return client.events, seen

    events, (context,) = run(main())

    assert context["message"] == "Error on transport creation for incoming connection"
    assert isinstance(context["exception"], ZeroDivisionError)
    assert events == ["made", "lost: ConnectionResetError"]


def test_a_server_that_closes_before_it_accepts_hangs_up() -> None:
    async def main() -> tuple[list[str], list[str]]:
        network().latency = (1.0, 1.0)
        loop = asyncio.get_running_loop()
        other = Recorder()
        server = await loop.create_server(lambda: other, HOST, 9092)
        connecting = asyncio.create_task(loop.create_connection(Recorder, HOST, 9092))
        await asyncio.sleep(0.5)
        # 1. the client wakes up and finds the server, 2. the server closes, 3. it would accept.
        loop.call_at(START + 1.0, loop.call_soon, server.close)
        _, client = await connecting
        await client.lost.wait()
        await server.wait_closed()
        return client.events, other.events

    assert run(main()) == (["made", "lost: ConnectionResetError"], [])


def test_who_gives_up_connecting_leaves_nothing_behind() -> None:
    async def main(after: float) -> list[str]:
        network().latency = (1.0, 1.0)
        loop = asyncio.get_running_loop()
        other = Recorder()
        await loop.create_server(lambda: other, HOST, 9092)
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(after):
                await loop.create_connection(Recorder, HOST, 9092)
        await asyncio.sleep(10)
        assert network().connections == []
        assert network()._links == {}
        return other.events

    assert run(main(0.5)) == []
    assert run(main(1.5)) == ["made", "lost: ConnectionResetError"]


def test_a_connection_that_is_left_open_is_a_warning() -> None:
    async def main() -> None:
        loop = asyncio.get_running_loop()
        await loop.create_server(Recorder, HOST, 9092)
        await loop.create_connection(Recorder, HOST, 9092)

    def forget() -> None:
        run(main())
        gc.collect()

    with pytest.warns(ResourceWarning, match="unclosed transport <VirtualTransport") as caught:
        forget()

    assert len(caught) == 2


def test_a_connection_is_known_until_both_ends_have_closed_it() -> None:
    async def main() -> list[int]:
        seen = []
        async with connected() as (client, server):
            seen.append(len(network().connections))
            server.keeps_open = True
            client.transport.close()
            seen.append(len(network().connections))
            await server.ended.wait()
            seen.append(len(network()._links))
            server.transport.close()
            await server.lost.wait()
            await asyncio.sleep(1)
        return [*seen, len(network()._links)]

    assert run(main()) == [1, 0, 1, 0]


def test_a_thousand_connections_leave_nothing_behind() -> None:
    async def main() -> tuple[int, int]:
        loop = VirtualLoop.running()
        server = await loop.create_server(Recorder, HOST, 9092)
        for _ in range(1_000):
            transport, client = await loop.create_connection(Recorder, HOST, 9092)
            transport.write(b"x")
            transport.close()
            await client.lost.wait()
        server.close()
        await server.wait_closed()
        await asyncio.sleep(1)
        return len(loop.network._links), len(loop._timers)

    assert run(main()) == (0, 0)


def test_a_protocol_that_ends_the_program_ends_it() -> None:
    class Ending(Recorder):
        def data_received(self, data: bytes) -> None:
            raise SystemExit(3)

    async def main() -> None:
        loop = asyncio.get_running_loop()
        await loop.create_server(Ending, HOST, 9092)
        transport, _ = await loop.create_connection(Recorder, HOST, 9092)
        transport.write(b"x")
        try:
            await asyncio.sleep(1)
        finally:
            network().cut()
            await asyncio.sleep(1)

    with pytest.raises(SystemExit):
        run(main())


@pytest.mark.parametrize(
    ("call", "arguments", "options"),
    [
        ("create_connection", (Recorder, HOST, 1), {"ssl": True}),
        ("create_connection", (Recorder,), {"sock": 1}),
        ("create_server", (Recorder, HOST, 1), {"ssl": ssl.SSLContext}),
        ("start_tls", (), {}),
        ("add_reader", (0, print), {}),
        ("sock_connect", (), {}),
        ("create_datagram_endpoint", (Recorder,), {}),
        ("connect_read_pipe", (Recorder, None), {}),
        ("subprocess_exec", (Recorder, "true"), {}),
        ("add_signal_handler", (2, print), {}),
        ("create_unix_server", (Recorder,), {}),
    ],
)
def test_what_a_virtual_loop_has_not_it_refuses_in_words(
    call: str, arguments: tuple[Any, ...], options: dict[str, Any]
) -> None:
    async def main() -> None:
        await getattr(asyncio.get_running_loop(), call)(*arguments, **options)

    with pytest.raises(
        NotImplementedError, match=r"a VirtualLoop has no .*test this on a real loop"
    ):
        run(main())


def test_arguments_are_checked_as_asyncio_does() -> None:
    async def main() -> None:
        loop: Any = asyncio.get_running_loop()
        with pytest.raises(ValueError, match="host and port"):
            await loop.create_connection(Recorder)
        with pytest.raises(ValueError, match="Neither host/port nor sock"):
            await loop.create_server(Recorder)
        with pytest.raises(ValueError, match="server_hostname is only meaningful with ssl"):
            await loop.create_connection(Recorder, HOST, 1, server_hostname="x")
        with pytest.raises(TypeError, match="unexpected keyword argument 'nonsense'"):
            await loop.create_connection(Recorder, HOST, 1, nonsense=1)

    run(main())


def test_the_parts_show_what_they_are() -> None:
    async def main() -> list[str]:
        async with connected() as (client, _):
            client.transport.write(b"x" * 100_000)
            return [
                repr(client.transport),
                repr(network().connections[0].to_server),
                repr(network()).partition(",")[0],
                repr(asyncio.get_running_loop()).partition(",")[0],
            ]

    assert run(main()) == [
        "<VirtualTransport ('127.0.0.1', 50000) to ('127.0.0.1', 30000): open,"
        " 34464 bytes to write>",
        "<Pipe to the server: 0 of 65536 arrived>",
        "<Network: 1 listening",
        "<VirtualLoop seed=0: running",
    ]
