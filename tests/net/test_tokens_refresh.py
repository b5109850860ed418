from __future__ import annotations

import asyncio
import logging
import traceback
from base64 import b64encode
from collections.abc import Awaitable, Mapping
from itertools import pairwise
from math import inf
from random import Random
from typing import TypeVar

import pytest

from kafka_aio.errors import KafkaConnectionError, KafkaError
from kafka_aio.net import clock
from kafka_aio.net.tokens import LEAST_SLEEP, Tokens, refresh_time
from kafka_aio.types import BearerToken
from tests.net.token_provider import HOUR, START, Provider, given, virtually

T = TypeVar("T")
SECRET = "Canary-0fd7-Tweet"


def differences(times: list[float]) -> list[float]:
    return [after - before for before, after in pairwise(times)]


async def kept_fresh(tokens: Tokens, main: Awaitable[T]) -> T:
    """What `main` gives, beside the task that keeps the tokens fresh."""
    task = asyncio.create_task(tokens.keep_fresh())
    try:
        return await main
    finally:
        task.cancel()
        await asyncio.wait([task])
        await tokens.aclose()
        assert task.cancelled()


# When a token is replaced.


# What Apache Kafka 4.3.1 answers (ExpiringCredentialRefreshingLogin): seconds from now, of the
# token's beginning and end; the part of its life; the least period, the buffer; and the answer.
JAVA: list[tuple[float | None, float, float, float, float, float]] = [
    (None, 8371.362, 0.5048144783698745, 60, 300, 4225.984),
    (-13189.477, 9295.409, 0.6272108823011016, 60, 300, 913.288),
    (None, 6113.804, 0.9643740364112595, 60, 1686, 4427.804),
    (-344.171, 600.144, 0.9658274297158904, 60, 300, 300.144),
    (None, 22.785, 0.6958930401102725, 60, 300, 15.855),
    (-5683.038, 2558.378, 0.9570254505591095, 513, 3195, 2448.432),
    (-248497.246, 88676.814, 0.6764633160874347, 60, 300, 60.000),
    (-276133.629, 97301.993, 0.6991375700388225, 60, 2060, 60.000),
]


@pytest.mark.parametrize(("start", "end", "part", "min_period", "buffer", "answer"), JAVA)
def test_a_token_is_replaced_when_java_would_replace_it(
    start: float | None,
    end: float,
    part: float,
    min_period: float,
    buffer: float,
    answer: float,
) -> None:
    token = BearerToken("x", START + end, None if start is None else START + start)
    due = refresh_time(token, part=part, min_period=min_period, buffer=buffer, now=START)

    assert due - START == pytest.approx(answer, abs=0.002)


def test_the_least_period_and_the_buffer_count_only_where_both_fit() -> None:
    limits: Mapping[str, float] = {"min_period": 60, "buffer": 300}
    both_fit, one_second_less = BearerToken("x", START + 360), BearerToken("x", START + 359)

    assert refresh_time(both_fit, part=0.8, now=START, **limits) == START + 60
    assert refresh_time(one_second_less, part=0.8, now=START, **limits) == START + 359 * 0.8


def test_a_token_without_an_end_is_never_replaced() -> None:
    token = BearerToken("x")

    assert refresh_time(token, part=0.8, min_period=0, buffer=0, now=START) == inf


# The task that keeps it fresh.


def test_a_token_is_replaced_ahead_of_its_end(monkeypatch: pytest.MonkeyPatch) -> None:
    provider = Provider(life=HOUR)
    tokens = Tokens(given(provider, sasl_login_refresh_window_jitter=0.0))

    async def main() -> list[str]:
        values = []
        for _ in range(5):
            values.append((await tokens.token()).value)
            await asyncio.sleep(1800)
        return values

    values = virtually(monkeypatch, kept_fresh(tokens, main()))
    assert values == ["token-1", "token-1", "token-2", "token-2", "token-3"]
    assert provider.calls == pytest.approx([0, 2880, 5760, 8640], abs=0.1)


def test_the_moment_of_replacement_varies_within_the_jitter(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    provider = Provider(life=HOUR)
    tokens = Tokens(given(provider), rng=Random(1))

    async def main() -> None:
        await tokens.token()
        await asyncio.sleep(100 * HOUR)

    virtually(monkeypatch, kept_fresh(tokens, main()))
    parts = [life / HOUR for life in differences(provider.calls)]
    assert len(parts) > 100
    assert 0.8 <= min(parts) < 0.81
    assert 0.84 < max(parts) <= 0.851


def test_it_waits_for_the_first_who_asks(monkeypatch: pytest.MonkeyPatch) -> None:
    provider = Provider()
    tokens = Tokens(given(provider))

    async def main() -> None:
        await asyncio.sleep(HOUR)
        assert provider.calls == []
        await tokens.token()
        await asyncio.sleep(HOUR)

    virtually(monkeypatch, kept_fresh(tokens, main()))
    assert len(provider.calls) == 2


def test_a_first_token_of_a_short_life_is_replaced_in_time(monkeypatch: pytest.MonkeyPatch) -> None:
    provider = Provider(life=20)
    tokens = Tokens(given(provider, sasl_login_refresh_window_jitter=0.0))

    async def main() -> None:
        await asyncio.sleep(5)
        await tokens.token()
        await asyncio.sleep(19)

    virtually(monkeypatch, kept_fresh(tokens, main()))
    assert provider.calls == pytest.approx([5, 21], abs=0.1)


def test_a_token_without_an_end_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    provider = Provider(life=None)
    tokens = Tokens(given(provider))

    async def main() -> None:
        for _ in range(3):
            assert (await tokens.token()).value == "token-1"
            await asyncio.sleep(10 * HOUR)

    virtually(monkeypatch, kept_fresh(tokens, main()))
    assert len(provider.calls) == 1


def test_a_failed_replacement_keeps_the_old_token_until_its_end(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    provider = Provider(life=HOUR)
    tokens = Tokens(given(provider, sasl_login_refresh_window_jitter=0.0))

    async def main() -> None:
        await tokens.token()
        provider.failure = KafkaConnectionError("login.example is down")
        await asyncio.sleep(HOUR - 1)
        assert (await tokens.token()).value == "token-1"
        await asyncio.sleep(1)
        with pytest.raises(KafkaConnectionError, match=r"^login.example is down$"):
            await tokens.token()

    virtually(monkeypatch, kept_fresh(tokens, main()))
    _, *retries, asked = provider.calls
    pauses = differences(retries)
    assert retries[0] == pytest.approx(2880, abs=0.1)
    assert 0.08 <= pauses[0] <= 0.121
    assert 8 < max(pauses) <= 10.001
    assert HOUR - 10 <= retries[-1] < HOUR <= asked
    assert "the token was not replaced failures=1: login.example is down" in caplog.text


def test_after_its_end_a_token_is_fetched_for_those_who_ask(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    provider = Provider(life=HOUR)
    tokens = Tokens(given(provider))

    async def main() -> None:
        await tokens.token()
        provider.failure = OSError()
        await asyncio.sleep(HOUR)
        calls = len(provider.calls)
        await asyncio.sleep(10 * HOUR)
        assert len(provider.calls) == calls
        provider.failure = None
        last = await tokens.token()
        await asyncio.sleep(0.9 * HOUR)
        assert (await tokens.token()) != last
        assert len(provider.calls) == calls + 2

    virtually(monkeypatch, kept_fresh(tokens, main()))


def test_after_a_success_the_pauses_begin_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    provider = Provider(life=HOUR)
    tokens = Tokens(given(provider))

    async def main() -> float:
        await tokens.token()
        provider.failure = OSError()
        await asyncio.sleep(0.9 * HOUR)
        provider.failure = None
        await asyncio.sleep(60)
        before = len(provider.calls)
        provider.failure = OSError()
        await asyncio.sleep(0.9 * HOUR)
        return differences(provider.calls[before:])[0]

    assert virtually(monkeypatch, kept_fresh(tokens, main())) < 0.2


def test_the_same_old_token_again_and_again_does_not_make_it_run_hot(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    calls: list[float] = []

    async def provider() -> BearerToken:
        calls.append(clock.wall_time() - START)
        return BearerToken("same", START + 300)

    tokens = Tokens(given(provider))

    async def main() -> None:
        await tokens.token()
        await asyncio.sleep(301)

    virtually(monkeypatch, kept_fresh(tokens, main()))
    assert 4 < len(calls) < 10
    assert min(differences(calls)) >= LEAST_SLEEP


def test_a_clock_that_jumps_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    provider = Provider(life=10 * HOUR)
    tokens = Tokens(given(provider))

    async def main() -> None:
        await tokens.token()
        asleep = clock.wall_time() + 9 * HOUR
        monkeypatch.setattr(clock, "wall_time", lambda: asleep)
        await asyncio.sleep(61)

    virtually(monkeypatch, kept_fresh(tokens, main()))
    assert len(provider.calls) == 2


# Secrets.


@pytest.mark.parametrize("life", [HOUR, 10.0, -1.0])
@pytest.mark.parametrize("failure", [None, KafkaConnectionError("down"), ValueError("bad")])
def test_no_secret_shows_in_a_log_an_error_or_a_repr(
    life: float,
    failure: Exception | None,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    capfd: pytest.CaptureFixture[str],
) -> None:
    caplog.set_level(logging.DEBUG)
    failures = iter([None, failure, failure, failure])

    async def provider() -> BearerToken:
        problem = next(failures, None)
        if problem is not None:
            raise problem
        return BearerToken(SECRET, clock.wall_time() + life)

    tokens = Tokens(given(provider))

    async def main() -> list[str]:
        shown = []
        for _ in range(20):
            try:
                shown += [repr(await tokens.token()), repr(tokens), str(tokens)]
            except KafkaError as error:
                shown += traceback.format_exception(error)
            shown += [repr(task) for task in asyncio.all_tasks()]
            await asyncio.sleep(300)
        return shown

    shown = virtually(monkeypatch, kept_fresh(tokens, main()))
    text = "\n".join([*shown, caplog.text, *capfd.readouterr()])
    assert "BearerToken(expires_at=" in text
    for secret in (SECRET, b64encode(SECRET.encode()).decode().rstrip("="), SECRET.encode().hex()):
        assert secret not in text
