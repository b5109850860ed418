from __future__ import annotations

import ssl
from collections.abc import Callable

import pytest

from kafka_aio.errors import AuthenticationError, KafkaConnectionError
from kafka_aio.net import tls
from tests.net.certificates import DAY, LOCALHOST, Identity, self_signed
from tests.net.peers import answering, greeting
from tests.net.tls_client import PEER, Options, broker, ca, other_ca, refused, trusting


@pytest.mark.parametrize(
    ("identity", "host", "words"),
    [
        (lambda: other_ca().issue(*LOCALHOST), "localhost", "no authority that we trust has"),
        (lambda: self_signed(*LOCALHOST), "localhost", "its certificate is signed by itself"),
        (lambda: ca().issue("elsewhere.example"), "localhost", "for another host"),
        (lambda: ca().issue("elsewhere.example"), "127.0.0.1", "for another host"),
        (lambda: ca().issue(*LOCALHOST, starts=-2 * DAY, ends=-DAY), "localhost", "has expired"),
        (lambda: ca().issue(*LOCALHOST, starts=DAY, ends=2 * DAY), "localhost", "not valid yet"),
    ],
)
async def test_a_broker_that_cannot_prove_who_it_is_is_refused(
    identity: Callable[[], Identity], host: str, words: str
) -> None:
    meaning = await refused(trusting(), greeting(identity().server()), host)

    assert isinstance(meaning, AuthenticationError)
    assert words in str(meaning)


@pytest.mark.parametrize("version", ["TLSv1.2", "TLSv1.3"])
@pytest.mark.parametrize(
    ("ours", "words"),
    [
        (lambda: None, "it wants a certificate of ours"),
        (lambda: other_ca().issue("me"), "it does not trust the authority of our certificate"),
        (lambda: ca().issue("me", starts=-2 * DAY, ends=-DAY), "our certificate has expired"),
    ],
)
async def test_a_broker_that_refuses_our_certificate_says_why(
    ours: Callable[[], Identity | None], words: str, version: str
) -> None:
    options: Options = {"ssl_enabled_protocols": (version,)}
    identity = ours()
    if identity is not None:
        options["ssl_keystore_key"] = identity.key_pem()
        options["ssl_keystore_certificate_chain"] = identity.certificate_pem
    meaning = await refused(trusting(**options), greeting(broker().server(trusted=ca())))

    assert isinstance(meaning, AuthenticationError)
    assert words in str(meaning)
    assert "ssl_keystore_location" in str(meaning)


ALERTS = {
    40: (AuthenticationError, "shares no cipher suite"),
    42: (AuthenticationError, "refuses the one it got"),
    43: (AuthenticationError, "cannot use our certificate"),
    44: (AuthenticationError, "has been revoked"),
    45: (AuthenticationError, "has expired"),
    46: (AuthenticationError, "does not trust our certificate"),
    48: (AuthenticationError, "does not trust the authority of our certificate"),
    49: (AuthenticationError, "denies access"),
    70: (KafkaConnectionError, "share no version of TLS: see ssl_enabled_protocols"),
    80: (KafkaConnectionError, "TLS failed: "),
    116: (AuthenticationError, "wants a certificate of ours: give ssl_keystore_location"),
}


@pytest.mark.parametrize("alert", ALERTS)
async def test_an_alert_of_the_broker_has_its_own_meaning(alert: int) -> None:
    kind, words = ALERTS[alert]
    fatal = bytes([21, 3, 3, 0, 2, 2, alert])  # a record with an alert
    meaning = await refused(trusting(), answering(fatal))

    assert type(meaning) is kind
    assert words in str(meaning)


@pytest.mark.parametrize(("ours", "theirs"), [("TLSv1.2", "TLSv1_3"), ("TLSv1.3", "TLSv1_2")])
async def test_no_version_in_common_names_the_option(ours: str, theirs: str) -> None:
    server = broker().server()
    server.minimum_version = server.maximum_version = ssl.TLSVersion[theirs]
    meaning = await refused(trusting(ssl_enabled_protocols=(ours,)), greeting(server))

    assert type(meaning) is KafkaConnectionError
    assert "share no version of TLS: see ssl_enabled_protocols" in str(meaning)


async def test_no_cipher_suite_in_common_names_the_option() -> None:
    server = broker().server()
    server.maximum_version = ssl.TLSVersion.TLSv1_2
    server.set_ciphers("ECDHE-ECDSA-AES128-GCM-SHA256")
    ours = trusting(ssl_cipher_suites=("ECDHE-ECDSA-AES256-GCM-SHA384",))
    meaning = await refused(ours, greeting(server))

    assert "ssl_cipher_suites" in str(meaning)


async def test_a_peer_that_answers_in_plain_text_does_not_speak_tls() -> None:
    meaning = await refused(trusting(), answering(b"HTTP/1.1 400 Bad Request\r\n\r\n"))

    assert type(meaning) is KafkaConnectionError
    assert str(meaning) == f"{PEER}: it does not speak TLS: check the port, and security_protocol"


@pytest.mark.parametrize("data", [b"", b"\x16\x03"])
async def test_a_peer_that_closes_in_the_handshake_may_be_without_tls(data: bytes) -> None:
    meaning = await refused(trusting(), answering(data))

    assert type(meaning) is KafkaConnectionError
    assert "closed in the TLS handshake: this may be a listener without TLS" in str(meaning)


def test_an_end_that_openssl_finds_itself_is_the_same() -> None:
    meaning = tls.explain(ssl.SSLEOFError(8, "EOF occurred in violation of protocol"), PEER)

    assert type(meaning) is KafkaConnectionError
    assert "closed in the TLS handshake" in str(meaning)


def test_a_failure_that_openssl_does_not_name_is_repeated_as_it_is() -> None:
    meaning = tls.explain(ssl.SSLError(1, "something odd"), PEER)

    assert type(meaning) is KafkaConnectionError
    assert "something odd" in str(meaning)
