"""The wall clock. Tokens end by it; whatever else waits goes by the clock of the loop."""

from __future__ import annotations

import time
from math import isnan


def wall_time() -> float:
    """Seconds since 1970. It may jump, when somebody sets the clock."""
    return time.time()


def seconds(timeout: float | None, default: float) -> float:
    """The time that a call has.

    Raises:
        TypeError, ValueError: It is not a number of seconds.
    """
    if timeout is None:
        return default
    if isinstance(timeout, bool) or not isinstance(timeout, int | float):
        raise TypeError(f"timeout is a number of seconds, not <{type(timeout).__qualname__}>")
    if isnan(timeout):
        raise ValueError("timeout is a number of seconds, not nan")
    return timeout
