from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from contextlib import suppress
from typing import Any

import pytest

from spark_connector import calls as module
from spark_connector.bridge import More
from spark_connector.calls import Calls
from spark_connector.errors import RowError

SECONDS = 5.0


class Boom(Exception):
    """Of the tests."""


class Work:
    """Calls that end when they are told to; counts them."""

    def __init__(self) -> None:
        self.running = 0
        self.most = 0
        self.begun: list[Any] = []
        self.cancelled: list[Any] = []
        self._gates: dict[Any, asyncio.Event] = {}

    async def held(self, row: Any) -> Any:
        with self._counted(row):
            await self._gate(row).wait()
            return row * 10

    async def brief(self, row: Any) -> Any:
        with self._counted(row):
            await asyncio.sleep(0)
            return row * 10

    def _counted(self, row: Any) -> Any:
        return _Counted(self, row)

    def _gate(self, row: Any) -> asyncio.Event:
        return self._gates.setdefault(row, asyncio.Event())

    def end(self, *rows: Any) -> None:
        for row in rows:
            self._gate(row).set()


class _Counted:
    def __init__(self, work: Work, row: Any) -> None:
        self._work, self._row = work, row

    def __enter__(self) -> None:
        self._work.begun.append(self._row)
        self._work.running += 1
        self._work.most = max(self._work.most, self._work.running)

    def __exit__(self, kind: Any, *_: object) -> None:
        self._work.running -= 1
        if kind is asyncio.CancelledError:
            self._work.cancelled.append(self._row)


@pytest.fixture
def work() -> Work:
    return Work()


@pytest.fixture(autouse=True)
def _not_for_long(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "GRACE", 0.1)


def calls_of(function: Any, *, concurrency: int = 3, ordered: bool = True) -> Calls:
    return Calls(function, concurrency=concurrency, ordered=ordered, place=lambda n: f"row {n}")


async def whole(step: Awaitable[Any]) -> list[Any]:
    """What comes of a step, in however many parts."""
    found = []
    while isinstance(taken := await step, More):
        found += taken.result
        step = taken.rest()
    return [*found, *taken]


async def turns(count: int = 10) -> None:
    for _ in range(count):
        await asyncio.sleep(0)


async def test_each_row_has_its_result(work: Work) -> None:
    calls = calls_of(work.brief)

    steps = [calls.feed([1, 2, 3]), calls.feed([4]), calls.finish()]
    found = [row for step in steps for row in await whole(step)]

    assert found == [10, 20, 30, 40]


async def test_nothing_fed_is_nothing_to_wait_for(work: Work) -> None:
    assert await calls_of(work.brief).finish() == []


@pytest.mark.parametrize("ordered", [True, False])
async def test_so_many_are_under_way_and_never_more(work: Work, ordered: bool) -> None:
    calls = calls_of(work.brief, concurrency=4, ordered=ordered)
    for start in range(0, 100, 7):
        await whole(calls.feed(range(start, min(start + 7, 100))))
    await whole(calls.finish())

    assert work.most == 4
    assert work.begun == list(range(100))


async def test_a_feed_returns_when_its_rows_are_under_way_and_not_when_they_are_done(
    work: Work,
) -> None:
    calls = calls_of(work.held, concurrency=3)

    assert await calls.feed([0, 1, 2]) == []
    second = asyncio.create_task(calls.feed([3]))
    await turns()
    assert not second.done()
    work.end(1)
    await asyncio.wait_for(second, SECONDS)

    assert work.begun == [0, 1, 2, 3]
    await calls.cancel()


async def test_between_chunks_as_many_are_under_way_as_within_one(work: Work) -> None:
    calls = calls_of(work.held, concurrency=3)
    feeds = [asyncio.create_task(calls.feed([0, 1])), asyncio.create_task(calls.feed([2, 3]))]
    await turns()

    assert work.running == 3
    work.end(0, 1)
    await turns()
    assert work.running == 2  # all that there are
    assert feeds[1].done()
    await calls.cancel()
    await asyncio.gather(*feeds, return_exceptions=True)


async def test_results_leave_in_the_order_of_the_rows(work: Work) -> None:
    calls = calls_of(work.held, concurrency=3)
    await calls.feed([0, 1, 2])
    work.end(1, 2)
    await turns()

    feed = asyncio.create_task(calls.feed([3, 4]))
    await turns()
    assert await feed == []
    work.end(0, 3, 4)
    assert await whole(calls.finish()) == [0, 10, 20, 30, 40]


async def test_where_order_does_not_matter_results_leave_as_they_come(work: Work) -> None:
    calls = calls_of(work.held, concurrency=3, ordered=False)
    await calls.feed([0, 1, 2])
    work.end(2)
    await turns()

    assert await calls.feed([]) == [20]
    work.end(1)
    await turns()
    assert await calls.feed([]) == [10]
    work.end(0)
    assert await calls.finish() == [0]


async def test_behind_one_slow_call_the_others_go_on_for_a_while(work: Work) -> None:
    calls = calls_of(work.held, concurrency=3, ordered=True)
    work.end(*range(1, 100))
    feed = asyncio.create_task(whole(calls.feed(range(100))))
    await turns(200)

    assert not feed.done()
    assert 6 <= len(work.begun) <= 10
    work.end(0)
    await asyncio.wait_for(feed, SECONDS)
    await whole(calls.finish())
    assert len(work.begun) == 100


async def test_one_slow_call_does_not_hold_up_the_others_where_order_does_not_matter(
    work: Work,
) -> None:
    calls = calls_of(work.held, concurrency=3, ordered=False)
    work.end(*range(1, 100))

    found = await asyncio.wait_for(whole(calls.feed(range(100))), SECONDS)

    assert len(found) >= 97
    work.end(0)
    found += await whole(calls.finish())
    assert sorted(found) == [row * 10 for row in range(100)]


async def test_results_leave_early_and_the_rest_is_waited_for_without_other_rows(
    work: Work,
) -> None:
    calls = calls_of(work.held, concurrency=2)
    work.end(0, 1, 2)
    early = await asyncio.wait_for(calls.feed(range(6)), SECONDS)
    assert isinstance(early, More)
    rest = asyncio.create_task(whole(early.rest()))
    await turns()
    assert not rest.done()
    work.end(*range(6))

    assert [*early.result, *await rest, *await whole(calls.finish())] == [0, 10, 20, 30, 40, 50]


async def test_a_call_that_is_cancelled_before_it_begins_is_an_error(work: Work) -> None:
    calls = calls_of(work.held)
    await calls.feed([1])
    next(iter(calls._running)).cancel()

    with pytest.raises(RowError, match="row 0: the call was cancelled, not by Spark"):
        await asyncio.wait_for(whole(calls.finish()), SECONDS)
    assert work.begun == []


async def test_feeds_that_overlap_keep_the_order_also_where_results_leave_early() -> None:
    async def uneven(row: int) -> int:
        await asyncio.sleep(0.005 * (row * 7 % 5))
        return row

    calls = calls_of(uneven, concurrency=5)
    steps = [asyncio.create_task(calls.feed(range(n, n + 3))) for n in range(0, 30, 3)]
    steps.append(asyncio.create_task(calls.finish()))
    found = []
    for step in steps:
        taken = await step
        if isinstance(taken, More):
            steps.append(asyncio.create_task(taken.rest()))
        found += taken.result if isinstance(taken, More) else taken

    assert len(steps) > 11
    assert found == list(range(30))


async def test_the_first_error_is_raised_with_its_place_and_nothing_more_begins(
    work: Work,
) -> None:
    async def function(row: int) -> int:
        if row == 2:
            raise Boom("boom")
        return int(await work.held(row))

    calls = calls_of(function, concurrency=4)
    with pytest.raises(Boom, match="boom") as caught:
        await calls.feed(range(10))

    assert caught.value.__notes__ == ["row 2"]
    await calls.cancel()
    assert work.begun == work.cancelled == [0, 1, 3]


async def test_an_error_reaches_who_waits_for_the_end() -> None:
    async def function(row: int) -> None:
        await asyncio.sleep(0.01)
        raise Boom

    calls = calls_of(function)
    await calls.feed([1])
    with pytest.raises(Boom):
        await calls.finish()


async def test_a_call_that_cancels_itself_is_an_error_too() -> None:
    async def function(row: int) -> None:
        raise asyncio.CancelledError

    calls = calls_of(function)
    await calls.feed([1])
    with pytest.raises(RowError, match="row 0: the call was cancelled, not by Spark"):
        await calls.finish()


async def test_what_is_no_async_function_is_an_error_with_its_place() -> None:
    calls = calls_of(lambda row: row)

    await calls.feed([1])
    with pytest.raises(TypeError) as caught:
        await calls.finish()

    assert caught.value.__notes__ == ["row 0"]


async def test_cancelled_calls_are_waited_for_but_not_for_ever(work: Work) -> None:
    is_enough = asyncio.Event()

    async def stubborn(row: int) -> None:
        while not is_enough.is_set():
            with suppress(asyncio.CancelledError):
                await is_enough.wait()

    calls = calls_of(stubborn)
    await calls.feed([1])
    await turns()  # it has begun
    await asyncio.wait_for(calls.cancel(), SECONDS)
    is_enough.set()
    await turns()

    assert repr(calls) == "<Calls: 0 under way, 1 of 1 ended>"
