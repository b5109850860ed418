from __future__ import annotations

import asyncio
import contextvars
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from kafka_aio.testing import VirtualLoop, run
from kafka_aio.testing.loop import START


def test_a_job_runs_in_a_later_turn_and_takes_no_time() -> None:
    async def main() -> list[object]:
        loop = asyncio.get_running_loop()
        seen: list[object] = []
        future = loop.run_in_executor(None, seen.append, "job")
        seen.append("caller")
        await future
        return [*seen, loop.time() - START]

    assert run(main()) == ["caller", "job", 0.0]


def test_a_job_runs_in_the_thread_of_the_loop_and_sees_no_loop() -> None:
    def job() -> threading.Thread:
        with pytest.raises(RuntimeError, match="no running event loop"):
            asyncio.get_running_loop()
        return threading.current_thread()

    async def main() -> tuple[threading.Thread, threading.Thread]:
        loop = asyncio.get_running_loop()
        with ThreadPoolExecutor() as executor:
            mine = await loop.run_in_executor(executor, job)
        assert asyncio.get_running_loop() is loop
        return mine, await loop.run_in_executor(None, job)

    assert run(main()) == (threading.current_thread(), threading.current_thread())


def test_a_job_can_run_a_loop_of_its_own() -> None:
    async def inner() -> float:
        await asyncio.sleep(60)
        return asyncio.get_running_loop().time()

    async def main() -> tuple[float, float]:
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(None, lambda: run(inner())), loop.time()

    assert run(main()) == (START + 60, START)


def test_the_errors_of_a_job_travel() -> None:
    def job() -> None:
        raise ZeroDivisionError("in the job")

    async def main() -> None:
        with pytest.raises(ZeroDivisionError, match="in the job"):
            await asyncio.get_running_loop().run_in_executor(None, job)

    run(main())


def test_to_thread_keeps_the_context_and_a_bare_job_has_none() -> None:
    variable = contextvars.ContextVar("variable", default="default")

    async def main() -> list[str]:
        variable.set("mine")
        loop = asyncio.get_running_loop()
        return [
            await asyncio.to_thread(variable.get),
            await loop.run_in_executor(None, variable.get),
        ]

    assert run(main()) == ["mine", "default"]


def test_a_job_that_is_cancelled_in_time_does_not_run() -> None:
    async def main() -> list[str]:
        seen: list[str] = []
        asyncio.get_running_loop().run_in_executor(None, seen.append, "job").cancel()
        await asyncio.sleep(1)
        return seen

    assert run(main()) == []


def test_there_are_no_jobs_after_the_shutdown() -> None:
    with VirtualLoop() as loop:
        loop.run_until_complete(loop.shutdown_default_executor())

        with pytest.raises(RuntimeError, match="Executor shutdown has been called"):
            loop.run_in_executor(None, print)
