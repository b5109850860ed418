from __future__ import annotations

import asyncio
import gc
import traceback
from contextlib import suppress
from typing import Any

import pytest

from kafka_aio.config import Secret
from kafka_aio.errors import (
    AuthenticationError,
    ConfigError,
    KafkaConnectionError,
    KafkaTimeoutError,
    StateError,
)
from kafka_aio.net import clock
from kafka_aio.net.tokens import PATIENCE, Tokens
from kafka_aio.types import BearerToken
from tests.net.token_endpoint import SECRET, http, jwt, running
from tests.net.token_provider import START, Provider, given, virtually

# Who asks gets one.


async def test_a_token_is_fetched_once_and_kept() -> None:
    provider = Provider()
    tokens = Tokens(given(provider))
    got = [await tokens.token() for _ in range(3)]

    assert [token.value for token in got] == ["token-1"] * 3
    assert len(provider.calls) == 1


async def test_all_who_ask_meanwhile_share_one_fetch() -> None:
    provider = Provider()
    provider.gate = asyncio.Event()
    tokens = Tokens(given(provider))
    callers = [asyncio.create_task(tokens.token()) for _ in range(5)]
    await asyncio.sleep(0)
    provider.gate.set()
    got = await asyncio.gather(*callers)

    assert {token.value for token in got} == {"token-1"}
    assert len(provider.calls) == 1


async def test_a_cancelled_caller_leaves_the_fetch_to_the_others() -> None:
    provider = Provider()
    provider.gate = asyncio.Event()
    tokens = Tokens(given(provider))
    first, second = (asyncio.create_task(tokens.token()) for _ in range(2))
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    first.cancel()
    with pytest.raises(asyncio.CancelledError):
        await first
    provider.gate.set()

    assert (await second).value == "token-1"
    assert len(provider.calls) == 1


@pytest.mark.parametrize("failure", [None, ValueError("no")])
async def test_a_fetch_that_nobody_waits_for_any_more_ends_in_silence(
    failure: Exception | None,
) -> None:
    provider = Provider()
    provider.gate = asyncio.Event()
    provider.failure = failure
    tokens = Tokens(given(provider))
    caller = asyncio.create_task(tokens.token())
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    caller.cancel()
    with suppress(asyncio.CancelledError):
        await caller
    provider.gate.set()
    await asyncio.wait(asyncio.all_tasks() - {asyncio.current_task()})
    gc.collect()  # the guard of the suite fails on an exception that nobody has taken
    provider.failure = None

    assert (await tokens.token()).value == ("token-2" if failure else "token-1")


def test_a_token_that_has_ended_is_fetched_again(monkeypatch: pytest.MonkeyPatch) -> None:
    tokens = Tokens(given(Provider(life=100)))

    async def main() -> list[str]:
        values = [(await tokens.token()).value]
        for pause in (99.9, 0.1, 50, 50):
            await asyncio.sleep(pause)
            values.append((await tokens.token()).value)
        return values

    assert virtually(monkeypatch, main()) == ["token-1", "token-1", "token-2", "token-2", "token-3"]


async def test_a_text_has_its_times_in_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(clock, "wall_time", lambda: START)
    text = jwt(exp=START + 60, iat=START - 5)

    async def provider() -> str:
        return text

    async def hidden() -> str:
        return Secret(text)

    for each in (provider, hidden):
        token = await Tokens(given(each)).token()
        assert token == BearerToken(text, START + 60, START - 5)
        assert f"{token.value}" == text


async def test_a_token_that_ended_before_it_came_is_tried_and_not_kept(
    caplog: pytest.LogCaptureFixture,
) -> None:
    provider = Provider(life=-1)
    tokens = Tokens(given(provider))
    got = [(await tokens.token()).value for _ in range(2)]

    assert got == ["token-1", "token-2"]
    assert "has ended before it came: compare the clocks" in caplog.text


# Providers that fail.


async def test_a_failure_of_the_provider_is_an_authentication_error_without_its_text() -> None:
    provider = Provider()
    provider.failure = ValueError(f"cannot use {SECRET}")
    tokens = Tokens(given(provider))

    with pytest.raises(AuthenticationError) as caught:
        await tokens.token()
    assert str(caught.value) == "sasl_oauthbearer_token_provider failed with ValueError"
    assert caught.value.__cause__ is provider.failure
    provider.failure = None
    assert (await tokens.token()).value == "token-2"


async def test_all_who_share_a_failed_fetch_get_an_error_of_their_own() -> None:
    provider = Provider()
    provider.failure = OSError()
    tokens = Tokens(given(provider))
    errors = await asyncio.gather(*(tokens.token() for _ in range(3)), return_exceptions=True)

    assert len({id(error) for error in errors}) == 3
    assert {type(error) for error in errors} == {AuthenticationError}
    assert {error.__cause__ for error in errors if isinstance(error, Exception)} == {
        provider.failure
    }
    assert len(provider.calls) == 1


async def test_an_error_of_ours_that_the_provider_raises_passes_as_it_is() -> None:
    provider = Provider()
    provider.failure = KafkaConnectionError("login.example is down")

    with pytest.raises(KafkaConnectionError, match=r"^login.example is down$"):
        await Tokens(given(provider)).token()


class Picky(KafkaConnectionError):
    """As a user may write one."""

    def __init__(self, *, host: str) -> None:
        super().__init__(f"{host} is down")
        self.host = host


async def test_an_error_whose_constructor_wants_other_arguments_passes_as_well() -> None:
    provider = Provider()
    provider.failure = Picky(host="login.example")
    tokens = Tokens(given(provider))
    errors = await asyncio.gather(*(tokens.token() for _ in range(2)), return_exceptions=True)

    assert [str(error) for error in errors] == ["login.example is down"] * 2
    assert [error.host for error in errors if isinstance(error, Picky)] == ["login.example"] * 2
    assert errors[0] is not errors[1]


def test_a_provider_that_hangs_is_given_up_at_the_deadline(monkeypatch: pytest.MonkeyPatch) -> None:
    provider = Provider()
    provider.gate = asyncio.Event()
    tokens = Tokens(given(provider))

    async def main() -> float:
        with pytest.raises(KafkaTimeoutError, match="provider did not return a token in time"):
            await tokens.token(deadline=5.0)
        waited = asyncio.get_running_loop().time()
        with pytest.raises(KafkaTimeoutError):
            await tokens.token()
        assert asyncio.get_running_loop().time() == pytest.approx(waited + PATIENCE)
        provider.gate = None
        await tokens.token()
        return waited

    assert virtually(monkeypatch, main()) == pytest.approx(5.0)


async def test_a_time_out_of_the_provider_itself_is_its_failure() -> None:
    provider = Provider()
    provider.failure = TimeoutError()

    with pytest.raises(AuthenticationError, match="failed with TimeoutError"):
        await Tokens(given(provider)).token()


async def test_a_provider_that_cancels_itself_has_failed() -> None:
    provider = Provider()
    provider.failure = asyncio.CancelledError()

    with pytest.raises(AuthenticationError, match="has cancelled itself"):
        await Tokens(given(provider)).token()


async def test_a_provider_that_is_not_async_is_a_mistake() -> None:
    def provider() -> str:
        return SECRET

    with pytest.raises(ConfigError, match=r"must be an async function, .* has returned <str>$"):
        await Tokens(given(provider)).token()


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (None, r"must return a str or a BearerToken, not <NoneType>$"),
        (SECRET.encode(), r"must return a str or a BearerToken, not <bytes>$"),
        ({"access_token": SECRET}, r"must return a str or a BearerToken, not <dict>$"),
        ("", "provider: a bearer token has letters"),
        (f"{SECRET}\n", "provider: a bearer token has letters"),
        (f"Bearer {SECRET}", "provider: a bearer token has letters"),
    ],
)
async def test_a_provider_that_gives_no_token_is_a_mistake(value: Any, message: str) -> None:
    async def provider() -> Any:
        return value

    with pytest.raises(ConfigError, match=message) as caught:
        await Tokens(given(provider)).token()
    assert SECRET not in "".join(traceback.format_exception(caught.value))


@pytest.mark.parametrize("turns", [1, 2])  # the fetch is about to begin, or has begun
async def test_closing_ends_a_fetch_and_those_who_wait_for_it(turns: int) -> None:
    provider = Provider()
    provider.gate = asyncio.Event()
    tokens = Tokens(given(provider))
    caller = asyncio.create_task(tokens.token())
    for _ in range(turns):
        await asyncio.sleep(0)
    await tokens.aclose()

    with pytest.raises(StateError, match="closed while a token was fetched"):
        await caller
    await tokens.aclose()


async def test_closing_leaves_a_provider_behind_that_does_not_end(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr("kafka_aio.net.tokens.CLOSE_SECONDS", 0.01)
    may_end = asyncio.Event()

    async def provider() -> str:
        while not may_end.is_set():
            with suppress(asyncio.CancelledError):
                await may_end.wait()
        return "late"

    tokens = Tokens(given(provider))
    caller = asyncio.create_task(tokens.token())
    await asyncio.sleep(0)
    try:
        async with asyncio.timeout(5):
            await tokens.aclose()
    finally:
        may_end.set()
        await asyncio.wait([caller])

    assert "token_provider goes on although it was cancelled" in caplog.text


async def test_closing_before_anything_was_fetched_does_nothing() -> None:
    provider = Provider()
    await Tokens(given(provider)).aclose()

    assert provider.calls == []


# From the endpoint.


async def test_without_a_provider_the_endpoint_is_asked() -> None:
    async with running(http({"access_token": "abc", "expires_in": 600})) as endpoint:
        tokens = Tokens(endpoint.config())
        got = [await tokens.token() for _ in range(2)]

    assert got[0] is got[1]
    assert got[0].value == "abc"
    assert len(endpoint.requests) == 1


async def test_a_refusal_of_the_endpoint_reaches_the_caller() -> None:
    async with running(http({"error": "invalid_client"}, 401)) as endpoint:
        with pytest.raises(AuthenticationError, match="it refuses us: invalid_client"):
            await Tokens(endpoint.config()).token()
