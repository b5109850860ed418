"""The wall clock and chance: what a client asks of the world, beyond its loop.

Tokens end by the wall clock; whatever else waits goes by the clock of the loop. Jitter, nonces and
ids come from the system's random numbers.

A loop whose time is not real puts its own clock and numbers here while it runs (`replaced`), for
its thread alone. So what asks need not know on which loop it runs.
"""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from math import isnan


class _World(threading.local):
    """What there is to ask, in this thread."""

    wall_time: Callable[[], float] = time.time
    rng: random.Random = random.SystemRandom()


_world = _World()


def wall_time() -> float:
    """Seconds since 1970. It may jump, when somebody sets the clock."""
    return _world.wall_time()


def wall_clock() -> Callable[[], float]:
    """The function behind `wall_time`, for who asks so often that finding it counts."""
    return _world.wall_time


def rng() -> random.Random:
    """Where jitter, nonces and ids come from, unless the caller brings something else."""
    return _world.rng


@contextmanager
def replaced(*, wall_time: Callable[[], float], rng: random.Random) -> Iterator[None]:
    """Another wall clock, and numbers that can be foreseen, for this thread and block."""
    before = _world.wall_time, _world.rng
    _world.wall_time, _world.rng = wall_time, rng
    try:
        yield
    finally:
        _world.wall_time, _world.rng = before


def seconds(timeout: float | None, default: float) -> float:
    """The time that a call has.

    Raises:
        TypeError, ValueError: It is not a number of seconds.
    """
    if timeout is None:
        return default
    if isinstance(timeout, bool) or not isinstance(timeout, int | float):
        raise TypeError(f"timeout is a number of seconds, not <{type(timeout).__qualname__}>")
    if isnan(timeout):
        raise ValueError("timeout is a number of seconds, not nan")
    return timeout
