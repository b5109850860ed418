"""Feeds the decoders broken bytes: `python -m tests.fuzz --seconds 60`.

Each target runs in a process of its own, so that a crash is noticed and its input kept. An input
fails if it raises anything but a ProtocolError, ends the process, takes more than MOST_SECONDS, or
makes the process take more than MOST_MEMORY. The inputs follow from the seed. A failing one is
written to a file, with the command that repeats it. `--target broker` is a live broker: see `live`.
"""

from __future__ import annotations

import argparse
import faulthandler
import hashlib
import mmap
import os
import random
import resource
import signal
import struct
import subprocess
import sys
import tempfile
import time
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Protocol

MOST_SECONDS = 5.0
MOST_MEMORY = 128 << 20
"""Beyond what the process had before its first input, by pages really used."""
MOST_ADDRESSES = 1 << 30
"""Beyond what it had, by addresses asked for: more is a MemoryError, and so a failure."""
BOX_BYTES = 4 << 20
HEAD = struct.Struct("=QQ")
"""Of the box that parent and child share: inputs begun, bytes of the one at hand."""


class Target(Protocol):
    """Something to feed."""

    name: str

    def make(self, rng: random.Random) -> bytes: ...

    def run(self, given: bytes) -> None: ...


def _records() -> Target:
    from tests.fuzz.records import Records

    return Records()


def _messages() -> Target:
    from tests.fuzz.messages import Messages

    return Messages()


def _broker(*, planted: bool = False) -> Target:
    from tests.fuzz.live import Broker

    return Broker(planted=planted)


def _planted(name: str) -> Callable[[], Target]:
    def make() -> Target:
        from tests.fuzz import planted

        target: Target = getattr(planted, name)()
        return target

    return make


REAL = {"records": _records, "messages": _messages}
TARGETS: dict[str, Callable[[], Target]] = {
    **REAL,
    "broker": _broker,
    "planted-broker": lambda: _broker(planted=True),
    "planted": _planted("Planted"),
    "planted-crash": _planted("PlantedCrash"),
    "planted-hang": _planted("PlantedHang"),
    "planted-greed": _planted("PlantedGreed"),
}


# -- the child: makes inputs and feeds them


def feed(name: str, seed: int, seconds: float, box: mmap.mmap) -> int:
    """Feed one target until the time is over. Returns 1 at the first failure."""
    target = TARGETS[name]()
    rng = random.Random(f"{name} {seed}")
    end = time.monotonic() + seconds
    count, bound = 0, _bound_memory()
    while count % 64 or time.monotonic() < end:
        given = target.make(rng)[: BOX_BYTES - HEAD.size]
        count += 1
        box[HEAD.size : HEAD.size + len(given)] = given
        HEAD.pack_into(box, 0, count, len(given))
        try:
            run_bounded(target, given, bound)
        except BaseException:
            traceback.print_exc()
            return 1
    return 0


def run_bounded(target: Target, given: bytes, bound: int) -> None:
    """Run one input; too much time or memory is a failure as well."""
    begun = time.monotonic()
    target.run(given)
    took = time.monotonic() - begun
    if took > MOST_SECONDS:
        raise AssertionError(f"it took {took:.1f} s")
    if _peak() > bound:
        raise AssertionError(f"the process grew beyond {bound >> 20} MiB")


def _bound_memory() -> int:
    """Bound the addresses of this process. Returns what it may have in memory at the most."""
    addresses = _addresses() + MOST_ADDRESSES
    resource.setrlimit(resource.RLIMIT_AS, (addresses, resource.RLIM_INFINITY))
    return _peak() + MOST_MEMORY


def _peak() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def _addresses() -> int:
    return int(Path("/proc/self/statm").read_text().split()[0]) * mmap.PAGESIZE


# -- the parent: watches


class Watched:
    """A child process and the box in which it shows what it is at."""

    def __init__(self, name: str, seed: int, seconds: float, folder: Path) -> None:
        self.name = name
        self.failure = ""
        self._file = folder / f"{name}.box"
        self._file.write_bytes(bytes(BOX_BYTES))
        with self._file.open("r+b") as opened:
            self._box = mmap.mmap(opened.fileno(), BOX_BYTES)
        self._last = (0, time.monotonic())
        arguments = ["--child", str(self._file), "--target", name, "--seed", str(seed)]
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.fuzz", *arguments, "--seconds", str(seconds)]
        )

    @property
    def count(self) -> int:
        count: int = HEAD.unpack_from(self._box)[0]
        return count

    @property
    def given(self) -> bytes:
        size = HEAD.unpack_from(self._box)[1]
        return self._box[HEAD.size : HEAD.size + size]

    def is_running(self) -> bool:
        """Look whether it is alive and moves; note what is wrong."""
        code = self._process.poll()
        if code is None:
            if self.count != self._last[0] or not self.count:
                self._last = (self.count, time.monotonic())
            elif time.monotonic() - self._last[1] > 2 * MOST_SECONDS:
                self._process.kill()
                self._process.wait()
                self.failure = "it hangs"
                return False
            return True
        if code < 0:
            self.failure = f"it ended the process with {signal.Signals(-code).name}"
        elif code:
            self.failure = "it failed as shown above"
        return False

    def stop(self) -> None:
        if self._process.poll() is None:
            self._process.kill()
            self._process.wait()


def watch(names: list[str], seed: int, seconds: float) -> int:
    """Run the targets side by side. Returns the number of those that failed."""
    with tempfile.TemporaryDirectory() as scratch:
        children = [Watched(name, seed, seconds, Path(scratch)) for name in names]
        running, begun, told = list(children), time.monotonic(), 0
        try:
            while running:
                time.sleep(0.1)
                running = [child for child in running if child.is_running()]
                passed = time.monotonic() - begun
                if passed // 10 > told:
                    told = int(passed // 10)
                    counts = ", ".join(f"{child.name} {child.count:,}" for child in children)
                    print(f"{passed:5.0f} s  {counts} inputs", flush=True)
        finally:
            for child in children:
                child.stop()
        failed = [child for child in children if child.failure]
        for child in failed:
            _keep(child, seed)
        total = sum(child.count for child in children)
        each = ", ".join(f"{child.name} {child.count:,}" for child in children)
    print(f"{total:,} inputs ({each}), seed {seed}, {len(failed)} failures", flush=True)
    return len(failed)


def _keep(child: Watched, seed: int) -> None:
    given = child.given
    folder = Path(tempfile.gettempdir()) / "kafka-aio-fuzz"
    folder.mkdir(exist_ok=True)
    file = folder / f"{child.name}-{hashlib.sha256(given).hexdigest()[:12]}.bin"
    file.write_bytes(given)
    print(f"{child.name}: input {child.count} of seed {seed}: {child.failure}")
    print(f"  repeat: python -m tests.fuzz --target {child.name} --replay {file}", flush=True)


def replay(name: str, file: Path) -> int:
    run_bounded(TARGETS[name](), file.read_bytes(), _bound_memory())
    print(f"{file.name}: no failure")
    return 0


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--seed", type=int, default=0, help="another seed, other inputs")
    parser.add_argument("--target", choices=["all", *TARGETS], default="all")
    parser.add_argument("--replay", type=Path, metavar="FILE", help="run one input, here")
    parser.add_argument("--child", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.replay:
        return replay(options.target, options.replay)
    if options.child:
        faulthandler.enable()
        with options.child.open("r+b") as opened, mmap.mmap(opened.fileno(), BOX_BYTES) as box:
            return feed(options.target, options.seed, options.seconds, box)
    names = list(REAL) if options.target == "all" else [options.target]
    os.environ.setdefault("PYTHONHASHSEED", "0")
    return 1 if watch(names, options.seed, options.seconds) else 0


if __name__ == "__main__":
    sys.exit(main())
