from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from math import inf
from typing import Any

import pytest

from kafka_aio.config import ClientConfig
from kafka_aio.errors import (
    AuthenticationError,
    IllegalSaslState,
    KafkaConnectionError,
    KafkaError,
    KafkaTimeoutError,
    ProtocolError,
    SaslAuthenticationFailed,
    UnsupportedSaslMechanism,
    UnsupportedVersion,
)
from kafka_aio.net.connection import Connection, Limits, Traffic
from kafka_aio.net.dial import Dialer
from kafka_aio.net.tokens import Tokens
from kafka_aio.protocol.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse
from kafka_aio.protocol.messages.sasl import (
    SaslAuthenticateRequest,
    SaslHandshakeRequest,
    SaslHandshakeResponse,
)
from kafka_aio.types import BearerToken
from tests.net.exchanges import MANY_TURNS, answer_to, cancelled_after, errors_of, start
from tests.net.server import (
    ALL_VERSIONS,
    HOST,
    PATIENCE,
    REFUSED,
    Broker,
    authenticated,
    closes,
    resets,
    says,
    says_nothing,
    scram,
    until,
    writes,
)
from tests.unit.protocol.sasl_broker import ScramBroker

SETUP = 0.2
PASSWORD = "correct horse"
PLAIN: dict[str, Any] = {"sasl_mechanism": "PLAIN"}
SCRAM: dict[str, Any] = {"sasl_mechanism": "SCRAM-SHA-256"}


@pytest.fixture
async def broker() -> AsyncIterator[Broker]:
    async with Broker().listening() as listening:
        yield listening


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


# Once.


async def test_plain_shows_who_we_are(broker: Broker) -> None:
    async with dialled(dialer(**PLAIN), broker) as connection:
        assert connection.renew_at == inf

    handshake, authentication = (asked.message for asked in broker.seen[1:])
    assert handshake.mechanism == "PLAIN"
    assert authentication.auth_bytes == b"\0ada\0correct horse"


async def test_scram_proves_who_we_are_off_the_loop(broker: Broker) -> None:
    user = ScramBroker("SCRAM-SHA-256", "ada", PASSWORD)
    broker.reactions[SaslAuthenticateRequest] = scram(user)

    async with dialled(dialer(**SCRAM), broker):
        assert user.proven


async def test_a_bearer_token_comes_from_its_provider(broker: Broker) -> None:
    async def token() -> str:
        return "a-token"

    ours = dialer(sasl_mechanism="OAUTHBEARER", sasl_oauthbearer_token_provider=token)

    async with dialled(ours, broker):
        assert b"a-token" in broker.seen[-1].message.auth_bytes


async def test_a_provider_that_fails_says_enough_itself(broker: Broker) -> None:
    async def token() -> str:
        raise KafkaConnectionError("tokens.example:443: refused")

    ours = dialer(sasl_mechanism="OAUTHBEARER", sasl_oauthbearer_token_provider=token)

    with pytest.raises(KafkaConnectionError) as caught:
        await ours.dial(HOST, broker.port, timeout=PATIENCE)

    assert str(caught.value) == "tokens.example:443: refused"


async def test_a_broker_that_refuses_us(broker: Broker) -> None:
    broker.reactions[SaslAuthenticateRequest] = says(REFUSED)

    error = await refusal(broker, **PLAIN)

    assert isinstance(error, SaslAuthenticationFailed)
    assert "the broker says: Invalid credentials" in str(error)


async def test_a_broker_with_other_mechanisms_names_them(broker: Broker) -> None:
    offered = SaslHandshakeResponse(error_code=33, mechanisms=["GSSAPI", "bad\nname"])
    broker.reactions[SaslHandshakeRequest] = says(offered)

    error = await refusal(broker, **PLAIN)

    assert isinstance(error, UnsupportedSaslMechanism)
    assert "GSSAPI" in str(error)
    assert "PLAIN" in str(error)
    assert "\n" not in str(error)


async def test_a_broker_that_refuses_the_handshake(broker: Broker) -> None:
    broker.reactions[SaslHandshakeRequest] = says(
        SaslHandshakeResponse(error_code=34, mechanisms=[])
    )

    assert isinstance(await refusal(broker, **PLAIN), IllegalSaslState)


async def test_a_broker_without_sasl(broker: Broker) -> None:
    without = [each for each in ALL_VERSIONS if each.api_key not in (17, 36)]
    broker.reactions[ApiVersionsRequest] = says(ApiVersionsResponse(error_code=0, api_keys=without))

    error = await refusal(broker, **PLAIN)

    assert isinstance(error, UnsupportedVersion)
    assert "SaslHandshake" in str(error)


@pytest.mark.parametrize("reaction", [closes, resets])
@pytest.mark.parametrize("request_", [SaslHandshakeRequest, SaslAuthenticateRequest])
async def test_a_broker_that_closes_instead_of_an_answer(
    broker: Broker, reaction: Any, request_: Any
) -> None:
    broker.reactions[request_] = reaction

    error = await refusal(broker, **PLAIN)

    assert isinstance(error, KafkaConnectionError)
    assert "before the authentication; the broker's log may say why" in str(error)


@pytest.mark.parametrize("request_", [SaslHandshakeRequest, SaslAuthenticateRequest])
async def test_a_broker_that_is_silent_instead(broker: Broker, request_: Any) -> None:
    broker.reactions[request_] = says_nothing

    error = await refusal(broker, timeout=SETUP, **PLAIN)

    assert isinstance(error, KafkaConnectionError)
    assert "the authentication was not there within 0.2 s (socket_conn" in str(error)


@pytest.mark.parametrize(
    ("reaction", "kind"),
    [
        (says(authenticated(b"what?")), ProtocolError),
        (says(authenticated(b"r=other,s=c2FsdA==,i=4096")), AuthenticationError),
        (says(authenticated(b"e=other-error")), AuthenticationError),
        (writes(b"\x00\x00\x00\x08\x00\x00\x00\x03\x00\x00\x00\x00"), ProtocolError),
        (writes(b"\x00\x08\x00\x01"), ProtocolError),
    ],
)
async def test_a_broker_that_answers_nonsense(
    broker: Broker, reaction: Any, kind: type[KafkaError]
) -> None:
    broker.reactions[SaslAuthenticateRequest] = reaction

    error = await refusal(broker, **SCRAM)

    assert type(error) is kind


async def test_a_broker_that_cannot_prove_itself(broker: Broker) -> None:
    user = ScramBroker("SCRAM-SHA-256", "ada", PASSWORD)
    user.server_key = bytes(32)
    broker.reactions[SaslAuthenticateRequest] = scram(user)

    error = await refusal(broker, **SCRAM)

    assert isinstance(error, AuthenticationError)


async def test_a_wrong_password_is_an_answer(broker: Broker) -> None:
    user = ScramBroker("SCRAM-SHA-256", "ada", "another")
    broker.reactions[SaslAuthenticateRequest] = scram(user)

    error = await refusal(broker, **SCRAM)

    assert isinstance(error, AuthenticationError)
    assert "invalid-proof" in str(error)


async def test_a_dial_can_be_cancelled_in_any_turn_of_the_loop(broker: Broker) -> None:
    ours = dialer(**SCRAM)
    for turns in MANY_TURNS:
        user = ScramBroker("SCRAM-SHA-256", "ada", PASSWORD)
        broker.reactions[SaslAuthenticateRequest] = scram(user)
        if await cancelled_after(turns, ours.dial(HOST, broker.port, timeout=PATIENCE)):
            break
    for peer in broker.peers:
        await peer.wait_gone()

    async with dialled(ours, broker) as connection:
        assert connection.is_open


# Anew.


@pytest.mark.parametrize("seconds", [10, 3_600])
async def test_a_session_is_renewed_before_its_end(broker: Broker, seconds: int) -> None:
    broker.reactions[SaslAuthenticateRequest] = says(authenticated(lifetime_ms=1_000 * seconds))
    now = asyncio.get_running_loop().time()

    async with dialled(dialer(**PLAIN), broker) as connection:
        assert 0.85 * seconds <= connection.renew_at - now <= 0.95 * seconds + 1


async def test_a_session_is_not_renewed_within_a_second(broker: Broker) -> None:
    broker.reactions[SaslAuthenticateRequest] = says(authenticated(lifetime_ms=500))
    now = asyncio.get_running_loop().time()

    async with dialled(dialer(**PLAIN), broker) as connection:
        assert connection.renew_at >= now + 1.0


async def test_a_session_without_an_end_is_not_renewed(broker: Broker) -> None:
    broker.reactions[SaslAuthenticateRequest] = says(authenticated(lifetime_ms=-5))

    async with dialled(dialer(**PLAIN), broker) as connection:
        assert connection.renew_at == inf


async def test_a_connection_in_use_authenticates_anew(broker: Broker) -> None:
    broker.reactions[SaslAuthenticateRequest] = says(authenticated(lifetime_ms=10_000))
    ours = dialer(**PLAIN)
    async with dialled(ours, broker) as connection:
        before = start(connection, 1)
        asked = await broker.next()
        was_to_be_renewed = connection.renew_at
        renewing = asyncio.create_task(ours.renew(connection))
        await asyncio.sleep(0)
        after = start(connection, 2)
        asked.answer(answer_to(1))  # brokers answer in turn
        await renewing
        (await broker.next()).answer(answer_to(2))

        assert (await before, await after) == (answer_to(1), answer_to(2))
        assert connection.renew_at != was_to_be_renewed
        names = [type(asked.message).__name__.removesuffix("Request") for asked in broker.seen[3:]]
        assert names == ["Heartbeat", "SaslHandshake", "SaslAuthenticate", "Heartbeat"]


async def test_a_connection_that_may_not_go_on_is_closed(broker: Broker) -> None:
    ours = dialer(**PLAIN)
    async with dialled(ours, broker) as connection:
        broker.reactions[SaslAuthenticateRequest] = says_nothing
        renewing = asyncio.create_task(ours.renew(connection))
        await until(lambda: len(broker.seen) == 5)
        waiting = start(connection, 1)
        await asyncio.sleep(0)
        broker.seen[-1].answer(REFUSED)

        errors = await errors_of([renewing, waiting])

        assert all(isinstance(error, AuthenticationError) for error in errors)
        assert not connection.is_open
        assert len({id(error) for error in [*errors, connection.error]}) == 3


async def test_a_renewal_that_is_not_answered_closes_the_connection(broker: Broker) -> None:
    ours = dialer(limits=Limits(frame_timeout=0.05), **PLAIN)
    async with dialled(ours, broker) as connection:
        broker.reactions[SaslAuthenticateRequest] = says_nothing

        with pytest.raises(KafkaTimeoutError, match="no answer to SaslAuthenticate"):
            await ours.renew(connection)

        assert not connection.is_open


async def test_a_renewal_that_is_cancelled_closes_the_connection(broker: Broker) -> None:
    ours = dialer(**PLAIN)
    async with dialled(ours, broker) as connection:
        broker.reactions[SaslAuthenticateRequest] = says_nothing
        renewing = asyncio.create_task(ours.renew(connection))
        await until(lambda: len(broker.seen) == 5)
        waiting = start(connection, 1)
        await asyncio.sleep(0)
        renewing.cancel()

        (error,) = await errors_of([waiting])

        assert renewing.cancelled()
        assert not error.indefinite
        assert not connection.is_open  # the broker waits for the rest, and takes nothing else


async def test_who_waits_for_a_token_does_not_hold_the_others_back(broker: Broker) -> None:
    may_have_it = asyncio.Event()
    may_have_it.set()

    async def token() -> BearerToken:
        await may_have_it.wait()
        return BearerToken("a-token", expires_at=1.0)  # of the past: each use fetches

    ours = dialer(sasl_mechanism="OAUTHBEARER", sasl_oauthbearer_token_provider=token)
    async with dialled(ours, broker) as connection:
        may_have_it.clear()
        renewing = asyncio.create_task(ours.renew(connection))
        await asyncio.sleep(0)
        task = start(connection, 1)
        (await broker.next()).answer(answer_to(1))
        answer = await task
        may_have_it.set()
        await renewing

        assert answer == answer_to(1)


async def test_a_renewal_waits_no_longer_for_a_token_than_for_an_answer(broker: Broker) -> None:
    may_have_it = asyncio.Event()
    may_have_it.set()

    async def token() -> BearerToken:
        await may_have_it.wait()
        return BearerToken("a-token", expires_at=1.0)

    limits = Limits(frame_timeout=0.05)
    ours = dialer(
        limits=limits, sasl_mechanism="OAUTHBEARER", sasl_oauthbearer_token_provider=token
    )
    async with dialled(ours, broker) as connection:
        may_have_it.clear()

        async with asyncio.timeout(PATIENCE):
            with pytest.raises(KafkaError):
                await ours.renew(connection)

        assert not connection.is_open
        may_have_it.set()
