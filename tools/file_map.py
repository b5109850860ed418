"""Writes the file map of docs/design.md anew, from the docstrings of the modules: `make map`.

What a file is for is said once, in its own first line. The mark `●` is for the files that
pyproject.toml lets wait, read a clock or log; see "The purity rule" in docs/design.md.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parent.parent
DESIGN = ROOT / "docs" / "design.md"
SOURCES = (".py", ".pyx", ".h")
HEADING = "\n## File map\n"
INTRODUCTION = """
Every source of both packages, in its own words. `make map` writes it.
Beside a `.pyx` stand its stub (`.pyi`), its twin in plain Python (`_py`), and perhaps a `.pxd`,
which is what other compiled modules may use of it.
"""
ROOMS = (
    "kafka_aio",
    "kafka_aio/errors",
    "kafka_aio/config",
    "kafka_aio/protocol",
    "kafka_aio/protocol/messages",
    "kafka_aio/records",
    "kafka_aio/records/_codec_py",
    "spark_connector",
)


def main() -> None:
    text = DESIGN.read_text()
    before, heading, rest = text.partition(HEADING)
    after = rest[rest.index("\n## ") :]
    DESIGN.write_text(before + heading + INTRODUCTION + "".join(tables()) + "\n" + after)


def tables() -> Iterator[str]:
    impure = exempt()
    for room in rooms():
        yield f"\n### `{room}/`\n\n| file | what it is for | |\n|---|---|---|\n"
        for path in sorted((ROOT / room).iterdir()):
            if path.suffix in SOURCES:
                name = path.relative_to(ROOT).as_posix()
                yield f"| `{name}` | {purpose(path)} | {'●' if path in impure else 'pure'} |\n"


def rooms() -> list[str]:
    """Those in ROOMS, in that order, then any new ones."""
    found = {
        path.parent.relative_to(ROOT).as_posix()
        for package in ("kafka_aio", "spark_connector")
        for path in (ROOT / package).rglob("*.py")
    }
    return [room for room in ROOMS if room in found] + sorted(found - set(ROOMS))


def exempt() -> set[Path]:
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["ruff"]["lint"]
    return {
        path
        for pattern, rules in settings["per-file-ignores"].items()
        if pattern.startswith(("kafka_aio", "spark_connector")) and "TID251" in rules
        for path in ROOT.glob(pattern)
    }


def purpose(path: Path) -> str:
    """The first line of the docstring, without what the other columns and the heading say."""
    opening = r"/\* (.*?)$" if path.suffix == ".h" else r'"""(.*?)(?:"""|$)'
    found = re.search(opening, path.read_text(), re.MULTILINE)
    if found is None:
        raise SystemExit(f"{path.relative_to(ROOT)}: say what it is for, in a docstring")
    line = re.sub(r"\s*Pure[.:].*$", "", found[1])
    line = re.sub(r"^Declarations only(?:, with no limit of lines)?: ", "", line).strip(" .")
    return line.replace("|", "\\|")


if __name__ == "__main__":
    main()
