"""What all clients have in common: their configuration, their beginning and their end."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from types import TracebackType
from typing import Any, ClassVar, Generic, Self, TypeVar

from kafka_aio.config import ClientConfig
from kafka_aio.errors import KafkaError, StateError
from kafka_aio.net.cluster import Cluster
from kafka_aio.net.tasks import Tasks

C = TypeVar("C", bound=ClientConfig)


class Client(Generic[C]):
    """Made, started, used on one event loop, and closed. Each kind of client is one."""

    _config_type: ClassVar[type[ClientConfig]]
    _unless_closed: ClassVar[str] = ""
    """What may happen if it is not closed."""
    _cluster: Cluster

    def __init__(self, config: C | None = None, /, **options: Any) -> None:
        """Take the configuration; nothing is connected yet.

        Args:
            config: All options.
            options: Or some of them, by name: `bootstrap_servers="localhost:9092"`.

        Raises:
            ConfigError: An option is unknown, wrong, or contradicts another.
            TypeError: Both are given, or the first is no configuration of this client.
        """
        kind = self._config_type
        if config is not None and options:
            raise TypeError(
                f"give {_a(kind.__name__)} or options, not both; config.replace() changes one"
            )
        if not isinstance(config, kind | None):
            raise TypeError(
                f"give {_a(kind.__name__)}, not {type(config).__name__}, or options by their names:"
                f" {type(self).__name__}(bootstrap_servers=...)"
            )
        self._config: C = kind.from_options(options) if config is None else config  # type: ignore[assignment]  # of its kind
        self._tasks: Tasks | None = None

    @classmethod
    def from_kafka(cls, options: Mapping[str, Any]) -> Self:
        """From Kafka's own names: `{"bootstrap.servers": "localhost:9092"}`.

        Raises:
            ConfigError: An option is unknown, wrong, or contradicts another.
        """
        return cls(cls._config_type.from_kafka(options))  # type: ignore[arg-type]  # of its kind

    def __repr__(self) -> str:
        where = ",".join(self._config.bootstrap_servers)
        return f"<{type(self).__name__} at {where}: {self._state()}>"

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        try:
            await self.aclose()
        except KafkaError as failure:
            if error is None:
                raise
            error.add_note(str(failure))  # what was raised inside comes first

    def __del__(self, warn: Callable[..., None] = warnings.warn) -> None:
        tasks: Tasks | None = getattr(self, "_tasks", None)
        if tasks is None or tasks.is_closed:
            return
        text = f"{self!r} was not closed: use `async with`{self._unless_closed}"
        tasks.stop()
        warn(text, ResourceWarning, source=self)

    async def start(self, *, timeout: float | None = None) -> None:
        """Connect to the cluster; `async with` does it too.

        Args:
            timeout: Seconds; socket_connection_setup_timeout_ms and a little if not given.

        Raises:
            StateError: It was started before.
            AuthenticationError: One side does not accept the other.
            ProtocolError: None of the addresses is that of a broker that we can speak with.
            KafkaConnectionError: None could be reached; names every address, and why.
        """
        if self._tasks is not None:
            raise StateError(f"the {self._config.client} was started before; make a new one")
        tasks = Tasks(self._config.client)
        self._make(tasks)
        self._tasks = tasks
        try:
            await tasks.start()
            await self._cluster.start(timeout=timeout)
            self._begin(tasks)
        except BaseException:
            await tasks.aclose()
            raise

    def _make(self, tasks: Tasks) -> None:
        """Make all that it is made of: `_cluster`, for one."""
        raise NotImplementedError

    def _begin(self, tasks: Tasks) -> None:
        """The cluster is there: start the tasks."""

    async def aclose(self) -> None:
        """Close all connections. The second call does nothing.

        Raises:
            StateError: It belongs to another loop.
        """
        if self._tasks is not None:
            await self._tasks.aclose()

    def _state(self) -> str:
        """In a word: "new", "open", "closed" or "failed"."""
        return "new" if self._tasks is None else self._tasks.state

    def _started(self) -> Tasks:
        if self._tasks is None:
            raise StateError(
                f"the {self._config.client} was not started: use it in `async with`,"
                " or await start()"
            )
        return self._tasks


def _a(noun: str) -> str:
    return f"an {noun}" if noun[0] in "AEIOU" else f"a {noun}"
