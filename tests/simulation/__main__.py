"""Runs the simulation on many seeds, or tells the story of one.

python -m tests.simulation --seeds 1000
python -m tests.simulation --seed 7 --verbose
"""

from __future__ import annotations

import argparse
import logging
import multiprocessing
import os
import sys
import time
from collections.abc import Iterable
from concurrent.futures import ProcessPoolExecutor, as_completed

from kafka_aio.testing import VirtualLoop
from tests.simulation.plan import Plan
from tests.simulation.seeds import Outcome, run
from tests.simulation.world import simulate

TELL_EVERY = 5.0


class Progress:
    """A line from time to time; on a terminal, one that stays in its place."""

    def __init__(self, total: int) -> None:
        self._total = total
        self._begun = self._told = time.monotonic()
        self._is_terminal = sys.stdout.isatty()
        self.done = self.failed = self.records = self.faults = 0

    def add(self, outcome: Outcome) -> None:
        self.done += 1
        self.records += outcome.records
        self.faults += outcome.faults
        if outcome.failure:
            self.failed += 1
            self._clear()
            print(outcome.failure, flush=True)
        now = time.monotonic()
        if self._is_terminal or now - self._told >= TELL_EVERY:
            self._told = now
            print(f"\r{self}" if self._is_terminal else self, end=self._end(), flush=True)

    def finish(self) -> None:
        self._clear()
        print(self, flush=True)

    def __str__(self) -> str:
        passed = time.monotonic() - self._begun
        left = passed / max(self.done, 1) * (self._total - self.done)
        ahead = f", {left:.0f} s to go" if self.done < self._total else ""
        return (
            f"{self.done} of {self._total} seeds in {passed:.0f} s: {self.records:,} records,"
            f" {self.faults:,} faults, {self.failed} seeds failed{ahead}"
        )

    def _clear(self) -> None:
        if self._is_terminal:
            print("\r\033[K", end="")

    def _end(self) -> str:
        return "\033[K" if self._is_terminal else "\n"


def run_all(seeds: Iterable[int], processes: int) -> int:
    """Run them side by side. Returns how many failed."""
    chosen = list(seeds)
    progress = Progress(len(chosen))
    with ProcessPoolExecutor(processes, multiprocessing.get_context("spawn")) as pool:
        for future in as_completed([pool.submit(run, seed) for seed in chosen]):
            progress.add(future.result())
    progress.finish()
    return progress.failed


def tell(seed: int, *, verbose: bool) -> int:
    """Run one seed here. Returns 1 if it failed."""
    if verbose:
        _log_everything()
        print(Plan.of(seed), flush=True)
    result = simulate(seed, logging.getLogger("weather").info)
    print(result)
    return 1 if result.problems else 0


def _log_everything() -> None:
    """What the producer logs, with the virtual time of it."""

    class AtVirtualTime(logging.Formatter):
        def formatTime(self, record: logging.LogRecord, datefmt: str | None = None) -> str:
            try:
                return f"{VirtualLoop.running().time():.6f}"
            except RuntimeError:  # none runs
                return "-"

    shown = logging.StreamHandler(sys.stdout)
    shown.setFormatter(AtVirtualTime("%(asctime)s %(name)s: %(message)s"))
    logging.basicConfig(level=logging.DEBUG, handlers=[shown])


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.simulation", description=__doc__)
    parser.add_argument("--seeds", type=int, default=100, help="how many to run")
    parser.add_argument("--first", type=int, default=0, help="the first of them")
    parser.add_argument("--seed", type=int, help="run this one alone")
    parser.add_argument("--verbose", action="store_true", help="with --seed: tell all of it")
    parser.add_argument("--processes", type=int, default=os.cpu_count() or 1)
    options = parser.parse_args()
    if options.seed is not None:
        return tell(options.seed, verbose=options.verbose)
    seeds = range(options.first, options.first + options.seeds)
    return 1 if run_all(seeds, options.processes) else 0


if __name__ == "__main__":
    sys.exit(main())
