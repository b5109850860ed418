from __future__ import annotations

import json
import tracemalloc

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_aio.config.option import Secret
from kafka_aio.errors import AuthenticationError, ConfigError
from kafka_aio.protocol.sasl import Done, OAuthBearer, Send
from kafka_aio.protocol.sasl.oauthbearer import MAX_REFUSAL
from tests.unit.protocol.sasl_broker import failed

TOKEN = "eyJhbGciOiJub25lIn0.eyJzdWIiOiJhbGljZSJ9."


def refusal_of(answer: bytes) -> str:
    """What is raised in the end when a broker answers like this."""
    exchange = OAuthBearer(TOKEN)
    exchange.start()
    assert exchange.receive(answer) == Send(b"\x01")
    with pytest.raises(AuthenticationError) as refused:
        exchange.receive(b"")
    assert failed(exchange)
    return str(refused.value)


def test_the_message_is_the_one_of_rfc_7628() -> None:
    assert OAuthBearer(TOKEN).start() == Send(f"n,,\x01auth=Bearer {TOKEN}\x01\x01".encode())


def test_extensions_follow_the_token_in_their_order() -> None:
    exchange = OAuthBearer(Secret(TOKEN), [("traceId", "a=b c"), ("logicalCluster", "lkc-1")])

    assert exchange.start() == Send(
        f"n,,\x01auth=Bearer {TOKEN}\x01traceId=a=b c\x01logicalCluster=lkc-1\x01\x01".encode()
    )


def test_an_empty_answer_is_success() -> None:
    exchange = OAuthBearer(TOKEN)
    exchange.start()

    assert exchange.receive(b"") == Done()


def test_a_refusal_is_acknowledged_and_then_raised_with_its_status() -> None:
    text = refusal_of(b'{"status":"invalid_token"}')

    assert text.startswith("OAUTHBEARER: the broker refuses the token (status 'invalid_token'):")


def test_the_scope_that_is_asked_for_is_named() -> None:
    answer = b'{"status":"insufficient_scope", "scope":"kafka write", "openid-configuration":"x"}'

    assert "(status 'insufficient_scope', scope 'kafka write'):" in refusal_of(answer)


@pytest.mark.parametrize(
    "answer",
    [
        b"no",
        b"\xff\xfe",
        b"[]",
        b"7",
        b"{}",
        b'{"status":7,"scope":["x"]}',
        b'{"error":"secret-canary"}',
        b"[" * MAX_REFUSAL,
        b'{"a":' * (MAX_REFUSAL // 5),
        b'{"status":' + b"9" * 60_000 + b"}",
    ],
    ids=lambda answer: repr(answer[:12]),
)
def test_an_answer_that_says_nothing_of_use_is_a_refusal_all_the_same(answer: bytes) -> None:
    assert "the broker refuses the token: see" in refusal_of(answer)


def test_a_huge_answer_is_a_refusal_and_is_not_parsed() -> None:
    answer = b'{"status":"' + b"x" * 10_000_000 + b'"}'
    tracemalloc.start()
    try:
        text = refusal_of(answer)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()

    assert "refuses the token, with 10,000,013 bytes that were not read:" in text
    assert peak < 1_000_000


def test_a_long_status_is_cut_and_made_printable() -> None:
    text = refusal_of(json.dumps({"status": "\x1b[31m\n" + "x" * 60_000}).encode())

    assert "(status '?[31m?xxx" in text
    assert len(text) < 500


def test_a_broker_that_sends_the_token_back_does_not_bring_it_into_the_message() -> None:
    text = refusal_of(json.dumps({"status": f"bad: {TOKEN}", "scope": TOKEN}).encode())

    assert "(status 'bad: [hidden]', scope '[hidden]')" in text
    assert TOKEN not in text


@pytest.mark.parametrize(
    "token",
    ["", "canary 1", "canary\x01", "canary\n", "canar\u00fd", "=canary", "ca=nary", "canary,"],
)
def test_a_token_with_a_character_that_none_has_is_refused_and_not_shown(token: str) -> None:
    with pytest.raises(AuthenticationError, match="OAUTHBEARER: the token is empty or") as refused:
        OAuthBearer(token)

    assert "canar" not in str(refused.value)


@pytest.mark.parametrize("token", ["a", "a.b.c", "AZaz09-._~+/", "abc=", "abc=="])
def test_every_character_of_rfc_6750_may_be_in_a_token(token: str) -> None:
    assert OAuthBearer(token).start() == Send(f"n,,\x01auth=Bearer {token}\x01\x01".encode())


@pytest.mark.parametrize("name", ["auth", "", "a1", "a-b", "a\x01", "a=b", "é"])
def test_the_name_of_an_extension_is_letters_and_not_auth(name: str) -> None:
    with pytest.raises(ConfigError, match="name of a SASL extension"):
        OAuthBearer(TOKEN, [("fine", "x"), (name, "x")])


def test_names_that_only_begin_with_auth_are_fine() -> None:
    assert isinstance(OAuthBearer(TOKEN, [("authority", "x"), ("AUTH", "y")]).start(), Send)


@pytest.mark.parametrize("value", ["", "canary\x01", "canary\0", "canar\u00fd", "\x7f"])
def test_the_value_of_an_extension_is_printable_and_not_shown(value: str) -> None:
    with pytest.raises(ConfigError, match="value of the SASL extension tenant is") as refused:
        OAuthBearer(TOKEN, [("tenant", value)])

    assert "canar" not in str(refused.value)


def test_an_extension_is_given_once() -> None:
    with pytest.raises(ConfigError, match="SASL extension tenant is given twice"):
        OAuthBearer(TOKEN, [("tenant", "blue"), ("tenant", "red")])


@given(
    st.binary(min_size=1, max_size=100)
    | st.recursive(
        st.none() | st.text(max_size=20) | st.integers(),
        lambda inner: st.dictionaries(st.sampled_from(["status", "scope", "x"]), inner),
    ).map(lambda answer: json.dumps(answer).encode())
)
def test_any_answer_that_is_not_empty_is_a_refusal(answer: bytes) -> None:
    text = refusal_of(answer)

    assert text.isprintable()
    assert len(text) < 700
