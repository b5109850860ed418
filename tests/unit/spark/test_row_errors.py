"""What `map_partitions` says of a call that fails, however strange its error is."""

from __future__ import annotations

import asyncio
import pickle
import threading
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any

import pytest

from spark_connector.bridge import loop_thread
from spark_connector.errors import RowError
from spark_connector.rdd import map_partitions

SECONDS = 10.0
pytestmark = pytest.mark.usefixtures("own_loop")


@dataclass(frozen=True)
class Frozen(Exception):
    """It refuses attributes, and so notes."""

    code: int


def ended(act: Callable[[], Any]) -> BaseException | None:
    """The error of what must not wait for ever."""
    found: list[BaseException] = []

    def run() -> None:
        try:
            act()
        except BaseException as error:
            found.append(error)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    thread.join(SECONDS)
    assert not thread.is_alive()
    return found[0] if found else None


def error_of(function: Any, rows: int = 3, **options: Any) -> BaseException | None:
    return ended(lambda: list(map_partitions(function, **options)(iter(range(rows)))))


@pytest.mark.parametrize("fresh_loop", [False, True])
def test_an_error_that_takes_no_note_is_the_cause_of_one_that_has_the_place(
    fresh_loop: bool,
) -> None:
    async def fail(row: int) -> None:
        raise Frozen(5)

    error = error_of(fail, fresh_loop=fresh_loop)

    assert isinstance(error, RowError)
    assert str(error) == "row 0: Frozen"
    assert error.__cause__ == Frozen(5)


def test_an_error_that_takes_no_note_may_come_from_the_rows_or_the_setup() -> None:
    async def same(row: int, context: Any = None) -> int:
        return row

    def rows() -> Any:
        yield 1
        raise Frozen(6)

    @asynccontextmanager
    async def failing() -> AsyncIterator[None]:
        raise Frozen(7)
        yield

    @asynccontextmanager
    async def failing_to_end() -> AsyncIterator[None]:
        yield
        raise Frozen(8)

    assert ended(lambda: list(map_partitions(same)(rows()))) == Frozen(6)
    assert error_of(same, setup=failing) == Frozen(7)
    assert error_of(same, setup=failing_to_end) == Frozen(8)


def test_a_place_that_cannot_be_told_does_not_hide_the_error(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    class Unprintable(Exception):
        def add_note(self, note: str) -> None:
            raise RuntimeError("no")

        def __str__(self) -> str:
            raise RuntimeError("no")

    async def fail(row: int) -> None:
        raise Unprintable

    error = error_of(fail)

    assert isinstance(error, RowError)
    assert isinstance(error.__cause__, Unprintable)


@pytest.mark.parametrize("kind", [StopIteration, GeneratorExit])
def test_what_means_the_end_of_rows_elsewhere_is_an_error_with_its_place(
    kind: type[BaseException],
) -> None:
    def fail(row: int) -> Any:
        raise kind

    error = error_of(fail)

    assert isinstance(error, RowError)
    assert str(error) == f"row 0: the call raised {kind.__name__}"
    assert isinstance(error.__cause__, kind)


def test_a_call_that_cancels_all_tasks_is_an_error_with_the_place_of_a_row() -> None:
    async def cancel_all(row: int) -> int:
        for task in asyncio.all_tasks() - {asyncio.current_task()}:
            task.cancel()
        await asyncio.sleep(0.1)
        return row

    error = error_of(cancel_all, 30, concurrency=2)

    assert isinstance(error, RowError)
    assert str(error).startswith("row ")
    assert str(error).endswith("cancelled, not by Spark")


def test_an_error_that_is_raised_for_two_tasks_has_the_place_of_the_last() -> None:
    shared = ValueError("shared")
    shared.add_note("of its own")

    async def fail_at_2(row: int) -> None:
        if row == 2:
            raise shared

    async def fail_at_5(row: int) -> None:
        if row == 5:
            raise shared

    error_of(fail_at_2, 9)
    error = error_of(fail_at_5, 9)

    assert error is shared
    assert error.__notes__ == ["of its own", "row 5"]
    assert [type(note) for note in pickle.loads(pickle.dumps(error)).__notes__] == [str, str]


def test_calls_see_the_context_variables_that_the_setup_has_set() -> None:
    variable: ContextVar[int] = ContextVar("variable", default=0)

    @asynccontextmanager
    async def setup() -> AsyncIterator[None]:
        token = variable.set(5)
        try:
            yield
        finally:
            variable.reset(token)

    async def add(row: int, context: None) -> int:
        variable.set(variable.get() + row)  # of this call alone
        return variable.get()

    assert list(map_partitions(add, setup=setup)(iter(range(3)))) == [5, 6, 7]


@pytest.mark.parametrize("ordered", [True, False])
def test_calls_may_end_while_they_are_begun(ordered: bool) -> None:
    async def same(row: int) -> int:
        return row

    loop_thread().loop.set_task_factory(_eager)
    function = map_partitions(same, ordered=ordered, chunk_rows=5000)
    found: list[int] = []
    error = ended(lambda: found.extend(function(iter(range(20_000)))))

    assert error is None
    assert found == list(range(20_000))


def _eager(loop: asyncio.AbstractEventLoop, work: Any, **options: Any) -> asyncio.Future[Any]:
    """As Python has it since 3.12, for calls that do not wait."""
    if work.__qualname__ != "Calls._run":
        return asyncio.Task(work, loop=loop, **options)
    future: asyncio.Future[Any] = loop.create_future()
    try:
        work.send(None)
    except StopIteration as end:
        future.set_result(end.value)
    return future
