from __future__ import annotations

import pytest

from kafka_aio.cli.exits import MEANINGS, Exit, code_of, code_of_all, in_our_words
from kafka_aio.errors import (
    AuthenticationError,
    ConfigError,
    CorrelationIdError,
    CorruptRecord,
    KafkaConnectionError,
    KafkaError,
    KafkaTimeoutError,
    RequestTimedOut,
    SaslAuthenticationFailed,
    StateError,
    TopicAlreadyExists,
    TopicAuthorizationFailed,
    UnsupportedVersion,
)


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (TopicAlreadyExists(), 1),
        (CorruptRecord("x"), 1),
        (ConfigError("x"), 2),
        (KafkaConnectionError("x"), 3),
        (KafkaTimeoutError("x"), 3),
        (RequestTimedOut(), 3),
        (AuthenticationError("x"), 4),
        (SaslAuthenticationFailed(), 4),
        (TopicAuthorizationFailed(), 4),
        (CorrelationIdError("x"), 5),
        (UnsupportedVersion("x"), 5),
        (StateError("x"), 70),
    ],
)
def test_each_kind_of_error_has_its_exit_code(error: KafkaError, code: int) -> None:
    assert code_of(error) == code


@pytest.mark.parametrize(
    ("errors", "code"),
    [
        ([], 0),
        ([KafkaTimeoutError("x"), KafkaConnectionError("x")], 3),
        ([TopicAuthorizationFailed()], 4),
        ([TopicAuthorizationFailed(), TopicAlreadyExists()], 1),
        ([TopicAuthorizationFailed(), KafkaTimeoutError("x")], 1),
    ],
)
def test_items_share_an_exit_code_or_it_is_1(errors: list[KafkaError], code: int) -> None:
    assert code_of_all(errors) == code


def test_every_exit_code_is_explained() -> None:
    assert set(MEANINGS) == set(Exit)


@pytest.mark.parametrize(
    ("text", "ours"),
    [
        ("set security_protocol='SSL'", "set --security-protocol='SSL'"),
        ("see ssl_enabled_protocols.", "see ssl.enabled.protocols."),
        ("ssl_truststore_location or ssl_truststore_certificates", "--ca or ssl.truststore.certif"),
        ("cannot read /etc/client_id/x", "cannot read /etc/client_id/x"),
        ("client_identity", "client_identity"),
    ],
)
def test_an_option_is_named_as_it_is_given_at_a_shell(text: str, ours: str) -> None:
    assert in_our_words(text).startswith(ours)


def test_what_a_broker_says_cannot_steer_the_terminal_or_look_like_a_line_of_ours() -> None:
    said = in_our_words("no\x1b[2J\r\u202e\nkafka-aio: done")

    assert said == "no\\x1b[2J\\r\\u202e\n    kafka-aio: done"
