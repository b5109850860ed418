"""The secured listeners of real Kafka let in whom they should, and refuse the others as it does."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import ssl
import urllib.error
import urllib.request
from collections.abc import Callable

import pytest

from kafka_aio.protocol.messages.metadata import MetadataRequest
from kafka_aio.protocol.messages.sasl import (
    SaslAuthenticateRequest,
    SaslAuthenticateResponse,
    SaslHandshakeRequest,
)
from tests.kafka.certificates import Certificates
from tests.kafka.cluster import Cluster
from tests.kafka.raw import RawConnection
from tests.kafka.security import MECHANISMS, REAUTHENTICATION_MS, SCRAM, USERS
from tests.kafka.tokens import Issuer, claims, unsecured

UNSUPPORTED_SASL_MECHANISM = 33
SASL_AUTHENTICATION_FAILED = 58
SASL_LISTENERS = ["SASLP", "SASLS"]
REFUSED = b'{"status":"invalid_token"}'


@pytest.fixture
def reach(secured_kafka: Cluster) -> Callable[..., RawConnection]:
    """Opens a connection to a listener; by TLS, it trusts our authority unless told otherwise."""
    node = secured_kafka.nodes[0]

    def reach(listener: str, tls: ssl.SSLContext | None = None) -> RawConnection:
        host, _, port = node.address(listener).partition(":")
        assert secured_kafka.security is not None
        if host == "localhost" and tls is None:
            tls = secured_kafka.security.certificates.client_context()
        return RawConnection(host, int(port), tls=tls)

    return reach


def ports_of(connection: RawConnection) -> list[int]:
    return [broker.port for broker in connection.send(MetadataRequest(topics=[])).brokers]


def authenticate(
    connection: RawConnection, mechanism: str, said: bytes
) -> SaslAuthenticateResponse:
    assert connection.send(SaslHandshakeRequest(mechanism=mechanism)).error_code == 0
    return connection.send(SaslAuthenticateRequest(auth_bytes=said))


def scram(connection: RawConnection, mechanism: str, password: str) -> SaslAuthenticateResponse:
    """The exchange of RFC 5802, for alice, up to the server's last word."""
    algorithm = mechanism.removeprefix("SCRAM-").replace("-", "").lower()
    opening = "n=alice,r=nonce"
    answer = authenticate(connection, mechanism, f"n,,{opening}".encode())
    assert answer.error_code == 0, answer
    challenge = bytes(answer.auth_bytes).decode()
    nonce, salt, iterations = (part[2:] for part in challenge.split(","))
    closing = f"c=biws,r={nonce}"

    salted = hashlib.pbkdf2_hmac(
        algorithm, password.encode(), base64.b64decode(salt), int(iterations)
    )
    key = hmac.digest(salted, b"Client Key", algorithm)
    signed = f"{opening},{challenge},{closing}".encode()
    signature = hmac.digest(hashlib.new(algorithm, key).digest(), signed, algorithm)
    proof = bytes(a ^ b for a, b in zip(key, signature, strict=True))
    last = f"{closing},p={base64.b64encode(proof).decode()}"
    return connection.send(SaslAuthenticateRequest(auth_bytes=last.encode()))


def bearer(token: str) -> bytes:
    return f"n,,\x01auth=Bearer {token}\x01\x01".encode()


# --- TLS ---------------------------------------------------------------------------------------


def test_tls_speaks_kafka_and_advertises_itself(
    secured_kafka: Cluster, reach: Callable[..., RawConnection]
) -> None:
    with reach("TLS") as connection:
        assert ports_of(connection) == [secured_kafka.nodes[0].ports["TLS"]]


def test_tls_is_refused_by_whoever_trusts_another_authority(
    certificates: Certificates, reach: Callable[..., RawConnection]
) -> None:
    with pytest.raises(ssl.SSLCertVerificationError, match="unable to get local issuer"):
        reach("TLS", ssl.create_default_context(cafile=certificates.other_ca))


def test_the_certificate_of_the_expired_listener_has_expired(
    reach: Callable[..., RawConnection],
) -> None:
    with pytest.raises(ssl.SSLCertVerificationError, match="certificate has expired"):
        reach("EXPIRED")


def test_mutual_tls_lets_in_a_client_with_a_certificate(
    secured_kafka: Cluster, certificates: Certificates, reach: Callable[..., RawConnection]
) -> None:
    with reach("MTLS", certificates.client_context(certificates.client)) as connection:
        assert ports_of(connection) == [secured_kafka.nodes[0].ports["MTLS"]]


@pytest.mark.parametrize("who", ["nobody", "stranger"])
def test_mutual_tls_refuses_others_at_the_first_answer(
    certificates: Certificates, reach: Callable[..., RawConnection], who: str
) -> None:
    context = certificates.client_context(certificates.stranger if who == "stranger" else None)

    with reach("MTLS", context) as connection, pytest.raises(ssl.SSLError, match="ALERT"):
        ports_of(connection)


def test_an_encrypted_key_opens_with_its_password(certificates: Certificates) -> None:
    context = certificates.client_context()

    files = (certificates.client_certificate, certificates.client_encrypted_key)
    context.load_cert_chain(*files, password=certificates.password)
    with pytest.raises(ssl.SSLError):
        context.load_cert_chain(*files, password="another")


# --- SASL --------------------------------------------------------------------------------------


@pytest.mark.parametrize("listener", SASL_LISTENERS)
def test_an_unknown_mechanism_is_answered_with_those_there_are(
    reach: Callable[..., RawConnection], listener: str
) -> None:
    with reach(listener) as connection:
        answer = connection.send(SaslHandshakeRequest(mechanism="NONE"))

    assert answer.error_code == UNSUPPORTED_SASL_MECHANISM
    assert sorted(answer.mechanisms) == sorted(MECHANISMS)


@pytest.mark.parametrize("listener", SASL_LISTENERS)
@pytest.mark.parametrize("user", USERS)
def test_plain_lets_in_users(
    reach: Callable[..., RawConnection], secured_kafka: Cluster, listener: str, user: str
) -> None:
    with reach(listener) as connection:
        answer = authenticate(connection, "PLAIN", f"\0{user}\0{USERS[user]}".encode())

        assert (answer.error_code, answer.session_lifetime_ms) == (0, 0)
        assert ports_of(connection) == [secured_kafka.nodes[0].ports[listener]]


@pytest.mark.parametrize("listener", SASL_LISTENERS)
def test_plain_refuses_a_wrong_password(reach: Callable[..., RawConnection], listener: str) -> None:
    with reach(listener) as connection:
        answer = authenticate(connection, "PLAIN", b"\0alice\0wrong")

    assert answer.error_code == SASL_AUTHENTICATION_FAILED


@pytest.mark.parametrize("mechanism", SCRAM)
@pytest.mark.parametrize("listener", SASL_LISTENERS)
def test_scram_lets_in_a_user_for_as_long_as_is_set(
    reach: Callable[..., RawConnection], secured_kafka: Cluster, listener: str, mechanism: str
) -> None:
    with reach(listener) as connection:
        answer = scram(connection, mechanism, USERS["alice"])

        limited = (listener, mechanism) == ("SASLS", "SCRAM-SHA-256")
        assert answer.error_code == 0
        assert answer.session_lifetime_ms == (REAUTHENTICATION_MS if limited else 0)
        assert ports_of(connection) == [secured_kafka.nodes[0].ports[listener]]


@pytest.mark.parametrize("mechanism", SCRAM)
def test_scram_refuses_a_wrong_password(
    reach: Callable[..., RawConnection], mechanism: str
) -> None:
    with reach("SASLP") as connection:
        answer = scram(connection, mechanism, "wrong")

    assert answer.error_code == SASL_AUTHENTICATION_FAILED


# --- tokens ------------------------------------------------------------------------------------


@pytest.mark.parametrize("listener", SASL_LISTENERS)
def test_an_unsecured_token_is_good_for_its_life(
    reach: Callable[..., RawConnection], secured_kafka: Cluster, listener: str
) -> None:
    with reach(listener) as connection:
        said = bearer(unsecured(claims("alice", lifetime=30)))
        answer = authenticate(connection, "OAUTHBEARER", said)

        assert answer.error_code == 0
        assert 20_000 < answer.session_lifetime_ms <= 30_000
        assert ports_of(connection) == [secured_kafka.nodes[0].ports[listener]]


def test_a_refused_token_is_an_error_only_after_the_client_gives_in(
    reach: Callable[..., RawConnection],
) -> None:
    with reach("SASLP") as connection:
        said = bearer(unsecured(claims("alice", lifetime=-30)))
        first = authenticate(connection, "OAUTHBEARER", said)
        then = connection.send(SaslAuthenticateRequest(auth_bytes=b"\x01"))

    assert (first.error_code, bytes(first.auth_bytes)) == (0, REFUSED)
    assert then.error_code == SASL_AUTHENTICATION_FAILED


def test_a_signed_token_is_good_where_signatures_are_wanted(
    reach: Callable[..., RawConnection], secured_kafka: Cluster, issuer: Issuer
) -> None:
    with reach("OAUTH") as connection:
        answer = authenticate(connection, "OAUTHBEARER", bearer(issuer.token(lifetime=30)))

        assert (answer.error_code, bytes(answer.auth_bytes)) == (0, b"")
        assert 20_000 < answer.session_lifetime_ms <= 30_000
        assert ports_of(connection) == [secured_kafka.nodes[0].ports["OAUTH"]]


def signed_by_another(issuer: Issuer) -> str:
    with Issuer() as other:
        return other.token(iss=issuer.url)


WRONG: dict[str, Callable[[Issuer], str]] = {
    "expired": lambda issuer: issuer.token(lifetime=-30),
    "for another audience": lambda issuer: issuer.token(audience="another"),
    "of another issuer": lambda issuer: issuer.token(iss="http://another.example/"),
    "of an unknown key": lambda issuer: issuer.token(key_id="another"),
    "signed by another key": signed_by_another,
    "unsigned": lambda issuer: unsecured(claims("alice", aud="kafka", iss=issuer.url)),
}


@pytest.mark.parametrize("wrong", WRONG)
def test_a_wrong_token_is_refused_where_signatures_are_wanted(
    reach: Callable[..., RawConnection], issuer: Issuer, wrong: str
) -> None:
    with reach("OAUTH") as connection:
        answer = authenticate(connection, "OAUTHBEARER", bearer(WRONG[wrong](issuer)))

    assert (answer.error_code, bytes(answer.auth_bytes)) == (0, REFUSED)


def ask_for_token(issuer: Issuer, secret: str) -> dict[str, object]:
    who = base64.b64encode(f"{issuer.client_id}:{secret}".encode()).decode()
    request = urllib.request.Request(
        issuer.token_url,
        b"grant_type=client_credentials&scope=all",
        {"Authorization": f"Basic {who}"},
    )
    direct = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    with direct.open(request, timeout=10) as answer:
        return dict(json.load(answer))


def test_kafka_takes_what_the_token_endpoint_gives_out(
    reach: Callable[..., RawConnection], issuer: Issuer
) -> None:
    given = ask_for_token(issuer, issuer.client_secret)

    with reach("OAUTH") as connection:
        answer = authenticate(connection, "OAUTHBEARER", bearer(str(given["access_token"])))
    assert (answer.error_code, bytes(answer.auth_bytes)) == (0, b"")
    assert (given["token_type"], given["expires_in"]) == ("Bearer", issuer.lifetime)
    assert issuer.requests[-1].form == {"grant_type": "client_credentials", "scope": "all"}


def test_the_token_endpoint_refuses_a_wrong_secret(issuer: Issuer) -> None:
    with pytest.raises(urllib.error.HTTPError, match="401") as refused:
        ask_for_token(issuer, "wrong")
    refused.value.close()
