"""The work of one worker: records to write or read, when it is over, and what is measured."""

from __future__ import annotations

import gc
import random
import resource
from array import array
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from functools import cached_property
from itertools import cycle, repeat
from math import ceil, inf
from pathlib import Path
from time import perf_counter
from typing import Any, Final, NamedTuple

from kafka_aio.cli.bench.plan import Order
from kafka_aio.cli.bench.stalls import Callbacks, Ticker

Chunk = tuple[list[bytes], list[bytes] | None]
"""Values, and their keys if they have any."""

_POOL: Final = 20_000
"""So many different records there are, which come again and again,"""
_POOL_BYTES: Final = 20 * 2**20
"""if they are not larger than this together."""
_KEY_BYTES: Final = 8
_TIMED: Final = ("latency", "end-to-end")
"""The kinds in which single records are timed."""
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


EMPTY: Final = Pool([], None)


class Run:
    """One stretch of work: the warm-up, or what is measured."""

    def __init__(self, pool: Pool = EMPTY, *, seconds: float = inf, records: float = inf) -> None:
        """Begin; it is over after that time, or after so many records."""
        self._pool = pool
        self._limit = records
        self._over_at = perf_counter() + seconds
        self.sent = 0
        """How many records were handed out, or have come."""
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

    def has_read(self, count: int) -> bool:
        """So many records have come; whether it goes on."""
        self.sent += count
        return self.sent < self._limit and perf_counter() < self._over_at

    def portion(self, count: int) -> int:
        """So many records can be read before anybody looks at the clock."""
        return int(min(count, self._limit - self.sent))

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
        topic: Where to write, or what to read.
        group: As whom to read.
        load: What is done.
        connection: Options of a client, with our names.
        run: The stretch at hand.
        result: What was measured.
    """

    def __init__(self, order: Order) -> None:
        self.topic = order.topic
        self.group = f"{order.topic}-{random.SystemRandom().getrandbits(32):08x}"
        self.load = order.workload
        self.connection = order.connection
        self.run: Run | None = None
        self.result: dict[str, Any] | None = None
        self._read = 0

    @cached_property
    def pool(self) -> Pool:
        """The records to write."""
        rng = random.Random(self.load.seed)
        count = max(1, min(_POOL, _POOL_BYTES // self.load.record_size))
        keys = [b"%08x" % rng.getrandbits(32) for _ in range(count)] if self.load.keyed else None
        return Pool(values(self.load.record_size, count, rng), keys)

    @property
    def record_bytes(self) -> int:
        return self.load.record_size + (_KEY_BYTES if self.load.keyed else 0)

    def runs(self) -> Iterator[Run]:
        """The warm-up, then what is measured: from the first call to the last delivery.

        Who reads warms up until the first records are there: then it is a member of its group.
        """
        load = self.load
        if load.reads:
            self.run = Run(records=1)
            yield self.run
            self._read = self.run.sent
        elif load.warm_up:
            self.run = Run(self.pool, seconds=load.warm_up)
            yield self.run
        gc.collect()
        ticker = Ticker(is_wanted=load.kind not in _TIMED)  # it would be in the way there
        callbacks = Callbacks(is_wanted=load.is_watched)
        cpu = _cpu_seconds()
        began_at = perf_counter()
        self.run = self._measured()
        yield self.run
        seconds = perf_counter() - began_at
        cpu = _cpu_seconds() - cpu
        callbacks.ended()
        stall = ticker.ended()
        self.result = {
            "records": self.run.sent,
            "bytes": self.run.sent * self.record_bytes,
            "seconds": seconds,
            "cpu_seconds": cpu,
            "memory_bytes": peak_memory(),
            "stall_seconds": stall,
            "ticks": up_to_longest(ticker.gaps),
            "callbacks": up_to_longest(callbacks.seconds),
            "latency": percentiles(self.run.latencies),
            "failures": self.run.failures,
            "error": self.run.error,
        }

    def check(self, positions: Iterable[int]) -> None:
        """Hold what was read, all in all, against where the client is in each partition.

        Raises:
            ValueError: Records are missing, or have come twice.
        """
        assert self.run is not None
        read, there = self._read + self.run.sent, sum(max(0, each) for each in positions)
        if read != there:
            raise ValueError(f"{read} records have come of the {there} up to its positions")

    def _measured(self) -> Run:
        load = self.load
        if load.reads:
            assert load.records is not None
            return Run(seconds=load.seconds, records=load.records - self._read)
        if load.records is None:
            return Run(self.pool, seconds=load.seconds)
        return Run(self.pool, records=load.records)


def percentiles(latencies: Sequence[float]) -> dict[str, float] | None:
    """By the nearest rank: so long did that part of the calls take at most."""
    if not latencies:
        return None
    ordered = sorted(latencies)
    return {
        name: ordered[max(0, ceil(part * len(ordered)) - 1)] for name, part in _PERCENTILES.items()
    }


def up_to_longest(times: Sequence[float]) -> dict[str, float] | None:
    """The same, and the longest of all."""
    found = percentiles(times)
    return found and {**found, "longest": max(times)}


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
