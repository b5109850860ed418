from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable
from functools import partial

import anyio
import pytest

from kafka_aio.errors import KafkaError, StateError
from kafka_aio.net.tasks import Stage, Tasks
from tests.net.conftest import sleep_for_ever
from tests.net.server import PATIENCE


async def test_the_stages_stop_one_after_another(tasks: Tasks) -> None:
    steps = []

    def body(stage: Stage) -> object:
        async def run() -> None:
            try:
                await sleep_for_ever()
            finally:
                with anyio.CancelScope(shield=True):
                    await asyncio.sleep(0.005)
                steps.append(stage)

        return run

    for stage in (Stage.CONNECTION, Stage.WORK, Stage.CLUSTER, Stage.WORK):
        tasks.spawn(body(stage), name=stage.name, stage=stage)  # type: ignore[arg-type]
    await asyncio.sleep(0)

    await tasks.aclose()

    assert steps == [Stage.WORK, Stage.WORK, Stage.CLUSTER, Stage.CONNECTION]


async def test_closing_twice_is_closing_once(tasks: Tasks) -> None:
    tasks.spawn(sleep_for_ever, name="sleeper")

    await asyncio.gather(tasks.aclose(), tasks.aclose())
    await tasks.aclose()

    assert repr(tasks) == "<Tasks of the producer: 0 running, closed>"
    with pytest.raises(StateError, match="the producer is closed"):
        tasks.check()


async def test_closing_what_was_never_started_does_nothing() -> None:
    tasks = Tasks("admin")

    await tasks.aclose()

    assert tasks.is_closed


async def test_closing_that_is_cancelled_goes_on(tasks: Tasks) -> None:
    may_end = asyncio.Event()

    async def body() -> None:
        try:
            await sleep_for_ever()
        finally:
            with anyio.CancelScope(shield=True):
                await may_end.wait()

    running = tasks.spawn(body, name="slow")
    await asyncio.sleep(0)
    closing = asyncio.create_task(tasks.aclose())
    await asyncio.sleep(0.005)
    closing.cancel()
    await asyncio.wait([closing])
    may_end.set()
    async with asyncio.timeout(PATIENCE):
        await running.wait()

    assert closing.cancelled()
    assert repr(tasks) == "<Tasks of the producer: 0 running, closed>"


async def test_a_failure_on_the_way_out_does_not_stop_the_closing(tasks: Tasks) -> None:
    async def body() -> None:
        try:
            await sleep_for_ever()
        finally:
            raise ZeroDivisionError

    tasks.spawn(body, name="clumsy")
    tasks.spawn(sleep_for_ever, name="other", stage=Stage.CONNECTION)
    await asyncio.sleep(0)

    async with asyncio.timeout(PATIENCE):
        await tasks.aclose()

    assert repr(tasks) == "<Tasks of the producer: 0 running, failed>"


async def test_a_task_may_close_the_client_that_it_belongs_to(tasks: Tasks) -> None:
    running = tasks.spawn(tasks.aclose, name="suicidal")

    async with asyncio.timeout(PATIENCE):
        await running.wait()
        await tasks.aclose()

    assert repr(tasks) == "<Tasks of the producer: 0 running, closed>"


class Leaving:
    """A body that does something on its way out, while it is stopped."""

    def __init__(self, last_words: Callable[[], Awaitable[None]]) -> None:
        self._last_words = last_words
        self.errors: list[KafkaError] = []

    async def __call__(self) -> None:
        try:
            await sleep_for_ever()
        finally:
            with anyio.CancelScope(shield=True):
                try:
                    await self._last_words()
                except KafkaError as error:
                    self.errors.append(error)


async def test_work_may_send_while_the_client_closes(tasks: Tasks) -> None:
    loop = asyncio.get_running_loop()
    steps = []

    async def connection(answer: asyncio.Future[str]) -> None:
        await asyncio.sleep(0)
        answer.set_result("answer")
        try:
            await sleep_for_ever()
        finally:
            steps.append("connection closed")

    async def send() -> None:
        tasks.check_open()
        answer = loop.create_future()
        tasks.spawn(partial(connection, answer), name="link", stage=Stage.CONNECTION)
        steps.append(await tasks.wait(answer))

    body = Leaving(send)
    tasks.spawn(body, name="sender")
    await asyncio.sleep(0)

    async with asyncio.timeout(PATIENCE):
        await tasks.aclose()

    assert body.errors == []
    assert steps == ["answer", "connection closed"]


async def test_no_work_is_started_while_the_client_closes(tasks: Tasks) -> None:
    async def start_more() -> None:
        tasks.spawn(sleep_for_ever, name="late")

    body = Leaving(start_more)
    tasks.spawn(body, name="early")
    await asyncio.sleep(0)

    async with asyncio.timeout(PATIENCE):
        await tasks.aclose()

    assert [str(error) for error in body.errors] == ["the producer is closed: make a new one"]


@pytest.mark.parametrize("stage", [Stage.CLUSTER, Stage.CONNECTION])
async def test_nothing_is_sent_or_started_once_the_work_has_ended(
    tasks: Tasks, stage: Stage
) -> None:
    async def send() -> None:
        tasks.check_open()

    async def start_more() -> None:
        tasks.spawn(sleep_for_ever, name="late", stage=Stage.CONNECTION)

    bodies = [Leaving(send), Leaving(start_more)]
    for body in bodies:
        tasks.spawn(body, name="early", stage=stage)
    await asyncio.sleep(0)

    async with asyncio.timeout(PATIENCE):
        await tasks.aclose()

    said = [[str(error) for error in body.errors] for body in bodies]
    assert said == [["the producer is closed: make a new one"]] * 2


async def test_callers_are_refused_while_work_still_ends(tasks: Tasks) -> None:
    may_end = asyncio.Event()

    async def linger() -> None:
        await may_end.wait()

    tasks.spawn(Leaving(linger), name="slow")
    await asyncio.sleep(0)
    closing = asyncio.create_task(tasks.aclose())
    await asyncio.sleep(0.005)

    try:
        tasks.check_open()
        with pytest.raises(StateError, match="the producer is closed"):
            tasks.check()
    finally:
        may_end.set()
        await closing
    with pytest.raises(StateError, match="the producer is closed"):
        tasks.check_open()


async def test_stopping_does_not_wait(tasks: Tasks) -> None:
    running = tasks.spawn(sleep_for_ever, name="sleeper")
    await asyncio.sleep(0)

    tasks.stop()
    tasks.stop()
    with pytest.raises(StateError, match="the producer is closed"):
        tasks.check()
    at_once = repr(running)
    async with asyncio.timeout(PATIENCE):
        await running.wait()

    assert at_once == "<Running 'sleeper'>"
    assert repr(tasks) == "<Tasks of the producer: 0 running, closed>"


async def test_it_may_be_stopped_by_another_thread(tasks: Tasks) -> None:
    running = tasks.spawn(sleep_for_ever, name="sleeper")
    thread = threading.Thread(target=tasks.stop)  # as a finalizer may run anywhere
    thread.start()

    async with asyncio.timeout(PATIENCE):
        await running.wait()
    thread.join()

    assert tasks.is_closed


def test_what_has_lost_its_loop_or_never_had_one_may_be_stopped() -> None:
    new, left_over = Tasks("admin"), Tasks("admin")
    asyncio.run(left_over.start())  # which cancels what is left

    new.stop()
    left_over.stop()

    assert new.is_closed
    assert left_over.is_closed


async def test_it_may_be_started_in_one_task_and_closed_in_another() -> None:
    tasks = Tasks("consumer")

    await asyncio.create_task(tasks.start())
    running = tasks.spawn(sleep_for_ever, name="fetcher")
    await asyncio.create_task(tasks.aclose())

    assert "(done)" in repr(running)


async def test_it_outlives_the_scope_in_which_it_was_started() -> None:
    tasks = Tasks("consumer")

    with anyio.CancelScope() as scope:
        await tasks.start()
        running = tasks.spawn(sleep_for_ever, name="fetcher")
        scope.cancel()
        await asyncio.sleep(0)

    assert "(done)" not in repr(running)
    tasks.check()
    await tasks.aclose()


async def test_a_start_that_is_cancelled_leaves_nothing_behind(
    caplog: pytest.LogCaptureFixture,
) -> None:
    tasks = Tasks("consumer")
    starting = asyncio.create_task(tasks.start())
    await asyncio.sleep(0)
    starting.cancel()
    await asyncio.wait([starting])

    assert starting.cancelled()
    with pytest.raises(StateError, match="the consumer is closed"):
        tasks.check()
    assert [each for each in caplog.records if each.name.startswith("kafka_aio")] == []


async def test_cancelling_everything_ends_it_too() -> None:
    tasks = Tasks("producer")
    await tasks.start()
    tasks.spawn(sleep_for_ever, name="sleeper")
    waiting = asyncio.create_task(tasks.wait(asyncio.get_running_loop().create_future()))
    await asyncio.sleep(0)

    # As asyncio.run does at its end.
    others = asyncio.all_tasks() - {asyncio.current_task(), waiting}
    for task in others:
        task.cancel()
    await asyncio.wait(others)

    with pytest.raises(StateError, match="the producer is closed"):
        await waiting
    await tasks.aclose()
