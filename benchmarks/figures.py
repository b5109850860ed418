"""Writes docs/figures.md from benchmarks/results: what was measured last, beside its goal.

    python -m benchmarks.figures

Every benchmark does so when it has saved its rows: no figure is typed in by hand.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent
RESULTS = ROOT / "benchmarks" / "results"
FIGURES = ROOT / "docs" / "figures.md"
TITLES = {
    "produce": "Producing, on a real Kafka",
    "consume": "Consuming, from a real Kafka",
    "spark": "Spark, with a real Kafka",
    "bridge": "The bridge of the Spark connector, beside plain asyncio",
    "codec": "Record batches",
    "protocol": "Messages",
    "net": "Frames over a connection",
    "broker": "The embedded broker",
}
INTRODUCTION = """\
# Figures

What `make bench` measured last: ours beside a peer's, in one run on one machine.
The benchmarks write this page.
A ratio above 1 is our gain.
A row without a goal is only stated; **bold** is a goal that is not reached.
The files in `benchmarks/results/` have the rest: spreads, CPU, memory, every client.
"""
HEADING = """\
| what | beside | ours | theirs | unit | ratio | goal |
|---|---|--:|--:|---|--:|--:|
"""


def text() -> str:
    """The page, as it should be."""
    return INTRODUCTION + "".join(_section(name, TITLES[name]) for name in TITLES)


def write() -> None:
    FIGURES.write_text(text())


def _section(name: str, title: str) -> str:
    found = json.loads((RESULTS / f"{name}.json").read_text())
    where = [found["machine"], f"Python {found['python']}"]
    where += [found["kafka"]] if "kafka" in found else []
    where += [f"Spark {found['spark']}"] if "spark" in found else []
    target = "spark" if name == "bridge" else name
    head = f"\n## {title}\n\n{', '.join(where)}; `make bench-{target}`.\n\n"
    return head + HEADING + "".join(map(_line, found["rows"]))


def _line(row: dict[str, Any]) -> str:
    ratio, goal = f"{row['ratio']:.2f}x", "-"
    if row["goal"]:
        goal = f"{row['goal']:.3g}x"
        ratio = ratio if row["reached"] else f"**{ratio}**"
    ours, theirs = (_number(row[side]) for side in ("ours", "peer"))
    cells = (row["name"], row["peer_name"], ours, theirs, row["unit"], ratio, goal)
    return f"| {' | '.join(cells)} |\n"


def _number(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


if __name__ == "__main__":
    write()
