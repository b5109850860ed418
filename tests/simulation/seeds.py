"""One seed in a process of its own kind: whatever happens there, the others go on."""

from __future__ import annotations

import logging
import signal
import traceback
from types import FrameType
from typing import NamedTuple

from tests.simulation.plan import Plan
from tests.simulation.world import Result, simulate

MOST_SECONDS = 60
"""Of real time, for one seed: more means that it hangs."""


class Outcome(NamedTuple):
    """What a process says of a seed."""

    seed: int
    records: int
    faults: int
    failure: str
    """Empty where all went well."""


def run(seed: int) -> Outcome:
    """One seed, in a process of the pool."""
    result = Result(Plan.of(seed))
    logging.disable()  # records that fail are no news here
    signal.signal(signal.SIGALRM, _hangs)
    signal.alarm(MOST_SECONDS)
    try:
        result = simulate(seed)
    except Exception as error:  # whatever it is, the others go on
        result.problems += traceback.format_exception(error)
    finally:
        signal.alarm(0)
    return Outcome(seed, result.records, result.faults, str(result) if result.problems else "")


def _hangs(number: int, frame: FrameType | None) -> None:
    raise TimeoutError(f"the seed took more than {MOST_SECONDS} s")
