"""How a loop ends the tasks that are left: as `asyncio.Runner` does, and those they start too."""

from __future__ import annotations

import asyncio
from typing import Any


def tasks_left(loop: asyncio.AbstractEventLoop) -> list[asyncio.Task[Any]]:
    """Those that have not ended, in the order in which they were made."""
    return sorted(asyncio.all_tasks(loop), key=lambda task: getattr(task, "number", 0))


def end_tasks(loop: asyncio.AbstractEventLoop) -> None:
    """Cancel all tasks and run until they have ended, then end what else belongs to the loop."""
    while tasks := tasks_left(loop):
        for task in tasks:
            task.cancel()
        try:
            loop.run_until_complete(asyncio.gather(*tasks, return_exceptions=True))
        finally:
            _report(loop, tasks)
    loop.run_until_complete(loop.shutdown_asyncgens())
    loop.run_until_complete(loop.shutdown_default_executor())


def _report(loop: asyncio.AbstractEventLoop, tasks: list[asyncio.Task[Any]]) -> None:
    """Nobody else will ever ask what has become of them."""
    message = "unhandled exception in a task that was cancelled at the end of the loop"
    for task in tasks:
        if task.done() and not task.cancelled() and task.exception() is not None:
            context = {"message": message, "exception": task.exception(), "task": task}
            loop.call_exception_handler(context)
