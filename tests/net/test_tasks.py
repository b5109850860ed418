from __future__ import annotations

import asyncio
import logging
import weakref
from collections.abc import AsyncIterator

import anyio
import pytest

from kafka_aio.errors import CorruptRecord, KafkaConnectionError, KafkaError, StateError
from kafka_aio.net.tasks import Stage, Tasks

PATIENCE = 5.0


@pytest.fixture
async def tasks() -> AsyncIterator[Tasks]:
    made = Tasks("producer")
    await made.start()
    yield made
    await made.aclose()


async def sleep_for_ever() -> None:
    await asyncio.Event().wait()


class Gate:
    """A body of a task that fails when it is told to."""

    def __init__(self, error: Exception) -> None:
        self._error = error
        self._opened = asyncio.Event()

    def open(self) -> None:
        self._opened.set()

    async def __call__(self) -> None:
        await self._opened.wait()
        raise self._error


async def ended(tasks: Tasks) -> None:
    """Wait until a failure has ended the client."""
    async with asyncio.timeout(PATIENCE):
        while not tasks.is_closed:  # noqa: ASYNC110  # whoever waits in it is told, which is tested
            await asyncio.sleep(0)


# Running.


async def test_a_body_runs_in_a_task_with_a_name(tasks: Tasks) -> None:
    names = []

    async def body() -> None:
        task = asyncio.current_task()
        assert task is not None
        names.append(task.get_name())

    running = tasks.spawn(body, name="sender")
    before = repr(running)
    await running.wait()

    assert names == ["kafka_aio producer: sender"]
    assert (before, repr(running)) == ("<Running 'sender'>", "<Running 'sender' (done)>")
    assert repr(tasks) == "<Tasks of the producer: 0 running, open>"


async def test_one_task_can_be_stopped_alone(tasks: Tasks) -> None:
    one = tasks.spawn(sleep_for_ever, name="one")
    tasks.spawn(sleep_for_ever, name="other")

    one.cancel()
    await one.wait()

    tasks.check()
    assert repr(tasks) == "<Tasks of the producer: 1 running, open>"


async def test_a_task_can_be_stopped_before_it_has_begun(tasks: Tasks) -> None:
    steps = []

    async def body() -> None:
        await asyncio.sleep(0)
        steps.append("never")

    running = tasks.spawn(body, name="early")
    running.cancel()
    await running.wait()

    assert steps == []


async def test_a_task_can_start_another(tasks: Tasks) -> None:
    steps = []

    async def second() -> None:
        steps.append("second")

    async def first() -> None:
        await tasks.spawn(second, name="second").wait()
        steps.append("first")

    await tasks.spawn(first, name="first").wait()

    assert steps == ["second", "first"]


# Failing.


async def test_a_task_that_fails_ends_the_others(tasks: Tasks) -> None:
    gate = Gate(KafkaConnectionError("no broker"))
    other = tasks.spawn(sleep_for_ever, name="other")
    tasks.spawn(gate, name="gate")

    gate.open()
    async with asyncio.timeout(PATIENCE):
        await other.wait()
    await ended(tasks)

    assert repr(tasks) == "<Tasks of the producer: 0 running, failed>"


async def test_a_failure_reaches_those_who_wait_and_each_later_call(tasks: Tasks) -> None:
    gate = Gate(KafkaConnectionError("no broker"))
    tasks.spawn(gate, name="gate")
    loop = asyncio.get_running_loop()
    waiting = [asyncio.create_task(tasks.wait(loop.create_future())) for _ in range(2)]
    await asyncio.sleep(0)

    gate.open()
    errors: list[object] = list(await asyncio.gather(*waiting, return_exceptions=True))
    for call in (tasks.check, lambda: tasks.spawn(sleep_for_ever, name="late")):
        with pytest.raises(KafkaConnectionError) as caught:
            call()
        errors.append(caught.value)

    assert {type(error) for error in errors} == {KafkaConnectionError}
    assert {str(error) for error in errors} == {"no broker"}
    assert len({id(error) for error in errors}) == 4


async def test_who_waits_after_the_failure_learns_of_it_at_once(tasks: Tasks) -> None:
    gate = Gate(KafkaConnectionError("no broker"))
    tasks.spawn(gate, name="gate")
    gate.open()
    await ended(tasks)

    async with asyncio.timeout(PATIENCE):
        with pytest.raises(KafkaConnectionError, match="no broker"):
            await tasks.wait(asyncio.get_running_loop().create_future())


async def test_an_error_with_facts_keeps_them(tasks: Tasks) -> None:
    gate = Gate(CorruptRecord("bad CRC", topic="t", partition=3, offset=7, next_offset=9))
    tasks.spawn(gate, name="gate")
    gate.open()
    await ended(tasks)

    with pytest.raises(CorruptRecord) as caught:
        tasks.check()

    assert (caught.value.topic, caught.value.partition, caught.value.next_offset) == ("t", 3, 9)


async def test_an_error_that_is_not_ours_is_the_cause_of_one_that_is(
    tasks: Tasks, caplog: pytest.LogCaptureFixture
) -> None:
    gate = Gate(ZeroDivisionError("oh"))
    tasks.spawn(gate, name="gate")
    gate.open()
    await ended(tasks)

    with pytest.raises(StateError, match="the producer ended by a failure of its own: ZeroDiv") as caught:
        tasks.check()

    assert isinstance(caught.value.__cause__, ZeroDivisionError)
    said = [(each.levelno, each.message) for each in caplog.records if "tasks" in each.name]
    assert said == [(logging.ERROR, "producer ended by a failure: ZeroDivisionError('oh')")]


async def test_who_is_cancelled_in_the_turn_of_a_failure_complains_to_nobody(tasks: Tasks) -> None:
    gate = Gate(KafkaConnectionError("no broker"))
    tasks.spawn(gate, name="gate")
    waiter: asyncio.Future[int] = asyncio.get_running_loop().create_future()
    waiting = asyncio.create_task(tasks.wait(waiter))
    waiter.add_done_callback(lambda _: waiting.cancel())
    await asyncio.sleep(0)

    gate.open()
    await asyncio.wait([waiting])

    assert waiting.cancelled()


# Waiting.


async def test_a_result_is_returned(tasks: Tasks) -> None:
    waiter: asyncio.Future[int] = asyncio.get_running_loop().create_future()
    waiting = asyncio.create_task(tasks.wait(waiter))
    await asyncio.sleep(0)
    waiter.set_result(7)

    assert await waiting == 7


async def test_nothing_is_kept_of_what_was_waited_for(tasks: Tasks) -> None:
    waiter: asyncio.Future[int] = asyncio.get_running_loop().create_future()
    waiter.set_result(7)
    await tasks.wait(waiter)
    kept = weakref.ref(waiter)
    del waiter

    assert kept() is None


async def test_waiting_has_an_end(tasks: Tasks) -> None:
    loop = asyncio.get_running_loop()
    waiter: asyncio.Future[int] = loop.create_future()

    with pytest.raises(TimeoutError):
        await tasks.wait(waiter, until=loop.time() + 0.01)

    assert waiter.cancelled()


async def test_closing_reaches_those_who_wait(tasks: Tasks) -> None:
    waiting = asyncio.create_task(tasks.wait(asyncio.get_running_loop().create_future()))
    await asyncio.sleep(0)

    await tasks.aclose()

    with pytest.raises(StateError, match="the producer is closed"):
        await waiting


# Closing.


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


async def test_nothing_is_started_while_it_closes(tasks: Tasks) -> None:
    refused: list[KafkaError] = []

    async def body() -> None:
        try:
            await sleep_for_ever()
        finally:
            try:
                tasks.spawn(sleep_for_ever, name="late")
            except StateError as error:
                refused.append(error)

    tasks.spawn(body, name="early")
    await asyncio.sleep(0)

    async with asyncio.timeout(PATIENCE):
        await tasks.aclose()

    assert [str(error) for error in refused] == ["the producer is closed"]


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


# Misuse.


async def test_what_was_not_started_cannot_be_used() -> None:
    tasks = Tasks("consumer")

    for call in (tasks.check, lambda: tasks.spawn(sleep_for_ever, name="late")):
        with pytest.raises(StateError, match="the consumer was not started: use it in `async with"):
            call()
    with pytest.raises(StateError, match="the consumer was not started"):
        await tasks.wait(asyncio.get_running_loop().create_future())


async def test_what_was_closed_is_not_started_again(tasks: Tasks) -> None:
    await tasks.aclose()

    with pytest.raises(StateError, match="the producer was started before; make a new one"):
        await tasks.start()


def test_another_loop_cannot_use_it() -> None:
    tasks = Tasks("producer")
    loop = asyncio.new_event_loop()

    async def use() -> None:
        with pytest.raises(StateError, match="belongs to another event loop"):
            tasks.check()
        with pytest.raises(StateError, match="belongs to another event loop"):
            await tasks.aclose()

    loop.run_until_complete(tasks.start())
    asyncio.run(use())
    loop.run_until_complete(tasks.aclose())
    loop.close()

    assert tasks.is_closed


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
