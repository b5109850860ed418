from __future__ import annotations

import asyncio
import socket

import pytest

from kafka_aio.testing import run
from kafka_aio.testing.names import AddressInfo

HOSTS = {"kafka.example": ["10.0.0.1", "fd00::1"], "Other.example": ["10.0.0.2"]}


async def look_up(host: str | None, port: int | str | None = 9092, **options: int) -> list[object]:
    infos = await asyncio.get_running_loop().getaddrinfo(host, port, **options)
    return [info[4] for info in infos]


@pytest.mark.parametrize(
    ("host", "expected"),
    [
        ("localhost", [("127.0.0.1", 9092)]),
        ("127.0.0.1", [("127.0.0.1", 9092)]),
        ("127.0.0.2", [("127.0.0.2", 9092)]),
        ("::1", [("::1", 9092, 0, 0)]),
        ("10.9.8.7", [("10.9.8.7", 9092)]),
        ("kafka.example", [("10.0.0.1", 9092), ("fd00::1", 9092, 0, 0)]),
        ("KAFKA.example", [("10.0.0.1", 9092), ("fd00::1", 9092, 0, 0)]),
        ("other.example", [("10.0.0.2", 9092)]),
        (None, [("127.0.0.1", 9092), ("::1", 9092, 0, 0)]),
    ],
)
def test_names_have_the_addresses_that_the_test_gives_them(
    host: str | None, expected: list[object]
) -> None:
    assert run(look_up(host), hosts=HOSTS) == expected


def test_the_addresses_of_localhost_can_be_given() -> None:
    found = run(look_up("localhost"), hosts={"localhost": ["::1", "127.0.0.1"]})

    assert found == [("::1", 9092, 0, 0), ("127.0.0.1", 9092)]


def test_an_address_is_described_as_the_system_does() -> None:
    async def main() -> list[AddressInfo]:
        loop = asyncio.get_running_loop()
        found: list[AddressInfo] = await loop.getaddrinfo("127.0.0.1", "9092")  # type: ignore[assignment]  # ours
        return found

    expected = socket.getaddrinfo("127.0.0.1", 9092, type=socket.SOCK_STREAM)

    assert run(main()) == expected


def test_a_family_can_be_asked_for() -> None:
    assert run(look_up("kafka.example", family=socket.AF_INET6), hosts=HOSTS) == [
        ("fd00::1", 9092, 0, 0)
    ]


@pytest.mark.parametrize(
    ("host", "port", "family", "code"),
    [
        ("nobody.example", 9092, socket.AF_UNSPEC, socket.EAI_NONAME),
        ("other.example", 9092, socket.AF_INET6, socket.EAI_NONAME),
        ("other.example", "kafka", socket.AF_UNSPEC, socket.EAI_SERVICE),
    ],
)
def test_a_name_that_is_not_known_is_the_systems_error(
    host: str, port: int | str, family: int, code: int
) -> None:
    with pytest.raises(socket.gaierror) as caught:
        run(look_up(host, port, family=family), hosts=HOSTS)

    assert caught.value.errno == code


def test_the_text_of_an_unknown_name_is_the_systems() -> None:
    with pytest.raises(socket.gaierror, match=r"\[Errno -2\] Name or service not known"):
        run(look_up("nobody.example"))


def test_what_cannot_be_a_name_is_a_unicode_error() -> None:
    with pytest.raises(UnicodeError):
        run(look_up("a..b"))


def test_addresses_have_names() -> None:
    async def main() -> list[tuple[str, str]]:
        loop = asyncio.get_running_loop()
        with pytest.raises(socket.gaierror):
            await loop.getnameinfo(("10.0.0.9", 9092), socket.NI_NAMEREQD)
        return [
            await loop.getnameinfo(("10.0.0.1", 9092)),
            await loop.getnameinfo(("10.0.0.1", 9092), socket.NI_NUMERICHOST),
            await loop.getnameinfo(("10.0.0.9", 9092)),
            await loop.getnameinfo(("127.0.0.1", 9092), socket.NI_NAMEREQD),
        ]

    assert run(main(), hosts=HOSTS) == [
        ("kafka.example", "9092"),
        ("10.0.0.1", "9092"),
        ("10.0.0.9", "9092"),
        ("localhost", "9092"),
    ]


def test_an_address_is_not_looked_up(monkeypatch: pytest.MonkeyPatch) -> None:
    async def main() -> None:
        loop = asyncio.get_running_loop()
        monkeypatch.setattr(loop, "getaddrinfo", None)
        await loop.create_server(asyncio.Protocol, "127.0.0.1", 9092)
        transport, _ = await loop.create_connection(asyncio.Protocol, "127.0.0.1", 9092)
        transport.close()
        await asyncio.sleep(1)

    run(main())
