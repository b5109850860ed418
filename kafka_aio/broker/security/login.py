"""What a connection has to go through on a listener with SASL: log in, and again in time. Pure.

| stage | what is taken | which leads to |
|---|---|---|
| new | ApiVersions, SaslHandshake | told, talking |
| told | SaslHandshake | talking |
| talking | SaslAuthenticate, or bare tokens after SaslHandshake 0 | talking, served |
| served | all; SaslHandshake if the session has an end (KIP-368) | talking, astray |
| astray | nothing: the mechanism was another one than before | - |
| failed | nothing | - |

Whatever else comes ends the connection; so does the first request after the end of the session.
"""

from __future__ import annotations

import re
from enum import Enum
from math import inf
from typing import TYPE_CHECKING, Any, Final

from kafka_aio.broker.security.sasl import Proven, Talk, begin
from kafka_aio.broker.security.tokens import ValidToken, validate
from kafka_aio.errors import IllegalSaslState, SaslAuthenticationFailed, UnsupportedSaslMechanism
from kafka_aio.protocol.messages.api_versions import ApiVersionsRequest
from kafka_aio.protocol.messages.sasl import SaslAuthenticateRequest, SaslHandshakeRequest
from kafka_aio.protocol.schema import schema_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from kafka_aio.broker.call import Call
    from kafka_aio.broker.security.users import Users
    from kafka_aio.broker.settings import Settings
    from kafka_aio.protocol.schema import Request

_NONCE_BYTES: Final = 18
_LEAST_PAUSE: Final = 1.0
"""Between the beginnings of two re-authentications."""


class Stage(Enum):
    """Where a log-in is."""

    NEW = "new"
    TOLD = "told"
    TALKING = "talking"
    SERVED = "served"
    ASTRAY = "astray"
    FAILED = "failed"


_TAKEN: Final[dict[Stage, tuple[type, ...]]] = {
    Stage.NEW: (ApiVersionsRequest, SaslHandshakeRequest),
    Stage.TOLD: (SaslHandshakeRequest,),
    Stage.ASTRAY: (),
    Stage.FAILED: (),
}


class Login:
    """Who is at the other end of a connection, and how far they are in proving it.

    Attributes:
        principal: Who it is; empty before the first log-in has ended.
        session_ends_at: When the next one must have begun, in time of the loop.
        session_lifetime_ms: The same as the client is told: 0 if it has no end, or no session.
    """

    def __init__(
        self, users: Users, settings: Settings, *, randbytes: Callable[[int], bytes]
    ) -> None:
        """Take who may log in.

        Args:
            users: And by which mechanisms.
            settings: Where the longest session is found.
            randbytes: Where nonces come from.
        """
        self.principal = ""
        self.session_ends_at = inf
        self.session_lifetime_ms = 0
        self._users = users
        self._settings = settings
        self._randbytes = randbytes
        self._stage = Stage.NEW
        self._mechanism = ""
        self._talk: Talk | None = None
        self._is_bare = False
        self._wall_ms = 0
        self._renewed_at = -inf

    def __repr__(self) -> str:
        return f"<Login {self._stage.value} {self.principal or 'of nobody'}>"

    @property
    def is_authenticated(self) -> bool:
        """Whether it is known who it is."""
        return bool(self.principal)

    @property
    def is_served(self) -> bool:
        """Whether it is known, and no exchange is under way."""
        return self._stage is Stage.SERVED

    @property
    def wants_tokens(self) -> bool:
        """Whether the next frame is a bare token of SASL: no header, no request."""
        return self._is_bare and self._stage is Stage.TALKING

    def check(self, kind: type[Request[Any]], *, now: float) -> None:
        """Whether a request may be read at all: before the log-in, as little as possible is.

        Raises:
            IllegalSaslState: It may not; the connection must end without an answer.
        """
        if self._stage is Stage.TALKING:
            return
        if self._stage is Stage.SERVED:
            is_renewal = kind is SaslHandshakeRequest and self._may_renew(now)
            if now > self.session_ends_at and not is_renewal:
                raise IllegalSaslState(f"the session of {self.principal} has ended")
        elif kind not in _TAKEN[self._stage]:
            raise IllegalSaslState(f"{kind.__name__} while the log-in is {self._stage.value}")

    def admits(self, call: Call) -> bool:
        """Whether a request is to be answered. If not, it has been refused.

        Raises:
            IllegalSaslState: As `check`.
        """
        request = call.request
        kind = type(request)
        self.check(kind, now=call.now)
        if self._stage is Stage.SERVED and isinstance(request, SaslHandshakeRequest):
            self._check_renewal(request.mechanism, now=call.now)
        if self._stage is not Stage.TALKING or kind is SaslAuthenticateRequest:
            return True
        self._stage = Stage.FAILED
        call.peer.must_close = True
        api = re.sub(r"(?<=.)(?=[A-Z])", "_", schema_of(kind).api).upper()
        call.refuse(
            IllegalSaslState(f"Unexpected Kafka request of type {api} during SASL authentication.")
        )
        return False

    def versions_told(self) -> None:
        """The client has been told what we speak; it may ask once."""
        if self._stage is Stage.NEW:
            self._stage = Stage.TOLD

    def shake_hands(self, mechanism: str, *, version: int, now: float) -> None:
        """Begin an exchange.

        Raises:
            UnsupportedSaslMechanism: It is not enabled; the log-in has failed.
            IllegalSaslState: They are served already, and it is not the time to renew that.
        """
        if self._stage is Stage.SERVED:
            if not self._may_renew(now):
                raise IllegalSaslState()
            self._renewed_at = now
        if mechanism not in self._users.mechanisms:
            self._stage = Stage.FAILED
            raise UnsupportedSaslMechanism()
        if self._mechanism not in ("", mechanism):
            # Kafka agrees, and closes the connection at whatever comes next.
            self._stage = Stage.ASTRAY
            return
        self._mechanism = mechanism
        self._is_bare = version == 0
        nonce = self._randbytes(_NONCE_BYTES).hex()
        self._talk = begin(mechanism, self._users, nonce=nonce, validate=self._validate)
        self._stage = Stage.TALKING
        self.session_lifetime_ms = 0

    def step(self, token: bytes, *, now: float, wall_ms: int) -> bytes:
        """The answer to what the client says in an exchange.

        Raises:
            SaslAuthenticationFailed: In the words that the client is told.
        """
        assert self._talk is not None, "`admits` lets no token pass before the handshake"
        self._wall_ms = wall_ms
        try:
            return self._talk.send(token)
        except StopIteration as end:
            proven: Proven = end.value
        except SaslAuthenticationFailed as error:
            self._stage = Stage.FAILED
            # Kafka does not say whether the user exists, or the password is wrong.
            doing = "re-authentication" if self.is_authenticated else "authentication"
            text = error.message or (
                f"Authentication failed during {doing} due to invalid credentials with SASL"
                f" mechanism {self._mechanism}"
            )
            raise SaslAuthenticationFailed(text) from None
        self._finish(proven, now=now)
        return proven.answer

    def _finish(self, proven: Proven, *, now: float) -> None:
        self._talk = None
        principal = f"User:{proven.user}"
        if self.principal not in ("", principal):
            self._stage = Stage.FAILED
            before, after = self.principal.replace(":", ".", 1), principal.replace(":", ".", 1)
            raise SaslAuthenticationFailed(
                f"Cannot change principals during re-authentication from {before}: {after}"
            )
        self.principal = principal
        self._stage = Stage.SERVED
        limits = []
        if self._settings.connections_max_reauth_ms > 0:
            limits.append(self._settings.connections_max_reauth_ms)
        if proven.expires_at is not None:
            limits.append(max(0, round(proven.expires_at * 1000) - self._wall_ms))
        self.session_lifetime_ms = min(limits, default=0)
        self.session_ends_at = now + self.session_lifetime_ms / 1000 if limits else inf

    def _check_renewal(self, mechanism: str, *, now: float) -> None:
        """Unlike at the first log-in, Kafka does not say that a mechanism is not enabled."""
        if self._may_renew(now) and mechanism not in self._users.mechanisms:
            self._stage = Stage.FAILED
            raise IllegalSaslState("a re-authentication by a mechanism that is not enabled")

    def _may_renew(self, now: float) -> bool:
        return self.session_ends_at < inf and now - self._renewed_at >= _LEAST_PAUSE

    def _validate(self, token: str) -> ValidToken | None:
        return validate(self._users.tokens, token, wall_ms=self._wall_ms)
