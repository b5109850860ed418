"""OAUTHBEARER (RFC 7628, KIP-255, KIP-342): a token that somebody else has signed. Pure.

    we      n,, 01 auth=Bearer token 01 name=value 01 01     01 is a byte of that value
    broker  nothing                                          the token is good
       or   {"status":"invalid_token"}                       it is not
    we      01
    broker  error 58 (SASL_AUTHENTICATION_FAILED)

The first answer has error code 0 in both cases: a client that looks at the code alone takes a
refused token for a good one.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from typing import Final

from kafka_aio.config.option import Secret
from kafka_aio.errors import AuthenticationError, ConfigError
from kafka_aio.protocol.sasl.exchange import Exchange, Send, Talk, shown

MAX_REFUSAL: Final = 65_536
"""A longer answer is not read."""

_TOKEN: Final = re.compile(r"[A-Za-z0-9._~+/-]+=*")  # b64token of RFC 6750
_NAME: Final = re.compile(r"(?!auth\Z)[A-Za-z]+")
_VALUE: Final = re.compile(r"[!-~ \t\r\n]+")


class OAuthBearer(Exchange):
    """Shows a token; whether it is good, the broker finds out without us."""

    __slots__ = ()

    def __init__(self, token: str, extensions: Iterable[tuple[str, str]] = ()) -> None:
        """Take the token, and names and values to send with it.

        Raises:
            AuthenticationError: The token has a character that no bearer token has.
            ConfigError: The name or the value of an extension cannot be sent, or a name is twice.
        """
        token, pairs = Secret(token), tuple(extensions)
        super().__init__("OAUTHBEARER", _talk(token, pairs))
        if not _TOKEN.fullmatch(token):
            raise AuthenticationError(
                "OAUTHBEARER: the token is empty or has a character that no bearer token has"
                " (RFC 6750): give it as it was issued, without 'Bearer' and line breaks"
            )
        _check_extensions(pairs)


def _talk(token: Secret, extensions: tuple[tuple[str, str], ...]) -> Talk:
    pairs = b"".join(f"{name}={value}\x01".encode() for name, value in extensions)
    refusal = yield Send(b"n,,\x01auth=Bearer " + token.encode() + b"\x01" + pairs + b"\x01")
    if not refusal:
        return
    # By this byte the broker knows that we have read it; it then refuses with a code, as a rule.
    yield Send(b"\x01")
    raise AuthenticationError(
        f"OAUTHBEARER: the broker refuses the token{_reason(refusal, token)}: see whether it has"
        " expired, and whether issuer and audience are those that the broker expects"
    )


def _check_extensions(pairs: tuple[tuple[str, str], ...]) -> None:
    names = [name for name, _ in pairs]
    for name, value in pairs:
        if not _NAME.fullmatch(name):
            raise ConfigError(
                f"the name of a SASL extension is of the letters a-z and A-Z, and not 'auth': not"
                f" {shown(name)!r}"
            )
        if not _VALUE.fullmatch(value):
            raise ConfigError(
                f"the value of the SASL extension {shown(name)} is empty, or not all of it is"
                " printable ASCII"
            )
        if names.count(name) > 1:
            raise ConfigError(f"the SASL extension {shown(name)} is given twice")


def _reason(refusal: bytes, token: Secret) -> str:
    """What the broker says about its refusal, of the fields that RFC 7628 has for it."""
    if len(refusal) > MAX_REFUSAL:
        return f", with {len(refusal):,} bytes that were not read"
    try:
        answer = json.loads(refusal.decode())
    except (ValueError, RecursionError):
        return ""
    if not isinstance(answer, dict):
        return ""
    said = [
        # A broker that sends the token back must not bring it into a log.
        f"{name} {shown(value.replace(token.reveal(), '[hidden]'))!r}"
        for name in ("status", "scope")
        if isinstance(value := answer.get(name), str)
    ]
    return f" ({', '.join(said)})" if said else ""
