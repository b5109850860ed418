"""What Spark calls in a worker, without Spark: `tests/spark/test_mapping.py` has it with Spark."""

from __future__ import annotations

import asyncio
import threading
from collections import defaultdict
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager

import pytest

pytest.importorskip("pyarrow")

from spark_connector import calls
from spark_connector.rdd import foreach_partition, map_partitions

SECONDS = 10.0
pytestmark = pytest.mark.usefixtures("own_loop")

HERE = {"kafka.bootstrap.servers": "localhost:9092"}


class Boom(Exception):
    """Of the tests."""


async def times_ten(row: int) -> int:
    await asyncio.sleep(0.0001 * (row * 7 % 5))
    return row * 10


@pytest.mark.parametrize("fresh_loop", [False, True])
@pytest.mark.parametrize("chunk_rows", [1, 7, 1000])
def test_each_row_becomes_what_the_function_returns_in_order(
    chunk_rows: int, fresh_loop: bool
) -> None:
    function = map_partitions(times_ten, chunk_rows=chunk_rows, fresh_loop=fresh_loop)

    assert list(function(iter(range(100)))) == [row * 10 for row in range(100)]


def test_rows_leave_as_they_are_done_where_order_does_not_matter() -> None:
    async def first_last(row: int) -> int:
        await asyncio.sleep(0.2 if row == 0 else 0)
        return row

    function = map_partitions(first_last, ordered=False, concurrency=5, chunk_rows=10)
    found = list(function(iter(range(100))))

    assert sorted(found) == list(range(100))
    assert found.index(0) > 20


@pytest.mark.parametrize("concurrency", [1, 8, 50])
def test_so_many_calls_are_under_way_and_never_more(concurrency: int) -> None:
    running, most = 0, 0
    enough = asyncio.Event()

    async def counted(row: int) -> int:
        nonlocal running, most
        running += 1
        most = max(most, running)
        if running == concurrency:
            enough.set()
        await asyncio.wait_for(enough.wait(), timeout=SECONDS)
        await asyncio.sleep(0.001)
        running -= 1
        return row

    list(map_partitions(counted, concurrency=concurrency, chunk_rows=10)(iter(range(300))))

    assert most == concurrency


def test_a_chunk_is_begun_while_the_one_before_it_has_not_ended() -> None:
    begun: dict[int, asyncio.Event] = defaultdict(asyncio.Event)

    async def waits_for_the_next(row: int) -> int:
        begun[row].set()
        if row % 20 == 19 and row < 199:  # the last of a chunk ends after the first of the next
            await asyncio.wait_for(begun[row + 1].wait(), timeout=SECONDS)
        return row

    function = map_partitions(waits_for_the_next, concurrency=10, chunk_rows=20)

    assert list(function(iter(range(200)))) == list(range(200))


def test_the_first_row_does_not_wait_for_a_whole_chunk() -> None:
    called: list[int] = []

    async def count(row: int) -> int:
        called.append(row)
        await asyncio.sleep(0.01)
        return row

    results = map_partitions(count, concurrency=2, chunk_rows=1000)(iter(range(1000)))

    assert next(iter(results)) == 0
    assert len(called) < 20


def test_what_is_done_leaves_before_rows_that_are_slow_to_come(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(calls, "PATIENCE", SECONDS)  # however slow the machine is
    left: list[int] = []
    left_before: dict[int, int] = {}

    def rows() -> Iterator[int]:
        for row in range(100):
            left_before[row] = len(left)
            yield row

    for row in map_partitions(times_ten)(map_partitions(times_ten)(rows())):
        left.append(row)  # noqa: PERF402  # somebody looks at it meanwhile

    assert left == [row * 100 for row in range(100)]
    # Chunks have 1, 2, 4 rows and so on: all that came before has left when one begins.
    assert [left_before[row] for row in (1, 3, 7, 15, 31, 63)] == [1, 3, 7, 15, 31, 63]


@pytest.mark.parametrize("row", ["abc", b"abc", ("k", "v"), {"value": b"v"}, 5, None])
def test_a_row_in_place_of_a_partition_is_refused_before_the_first_is_asked_for(
    row: object,
) -> None:
    with pytest.raises(TypeError, match="not for map"):
        map_partitions(times_ten)(row)  # type: ignore[arg-type]  # the mistake
    with pytest.raises(TypeError, match="not for foreach"):
        foreach_partition(HERE, topic="t")(row)  # type: ignore[arg-type]


def test_a_generator_is_no_function_for_it() -> None:
    async def rows(row: int) -> AsyncIterator[int]:
        yield row

    with pytest.raises(TypeError, match="not a generator"):
        map_partitions(rows)  # type: ignore[arg-type]  # the mistake


def test_an_empty_partition_has_no_rows() -> None:
    assert list(map_partitions(times_ten)(iter([]))) == []


def test_rows_are_taken_on_the_thread_of_the_task() -> None:
    where = set()

    def rows() -> Iterator[int]:
        for row in range(50):
            where.add(threading.get_ident())
            yield row

    list(map_partitions(times_ten, chunk_rows=5)(rows()))

    assert where == {threading.get_ident()}


@pytest.mark.parametrize("fresh_loop", [False, True])
def test_one_after_the_other_does_not_lock(fresh_loop: bool) -> None:
    once = map_partitions(times_ten, chunk_rows=3, concurrency=2, fresh_loop=fresh_loop)

    assert list(once(once(once(iter(range(50)))))) == [row * 1000 for row in range(50)]


def test_an_error_fails_with_the_place_of_its_row_and_cancels_the_others() -> None:
    cancelled = []
    all_begun = asyncio.Event()

    async def function(row: int) -> int:
        if row == 17:
            await asyncio.wait_for(all_begun.wait(), timeout=SECONDS)
            raise Boom("boom")
        if row == 26:
            all_begun.set()
        try:
            await asyncio.sleep(0 if row < 17 else 60)
        except asyncio.CancelledError:
            cancelled.append(row)
            raise
        return row

    function_ = map_partitions(function, concurrency=10, chunk_rows=5)
    with pytest.raises(Boom, match="boom") as caught:
        list(function_(iter(range(100))))

    assert caught.value.__notes__ == ["row 17"]
    assert caught.traceback[-1].name == "function"
    assert len(cancelled) == 9


def test_who_wants_no_more_rows_cancels_the_calls() -> None:
    cancelled = threading.Event()
    taken = []

    async def function(row: int) -> int:
        try:
            await asyncio.sleep(0 if row < 5 else 60)
        except asyncio.CancelledError:
            cancelled.set()
            raise
        return row

    def rows() -> Iterator[int]:
        for row in range(1000):
            taken.append(row)
            yield row

    found = map_partitions(function, concurrency=10, chunk_rows=5)(rows())
    assert [next(found) for _ in range(5)] == [0, 1, 2, 3, 4]
    found.close()  # type: ignore[attr-defined]  # it is a generator

    assert cancelled.is_set()
    assert len(taken) < 50


def test_the_input_is_drained() -> None:
    rows = iter(range(100))

    list(map_partitions(times_ten)(rows))

    assert next(rows, None) is None


@pytest.mark.parametrize("error", [SystemExit(3), KeyboardInterrupt()])
def test_what_ends_a_program_ends_the_task_and_the_loop_lives_on(error: BaseException) -> None:
    async def leave(row: int) -> None:
        raise error

    with pytest.raises(type(error)):
        list(map_partitions(leave)(iter([1])))

    assert list(map_partitions(times_ten)(iter([1]))) == [10]


class Resource:
    """A client of the user's."""

    def __init__(self) -> None:
        self.events: list[str] = []

    @asynccontextmanager
    async def __call__(self) -> AsyncIterator[Resource]:
        self.events.append("open")
        try:
            yield self
        except BaseException as error:
            self.events.append(type(error).__name__)
            raise
        else:
            self.events.append("well")
        finally:
            await asyncio.sleep(0.01)
            self.events.append("closed")


async def with_context(row: int, context: Resource) -> int:
    await asyncio.sleep(0)
    assert context.events == ["open"]
    if row < 0:
        raise Boom("negative")
    return row + 1


def test_what_is_set_up_is_given_to_each_call_and_ended_with_the_task() -> None:
    resource = Resource()

    found = list(map_partitions(with_context, setup=resource.__call__)(iter(range(5))))

    assert found == [1, 2, 3, 4, 5]
    assert resource.events == ["open", "well", "closed"]


def test_what_is_set_up_sees_the_error() -> None:
    resource = Resource()

    with pytest.raises(Boom, match="negative") as caught:
        list(map_partitions(with_context, setup=resource.__call__)(iter([1, 2, -1])))

    assert resource.events == ["open", "Boom", "closed"]
    assert caught.value.__notes__ == ["row 2"]
    assert caught.traceback[-1].name == "with_context"


def test_what_is_set_up_is_ended_where_nobody_wants_more_rows() -> None:
    resource = Resource()
    found = map_partitions(with_context, setup=resource.__call__)(iter(range(10_000)))

    next(found)
    found.close()  # type: ignore[attr-defined]  # it is a generator

    assert resource.events == ["open", "CancelledError", "closed"]


def test_a_setup_that_fails_fails_the_task() -> None:
    @asynccontextmanager
    async def setup() -> AsyncIterator[None]:
        raise Boom("at the beginning")
        yield

    with pytest.raises(Boom, match="at the beginning"):
        list(map_partitions(with_context, setup=setup)(iter([1])))


def test_a_setup_that_fails_to_end_fails_the_task() -> None:
    @asynccontextmanager
    async def setup() -> AsyncIterator[Resource]:
        resource = Resource()
        resource.events.append("open")
        yield resource
        raise Boom("at the end")

    with pytest.raises(Boom, match="at the end"):
        list(map_partitions(with_context, setup=setup)(iter([1])))


@pytest.mark.parametrize("kind", [RuntimeError, SystemExit])
def test_a_setup_that_fails_to_end_after_an_error_is_a_note_on_that(
    kind: type[BaseException],
) -> None:
    @asynccontextmanager
    async def setup() -> AsyncIterator[Resource]:
        resource = Resource()
        resource.events.append("open")
        try:
            yield resource
        finally:
            raise kind("at the end")

    with pytest.raises(Boom, match="negative") as caught:
        list(map_partitions(with_context, setup=setup)(iter([-1])))

    assert caught.value.__notes__ == [
        "row 0",
        f"then its setup failed to end, by {kind.__name__}: at the end",
    ]


def test_a_setup_that_fails_to_end_where_no_more_rows_are_wanted_is_logged(
    caplog: pytest.LogCaptureFixture,
) -> None:
    @asynccontextmanager
    async def setup() -> AsyncIterator[Resource]:
        resource = Resource()
        resource.events.append("open")
        try:
            yield resource
        finally:
            raise Boom("at the end")

    rows = map_partitions(with_context, setup=setup)(iter(range(100)))
    next(rows)
    rows.close()  # type: ignore[attr-defined]  # it is a generator, as Spark knows too

    (told,) = [each.getMessage() for each in caplog.records if each.name == "spark_connector"]
    assert told.endswith("its setup failed to end, by Boom: at the end")


def test_an_error_that_a_task_group_passes_on_is_told_once() -> None:
    async def call(row: int, group: asyncio.TaskGroup) -> None:
        raise Boom("of the call")

    with pytest.raises(Boom, match="of the call") as caught:
        list(map_partitions(call, setup=asyncio.TaskGroup)(iter([-1])))

    assert caught.value.__notes__ == ["row 0"]


def test_what_is_no_function_and_no_number_is_refused() -> None:
    for wrong in ("x", None):
        with pytest.raises(TypeError, match="fn is a"):
            map_partitions(wrong)  # type: ignore[arg-type]  # the mistake
    with pytest.raises(TypeError, match="setup is a function, not Resource"):
        map_partitions(times_ten, setup=type("Resource", (), {})())
    with pytest.raises(ValueError, match="concurrency is 1 or more, not 0"):
        map_partitions(times_ten, concurrency=0)
    with pytest.raises(TypeError, match="chunk_rows is a whole number, not bool"):
        map_partitions(times_ten, chunk_rows=True)
