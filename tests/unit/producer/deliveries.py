"""Both forms of `kafka_aio.producer.delivery`, and a loop that is none, for their tests."""

from __future__ import annotations

import importlib
import os
from asyncio import CancelledError
from collections.abc import Awaitable, Callable, Sequence
from contextvars import Context, copy_context
from functools import partial
from types import ModuleType
from typing import Any

from kafka_aio.producer import _delivery_py as twin
from kafka_aio.records.codec import BatchBuilder


def _find_compiled() -> ModuleType | None:
    if os.environ.get("KAFKA_AIO_PURE", "0") not in ("", "0"):
        return None
    try:
        return importlib.import_module("kafka_aio.producer._delivery")
    except ImportError:
        if os.environ.get("KAFKA_AIO_REQUIRE_COMPILED", "0") not in ("", "0"):
            raise
        return None


compiled = _find_compiled()
modules: Sequence[ModuleType] = [twin] if compiled is None else [compiled, twin]


class Loop:
    """Keeps what it is to call, until `run`."""

    cancelled = CancelledError

    def __init__(self, *, is_debug: bool = False) -> None:
        self.owner = self
        self._is_debug = is_debug
        self._soon: list[tuple[Callable[..., object], tuple[object, ...]]] = []

    def get_debug(self) -> bool:
        return self._is_debug

    def call_soon(
        self, callback: Callable[..., object], *arguments: object, context: Context | None = None
    ) -> None:
        call = callback if context is None else partial(context.run, callback)
        self._soon.append((call, arguments))

    def run(self) -> None:
        """Call what is there now."""
        soon, self._soon = self._soon, []
        for at, (callback, arguments) in enumerate(soon):
            try:
                callback(*arguments)
            except BaseException:
                self._soon = soon[at + 1 :] + self._soon
                raise

    @property
    def calls(self) -> int:
        """How many are to be called."""
        return len(self._soon)


class Awaiting:
    """Somebody who awaits something: as much of a task as can be stepped by hand."""

    def __init__(self, awaitable: Awaitable[Any]) -> None:
        async def wait() -> Any:
            return await awaitable

        self._work = wait()
        self.waits_for: Any = None
        self.result: Any = None
        self.error: BaseException | None = None
        self.is_begun = False
        self.is_woken = False
        self.raises: BaseException | None = None
        """What its next step raises, out of the task."""

    @property
    def is_done(self) -> bool:
        return self.waits_for is None

    def step(self, thrown: BaseException | None = None) -> Awaiting:
        """Go on, or be thrown something."""
        self.is_begun, self.is_woken = True, False
        self.waits_for = None
        try:
            self.waits_for = self._work.throw(thrown) if thrown else self._work.send(None)
        except StopIteration as stop:
            self.result = stop.value
        except BaseException as error:
            self.error = error
        else:
            assert self.waits_for._asyncio_future_blocking
            self.waits_for._asyncio_future_blocking = False
            self.waits_for.add_done_callback(self._wake, context=copy_context())
        return self

    def _wake(self, waiter: object) -> None:
        assert waiter is self.waits_for
        self.is_woken = True
        if self.raises is not None:
            raise self.raises

    def close(self) -> None:
        self._work.close()


def outcome_of(module: ModuleType, loop: Any, *, count: int = 0) -> Any:
    made = module.Outcome("t", 3, loop)
    made.count = count
    return made


def batch_of(module: ModuleType, loop: Any, records: int) -> tuple[Any, list[Any]]:
    """An outcome and the deliveries of so many records; the timestamp of each is its index."""
    outcome = outcome_of(module, loop, count=records)
    batch = module.OpenBatch(BatchBuilder(1_000_000), outcome)
    return outcome, [batch.append(None, b"v", index) for index in range(records)]
