"""What `make demo` shows."""

from __future__ import annotations

import re
import runpy
import subprocess
import sys
from pathlib import Path

import pytest

DEMO = Path(__file__).parent.parent.parent / "examples" / "demo.py"


@pytest.mark.timeout(180)
def test_the_demo_kills_a_member_loses_no_order_and_ends_by_itself() -> None:
    done = subprocess.run(
        [sys.executable, str(DEMO)], capture_output=True, text=True, timeout=150, check=False
    )

    assert done.returncode == 0, done.stderr
    told = done.stdout
    assert re.search(r"bert is killed.*\n(.*\n)*.*the group has shared out what bert had", told)
    assert re.search(r"[1-9][\d,]* orders .* were sent, all of them were added up", told)
    assert re.search(r"anna .* [1-9][\d,]* +[1-9][\d,]*\.\d\d\n", told)  # orders, and their sum
    assert "To go on, in three terminals:" in told


@pytest.mark.parametrize(
    ("times", "told"),
    [
        ({0: 1, 1: 1}, "added up, each once: bert was killed between two batches"),
        ({0: 1, 1: 2}, "1 of them again, as bert was killed between their sum and their commit"),
    ],
)
def test_the_demo_says_of_orders_that_came_twice_what_is_true(
    times: dict[int, int], told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    demo = runpy.run_path(str(DEMO))
    viewer = demo["Viewer"]()
    viewer.sent = {0: 100, 1: 200}
    viewer.times.update(times)
    demo["conclude"](viewer)

    assert told in " ".join(capsys.readouterr().out.split())
