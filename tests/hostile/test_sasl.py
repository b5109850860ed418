"""Brokers that do not play by the rules of SASL, and one that would like to know the password."""

from __future__ import annotations

import asyncio
import json
import re
import struct
from collections.abc import Callable
from typing import Any, NamedTuple

import pytest

from kafka_aio.errors import (
    AuthenticationError,
    KafkaConnectionError,
    KafkaError,
    ProtocolError,
    SaslAuthenticationFailed,
    UnsupportedSaslMechanism,
)
from kafka_aio.protocol.messages.sasl import (
    SaslAuthenticateRequest,
    SaslAuthenticateResponse,
    SaslHandshakeRequest,
)
from kafka_aio.protocol.wire import LIMIT_BEFORE_AUTHENTICATION
from kafka_aio.types import BearerToken
from tests.hostile.attacks import (
    QUICK_TO_GIVE_UP,
    SLACK,
    START_SECONDS,
    answers,
    first,
    outcome_of,
    promises,
    works,
)
from tests.net.clusters import UNHURRIED, joined, made, scripted
from tests.net.server import (
    PATIENCE,
    Asked,
    Reaction,
    authenticated,
    closes,
    says,
    says_nothing,
    scram,
)
from tests.unit.protocol.sasl_broker import ScramBroker

SECRET = "alice-secret"
TOKEN = "header.payload.signature"
NAME, MECHANISM = "alice", "SCRAM-SHA-256"
LOGIN = {"security_protocol": "SASL_PLAINTEXT", "sasl_username": NAME, "sasl_password": SECRET}
PLAIN: dict[str, Any] = {**QUICK_TO_GIVE_UP, **LOGIN, "sasl_mechanism": "PLAIN"}
SCRAM: dict[str, Any] = {**QUICK_TO_GIVE_UP, **LOGIN, "sasl_mechanism": MECHANISM}


async def token() -> BearerToken:
    return BearerToken(TOKEN)


BEARER: dict[str, Any] = {
    **QUICK_TO_GIVE_UP,
    "security_protocol": "SASL_PLAINTEXT",
    "sasl_mechanism": "OAUTHBEARER",
    "sasl_oauthbearer_token_provider": token,
}

Words = Callable[[bytes], bytes]


def as_it_is(message: bytes) -> bytes:
    return message


def words(pattern: str, instead: str) -> Words:
    """Other words in the place of some; there must be some."""

    def replace(message: bytes) -> bytes:
        replaced, count = re.subn(pattern.encode(), instead.encode(), message)
        assert count
        return replaced

    return replace


def nothing_but(message: bytes) -> Words:
    return lambda _: message


class Lie(NamedTuple):
    """What becomes of the two messages of an honest broker, and what we say to that."""

    kind: type[KafkaError]
    first: Words = as_it_is
    final: Words = as_it_is

    def reaction(self) -> Reaction:
        honest = ScramBroker(MECHANISM, NAME, SECRET)

        def react(asked: Asked) -> None:
            said = asked.message.auth_bytes
            if said.startswith(b"n,,"):
                answer = self.first(honest.first(said))
            else:
                answer = self.final(honest.final(said))
            asked.answer(authenticated(answer))

        return react


NOT_PROVEN, NOT_SCRAM = AuthenticationError, ProtocolError
LIES = {
    "a nonce that is not ours": Lie(NOT_PROVEN, first=words("r=.", "r=#")),
    "our nonce and nothing of its own": Lie(NOT_PROVEN, first=words("theirs", "")),
    "a shorter nonce than ours": Lie(NOT_PROVEN, first=words("r=([^,]{9})[^,]+", r"r=\1")),
    "no nonce": Lie(NOT_SCRAM, first=words("r=[^,]+", "r=")),
    "1 iteration": Lie(NOT_PROVEN, first=words("i=.*", "i=1")),
    "no iterations": Lie(NOT_PROVEN, first=words("i=.*", "i=0")),
    "4,095 iterations": Lie(NOT_PROVEN, first=words("i=.*", "i=4095")),
    "2^31-1 iterations": Lie(NOT_PROVEN, first=words("i=.*", "i=2147483647")),
    "iterations of 3,000 digits": Lie(NOT_PROVEN, first=words("i=.*", f"i={'9' * 3_000}")),
    "iterations below zero": Lie(NOT_SCRAM, first=words("i=.*", "i=-4096")),
    "an empty salt": Lie(NOT_SCRAM, first=words("s=[^,]+", "s=")),
    "a salt of 2,000 bytes": Lie(NOT_SCRAM, first=words("s=[^,]+", f"s={'abcd' * 667}")),
    "a salt that is not base64": Lie(NOT_SCRAM, first=words("s=[^,]+", "s=!")),
    "another salt": Lie(NOT_PROVEN, first=words("s=[^,]+", "s=YWJjZA==")),
    "an extension that we must know, in front": Lie(NOT_PROVEN, first=words("^", "m=x,")),
    "an extension that we must know, at the end": Lie(NOT_PROVEN, first=words("$", ",m=x")),
    "an error first": Lie(NOT_PROVEN, first=nothing_but(b"e=other-error")),
    "nothing first": Lie(NOT_SCRAM, first=nothing_but(b"")),
    "noise first": Lie(NOT_SCRAM, first=nothing_but(bytes(range(256)))),
    "a first message of 400 KB": Lie(NOT_SCRAM, first=words("$", f",x={'a' * 400_000}")),
    "its signature first": Lie(NOT_SCRAM, first=nothing_but(b"v=YWJjZA==")),
    "another signature": Lie(NOT_PROVEN, final=words("v=..", "v=ab")),
    "half of its signature": Lie(NOT_PROVEN, final=words("v=(.{20}).*", r"v=\1")),
    "no signature": Lie(NOT_PROVEN, final=words("v=.*", "v=")),
    "nothing at the end": Lie(NOT_SCRAM, final=nothing_but(b"")),
    "an error at the end": Lie(NOT_PROVEN, final=nothing_but(b"e=invalid-proof")),
    "an error and a signature": Lie(NOT_PROVEN, final=words("^", "e=other,")),
    "an extension beside its signature": Lie(NOT_PROVEN, final=words("^", "m=x,")),
}


@pytest.mark.parametrize("name", LIES)
async def test_a_broker_that_lies_in_scram_is_refused_at_once(name: str) -> None:
    async with scripted(1) as script:
        reactions = script.brokers[1].reactions
        reactions[SaslAuthenticateRequest] = LIES[name].reaction()

        async with made(script.bootstrap(), **{**SCRAM, **UNHURRIED}) as cluster:
            _, error, seconds = await outcome_of(cluster.start(timeout=PATIENCE))

            assert type(error) is LIES[name].kind
            assert SECRET not in str(error)
            assert seconds < START_SECONDS + SLACK
            reactions[SaslAuthenticateRequest] = scram(ScramBroker(MECHANISM, NAME, SECRET))
            await works(cluster, script)


# SaslHandshake and SaslAuthenticate, whatever the mechanism.


def offers(*mechanisms: str, error_code: int = UnsupportedSaslMechanism.code) -> Reaction:
    """Packed by hand: of many it takes long, and the client does not wait for that."""
    packed = (struct.pack(">h", len(name)) + name.encode() for name in mechanisms)
    return answers(struct.pack(">hi", error_code, len(mechanisms)) + b"".join(packed))


def refuses(message: str, error_code: int = SaslAuthenticationFailed.code) -> Reaction:
    return says(
        SaslAuthenticateResponse(error_code=error_code, error_message=message, auth_bytes=b"")
    )


HANDSHAKES: dict[str, tuple[Reaction, type[KafkaError]]] = {
    "100,000 mechanisms": (offers(*["X"] * 100_000), UnsupportedSaslMechanism),
    "100,000 mechanisms, which is above 512 KiB": (offers(*["SCRAM"] * 100_000), ProtocolError),
    "2^31-1 mechanisms, promised": (answers(b"\0\0\x7f\xff\xff\xff"), ProtocolError),
    "-1 mechanisms": (answers(b"\0\0\xff\xff\xff\xff"), ProtocolError),
    "a mechanism of 30,000 characters": (offers("X" * 30_000), UnsupportedSaslMechanism),
    "a mechanism that would clear the screen": (offers("\x1b[2J"), UnsupportedSaslMechanism),
    "an error that nobody knows": (offers(error_code=32_767), KafkaConnectionError),
    "a frame above 512 KiB": (promises(LIMIT_BEFORE_AUTHENTICATION + 1), ProtocolError),
    "the end": (closes, KafkaConnectionError),
    "nothing": (says_nothing, KafkaConnectionError),
}
AUTHENTICATIONS: dict[str, tuple[Reaction, type[KafkaError]]] = {
    "a refusal": (refuses("no"), SaslAuthenticationFailed),
    "a refusal of 30,000 characters": (refuses("no" * 15_000), SaslAuthenticationFailed),
    "a refusal that would clear the screen": (refuses("\x1b[2J"), SaslAuthenticationFailed),
    "a refusal with the password in it": (refuses(f"not {SECRET}!"), SaslAuthenticationFailed),
    "an error that nobody knows": (refuses("what?", 32_767), KafkaConnectionError),
    "2^31-1 bytes, promised": (answers(b"\0\0\0\0" + b"\xff\xff\xff\xff\x07"), ProtocolError),
    "a frame above 512 KiB": (promises(LIMIT_BEFORE_AUTHENTICATION + 1), ProtocolError),
    "the end": (closes, KafkaConnectionError),
    "nothing": (says_nothing, KafkaConnectionError),
}
PLACES = [
    *((SaslHandshakeRequest, name) for name in HANDSHAKES),
    *((SaslAuthenticateRequest, name) for name in AUTHENTICATIONS),
]


@pytest.mark.parametrize(("place", "name"), PLACES)
async def test_it_is_a_typed_error_in_time_and_no_longer_than_a_line(
    place: type[Any], name: str
) -> None:
    table = HANDSHAKES if place is SaslHandshakeRequest else AUTHENTICATIONS
    hostile, kind = table[name]
    is_final = kind is not KafkaConnectionError
    async with scripted(1) as script:
        reactions = script.brokers[1].reactions
        good = reactions[place]
        reactions[place] = hostile

        options = {**PLAIN, **UNHURRIED} if is_final else PLAIN
        async with made(script.bootstrap(), **options) as cluster:
            timeout = PATIENCE if is_final else START_SECONDS
            _, error, seconds = await outcome_of(cluster.start(timeout=timeout))

            assert type(error) is kind
            assert str(error).isprintable()
            assert len(str(error)) < 600
            assert SECRET not in str(error)
            assert seconds < START_SECONDS + SLACK
            reactions[place] = good
            await works(cluster, script)


async def test_more_mechanisms_than_there_are_do_no_harm() -> None:
    async with scripted(1) as script:
        script.brokers[1].reactions[SaslHandshakeRequest] = offers(*["X"] * 100_000, error_code=0)

        async with joined(script.bootstrap(), **{**PLAIN, **UNHURRIED}) as cluster:
            await works(cluster, script)


@pytest.mark.parametrize("lifetime_ms", [2**63 - 1, -1, -(2**63)])
async def test_a_session_without_a_sensible_end_is_used(lifetime_ms: int) -> None:
    async with scripted(1) as script:
        script.brokers[1].reactions[SaslAuthenticateRequest] = says(
            authenticated(lifetime_ms=lifetime_ms)
        )

        async with joined(
            script.bootstrap(), **{**PLAIN, "connections_max_idle_ms": -1}
        ) as cluster:
            await works(cluster, script)


async def test_a_session_of_a_millisecond_is_not_renewed_more_than_once_a_second() -> None:
    async with scripted(1) as script:
        script.brokers[1].reactions[SaslAuthenticateRequest] = says(authenticated(lifetime_ms=1))

        async with joined(script.bootstrap(), **PLAIN) as cluster:
            await works(cluster, script)
            connections = len(script.brokers[1].peers)
            await asyncio.sleep(1.2)

            asked = len(script.asked(SaslAuthenticateRequest))
            assert connections <= asked <= 2 * connections
            await works(cluster, script)


# Bearer tokens.


def challenge(size: int) -> bytes:
    return json.dumps({"status": "invalid_token", "scope": "x" * size}).encode()


CHALLENGES: dict[str, tuple[bytes, type[KafkaError]]] = {
    "JSON of 10 MB": (challenge(10_000_000), ProtocolError),
    "JSON of 400 KB": (challenge(400_000), AuthenticationError),
    "JSON of 60 KB": (challenge(60_000), AuthenticationError),
    "JSON that is deep": (b"[" * 60_000, AuthenticationError),
    "JSON that is no object": (b'"invalid_token"', AuthenticationError),
    "JSON with our token in it": (
        json.dumps({"status": f"bad {TOKEN}"}).encode(),
        AuthenticationError,
    ),
    "a status that would clear the screen": (b'{"status": "\\u001b[2J"}', AuthenticationError),
    "numbers that are no numbers": (b'{"status": NaN}', AuthenticationError),
    "no JSON": (bytes(range(256)), AuthenticationError),
}


@pytest.mark.parametrize("name", CHALLENGES)
async def test_a_token_that_is_refused_in_strange_words_is_refused(name: str) -> None:
    data, kind = CHALLENGES[name]
    async with scripted(1) as script:
        reactions = script.brokers[1].reactions
        good = reactions[SaslAuthenticateRequest]
        reactions[SaslAuthenticateRequest] = says(authenticated(data))

        async with made(script.bootstrap(), **{**BEARER, **UNHURRIED}) as cluster:
            _, error, seconds = await outcome_of(cluster.start(timeout=PATIENCE))

            assert type(error) is kind
            assert str(error).isprintable()
            assert len(str(error)) < 700
            assert TOKEN not in str(error)
            assert seconds < START_SECONDS + SLACK
            reactions[SaslAuthenticateRequest] = good
            await works(cluster, script)


async def test_a_refusal_that_says_the_token_back_does_not_bring_it_into_the_error() -> None:
    async with scripted(1) as script:
        refusal = refuses(f"not {TOKEN}!")
        script.brokers[1].reactions[SaslAuthenticateRequest] = first(
            says(authenticated(challenge(1))), then=refusal
        )

        async with made(script.bootstrap(), **BEARER) as cluster:
            _, error, _ = await outcome_of(cluster.start(timeout=PATIENCE))

    assert type(error) is SaslAuthenticationFailed
    assert "not [hidden]!" in str(error)


async def test_10_mb_of_json_when_a_session_is_renewed_end_the_connection_and_no_more() -> None:
    async with scripted(1) as script:
        reactions = script.brokers[1].reactions
        good = authenticated(lifetime_ms=1_000)
        bad = authenticated(challenge(10_000_000))
        reactions[SaslAuthenticateRequest] = says(good)

        async with joined(script.bootstrap(), **BEARER) as cluster:
            await works(cluster, script)
            peer = script.brokers[1].seen[-1].peer
            reactions[SaslAuthenticateRequest] = says(bad)
            await peer.wait_gone()
            reactions[SaslAuthenticateRequest] = says(authenticated())

            await works(cluster, script)
