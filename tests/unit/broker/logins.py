"""Clients that log in to a cluster without sockets: our own side of SASL against the broker's."""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping
from random import Random
from typing import TYPE_CHECKING, Any

from kafka_aio.broker.call import Call, Peer
from kafka_aio.broker.core import Core
from kafka_aio.broker.security.login import Login
from kafka_aio.broker.security.tokens import Tokens
from kafka_aio.broker.security.users import MECHANISMS
from kafka_aio.protocol.codec import decode, encode
from kafka_aio.protocol.messages.sasl import (
    SaslAuthenticateRequest,
    SaslAuthenticateResponse,
    SaslHandshakeRequest,
    SaslHandshakeResponse,
)
from kafka_aio.protocol.sasl import Derive, Done, Exchange, OAuthBearer, Plain, Scram, Send
from kafka_aio.protocol.schema import Request, schema_of
from tests.unit.broker import clusters
from tests.unit.protocol.sasl_broker import derive

if TYPE_CHECKING:
    from kafka_aio.broker.state import State

WALL = clusters.WALL_MS / 1000
USERS = {"alice": "alice-secret", "admin": "admin-secret"}


def secured(*mechanisms: str, tokens: Tokens = "unsecured", **settings: Any) -> State:
    """A cluster in which the users of `USERS` have to log in."""
    state = clusters.made(**settings)
    state.users.enable(mechanisms or MECHANISMS, tokens=tokens)
    state.users.add(USERS, randbytes=Random(1).randbytes)
    return state


def claims(subject: object = "alice", *, lifetime: float = 300, **more: object) -> str:
    """An unsecured token; without an `iat`."""
    said = {"sub": subject, "exp": WALL + lifetime, **more}
    return token({"alg": "none"}, said)


def token(header: Mapping[str, object], said: Mapping[str, object], signature: str = "") -> str:
    parts = [json.dumps(part).encode() for part in (header, said)]
    texts = [base64.urlsafe_b64encode(part).decode().rstrip("=") for part in parts]
    return ".".join((*texts, signature))


def exchange(mechanism: str, user: str = "alice", password: str | None = None) -> Exchange:
    """The client's side; by default with what is good."""
    if mechanism == "OAUTHBEARER":
        return OAuthBearer(password or claims(user))
    password = password or USERS[user]
    if mechanism == "PLAIN":
        return Plain(user, password)
    return Scram(mechanism, user, password, "ours")


class Client:
    """A connection to the first node, gated as the server does it. None is "no answer"."""

    def __init__(self, state: State) -> None:
        self.state = state
        login = Login(state.users, state.settings, randbytes=state.rng.randbytes)
        self.login = login
        self.peer = Peer(login=login)

    def ask(self, request: Request[Any], *, version: int | None = None, now: float = 0.0) -> Any:
        """The answer; what ends the connection without one is raised."""
        kind = type(request)
        version = schema_of(kind).stable_versions[1] if version is None else version
        call = Call(
            state=self.state,
            request=decode(kind, encode(request, version), version),
            version=version,
            node=1,
            now=now,
            wall_ms=clusters.WALL_MS + int(now * 1000),
            peer=self.peer,
        )
        self.login.check(kind, now=now)
        if self.login.admits(call):
            Core(self.state).receive(call)
        return clusters.answer_to(self.state, call)

    def shake_hands(
        self, mechanism: str, *, version: int = 1, now: float = 0.0
    ) -> SaslHandshakeResponse:
        answer = self.ask(SaslHandshakeRequest(mechanism=mechanism), version=version, now=now)
        assert isinstance(answer, SaslHandshakeResponse)
        return answer

    def authenticate(
        self, token: bytes, *, version: int = 2, now: float = 0.0
    ) -> SaslAuthenticateResponse:
        answer = self.ask(SaslAuthenticateRequest(auth_bytes=token), version=version, now=now)
        assert isinstance(answer, SaslAuthenticateResponse)
        return answer

    def log_in(
        self, mechanism: str, exchange: Exchange, *, now: float = 0.0
    ) -> SaslAuthenticateResponse:
        """Play an exchange to its end; the last answer."""
        assert self.shake_hands(mechanism, now=now).error_code == 0
        step = exchange.start()
        while True:
            assert isinstance(step, Send)
            answer = self.authenticate(step.data, now=now)
            if answer.error_code:
                return answer
            step = exchange.receive(answer.auth_bytes)
            if isinstance(step, Derive):
                step = exchange.derived(derive(step))
            if isinstance(step, Done):
                return answer
