from __future__ import annotations

import asyncio
import random
import re
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from kafka_aio.config import ClientConfig
from kafka_aio.errors import (
    AuthenticationError,
    KafkaConnectionError,
    KafkaError,
    ProtocolError,
    UnsupportedVersion,
)
from kafka_aio.net.connection import Connection
from kafka_aio.net.dial import Dialer
from kafka_aio.net.limits import Limits, Traffic
from kafka_aio.net.tokens import Tokens
from kafka_aio.protocol.codec import encode
from kafka_aio.protocol.messages.api_versions import (
    ApiVersion,
    ApiVersionsRequest,
    ApiVersionsResponse,
)
from kafka_aio.protocol.messages.metadata import MetadataRequest
from tests.net.certificates import LOCALHOST, authority
from tests.net.exchanges import FETCH, MANY_TURNS, MIB, cancelled_after, fetched
from tests.net.peers import answering, greeting, serving
from tests.net.server import (
    ALL_VERSIONS,
    HOST,
    PATIENCE,
    Asked,
    Broker,
    closes,
    resets,
    says,
    says_nothing,
    writes,
)

SETUP = 0.2  # seconds, where nobody answers
CA = authority("our authority")
SERVER = CA.issue(*LOCALHOST)
TLS: dict[str, Any] = {
    "security_protocol": "SSL",
    "ssl_truststore_certificates": CA.certificate_pem,
}


def dialer(*, limits: Limits | None = None, **options: Any) -> Dialer:
    config = ClientConfig(bootstrap_servers="unused:1", **options)
    tokens = Tokens(config) if options.get("sasl_mechanism") == "OAUTHBEARER" else None
    return Dialer(config, limits or Limits(), Traffic(), tokens=tokens, rng=random.Random(0))


async def dial(port: int, **options: Any) -> Connection:
    return await dialer(**options).dial(HOST, port, timeout=PATIENCE)


async def refusal(
    port: int, *, host: str = HOST, timeout: float = PATIENCE, **options: Any
) -> KafkaError:
    """How a dial fails; it must, and in time, and say where."""
    async with asyncio.timeout(timeout + 1.0):
        with pytest.raises(KafkaError) as caught:
            await dialer(**options).dial(host, port, timeout=timeout)
    assert str(caught.value).startswith(f"{host}:{port}: ")
    return caught.value


def free_port() -> int:
    with socket.socket() as listening:
        listening.bind((HOST, 0))
        port: int = listening.getsockname()[1]
        return port


@contextmanager
def silent(host: str, port: int = 0) -> Iterator[int]:
    """A port that takes connections, and nobody there."""
    with socket.create_server((host, port)) as listening:
        yield listening.getsockname()[1]


def stands_for(monkeypatch: pytest.MonkeyPatch, *addresses: str) -> None:
    """Let every name have these addresses."""

    async def getaddrinfo(host: str, port: int, **options: object) -> list[tuple[Any, ...]]:
        kind = (socket.AF_INET, socket.SOCK_STREAM, 6, "")
        return [(*kind, (address, port)) for address in addresses]

    monkeypatch.setattr(asyncio.get_running_loop(), "getaddrinfo", getaddrinfo)


# A broker.


async def test_a_connection_is_ready_for_requests(broker: Broker) -> None:
    connection = await dial(broker.port)
    deadline = asyncio.get_running_loop().time() + PATIENCE
    cluster = await connection.send(MetadataRequest(topics=[]), deadline=deadline)
    await connection.aclose()

    hello = broker.seen[0]
    assert cluster.cluster_id == "scripted"
    assert (hello.message.client_software_name, hello.version) == ("kafka-aio", 4)
    assert re.fullmatch(
        r"[a-zA-Z0-9](?:[a-zA-Z0-9\-.]*[a-zA-Z0-9])?", hello.message.client_software_version
    )
    assert connection.api_versions is not None
    assert connection.api_versions.api_keys == ALL_VERSIONS


async def test_the_limit_of_a_frame_is_lifted_once_the_broker_is_known(broker: Broker) -> None:
    connection = await dial(broker.port)
    deadline = asyncio.get_running_loop().time() + PATIENCE
    task = asyncio.create_task(connection.send(FETCH, deadline=deadline))
    (await broker.next()).answer(fetched(MIB))
    answer = await task
    await connection.aclose()

    assert answer.responses[0].partitions[0].records == bytes(MIB)


async def test_an_older_broker_is_asked_again_in_a_version_that_it_speaks(broker: Broker) -> None:
    def refuse_newer(asked: Asked) -> None:
        response = ApiVersionsResponse(error_code=0, api_keys=ALL_VERSIONS)
        if asked.version > 2:
            offered = [ApiVersion(api_key=18, min_version=0, max_version=2)]
            body = encode(ApiVersionsResponse(error_code=35, api_keys=offered), 0)
            asked.peer.write((4 + len(body)).to_bytes(4, "big"))
            asked.peer.write(asked.correlation_id.to_bytes(4, "big") + body)
        else:
            asked.answer(response)

    broker.reactions[ApiVersionsRequest] = refuse_newer

    connection = await dial(broker.port)
    await connection.aclose()

    assert [asked.version for asked in broker.seen] == [4, 2]


async def test_a_connection_is_encrypted_where_asked_for() -> None:
    async with Broker().listening(SERVER.server()) as broker:
        connection = await dial(broker.port, **TLS)
        assert connection.transport is not None
        cipher = connection.transport.get_extra_info("cipher")
        deadline = asyncio.get_running_loop().time() + PATIENCE
        for size in (10, 40_000, 5 * MIB, 40_000):
            task = asyncio.create_task(connection.send(FETCH, deadline=deadline))
            (await broker.next()).answer(fetched(size))
            assert len((await task).responses[0].partitions[0].records or b"") == size
        await connection.aclose()

    assert cipher is not None


async def test_the_socket_has_the_sizes_and_the_keepalive_that_were_asked_for(
    broker: Broker,
) -> None:
    connection = await dial(broker.port, send_buffer_bytes=20_000, receive_buffer_bytes=-1)
    assert connection.transport is not None
    raw = connection.transport.get_extra_info("socket")
    size = raw.getsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF)
    keepalive = raw.getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE)
    await connection.aclose()

    assert 20_000 <= size <= 40_000  # Linux takes twice of it
    assert keepalive


# Nobody.


async def test_a_port_that_refuses() -> None:
    port = free_port()

    error = await refusal(port)

    assert isinstance(error, KafkaConnectionError)
    assert str(error) == f"127.0.0.1:{port}: connection refused"


@pytest.mark.parametrize("host", ["a" * 64 + ".example", "a..b", "nul\0byte"])
async def test_a_name_that_is_none(host: str) -> None:
    error = await refusal(9092, host=host)

    assert isinstance(error, KafkaConnectionError)
    assert "the name cannot be resolved" in str(error)


@pytest.mark.loop("asyncio")  # uvloop's methods cannot be replaced
@pytest.mark.parametrize("host", ["", ".example", "a..b", "a" * 64, "nul\0byte"])
async def test_a_name_that_resolves_and_is_none_for_tls(
    monkeypatch: pytest.MonkeyPatch, host: str
) -> None:
    stands_for(monkeypatch, HOST)
    with silent(HOST) as port:
        error = await refusal(port, host=host, **TLS)

    assert isinstance(error, KafkaConnectionError)
    assert "TLS cannot ask for a host of this name" in str(error)


@pytest.mark.loop("asyncio")  # as above
async def test_a_name_that_nobody_knows(monkeypatch: pytest.MonkeyPatch) -> None:
    async def getaddrinfo(*_: object, **__: object) -> None:
        raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")

    monkeypatch.setattr(asyncio.get_running_loop(), "getaddrinfo", getaddrinfo)

    error = await refusal(9092, host="nowhere.invalid")

    assert str(error) == (
        "nowhere.invalid:9092: the name cannot be resolved: Name or service not known"
    )


@pytest.mark.loop("asyncio")  # as above
async def test_a_look_up_that_takes_too_long(monkeypatch: pytest.MonkeyPatch) -> None:
    async def getaddrinfo(*_: object, **__: object) -> None:
        await asyncio.Event().wait()

    monkeypatch.setattr(asyncio.get_running_loop(), "getaddrinfo", getaddrinfo)

    error = await refusal(9092, host="slow.example", timeout=SETUP)

    assert "within 0.2 s (socket_connection_setup_timeout_ms)" in str(error)


@pytest.mark.loop("asyncio")  # as above
async def test_every_address_of_a_name_is_tried(
    broker: Broker, monkeypatch: pytest.MonkeyPatch
) -> None:
    stands_for(monkeypatch, "127.0.0.2", "127.0.0.3", HOST)

    connection = await dialer().dial("broker.example", broker.port, timeout=PATIENCE)
    await connection.aclose()

    assert connection.peer == f"broker.example:{broker.port}"


@pytest.mark.loop("asyncio")  # as above
async def test_each_address_that_failed_is_named_once(monkeypatch: pytest.MonkeyPatch) -> None:
    stands_for(monkeypatch, "127.0.0.2", "127.0.0.3", "127.0.0.2")
    port = free_port()

    error = await refusal(port, host="broker.example")

    assert str(error) == (
        f"broker.example:{port}: 127.0.0.2: connection refused; 127.0.0.3: connection refused"
    )


@pytest.mark.loop("asyncio")  # as above
async def test_an_address_that_is_silent_leaves_time_for_the_next(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    stands_for(monkeypatch, "127.0.0.2", HOST)
    async with Broker().listening(CA.issue("broker.example").server()) as broker:
        with silent("127.0.0.2", broker.port):
            connection = await dialer(**TLS).dial("broker.example", broker.port, timeout=0.6)
        await connection.aclose()

        assert len(broker.peers) == 1


@pytest.mark.loop("asyncio")  # as above
async def test_an_address_that_is_silent_is_named_beside_the_others(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    stands_for(monkeypatch, "127.0.0.3", "127.0.0.2")
    with silent("127.0.0.2") as port:
        error = await refusal(port, host="broker.example", timeout=SETUP, **TLS)

    assert str(error) == (
        f"broker.example:{port}: 127.0.0.3: connection refused; 127.0.0.2: no answer within 0.1 s"
        " (socket_connection_setup_timeout_ms)"
    )


# Somebody else.


async def test_a_port_that_is_silent(broker: Broker) -> None:
    broker.reactions[ApiVersionsRequest] = says_nothing

    error = await refusal(broker.port, timeout=SETUP)

    assert isinstance(error, KafkaConnectionError)
    assert str(error) == (
        f"127.0.0.1:{broker.port}: the answer to ApiVersions was not there within 0.2 s"
        " (socket_connection_setup_timeout_ms)"
    )
    await broker.peers[0].wait_gone()


@pytest.mark.parametrize("reaction", [closes, resets])
async def test_a_port_that_closes(broker: Broker, reaction: Any) -> None:
    broker.reactions[ApiVersionsRequest] = reaction

    error = await refusal(broker.port)

    assert isinstance(error, KafkaConnectionError)
    assert "before the answer to ApiVersions; is it a listener with TLS?" in str(error)
    assert "security_protocol is 'PLAINTEXT'" in str(error)
    assert not error.indefinite


@pytest.mark.parametrize("how", ["close", "reset"])
async def test_a_port_that_closes_at_once(broker: Broker, how: str) -> None:
    async def slam() -> None:
        getattr(await broker.next_peer(), how)()

    slamming = asyncio.create_task(slam())
    error = await refusal(broker.port)
    await slamming

    assert isinstance(error, KafkaConnectionError)
    assert "before the answer to ApiVersions; is it a listener with TLS?" in str(error)


@pytest.mark.parametrize(
    ("said", "meaning"),
    [
        (b"HTTP/1.1 400 Bad Request\r\n\r\n", "the peer speaks HTTP, not Kafka's protocol"),
        (b"\x15\x03\x03\x00\x02\x02\x46", "the peer speaks TLS; set security_protocol to 'SSL'"),
        (b"\x00\x00\x00\x03abc", "a frame of 3 bytes; from 4 to 524,288 are accepted"),
        (b"\x00\x08\x00\x01", "a frame of 524,289 bytes; from 4 to 524,288 are accepted"),
        (b"\x00\x00\x00\x08\x00\x00\x00\x02abcd", "answer to 2 came; is this a Kafka broker?"),
        (b"\x00\x00\x00\x04\x00\x00\x00\x01", "ApiVersions"),
        (b"\x00\x00\x00\x06\x00\x00\x00\x01\x00\x00", "ApiVersions"),
        (b"\x00\x00\x00\x06\x00\x00\x00\x01\x7f\xff", "ApiVersions"),
    ],
)
async def test_a_port_that_answers_something_else(
    broker: Broker, said: bytes, meaning: str
) -> None:
    broker.reactions[ApiVersionsRequest] = writes(said)

    error = await refusal(broker.port)

    assert isinstance(error, ProtocolError)
    assert meaning in str(error)
    await broker.peers[0].wait_gone()


async def test_a_port_that_drips(broker: Broker) -> None:
    dripping: list[asyncio.Task[None]] = []

    def drip(asked: Asked) -> None:
        answer = asked.framed(ApiVersionsResponse(error_code=0, api_keys=ALL_VERSIONS))
        dripping.append(asyncio.create_task(asked.peer.drip(answer, pause=0.02)))

    broker.reactions[ApiVersionsRequest] = drip

    late = await refusal(broker.port, timeout=SETUP)
    earlier = await refusal(broker.port, limits=Limits(frame_timeout=0.05))
    await asyncio.gather(*dripping)

    assert "the answer to ApiVersions was not there within 0.2 s" in str(late)
    assert isinstance(earlier, KafkaConnectionError)
    assert "a frame was not complete 0.1 s after its first byte" in str(earlier)


@pytest.mark.parametrize(
    ("error_code", "api_keys", "meaning"),
    [
        (35, [], "we speak versions 0 to 4, the broker refuses 0 too"),
        (0, [], "the broker names no API"),
        (0, [ApiVersion(api_key=3, min_version=4, max_version=3)], "key 3 from 4 to 3"),
        (0, [ApiVersion(api_key=3, min_version=-1, max_version=3)], "key 3 from -1 to 3"),
        (0, 2 * [ApiVersion(api_key=3, min_version=0, max_version=3)], "key 3 twice"),
        (42, [], "the broker answers error 42"),
    ],
)
async def test_a_broker_whose_versions_make_no_sense(
    broker: Broker, error_code: int, api_keys: list[ApiVersion], meaning: str
) -> None:
    response = ApiVersionsResponse(error_code=error_code, api_keys=api_keys)
    broker.reactions[ApiVersionsRequest] = says(response)

    error = await refusal(broker.port)

    assert isinstance(error, ProtocolError)
    assert "ApiVersions" in str(error)
    assert meaning in str(error)
    assert len(broker.seen) <= 2
    await broker.peers[0].wait_gone()


async def test_a_broker_that_speaks_no_version_of_ours_is_told_from_one_that_lies(
    broker: Broker,
) -> None:
    broker.reactions[ApiVersionsRequest] = says(ApiVersionsResponse(error_code=35, api_keys=[]))

    assert isinstance(await refusal(broker.port), UnsupportedVersion)


# TLS, or not.


async def test_a_client_with_tls_at_a_port_without(broker: Broker) -> None:
    error = await refusal(broker.port, **TLS)

    assert isinstance(error, KafkaConnectionError)
    assert "this may be a listener without TLS (security_protocol)" in str(error)


async def test_a_client_with_tls_at_a_port_that_answers_in_plain() -> None:
    async with serving(answering(b"HTTP/1.1 400 Bad Request\r\n\r\n")) as port:
        error = await refusal(port, **TLS)

    assert isinstance(error, KafkaConnectionError)
    assert "it does not speak TLS: check the port, and security_protocol" in str(error)


async def test_a_client_with_tls_at_a_port_that_is_silent() -> None:
    with silent(HOST) as port:
        error = await refusal(port, timeout=SETUP, **TLS)

    assert str(error) == (
        f"127.0.0.1:{port}: the connection, or its TLS handshake, was not there within 0.2 s"
        " (socket_connection_setup_timeout_ms)"
    )


async def test_a_client_without_tls_at_a_port_with_it() -> None:
    asyncio.get_running_loop().set_debug(False)  # in debug mode the server complains
    async with Broker().listening(SERVER.server()) as broker:
        error = await refusal(broker.port)

    assert isinstance(error, KafkaConnectionError)
    assert "is it a listener with TLS? security_protocol is 'PLAINTEXT'" in str(error)


async def test_a_broker_that_wants_a_certificate_of_ours() -> None:
    async with serving(greeting(SERVER.server(trusted=CA))) as port:
        error = await refusal(port, **TLS)

    assert isinstance(error, AuthenticationError)
    assert "it wants a certificate of ours: give ssl_keystore_location" in str(error)


@pytest.mark.parametrize("reaction", [closes, says_nothing])
async def test_a_port_that_is_gone_or_silent_after_the_tls_handshake(reaction: Any) -> None:
    async with Broker().listening(SERVER.server()) as broker:
        broker.reactions[ApiVersionsRequest] = reaction

        error = await refusal(broker.port, timeout=0.5, **TLS)

    assert isinstance(error, KafkaConnectionError)
    assert "the answer to ApiVersions" in str(error)


# Giving up.


@pytest.mark.parametrize("secure", [False, True])
async def test_a_dial_can_be_cancelled_in_any_turn_of_the_loop(secure: bool) -> None:
    # In debug mode, the server complains of each client that hangs up in the TLS handshake.
    asyncio.get_running_loop().set_debug(False)
    async with Broker().listening(SERVER.server() if secure else None) as broker:
        ours = dialer(**TLS) if secure else dialer()
        for turns in MANY_TURNS:
            if await cancelled_after(turns, ours.dial(HOST, broker.port, timeout=PATIENCE)):
                break
        for peer in broker.peers:
            await peer.wait_gone()
        connection = await ours.dial(HOST, broker.port, timeout=PATIENCE)

        assert connection.is_open
        await connection.aclose()
