"""Bytes broken in the ways that hurt decoders."""

from __future__ import annotations

import random
import struct
from collections.abc import Callable, Sequence

_NUMBERS = (0, 1, -1, 2, 7, 13, 14, 48, 49, 61, 127, 128, 255, 256, 1000, 32767, -32768, 65536)
INTERESTING: Sequence[bytes] = [
    *(struct.pack(">b", number) for number in (0, 1, -1, 2, 127, -128)),
    *(struct.pack(">h", number) for number in (*_NUMBERS[:-1], 2**15 - 1)),
    *(struct.pack(">i", number) for number in (*_NUMBERS, 2**31 - 1, -(2**31), 10**6, 2**24)),
    *(struct.pack(">q", number) for number in (*_NUMBERS, 2**63 - 1, -(2**63), 2**31, 2**32)),
    *(b"\xff" * size + b"\x0f" for size in (1, 2, 3, 4)),
    *(b"\x80" * size + b"\x01" for size in (1, 2, 3, 4, 9)),
    *(b"\xfe" + b"\xff" * size + b"\x01" for size in (3, 8)),
    b"\x80" * 11,
]

Mutation = Callable[[random.Random, bytearray], None]


def _place(rng: random.Random, data: bytearray) -> int:
    """Somewhere; often near the start, where the lengths and counts are."""
    return rng.randrange(min(len(data), 80) if rng.random() < 0.5 else len(data))


def _flip(rng: random.Random, data: bytearray) -> None:
    data[_place(rng, data)] ^= 1 << rng.randrange(8)


def _set(rng: random.Random, data: bytearray) -> None:
    data[_place(rng, data)] = rng.randrange(256)


def _overwrite(rng: random.Random, data: bytearray) -> None:
    number, at = rng.choice(INTERESTING), _place(rng, data)
    data[at : at + len(number)] = number


def _insert(rng: random.Random, data: bytearray) -> None:
    at = _place(rng, data)
    data[at:at] = rng.choice(INTERESTING)


def _delete(rng: random.Random, data: bytearray) -> None:
    at = _place(rng, data)
    del data[at : at + rng.randrange(1, 9)]


def _truncate(rng: random.Random, data: bytearray) -> None:
    del data[rng.randrange(len(data)) :]


def _repeat(rng: random.Random, data: bytearray) -> None:
    at = _place(rng, data)
    data[at:at] = data[at : at + rng.randrange(1, 64)]


_MUTATIONS: Sequence[Mutation] = (
    _flip,
    _flip,
    _set,
    _overwrite,
    _overwrite,
    _insert,
    _delete,
    _repeat,
)


def mutate(rng: random.Random, source: bytes, other: bytes) -> bytearray:
    """A few mutations of `source`; now and then cut, or spliced with `other`, or only noise."""
    kind = rng.random()
    if kind < 0.02:
        return bytearray(rng.randbytes(rng.randrange(200)))
    data = bytearray(source)
    if kind < 0.08 and data:
        data[rng.randrange(len(data)) :] = other[rng.randrange(len(other) + 1) :]
    elif kind < 0.16 and data:
        _truncate(rng, data)
    for _ in range(rng.choice((0, 1, 1, 1, 2, 3, 8))):
        if data:
            rng.choice(_MUTATIONS)(rng, data)
    return data
