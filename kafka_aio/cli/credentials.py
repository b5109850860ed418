"""Where secrets come from: files, and whoever sits at the terminal."""

from __future__ import annotations

import asyncio
from math import inf
from pathlib import Path

from kafka_aio.config.option import Secret
from kafka_aio.errors import ConfigError
from kafka_aio.types import BearerToken


def read_bytes(name: str) -> bytes:
    """The content of a file.

    Raises:
        ConfigError: It cannot be read.
    """
    try:
        return Path(name).read_bytes()
    except (OSError, ValueError) as error:
        problem = error.strerror if isinstance(error, OSError) else "this is no name of a file"
        raise ConfigError(f"cannot read {name}: {problem}") from None


def read_secret(option: str, name: str) -> Secret:
    """The text of a file, without the line end that editors and `echo` put there.

    Raises:
        ConfigError: It cannot be read, or has no text in it.
    """
    try:
        text = read_bytes(name).decode().rstrip("\r\n")
    except UnicodeDecodeError:
        raise ConfigError(f"{option} {name}: it is not a text in UTF-8") from None
    if not text:
        raise ConfigError(f"{option} {name}: it is empty")
    return Secret(text)


class TokenFile:
    """A file with a bearer token, read anew whenever a token is wanted: others replace it."""

    def __init__(self, name: str) -> None:
        self.name = name
        self._expires_at = inf

    def __repr__(self) -> str:
        return f"<TokenFile {self.name}>"

    def has_expired(self, *, now: float) -> bool:
        """Whether the token that was read last is over, by the wall clock."""
        return self._expires_at <= now

    async def __call__(self) -> BearerToken:
        return await asyncio.to_thread(self._read)

    def _read(self) -> BearerToken:
        text = read_secret("--token-file", self.name).reveal().strip()
        try:
            token = BearerToken.parse(text)
        except ValueError as error:
            raise ConfigError(f"--token-file {self.name}: {error}") from None
        self._expires_at = inf if token.expires_at is None else token.expires_at
        return token
