"""What a loop says when nothing can ever happen any more: which tasks wait, and where."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any

from kafka_aio.errors import StateError


class DeadlockError(StateError):
    """All tasks wait, and there is no timer that could wake one of them.

    Attributes:
        tasks: The name of each task and where it waits, innermost `await` first.
    """

    def __init__(self, reason: str, tasks: list[str]) -> None:
        """List what waits.

        Args:
            reason: Why it is for ever.
            tasks: A line for each.
        """
        self.tasks = tasks
        super().__init__("\n  ".join([f"{reason} {_count(tasks)}", *tasks]))


def waiting(tasks: list[asyncio.Task[Any]]) -> list[str]:
    """A line for each task: its name, and where it waits, innermost `await` first."""
    return [f"{task.get_name()}: {', from '.join(reversed([*_places(task)]))}" for task in tasks]


def _places(task: asyncio.Task[Any]) -> Iterator[str]:
    """File, line and function of each frame that the task is in, outermost first."""
    awaited: Any = task.get_coro()
    while awaited is not None:
        # A coroutine, a generator or an asynchronous generator: each has its own names for it.
        for kind, inner in (("cr", "cr_await"), ("gi", "gi_yieldfrom"), ("ag", "ag_await")):
            frame = getattr(awaited, f"{kind}_frame", None)
            if frame is not None:
                code = frame.f_code
                yield f"{code.co_filename}:{frame.f_lineno} in {code.co_qualname}"
                awaited = getattr(awaited, inner)
                break
        else:
            return


def _count(tasks: list[str]) -> str:
    match len(tasks):
        case 0:
            return "No task waits."
        case 1:
            return "One task waits:"
        case many:
            return f"{many} tasks wait:"
