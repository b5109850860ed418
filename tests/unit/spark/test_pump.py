from __future__ import annotations

import asyncio
import gc
import threading
import time
import weakref
from collections.abc import AsyncIterator, Callable, Iterator
from concurrent.futures import CancelledError
from contextlib import suppress
from typing import Any

import pytest

from spark_connector import bridge
from spark_connector.bridge import LoopThread, pump, read_ahead
from tests.unit.spark.threads import SECONDS, Boom, Gate, boom, interrupted_after, soon, turns

# Pumping.


def test_results_come_in_the_order_of_the_chunks_whichever_ends_first(thread: LoopThread) -> None:
    async def work(number: int) -> int:
        await asyncio.sleep(0.02 if number % 2 == 0 else 0)
        return number * 10

    assert list(pump(thread, range(9), work, window=3)) == [number * 10 for number in range(9)]


def test_nothing_to_pump_is_no_result(thread: LoopThread) -> None:
    assert list(pump(thread, [], soon)) == []


def test_chunks_are_advanced_on_the_callers_thread_alone(thread: LoopThread) -> None:
    where = []

    def chunks() -> Iterator[int]:
        for number in range(10):
            where.append(threading.get_ident())
            yield number

    list(pump(thread, chunks(), soon, window=2))

    assert set(where) == {threading.get_ident()}


def test_at_most_a_window_of_chunks_is_under_way_and_that_many_are(thread: LoopThread) -> None:
    running, most = 0, 0
    enough = asyncio.Event()

    async def work(number: int) -> int:
        nonlocal running, most
        running += 1
        most = max(most, running)
        if running == 3:
            enough.set()
        await asyncio.wait_for(enough.wait(), SECONDS)
        await asyncio.sleep(0.005)
        running -= 1
        return number

    list(pump(thread, range(20), work, window=3))

    assert most == 3


def test_no_chunk_is_asked_for_that_would_not_be_worked_on_next(thread: LoopThread) -> None:
    asked: list[int] = []
    gate = Gate(thread)

    def chunks() -> Iterator[int]:
        for number in range(100):
            asked.append(number)
            yield number

    results = pump(thread, chunks(), gate.work, window=3)
    gate.begun.clear()
    threading.Timer(0.1, gate.open).start()

    assert next(results) == 0
    assert len(asked) <= 4
    results.close()  # type: ignore[attr-defined]  # it is a generator


def test_a_result_that_is_there_is_given_before_the_next_chunk_is_worked_on(
    thread: LoopThread,
) -> None:
    events = []

    def chunks() -> Iterator[int]:
        for number in range(3):
            events.append(f"asked {number}")
            thread.run(turns())  # the work before has ended
            yield number

    events += (f"got {result}" for result in pump(thread, chunks(), soon, window=10))

    assert events.index("got 0") < events.index("asked 2")


def test_the_first_error_cancels_the_rest_and_is_raised_with_its_traceback(
    thread: LoopThread,
) -> None:
    gates = [Gate(thread), Gate(thread)]

    async def work(number: int) -> None:
        if number < 2:
            await gates[number].work()
        await boom()

    with pytest.raises(Boom) as caught:
        list(pump(thread, range(3), work, window=3))

    assert caught.traceback[-1].name == "boom"
    assert all(gate.cancelled.is_set() for gate in gates)  # and waited for


def test_an_error_is_raised_while_chunks_before_it_are_under_way(thread: LoopThread) -> None:
    gate = Gate(thread)

    async def work(number: int) -> None:
        await (gate.work() if number == 0 else boom())

    with pytest.raises(Boom):
        next(pump(thread, range(2), work, window=2))


def test_after_an_error_no_more_chunks_are_asked_for(thread: LoopThread) -> None:
    asked = []

    def chunks() -> Iterator[int]:
        for number in range(100):
            asked.append(number)
            thread.run(turns())
            yield number

    with pytest.raises(Boom):
        list(pump(thread, chunks(), boom, window=50))

    assert len(asked) < 10


def test_an_error_of_the_chunks_cancels_what_is_under_way(thread: LoopThread) -> None:
    gate = Gate(thread)

    def chunks() -> Iterator[int]:
        yield 1
        assert gate.begun.wait(SECONDS)
        raise Boom("no more")

    with pytest.raises(Boom, match="no more"):
        list(pump(thread, chunks(), gate.work))

    assert gate.cancelled.is_set()


def test_to_close_the_results_cancels_what_is_under_way(thread: LoopThread) -> None:
    gate = Gate(thread)

    results = pump(thread, range(3), gate.work_but_first, window=3)
    assert next(results) == 0
    results.close()  # type: ignore[attr-defined]  # it is a generator

    assert gate.cancelled.is_set()


def test_results_that_are_let_go_of_are_closed(thread: LoopThread) -> None:
    gate = Gate(thread)

    results = pump(thread, range(3), gate.work_but_first, window=3)
    next(results)
    del results
    gc.collect()

    assert gate.cancelled.wait(SECONDS)


def test_results_that_are_let_go_of_on_the_loop_do_not_wait_for_it(thread: LoopThread) -> None:
    gate = Gate(thread)

    held = [pump(thread, range(3), gate.work_but_first, window=3)]
    next(held[0])

    async def let_go() -> float:
        begun = time.monotonic()
        held.clear()
        return time.monotonic() - begun

    assert thread.run(let_go()) < 1
    assert gate.cancelled.wait(SECONDS)


def test_an_interrupted_pump_cancels_what_is_under_way(thread: LoopThread) -> None:
    gate = Gate(thread)

    with pytest.raises(KeyboardInterrupt), interrupted_after(gate.begun):
        list(pump(thread, [1], gate.work))

    assert gate.cancelled.is_set()


def test_what_refuses_to_be_cancelled_is_not_waited_for_for_long(
    thread: LoopThread, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bridge, "GRACE", 0.1)
    is_enough = threading.Event()

    async def work(number: int) -> None:
        if number == 1:
            raise Boom
        while not is_enough.is_set():
            with suppress(asyncio.CancelledError):
                await asyncio.sleep(0.01)

    begun = time.monotonic()
    with pytest.raises(Boom):
        list(pump(thread, range(2), work))
    took = time.monotonic() - begun
    is_enough.set()

    assert took < SECONDS / 2


def test_a_pump_whose_chunks_are_of_a_pump_does_not_lock(thread: LoopThread) -> None:
    async def add(number: int) -> int:
        await asyncio.sleep(0.001)
        return number + 1

    once = pump(thread, range(50), add, window=2)
    twice = pump(thread, once, add, window=2)

    assert list(pump(thread, twice, add, window=2)) == [number + 3 for number in range(50)]


def test_a_stop_of_the_thread_ends_a_pump(thread: LoopThread) -> None:
    gate = Gate(thread)

    def stop() -> None:
        gate.begun.wait(SECONDS)
        thread.stop()

    threading.Thread(target=stop).start()
    with pytest.raises(CancelledError):
        list(pump(thread, [1], gate.work))


def test_chunks_and_results_are_let_go_of(thread: LoopThread) -> None:
    class Chunk:
        pass

    alive: weakref.WeakSet[Chunk] = weakref.WeakSet()
    most = 0

    def chunks() -> Iterator[Chunk]:
        for _ in range(50):
            chunk = Chunk()
            alive.add(chunk)
            yield chunk

    for result in pump(thread, chunks(), soon, window=4):
        most = max(most, len(alive))
        del result

    assert most < 15


# Reading ahead.


class Source:
    """Numbers, and what became of who reads them."""

    def __init__(self, count: int, *, error: Exception | None = None) -> None:
        self._count = count
        self._error = error
        self.made = 0
        self.closed = threading.Event()
        self.waits = threading.Event()

    async def numbers(self) -> AsyncIterator[int]:
        try:
            for number in range(self._count):
                await asyncio.sleep(0)
                self.made += 1
                yield number
            if self._error is not None:
                raise self._error
            if self._count == 0:
                self.waits.set()
                await asyncio.Event().wait()
        finally:
            await asyncio.sleep(0.01)
            self.closed.set()


def test_all_batches_come_in_their_order(thread: LoopThread) -> None:
    source = Source(100)

    assert list(read_ahead(thread, source.numbers)) == list(range(100))
    assert source.closed.is_set()


def test_nothing_is_read_before_the_first_is_asked_for(thread: LoopThread) -> None:
    source = Source(3)

    batches = read_ahead(thread, source.numbers)
    thread.run(turns())

    assert source.made == 0
    batches.close()  # type: ignore[attr-defined]  # it is a generator


@pytest.mark.parametrize("ahead", [1, 3])
def test_so_many_are_read_ahead_and_no_more(thread: LoopThread, ahead: int) -> None:
    source = Source(100)
    batches = read_ahead(thread, source.numbers, ahead=ahead)

    for taken in range(1, 4):
        next(batches)
        thread.run(turns())

        assert source.made == taken + ahead
    batches.close()  # type: ignore[attr-defined]  # it is a generator


def test_an_error_comes_in_its_place_and_with_its_traceback(thread: LoopThread) -> None:
    source = Source(3, error=Boom("no more"))
    batches = read_ahead(thread, source.numbers, ahead=10)

    assert next(batches) == 0
    assert source.closed.wait(SECONDS)  # it has failed by now
    assert [next(batches), next(batches)] == [1, 2]
    with pytest.raises(Boom, match="no more") as caught:
        next(batches)
    assert caught.traceback[-1].name == "numbers"


def test_to_close_cancels_the_read_and_waits_for_its_end(thread: LoopThread) -> None:
    source = Source(100)
    batches = read_ahead(thread, source.numbers, ahead=2)
    next(batches)

    batches.close()  # type: ignore[attr-defined]  # it is a generator

    assert source.closed.is_set()
    assert source.made <= 4


def test_an_interrupted_read_is_cancelled(thread: LoopThread) -> None:
    source = Source(0)

    with pytest.raises(KeyboardInterrupt), interrupted_after(source.waits):
        next(read_ahead(thread, source.numbers))

    assert source.closed.is_set()


def test_an_iterator_that_cannot_be_closed_is_read_too(thread: LoopThread) -> None:
    class Once:
        def __init__(self) -> None:
            self._left = [1, 2]

        def __aiter__(self) -> Once:
            return self

        async def __anext__(self) -> int:
            if not self._left:
                raise StopAsyncIteration
            return self._left.pop(0)

    assert list(read_ahead(thread, Once)) == [1, 2]


def test_the_iterator_is_made_on_the_loop(thread: LoopThread) -> None:
    made: list[int] = []

    def make() -> AsyncIterator[int]:
        made.append(threading.get_ident())
        asyncio.get_running_loop()
        return Source(1).numbers()

    list(read_ahead(thread, make))

    assert made[0] != threading.get_ident()


def test_a_stop_of_the_thread_ends_a_read(thread: LoopThread) -> None:
    source = Source(0)

    def stop() -> None:
        source.waits.wait(SECONDS)
        thread.stop()

    threading.Thread(target=stop).start()
    with pytest.raises(CancelledError):
        next(read_ahead(thread, source.numbers))


def test_a_batch_that_was_taken_is_let_go_of(thread: LoopThread) -> None:
    class Batch:
        pass

    alive: weakref.WeakSet[Batch] = weakref.WeakSet()

    async def batches() -> AsyncIterator[Batch]:
        for _ in range(50):
            batch = Batch()
            alive.add(batch)
            yield batch

    most = 0
    for batch in read_ahead(thread, batches, ahead=3):
        most = max(most, len(alive))
        del batch

    assert most <= 6


def test_threads_are_crossed_once_per_chunk(
    thread: LoopThread, monkeypatch: pytest.MonkeyPatch
) -> None:
    crossed = []
    call_soon = LoopThread.call_soon

    def counted(self: LoopThread, callback: Callable[..., object], *arguments: Any) -> None:
        crossed.append(callback)
        call_soon(self, callback, *arguments)

    monkeypatch.setattr(LoopThread, "call_soon", counted)
    list(pump(thread, [list(range(1000)) for _ in range(5)], soon))
    assert len(crossed) == 5

    list(read_ahead(thread, Source(5).numbers))
    assert len(crossed) == 5 + 1 + 5


@pytest.mark.parametrize("way", ["run", "pump", "read_ahead"])
def test_an_error_is_not_kept_alive_by_itself(thread: LoopThread, way: str) -> None:
    async def failing() -> AsyncIterator[int]:
        yield await boom()

    calls = {
        "run": lambda: thread.run(boom()),
        "pump": lambda: list(pump(thread, range(3), boom)),
        "read_ahead": lambda: list(read_ahead(thread, failing)),
    }
    gc.collect()
    gc.disable()  # what goes now goes by itself
    try:
        kept = _error_of(calls[way])
        thread.run(turns())  # the loop has let go of it too

        assert kept() is None
    finally:
        gc.enable()


def _error_of(call: Callable[[], Any]) -> weakref.ref[Boom]:
    try:
        call()
    except Boom as error:
        return weakref.ref(error)
    raise AssertionError("there was no error")
