from __future__ import annotations

import base64

import pytest

from kafka_aio.broker.security.tokens import ValidToken, validate
from tests.unit.broker.clusters import WALL_MS
from tests.unit.broker.logins import WALL, claims, token

NONE = {"alg": "none"}
GOOD = {"sub": "alice", "exp": WALL + 1}


def unsecured(given: str) -> ValidToken | None:
    return validate("unsecured", given, wall_ms=WALL_MS)


def test_unless_somebody_says_how_tokens_are_checked_every_one_is_refused() -> None:
    assert validate(None, claims(), wall_ms=WALL_MS) is None


def test_a_function_decides_about_tokens() -> None:
    known = {"opaque": ValidToken("alice", 17.5)}

    assert validate(known.get, "opaque", wall_ms=WALL_MS) == ValidToken("alice", 17.5)
    assert validate(known.get, claims(), wall_ms=WALL_MS) is None


@pytest.mark.parametrize(
    "said",
    [
        GOOD,
        {**GOOD, "iat": WALL},
        {**GOOD, "iat": WALL - 0.5},
        {**GOOD, "nbf": WALL + 10},  # which Kafka ignores
        {**GOOD, "scope": ["a"]},
    ],
)
def test_an_unsecured_token_is_taken_at_its_word(said: dict[str, object]) -> None:
    assert unsecured(token(NONE, said)) == ValidToken("alice", WALL + 1)


@pytest.mark.parametrize(
    "said",
    [
        {"exp": WALL + 1},
        {"sub": "alice"},
        {**GOOD, "sub": ""},
        {**GOOD, "sub": " "},
        {**GOOD, "sub": 5},
        {**GOOD, "exp": WALL},
        {**GOOD, "exp": WALL - 1},
        {**GOOD, "exp": str(WALL + 1)},
        {**GOOD, "exp": True},
        {**GOOD, "exp": float("nan")},
        {**GOOD, "exp": float("inf")},
        {**GOOD, "exp": 10**400},
        {**GOOD, "iat": WALL + 0.5},
        {**GOOD, "iat": "now"},
        {**GOOD, "iat": True},
        {**GOOD, "iat": None},
    ],
)
def test_one_that_says_too_little_or_is_out_of_its_time_is_refused(
    said: dict[str, object],
) -> None:
    assert unsecured(token(NONE, said)) is None


@pytest.mark.parametrize("header", [{}, {"alg": "None"}, {"alg": "RS256"}, {"alg": None}])
def test_one_that_pretends_to_be_signed_is_refused(header: dict[str, object]) -> None:
    assert unsecured(token(header, GOOD)) is None


@pytest.mark.parametrize(
    "text",
    [
        "",
        ".",
        "..",
        "garbage",
        token(NONE, GOOD, signature="c2ln"),
        token(NONE, GOOD).removesuffix("."),
        token(NONE, GOOD) + ".",
        "!!." + token(NONE, GOOD).partition(".")[2],
        ".".join(base64.urlsafe_b64encode(part).decode() for part in (b"[]", b"[]")) + ".",
        ".".join(base64.urlsafe_b64encode(part).decode() for part in (b"\xff", b"{}")) + ".",
        base64.urlsafe_b64encode(b"[" * 100_000).decode() + ".e30.",
    ],
)
def test_what_is_no_token_is_refused(text: str) -> None:
    assert unsecured(text) is None
