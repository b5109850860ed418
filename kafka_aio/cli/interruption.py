"""Ctrl-C and SIGTERM for a command that has something to finish before it ends."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def cancelled_by_signals() -> Iterator[None]:
    """Ctrl-C and SIGTERM cancel this task; also the second Ctrl-C, with which asyncio is harsh.

    Afterwards they do what they did before: asyncio has a handler of its own for Ctrl-C, which
    cancels too. Without it the client that is being closed would be torn up in the middle.
    """
    loop, task = asyncio.get_running_loop(), asyncio.current_task()
    assert task is not None
    before = {each: signal.getsignal(each) for each in (signal.SIGINT, signal.SIGTERM)}
    for each in before:
        loop.add_signal_handler(each, task.cancel)
    try:
        yield
    finally:
        for each, action in before.items():
            loop.remove_signal_handler(each)
            signal.signal(each, action)
