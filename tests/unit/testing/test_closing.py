"""What becomes of the tasks that are left when a virtual loop is closed."""

from __future__ import annotations

import asyncio
import gc
from collections.abc import AsyncIterator, Coroutine
from contextlib import suppress
from typing import Any

import pytest

from kafka_aio.testing import DeadlockError, VirtualLoop, run


async def sleep_for_ever(ended: list[str], name: str) -> None:
    try:
        await asyncio.Event().wait()
    finally:
        await asyncio.sleep(1)
        ended.append(name)


async def beat_on() -> None:
    while True:
        with suppress(asyncio.CancelledError):
            await asyncio.sleep(3)


async def wait_on() -> None:
    try:
        await asyncio.Event().wait()
    finally:
        await asyncio.Event().wait()


async def ask_on() -> None:
    while True:
        with suppress(asyncio.CancelledError):
            await asyncio.sleep(0)


def listen_to(loop: asyncio.AbstractEventLoop) -> list[dict[str, Any]]:
    """What the loop reports, that tasks were destroyed too."""
    seen: list[dict[str, Any]] = []
    loop.set_exception_handler(lambda _, context: seen.append(context))
    return seen


def leave(loop: VirtualLoop, *coros: Coroutine[Any, Any, None]) -> None:
    """Start tasks, and go."""

    async def main() -> None:
        tasks.extend(asyncio.create_task(each) for each in coros)
        await asyncio.sleep(1)

    tasks: list[asyncio.Task[None]] = []
    loop.run_until_complete(main())


def test_tasks_that_are_left_are_cancelled_in_their_order_and_may_clean_up() -> None:
    ended: list[str] = []
    with VirtualLoop() as loop:
        seen = listen_to(loop)
        leave(loop, *(sleep_for_ever(ended, f"{number}") for number in range(20)))
    gc.collect()

    assert ended == [f"{number}" for number in range(20)]
    assert seen == []


def test_what_a_task_starts_while_it_ends_is_ended_too() -> None:
    ended: list[str] = []

    async def main() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            later.append(asyncio.create_task(sleep_for_ever(ended, "later")))

    later: list[asyncio.Task[None]] = []
    with VirtualLoop() as loop:
        leave(loop, main())

    assert later[0].cancelled()


def test_a_task_that_fails_while_it_ends_is_reported() -> None:
    async def fail() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            raise ZeroDivisionError

    with VirtualLoop() as loop:
        seen = listen_to(loop)
        leave(loop, fail())
    gc.collect()

    assert [type(each["exception"]) for each in seen] == [ZeroDivisionError]
    assert "task" in seen[0]


@pytest.mark.parametrize("stubborn", [beat_on, wait_on, ask_on])
def test_a_task_that_does_not_end_is_named(stubborn: Any) -> None:
    def close() -> None:
        with VirtualLoop() as loop:
            listen_to(loop)  # it will say that the task was destroyed, in some other test
            leave(loop, stubborn())

    with pytest.raises(DeadlockError, match="was cancelled as the loop was closed") as caught:
        close()

    assert len(caught.value.tasks) == 1
    assert f" in {stubborn.__name__}" in caught.value.tasks[0]


def test_what_has_failed_before_is_not_hidden_by_a_task_that_does_not_end() -> None:
    async def main() -> None:
        listen_to(asyncio.get_running_loop())
        task = asyncio.create_task(wait_on())
        await asyncio.sleep(1)
        raise ZeroDivisionError(task.get_name())

    with pytest.raises(ZeroDivisionError) as caught:
        run(main())

    assert "was cancelled as the loop was closed" in caught.value.__notes__[0]
    assert " in wait_on" in caught.value.__notes__[0]


def test_asynchronous_generators_end_with_the_loop() -> None:
    ended: list[bool] = []

    async def numbers() -> AsyncIterator[int]:
        try:
            yield 1
        finally:
            await asyncio.sleep(1)
            ended.append(True)

    async def first() -> int:
        return await anext(generator)

    generator = numbers()
    with VirtualLoop() as loop:
        assert loop.run_until_complete(first()) == 1

    assert ended == [True]


def test_a_loop_that_was_closed_inside_stays_so() -> None:
    with VirtualLoop() as loop:
        loop.close()

    assert loop.is_closed()


def test_after_the_limit_the_tasks_can_clean_up_on_any_runner() -> None:
    ended: list[str] = []

    async def main() -> None:
        task = asyncio.create_task(beat())
        try:
            await sleep_for_ever(ended, "main")
        finally:
            task.cancel()

    async def beat() -> None:
        while True:  # noqa: ASYNC110  # as clients do
            await asyncio.sleep(3)

    def run_on_a_runner() -> None:
        with asyncio.Runner(loop_factory=lambda: VirtualLoop(time_limit=60)) as runner:
            runner.run(main())

    with pytest.raises(DeadlockError, match="the limit of 60 virtual seconds"):
        run_on_a_runner()
    with pytest.raises(DeadlockError, match="the limit of 60 virtual seconds"):
        run(main(), time_limit=60)

    assert ended == ["main", "main"]
