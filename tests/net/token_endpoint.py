"""A token endpoint on loopback, and what asks it."""

from __future__ import annotations

import asyncio
import json
from base64 import urlsafe_b64encode
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from kafka_aio.config import ClientConfig
from kafka_aio.net import oidc
from kafka_aio.types import BearerToken
from tests.net.peers import serving

SECRET = "Canary-0fd7-Tweet"
TOKEN = "eyJhbGciOi.Canary-Token-51c3.sig"
Options = dict[str, Any]

ONCE: Options = {
    "sasl_login_retry_backoff_ms": 1_000_000,
    "sasl_login_retry_backoff_max_ms": 1_000_000,
}


def jwt(**claims: Any) -> str:
    payload = urlsafe_b64encode(json.dumps(claims).encode()).decode().rstrip("=")
    return f"eyJhbGciOiJub25lIn0.{payload}.c2ln"


def http(
    body: bytes | dict[str, Any] = b"", status: int = 200, *headers: str, version: str = "1.1"
) -> bytes:
    """An answer over HTTP."""
    raw = body if isinstance(body, bytes) else json.dumps(body).encode()
    lines = [f"HTTP/{version} {status} whatever", *headers]
    if version == "1.1" and "Transfer-Encoding: chunked" not in headers:
        lines.append(f"Content-Length: {len(raw)}")
    return "\r\n".join([*lines, "", ""]).encode() + raw


GOOD = http({"access_token": TOKEN, "expires_in": 3600})


class Endpoint:
    """A token endpoint: what it was asked, and what it answers, the last for ever."""

    def __init__(self, *answers: bytes) -> None:
        self.requests: list[bytes] = []
        self.answers = list(answers)
        self.port = 0

    async def handle(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        length = int(head.lower().partition(b"content-length: ")[2].partition(b"\r\n")[0])
        self.requests.append(head + await reader.readexactly(length))
        writer.write(self.answers.pop(0) if len(self.answers) > 1 else self.answers[0])
        await writer.drain()

    def config(self, url: str = "", **options: Any) -> ClientConfig:
        return ClientConfig(
            bootstrap_servers="localhost:9092",
            security_protocol="SASL_SSL",
            sasl_mechanism="OAUTHBEARER",
            sasl_oauthbearer_token_endpoint_url=url or f"http://127.0.0.1:{self.port}/token",
            sasl_oauthbearer_client_credentials_client_id="me",
            sasl_oauthbearer_client_credentials_client_secret=SECRET,
            **{"sasl_login_retry_backoff_ms": 1, **options},
        )


@asynccontextmanager
async def running(*answers: bytes, **options: Any) -> AsyncIterator[Endpoint]:
    endpoint = Endpoint(*answers)
    async with serving(endpoint.handle, **options) as endpoint.port:
        yield endpoint


async def fetched(config: ClientConfig, patience: float = 20.0) -> BearerToken:
    deadline = asyncio.get_running_loop().time() + patience
    return await oidc.fetch_token(config, deadline=deadline)
