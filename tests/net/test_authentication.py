from __future__ import annotations

from math import inf
from typing import Any

import pytest

from kafka_aio.errors import (
    AuthenticationError,
    IllegalSaslState,
    KafkaConnectionError,
    KafkaError,
    ProtocolError,
    SaslAuthenticationFailed,
    UnsupportedSaslMechanism,
    UnsupportedVersion,
)
from kafka_aio.protocol.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse
from kafka_aio.protocol.messages.sasl import (
    SaslAuthenticateRequest,
    SaslHandshakeRequest,
    SaslHandshakeResponse,
)
from tests.net.dials import PASSWORD, PLAIN, SCRAM, SETUP, dialer, dialled, refusal
from tests.net.exchanges import MANY_TURNS, cancelled_after
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
    writes,
)
from tests.unit.protocol.sasl_broker import ScramBroker


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


async def test_a_listener_that_does_not_want_sasl_is_told_from_one_that_refuses_us(
    broker: Broker,
) -> None:
    broker.reactions[SaslHandshakeRequest] = says(
        SaslHandshakeResponse(error_code=34, mechanisms=[])
    )
    error = await refusal(broker, **PLAIN)

    assert type(error) is AuthenticationError
    assert str(error) == (
        f"127.0.0.1:{broker.port}: this listener does not want SASL,"
        " but security_protocol is 'SASL_PLAINTEXT'"
    )
    assert isinstance(error.__cause__, IllegalSaslState)


async def test_a_broker_that_refuses_the_handshake(broker: Broker) -> None:
    broker.reactions[SaslHandshakeRequest] = says(
        SaslHandshakeResponse(error_code=58, mechanisms=[])
    )

    assert isinstance(await refusal(broker, **PLAIN), SaslAuthenticationFailed)


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
