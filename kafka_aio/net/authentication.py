"""Proving who we are on a connection: SASL, as the configuration asks for it (KIP-43, KIP-368)."""

from __future__ import annotations

import asyncio
import hashlib
import logging
import random
import re
from base64 import b64encode, urlsafe_b64encode
from collections.abc import Callable
from functools import partial
from math import inf
from typing import Final, TypeVar

from kafka_aio.config import ClientConfig
from kafka_aio.config.option import Secret
from kafka_aio.errors import (
    AuthenticationError,
    IllegalSaslState,
    KafkaError,
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

_LEAST_PAUSE: Final = 1.0
_PAUSE_PART: Final = 0.1
"""Until the next attempt to have a token: that part of what is left of the session, or more."""

_LEAST_SECRET: Final = 2
"""Shorter bytes are not hidden among those sent: OAUTHBEARER has one that only says "I know"."""

logger = logging.getLogger(__name__)


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
        """Authenticate on a connection that nobody else uses meanwhile, and set when it ends.

        Raises:
            AuthenticationError: The broker refuses us, or could not prove itself.
            KafkaTimeoutError, KafkaConnectionError, ProtocolError: As `Connection.send`.
        """
        exchange, hidden = await self._exchange(connection.host, deadline)
        await self._shake_hands(connection, exchange.mechanism, deadline)
        begun_at = self._loop.time()
        lifetime = await self._run(connection, exchange, hidden, deadline)
        share = _RENEW_FROM + (_RENEW_UNTIL - _RENEW_FROM) * self._rng.random()
        renew_in = max(_RENEW_NOT_BEFORE, lifetime * share)
        connection.renew_at = begun_at + renew_in if lifetime else inf
        connection.session_ends_at = begun_at + lifetime if lifetime else inf

    async def renew(self, connection: Connection, *, timeout: float) -> None:
        """Authenticate anew on a connection in use; or put it off, and say so in `renew_at`.

        Where a token or a ticket cannot be had, nothing was sent, and the session has its time.

        Args:
            connection: Which.
            timeout: How long it may take to have a token; and after that, as soon as what was sent
                before is answered, to authenticate.

        Raises:
            KafkaError: It did not succeed, or the session has ended before it could begin.
        """
        try:
            # A token or a ticket may have to be fetched, and the others need not wait meanwhile.
            # It is asked for again when it is used: minutes may pass until then.
            await self._exchange(connection.host, self._loop.time() + timeout)
        except KafkaError as error:
            now = self._loop.time()
            left = connection.session_ends_at - now
            if left <= 0:
                raise
            again_at = now + max(_LEAST_PAUSE, _PAUSE_PART * left)
            connection.renew_at = min(again_at, connection.session_ends_at)
            logger.warning("%s: re-authentication is put off: %s", connection.peer, error)
            return
        async with connection.exclusive():
            await self.authenticate(connection, deadline=self._loop.time() + timeout)
        logger.debug("authenticated anew with %s", connection.peer)

    async def _shake_hands(self, connection: Connection, mechanism: str, deadline: float) -> None:
        request = SaslHandshakeRequest(mechanism=mechanism)
        version = connection.version_of(SaslHandshakeRequest)
        response = await connection.exchange(request, version, deadline=deadline)
        if response.error_code == UnsupportedSaslMechanism.code:
            offered = ", ".join(map(shown, response.mechanisms[:10])) or "none"
            said = f"it offers {offered}"
            raise UnsupportedSaslMechanism(said, where=f"{connection.peer}, {mechanism}")
        if not response.error_code:
            return
        error = for_code(response.error_code, where=connection.peer)
        if isinstance(error, IllegalSaslState) and connection.session_ends_at == inf:
            protocol = self._config.security_protocol
            text = f"this listener does not want SASL, but security_protocol is {protocol!r}"
            raise AuthenticationError(f"{connection.peer}: {text}") from error
        raise error

    async def _run(
        self, connection: Connection, exchange: Exchange, hidden: Hidden, deadline: float
    ) -> float:
        """Play the exchange to its end. The life of the session in seconds; 0 is no end."""
        lifetime = 0.0
        version = connection.version_of(SaslAuthenticateRequest)
        step = _step(connection, hidden, exchange.start)
        while not isinstance(step, Done):
            if isinstance(step, Derive):
                step = exchange.derived(await self._off_the_loop(partial(_derive, step)))
                continue
            hidden.add(step.data)
            request = SaslAuthenticateRequest(auth_bytes=step.data)
            response = await connection.exchange(request, version, deadline=deadline)
            if response.error_code:
                said = shown(hidden.taken_from(response.error_message or ""))
                raise for_code(response.error_code, said, where=connection.peer)
            lifetime = max(0, response.session_lifetime_ms) / 1000
            step = _step(connection, hidden, partial(exchange.receive, response.auth_bytes))
        return lifetime

    async def _off_the_loop(self, work: Callable[[], T]) -> T:
        return await self._loop.run_in_executor(None, work)

    async def _exchange(self, host: str, deadline: float) -> tuple[Exchange, Hidden]:
        """The exchange, and what of it nobody else may see."""
        config = self._config
        match config.sasl_mechanism:
            case "OAUTHBEARER":
                assert self._tokens is not None
                # A little less than there is, so that it is said why no token came.
                now = self._loop.time()
                token = await self._tokens.token(deadline=now + 0.9 * (deadline - now))
                bearer = OAuthBearer(token.value, config.sasl_oauthbearer_extensions)
                return bearer, Hidden(token.value)
            case "GSSAPI":
                from kafka_aio.net import kerberos  # an extra

                context = await self._off_the_loop(lambda: kerberos.context(config, host))
                return Gssapi(context), Hidden()
            case mechanism:
                username, password = config.sasl_username, config.sasl_password
                assert username is not None
                assert password is not None
                if mechanism == "PLAIN":
                    return Plain(username, password), Hidden(password)
                nonce = f"{self._rng.getrandbits(192):048x}"
                is_token = config.sasl_scram_tokenauth
                scram = Scram(mechanism, username, password, nonce, tokenauth=is_token)
                return scram, Hidden(password)


class Hidden:
    """What of an exchange may not get into a log, in whatever form a broker says it back."""

    __slots__ = ("_forms",)

    def __init__(self, secret: str = "") -> None:
        self._forms: set[str] = set()
        if secret:
            self._hide(Secret(secret).encode())

    def add(self, sent: bytes) -> None:
        """Hide what is sent, too."""
        if len(sent) >= _LEAST_SECRET:
            self._hide(sent)

    def taken_from(self, text: str) -> str:
        """The text without all of it."""
        if not self._forms:
            return text
        longest_first = sorted(self._forms, key=len, reverse=True)
        return re.sub("|".join(map(re.escape, longest_first)), "[hidden]", text, flags=re.I)

    def _hide(self, data: bytes) -> None:
        self._forms.add(data.decode(errors="replace"))
        self._forms.add(data.hex())
        for encode in (b64encode, urlsafe_b64encode):
            self._forms.add(encode(data).decode().rstrip("="))


def _step(connection: Connection, hidden: Hidden, step: Callable[[], Step]) -> Step:
    """A step of an exchange; what it refuses names the broker."""
    try:
        return step()
    except (AuthenticationError, ProtocolError) as error:
        # Not from the error itself: a traceback would show what it says.
        text = f"{connection.peer}: {hidden.taken_from(str(error))}"
        raise type(error)(text) from error.__cause__


def _derive(step: Derive) -> bytes:
    return hashlib.pbkdf2_hmac(step.hash_name, step.password, step.salt, step.iterations)
