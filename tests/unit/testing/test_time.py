from __future__ import annotations

import asyncio
import contextvars
import subprocess
import sys
import threading
import time
from math import inf
from typing import Any

import anyio
import pytest

from kafka_aio.errors import StateError
from kafka_aio.net import clock
from kafka_aio.testing import DeadlockError, VirtualLoop, run
from kafka_aio.testing.loop import START, WALL_START


def test_a_day_takes_no_time() -> None:
    before = time.monotonic()
    with VirtualLoop() as loop:
        loop.run_until_complete(asyncio.sleep(86_400))

    assert loop.time() == START + 86_400
    assert time.monotonic() - before < 1_000


def test_time_stands_still_while_something_is_ready() -> None:
    async def main() -> float:
        for _ in range(90):
            await asyncio.sleep(0)
        return asyncio.get_running_loop().time()

    assert run(main()) == START


def test_who_asks_again_and_again_sees_time_pass() -> None:
    async def main() -> bool:
        loop = asyncio.get_running_loop()
        done = asyncio.Event()
        loop.call_later(0.01, done.set)
        while not done.is_set():  # noqa: ASYNC110  # that is the point
            await asyncio.sleep(0)
        return loop.time() < START + 0.011

    assert run(main())


def test_timers_run_by_their_time_and_then_in_their_order() -> None:
    async def main() -> str:
        loop = asyncio.get_running_loop()
        seen: list[str] = []
        for name in "fghij":
            loop.call_later(2, seen.append, name)
        for name in "abcde":
            loop.call_later(1, seen.append, name)
        await asyncio.sleep(3)
        return "".join(seen)

    assert run(main()) == "abcdefghij"


def test_a_timer_of_the_past_runs_at_once() -> None:
    async def main() -> float:
        loop = asyncio.get_running_loop()
        done = asyncio.Event()
        loop.call_at(5, done.set)
        await done.wait()
        return loop.time()

    assert run(main()) == START


def test_a_cancelled_timer_does_not_move_the_clock() -> None:
    async def main() -> None:
        loop = asyncio.get_running_loop()
        timers = [loop.call_later(60 + number, print) for number in range(1_000)]
        loop.call_later(5, timers[0].cancel)
        for timer in timers[1:]:
            timer.cancel()
        timers[1].cancel()
        try:
            await asyncio.Event().wait()
        finally:
            assert loop.time() == START + 5

    with pytest.raises(DeadlockError):
        run(main())


def test_cancelled_timers_do_not_pile_up() -> None:
    async def main() -> int:
        loop = VirtualLoop.running()
        loop.call_later(1, print)  # before them, so that they are not at the head of the queue
        for _ in range(3_000):
            async with asyncio.timeout(30):
                await asyncio.sleep(0)
        return len(loop._timers)

    assert run(main()) < 300


def test_a_timeout_is_exact_and_takes_no_time() -> None:
    async def main() -> float:
        loop = asyncio.get_running_loop()
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(3_600):
                await asyncio.Event().wait()
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(asyncio.Event().wait(), 400)
        return loop.time()

    assert run(main()) == START + 4_000


def test_a_timeout_that_never_comes_is_no_reason_to_wait() -> None:
    async def main() -> None:
        async with asyncio.timeout(inf):
            await asyncio.Event().wait()

    with pytest.raises(DeadlockError):
        run(main())


def test_anyio_runs_on_it() -> None:
    async def main() -> list[object]:
        seen: list[object] = []

        async def sleeper(seconds: float) -> None:
            await anyio.sleep(seconds)
            seen.append(anyio.current_time() - START)

        async with anyio.create_task_group() as group:
            group.start_soon(sleeper, 60)
            group.start_soon(sleeper, 30)
        with pytest.raises(TimeoutError), anyio.fail_after(40):
            await anyio.sleep_forever()
        with anyio.move_on_after(5) as scope:
            async with anyio.create_task_group() as group:
                group.start_soon(anyio.sleep_forever)
        return [*seen, anyio.current_time() - START, scope.cancelled_caught]

    assert run(main()) == [30, 60, 105, True]


def test_a_group_of_anyio_cancels_its_tasks_in_the_order_of_their_making() -> None:
    async def main() -> list[int]:
        ended: list[int] = []

        async def sleeper(number: int) -> None:
            try:
                with anyio.CancelScope():
                    await anyio.sleep_forever()
            finally:
                ended.append(number)

        async with anyio.create_task_group() as group:
            for number in range(50):
                group.start_soon(sleeper, number)
            await anyio.sleep(1)
            group.cancel_scope.cancel()
        return ended

    assert run(main()) == [*range(50)]


def test_a_group_of_asyncio_cancels_its_tasks_in_the_same_order_each_time() -> None:
    async def main() -> list[int]:
        ended: list[int] = []

        async def sleeper(number: int) -> None:
            try:
                await asyncio.Event().wait()
            finally:
                ended.append(number)

        async def fail() -> None:
            async with asyncio.TaskGroup() as group:
                for number in range(50):
                    group.create_task(sleeper(number))
                await asyncio.sleep(1)
                raise ZeroDivisionError

        with pytest.raises(ExceptionGroup):
            await fail()
        return ended

    first = run(main())
    in_the_way = [run(main()) for _ in range(3)]  # and other addresses

    assert in_the_way == [first] * 3
    assert sorted(first) == [*range(50)]


def test_tasks_have_names_by_their_number_in_the_loop() -> None:
    async def main() -> list[str]:
        async def nothing() -> None:
            pass

        tasks = [asyncio.create_task(nothing()), asyncio.create_task(nothing(), name="mine")]
        await asyncio.gather(*tasks)
        return [task.get_name() for task in tasks]

    assert run(main()) == run(main()) == ["Task-2", "mine"]


def test_the_wall_clock_is_virtual_while_the_loop_runs() -> None:
    async def main() -> tuple[float, float]:
        before = clock.wall_time()
        await asyncio.sleep(86_400)
        return before, clock.wall_time()

    assert run(main()) == (WALL_START, WALL_START + 86_400)
    assert run(main(), wall_start=5.0) == (5.0, 86_405.0)
    assert abs(clock.wall_time() - time.time()) < 1_000


def test_the_wall_clock_is_real_again_after_a_failure() -> None:
    async def main() -> None:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        run(main())

    assert abs(clock.wall_time() - time.time()) < 1_000


def test_the_wall_clock_of_other_threads_is_real() -> None:
    seen: list[float] = []

    async def main() -> None:
        thread = threading.Thread(target=lambda: seen.append(clock.wall_time()))
        thread.start()
        thread.join()

    run(main())

    assert abs(seen[0] - time.time()) < 1_000


def test_chance_comes_from_the_seed_while_the_loop_runs() -> None:
    async def main() -> float:
        return clock.rng().random()

    assert run(main(), seed=1) == run(main(), seed=1) != run(main(), seed=2)
    assert clock.rng().random() != clock.rng().random()


def test_the_loop_can_be_run_more_than_once() -> None:
    with VirtualLoop() as loop:
        loop.run_until_complete(asyncio.sleep(1))
        loop.call_soon(loop.stop)
        loop.run_forever()
        loop.stop()
        loop.run_forever()
        loop.run_until_complete(asyncio.sleep(1))

        assert loop.time() == START + 2
        assert not loop.is_running()
    assert loop.is_closed()
    assert repr(loop) == "<VirtualLoop seed=0: closed, 2.000000 s have passed>"


def test_the_running_loop_can_be_asked_for() -> None:
    async def main() -> bool:
        return VirtualLoop.running() is asyncio.get_running_loop()

    async def elsewhere() -> None:
        with pytest.raises(StateError, match="is no VirtualLoop"):
            VirtualLoop.running()

    assert run(main())
    asyncio.run(elsewhere())
    with pytest.raises(RuntimeError, match="no running event loop"):
        VirtualLoop.running()


def test_debug_mode_finds_what_asyncios_finds() -> None:
    async def main() -> list[str]:
        loop = asyncio.get_running_loop()
        assert loop.get_debug()
        seen: list[str] = []
        loop.set_exception_handler(lambda _, context: seen.extend(context))
        with pytest.raises(TypeError, match="coroutines cannot be used with call_at"):
            loop.call_later(1, asyncio.sleep, 1)

        def call_from_a_thread() -> None:
            with pytest.raises(RuntimeError, match="Non-thread-safe operation"):
                loop.call_later(1, print)
            loop.call_soon_threadsafe(seen.append, "from a thread")

        thread = threading.Thread(target=call_from_a_thread)
        thread.start()
        thread.join()
        loop.call_soon(lambda: 1 / 0)
        await asyncio.sleep(1)
        return seen

    with asyncio.Runner(debug=True, loop_factory=VirtualLoop) as runner:
        seen = runner.run(main())

    assert seen == ["from a thread", "message", "exception", "handle", "source_traceback"]


def test_contexts_are_kept() -> None:
    variable = contextvars.ContextVar("variable", default="default")

    async def main() -> list[str]:
        loop = asyncio.get_running_loop()
        seen: list[str] = []
        variable.set("outer")
        loop.call_later(1, lambda: seen.append(variable.get()))
        loop.call_later(2, lambda: seen.append(variable.get()), context=contextvars.Context())

        async def inner() -> None:
            variable.set("inner")

        await asyncio.create_task(inner())
        await asyncio.sleep(3)
        return [*seen, variable.get()]

    assert run(main()) == ["outer", "default", "outer"]


def test_a_task_factory_is_used() -> None:
    class Task(asyncio.Task[Any]):
        pass

    def make(loop: asyncio.AbstractEventLoop, coro: Any, **options: Any) -> Task:
        return Task(coro, loop=loop, **options)

    with VirtualLoop() as loop:
        loop.set_task_factory(make)
        task = loop.create_task(asyncio.sleep(1))
        loop.run_until_complete(task)

        assert type(task) is Task


def test_what_is_closed_is_not_run() -> None:
    loop = VirtualLoop()
    loop.close()
    loop.close()

    with pytest.raises(RuntimeError, match="closed"):
        loop.call_later(1, print)
    with pytest.raises(RuntimeError, match="closed"):
        loop.run_forever()


def test_importing_the_package_imports_no_loop() -> None:
    script = "import kafka_aio.testing, sys; sys.exit('asyncio' in sys.modules)"

    subprocess.run([sys.executable, "-c", script], check=True)
