from __future__ import annotations

from base64 import b64decode, b64encode
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from kafka_aio.errors import AuthenticationError, KafkaConnectionError
from kafka_aio.net import clock, oidc
from kafka_aio.types import BearerToken
from tests.net.certificates import LOCALHOST, authority, self_signed
from tests.net.peers import answering, greeting, serving
from tests.net.token_endpoint import (
    GOOD,
    ONCE,
    SECRET,
    TOKEN,
    Endpoint,
    Options,
    fetched,
    http,
    jwt,
    running,
)

NOW = 1_700_000_000.0


@pytest.fixture(autouse=True)
def _standing_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(clock, "wall_time", lambda: NOW)


async def token_of(answer: bytes) -> BearerToken:
    async with running(answer) as endpoint:
        return await fetched(endpoint.config())


async def test_the_request_is_that_of_the_client_credentials_grant() -> None:
    async with running(GOOD) as endpoint:
        url = f"http://127.0.0.1:{endpoint.port}/a/token?tenant=1"
        await fetched(endpoint.config(url, sasl_oauthbearer_scope="read write&all"))

    (request,) = endpoint.requests
    head, _, body = request.partition(b"\r\n\r\n")
    first, *headers = head.decode().split("\r\n")
    assert first == "POST /a/token?tenant=1 HTTP/1.1"
    assert dict(line.split(": ") for line in headers) == {
        "Host": f"127.0.0.1:{endpoint.port}",
        "Authorization": f"Basic {b64encode(f'me:{SECRET}'.encode()).decode()}",
        "Content-Type": "application/x-www-form-urlencoded",
        "Content-Length": str(len(body)),
        "Accept": "application/json",
        "User-Agent": "kafka_aio",
        "Connection": "close",
    }
    assert body == b"grant_type=client_credentials&scope=read+write%26all"


@pytest.mark.parametrize(
    ("urlencode", "credentials"),
    [(False, "my id:s/e+c:r%t é"), (True, "my+id:s%2Fe%2Bc%3Ar%25t+%C3%A9")],
)
async def test_credentials_are_url_encoded_where_asked_for(
    urlencode: bool, credentials: str
) -> None:
    options: Options = {
        "sasl_oauthbearer_client_credentials_client_id": "my id",
        "sasl_oauthbearer_client_credentials_client_secret": "s/e+c:r%t é",
        "sasl_oauthbearer_header_urlencode": urlencode,
    }
    async with running(GOOD) as endpoint:
        await fetched(endpoint.config().replace(**options))

    basic = endpoint.requests[0].partition(b"Basic ")[2].partition(b"\r\n")[0]
    assert b64decode(basic).decode() == credentials
    assert endpoint.requests[0].endswith(b"\r\n\r\ngrant_type=client_credentials")


@pytest.mark.parametrize(
    ("url", "host", "target"),
    [
        ("http://localhost:{port}", "localhost:{port}", "/"),
        ("http://localhost:{port}?a=b", "localhost:{port}", "/?a=b"),
        ("HTTP://LOCALHOST:{port}/t%20/%C3%A9#x", "localhost:{port}", "/t%20/%C3%A9"),
        ("http://localhost:{port}/é t", "localhost:{port}", "/%C3%A9%20t"),
    ],
)
async def test_any_url_that_the_configuration_takes_can_be_asked(
    url: str, host: str, target: str
) -> None:
    async with running(GOOD) as endpoint:
        await fetched(endpoint.config(url.format(port=endpoint.port)))

    request = endpoint.requests[0].decode()
    assert request.startswith(
        f"POST {target} HTTP/1.1\r\nHost: {host.format(port=endpoint.port)}\r\n"
    )


@pytest.mark.parametrize(
    "answer",
    [
        {"access_token": TOKEN, "expires_in": 3600},
        {"access_token": TOKEN, "expires_in": 3600.0, "token_type": "Bearer"},
        {"access_token": TOKEN, "expires_in": "3600"},
    ],
)
async def test_the_life_of_a_token_is_counted_from_the_question(answer: Options) -> None:
    assert await token_of(http(answer)) == BearerToken(TOKEN, NOW + 3600, NOW)


@pytest.mark.parametrize("life", [None, -1, 0, "soon", [3600], float("inf"), float("nan"), 10**400])
async def test_without_a_life_the_token_tells_its_end_itself(life: Any) -> None:
    token = jwt(exp=NOW + 900, iat=NOW - 1)

    assert await token_of(http({"access_token": token, "expires_in": life})) == BearerToken(
        token, NOW + 900, NOW - 1
    )
    assert await token_of(http({"access_token": TOKEN, "expires_in": life})) == BearerToken(TOKEN)


@pytest.mark.parametrize(
    "answer",
    [
        http(
            b"%x\r\n" % 24 + b'{"access_token": "abc"} ' + b"\r\n0\r\n\r\n",
            200,
            "Transfer-Encoding: chunked",
        ),
        http({"access_token": "abc"}, version="1.0"),
        http({"access_token": "abc"}, 201),
        b"HTTP/1.1 100 Continue\r\n\r\n" + http({"access_token": "abc"}),
    ],
)
async def test_answers_come_in_all_forms_of_http(answer: bytes) -> None:
    assert (await token_of(answer)).value == "abc"


async def test_an_endpoint_with_a_certificate_of_a_trusted_authority_is_asked_over_tls(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ca = authority("the authority of the endpoint")
    (tmp_path / "ca.pem").write_text(ca.certificate_pem)
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "ca.pem"))
    async with running(GOOD, tls=ca.issue(*LOCALHOST).server()) as endpoint:
        token = await fetched(endpoint.config(f"https://localhost:{endpoint.port}/token"))

    assert token.value == TOKEN


async def test_an_endpoint_with_another_certificate_is_refused() -> None:
    async with serving(greeting(self_signed(*LOCALHOST).server())) as port:
        with pytest.raises(AuthenticationError) as caught:
            await fetched(Endpoint().config(f"https://localhost:{port}/token"))

    assert "its certificate is not trusted (self" in str(caught.value)
    assert "SSL_CERT_FILE" in str(caught.value)


async def test_an_endpoint_without_tls_is_no_https_endpoint() -> None:
    async with serving(answering(GOOD)) as port:
        with pytest.raises(KafkaConnectionError, match=r"no connection: .*SSL"):
            await fetched(Endpoint().config(f"https://localhost:{port}/", **ONCE))


def test_the_pauses_grow_between_the_two_limits() -> None:
    config = partial(Endpoint().config, "http://localhost")

    assert oidc.backoff(config(sasl_login_retry_backoff_ms=100)).first == 0.1
    assert oidc.backoff(config(sasl_login_retry_backoff_ms=100)).longest == 10.0
    assert oidc.backoff(config(sasl_login_retry_backoff_ms=0)).delay(0, jitter=0) > 0
