"""Rows of a benchmark: ours beside a peer's, as a ratio, with the goal it is held against.

The two sides take turns, and the best of their rounds counts: what else the machine does only ever
adds time.
"""

from __future__ import annotations

import gc
import json
import platform
import time
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass
from pathlib import Path

from benchmarks import figures

RESULTS = Path(__file__).parent / "results"


@dataclass(frozen=True, kw_only=True)
class Row:
    """One line of the table. Times are nanoseconds for one unit, so a ratio above 1 is our gain."""

    name: str
    peer_name: str
    ours: float
    peer: float
    goal: float
    """The ratio to reach; 0 where there is none, and the figures are only stated."""
    unit: str = "ns"
    note: str = ""
    """What bounds the row; shown where the goal is not reached."""

    @property
    def ratio(self) -> float:
        return self.ours / self.peer if self.unit.endswith("/s") else self.peer / self.ours

    @property
    def reached(self) -> bool:
        return self.ratio >= self.goal


def best_of(rounds: int, *works: Callable[[], object]) -> list[float]:
    """The least seconds each work took, all taking turns."""
    least = [float("inf")] * len(works)
    gc.collect()
    gc.disable()
    try:
        for _ in range(rounds):
            for index, work in enumerate(works):
                for _ in range(3):  # the first finds the caches as the others left them
                    started = time.perf_counter()
                    work()
                    least[index] = min(least[index], time.perf_counter() - started)
    finally:
        gc.enable()
    return least


def table(rows: Iterable[Row]) -> str:
    lines = [f"{'':44}{'ours':>10}{'peer':>10}{'ratio':>9}{'goal':>8}"]
    for row in rows:
        goal = f"{row.goal:.3g}x" if row.goal else "-"
        lines.append(
            f"{row.name:44}{row.ours:>10.1f}{row.peer:>10.1f}{row.ratio:>8.1f}x{goal:>8}"
            f"  {row.unit}, against {row.peer_name}{_mark(row)}"
        )
    return "\n".join(lines)


def _mark(row: Row) -> str:
    """What is to be said of a goal that is not reached."""
    if row.reached:
        return ""
    short = f"   short by {1 - row.ratio / row.goal:.0%}"
    return f"{short}: {row.note}" if row.note else short


def save(name: str, rows: Iterable[Row], **facts: object) -> Path:
    """Write the rows to results/NAME.json, with where they were measured, and to the docs."""
    RESULTS.mkdir(exist_ok=True)
    path = RESULTS / f"{name}.json"
    content = {
        "python": platform.python_version(),
        "machine": f"{platform.system()} {platform.machine()}",
        **facts,
        "rows": [
            asdict(row)
            | {"ratio": round(row.ratio, 2), "reached": row.reached if row.goal else None}
            for row in rows
        ],
    }
    path.write_text(json.dumps(content, indent=2) + "\n")
    figures.write()
    return path
