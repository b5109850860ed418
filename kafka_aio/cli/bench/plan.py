"""What a benchmark does, and what a worker is told of it, as JSON. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Final, Self, TypeVar

from kafka_aio.cli.configuration import changed
from kafka_aio.cli.credentials import TokenFile
from kafka_aio.config import ClientConfig, ProducerConfig
from kafka_aio.config.option import Secret

KINDS: Final = ("produce", "latency", "tasks")
PATHS: Final = ("submit", "many", "arrow")

_TOKENS: Final = "sasl_oauthbearer_token_provider"
_EXTENSIONS: Final = "sasl_oauthbearer_extensions"
_SERIALIZERS: Final = ("key_serializer", "value_serializer")
_SET_UP: Final = 60.0
"""Seconds for all that a worker does before and after."""
_SLOWEST: Final = 5_000
"""So many records a second each client writes at least."""

C = TypeVar("C", bound=ClientConfig)


@dataclass(frozen=True, slots=True, kw_only=True)
class Workload:
    """What is done, the same for every client."""

    kind: str = "produce"
    path: str = "submit"
    """How records are given to a client that is to produce as many as it can."""
    record_size: int = 100
    """Bytes of a value."""
    keyed: bool = False
    partitions: int = 6
    codec: str = "none"
    acks: str = "all"
    linger_ms: int = 5
    batch_size: int = 65_536
    records: int | None = None
    """How many to write; if none, as many as go into `seconds`."""
    seconds: float = 5.0
    warm_up: float = 1.0
    """Seconds of the same before anything is measured."""
    tasks: int = 1_000
    """How many write at the same time, each one record after the other."""
    loop: str = "asyncio"
    seed: int = 1

    @property
    def way(self) -> str:
        """The name of the work that a client has to know."""
        return self.path if self.kind == "produce" else self.kind

    @property
    def patience(self) -> float:
        """Seconds after which a worker is given up."""
        measured = self.seconds if self.records is None else self.records / _SLOWEST
        return _SET_UP + 3 * (measured + self.warm_up)


@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    """What one worker is told. It holds secrets, so it goes through a pipe."""

    module: str
    """The adapter of the client."""
    topic: str
    workload: Workload
    connection: Mapping[str, Any] = field(repr=False)
    """Options of a client, as `portable` makes them."""

    def document(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def of(cls, document: Mapping[str, Any]) -> Self:
        return cls(**{**document, "workload": Workload(**document["workload"])})


def portable(config: ProducerConfig) -> dict[str, Any]:
    """The options that are not at their defaults, as values of JSON; secrets are legible.

    Serializers are left out: the records are bytes.
    """
    return {
        name: _plain(value) for name, value in changed(config).items() if name not in _SERIALIZERS
    }


def _plain(value: Any) -> Any:
    if isinstance(value, TokenFile):
        return value.name
    return value.reveal() if isinstance(value, Secret) else value


def configured(cls: type[C], connection: Mapping[str, Any], **options: Any) -> C:
    """The configuration of a client, from what `portable` has made."""
    given = dict(connection)
    if _TOKENS in given:
        given[_TOKENS] = TokenFile(given[_TOKENS])
    if _EXTENSIONS in given:
        given[_EXTENSIONS] = tuple(map(tuple, given[_EXTENSIONS]))
    return cls.from_options({**given, **options})
