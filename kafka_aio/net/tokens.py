"""The bearer token of a client: fetched once for all who ask, and replaced ahead of its end.

It comes from the user's provider, or from the token endpoint (`oidc`). When it is replaced is
decided by `refresh_time`, as Java decides it. A replacement that fails leaves the old token in use
until that one ends; then whoever asks gets the failure.
"""

from __future__ import annotations

import asyncio
import inspect
import logging
import random
from math import inf
from typing import Final

from kafka_aio.config import ClientConfig, TokenProvider
from kafka_aio.errors import (
    AuthenticationError,
    ConfigError,
    KafkaError,
    KafkaTimeoutError,
    StateError,
    fresh,
)
from kafka_aio.net import clock, oidc
from kafka_aio.types import BearerToken

PATIENCE: Final = 30.0
"""How long a fetch may take that nobody waits for, or that comes without a deadline."""

LONGEST_SLEEP: Final = 60.0
"""In seconds: the wall clock is looked at again, as it may be set, and the machine may sleep."""

LEAST_SLEEP: Final = 1.0
"""Between two replacements: a provider may give us the same old token again and again."""

CLOSE_SECONDS: Final = 1.0
"""How long a provider may take to end after it was cancelled."""

logger = logging.getLogger(__name__)


def refresh_time(
    token: BearerToken, *, part: float, min_period: float, buffer: float, now: float
) -> float:
    """When to replace a token, on the wall clock; infinity where it has no end.

    At a part of its life; but not within `min_period` from now, and not within `buffer` of its end.
    Where both do not fit into what is left of its life, neither counts: then it is that part of
    what is left.

    Args:
        token: The token, just fetched.
        part: From 0.5 to 1.25: the window factor, and a random part of the jitter on top of it.
        min_period: The least time until then.
        buffer: The least time from then to its end.
        now: The wall clock.
    """
    if token.expires_at is None:
        return inf
    if now + min_period + buffer > token.expires_at:
        return now + (token.expires_at - now) * part
    start = now if token.issued_at is None else token.issued_at
    wish = start + (token.expires_at - start) * part
    return min(max(wish, now + min_period), token.expires_at - buffer)


class Tokens:
    """What gives a token to each connection of a client. It belongs to one event loop."""

    def __init__(self, config: ClientConfig, *, rng: random.Random | None = None) -> None:
        """Make it; nothing is fetched yet.

        Args:
            config: Where tokens come from, and when they are replaced.
            rng: For the jitter.
        """
        self._config = config
        self._rng = rng or random.Random()
        self._token: BearerToken | None = None
        self._refresh_at = inf
        self._failures = 0
        self._changed = asyncio.Event()
        self._flight: asyncio.Task[BearerToken | KafkaError] | None = None

    def __repr__(self) -> str:
        return f"<Tokens: {self._token}>"

    async def token(self, *, deadline: float | None = None) -> BearerToken:
        """The token to use now. All who ask meanwhile share one fetch.

        A caller that is cancelled leaves the fetch to the others.

        Args:
            deadline: Until which time of the loop to try, if this call begins a fetch.

        Raises:
            AuthenticationError: The provider failed, or the endpoint refuses us.
            KafkaConnectionError, KafkaTimeoutError, ProtocolError: As `oidc.fetch_token`, or what
                the provider has raised.
            ConfigError: The provider gives something that is no token.
            StateError: The client was closed meanwhile.
        """
        if self._token is not None and not _is_over(self._token):
            return self._token
        outcome = await self._fetch(deadline)
        if isinstance(outcome, KafkaError):
            raise fresh(outcome)
        return outcome

    async def keep_fresh(self) -> None:
        """Replace the token ahead of its end, for ever: the body of a task."""
        while True:
            self._changed.clear()
            seconds = self._refresh_at - clock.wall_time()
            if seconds > 0:
                await self._sleep(min(seconds, LONGEST_SLEEP))
                continue
            outcome = await self._fetch(None)
            if isinstance(outcome, KafkaError):
                self._put_off(outcome)

    async def aclose(self) -> None:
        """End a fetch that is under way; whoever waits for it gets a StateError.

        A provider that goes on although it was cancelled is left behind.
        """
        if self._flight is not None:
            await asyncio.sleep(0)  # it has begun then; one that has not would not say StateError
            self._flight.cancel()
            _, left = await asyncio.wait([self._flight], timeout=CLOSE_SECONDS)
            if left:
                logger.warning(
                    "sasl_oauthbearer_token_provider goes on although it was cancelled: we do not"
                    " wait for it"
                )

    async def _sleep(self, seconds: float) -> None:
        """Sleep, but not longer than until there is another token."""
        try:
            async with asyncio.timeout(seconds):
                await self._changed.wait()
        except TimeoutError:
            pass

    async def _fetch(self, deadline: float | None) -> BearerToken | KafkaError:
        """The outcome of the fetch under way, or of a new one."""
        if self._flight is None or self._flight.done():
            if deadline is None:
                deadline = asyncio.get_running_loop().time() + PATIENCE
            self._flight = asyncio.create_task(self._fly(deadline), name="kafka_aio token")
        return await asyncio.shield(self._flight)

    async def _fly(self, deadline: float) -> BearerToken | KafkaError:
        # It returns its failure: perhaps nobody is left to take an exception.
        provider = self._config.sasl_oauthbearer_token_provider
        try:
            if provider is None:
                token = await oidc.fetch_token(self._config, deadline=deadline)
            else:
                token = _checked(await _provided(provider, deadline))
        except KafkaError as error:
            return error
        except asyncio.CancelledError:  # by aclose: no caller's cancellation comes here
            return StateError("the client was closed while a token was fetched")
        self._keep(token)
        return token

    def _keep(self, token: BearerToken) -> None:
        now = clock.wall_time()
        config = self._config
        part = config.sasl_login_refresh_window_factor
        part += config.sasl_login_refresh_window_jitter * self._rng.random()
        due = refresh_time(
            token,
            part=part,
            min_period=config.sasl_login_refresh_min_period_seconds,
            buffer=config.sasl_login_refresh_buffer_seconds,
            now=now,
        )
        self._token = token
        self._refresh_at = max(due, now + LEAST_SLEEP)
        self._failures = 0
        self._changed.set()
        if _is_over(token):
            self._refresh_at = inf
            logger.warning("the token has ended before it came: compare the clocks of both sides")
        else:
            logger.debug("token fetched, replaced in seconds=%.0f", self._refresh_at - now)

    def _put_off(self, error: KafkaError) -> None:
        """Try again later; after the token's end that is left to those who ask for one."""
        pause = oidc.backoff(self._config).delay(self._failures, jitter=self._rng.uniform(-1, 1))
        self._failures += 1
        again = clock.wall_time() + pause
        ends_at = None if self._token is None else self._token.expires_at
        self._refresh_at = inf if ends_at is None or again >= ends_at else again
        logger.warning("the token was not replaced failures=%d: %s", self._failures, error)


def _is_over(token: BearerToken) -> bool:
    return token.expires_at is not None and token.expires_at <= clock.wall_time()


async def _provided(provider: TokenProvider, deadline: float) -> object:
    """What the user's provider returns. It is called here and nowhere else.

    A KafkaError passes as it is: so a provider can say that it is worth trying again. Of any other
    error our message has the type alone, as its text may have a token in it. The error itself is
    the cause of ours all the same, since whoever wrote the provider must be able to find the fault:
    what is in it is the user's own.
    """
    task = asyncio.current_task()
    assert task is not None
    limit = asyncio.timeout_at(deadline)
    try:
        async with limit:
            given = provider()
            if not inspect.isawaitable(given):
                raise ConfigError(
                    "sasl_oauthbearer_token_provider must be an async function, and it has returned"
                    f" <{type(given).__qualname__}>"
                )
            return await given
    except KafkaError:
        raise
    except asyncio.CancelledError as error:
        if task.cancelling():
            raise
        raise AuthenticationError("sasl_oauthbearer_token_provider has cancelled itself") from error
    except Exception as error:
        if limit.expired():
            raise KafkaTimeoutError(
                "sasl_oauthbearer_token_provider did not return a token in time"
            ) from error
        raise AuthenticationError(
            f"sasl_oauthbearer_token_provider failed with {type(error).__name__}"
        ) from error


def _checked(given: object) -> BearerToken:
    if isinstance(given, BearerToken):
        return given
    if not isinstance(given, str):
        raise ConfigError(
            "sasl_oauthbearer_token_provider must return a str or a BearerToken, not"
            f" <{type(given).__qualname__}>"
        )
    try:
        return BearerToken.parse(given)
    except ValueError as error:
        raise ConfigError(f"sasl_oauthbearer_token_provider: {error}") from error
