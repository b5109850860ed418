"""Deliveries awaited by tasks of asyncio: of C and of Python, on its own loop and on uvloop."""

from __future__ import annotations

import asyncio
import contextvars
import sys
import weakref
from collections.abc import Awaitable, Callable
from types import ModuleType
from typing import Any

import anyio
import pytest
import uvloop

from kafka_aio.errors import KafkaConnectionError
from kafka_aio.producer.user_code import UserCode
from kafka_aio.records.codec import BatchBuilder
from tests.unit.producer.deliveries import Awaiting, Loop, batch_of, modules, outcome_of

Test = Callable[[ModuleType], Awaitable[None]]


@pytest.fixture(params=modules, ids=lambda module: module.__name__.rpartition(".")[2])
def module(request: pytest.FixtureRequest) -> ModuleType:
    found: ModuleType = request.param
    return found


@pytest.fixture(params=["asyncio", "debug", "uvloop", "tasks in Python"])
def run(request: pytest.FixtureRequest, module: ModuleType) -> Callable[[Test], None]:
    """Runs a test on one of the loops."""

    def in_python(loop: asyncio.AbstractEventLoop, coroutine: Any, **options: Any) -> Any:
        return asyncio.tasks._PyTask(coroutine, loop=loop, **options)  # type: ignore[attr-defined]

    async def started(test: Test) -> None:
        if request.param == "tasks in Python":
            asyncio.get_running_loop().set_task_factory(in_python)
        await asyncio.create_task(test(module))  # type: ignore[arg-type]  # they are coroutines

    factory = uvloop.new_event_loop if request.param == "uvloop" else asyncio.new_event_loop

    def run(test: Test) -> None:
        with asyncio.Runner(loop_factory=factory, debug=request.param == "debug") as runner:
            runner.run(started(test))

    return run


async def begun(*work: Any) -> list[asyncio.Task[Any]]:
    """Tasks that have come to where they wait."""
    tasks = [asyncio.ensure_future(each) for each in work]
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    return tasks


async def until(awaitable: Any) -> Any:
    return await awaitable


def test_it_goes_with_what_asyncio_has(run: Callable[[Test], None]) -> None:
    async def test(module: ModuleType) -> None:
        outcome, deliveries = batch_of(module, UserCode(), 3)
        waiting = asyncio.gather(*deliveries)
        shielded = asyncio.shield(deliveries[0])
        await asyncio.sleep(0)
        outcome.deliver(0)

        assert [each.offset for each in await waiting] == [0, 1, 2]
        assert (await shielded).offset == 0
        assert [each.offset for each in await asyncio.gather(*deliveries)] == [0, 1, 2]
        assert (await asyncio.wait_for(deliveries[1], 1)).offset == 1
        assert (await asyncio.ensure_future(deliveries[2])).offset == 2

    run(test)


def test_what_is_accepted_may_be_a_task(run: Callable[[Test], None]) -> None:
    async def test(module: ModuleType) -> None:
        user_code = UserCode()
        outcome = outcome_of(module, user_code, count=1)
        topic = module.OpenTopic(1)
        topic.put(0, module.OpenBatch(BatchBuilder(1_000), outcome))
        accepted = topic.submit(b"k", b"v", 1, 0.0)
        delivery = await asyncio.create_task(accepted)
        outcome.deliver(7)

        assert delivery is accepted.delivery
        assert (await delivery).offset == 7
        accepted.close()
        with pytest.raises(asyncio.CancelledError):
            accepted.throw(asyncio.CancelledError)

    run(test)


def test_callbacks_are_called_before_who_waits_goes_on(run: Callable[[Test], None]) -> None:
    async def test(module: ModuleType) -> None:
        order: list[str] = []

        async def wait() -> None:
            await delivery
            order.append("waited")

        outcome, (delivery,) = batch_of(module, UserCode(), 1)
        (task,) = await begun(wait())
        delivery.add_done_callback(lambda _: order.append("called"))
        outcome.deliver(0)
        await task

        assert order == ["called", "waited"]

    run(test)


def test_a_failure_reaches_each_task(run: Callable[[Test], None]) -> None:
    async def test(module: ModuleType) -> None:
        outcome, deliveries = batch_of(module, UserCode(), 2)
        tasks = await begun(*map(until, deliveries))
        outcome.fail(KafkaConnectionError("lost"))
        found = await asyncio.gather(*tasks, return_exceptions=True)

        assert [type(each) for each in found] == [KafkaConnectionError] * 2
        assert found[0] is not found[1]

    run(test)


def test_one_that_is_cancelled_ends_at_once_and_the_others_wait_on(
    run: Callable[[Test], None],
) -> None:
    async def test(module: ModuleType) -> None:
        outcome, deliveries = batch_of(module, UserCode(), 3)
        tasks = await begun(*map(until, deliveries))
        tasks[1].cancel("enough")
        with pytest.raises(asyncio.CancelledError) as caught:
            await tasks[1]
        were_done = [task.done() for task in tasks]
        outcome.deliver(7)
        others = await asyncio.gather(tasks[0], tasks[2])

        assert were_done == [False, True, False]
        assert caught.value.args == ("enough",) or sys.version_info < (3, 11)
        assert [each.offset for each in others] == [7, 9]

    run(test)


def test_cancelled_after_the_batch_was_settled_it_is_cancelled(
    run: Callable[[Test], None],
) -> None:
    async def test(module: ModuleType) -> None:
        outcome, (delivery,) = batch_of(module, UserCode(), 1)
        (task,) = await begun(until(delivery))
        outcome.deliver(7)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    run(test)


def test_time_outs_and_scopes_end_the_wait(run: Callable[[Test], None]) -> None:
    async def test(module: ModuleType) -> None:
        outcome, (delivery,) = batch_of(module, UserCode(), 1)
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(until(delivery), 0.001)
        with anyio.move_on_after(0.001) as scope:
            await delivery
        outcome.deliver(7)

        assert scope.cancelled_caught
        assert (await delivery).offset == 7

    run(test)


def test_each_goes_on_in_its_own_context(run: Callable[[Test], None]) -> None:
    mark: contextvars.ContextVar[int] = contextvars.ContextVar("mark")

    async def test(module: ModuleType) -> None:
        async def wait(number: int) -> int:
            mark.set(number)
            await deliveries[number]
            return mark.get()

        outcome, deliveries = batch_of(module, UserCode(), 3)
        tasks = await begun(*map(wait, range(3)))
        outcome.deliver(0)

        assert await asyncio.gather(*tasks) == [0, 1, 2]
        assert mark.get(None) is None

    run(test)


def test_those_of_one_batch_go_on_in_the_order_of_their_waiting(
    run: Callable[[Test], None],
) -> None:
    async def test(module: ModuleType) -> None:
        order: list[int] = []

        async def wait(number: int) -> None:
            await deliveries[number]
            order.append(number)

        outcome, deliveries = batch_of(module, UserCode(), 50)
        tasks = await begun(*map(wait, reversed(range(50))))
        outcome.deliver(0)
        await asyncio.gather(*tasks)

        assert order == list(reversed(range(50)))

    run(test)


def test_where_the_batch_is_divided_each_waits_for_its_part(run: Callable[[Test], None]) -> None:
    async def test(module: ModuleType) -> None:
        user_code = UserCode()
        outcome, deliveries = batch_of(module, user_code, 4)
        tasks = await begun(*map(until, deliveries), until(outcome.waiter()))
        parts = [outcome_of(module, user_code, count=2) for _ in range(2)]
        outcome.divide([(0, parts[0]), (2, parts[1])])
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        were_done = [task.done() for task in tasks]
        tasks[2].cancel()
        parts[1].deliver(100)
        parts[0].deliver(7)
        found: list[Any] = await asyncio.gather(*tasks, return_exceptions=True)

        assert were_done == [False, False, False, False, True]  # the last waited for the whole
        assert [each.offset for each in (found[0], found[1], found[3])] == [7, 8, 101]
        assert isinstance(found[2], asyncio.CancelledError)

    run(test)


def test_a_wait_of_another_loop_is_refused(module: ModuleType) -> None:
    async def submit() -> Any:
        return batch_of(module, UserCode(), 1)

    with asyncio.Runner() as first, asyncio.Runner() as second:
        outcome, (delivery,) = first.run(submit())
        with pytest.raises(RuntimeError, match="attached to a different loop"):
            second.run(until(delivery))
        outcome.deliver(0)
        assert first.run(until(delivery)).offset == 0


def test_what_ends_the_program_leaves_nobody_waiting(module: ModuleType) -> None:
    loop = Loop()
    outcome, deliveries = batch_of(module, loop, 3)
    awaiting = [Awaiting(each).step() for each in deliveries]
    awaiting[0].raises = SystemExit()
    outcome.deliver(0)
    with pytest.raises(SystemExit):
        loop.run()
    loop.run()

    assert [each.is_woken for each in awaiting[1:]] == [True, True]
    for each in awaiting:
        each.close()


def test_those_who_have_given_up_are_not_kept(module: ModuleType) -> None:
    loop = Loop()
    outcome, (delivery,) = batch_of(module, loop, 1)
    stays = Awaiting(delivery).step()
    gone = []

    def give_up() -> None:
        awaiting = Awaiting(delivery).step()
        awaiting.waits_for.cancel()
        loop.run()
        gone.append(weakref.ref(awaiting))
        awaiting.close()

    for _ in range(1_000):
        give_up()

    assert sum(each() is not None for each in gone) < 100, "they would be as many as time-outs"
    outcome.deliver(0)
    loop.run()
    assert stays.is_woken
    assert stays.step().result.offset == 0


def test_one_call_of_the_loop_wakes_all_of_a_batch_but_not_in_debug_mode() -> None:
    calls = []
    for is_debug in (False, True):
        loop = Loop(is_debug=is_debug)
        outcome, deliveries = batch_of(modules[0], loop, 10)
        awaiting = [Awaiting(each).step() for each in deliveries]
        outcome.deliver(0)
        calls.append(loop.calls)
        for each in awaiting:
            each.close()
        loop.run()

    expected = [10, 10] if modules[0].__name__.endswith("_py") else [1, 10]
    assert calls == expected
