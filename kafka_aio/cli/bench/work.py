"""The work of one worker: records to write, when it is over, and what is measured meanwhile."""

from __future__ import annotations

import asyncio
import gc
import random
import resource
from array import array
from collections.abc import Iterator, Sequence
from contextlib import suppress
from itertools import cycle, repeat
from math import ceil, inf
from pathlib import Path
from time import perf_counter
from typing import Any, Final, NamedTuple

from kafka_aio.cli.bench.plan import Order

Chunk = tuple[list[bytes], list[bytes] | None]
"""Values, and their keys if they have any."""

_POOL: Final = 20_000
"""So many different records there are, which come again and again,"""
_POOL_BYTES: Final = 20 * 2**20
"""if they are not larger than this together."""
_KEY_BYTES: Final = 8
_TICK: Final = 0.001
_PERCENTILES: Final = {"p50": 0.5, "p99": 0.99, "p999": 0.999}
_WORDS: Final = (
    "order",
    "paid",
    "late",
    "return",
    "blue",
    "small",
    "card",
    "gift",
    "Osaka",
    "Lima",
)


def values(size: int, count: int, rng: random.Random) -> list[bytes]:
    """Rows like JSON, with random fields: repeated text would compress better than any data."""
    return [_row(size, rng) for _ in range(count)]


def _row(size: int, rng: random.Random) -> bytes:
    text = f'{{"id":{rng.getrandbits(40)},"user":"{rng.getrandbits(32):08x}","price":'
    text += f'{rng.randrange(10**6) / 100},"text":"'
    words = []
    left = size - len(text) - 2
    while left > 0:
        word = rng.choice(_WORDS) if rng.random() < 0.7 else f"{rng.getrandbits(36):x}"
        words.append(word)
        left -= len(word) + 1
    text += " ".join(words)
    return (text[: size - 2].ljust(size - 2, ".") + '"}')[:size].encode()


class Pool(NamedTuple):
    """All records that there are: they come again and again."""

    values: list[bytes]
    keys: list[bytes] | None

    def part(self, start: int, stop: int) -> Chunk:
        return self.values[start:stop], None if self.keys is None else self.keys[start:stop]


class Run:
    """One stretch of work: the warm-up, or what is measured."""

    def __init__(self, pool: Pool, *, seconds: float = inf, records: float = inf) -> None:
        """Begin; it is over after that time, or after so many records."""
        self._pool = pool
        self._limit = records
        self._over_at = perf_counter() + seconds
        self.sent = 0
        """How many records were handed out."""
        self.failures = 0
        self.error = ""
        """What the first failure was."""
        self.latencies = array("d")

    def failed(self, error: object, count: int = 1) -> None:
        """Records were not delivered."""
        self.failures += count
        self.error = self.error or f"{type(error).__name__}: {error}"

    def take(self, count: int) -> int:
        """How many records to write now; 0 if it is over."""
        if perf_counter() >= self._over_at:
            return 0
        count = int(min(count, self._limit - self.sent))
        self.sent += count
        return count

    def spans(self, size: int) -> Iterator[tuple[int, int]]:
        """Parts of the pool, until it is over."""
        size = min(size, len(self._pool.values))
        starts = cycle(range(0, len(self._pool.values) - size + 1, size))
        while count := self.take(size):
            start = next(starts)
            yield start, start + count

    def chunks(self, size: int) -> Iterator[Chunk]:
        """Lists of records, until it is over."""
        return (self._pool.part(*span) for span in self.spans(size))

    def records(self) -> Iterator[tuple[bytes, bytes | None]]:
        """Single records, until it is over. Several tasks may take from it in turn."""
        values, keys = self._pool
        every = cycle(list(zip(values, keys or repeat(None), strict=False)))
        while self.take(1):
            yield next(every)


class Work:
    """All that an adapter needs; and what has come of it.

    Attributes:
        topic: Where to write.
        load: What is done.
        connection: Options of a client, with our names.
        pool: The records.
        run: The stretch at hand.
        result: What was measured.
    """

    def __init__(self, order: Order) -> None:
        self.topic = order.topic
        self.load = order.workload
        self.connection = order.connection
        self.run: Run | None = None
        self.result: dict[str, Any] | None = None
        rng = random.Random(self.load.seed)
        count = max(1, min(_POOL, _POOL_BYTES // self.load.record_size))
        keys = [b"%08x" % rng.getrandbits(32) for _ in range(count)] if self.load.keyed else None
        self.pool = Pool(values(self.load.record_size, count, rng), keys)

    @property
    def record_bytes(self) -> int:
        return self.load.record_size + (_KEY_BYTES if self.load.keyed else 0)

    def runs(self) -> Iterator[Run]:
        """The warm-up, then what is measured: from the first call to the last delivery."""
        load = self.load
        if load.warm_up:
            self.run = Run(self.pool, seconds=load.warm_up)
            yield self.run
        gc.collect()
        stall = _Stall(is_wanted=load.kind != "latency")  # its timer would be in the way there
        cpu = _cpu_seconds()
        began_at = perf_counter()
        if load.records is None:
            self.run = Run(self.pool, seconds=load.seconds)
        else:
            self.run = Run(self.pool, records=load.records)
        yield self.run
        seconds = perf_counter() - began_at
        cpu = _cpu_seconds() - cpu
        self.result = {
            "records": self.run.sent,
            "bytes": self.run.sent * self.record_bytes,
            "seconds": seconds,
            "cpu_seconds": cpu,
            "memory_bytes": peak_memory(),
            "stall_seconds": stall.ended(),
            "latency": percentiles(self.run.latencies),
            "failures": self.run.failures,
            "error": self.run.error,
        }


class _Stall:
    """The longest time that the loop at hand, if there is one, has let a timer of 1 ms wait."""

    def __init__(self, *, is_wanted: bool) -> None:
        self._longest = 0.0
        self._loop: asyncio.AbstractEventLoop | None = None
        self._timer: asyncio.TimerHandle | None = None
        if not is_wanted:
            return
        with suppress(RuntimeError):
            self._loop = asyncio.get_running_loop()
            self._wait()

    def _wait(self) -> None:
        assert self._loop is not None
        self._at = perf_counter() + _TICK
        self._timer = self._loop.call_later(_TICK, self._tick)

    def _tick(self) -> None:
        self._longest = max(self._longest, perf_counter() - self._at)
        self._wait()

    def ended(self) -> float | None:
        if self._timer is None:
            return None
        self._timer.cancel()
        return max(self._longest, perf_counter() - self._at)


def percentiles(latencies: Sequence[float]) -> dict[str, float] | None:
    """By the nearest rank: so long did that part of the calls take at most."""
    if not latencies:
        return None
    ordered = sorted(latencies)
    return {
        name: ordered[max(0, ceil(part * len(ordered)) - 1)] for name, part in _PERCENTILES.items()
    }


def peak_memory() -> int:
    """The most bytes that this process has had in memory."""
    with suppress(OSError):
        # Not ru_maxrss where there is this: that begins with what the parent had.
        for line in Path("/proc/self/status").read_text().splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) * 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def _cpu_seconds() -> float:
    """Of all threads of this process."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime
