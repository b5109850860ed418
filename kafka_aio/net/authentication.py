"""Proving who we are on a connection: SASL, as the configuration asks for it (KIP-43, KIP-368)."""

from __future__ import annotations

import asyncio
import hashlib
import random
from collections.abc import Callable
from functools import partial
from math import inf
from typing import Final, TypeVar

from kafka_aio.config import ClientConfig
from kafka_aio.config.option import Secret
from kafka_aio.errors import (
    AuthenticationError,
    ProtocolError,
    UnsupportedSaslMechanism,
    for_code,
)
from kafka_aio.net.connection import Connection
from kafka_aio.net.tokens import Tokens
from kafka_aio.protocol.messages.sasl import SaslAuthenticateRequest, SaslHandshakeRequest
from kafka_aio.protocol.sasl import (
    Derive,
    Done,
    Exchange,
    Gssapi,
    OAuthBearer,
    Plain,
    Scram,
    Step,
    shown,
)

T = TypeVar("T")

_RENEW_FROM: Final = 0.85
_RENEW_UNTIL: Final = 0.95
"""Between which parts of a session's life it is renewed: Java's figures."""

_RENEW_NOT_BEFORE: Final = 1.0
"""Brokers refuse a second authentication within a second of the first."""


class Authenticator:
    """Authenticates the connections of a client, and says when each must do it again."""

    def __init__(self, config: ClientConfig, tokens: Tokens | None, rng: random.Random) -> None:
        """Take what the configuration says.

        Args:
            config: The client's.
            tokens: Where bearer tokens come from, if the mechanism is OAUTHBEARER.
            rng: Where nonces and jitter come from.
        """
        self._config = config
        self._tokens = tokens
        self._rng = rng
        self._loop = asyncio.get_running_loop()

    async def authenticate(self, connection: Connection, *, deadline: float) -> None:
        """Authenticate, and set `connection.renew_at` where the session is to end.

        Others wait while the broker takes nothing else, but not while a token is fetched.

        Raises:
            AuthenticationError: The broker refuses us, or could not prove itself.
            KafkaTimeoutError, KafkaConnectionError, ProtocolError: As `Connection.send`.
        """
        exchange, secret = await self._exchange(connection.host, deadline)
        with connection.exclusive():
            await self._shake_hands(connection, exchange.mechanism, deadline)
            begun_at = self._loop.time()
            lifetime = await self._run(connection, exchange, secret, deadline)
        share = _RENEW_FROM + (_RENEW_UNTIL - _RENEW_FROM) * self._rng.random()
        renew_in = max(_RENEW_NOT_BEFORE, lifetime * share)
        connection.renew_at = begun_at + renew_in if lifetime else inf

    async def _shake_hands(self, connection: Connection, mechanism: str, deadline: float) -> None:
        request = SaslHandshakeRequest(mechanism=mechanism)
        version = connection.version_of(SaslHandshakeRequest)
        response = await connection.exchange(request, version, deadline=deadline)
        if response.error_code == UnsupportedSaslMechanism.code:
            offered = ", ".join(map(shown, response.mechanisms[:10])) or "none"
            said = f"it offers {offered}"
            raise UnsupportedSaslMechanism(said, where=f"{connection.peer}, {mechanism}")
        if response.error_code:
            raise for_code(response.error_code, where=connection.peer)

    async def _run(
        self, connection: Connection, exchange: Exchange, secret: Secret, deadline: float
    ) -> float:
        """Play the exchange to its end. The life of the session in seconds; 0 is no end."""
        lifetime = 0.0
        version = connection.version_of(SaslAuthenticateRequest)
        step = _step(connection, exchange.start)
        while not isinstance(step, Done):
            if isinstance(step, Derive):
                step = exchange.derived(await self._off_the_loop(partial(_derive, step)))
                continue
            request = SaslAuthenticateRequest(auth_bytes=step.data)
            response = await connection.exchange(request, version, deadline=deadline)
            if response.error_code:
                said = shown(_without(secret, response.error_message or ""))
                raise for_code(response.error_code, said, where=connection.peer)
            lifetime = max(0, response.session_lifetime_ms) / 1000
            step = _step(connection, partial(exchange.receive, response.auth_bytes))
        return lifetime

    async def _off_the_loop(self, work: Callable[[], T]) -> T:
        return await self._loop.run_in_executor(None, work)

    async def _exchange(self, host: str, deadline: float) -> tuple[Exchange, Secret]:
        """The exchange, and what of it nobody else may see."""
        config = self._config
        match config.sasl_mechanism:
            case "OAUTHBEARER":
                assert self._tokens is not None
                # A little less than there is, so that it is said why no token came.
                now = self._loop.time()
                token = await self._tokens.token(deadline=now + 0.9 * (deadline - now))
                bearer = OAuthBearer(token.value, config.sasl_oauthbearer_extensions)
                return bearer, Secret(token.value)
            case "GSSAPI":
                from kafka_aio.net import kerberos  # an extra

                context = await self._off_the_loop(lambda: kerberos.context(config, host))
                return Gssapi(context), Secret("")
            case mechanism:
                username, password = config.sasl_username, config.sasl_password
                assert username is not None
                assert password is not None
                if mechanism == "PLAIN":
                    return Plain(username, password), Secret(password)
                nonce = f"{self._rng.getrandbits(192):048x}"
                is_token = config.sasl_scram_tokenauth
                scram = Scram(mechanism, username, password, nonce, tokenauth=is_token)
                return scram, Secret(password)


def _step(connection: Connection, step: Callable[[], Step]) -> Step:
    """A step of an exchange; what it refuses names the broker."""
    try:
        return step()
    except (AuthenticationError, ProtocolError) as error:
        raise type(error)(f"{connection.peer}: {error}") from error


def _without(secret: Secret, text: str) -> str:
    """A broker that says the password or the token back must not bring it into a log."""
    return text.replace(secret.reveal(), "[hidden]") if secret else text


def _derive(step: Derive) -> bytes:
    return hashlib.pbkdf2_hmac(step.hash_name, step.password, step.salt, step.iterations)
