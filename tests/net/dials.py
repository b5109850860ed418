"""Dials that authenticate, on the scripted broker: how they succeed, and how they fail."""

from __future__ import annotations

import random
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from kafka_aio.config import ClientConfig
from kafka_aio.errors import KafkaError
from kafka_aio.net.connection import Connection
from kafka_aio.net.dial import Dialer
from kafka_aio.net.limits import Limits, Traffic
from kafka_aio.net.tokens import Tokens
from tests.net.server import HOST, PATIENCE, Broker

SETUP = 0.2
PASSWORD = "correct horse"
PLAIN: dict[str, Any] = {"sasl_mechanism": "PLAIN"}
SCRAM: dict[str, Any] = {"sasl_mechanism": "SCRAM-SHA-256"}


def dialer(*, limits: Limits | None = None, **options: Any) -> Dialer:
    if options["sasl_mechanism"] != "OAUTHBEARER":
        options = {"sasl_username": "ada", "sasl_password": PASSWORD, **options}
    config = ClientConfig(
        bootstrap_servers="unused:1", security_protocol="SASL_PLAINTEXT", **options
    )
    tokens = Tokens(config) if config.sasl_mechanism == "OAUTHBEARER" else None
    return Dialer(config, limits or Limits(), Traffic(), tokens=tokens, rng=random.Random(0))


@asynccontextmanager
async def dialled(ours: Dialer, broker: Broker) -> AsyncIterator[Connection]:
    connection = await ours.dial(HOST, broker.port, timeout=PATIENCE)
    try:
        yield connection
    finally:
        await connection.aclose()


async def refusal(broker: Broker, *, timeout: float = PATIENCE, **options: Any) -> KafkaError:
    """How a dial fails; it must, and say where, and not with the password."""
    with pytest.raises(KafkaError) as caught:
        await dialer(**options).dial(HOST, broker.port, timeout=timeout)
    assert f"127.0.0.1:{broker.port}" in str(caught.value)
    assert PASSWORD not in repr(caught.value)
    await broker.peers[0].wait_gone()
    return caught.value
