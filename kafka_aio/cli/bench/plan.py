"""What a benchmark does, and what a worker is told of it, as JSON. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Final, Self, TypeVar

from kafka_aio.cli.configuration import changed
from kafka_aio.cli.credentials import TokenFile
from kafka_aio.config import ClientConfig
from kafka_aio.config.option import Secret, kinds

PATHS: Final = ("submit", "many", "arrow")
"""How records can be given to a client."""
READ_PATHS: Final = ("lists", "each", "arrow")
"""How they can be had from it."""

_TOKENS: Final = "sasl_oauthbearer_token_provider"
_EXTENSIONS: Final = "sasl_oauthbearer_extensions"
_FOR_BYTES: Final = (
    "key_deserializer",
    "key_serializer",
    "value_deserializer",
    "value_serializer",
)
_SET_UP: Final = 60.0
"""Seconds for all that a worker does before and after."""
_SLOWEST: Final = 5_000
"""So many records a second each client writes or reads at least."""

C = TypeVar("C", bound=ClientConfig)


@dataclass(frozen=True, slots=True, kw_only=True)
class Workload:
    """What is done, the same for every client."""

    kind: str = "produce"
    path: str = "submit"
    """How records are given to a client that is to produce as many as it can, or had from it."""
    record_size: int = 100
    """Bytes of a value."""
    keyed: bool = False
    partitions: int = 6
    codec: str = "none"
    acks: str = "all"
    linger_ms: int = 5
    batch_size: int = 65_536
    max_partition_fetch_bytes: int = 4 * 2**20
    records: int | None = None
    """How many to write; if none, as many as go into `seconds`. Who reads needs both: it ends after
    all that there are, or after that time."""
    seconds: float = 5.0
    warm_up: float = 1.0
    """Seconds of the same before anything is measured."""
    tasks: int = 1_000
    """How many write at the same time, each one record after the other."""
    rate: int | None = None
    """Records a second that are sent from end to end; if none, one after the other."""
    loop: str = "asyncio"
    is_watched: bool = False
    """Whether every callback of the loop is timed."""
    seed: int = 1

    @property
    def reads(self) -> bool:
        """Whether records are read that were written before."""
        return self.kind == "consume"

    @property
    def way(self) -> str:
        """The name of the work that a client has to know."""
        if self.reads:
            return f"read_{self.path}"
        return self.path if self.kind == "produce" else self.kind.replace("-", "_")

    @property
    def patience(self) -> float:
        """Seconds after which a worker is given up."""
        is_timed = self.records is None or self.reads
        measured = self.seconds if is_timed else (self.records or 0) / _SLOWEST
        return _SET_UP + 3 * (measured + self.warm_up)

    def filling(self) -> Workload:
        """What has to be written before it can be read."""
        return replace(self, kind="produce", path="many", warm_up=0.0, is_watched=False)


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


def portable(config: ClientConfig) -> dict[str, Any]:
    """The options that are not at their defaults, as values of JSON; secrets are legible.

    Serializers and deserializers are left out: the records are bytes.
    """
    return {
        name: _plain(value) for name, value in changed(config).items() if name not in _FOR_BYTES
    }


def _plain(value: Any) -> Any:
    if isinstance(value, TokenFile):
        return value.name
    return value.reveal() if isinstance(value, Secret) else value


def configured(cls: type[C], connection: Mapping[str, Any], **options: Any) -> C:
    """The configuration of a client, from what `portable` has made, of this client or another."""
    known = kinds(cls)
    given = {name: value for name, value in connection.items() if name in known}
    if _TOKENS in given:
        given[_TOKENS] = TokenFile(given[_TOKENS])
    if _EXTENSIONS in given:
        given[_EXTENSIONS] = tuple(map(tuple, given[_EXTENSIONS]))
    return cls.from_options({**given, **options})
