"""Ctrl-C and SIGTERM for a command that has something to finish before it ends."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def cancelled_by_signals() -> Iterator[None]:
    """Ctrl-C and SIGTERM cancel this task; also the second Ctrl-C, with which asyncio is harsh."""
    loop, task = asyncio.get_running_loop(), asyncio.current_task()
    assert task is not None
    signals = (signal.SIGINT, signal.SIGTERM)
    for each in signals:
        loop.add_signal_handler(each, task.cancel)
    try:
        yield
    finally:
        for each in signals:
            loop.remove_signal_handler(each)
