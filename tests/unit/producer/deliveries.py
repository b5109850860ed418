"""Both forms of `kafka_aio.producer.delivery`, and a loop that is none, for their tests."""

from __future__ import annotations

import importlib
import os
from collections.abc import Awaitable, Callable, Generator, Sequence
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


class Waiter:
    """As much of a future as a delivery needs."""

    def __init__(self) -> None:
        self.is_set = False

    def done(self) -> bool:
        return self.is_set

    def set_result(self, _: None) -> None:
        self.is_set = True

    def __await__(self) -> Generator[Waiter, None, None]:
        yield self

    __iter__ = __await__  # as a future has


class Loop:
    """Keeps what it is to call, until `run`."""

    def __init__(self) -> None:
        self.waiters: list[Waiter] = []
        self._soon: list[tuple[Callable[[Any], object], object]] = []

    def create_future(self) -> Waiter:
        self.waiters.append(Waiter())
        return self.waiters[-1]

    def call_soon(self, callback: Callable[[Any], object], value: object) -> None:
        self._soon.append((callback, value))

    def run(self) -> None:
        soon, self._soon = self._soon, []
        for callback, value in soon:
            callback(value)


class Awaiting:
    """Somebody who awaits something, in steps."""

    def __init__(self, awaitable: Awaitable[Any]) -> None:
        async def wait() -> Any:
            return await awaitable

        self._work = wait()
        self.waits_for: Waiter | None = None
        self.result: Any = None
        self.error: BaseException | None = None

    @property
    def is_done(self) -> bool:
        return self.waits_for is None

    def step(self, thrown: BaseException | None = None) -> Awaiting:
        """Go on, or be thrown something."""
        self.waits_for = None
        try:
            self.waits_for = self._work.throw(thrown) if thrown else self._work.send(None)
        except StopIteration as stop:
            self.result = stop.value
        except BaseException as error:
            self.error = error
        return self

    def close(self) -> None:
        self._work.close()


def outcome_of(module: ModuleType, loop: Loop, *, count: int = 0) -> Any:
    made = module.Outcome("t", 3, loop)
    made.count = count
    return made


def batch_of(module: ModuleType, loop: Loop, records: int) -> tuple[Any, list[Any]]:
    """An outcome and the deliveries of so many records; the timestamp of each is its index."""
    outcome = outcome_of(module, loop, count=records)
    batch = module.OpenBatch(BatchBuilder(1_000_000), outcome)
    return outcome, [batch.append(None, b"v", index) for index in range(records)]
