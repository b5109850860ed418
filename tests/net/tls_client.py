"""A client of the TLS servers in `peers`, and who both sides are."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from functools import cache
from typing import Any

import pytest

from kafka_aio.config import ClientConfig
from kafka_aio.errors import KafkaError
from kafka_aio.net import tls
from tests.net.certificates import LOCALHOST, Identity, authority
from tests.net.peers import Handler, serving

PEER = "broker.example:9093"

Options = dict[str, Any]


@cache
def ca() -> Identity:
    return authority("our authority")


@cache
def other_ca() -> Identity:
    return authority("another authority")


@cache
def me() -> Identity:
    return ca().issue("me")


@cache
def broker() -> Identity:
    return ca().issue(*LOCALHOST)


def made(**options: Any) -> ClientConfig:
    return ClientConfig(bootstrap_servers="localhost:9093", security_protocol="SSL", **options)


def trusting(**options: Any) -> ClientConfig:
    return made(ssl_truststore_certificates=ca().certificate_pem, **options)


async def greeted(config: ClientConfig, port: int, host: str = "localhost") -> str:
    """The version of TLS that was spoken, once the server has said hello."""
    context = await tls.Contexts(config).current()
    reader, writer = await asyncio.open_connection(
        "127.0.0.1", port, ssl=context, server_hostname=host
    )
    try:
        assert await reader.readexactly(5) == b"hello"
        version = writer.get_extra_info("ssl_object").version()
        assert isinstance(version, str)
        return version
    finally:
        writer.transport.abort()
        with suppress(OSError):
            await writer.wait_closed()


async def refused(config: ClientConfig, handler: Handler, host: str = "localhost") -> KafkaError:
    """What the failure to be greeted means."""
    async with serving(handler) as port:
        with pytest.raises((OSError, asyncio.IncompleteReadError)) as caught:
            await greeted(config, port, host)
    meaning = tls.explain(caught.value, PEER)
    assert meaning.__cause__ is caught.value
    assert str(meaning).startswith(f"{PEER}: ")
    return meaning
