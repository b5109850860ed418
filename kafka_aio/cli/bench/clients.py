"""Which clients take part: ours, the ceiling, and the peers that a checkout has adapters for. Pure.

An adapter is a module with a function for each way to write that its client has: submit, many,
arrow, tasks, latency; plain or `async def`, each takes a `work.Work`.
"""

from __future__ import annotations

from collections.abc import Collection
from importlib import metadata
from pathlib import Path
from typing import Final, NamedTuple

from kafka_aio.errors import ConfigError

ROOT: Final = Path(__file__).parents[3]
"""The checkout, if this is one."""
PACKAGE: Final = "benchmarks.peers"


class Client(NamedTuple):
    """Who takes part."""

    name: str
    module: str
    version: str = ""

    @property
    def is_peer(self) -> bool:
        return self not in (OURS, CEILING)


OURS: Final = Client("kafka-aio", "kafka_aio.cli.bench.ours")
CEILING: Final = Client("ceiling", "kafka_aio.cli.bench.ceiling")


def peers(wanted: Collection[str] = (), *, root: Path = ROOT) -> tuple[list[Client], list[str]]:
    """The peers that can be run, and what is to be said about those that cannot.

    Args:
        wanted: Their names; all if none is given.
        root: The checkout.

    Raises:
        ConfigError: There is no adapter for one of them.
    """
    folder = root.joinpath(*PACKAGE.split("."))
    if not folder.is_dir():
        return [], ["--peers needs a checkout of kafka-aio, with its benchmarks/peers: none is run"]
    stems = sorted(path.stem for path in folder.glob("[!_]*.py"))
    modules = {stem.replace("_", "-"): f"{PACKAGE}.{stem}" for stem in stems}
    for name in wanted:
        if name not in modules:
            raise ConfigError(f"--peers: there is no {name!r}, but {', '.join(modules)}")
    found, notes = [], []
    for name in wanted or modules:
        try:
            found.append(Client(name, modules[name], metadata.version(name)))
        except metadata.PackageNotFoundError:
            notes.append(f"{name} is not installed: it is left out")
    return found, notes
