"""What `setup=` makes: entered, left and ended with its task."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, nullcontext

import pytest

from kafka_aio.errors import StateError
from spark_connector import calls as module
from spark_connector.calls import Calls, Host
from tests.unit.spark.threads import Boom

SECONDS = 5.0


@pytest.fixture(autouse=True)
def _not_for_long(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "GRACE", 0.1)


async def test_what_is_set_up_is_entered_and_left_in_one_task() -> None:
    tasks = []

    @asynccontextmanager
    async def setup() -> AsyncIterator[str]:
        tasks.append(asyncio.current_task())
        async with asyncio.TaskGroup():  # which is particular about that
            yield "context"
        tasks.append(asyncio.current_task())

    host = Host(setup)
    context = await asyncio.create_task(host.open())
    await asyncio.create_task(host.close())

    assert context == "context"
    assert tasks[0] is tasks[1] is not asyncio.current_task()


async def test_nothing_may_be_set_up() -> None:
    host = Host(nullcontext)

    assert await host.open() is None
    await host.close()


async def test_a_setup_that_fails_raises() -> None:
    @asynccontextmanager
    async def setup() -> AsyncIterator[None]:
        await asyncio.sleep(0)
        raise Boom("no")
        yield

    with pytest.raises(Boom, match="no"):
        await Host(setup).open()


async def test_a_setup_that_is_cancelled_by_itself_says_so() -> None:
    @asynccontextmanager
    async def setup() -> AsyncIterator[None]:
        raise asyncio.CancelledError
        yield

    with pytest.raises(StateError, match="cancelled as it began"):
        await Host(setup).open()


async def test_a_setup_that_fails_to_end_raises() -> None:
    @asynccontextmanager
    async def setup() -> AsyncIterator[None]:
        yield
        raise Boom("no")

    host = Host(setup)
    await host.open()
    with pytest.raises(Boom, match="no"):
        await host.close()


async def test_a_setup_that_is_cancelled_by_itself_as_it_ends_says_so() -> None:
    @asynccontextmanager
    async def setup() -> AsyncIterator[None]:
        flusher = asyncio.create_task(asyncio.sleep(1000))
        yield
        flusher.cancel()
        await flusher  # what comes after this is not done

    host = Host(setup)
    await host.open()
    with pytest.raises(StateError, match="cancelled as it ended, not by Spark"):
        await host.close()


@pytest.mark.parametrize(
    ("error", "seen"),
    [(None, None), (Boom("x"), Boom), (GeneratorExit(), asyncio.CancelledError)],
)
async def test_what_is_set_up_sees_how_it_ended(
    error: BaseException | None, seen: type[BaseException] | None
) -> None:
    ends = []

    class Setup:
        async def __aenter__(self) -> None:
            pass

        async def __aexit__(self, kind: type[BaseException] | None, *_: object) -> None:
            ends.append(kind)

    host = Host(Setup)
    await host.open()
    await host.close(error)

    assert ends == [seen]


async def test_who_gives_up_waiting_for_a_setup_ends_it() -> None:
    ends = []

    @asynccontextmanager
    async def setup() -> AsyncIterator[None]:
        try:
            await asyncio.Event().wait()
            yield
        finally:
            ends.append(True)

    opening = asyncio.create_task(Host(setup).open())
    for _ in range(10):
        await asyncio.sleep(0)
    opening.cancel()
    with pytest.raises(asyncio.CancelledError):
        await opening
    for _ in range(10):
        await asyncio.sleep(0)

    assert ends == [True]


async def test_a_setup_that_ended_before_its_time_is_an_error_at_the_end() -> None:
    async def fail() -> None:
        raise Boom("a task of the setup's")

    @asynccontextmanager
    async def setup() -> AsyncIterator[None]:
        async with asyncio.TaskGroup() as group:
            group.create_task(fail())
            yield

    host = Host(setup)
    await host.open()
    for _ in range(10):
        await asyncio.sleep(0)
    with pytest.raises(ExceptionGroup):
        await host.close()


async def test_a_setup_that_does_not_end_is_cancelled_some_time_after_an_error(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(module, "GRACE", 0.05)

    @asynccontextmanager
    async def setup() -> AsyncIterator[None]:
        try:
            yield
        finally:
            await asyncio.Event().wait()

    host = Host(setup)
    await host.open()
    await asyncio.wait_for(host.close(Boom()), SECONDS)
    with pytest.raises(asyncio.CancelledError):
        await asyncio.wait_for(host._task, SECONDS)


async def test_a_setup_that_dies_ends_the_calls_that_wait_for_it() -> None:
    async def fail() -> None:
        raise Boom("a task of the setup's")

    @asynccontextmanager
    async def setup() -> AsyncIterator[None]:
        async with asyncio.TaskGroup() as group:
            group.create_task(fail())
            yield

    async def wait(row: int) -> None:
        await asyncio.Event().wait()

    host = Host(setup)
    await host.open()
    under_way = Calls(wait, concurrency=1, ordered=True, place=str)
    host.watch(under_way.fail)
    with pytest.raises(ExceptionGroup):
        await asyncio.wait_for(under_way.feed([1, 2]), SECONDS)
    await under_way.cancel()


async def test_a_setup_that_ends_well_is_not_told() -> None:
    told: list[BaseException] = []
    host = Host(nullcontext)
    await host.open()
    host.watch(told.append)

    await host.close()
    for _ in range(10):
        await asyncio.sleep(0)

    assert told == []
