from __future__ import annotations

from math import inf

import pytest

from kafka_aio.broker.security.tokens import ValidToken
from kafka_aio.errors import IllegalSaslState
from kafka_aio.protocol.messages.api_versions import ApiVersionsRequest
from kafka_aio.protocol.messages.metadata import MetadataRequest
from kafka_aio.protocol.messages.sasl import SaslAuthenticateRequest, SaslHandshakeRequest
from kafka_aio.protocol.messages.scram import DescribeUserScramCredentialsRequest
from kafka_aio.protocol.sasl import OAuthBearer, Plain
from tests.unit.broker.clusters import WALL_MS
from tests.unit.broker.logins import WALL, Client, claims, exchange, secured

every_mechanism = pytest.mark.parametrize(
    "mechanism", ["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512", "OAUTHBEARER"]
)
VERSIONS = ApiVersionsRequest(client_software_name="tests", client_software_version="1")
METADATA = MetadataRequest(topics=None)
DESCRIBE = DescribeUserScramCredentialsRequest(users=None)
GOOD = b"\0alice\0alice-secret"


def served(mechanism: str = "PLAIN", *, reauth_ms: int = 0) -> Client:
    client = Client(secured(connections_max_reauth_ms=reauth_ms))
    assert client.log_in(mechanism, exchange(mechanism)).error_code == 0
    return client


@every_mechanism
def test_our_own_client_logs_in_and_is_served(mechanism: str) -> None:
    client = Client(secured())
    client.ask(VERSIONS)

    answer = client.log_in(mechanism, exchange(mechanism))

    assert (answer.error_code, answer.error_message) == (0, "")
    assert client.peer.principal == "User:alice"
    assert client.peer.is_authenticated
    assert not client.peer.must_close
    assert client.ask(DESCRIBE).error_code == 0


@every_mechanism
def test_bad_credentials_are_refused_and_end_the_connection(mechanism: str) -> None:
    client = Client(secured())
    bad = claims(lifetime=-1) if mechanism == "OAUTHBEARER" else "wrong"

    answer = client.log_in(mechanism, exchange(mechanism, password=bad))

    assert answer.error_code == 58
    assert answer.auth_bytes == b""
    assert client.peer.must_close
    assert client.peer.principal == "User:ANONYMOUS"
    assert not client.peer.is_authenticated
    with pytest.raises(IllegalSaslState):
        client.ask(VERSIONS)


@pytest.mark.parametrize("mechanism", ["SCRAM-SHA-256", "SCRAM-SHA-512"])
def test_an_unknown_user_and_a_wrong_password_are_refused_in_the_same_words(
    mechanism: str,
) -> None:
    texts = [
        Client(secured()).log_in(mechanism, exchange(mechanism, user, "wrong")).error_message
        for user in ("alice", "nobody")
    ]

    text = "Authentication failed during authentication due to invalid credentials with SASL"
    assert texts == [f"{text} mechanism {mechanism}"] * 2


@pytest.mark.parametrize("request_", [METADATA, DESCRIBE, SaslAuthenticateRequest(auth_bytes=GOOD)])
def test_before_the_log_in_anything_else_ends_the_connection(request_: MetadataRequest) -> None:
    with pytest.raises(IllegalSaslState):
        Client(secured()).ask(request_)


def test_versions_may_be_asked_for_once_before_the_log_in() -> None:
    client = Client(secured())
    client.ask(VERSIONS)

    with pytest.raises(IllegalSaslState):
        client.ask(VERSIONS)


def test_versions_may_be_asked_for_again_if_they_were_not_told() -> None:
    client = Client(secured())
    refused = client.ask(ApiVersionsRequest(client_software_name="", client_software_version="1"))

    assert refused.error_code == 42
    assert client.ask(VERSIONS).error_code == 0


def test_a_request_in_the_middle_of_a_log_in_is_refused_and_ends_the_connection() -> None:
    client = Client(secured())
    client.shake_hands("PLAIN")

    answer = client.ask(DESCRIBE)

    assert answer.error_code == 34
    assert "DESCRIBE_USER_SCRAM_CREDENTIALS" in answer.error_message
    assert client.peer.must_close
    with pytest.raises(IllegalSaslState):
        client.authenticate(GOOD)


def test_a_second_handshake_in_the_middle_of_a_log_in_is_one_of_those() -> None:
    client = Client(secured())
    client.shake_hands("PLAIN")

    answer = client.shake_hands("PLAIN")

    assert (answer.error_code, answer.mechanisms) == (34, [])
    assert client.peer.must_close


def test_the_body_of_a_request_is_not_even_read_before_the_log_in() -> None:
    with pytest.raises(IllegalSaslState, match="MetadataRequest while the log-in is new"):
        Client(secured()).login.check(MetadataRequest, now=0.0)


def test_users_that_were_removed_are_refused() -> None:
    state = secured()
    del state.users.passwords["alice"]

    answer = Client(state).log_in("PLAIN", exchange("PLAIN"))

    assert answer.error_code == 58


# SaslHandshake 0, whose tokens have no headers.


def test_a_handshake_of_version_0_is_followed_by_bare_tokens() -> None:
    from kafka_aio.broker.api.sasl import bare_token

    client = Client(secured())
    assert not client.login.wants_tokens
    client.shake_hands("PLAIN", version=0)
    assert client.login.wants_tokens

    answer = bare_token(GOOD, client.peer, now=0.0, wall_ms=WALL_MS)

    assert answer == b""
    assert client.peer.principal == "User:alice"
    assert not client.login.wants_tokens
    assert client.ask(DESCRIBE).error_code == 0


def test_a_handshake_of_version_1_is_not() -> None:
    client = Client(secured())
    client.shake_hands("PLAIN", version=1)

    assert not client.login.wants_tokens


# The life of a session (KIP-368).


def test_without_a_limit_a_session_has_no_end() -> None:
    client = served()

    assert client.login.session_ends_at == inf
    assert client.ask(DESCRIBE, now=1e9).error_code == 0


def test_the_client_is_told_how_long_its_session_lasts_when_the_log_in_is_done() -> None:
    client = Client(secured(connections_max_reauth_ms=60_000))
    client.shake_hands("SCRAM-SHA-256")
    first = client.authenticate(b"n,,n=alice,r=ours")

    assert first.session_lifetime_ms == 0
    client = Client(secured(connections_max_reauth_ms=60_000))
    last = client.log_in("SCRAM-SHA-256", exchange("SCRAM-SHA-256"), now=5.0)
    assert last.session_lifetime_ms == 60_000
    assert client.login.session_ends_at == 65.0


@pytest.mark.parametrize(("reauth_ms", "expected"), [(0, 300_000), (400_000, 300_000), (9, 9)])
def test_a_session_lasts_no_longer_than_its_token(reauth_ms: int, expected: int) -> None:
    client = Client(secured(connections_max_reauth_ms=reauth_ms))

    answer = client.log_in("OAUTHBEARER", OAuthBearer(claims(lifetime=300)))

    assert answer.session_lifetime_ms == expected


def test_a_token_without_an_end_sets_no_limit() -> None:
    client = Client(secured(tokens=lambda _: ValidToken("alice")))

    assert client.log_in("OAUTHBEARER", OAuthBearer("opaque")).session_lifetime_ms == 0
    assert client.login.session_ends_at == inf


def test_a_token_that_has_ended_by_the_time_of_its_check_ends_the_session_at_once() -> None:
    client = Client(secured(tokens=lambda _: ValidToken("alice", WALL - 1)))

    assert client.log_in("OAUTHBEARER", OAuthBearer("opaque")).session_lifetime_ms == 0
    with pytest.raises(IllegalSaslState):
        client.ask(DESCRIBE, now=0.001)


def test_a_token_is_held_against_the_time_at_which_it_comes() -> None:
    client = Client(secured())
    client.shake_hands("OAUTHBEARER", now=0.0)
    old, new = (
        f"n,,\x01auth=Bearer {claims(lifetime=lifetime)}\x01\x01".encode() for lifetime in (-1, 5)
    )

    assert client.authenticate(old, now=4.0).auth_bytes == b'{"status":"invalid_token"}'
    assert client.authenticate(new, now=6.0).auth_bytes == b'{"status":"invalid_token"}'


def test_a_session_that_has_ended_ends_the_connection_at_the_next_request() -> None:
    client = served(reauth_ms=10_000)

    assert client.ask(DESCRIBE, now=10.0).error_code == 0
    with pytest.raises(IllegalSaslState, match="User:alice has ended"):
        client.ask(DESCRIBE, now=10.001)


@every_mechanism
def test_a_session_can_be_renewed_on_a_living_connection(mechanism: str) -> None:
    client = served(mechanism, reauth_ms=10_000)

    answer = client.log_in(mechanism, exchange(mechanism), now=9.0)

    assert answer.session_lifetime_ms == 10_000
    assert client.ask(DESCRIBE, now=19.0).error_code == 0
    with pytest.raises(IllegalSaslState):
        client.ask(DESCRIBE, now=19.001)


def test_the_first_answer_of_a_renewal_says_nothing_of_a_session() -> None:
    client = served("SCRAM-SHA-256", reauth_ms=10_000)
    client.shake_hands("SCRAM-SHA-256", now=5.0)

    assert client.authenticate(b"n,,n=alice,r=ours", now=5.0).session_lifetime_ms == 0


def test_it_can_even_be_renewed_when_it_has_ended() -> None:
    client = served(reauth_ms=10_000)

    answer = client.log_in("PLAIN", exchange("PLAIN"), now=20.0)

    assert answer.session_lifetime_ms == 10_000


def test_while_it_is_renewed_no_other_request_is_answered() -> None:
    client = served(reauth_ms=10_000)
    client.shake_hands("PLAIN", now=9.0)

    assert client.ask(DESCRIBE, now=9.0).error_code == 34
    assert client.peer.must_close


def test_a_session_without_an_end_cannot_be_renewed() -> None:
    client = served()

    answer = client.shake_hands("PLAIN", now=5.0)

    assert (answer.error_code, answer.mechanisms) == (34, [])
    assert not client.peer.must_close
    assert client.ask(DESCRIBE, now=5.0).error_code == 0


def test_it_can_be_renewed_once_in_a_second() -> None:
    client = served(reauth_ms=10_000)
    client.log_in("PLAIN", exchange("PLAIN"), now=0.0)

    assert client.shake_hands("PLAIN", now=0.999).error_code == 34
    assert not client.peer.must_close
    assert client.shake_hands("PLAIN", now=1.0).error_code == 0


def test_too_soon_a_renewal_of_a_session_that_has_ended_ends_the_connection() -> None:
    client = served(reauth_ms=10)
    client.log_in("PLAIN", exchange("PLAIN"), now=0.01)

    with pytest.raises(IllegalSaslState):
        client.ask(SaslHandshakeRequest(mechanism="PLAIN"), now=0.5)


def test_nobody_becomes_somebody_else_by_renewing_a_session() -> None:
    client = served(reauth_ms=10_000)

    answer = client.log_in("PLAIN", exchange("PLAIN", "admin"), now=5.0)

    assert answer.error_code == 58
    assert answer.error_message == (
        "Cannot change principals during re-authentication from User.alice: User.admin"
    )
    assert client.peer.principal == "User:alice"
    assert client.peer.must_close


def test_a_session_that_is_renewed_with_a_wrong_password_is_over() -> None:
    client = served("SCRAM-SHA-256", reauth_ms=10_000)

    answer = client.log_in("SCRAM-SHA-256", exchange("SCRAM-SHA-256", password="wrong"), now=5.0)

    assert answer.error_message == (
        "Authentication failed during re-authentication due to invalid credentials with SASL"
        " mechanism SCRAM-SHA-256"
    )
    assert client.peer.must_close
    with pytest.raises(IllegalSaslState):
        client.ask(DESCRIBE, now=5.0)


def test_a_session_is_renewed_by_the_mechanism_that_it_began_with() -> None:
    client = served("PLAIN", reauth_ms=10_000)

    assert client.shake_hands("SCRAM-SHA-256", now=5.0).error_code == 0
    with pytest.raises(IllegalSaslState):
        client.authenticate(b"n,,n=alice,r=ours", now=5.0)


def test_to_renew_it_by_one_that_is_not_enabled_ends_the_connection_without_a_word() -> None:
    client = served("PLAIN", reauth_ms=10_000)

    with pytest.raises(IllegalSaslState):
        client.shake_hands("GSSAPI", now=5.0)


def test_neither_the_log_in_nor_its_errors_show_a_password() -> None:
    client = Client(secured())

    answer = client.log_in("PLAIN", Plain("alice", "canary"))

    assert "canary" not in f"{client.login!r} {answer!r} {client.peer!r}"
