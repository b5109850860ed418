from __future__ import annotations

import asyncio
from math import inf
from typing import Any, Literal

import pytest

from kafka_aio.testing import Link, Network, VirtualLoop, run
from kafka_aio.testing.loop import START
from tests.unit.testing.recorder import HOST, Recorder, connected


def network() -> Network:
    return VirtualLoop.running().network


async def listen(*ports: int) -> list[Recorder]:
    """Listens on all those ports; the protocols of whoever connects."""
    accepted: list[Recorder] = []

    def accept() -> Recorder:
        accepted.append(Recorder())
        return accepted[-1]

    for port in ports:
        await asyncio.get_running_loop().create_server(accept, HOST, port)
    return accepted


async def connect(port: int) -> Recorder:
    _, protocol = await asyncio.get_running_loop().create_connection(Recorder, HOST, port)
    return protocol


@pytest.mark.parametrize(
    ("reset", "end"),
    [(True, ["lost: ConnectionResetError"]), (False, ["eof", "lost"])],
)
def test_a_cut_in_mid_frame_delivers_what_came_before(reset: bool, end: list[str]) -> None:
    async def main() -> tuple[Recorder, Recorder]:
        fault = network().cut_after(7, to="server", reset=reset)
        async with connected() as (client, server):
            (link,) = network().connections
            client.transport.write(b"a frame of many bytes")
            await client.lost.wait()
            await server.lost.wait()
        assert link.received == {"client": 0, "server": 7}
        assert fault.left == inf
        return client, server

    client, server = run(main())

    assert server.data == b"a frame"
    assert server.events == ["made", "data", *end]
    assert client.events == ["made", *end]


@pytest.mark.parametrize(
    ("to", "expected"),
    [("server", (b"12345", b"12")), ("client", (b"12345678", b"12345")), (None, (b"123", b"12"))],
)
def test_the_bytes_of_one_side_or_of_both_count(
    to: Literal["client", "server"] | None, expected: tuple[bytes, bytes]
) -> None:
    async def main() -> tuple[bytes, bytes]:
        async with connected() as (client, server):
            network().cut_after(5, to=to)
            server.transport.write(b"12")
            await asyncio.sleep(1)
            client.transport.write(b"12345678")
            await asyncio.sleep(1)
            server.transport.write(b"345678")
            await asyncio.sleep(1)
            return bytes(server.data), bytes(client.data)

    assert run(main()) == expected


def test_a_cut_after_a_random_number_of_bytes_is_the_seeds() -> None:
    async def main() -> list[int]:
        network().cut_after((100, 200))
        lengths = []
        accepted = await listen(9092)
        for _ in range(5):
            client = await connect(9092)
            client.transport.write(b"x" * 1_000)
            await client.lost.wait()
            await asyncio.sleep(1)
            lengths.append(len(accepted[-1].data))
        return lengths

    lengths = run(main(), seed=3)

    assert all(100 <= length <= 200 for length in lengths)
    assert len(set(lengths)) > 1
    assert run(main(), seed=3) == lengths
    assert run(main(), seed=4) != lengths


def test_a_cut_can_be_for_so_many_connections() -> None:
    async def main() -> list[int]:
        fault = network().cut_after(10, times=2)
        accepted = await listen(9092)
        clients = [await connect(9092) for _ in range(4)]
        for client in clients:
            client.transport.write(b"x" * 100)
            await asyncio.sleep(1)
        lengths = [len(other.data) for other in accepted]
        assert fault.left == 0
        network().cut()
        await asyncio.sleep(1)
        return lengths

    assert run(main()) == [10, 10, 100, 100]


def test_a_cut_after_nothing_lets_a_client_connect_and_no_more() -> None:
    async def main() -> list[str]:
        network().cut_after(0)
        await listen(9092)
        client = await connect(9092)
        await client.lost.wait()
        await asyncio.sleep(1)
        return client.events

    assert run(main()) == ["made", "lost: ConnectionResetError"]


def test_a_cut_that_is_healed_cuts_no_more() -> None:
    async def main() -> int:
        async with connected() as (client, server):
            with network().cut_after(10):
                client.transport.write(b"x" * 5)
                await asyncio.sleep(1)
            client.transport.write(b"x" * 95)
            await asyncio.sleep(1)
            return len(server.data)

    assert run(main()) == 100


@pytest.mark.parametrize(
    ("where", "expected"),
    [
        (None, []),
        (9092, [9093]),
        ((HOST, 9093), [9092]),
        (("127.0.0.2", 9093), [9092, 9093]),
        (HOST, []),
        (lambda link: link.number == 2, [9092]),
    ],
)
def test_connections_are_chosen_by_port_address_or_function(
    where: Any, expected: list[int]
) -> None:
    async def main() -> list[int]:
        await listen(9092, 9093)
        await connect(9092)
        await connect(9093)
        await asyncio.sleep(1)
        network().cut(where)
        left = [link.server[1] for link in network().connections]
        network().cut()
        await asyncio.sleep(1)
        return left

    assert run(main()) == expected


def test_a_cut_loses_what_is_under_way() -> None:
    async def main() -> tuple[bytes, list[str]]:
        network().latency = (1.0, 1.0)
        async with connected() as (client, server):
            client.transport.write(b"arrives")
            await asyncio.sleep(1.5)
            client.transport.write(b"does not")
            await asyncio.sleep(0.5)
            network().cut()
            await server.lost.wait()
            await client.lost.wait()
            return bytes(server.data), client.events

    assert run(main()) == (b"arrives", ["made", "lost: ConnectionResetError"])


def test_a_link_can_be_cut_by_hand_and_has_counted_its_bytes() -> None:
    async def main() -> tuple[Link, list[str]]:
        async with connected() as (client, server):
            client.transport.write(b"12345")
            await asyncio.sleep(1)
            (link,) = network().connections
            server.keeps_open = True
            client.transport.write(b"lost on its way")
            link.cut(reset=False)
            link.cut()
            assert not link.is_open
            await server.ended.wait()
            server.transport.write(b"to nobody")  # is answered by a reset
            await asyncio.sleep(1)
            server.transport.write(b"to nobody")
            await server.lost.wait()
            return link, server.events

    link, events = run(main())

    assert link.received == {"client": 0, "server": 5}
    assert events == ["made", "data", "eof", "lost: BrokenPipeError"]


def test_a_port_refuses_until_it_is_healed() -> None:
    async def main() -> list[int]:
        await listen(9092, 9093)
        first = await connect(9092)
        with network().refuse(9092):
            with pytest.raises(ConnectionRefusedError, match="Connect call failed"):
                await connect(9092)
            await connect(9093)
        await connect(9092)
        ports = [link.server[1] for link in network().connections]
        assert not first.lost.is_set()
        network().cut()
        await asyncio.sleep(1)
        return ports

    assert run(main()) == [9092, 9093, 9092]


def test_in_a_black_hole_nothing_arrives_until_it_is_healed() -> None:
    async def main() -> list[Any]:
        async with connected() as (client, server):
            client.transport.write(b"1")
            fault = network().black_hole()
            client.transport.write(b"2")
            server.transport.write(b"3")
            await asyncio.sleep(3_600)
            seen = [bytes(server.data), bytes(client.data), network().connections[0].is_stalled]
            client.transport.write(b"4")
            fault.heal()
            fault.heal()
            await asyncio.sleep(1)
            return [*seen, bytes(server.data), bytes(client.data)]

    assert run(main()) == [b"", b"", True, b"124", b"3"]


def test_an_end_does_not_come_out_of_a_black_hole() -> None:
    async def main() -> list[Any]:
        async with connected() as (client, server):
            network().black_hole()
            client.transport.abort()
            await client.lost.wait()
            await asyncio.sleep(3_600)
            seen = [*server.events]
            network().heal()
            await server.lost.wait()
            return [seen, server.events]

    assert run(main()) == [["made"], ["made", "eof", "lost"]]


def test_who_connects_into_a_black_hole_waits_as_long_as_the_system_would() -> None:
    async def main() -> tuple[str, float]:
        await listen(9092)
        network().black_hole(9092)
        with pytest.raises(TimeoutError) as caught:
            await connect(9092)
        return str(caught.value), asyncio.get_running_loop().time() - START

    text, seconds = run(main())

    assert text == "[Errno 110] Connect call failed ('127.0.0.1', 9092)"
    assert seconds == 127.0


def test_who_connects_into_a_black_hole_is_through_when_it_is_healed() -> None:
    async def main() -> float:
        loop = asyncio.get_running_loop()
        await listen(9092)
        fault = network().black_hole(9092)
        loop.call_later(60, fault.heal)
        await connect(9092)
        seconds = loop.time() - START
        network().cut()
        await asyncio.sleep(1)
        return seconds

    assert 60 <= run(main()) < 61


def test_some_places_are_slow() -> None:
    async def main() -> list[float]:
        network().latency = (0.0, 0.0)
        loop = asyncio.get_running_loop()
        await listen(9092, 9093)
        times = []
        with network().slow((2.0, 2.0), 9092), network().slow((3.0, 3.0), 9093):
            for port in (9092, 9093):
                before = loop.time()
                await connect(port)
                times.append(loop.time() - before)
        before = loop.time()
        await connect(9092)
        times.append(loop.time() - before)
        network().cut()
        await asyncio.sleep(1)
        return times

    assert run(main()) == [4.0, 6.0, 0.0]


def test_healing_ends_every_fault() -> None:
    async def main() -> tuple[bytes, str]:
        accepted = await listen(9092)
        network().refuse(9092)
        network().black_hole(9092)
        network().cut_after(1, 9092)
        network().slow((9.0, 9.0))
        network().heal()
        client = await connect(9092)
        client.transport.write(b"all is well")
        client.transport.close()
        await asyncio.sleep(1)
        return bytes(accepted[0].data), repr(network())

    assert run(main()) == (b"all is well", "<Network: 1 listening, [], []>")
