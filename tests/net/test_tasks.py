from __future__ import annotations

import asyncio
import gc
import logging
import weakref
from functools import partial

import anyio
import pytest

from kafka_aio.errors import CorruptRecord, KafkaConnectionError, KafkaError, StateError
from kafka_aio.net.tasks import Stage, Tasks
from tests.net.conftest import sleep_for_ever
from tests.net.server import PATIENCE


class Gate:
    """A body of a task that fails when it is told to."""

    def __init__(self, error: BaseException) -> None:
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

    with pytest.raises(StateError, match="producer ended by a failure of its own: Zero") as caught:
        tasks.check()

    assert isinstance(caught.value.__cause__, ZeroDivisionError)


@pytest.mark.parametrize(
    ("error", "text"),
    [
        (ZeroDivisionError("oh"), "the producer ended, as its task 'gate' failed: ZeroDivision"),
        (KafkaConnectionError("no broker"), "'gate' failed: KafkaConnectionError: no broker"),
    ],
)
async def test_a_failure_is_logged_once_and_a_foreign_text_only_for_those_who_debug(
    tasks: Tasks, caplog: pytest.LogCaptureFixture, error: Exception, text: str
) -> None:
    caplog.set_level(logging.DEBUG, "kafka_aio")
    gate = Gate(error)
    tasks.spawn(gate, name="gate")
    gate.open()
    await ended(tasks)
    await tasks.aclose()

    loud, quiet = (each for each in caplog.records if each.name == "kafka_aio.net.tasks")
    assert (loud.levelno, quiet.levelno) == (logging.ERROR, logging.DEBUG)
    assert text in loud.message
    assert "oh" not in loud.message
    assert loud.exc_info is None
    assert quiet.exc_info is not None
    assert quiet.exc_info[1] is error


class Abort(BaseException):
    """No Exception, as those are that libraries use to end a program."""


async def test_a_failure_that_is_no_exception_is_a_cause_as_well(tasks: Tasks) -> None:
    gate = Gate(Abort("now"))
    tasks.spawn(gate, name="gate")
    waiting = asyncio.create_task(tasks.wait(asyncio.get_running_loop().create_future()))
    await asyncio.sleep(0)

    gate.open()
    errors = await asyncio.gather(waiting, return_exceptions=True)
    with pytest.raises(StateError, match="ended by a failure of its own: Abort") as caught:
        tasks.check()
    await tasks.aclose()

    assert isinstance(errors[0], StateError)
    assert isinstance(errors[0].__cause__, Abort)
    assert caught.value.__cause__ is errors[0].__cause__


def interrupted(kind: type[BaseException], complaints: list[object]) -> BaseException | None:
    """What is the cause for who waits, when a task raises what ends the program."""
    tasks = Tasks("producer")

    async def main() -> None:
        loop = asyncio.get_running_loop()
        loop.set_exception_handler(lambda _, context: complaints.append(context["message"]))
        await tasks.start()
        gate = Gate(kind())
        tasks.spawn(gate, name="gate")
        gate.open()
        await tasks.wait(loop.create_future())

    loop = asyncio.new_event_loop()
    running = loop.create_task(main())
    with pytest.raises(kind):
        loop.run_until_complete(running)
    with pytest.raises(StateError, match=f"a failure of its own: {kind.__name__}") as caught:
        loop.run_until_complete(running)
    loop.run_until_complete(tasks.aclose())
    loop.close()
    return caught.value.__cause__


@pytest.mark.parametrize("kind", [KeyboardInterrupt, SystemExit])
def test_what_ends_the_program_passes_through_the_loop_and_reaches_those_who_wait(
    kind: type[BaseException],
) -> None:
    complaints: list[object] = []

    assert isinstance(interrupted(kind, complaints), kind)
    gc.collect()  # then asyncio complains about failures that nobody has seen
    assert complaints == []


async def test_the_cause_is_told_before_the_last_task_has_ended(tasks: Tasks) -> None:
    may_end = asyncio.Event()

    async def slow() -> None:
        try:
            await sleep_for_ever()
        finally:
            with anyio.CancelScope(shield=True):
                await may_end.wait()

    gate = Gate(KafkaConnectionError("no broker"))
    other = tasks.spawn(slow, name="slow")
    failed = tasks.spawn(gate, name="gate")
    loop = asyncio.get_running_loop()
    waiting = asyncio.create_task(tasks.wait(loop.create_future()))
    await asyncio.sleep(0)
    gate.open()
    await failed.wait()
    try:
        for _ in range(10):
            for call in (tasks.check, tasks.check_open):
                with pytest.raises(KafkaConnectionError, match="no broker"):
                    call()
            await asyncio.sleep(0)
        async with asyncio.timeout(PATIENCE):
            with pytest.raises(KafkaConnectionError, match="no broker"):
                await waiting
            with pytest.raises(KafkaConnectionError, match="no broker"):
                await tasks.wait(loop.create_future())

        assert "(done)" not in repr(other)
        assert tasks.is_closed
    finally:
        may_end.set()


class Picky(KafkaError):
    """As a user may write one."""

    def __init__(self, *, host: str) -> None:
        super().__init__(f"no {host}")
        self.host = host


async def test_an_error_whose_constructor_wants_other_arguments_is_told_to_all(
    tasks: Tasks,
) -> None:
    gate = Gate(Picky(host="here"))
    tasks.spawn(gate, name="gate")
    gate.open()
    await ended(tasks)

    for _ in range(2):
        with pytest.raises(Picky, match="no here") as caught:
            tasks.check()
        assert caught.value.host == "here"


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


# Misuse.


async def test_what_was_not_started_cannot_be_used() -> None:
    tasks = Tasks("consumer")

    late = partial(tasks.spawn, sleep_for_ever, name="late", stage=Stage.CONNECTION)
    for call in (tasks.check, tasks.check_open, late):
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
            tasks.check_open()
        with pytest.raises(StateError, match="belongs to another event loop"):
            await tasks.aclose()

    loop.run_until_complete(tasks.start())
    asyncio.run(use())
    loop.run_until_complete(tasks.aclose())
    loop.close()

    assert tasks.is_closed
