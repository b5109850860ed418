from __future__ import annotations

import pytest

from kafka_aio.protocol.messages.sasl import SaslAuthenticateRequest, SaslHandshakeRequest
from tests.unit.broker import clusters
from tests.unit.broker.logins import Client, secured

every_handshake = pytest.mark.parametrize("version", [0, 1])
every_authenticate = pytest.mark.parametrize("version", [0, 1, 2])
GOOD = b"\0alice\0alice-secret"


@every_handshake
def test_a_handshake_names_what_is_enabled(version: int) -> None:
    client = Client(secured("SCRAM-SHA-256", "PLAIN"))

    answer = client.shake_hands("PLAIN", version=version)

    assert (answer.error_code, answer.mechanisms) == (0, ["PLAIN", "SCRAM-SHA-256"])


@every_handshake
def test_a_mechanism_that_is_not_enabled_is_refused_with_those_that_are(version: int) -> None:
    client = Client(secured("SCRAM-SHA-256", "PLAIN"))

    answer = client.shake_hands("SCRAM-SHA-512", version=version)

    assert (answer.error_code, answer.mechanisms) == (33, ["PLAIN", "SCRAM-SHA-256"])
    assert client.peer.must_close


@every_handshake
def test_where_nobody_has_to_log_in_a_handshake_is_out_of_place(version: int) -> None:
    state = clusters.made()

    answer = clusters.call(state, SaslHandshakeRequest(mechanism="PLAIN"), version=version)

    assert (answer.error_code, answer.mechanisms) == (34, [])


@every_authenticate
def test_and_so_is_a_token(version: int) -> None:
    state = clusters.made()

    answer = clusters.call(state, SaslAuthenticateRequest(auth_bytes=GOOD), version=version)

    assert (answer.error_code, answer.auth_bytes) == (34, b"")
    assert answer.error_message == (
        "SaslAuthenticate request received after successful authentication"
    )


@every_authenticate
def test_a_token_is_answered_in_every_version(version: int) -> None:
    client = Client(secured(connections_max_reauth_ms=7_000))
    client.shake_hands("PLAIN")

    answer = client.authenticate(GOOD, version=version)

    assert (answer.error_code, answer.error_message, answer.auth_bytes) == (0, "", b"")
    assert answer.session_lifetime_ms == (7_000 if version else 0)


@every_authenticate
def test_a_token_of_somebody_who_is_served_already_is_refused(version: int) -> None:
    client = Client(secured())
    client.shake_hands("PLAIN")
    client.authenticate(GOOD)

    answer = client.authenticate(GOOD, version=version)

    assert answer.error_code == 34
    assert not client.peer.must_close


def test_a_refusal_is_told_in_every_version() -> None:
    for version in (0, 1, 2):
        client = Client(secured())
        client.shake_hands("PLAIN")

        answer = client.authenticate(b"\0alice\0wrong", version=version)

        assert answer.error_code == 58
        assert answer.error_message == "Authentication failed: Invalid username or password"
