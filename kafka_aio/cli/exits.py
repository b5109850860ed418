"""How a command ends: its exit code, and an error in the words of somebody at a shell. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable
from enum import IntEnum
from typing import Final

from kafka_aio.cli.output import printable
from kafka_aio.config import AdminConfig, ConsumerConfig, ProducerConfig
from kafka_aio.config.option import kinds
from kafka_aio.errors import (
    AuthenticationError,
    AuthorizationError,
    ConfigError,
    CorruptRecord,
    KafkaConnectionError,
    KafkaError,
    KafkaTimeoutError,
    ProtocolError,
    StateError,
)


class Exit(IntEnum):
    """What a script can look at; the last three are what a shell says of other programs too."""

    DONE = 0
    FAILED = 1
    USAGE = 2
    UNREACHABLE = 3
    REFUSED = 4
    NOT_KAFKA = 5
    BUG = 70
    INTERRUPTED = 130
    PIPE = 141


MEANINGS: Final = {
    Exit.DONE: "done",
    Exit.FAILED: "the cluster refused, or not every item succeeded",
    Exit.USAGE: "wrong usage or configuration; nothing was sent",
    Exit.UNREACHABLE: "no connection, or no answer in time",
    Exit.REFUSED: "one side does not accept the other (password, token, certificate), or an ACL",
    Exit.NOT_KAFKA: "the peer is no Kafka broker, or one that we cannot speak with",
    Exit.BUG: "a bug of kafka-aio",
    Exit.INTERRUPTED: "interrupted (Ctrl-C)",
    Exit.PIPE: "whoever read the output has gone (| head)",
}

# The first that fits.
_KINDS: Final = (
    (ConfigError, Exit.USAGE),
    (AuthenticationError, Exit.REFUSED),
    (AuthorizationError, Exit.REFUSED),
    (KafkaConnectionError, Exit.UNREACHABLE),
    (KafkaTimeoutError, Exit.UNREACHABLE),
    (CorruptRecord, Exit.FAILED),
    (ProtocolError, Exit.NOT_KAFKA),
    (StateError, Exit.BUG),
)

FLAGS: Final = {
    "bootstrap_servers": "--bootstrap-server",
    "client_id": "--client-id",
    "group_id": "--group",
    "sasl_mechanism": "--sasl-mechanism",
    "sasl_oauthbearer_token_provider": "--token-file",
    "sasl_password": "--password-file",
    "sasl_username": "--username",
    "security_protocol": "--security-protocol",
    "socket_connection_setup_timeout_ms": "--timeout",
    "ssl_keystore_certificate_chain": "--cert",
    "ssl_keystore_key": "--key",
    "ssl_keystore_location": "--cert",
    "ssl_truststore_location": "--ca",
}
"""Which of our options sets a field of the configuration."""

_NAMES: Final = "|".join({**kinds(AdminConfig), **kinds(ProducerConfig), **kinds(ConsumerConfig)})
_FIELDS: Final = re.compile(rf"(?<![\w/.-])({_NAMES})(?![\w/-])")


def code_of(error: KafkaError) -> Exit:
    for kind, code in _KINDS:
        if isinstance(error, kind):
            return code
    return Exit.FAILED


def code_of_all(errors: Iterable[KafkaError]) -> Exit:
    """Of a command with several items: the code that all failures share, if they do."""
    codes = {code_of(error) for error in errors}
    if len(codes) > 1:
        return Exit.FAILED
    return codes.pop() if codes else Exit.DONE


def in_our_words(text: str) -> str:
    """A text of the library for a terminal, with our options in place of the fields of Python."""
    return "\n    ".join(printable(line.strip()) for line in _FIELDS.sub(_named, text).split("\n"))


def _named(match: re.Match[str]) -> str:
    return FLAGS.get(match[1], match[1].replace("_", "."))
