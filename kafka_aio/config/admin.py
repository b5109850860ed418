"""What an admin client can be told. Pure."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Annotated, ClassVar

from kafka_aio.config.client import ClientConfig
from kafka_aio.config.option import INT32, INT64, Int, Milliseconds, unset
from kafka_aio.errors import ConfigError


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class AdminConfig(ClientConfig):
    """Options of an admin client, and those of every client."""

    client: ClassVar[str] = "admin"

    default_api_timeout_ms: Milliseconds = field(default=unset(60_000))
    """How long a call without a timeout of its own may take, retries included."""
    retries: Annotated[int, Int(0, INT32)] = INT32
    """How often a request is sent again; better left alone, default_api_timeout_ms ends it."""
    connections_max_idle_ms: Annotated[int, Int(-1, INT64)] = 300_000
    """After how long an unused connection is closed; -1 never."""

    __replace__ = ClientConfig.replace

    def _settle(self) -> None:
        ClientConfig._settle(self)
        if self.default_api_timeout_ms >= self.request_timeout_ms:
            return
        if "default_api_timeout_ms" not in self._unset:
            raise ConfigError(
                f"default_api_timeout_ms is {self.default_api_timeout_ms}, but one request may"
                f" take request_timeout_ms, {self.request_timeout_ms}: raise the one or lower the"
                " other"
            )
        self._set("default_api_timeout_ms", self.request_timeout_ms)
