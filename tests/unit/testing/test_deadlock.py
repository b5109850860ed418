from __future__ import annotations

import asyncio
import gc
from collections.abc import AsyncIterator

import pytest

from kafka_aio import Admin
from kafka_aio.broker import EmbeddedBroker
from kafka_aio.errors import StateError
from kafka_aio.testing import DeadlockError, VirtualLoop, run
from kafka_aio.testing.loop import TIME_LIMIT


async def wait_for(event: asyncio.Event) -> None:
    await event.wait()


async def wait_in_a_generator(event: asyncio.Event) -> AsyncIterator[None]:
    await event.wait()
    yield


def line_of(function: object) -> int:
    code = function.__code__  # type: ignore[attr-defined]  # a function has it
    number: int = code.co_firstlineno
    return number


def test_a_deadlock_names_its_tasks_and_where_they_wait() -> None:
    async def main() -> None:
        event = asyncio.Event()
        first = asyncio.create_task(wait_for(event), name="first")
        second = asyncio.create_task(wait_for(event), name="second")
        await asyncio.sleep(90)
        await asyncio.gather(first, second)

    with pytest.raises(DeadlockError) as caught:
        run(main())

    text = str(caught.value)
    assert text.startswith("after 90 s: nothing is ready, and there is no timer to wait for. 3 ")
    names = [task.partition(":")[0] for task in caught.value.tasks]
    assert names == ["Task-1", "first", "second"]
    assert f"{__file__}:{line_of(main) + 5} in " in caught.value.tasks[0]
    for task in caught.value.tasks[1:]:
        inner, _, outer = task.partition(", from ")
        assert "locks.py:" in inner
        assert inner.endswith(" in Event.wait")
        assert outer == f"{__file__}:{line_of(wait_for) + 1} in wait_for"
        assert task in text
    assert isinstance(caught.value, StateError)


def test_a_deadlock_shows_what_waits_for_a_generator() -> None:
    async def main() -> None:
        async for _ in wait_in_a_generator(asyncio.Event()):
            pass

    with pytest.raises(DeadlockError) as caught:
        run(main())

    assert len(caught.value.tasks) == 1
    assert f"{__file__}:{line_of(main) + 1} in " in str(caught.value)
    assert "One task waits:" in str(caught.value)


def test_a_loop_without_tasks_has_nothing_to_wait_for() -> None:
    with VirtualLoop() as loop, pytest.raises(DeadlockError, match="No task waits"):
        loop.run_forever()


def test_after_a_deadlock_the_tasks_can_clean_up() -> None:
    cleaned: list[str] = []

    async def main() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            await asyncio.sleep(1)
            cleaned.append("main")

    with pytest.raises(DeadlockError):
        run(main())

    assert cleaned == ["main"]


def test_timers_that_never_end_meet_the_limit() -> None:
    async def beat() -> None:
        while True:  # noqa: ASYNC110  # as clients do
            await asyncio.sleep(3)

    async def main() -> None:
        task = asyncio.create_task(beat(), name="heartbeat")
        await asyncio.Event().wait()
        task.cancel()

    with pytest.raises(
        DeadlockError, match="the limit of 3600 virtual seconds is reached"
    ) as caught:
        run(main(), time_limit=3_600)

    assert [task.partition(":")[0] for task in caught.value.tasks] == ["Task-1", "heartbeat"]


def test_the_limit_ends_nothing_that_ends_before() -> None:
    async def main() -> str:
        await asyncio.sleep(3_600)
        return "done"

    assert run(main(), time_limit=3_600) == "done"


def test_one_who_asks_again_and_again_meets_the_limit_too() -> None:
    async def main() -> None:
        while True:  # noqa: ASYNC110  # that is the point
            await asyncio.sleep(0)

    with pytest.raises(DeadlockError, match=r"the limit of 0\.01 virtual seconds is reached"):
        run(main(), time_limit=0.01)


def test_a_client_that_is_open_does_not_wait_for_ever() -> None:
    async def main() -> None:
        async with EmbeddedBroker() as broker, Admin(bootstrap_servers=broker.bootstrap_servers):
            await wait_for(asyncio.Event())

    with pytest.raises(DeadlockError) as caught:
        run(main())

    text = str(caught.value)
    assert f"the limit of {TIME_LIMIT:.0f} virtual seconds is reached" in text
    assert "time_limit" in text
    assert f"{__file__}:{line_of(wait_for) + 1} in wait_for" in caught.value.tasks[0]
    assert any(task.startswith("kafka_aio admin: metadata: ") for task in caught.value.tasks)


def test_one_who_asks_again_and_again_meets_the_limit_soon() -> None:
    turns = 0

    async def main() -> None:
        nonlocal turns
        while True:  # that is the point
            turns += 1
            await asyncio.sleep(0)

    with pytest.raises(DeadlockError, match="virtual seconds is reached"):
        run(main())

    assert turns < 1_000_000


def test_large_numbers_are_readable() -> None:
    async def main() -> None:
        await asyncio.sleep(1_234_567.25)
        await asyncio.sleep(9_000_000)

    with pytest.raises(DeadlockError) as caught:
        run(main(), time_limit=10_000_000)

    assert str(caught.value).startswith("after 1234567.25 s: the limit of 10000000 virtual ")


def test_an_error_is_not_hidden_by_a_connection_that_is_left_open() -> None:
    async def main() -> None:
        loop = asyncio.get_running_loop()
        await loop.create_server(asyncio.Protocol, "localhost", 9092)
        await loop.create_connection(asyncio.Protocol, "localhost", 9092)
        await asyncio.Event().wait()

    def fail() -> None:
        with pytest.raises(DeadlockError):
            run(main())
        gc.collect()

    with pytest.warns(ResourceWarning, match="unclosed transport"):
        fail()
