"""The simulated brokers: where they listen, and whether they are there. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from kafka_aio.protocol.schema import Uuid, uuid_text


class Rng(Protocol):
    """The one source of chance, ids included: `random.Random`, so that a seed repeats a run."""

    def randbytes(self, n: int, /) -> bytes: ...
    def randrange(self, start: int, stop: int, /) -> int: ...
    def random(self) -> float: ...


@dataclass(slots=True)
class Node:
    """One simulated broker."""

    id: int
    host: str
    port: int
    rack: str | None = None
    is_up: bool = True


def new_id(rng: Rng) -> Uuid:
    """A random id for a topic or a cluster; its text does not begin with `-`, as options do."""
    while True:
        made = bytearray(rng.randbytes(16))
        made[6] = made[6] & 0x0F | 0x40  # version 4 of RFC 9562, as Java makes them: never reserved
        made[8] = made[8] & 0x3F | 0x80
        if not uuid_text(found := Uuid(bytes(made))).startswith("-"):
            return found
