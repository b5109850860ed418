"""PLAIN (RFC 4616): the user name and the password as they are. Pure."""

from __future__ import annotations

from kafka_aio.config.option import Secret
from kafka_aio.protocol.sasl.exchange import Exchange, Send, Talk, check_sendable


class Plain(Exchange):
    """Proves who we are by showing the password: only for connections that are encrypted."""

    __slots__ = ()

    def __init__(self, username: str, password: str) -> None:
        """Take the credentials.

        Raises:
            ConfigError: One of them is empty or cannot be sent.
        """
        password = Secret(password)
        super().__init__("PLAIN", _talk(username, password))
        check_sendable("user name", username)
        check_sendable("password", password)


def _talk(username: str, password: Secret) -> Talk:
    # The broker's error code says whether it worked. What else it may say with a success has no
    # meaning in this mechanism; Java and librdkafka ignore it too.
    yield Send(b"\0" + username.encode() + b"\0" + password.encode())
