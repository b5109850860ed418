"""What the tests of all clients need: waits that end."""

from __future__ import annotations

import time
from collections.abc import Callable

USERS = {"alice": "alice-secret"}
SECONDS = 20
"""How long anything may take; on an idle machine, nothing needs a second."""


def until(is_so: Callable[[], object], *, seconds: float = SECONDS) -> None:
    """Ask again and again, until it is so; whoever asks may poll meanwhile."""
    deadline = time.monotonic() + seconds
    while not is_so():
        assert time.monotonic() < deadline, f"not so after {seconds} s"
        time.sleep(0.01)
