"""What `make demo` shows."""

from __future__ import annotations

import re
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
    assert "To go on:" in told
