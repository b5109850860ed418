from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from types import ModuleType
from typing import Any

import pytest

from kafka_aio.consumer import _cursor_py, cursor
from kafka_aio.errors import StateError


@pytest.fixture(params=[cursor, _cursor_py], ids=["chosen", "twin"])
def module(request: pytest.FixtureRequest) -> ModuleType:
    found: ModuleType = request.param
    return found


def cursor_of(module: ModuleType, *lists: list[Any]) -> Any:
    """A cursor that is loaded with one list after the other, and then has no more."""
    waiting = list(lists)

    async def ask() -> Any:
        await asyncio.sleep(0)
        if not waiting:
            raise StopAsyncIteration
        made.load(waiting.pop(0))
        return made.take(1)[0]

    made = module.Cursor(ask)
    return made


async def all_of(records: AsyncIterator[Any]) -> list[Any]:
    return [record async for record in records]


async def test_it_gives_all_records_in_their_order(module: ModuleType) -> None:
    made = cursor_of(module, [1, 2, 3], [4], [(5, 6), None])

    assert await all_of(made) == [1, 2, 3, 4, (5, 6), None]
    assert made.total == 6


async def test_it_asks_before_the_next_one_after_an_interruption(module: ModuleType) -> None:
    made = cursor_of(module, ["a"])
    made.load([1, 2, 3])
    assert await anext(made) == 1

    made.interrupt()

    assert (made.left, made.is_open) == (2, False)
    assert await anext(made) == "a"


async def test_what_is_left_can_be_resumed(module: ModuleType) -> None:
    made = cursor_of(module)
    made.load([1, 2])
    made.interrupt()

    made.resume()

    assert await all_of(made) == [1, 2]


def test_several_are_taken_at_once(module: ModuleType) -> None:
    made = cursor_of(module)
    made.load([1, 2, 3])

    assert made.take(2) == [1, 2]
    assert made.take(2) == [3]
    assert made.take(2) == []
    assert made.take(-1) == []
    assert made.total == 3


def test_nothing_is_kept_of_a_list_that_was_taken_whole(module: ModuleType) -> None:
    made = cursor_of(module)
    made.load([1, 2])

    made.take(5).clear()

    assert (made.left, made.taken) == (0, 0)


async def test_it_knows_what_it_has_handed_over(module: ModuleType) -> None:
    made = cursor_of(module)
    made.load([1, 2, 3])
    await anext(made)
    await anext(made)

    assert [made.peek(back) for back in range(4)] == [None, 2, 1, None]


async def test_a_record_at_hand_can_be_awaited_by_a_task(module: ModuleType) -> None:
    made = cursor_of(module)
    made.load([1, 2, 3])

    assert await asyncio.create_task(made.__anext__()) == 1
    assert await asyncio.wait_for(made.__anext__(), 1) == 2
    assert list(await asyncio.gather(made.__anext__())) == [3]


async def test_two_who_want_the_last_record_at_the_same_time_are_told(module: ModuleType) -> None:
    made = cursor_of(module)
    made.load([1])
    first, second = (asyncio.create_task(made.__anext__()) for _ in range(2))

    assert await first == 1
    with pytest.raises(StateError, match="two tasks read"):
        await second


async def test_a_task_that_is_interrupted_before_it_began_asks(module: ModuleType) -> None:
    made = cursor_of(module, ["a", "b"])
    made.load([1, 2])
    asyncio.get_running_loop().call_soon(made.interrupt)
    found = await asyncio.create_task(made.__anext__())

    assert found == "a"
    assert await all_of(made) == ["b"]


async def test_a_task_that_asks_as_it_was_interrupted_can_be_cancelled(module: ModuleType) -> None:
    made = cursor_of(module, ["a"])
    made.load([1, 2])
    task = asyncio.create_task(made.__anext__())
    made.interrupt()
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task

    assert await all_of(made) == ["a"]


def test_closed_while_it_asks_it_ends_that(module: ModuleType) -> None:
    ended = []

    async def ask() -> None:
        try:
            await asyncio.sleep(0)
        finally:
            ended.append(True)

    made = module.Cursor(ask)
    made.load([1])
    made.interrupt()
    made.send(None)
    made.close()
    made.close()

    assert ended == [True]


async def test_one_that_is_gone_when_it_is_awaited_is_waited_for(module: ModuleType) -> None:
    made = cursor_of(module, ["more"])
    made.load([1])
    first, second = made.__anext__(), made.__anext__()

    assert (await first, await second) == (1, "more")


async def test_a_task_that_is_cancelled_before_it_began_takes_nothing(module: ModuleType) -> None:
    made = cursor_of(module)
    made.load([1])
    task = asyncio.create_task(made.__anext__())

    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task

    assert made.left == 1


def test_it_says_how_far_it_is(module: ModuleType) -> None:
    made = cursor_of(module)
    made.load([1, 2])
    made.take(1)

    assert repr(made) == "<Cursor: 1 of 2 records taken>"
