from __future__ import annotations

import asyncio
import hashlib
import logging
import struct
from collections.abc import Mapping
from typing import Any

import pytest

from kafka_aio.admin import Admin
from kafka_aio.broker import EmbeddedBroker
from kafka_aio.broker.security.certificates import Certificates
from kafka_aio.broker.security.tokens import ValidToken
from kafka_aio.config import AdminConfig
from kafka_aio.errors import (
    AuthenticationError,
    KafkaConnectionError,
    SaslAuthenticationFailed,
    UnsupportedSaslMechanism,
)
from kafka_aio.net.cluster import Cluster
from kafka_aio.net.tasks import Tasks
from kafka_aio.protocol.messages.metadata import MetadataRequest
from kafka_aio.protocol.messages.sasl import SaslAuthenticateRequest, SaslHandshakeRequest
from kafka_aio.protocol.messages.scram import (
    AlterUserScramCredentialsRequest,
    ScramCredentialUpsertion,
)
from kafka_aio.types import BearerToken
from tests.embedded.client import VERSIONS, connected
from tests.kafka.tokens import claims, unsecured

pytest.importorskip("cryptography")

USERS = {"alice": "alice-secret"}
PASSWORDS = ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512")
METADATA = MetadataRequest(topics=[])
GOOD = SaslAuthenticateRequest(auth_bytes=b"\0alice\0alice-secret")
PATIENCE = 10.0
HASTE = {
    "socket_connection_setup_timeout_ms": 500,
    "socket_connection_setup_timeout_max_ms": 500,
}
"""Of a client that will not be served: it tries again until then."""


@pytest.fixture
async def handshakes_may_fail() -> None:
    """In debug mode, asyncio reports them as errors of the program."""
    asyncio.get_running_loop().set_debug(False)


def options(broker: EmbeddedBroker, **more: Any) -> dict[str, Any]:
    """What a client needs to know to reach a broker."""
    made = {
        "bootstrap_servers": broker.bootstrap_servers,
        "security_protocol": broker.security_protocol,
        "default_api_timeout_ms": 10_000,
        "request_timeout_ms": 2_000,
        **more,
    }
    if broker.security_protocol.endswith("SSL"):
        made.setdefault("ssl_truststore_certificates", broker.certificates.ca_pem)
    return made


def by_password(mechanism: str, password: str = "alice-secret") -> dict[str, Any]:
    return {"sasl_mechanism": mechanism, "sasl_username": "alice", "sasl_password": password}


def by_token(token: str) -> dict[str, Any]:
    async def provide() -> BearerToken:
        return BearerToken.parse(token)

    return {"sasl_mechanism": "OAUTHBEARER", "sasl_oauthbearer_token_provider": provide}


def shown(identity: str) -> dict[str, Any]:
    return {"ssl_keystore_certificate_chain": identity, "ssl_keystore_key": identity}


async def principals(broker: EmbeddedBroker, **more: Any) -> set[str]:
    """Who our own client is to a broker, while it is served by it."""
    async with Admin(**options(broker, **more)) as admin:
        assert len((await admin.describe_cluster()).nodes) == 1
        assert broker._server is not None
        return {each.peer.principal for each in broker._server.shared.open}


# TLS.


async def test_a_client_that_trusts_its_authority_is_served_by_a_broker_with_tls() -> None:
    async with EmbeddedBroker(tls=True) as broker:
        assert await principals(broker) == {"User:ANONYMOUS"}


async def test_by_its_other_name_too() -> None:
    async with EmbeddedBroker(tls=True) as broker:
        local = broker.bootstrap_servers.replace("127.0.0.1", "localhost")

        assert await principals(broker, bootstrap_servers=local) == {"User:ANONYMOUS"}


@pytest.mark.usefixtures("handshakes_may_fail")
async def test_one_that_trusts_another_authority_refuses_the_broker() -> None:
    other = Certificates.generate().ca_pem

    async with EmbeddedBroker(tls=True) as broker:
        with pytest.raises(AuthenticationError, match="no authority that we trust"):
            await principals(broker, ssl_truststore_certificates=other)


@pytest.mark.usefixtures("handshakes_may_fail")
async def test_one_that_does_not_speak_tls_is_not_served() -> None:
    async with EmbeddedBroker(tls=True) as broker, connected(broker) as client:
        client.send(VERSIONS)

        await client.reader.read()  # perhaps an alert of TLS
        assert client.reader.at_eof()


@pytest.mark.parametrize("client_auth", ["requested", "required"])
async def test_a_client_is_who_its_certificate_says(client_auth: Any) -> None:
    certificates = Certificates.generate(client_auth=client_auth)
    identity = certificates.client_pem("alice")

    async with EmbeddedBroker(tls=certificates) as broker:
        assert await principals(broker, **shown(identity)) == {"User:CN=alice"}


# Kafka would say why; asyncio closes the connection before its alert is sent.
@pytest.mark.usefixtures("handshakes_may_fail")
@pytest.mark.parametrize("has_one", [False, True])
async def test_one_without_a_certificate_by_the_authority_is_refused_where_one_is_required(
    has_one: bool,
) -> None:
    identity = shown(Certificates.generate().client_pem("alice")) if has_one else {}
    certificates = Certificates.generate(client_auth="required")

    async with EmbeddedBroker(tls=certificates) as broker:
        with pytest.raises(KafkaConnectionError, match="does it ask for a client certificate"):
            await principals(broker, **identity, **HASTE)


# SASL.


@pytest.mark.parametrize("tls", [False, True])
@pytest.mark.parametrize("mechanism", PASSWORDS)
async def test_a_user_logs_in_by_a_password(mechanism: str, tls: bool) -> None:
    async with EmbeddedBroker(users=USERS, tls=tls) as broker:
        assert await principals(broker, **by_password(mechanism)) == {"User:alice"}


@pytest.mark.parametrize("mechanism", PASSWORDS)
async def test_a_wrong_password_is_refused_at_once(mechanism: str) -> None:
    async with EmbeddedBroker(users=USERS) as broker:
        with pytest.raises(SaslAuthenticationFailed):
            await principals(broker, **by_password(mechanism, "wrong"))


async def test_a_mechanism_that_is_not_enabled_is_refused_with_those_that_are() -> None:
    async with EmbeddedBroker(users=USERS, mechanisms=["SCRAM-SHA-512"]) as broker:
        with pytest.raises(UnsupportedSaslMechanism, match="it offers SCRAM-SHA-512"):
            await principals(broker, **by_password("PLAIN"))


async def test_a_client_that_does_not_log_in_is_not_served() -> None:
    async with EmbeddedBroker(users=USERS) as broker:
        with pytest.raises(KafkaConnectionError):
            await principals(broker, security_protocol="PLAINTEXT", **HASTE)


async def test_a_token_is_good_if_the_broker_was_told_to_take_unsecured_ones() -> None:
    token = unsecured(claims("alice"))

    async with EmbeddedBroker(oauth="unsecured") as broker:
        assert await principals(broker, **by_token(token)) == {"User:alice"}


async def test_a_token_that_has_expired_is_refused() -> None:
    token = unsecured(claims("alice", lifetime=-10))

    async with EmbeddedBroker(oauth="unsecured") as broker:
        with pytest.raises(AuthenticationError):
            await principals(broker, **by_token(token))


async def test_every_token_is_refused_unless_the_broker_was_told_how_to_check_them() -> None:
    token = unsecured(claims("alice"))

    async with EmbeddedBroker(mechanisms=["OAUTHBEARER"]) as broker:
        with pytest.raises(AuthenticationError):
            await principals(broker, **by_token(token))


async def test_a_function_checks_tokens() -> None:
    known = {"opaque": ValidToken("alice")}

    async with EmbeddedBroker(oauth=known.get) as broker:
        assert await principals(broker, **by_token("opaque")) == {"User:alice"}
        with pytest.raises(AuthenticationError):
            await principals(broker, **by_token("other"))


async def test_a_user_that_a_client_has_made_can_log_in_at_once() -> None:
    key = hashlib.pbkdf2_hmac("sha256", b"bob-secret", b"pepper", 4_096)
    new = ScramCredentialUpsertion(
        name="bob", mechanism=1, iterations=4_096, salt=b"pepper", salted_password=key
    )
    as_bob = {**by_password("SCRAM-SHA-256", "bob-secret"), "sasl_username": "bob"}

    async with EmbeddedBroker(users=USERS) as broker:
        tasks = Tasks("test")
        await tasks.start()
        try:
            config = AdminConfig.from_options(options(broker, **by_password("PLAIN")))
            cluster = Cluster(config, tasks)
            await cluster.start()
            request = AlterUserScramCredentialsRequest(deletions=[], upsertions=[new])
            answer = await cluster.send_any(request)
        finally:
            await tasks.aclose()

        assert [(each.user, each.error_code) for each in answer.results] == [("bob", 0)]
        assert await principals(broker, **as_bob) == {"User:bob"}


# The life of a session (KIP-368).


async def test_our_client_renews_its_session_and_keeps_its_connections() -> None:
    limit = {"connections.max.reauth.ms": 1_200}  # we renew no sooner than after a second

    async with (
        EmbeddedBroker(users=USERS, options=limit) as broker,
        Admin(**options(broker, **by_password("SCRAM-SHA-256"))) as admin,
    ):
        await admin.describe_cluster()
        before = broker.statistics()
        async with asyncio.timeout(PATIENCE):
            while handshakes(broker) < before.apis["SaslHandshake"].requests * 2:
                await asyncio.sleep(0.05)
                await admin.describe_cluster()

        assert broker.statistics().connections_made == before.connections_made


async def test_a_session_that_nobody_renews_ends_with_the_next_request() -> None:
    limit = {"connections.max.reauth.ms": 50}

    async with EmbeddedBroker(users=USERS, options=limit) as broker, connected(broker) as client:
        await client.ask(SaslHandshakeRequest(mechanism="PLAIN"))
        assert (await client.ask(GOOD)).session_lifetime_ms == 50
        await asyncio.sleep(0.1)  # at least: the session has ended
        client.send(METADATA)

        await client.wait_closed()


def handshakes(broker: EmbeddedBroker) -> int:
    return broker.statistics().apis["SaslHandshake"].requests


@pytest.mark.parametrize("api", ["SaslHandshake", "SaslAuthenticate"])
async def test_a_log_in_can_be_made_to_fail_on_purpose(api: str) -> None:
    async with EmbeddedBroker(users=USERS) as broker:
        fault = broker.faults.fail(api, SaslAuthenticationFailed, times=1)
        with pytest.raises(SaslAuthenticationFailed):
            await principals(broker, **by_password("PLAIN"))

        assert fault.hits == 1
        assert await principals(broker, **by_password("PLAIN")) == {"User:alice"}


# Clients that do as no client would.


async def test_the_connection_ends_with_the_answer_that_refuses_the_log_in() -> None:
    wrong = SaslAuthenticateRequest(auth_bytes=b"\0alice\0wrong")

    async with EmbeddedBroker(users=USERS) as broker, connected(broker) as client:
        await client.ask(SaslHandshakeRequest(mechanism="PLAIN"))
        # What is in line behind it is not answered.
        client.send(wrong)
        client.send(GOOD)
        answer = await client.answer(wrong)

        assert answer.error_code == 58
        assert answer.error_message == "Authentication failed: Invalid username or password"
        await client.wait_closed()


async def test_a_request_before_the_log_in_ends_the_connection_without_a_word() -> None:
    async with EmbeddedBroker(users=USERS) as broker, connected(broker) as client:
        await client.ask(VERSIONS)
        client.send(METADATA)

        await client.wait_closed()


async def test_its_body_is_not_even_read(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG, "kafka_aio.broker")

    async with EmbeddedBroker(users=USERS) as broker, connected(broker) as client:
        header = struct.pack(">hhih", 3, 12, 1, -1) + b"\0"
        client.write(struct.pack(">i", len(header) + 4) + header + b"\xff\xff\xff\xff")

        await client.wait_closed()
    assert "MetadataRequest while the log-in is new" in caplog.text


async def test_tokens_without_headers_follow_a_handshake_of_version_0() -> None:
    handshake = SaslHandshakeRequest(mechanism="PLAIN")

    async with EmbeddedBroker(users=USERS) as broker, connected(broker) as client:
        await client.ask(handshake, version=0)
        client.write(struct.pack(">i", len(GOOD.auth_bytes)) + GOOD.auth_bytes)

        assert await client.frame() == b""
        assert len((await client.ask(METADATA)).brokers) == 1


async def test_a_wrong_token_without_a_header_ends_the_connection_without_a_word() -> None:
    handshake = SaslHandshakeRequest(mechanism="PLAIN")

    async with EmbeddedBroker(users=USERS) as broker, connected(broker) as client:
        await client.ask(handshake, version=0)
        client.write(struct.pack(">i", 7) + b"\0alice\0")

        await client.wait_closed()


async def test_no_password_or_token_gets_into_a_log(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    token = unsecured(claims("alice", lifetime=-10, canary="canary"))

    async with EmbeddedBroker(users={"alice": "canary"}, oauth="unsecured") as broker:
        for mechanism in PASSWORDS:
            await principals(broker, **by_password(mechanism, "canary"))
            with pytest.raises(AuthenticationError):
                await principals(broker, **by_password(mechanism, "canary-2"))
        with pytest.raises(AuthenticationError):
            await principals(broker, **by_token(token))

    assert "canary" not in caplog.text
    assert token not in caplog.text


# Somebody else's client.


async def librdkafka(broker: EmbeddedBroker, more: Mapping[str, str]) -> list[int]:
    """The nodes that confluent-kafka sees, by librdkafka's names of the options."""
    confluent_kafka_admin = pytest.importorskip("confluent_kafka.admin")

    def look() -> list[int]:
        admin = confluent_kafka_admin.AdminClient(
            {
                "bootstrap.servers": broker.bootstrap_servers,
                "security.protocol": broker.security_protocol,
                **more,
            }
        )
        return list(admin.list_topics(timeout=PATIENCE).brokers)

    return await asyncio.to_thread(look)


@pytest.mark.parametrize("tls", [False, True])
@pytest.mark.parametrize("mechanism", PASSWORDS)
async def test_librdkafka_logs_in_by_a_password(mechanism: str, tls: bool) -> None:
    as_alice = {
        "sasl.mechanism": mechanism,
        "sasl.username": "alice",
        "sasl.password": "alice-secret",
    }

    async with EmbeddedBroker(users=USERS, tls=tls) as broker:
        trusting = {"ssl.ca.pem": broker.certificates.ca_pem} if tls else {}

        assert await librdkafka(broker, {**as_alice, **trusting}) == [1]


async def test_librdkafka_logs_in_by_a_token() -> None:
    unsecured_login = {
        "sasl.mechanism": "OAUTHBEARER",
        "enable.sasl.oauthbearer.unsecure.jwt": "true",
        "sasl.oauthbearer.config": "principal=alice lifeSeconds=300",
    }

    async with EmbeddedBroker(oauth="unsecured") as broker:
        assert await librdkafka(broker, unsecured_login) == [1]


async def test_librdkafka_shows_a_certificate() -> None:
    certificates = Certificates.generate(client_auth="required")
    identity = certificates.client_pem("alice")
    key, begin, certificate = identity.partition("-----BEGIN CERTIFICATE")

    async with EmbeddedBroker(tls=certificates) as broker:
        as_alice = {
            "ssl.ca.pem": certificates.ca_pem,
            "ssl.key.pem": key,
            "ssl.certificate.pem": begin + certificate,
        }

        assert await librdkafka(broker, as_alice) == [1]
