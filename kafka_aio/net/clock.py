"""The wall clock. Tokens end by it; whatever else waits goes by the clock of the loop."""

from __future__ import annotations

import time


def wall_time() -> float:
    """Seconds since 1970. It may jump, when somebody sets the clock."""
    return time.time()
