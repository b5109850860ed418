"""Bearer tokens as a broker sees them: who checks them, and the unsecured ones of tests. Pure."""

from __future__ import annotations

import json
from base64 import urlsafe_b64decode
from collections.abc import Callable
from typing import Final, Literal, NamedTuple, TypeAlias


class ValidToken(NamedTuple):
    """What a good token says."""

    subject: str
    """Whose it is: the principal is `User:` and this."""
    expires_at: float | None = None
    """Its end in seconds since 1970, by which the session ends too; None if it has none."""


TokenValidator: TypeAlias = Callable[[str], ValidToken | None]
"""Takes the token as it came; None refuses it."""

Tokens: TypeAlias = TokenValidator | Literal["unsecured"] | None
"""Who checks tokens: a validator, nobody but for their form and times, or none is accepted."""

_END_OF_TIME: Final = 1e15


def validate(tokens: Tokens, token: str, *, wall_ms: int) -> ValidToken | None:
    """What a token says, or None if it is refused."""
    if tokens is None:
        return None
    if tokens == "unsecured":
        return _read_unsecured(token, wall_ms / 1000)
    return tokens(token)


def _read_unsecured(token: str, wall: float) -> ValidToken | None:
    """A JWT that nobody has signed, with the checks of Kafka's own validator of such tokens."""
    parts = token.split(".")
    if len(parts) != 3 or parts[2]:
        return None
    header, claims = map(_read_part, parts[:2])
    subject = claims.get("sub")
    if header.get("alg") != "none" or not isinstance(subject, str) or not subject.strip():
        return None
    issued_at, expires_at = _time(claims.get("iat", 0)), _time(claims.get("exp"))
    if issued_at is None or expires_at is None:
        return None
    if not issued_at <= wall < expires_at:
        return None
    return ValidToken(subject, expires_at)


def _read_part(part: str) -> dict[str, object]:
    try:
        read = json.loads(urlsafe_b64decode(part + "=" * (-len(part) % 4)))
    except (ValueError, RecursionError):  # not base64, not UTF-8, not JSON
        return {}
    return read if isinstance(read, dict) else {}


def _time(claim: object) -> float | None:
    """Seconds since 1970, if it is that: JSON has numbers that no float can hold, and NaN."""
    if not isinstance(claim, int | float) or isinstance(claim, bool):
        return None
    return float(claim) if abs(claim) < _END_OF_TIME else None
