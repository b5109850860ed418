"""SaslHandshake and SaslAuthenticate: the steps of a log-in. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kafka_aio.errors import BrokerError, IllegalSaslState
from kafka_aio.protocol.messages.sasl import (
    SaslAuthenticateRequest,
    SaslAuthenticateResponse,
    SaslHandshakeRequest,
    SaslHandshakeResponse,
)

if TYPE_CHECKING:
    from kafka_aio.broker.call import Call, Peer
    from kafka_aio.broker.security.login import Login


def handshake(request: SaslHandshakeRequest, call: Call) -> SaslHandshakeResponse:
    """Begin to log in, or to do so again; a mechanism that is not enabled ends the connection."""
    login = call.peer.login
    mechanisms = [] if login is None else list(call.state.users.mechanisms)
    try:
        call.check_faults()
        if login is None:
            raise IllegalSaslState()
        login.shake_hands(request.mechanism, version=call.version, now=call.now)
    except IllegalSaslState as error:
        return SaslHandshakeResponse(error_code=error.code, mechanisms=[])
    except BrokerError as error:
        call.peer.must_close = True
        return SaslHandshakeResponse(error_code=error.code, mechanisms=mechanisms)
    return SaslHandshakeResponse(error_code=0, mechanisms=mechanisms)


def authenticate(request: SaslAuthenticateRequest, call: Call) -> SaslAuthenticateResponse:
    """One step of a log-in; one that fails ends the connection."""
    login = call.peer.login
    if login is None or login.is_served:
        return _refused(
            IllegalSaslState("SaslAuthenticate request received after successful authentication")
        )
    try:
        call.check_faults()
        answer = _step(login, call.peer, request.auth_bytes, now=call.now, wall_ms=call.wall_ms)
    except BrokerError as error:
        call.peer.must_close = True
        return _refused(error)
    return SaslAuthenticateResponse(
        error_code=0,
        error_message="",
        auth_bytes=answer,
        session_lifetime_ms=login.session_lifetime_ms,
    )


def bare_token(token: bytes, peer: Peer, *, now: float, wall_ms: int) -> bytes:
    """One step of a log-in that SaslHandshake 0 has begun: a frame without a header, both ways.

    Raises:
        BrokerError: It has failed, and the connection must end without a word.
    """
    assert peer.login is not None, "it wants tokens"
    return _step(peer.login, peer, token, now=now, wall_ms=wall_ms)


def _step(login: Login, peer: Peer, token: bytes, *, now: float, wall_ms: int) -> bytes:
    answer = login.step(token, now=now, wall_ms=wall_ms)
    if login.is_served:
        peer.principal = login.principal
    return answer


def _refused(error: BrokerError) -> SaslAuthenticateResponse:
    return SaslAuthenticateResponse(
        error_code=error.code, error_message=error.message or None, auth_bytes=b""
    )
