from __future__ import annotations

import asyncio
from functools import partial
from typing import Any

import pytest

from kafka_aio.testing import VirtualLoop, run
from tests.unit.testing.recorder import HOST, Recorder


def test_ports_are_given_in_order_and_the_same_each_time() -> None:
    async def main() -> list[int]:
        loop = asyncio.get_running_loop()
        await loop.create_server(Recorder, HOST, 30_001)
        servers = [await loop.create_server(Recorder, HOST, 0) for _ in range(3)]
        return [server.sockets[0].getsockname()[1] for server in servers]

    assert run(main()) == run(main()) == [30_000, 30_002, 30_003]


def test_hosts_have_ports_of_their_own() -> None:
    async def main() -> list[str]:
        loop = asyncio.get_running_loop()
        seen: list[str] = []

        def accept(host: str) -> Recorder:
            seen.append(host)
            return Recorder()

        for host in ("127.0.0.1", "127.0.0.2", "::1", "10.0.0.7"):
            await loop.create_server(partial(accept, host), host, 9092)
        for host in ("10.0.0.7", "::1", "127.0.0.2", "127.0.0.1"):
            transport, _ = await loop.create_connection(Recorder, host, 9092)
            transport.abort()
            await asyncio.sleep(1)
        return seen

    assert run(main()) == ["10.0.0.7", "::1", "127.0.0.2", "127.0.0.1"]


@pytest.mark.parametrize("host", [None, "", "0.0.0.0", ["127.0.0.1", "10.0.0.7"]])
def test_a_server_can_listen_on_many_addresses(host: Any) -> None:
    async def main() -> list[Any]:
        loop = asyncio.get_running_loop()
        server = await loop.create_server(Recorder, host, 0)
        port = server.sockets[0].getsockname()[1]
        names = []
        for address in ("127.0.0.1", "10.0.0.7"):
            transport, _ = await loop.create_connection(Recorder, address, port)
            names.append(transport.get_extra_info("peername"))
            transport.close()
            await asyncio.sleep(1)
        return [port, *names]

    assert run(main()) == [30_000, ("127.0.0.1", 30_000), ("10.0.0.7", 30_000)]


def test_addresses_of_version_six_look_as_the_systems() -> None:
    async def main() -> list[Any]:
        loop = asyncio.get_running_loop()
        server = await loop.create_server(Recorder, "::1", 9092)
        transport, client = await loop.create_connection(Recorder, "::1", 9092)
        transport.close()
        await client.lost.wait()
        await asyncio.sleep(1)
        return [
            server.sockets[0].getsockname(),
            transport.get_extra_info("peername"),
            transport.get_extra_info("sockname"),
            transport.get_extra_info("socket"),
        ]

    assert run(main()) == [("::1", 9092, 0, 0), ("::1", 9092, 0, 0), ("::1", 50_000, 0, 0), None]


def test_the_addresses_of_a_name_are_tried_one_after_another() -> None:
    async def main() -> list[Any]:
        loop = asyncio.get_running_loop()
        with pytest.raises(OSError, match="Multiple exceptions") as caught:
            await loop.create_connection(Recorder, "kafka.example", 9092)
        with pytest.raises(ExceptionGroup) as group:
            await loop.create_connection(Recorder, "kafka.example", 9092, all_errors=True)  # type: ignore[call-overload]  # since 3.12
        await loop.create_server(Recorder, "10.0.0.2", 9092)
        transport, client = await loop.create_connection(
            Recorder, "kafka.example", 9092, happy_eyeballs_delay=0.25, interleave=1
        )
        name = transport.get_extra_info("peername")
        transport.close()
        await client.lost.wait()
        await asyncio.sleep(1)
        return [str(caught.value), len(group.value.exceptions), name]

    text, count, name = run(main(), hosts={"kafka.example": ["10.0.0.1", "10.0.0.2"]})

    assert text == (
        "Multiple exceptions: [Errno 111] Connect call failed ('10.0.0.1', 9092),"
        " [Errno 111] Connect call failed ('10.0.0.2', 9092)"
    )
    assert count == 2
    assert name == ("10.0.0.2", 9092)


def test_a_connection_can_have_an_address_of_its_own() -> None:
    async def main() -> list[Any]:
        loop = VirtualLoop.running()
        await loop.create_server(Recorder, HOST, 9092)
        transport, client = await loop.create_connection(
            Recorder, HOST, 9092, local_addr=("127.0.0.9", 777)
        )
        (link,) = loop.network.connections
        seen = [transport.get_extra_info("sockname"), link.client, link.server, repr(link)]
        transport.close()
        await client.lost.wait()
        await asyncio.sleep(1)
        return seen

    assert run(main()) == [
        ("127.0.0.9", 777),
        ("127.0.0.9", 777),
        (HOST, 9092),
        "<Link 1 from 127.0.0.9:777 to 127.0.0.1:9092>",
    ]
