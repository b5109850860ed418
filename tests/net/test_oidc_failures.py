from __future__ import annotations

import asyncio
import json
import logging
import socket
import struct
import sys
import traceback
from base64 import b64encode
from typing import Any

import pytest

from kafka_aio.errors import (
    AuthenticationError,
    ConfigError,
    KafkaConnectionError,
    KafkaError,
    KafkaTimeoutError,
    ProtocolError,
)
from tests.net.peers import serving
from tests.net.token_endpoint import (
    GOOD,
    ONCE,
    SECRET,
    TOKEN,
    Endpoint,
    Options,
    fetched,
    http,
    running,
)


async def failure_of(*answers: bytes, requests: int = 1, **options: Any) -> KafkaError:
    """What is raised for an answer, and that the endpoint was asked so many times."""
    async with running(*answers) as endpoint:
        with pytest.raises(KafkaError) as caught:
            await fetched(endpoint.config(**options))
    assert len(endpoint.requests) == requests
    assert str(caught.value).startswith(f"token endpoint 127.0.0.1:{endpoint.port}: ")
    return caught.value


# Refusals.


@pytest.mark.parametrize("status", [400, 401, 403, 404])
async def test_a_refusal_is_an_answer_and_shows_the_code_alone(status: int) -> None:
    said = {"error": "invalid_client", "error_description": f"wrong secret {SECRET}"}
    error = await failure_of(http(said, status))

    assert type(error) is AuthenticationError
    assert f"it refuses us: invalid_client (status {status}); see sasl_oauthbearer_c" in str(error)
    assert SECRET not in str(error)


@pytest.mark.parametrize(
    "body",
    [
        b"",
        SECRET.encode(),
        b"\xff\xfe",
        b"[" * 30_000,
        b'["error"]',
        json.dumps({"error": SECRET}).encode(),
        json.dumps({"error": "x" * 65}).encode(),
        json.dumps({"error": "a\nb"}).encode(),
        json.dumps({"error": {"code": SECRET}}).encode(),
    ],
)
async def test_what_is_not_a_code_is_not_shown(body: bytes) -> None:
    error = await failure_of(http(body, 400))

    assert type(error) is AuthenticationError
    assert "it refuses us: status 400; see" in str(error)


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
async def test_a_redirect_is_not_followed_and_shows_its_host_alone(status: int) -> None:
    async with running(GOOD) as elsewhere:
        location = f"http://user:{SECRET}@127.0.0.1:{elsewhere.port}/{SECRET}?{SECRET}"
        error = await failure_of(http(b"", status, f"Location: {location}"))

    assert type(error) is AuthenticationError
    assert f"it sends us to '127.0.0.1' (status {status}); no redirect is followed" in str(error)
    assert SECRET not in str(error)
    assert elsewhere.requests == []


@pytest.mark.parametrize(
    "headers", [[], ["Location: /token"], ["Location: http://[x/"], ["Location: http://a b\xe9/"]]
)
async def test_a_redirect_to_no_host_shows_nothing_of_it(headers: list[str]) -> None:
    error = await failure_of(http(b"", 302, *headers))

    assert "it sends us to another place (status 302)" in str(error)


# Nonsense.


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"<html>",
        b"[]",
        b"{}",
        b'{"access_token": null}',
        b'{"access_token": 5}',
        b'{"access_token": ""}',
        b'{"access_token": "two words"}',
        b'{"access_token": "a\\u0001b"}',
    ],
)
async def test_an_answer_without_a_token_is_refused(body: bytes) -> None:
    error = await failure_of(http(body))

    assert type(error) is ProtocolError
    assert str(error).endswith("its answer has no access_token")


@pytest.mark.parametrize(
    "answer",
    [
        http(b" " * 70_000),
        http(b"11170\r\n" + b" " * 70_000, 200, "Transfer-Encoding: chunked"),
        http(b" " * 70_000, version="1.0"),
    ],
)
async def test_an_answer_that_is_too_long_is_refused(answer: bytes) -> None:
    error = await failure_of(answer)

    assert type(error) is ProtocolError
    assert str(error).endswith("its answer is above 65536 bytes")


@pytest.mark.parametrize(
    "answer",
    [
        b"SSH-2.0-OpenSSH_9.6\r\n\r\n" + SECRET.encode(),
        b"\x00\x00\x00\x10" + SECRET.encode() + b"\r\n\r\n",
        b"HTTP/1.1 200 fine\r\nContent-Length: many\r\n\r\n",
        b"HTTP/1.1 200 fine\r\nX: " + b"x" * 65_000,
    ],
)
async def test_an_answer_that_is_not_http_is_not_repeated(answer: bytes) -> None:
    error = await failure_of(answer)

    assert type(error) is ProtocolError
    assert "its answer is not HTTP/1.1, or its headers are long" in str(error)
    assert SECRET not in repr(error.__context__)


# Trouble that may pass.


def ours(caplog: pytest.LogCaptureFixture) -> list[logging.LogRecord]:
    """Not what asyncio says about a busy machine."""
    return [each for each in caplog.records if each.name.startswith("kafka_aio")]


@pytest.mark.parametrize(
    "trouble",
    [
        http(b"", 500),
        http(b"", 503),
        http(b"", 408),
        http(b"", 429),
        b"",
        http(b"", 200, "Content-Length: 5")[:-2],
        http({"access_token": "abc"})[:-5],
    ],
)
async def test_trouble_that_may_pass_is_tried_again(
    trouble: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, logger="kafka_aio")
    async with running(trouble, trouble, GOOD) as endpoint:
        token = await fetched(endpoint.config())

    assert token.value == TOKEN
    assert len(endpoint.requests) == 3
    assert [record.getMessage().partition(":")[0] for record in ours(caplog)] == [
        "no token, trying again attempt=1",
        "no token, trying again attempt=2",
    ]


async def test_an_endpoint_that_cannot_be_reached_is_dialled_until_the_deadline(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.INFO, logger="kafka_aio")
    async with running(GOOD) as endpoint:
        pass

    with pytest.raises(KafkaConnectionError, match="no connection: "):
        await fetched(endpoint.config(sasl_login_retry_backoff_ms=0), patience=0.2)
    assert 1 < len(ours(caplog)) < 20


async def test_a_connection_that_is_reset_is_trouble_that_may_pass() -> None:
    async with serving(resetting) as port:
        with pytest.raises(KafkaConnectionError, match="the connection broke: "):
            await fetched(Endpoint().config(f"http://127.0.0.1:{port}", **ONCE))


async def resetting(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    await reader.readuntil(b"\r\n\r\n")
    raw = writer.get_extra_info("socket")
    raw.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    writer.transport.abort()


async def test_no_pause_is_begun_that_ends_after_the_deadline() -> None:
    error = await failure_of(http(b"", 503), **ONCE)

    assert type(error) is KafkaConnectionError
    assert str(error).endswith("it answered with status 503")


@pytest.mark.parametrize(
    ("options", "patience"), [({"sasl_login_read_timeout_ms": 50, **ONCE}, 20.0), ({}, 0.05)]
)
async def test_an_endpoint_that_does_not_answer_is_not_waited_for(
    options: Options, patience: float
) -> None:
    async with serving(silent) as port:
        config = Endpoint().config(f"http://127.0.0.1:{port}", **options)
        with pytest.raises(KafkaTimeoutError, match=r"no answer in time \(sasl_login_read_timeout"):
            await fetched(config, patience)


async def silent(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    await asyncio.Event().wait()


async def test_a_connection_that_does_not_come_is_not_waited_for() -> None:
    async with serving(silent) as port:  # which never answers the TLS handshake
        config = Endpoint().config(
            f"https://127.0.0.1:{port}", sasl_login_connect_timeout_ms=50, **ONCE
        )
        with pytest.raises(KafkaTimeoutError, match=r"no connection in time \(sasl_login_connect"):
            await fetched(config, patience=1000)


async def test_a_time_out_of_0_is_none_but_the_deadline_counts() -> None:
    async with serving(silent) as port:
        config = Endpoint().config(
            f"http://127.0.0.1:{port}",
            sasl_login_connect_timeout_ms=0,
            sasl_login_read_timeout_ms=0,
        )
        with pytest.raises(KafkaTimeoutError):
            await fetched(config, patience=0.05)


async def test_a_cancelled_fetch_leaves_nothing_behind() -> None:
    arrived = asyncio.Event()

    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        arrived.set()
        await reader.read()  # until the client has gone

    async with serving(handle) as port:
        task = asyncio.create_task(fetched(Endpoint().config(f"http://127.0.0.1:{port}")))
        await arrived.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    assert task.cancelled()


async def test_a_host_that_cannot_be_is_a_mistake_of_the_configuration() -> None:
    config = Endpoint().config(f"https://{'x' * 70}.example/")

    with pytest.raises(ConfigError, match="token_endpoint_url: there can be no such host"):
        await fetched(config)


async def test_without_the_extra_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "h11", None)

    with pytest.raises(ConfigError, match=r"pip install 'kafka-aio\[oidc\]'"):
        await fetched(Endpoint().config("http://localhost:1"))


# Secrets.


@pytest.mark.parametrize(
    "answer",
    [
        GOOD,
        http({"error": SECRET, "access_token": TOKEN}, 401),
        http({"access_token": TOKEN + " "}),
        http({"access_token": TOKEN}, 302, f"Location: http://x/{SECRET}/{TOKEN}"),
        http({"access_token": TOKEN}, 503),
        f"{TOKEN}\r\n{SECRET}\r\n\r\n".encode(),
        http({"access_token": TOKEN})[:-3],
        http(f"{TOKEN} {SECRET}".encode() * 5_000),
    ],
)
async def test_no_secret_shows_in_a_log_an_error_or_a_traceback(
    answer: bytes, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    caplog.set_level(logging.DEBUG)
    shown = []
    async with running(answer) as endpoint:
        config = endpoint.config(f"http://127.0.0.1:{endpoint.port}/?key={SECRET}", **ONCE)
        try:
            shown.append(repr(await fetched(config)))
        except KafkaError as error:
            shown += traceback.format_exception(error)
            each: BaseException | None = error
            while each is not None:
                shown += [repr(each), repr(vars(each))]
                each = each.__cause__ or each.__context__

    encoded = b64encode(f"me:{SECRET}".encode()).decode()
    text = "\n".join([*shown, caplog.text, *capfd.readouterr()])
    assert shown
    for secret in (SECRET, TOKEN, TOKEN.split(".")[1], encoded, SECRET.lower(), SECRET[:9]):
        assert secret not in text
