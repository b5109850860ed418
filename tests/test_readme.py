"""Every Python block of the README runs as it stands."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

README = Path(__file__).parent.parent / "README.md"


def blocks() -> list[object]:
    text = README.read_text()
    found = re.finditer(r"^```python\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    return [
        pytest.param(match[1], text.count("\n", 0, match.start(1)), id=f"line {number}")
        for match in found
        for number in [text.count("\n", 0, match.start(1)) + 1]
    ]


@pytest.mark.parametrize(("code", "lines_before"), blocks())
def test_the_block_runs(code: str, lines_before: int) -> None:
    # Empty lines in front, so that a traceback points into the README.
    exec(compile("\n" * lines_before + code, str(README), "exec"), {"__name__": "readme"})


def test_the_readme_has_blocks() -> None:
    assert blocks()
