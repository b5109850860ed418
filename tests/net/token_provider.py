"""A provider of tokens, as a user would write one; and time that passes while everybody sleeps."""

from __future__ import annotations

import asyncio
import selectors
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

import pytest

from kafka_aio.config import ClientConfig
from kafka_aio.net import clock
from kafka_aio.types import BearerToken

T = TypeVar("T")
START = 1_700_000_000.0
HOUR = 3600.0


def given(provider: Callable[[], Any], **options: Any) -> ClientConfig:
    return ClientConfig(
        bootstrap_servers="localhost:9092",
        security_protocol="SASL_SSL",
        sasl_mechanism="OAUTHBEARER",
        sasl_oauthbearer_token_provider=provider,
        **options,
    )


class Provider:
    """Gives tokens of some life, numbered; fails while `failure` is set; waits for `gate`."""

    def __init__(self, life: float | None = HOUR) -> None:
        self.life = life
        self.failure: BaseException | None = None
        self.gate: asyncio.Event | None = None
        self.calls: list[float] = []

    async def __call__(self) -> BearerToken:
        self.calls.append(clock.wall_time() - START)
        number = len(self.calls)
        if self.gate is not None:
            await self.gate.wait()
        if self.failure is not None:
            raise self.failure
        end = None if self.life is None else clock.wall_time() + self.life
        return BearerToken(f"token-{number}", end)


class _JumpingSelector(selectors.SelectSelector):
    passed = 0.0

    def select(self, timeout: float | None = None) -> Any:
        assert timeout is not None, "everybody waits for something that will not happen"
        self.passed += max(0.0, timeout)
        return super().select(0)


class VirtualLoop(asyncio.SelectorEventLoop):
    """A loop on which hours take no time."""

    def __init__(self) -> None:
        self._jumping = _JumpingSelector()
        super().__init__(self._jumping)

    def time(self) -> float:
        return self._jumping.passed


def virtually(monkeypatch: pytest.MonkeyPatch, main: Coroutine[Any, Any, T]) -> T:
    """Runs a coroutine in virtual time; the wall clock goes with it."""
    with asyncio.Runner(loop_factory=VirtualLoop) as runner:
        loop = runner.get_loop()
        monkeypatch.setattr(clock, "wall_time", lambda: START + loop.time())
        return runner.run(main)
