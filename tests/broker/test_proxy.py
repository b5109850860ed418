"""The proxy of the tests before an echo: each fault, and that they come and go."""

from __future__ import annotations

import asyncio
import itertools
import random
import socket
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import suppress

import pytest

from tests.broker.echo import HOST, Client, Server, connected, make_reset, serving
from tests.kafka.faults import Fault, How
from tests.kafka.proxy import TO_CLIENT, TO_SERVER, Event, Proxy

DATA = random.Random(0).randbytes(1_000)
MUCH = random.Random(0).randbytes(2_000_000)


@pytest.fixture
async def server() -> AsyncIterator[Server]:
    async with serving() as server:
        yield server


@pytest.fixture
async def proxy(server: Server) -> AsyncIterator[Proxy]:
    async with Proxy(server.address) as proxy:
        yield proxy


async def test_without_a_fault_all_bytes_go_through(proxy: Proxy, server: Server) -> None:
    async with connected(proxy.port) as client:
        echoed = asyncio.create_task(client.read_to_end())
        await client.send(MUCH)
        client.end()

        assert await echoed == (MUCH, "fin")
    assert server.received == MUCH
    assert [*proxy.trace] == [
        Event("accept", 1, TO_SERVER, 0),
        Event("end", 1, TO_SERVER, len(MUCH)),
        Event("end", 1, TO_CLIENT, len(MUCH)),
    ]


async def test_a_direction_may_end_before_the_other(proxy: Proxy, server: Server) -> None:
    async def answer_at_the_end(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read()
        writer.write(DATA)

    server.answer = answer_at_the_end
    async with connected(proxy.port) as client:
        client.end()

        assert await client.read_to_end() == (DATA, "fin")


async def test_a_reset_is_passed_on_to_the_client(proxy: Proxy, server: Server) -> None:
    async def reset(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readexactly(1)
        make_reset(writer.get_extra_info("socket"))

    server.answer = reset
    async with connected(proxy.port) as client:
        await client.send(b"x")

        assert await client.read_to_end() == (b"", "rst")


async def test_a_reset_is_passed_on_to_the_server(proxy: Proxy, server: Server) -> None:
    async with connected(proxy.port) as client:
        await client.exchange(DATA)
        make_reset(client.socket)

    assert await server.ends.get() == "rst"


async def test_a_server_that_is_not_there_is_a_reset() -> None:
    with socket.socket() as nobody:
        nobody.bind((HOST, 0))
        async with Proxy(nobody.getsockname()) as proxy, connected(proxy.port) as client:
            assert await client.read_to_end() == (b"", "rst")


@pytest.mark.parametrize("how", ["fin", "rst"])
@pytest.mark.parametrize("count", [0, 1, 7, 999])
async def test_a_cut_in_the_middle_is_seen_by_both_sides(
    proxy: Proxy, server: Server, how: How, count: int
) -> None:
    async with connected(proxy.port) as client:
        proxy.cut_after(count, how, direction=TO_CLIENT)
        await client.send(DATA)

        assert await client.read_to_end() == (DATA[:count], how)
    assert await server.ends.get() == how
    assert proxy.trace[-1] == Event(f"cut by {how}", 1, TO_CLIENT, count)


async def test_a_cut_counts_from_when_it_is_set(proxy: Proxy, server: Server) -> None:
    async with connected(proxy.port) as client:
        await client.exchange(DATA)
        proxy.cut_after(5, "fin", direction=TO_SERVER)
        await client.send(DATA)
        await server.ends.get()

    assert server.received == DATA + DATA[:5]


async def test_a_cut_by_fin_is_no_reset_though_bytes_are_under_way(
    proxy: Proxy, server: Server
) -> None:
    async with connected(proxy.port) as client:
        proxy.stall(direction=TO_SERVER)
        await client.send(MUCH[:200_000])
        await proxy.wait_for("stall")
        proxy.cut("fin")
        proxy.heal()

        assert await client.read_to_end() == (b"", "fin")
        assert await server.ends.get() == "fin"
        for _ in range(10):
            await client.send(DATA)  # a reset behind the end would be an error here
            await asyncio.sleep(0.001)
    assert server.received == b""


async def test_a_cut_happens_as_often_as_told(proxy: Proxy) -> None:
    proxy.cut_after(10, "rst", direction=TO_SERVER, times=2)
    ends = []
    for _ in range(3):
        async with connected(proxy.port) as client:
            await client.send(DATA)
            client.end()
            ends.append((await client.read_to_end())[1])

    assert ends == ["rst", "rst", "fin"]


async def test_a_cut_now_ends_all_that_are_open(proxy: Proxy) -> None:
    async with connected(proxy.port) as first, connected(proxy.port) as second:
        await first.exchange(DATA)
        await second.exchange(DATA)
        proxy.cut("rst")

        assert await first.read_to_end() == await second.read_to_end() == (b"", "rst")
    async with connected(proxy.port) as third:
        assert await third.exchange(DATA) == DATA


async def test_a_cut_ends_a_connection_that_has_just_come(proxy: Proxy) -> None:
    with socket.create_connection((HOST, proxy.port)) as client:
        client.setblocking(False)
        await proxy.wait_for("accept")  # and before its task has run
        proxy.cut("rst")

        assert await Client(client).read_to_end() == (b"", "rst")


async def test_a_fault_may_be_that_of_one_connection(proxy: Proxy) -> None:
    async with connected(proxy.port) as first, connected(proxy.port) as second:
        await first.exchange(DATA)
        await second.exchange(DATA)
        proxy.cut("fin", connection=2)
        proxy.cut_after(0, "rst", connection=3)

        assert await second.read_to_end() == (b"", "fin")
        async with connected(proxy.port) as third:
            await third.send(DATA)
            assert await third.read_to_end() == (b"", "rst")
        assert await first.exchange(DATA) == DATA


async def test_a_black_hole_takes_bytes_and_resets_who_lost_some(
    proxy: Proxy, server: Server
) -> None:
    async with connected(proxy.port) as client, connected(proxy.port) as idle:
        await idle.exchange(b"x")
        with proxy.black_hole():
            for _ in range(20):  # more than the kernel would hold
                await client.send(MUCH)

        assert await client.read_to_end() == (b"", "rst")
        assert server.received == b"x"
        assert await idle.exchange(DATA) == DATA


async def test_a_black_hole_may_be_in_one_direction(proxy: Proxy, server: Server) -> None:
    async with connected(proxy.port) as client:
        with proxy.black_hole(direction=TO_CLIENT):
            await client.send(DATA)
            await proxy.wait_for("swallow")

        assert await client.read_to_end() == (b"", "rst")
    assert server.received == DATA


@pytest.mark.parametrize("kind", [Proxy.black_hole, Proxy.stall])
async def test_a_silent_network_does_not_tell_the_end_either(
    proxy: Proxy, server: Server, kind: Callable[[Proxy], Fault]
) -> None:
    async with connected(proxy.port) as client:
        await client.exchange(DATA)
        fault = kind(proxy)
    async with connected(proxy.port) as later:  # time for the end to come, if it came
        await later.send(DATA)
        await proxy.wait_for("swallow" if kind is Proxy.black_hole else "stall")

    assert server.ends.empty()
    fault.lift()
    assert await server.ends.get() == "fin"


async def test_what_was_stalled_goes_on_when_that_is_lifted(proxy: Proxy, server: Server) -> None:
    async with connected(proxy.port) as client:
        with proxy.stall(direction=TO_SERVER):
            await client.send(DATA)
            await proxy.wait_for("stall")
            received = bytes(server.received)

        assert await client.read_exactly(len(DATA)) == DATA
    assert received == b""


async def test_what_is_behind_a_stall_is_not_taken_in(proxy: Proxy) -> None:
    sent = refusals = 0
    with proxy.stall():
        async with connected(proxy.port) as client:
            while refusals < 100 and sent < 200_000_000:
                try:
                    sent += client.socket.send(MUCH)
                    refusals = 0
                except BlockingIOError:
                    refusals += 1
                    await asyncio.sleep(0.001)

    assert refusals == 100


async def test_each_read_is_delayed(proxy: Proxy) -> None:
    loop = asyncio.get_running_loop()
    async with connected(proxy.port) as client:
        proxy.delay(0.1, direction=TO_SERVER)
        proxy.delay(0.05, 0.04, direction=TO_CLIENT)
        start = loop.time()
        echoed = await client.exchange(DATA)
        took = loop.time() - start

    assert echoed == DATA
    assert took > 0.145  # uvloop's clock has whole milliseconds
    _, there, back, *_ = proxy.trace
    assert there == Event("delay of 0.100 s", 1, TO_SERVER, 0)
    assert "delay of 0.050 s" < back.what < "delay of 0.090 s"


async def test_who_waits_for_a_delay_goes_on_when_it_is_lifted(proxy: Proxy) -> None:
    async with connected(proxy.port) as client:
        proxy.delay(3_600)
        await client.send(DATA)
        await proxy.wait_for("delay of 3600.000 s")
        proxy.heal()

        assert await client.read_exactly(len(DATA)) == DATA


async def test_bytes_come_in_slices(proxy: Proxy) -> None:
    proxy.slice(1, 16, direction=TO_CLIENT)
    async with connected(proxy.port) as client:
        await client.send(DATA)
        reads = [await client.read()]
        while sum(map(len, reads)) < len(DATA):
            reads.append(await client.read())

    ends = [event.position for event in proxy.trace if event.what == "slice"]
    sizes = {end - start for start, end in itertools.pairwise([0, *ends])}
    assert b"".join(reads) == DATA
    assert {1, 16} <= sizes <= set(range(1, 17))
    assert len(reads) > len(ends) / 3  # on one loop with the proxy, most are read one by one


async def test_bandwidth_is_limited(proxy: Proxy) -> None:
    loop = asyncio.get_running_loop()
    async with connected(proxy.port) as client:
        proxy.bandwidth(10_000, direction=TO_CLIENT)
        start = loop.time()
        echoed = await client.exchange(DATA)
        took = loop.time() - start

    assert echoed == DATA
    assert took > 0.045  # two portions of 500 bytes, and 50 ms between them


async def places(server: Server, seed: int, piece: int) -> list[Event]:
    """What happened to bytes that came in such pieces, were sliced, and cut somewhere."""
    async with Proxy(server.address, seed=seed) as proxy, connected(proxy.port) as client:
        proxy.slice(1, 16)
        proxy.delay(0, 0.001, direction=TO_CLIENT)
        proxy.cut_after((500, 900), "rst", direction=TO_SERVER)
        with suppress(ConnectionError):
            for start in range(0, len(DATA), piece):
                await client.send(DATA[start : start + piece])
                await asyncio.sleep(0)
        await client.read_to_end()
    return [event for event in proxy.trace if event.direction is TO_SERVER]


async def test_the_seed_decides_where_and_not_how_bytes_arrive(server: Server) -> None:
    once = await places(server, seed=1, piece=1_000)
    again = await places(server, seed=1, piece=33)
    other = await places(server, seed=2, piece=1_000)

    assert once == again
    assert once != other
    assert once[-1].what == "cut by rst"
    assert 500 <= once[-1].position <= 900


async def test_two_talks_with_the_same_seed_have_the_same_trace(server: Server) -> None:
    traces = []
    for _ in range(2):
        async with Proxy(server.address, seed=3) as proxy:
            proxy.slice(1, 16)
            proxy.delay(0, 0.01)
            async with connected(proxy.port) as client:
                for size in range(1, 10):
                    await client.exchange(DATA[:size])
                proxy.cut("fin")
                await client.read_to_end()
        traces.append([*proxy.trace])

    assert traces[0] == traces[1]
    assert len({event.what for event in traces[0]}) > 10  # the delays among them


async def test_nobody_listens_while_connections_are_refused(proxy: Proxy) -> None:
    async with connected(proxy.port) as before:
        with proxy.refuse():
            with pytest.raises(ConnectionRefusedError):
                async with connected(proxy.port):
                    pass
            assert await before.exchange(DATA) == DATA

    async with connected(proxy.port) as after:
        assert await after.exchange(DATA) == DATA


@pytest.mark.skipif(sys.platform != "linux", reason="other kernels do not ignore who comes")
async def test_an_attempt_to_connect_can_hang(proxy: Proxy) -> None:
    with socket.socket() as client:
        client.setblocking(False)
        loop = asyncio.get_running_loop()
        with proxy.hang():
            attempt = asyncio.create_task(loop.sock_connect(client, (HOST, proxy.port)))
            done, _ = await asyncio.wait([attempt], timeout=0.2)
        await attempt  # the kernel asks again after a second

    assert not done


async def test_a_port_can_be_chosen_and_had_again(server: Server) -> None:
    async with Proxy(server.address) as proxy, connected(proxy.port) as client:
        await client.exchange(DATA)
    async with (
        Proxy(server.address, listen_port=proxy.port) as again,
        connected(proxy.port) as client,
    ):
        assert again.port == proxy.port
        assert await client.exchange(DATA) == DATA


async def test_a_port_that_is_taken_is_an_error(server: Server) -> None:
    with pytest.raises(OSError, match="in use"):
        await Proxy(server.address, listen_port=server.address[1]).start()


async def test_closing_ends_what_waits_for_a_fault_to_be_lifted(server: Server) -> None:
    async with Proxy(server.address) as proxy:
        proxy.stall(connection=1)
        proxy.delay(3_600, connection=2)
        proxy.black_hole(connection=3)
        async with (
            connected(proxy.port) as first,
            connected(proxy.port) as second,
            connected(proxy.port) as third,
        ):
            for client in first, second, third:
                await client.send(DATA)
            for what in "stall", "delay of 3600.000 s", "swallow":
                await proxy.wait_for(what)
            hang, _ = proxy.hang(), proxy.refuse()
            await proxy.aclose()
            hang.lift()

            for client in first, second, third:
                received, _ = await client.read_to_end()
                assert received == b""
            with pytest.raises(ConnectionRefusedError):
                async with connected(proxy.port):
                    pass


async def test_closing_ends_a_connection_that_has_just_come(proxy: Proxy) -> None:
    with socket.create_connection((HOST, proxy.port)):
        await proxy.wait_for("accept")
        await proxy.aclose()

    assert asyncio.all_tasks() == {asyncio.current_task()}
    assert [*proxy.trace] == [Event("accept", 1, TO_SERVER, 0)]
