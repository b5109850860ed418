"""When the rows of `map_partitions` leave, and what ends where nobody wants more of them."""

from __future__ import annotations

import asyncio
import gc
import threading
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from spark_connector import bridge
from spark_connector.bridge import LoopThread, More, pump
from spark_connector.calls import Calls
from spark_connector.rdd import in_chunks, map_partitions
from tests.unit.spark.threads import SECONDS, soon

pytestmark = pytest.mark.usefixtures("own_loop")


@pytest.mark.parametrize("ordered", [True, False])
@pytest.mark.parametrize("concurrency", [1, 4, 50])
def test_a_row_that_is_done_leaves_while_others_take_their_time(
    concurrency: int, ordered: bool
) -> None:
    called = []

    async def first_at_once(row: int) -> int:
        called.append(row)
        await asyncio.sleep(0 if row == 0 else 60)
        return row

    rows = map_partitions(first_at_once, concurrency=concurrency, ordered=ordered)(
        iter(range(10_000))
    )
    begun = time.monotonic()
    assert next(rows) == 0
    rows.close()  # type: ignore[attr-defined]  # it is a generator

    assert time.monotonic() - begun < SECONDS
    assert len(called) <= concurrency + 1


def test_rows_leave_one_by_one_where_they_are_slow() -> None:
    done = []

    async def slow(row: int) -> int:
        await asyncio.sleep(0.03)
        done.append(row)
        return row

    seen = [len(done) - row for row in map_partitions(slow, concurrency=1)(iter(range(32)))]

    assert max(seen) <= 4  # 1, but for a machine that has others to serve


def test_a_row_that_leaves_early_does_not_bring_more_rows() -> None:
    taken = 0

    def rows() -> Iterator[int]:
        nonlocal taken
        for row in range(10_000):
            taken += 1
            yield row

    async def some_at_once(row: int) -> int:
        await asyncio.sleep(0 if row < 5 else 60)
        return row

    found = map_partitions(some_at_once, concurrency=4, chunk_rows=10)(rows())
    assert [next(found) for _ in range(5)] == [0, 1, 2, 3, 4]
    found.close()  # type: ignore[attr-defined]  # it is a generator

    assert taken <= 5 + 4 + 3 * 10


@pytest.mark.parametrize("concurrency", [1, 100])
def test_rows_that_are_quick_leave_together(concurrency: int) -> None:
    steps = 0

    class Counted(Calls):
        async def _take(self, is_reached: Any) -> Any:
            nonlocal steps
            steps += 1
            return await super()._take(is_reached)

    async def run() -> None:
        calls = Counted(soon, concurrency=concurrency, ordered=True, place=str)
        for first in range(0, 20_000, 100):
            await _all(await calls.feed(range(first, first + 100)))
        await _all(await calls.finish())

    begun = time.monotonic()
    asyncio.run(run())

    assert steps <= 201 + (time.monotonic() - begun) / 0.01


async def _all(taken: Any) -> list[Any]:
    found = []
    while isinstance(taken, More):
        found += taken.result
        taken = await taken.rest()
    return [*found, *taken]


def test_work_that_is_not_all_goes_on_before_another_chunk_is_worked_on(
    thread: LoopThread,
) -> None:
    begun = []

    async def work(chunk: int, part: int = 0) -> Any:
        begun.append((chunk, part))
        await asyncio.sleep(0)
        if part == 2:
            return (chunk, part)
        return More((chunk, part), lambda: work(chunk, part + 1))

    found = list(pump(thread, range(3), work, window=1))

    assert found == begun == [(chunk, part) for chunk in range(3) for part in range(3)]


def test_an_error_of_work_that_goes_on_is_raised(thread: LoopThread) -> None:
    async def fails() -> Any:
        raise KeyError("later")

    async def work(chunk: int) -> Any:
        return More(chunk, fails)

    with pytest.raises(KeyError, match="later"):
        list(pump(thread, range(3), work))


# Rows that are slow to come.


def test_chunks_are_small_at_first() -> None:
    taken = list(in_chunks(range(40), 10))

    assert [len(each.rows) for each in taken] == [1, 2, 4, 8, 10, 10, 5]
    assert [each.may_wait for each in taken] == [True, True, True, True, False, False, False]


def test_no_rows_are_no_chunks() -> None:
    assert list(in_chunks([], 10)) == []


def test_chunks_are_small_where_rows_are_slow_to_come(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 0.0
    monkeypatch.setattr(bridge, "monotonic", lambda: now)

    def rows() -> Iterator[int]:
        nonlocal now
        for row in range(60):
            now += 1.0 if row >= 31 else 0.0
            yield row

    taken = list(in_chunks(rows(), 16))

    assert [len(each.rows) for each in taken] == [1, 2, 4, 8, 16, 16, 8, 4, 1]
    assert [each.may_wait for each in taken[:4]] == [True] * 4
    assert [each.may_wait for each in taken[4:]] == [False, True, True, True, True]


def test_the_row_after_the_first_may_wait_also_if_each_goes_by_itself() -> None:
    assert [each.may_wait for each in in_chunks(range(4), 1)] == [True, False, False, False]


@pytest.mark.parametrize("most", [1, 2])
def test_the_next_row_may_wait_where_rows_are_slow_also_if_each_goes_by_itself(
    most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = 0.0
    monkeypatch.setattr(bridge, "monotonic", lambda: now)

    def rows() -> Iterator[int]:
        nonlocal now
        for row in range(6):
            now += 1.0
            yield row

    assert all(each.may_wait for each in in_chunks(rows(), most))


def test_a_row_leaves_while_the_next_are_slow_to_come() -> None:
    taken = 0

    def rows() -> Iterator[int]:
        nonlocal taken
        for row in range(100):
            time.sleep(0.15)
            taken += 1
            yield row

    found = map_partitions(soon)(rows())
    assert next(found) == 0
    found.close()  # type: ignore[attr-defined]  # it is a generator

    assert taken <= 4


# Where nobody wants more.


@pytest.mark.parametrize("fresh_loop", [False, True])
def test_to_close_one_that_comes_after_another_ends_both_at_once(fresh_loop: bool) -> None:
    ended = []

    def mapping(name: str) -> Any:
        @asynccontextmanager
        async def setup() -> AsyncIterator[None]:
            try:
                yield
            finally:
                ended.append(name)

        return map_partitions(_brief, setup=setup, fresh_loop=fresh_loop, concurrency=10)

    def rows() -> Iterator[int]:
        try:
            yield from range(1_000_000)
        finally:
            ended.append("rows")

    loops = _loops()
    gc.collect()
    gc.disable()  # what ends now ends by itself
    try:
        found = mapping("outer")(mapping("inner")(rows()))
        assert [next(found) for _ in range(3)] == [0, 1, 2]
        found.close()
        del found

        assert sorted(ended) == ["inner", "outer", "rows"]
        assert len(_loops() - loops) == (0 if fresh_loop else 1)
    finally:
        gc.enable()


def _loops() -> set[threading.Thread]:
    return {each for each in threading.enumerate() if each.name == "spark_connector"}


async def _brief(row: int, context: None) -> int:
    await asyncio.sleep(0.001 if row < 300 else 60)
    return row
