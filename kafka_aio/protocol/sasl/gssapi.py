"""GSSAPI (RFC 4752): Kerberos tickets, from a context that the network layer makes. Pure.

The context speaks with the one on the other side until it is complete. Then the broker offers its
security layers, and we take none: Kafka protects what follows with TLS, if at all.
"""

from __future__ import annotations

from typing import Final, Protocol

from kafka_aio.errors import AuthenticationError, ProtocolError
from kafka_aio.protocol.sasl.exchange import Exchange, Send, Talk

MAX_TOKEN: Final = 65_536
MAX_ROUNDS: Final = 10
"""Kerberos needs two; a broker that never comes to an end is left."""

_NO_LAYER: Final = 1


class Context(Protocol):
    """The initiator's side of a GSSAPI context. Its methods raise AuthenticationError."""

    @property
    def complete(self) -> bool:
        """Whether both sides know each other."""
        ...

    def step(self, token: bytes | None) -> bytes | None:
        """What to send after `token` has come; None is "nothing", both ways."""
        ...

    def unwrap(self, message: bytes) -> bytes:
        """What the other side has signed."""
        ...

    def wrap(self, message: bytes) -> bytes:
        """The message, signed and not encrypted."""
        ...


class Gssapi(Exchange):
    """Proves who we are by a ticket for the broker, and has the broker prove who it is."""

    __slots__ = ()

    def __init__(self, context: Context, authorization_id: str = "") -> None:
        """Take a fresh context.

        Args:
            context: For the broker's service.
            authorization_id: Whom to act as; empty means the one that the ticket is for.
        """
        super().__init__("GSSAPI", _talk(context, authorization_id.encode()))


def _talk(context: Context, authorization_id: bytes) -> Talk:
    token = context.step(None)
    for _ in range(MAX_ROUNDS):
        answer = yield Send(token or b"")
        if len(answer) > MAX_TOKEN:
            raise ProtocolError(
                f"GSSAPI: the broker's message has {len(answer):,} bytes, more than {MAX_TOKEN:,}"
            )
        if context.complete:
            break
        token = context.step(answer)
    else:
        raise AuthenticationError(f"GSSAPI: no end after {MAX_ROUNDS} messages from the broker")
    _check_layers(context.unwrap(answer))
    # The largest message that we take is 0, as there will be none.
    yield Send(context.wrap(bytes((_NO_LAYER, 0, 0, 0)) + authorization_id))


def _check_layers(offer: bytes) -> None:
    if len(offer) != 4:
        raise ProtocolError(f"GSSAPI: the broker's security layers have {len(offer)} bytes, not 4")
    if not offer[0] & _NO_LAYER:
        raise AuthenticationError(
            "GSSAPI: the broker insists on a security layer of SASL, which Kafka does not have:"
            " leave auth in its javax.security.sasl.qop, and use SASL_SSL"
        )
