"""TLS that does not come about, at each point where it may not."""

from __future__ import annotations

import asyncio
import random
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from kafka_aio.errors import AuthenticationError, KafkaConnectionError
from kafka_aio.net.cluster import Cluster
from tests.hostile.attacks import QUICK_TO_GIVE_UP, SLACK, frame, outcome_of, works
from tests.hostile.relay import Harm, Relay
from tests.net.clusters import Scripted, made
from tests.net.server import HOST, PATIENCE, Broker
from tests.net.tls_client import broker, ca

FLIGHTS = {"TLSv1.2": range(1, 7), "TLSv1.3": range(1, 5)}
"""Up to the answer to ApiVersions; the broker's have even numbers."""
EACH_FLIGHT = [(version, flight) for version, flights in FLIGHTS.items() for flight in flights]
each_flight = pytest.mark.parametrize(("version", "flight"), EACH_FLIGHT)

START_SECONDS = 0.3
TLS: dict[str, Any] = {
    **QUICK_TO_GIVE_UP,
    "security_protocol": "SSL",
    "ssl_truststore_certificates": ca().certificate_pem,
}


def nothing_of(data: bytes) -> bytes:
    return b""


def half_of(data: bytes) -> bytes:
    return data[: len(data) // 2]


def noise(data: bytes) -> bytes:
    return random.Random(len(data)).randbytes(len(data))


def flipped(data: bytes) -> bytes:
    middle = len(data) // 2
    return data[:middle] + bytes([data[middle] ^ 1]) + data[middle + 1 :]


def plain(data: bytes) -> bytes:
    return frame(14, b"\0\0\0\1" + bytes(10))


@asynccontextmanager
async def relayed(
    version: str, flight: int, harm: Harm, *, then_close: bool
) -> AsyncIterator[tuple[Scripted, Relay, Cluster]]:
    """A broker with TLS, the relay before it, and a client."""
    context = broker().server()
    context.maximum_version = ssl.TLSVersion[version.replace(".", "_")]
    ignore_what_the_server_thinks_of_it()
    async with Broker().listening(context) as listening:
        script = Scripted({1: listening})
        relay = Relay(listening.port, flight=flight, harm=harm, then_close=then_close)
        async with relay.listening():
            script.ports[1] = relay.port
            async with made(f"{HOST}:{relay.port}", **TLS) as cluster:
                yield script, relay, cluster


def ignore_what_the_server_thinks_of_it() -> None:
    """In debug mode, asyncio's servers call each handshake that fails an error of the loop."""
    loop = asyncio.get_running_loop()
    others = loop.get_exception_handler()
    assert others is not None

    def note(loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        if context["message"] != "Error on transport creation for incoming connection":
            others(loop, context)

    loop.set_exception_handler(note)


async def is_given_up(version: str, flight: int, harm: Harm, *, then_close: bool) -> None:
    async with relayed(version, flight, harm, then_close=then_close) as (script, relay, cluster):
        _, error, seconds = await outcome_of(cluster.start(timeout=START_SECONDS))

        assert type(error) is KafkaConnectionError
        assert f"{HOST}:{relay.port}: " in str(error)
        assert seconds < START_SECONDS + SLACK
        assert relay.harms
        relay.connections = 0
        await works(cluster, script)


@each_flight
async def test_the_end_in_place_of_a_flight_is_a_typed_error(version: str, flight: int) -> None:
    await is_given_up(version, flight, nothing_of, then_close=True)


@each_flight
async def test_silence_in_the_middle_of_a_flight_ends_in_time(version: str, flight: int) -> None:
    await is_given_up(version, flight, half_of, then_close=False)


@each_flight
async def test_after_an_end_in_the_middle_of_a_flight_we_connect_again(
    version: str, flight: int
) -> None:
    async with relayed(version, flight, half_of, then_close=True) as (script, relay, cluster):
        relay.connections = 1

        await cluster.start(timeout=PATIENCE)

        assert relay.harms
        await works(cluster, script)


@pytest.mark.parametrize("harm", [noise, flipped, plain])
@pytest.mark.parametrize(("version", "flight"), [each for each in EACH_FLIGHT if each[1] % 2 == 0])
async def test_after_a_flight_that_is_not_what_was_sent_we_connect_again_or_refuse_the_broker(
    version: str, flight: int, harm: Harm
) -> None:
    async with relayed(version, flight, harm, then_close=True) as (script, relay, cluster):
        relay.connections = 1

        _, error, seconds = await outcome_of(cluster.start(timeout=PATIENCE))

        assert error is None or type(error) is AuthenticationError
        assert seconds < START_SECONDS + SLACK
        assert relay.harms
        await works(cluster, script)
