from __future__ import annotations

import asyncio

from kafka_aio.net.tasks import Wakeup


async def test_a_sleeper_is_woken() -> None:
    wakeup = Wakeup()
    sleeping = asyncio.create_task(wakeup.wait())
    await asyncio.sleep(0)
    wakeup.set()

    assert await sleeping is True
    assert repr(wakeup) == "<Wakeup>"


async def test_a_sleeper_wakes_by_itself_when_the_time_has_come() -> None:
    wakeup = Wakeup()
    until = asyncio.get_running_loop().time() + 0.01

    assert await wakeup.wait(until=until) is False
    assert asyncio.get_running_loop().time() >= until - 0.001


async def test_a_call_before_the_sleep_ends_it_at_once_and_counts_once() -> None:
    wakeup = Wakeup()
    wakeup.set()
    wakeup.set()
    was_set = repr(wakeup)

    assert was_set == "<Wakeup (set)>"
    assert await wakeup.wait(until=0.0) is True
    assert await wakeup.wait(until=0.0) is False


async def test_no_call_is_lost_that_comes_in_the_turn_of_the_deadline() -> None:
    wakeup = Wakeup()
    loop = asyncio.get_running_loop()
    until = loop.time() + 0.01
    sleeping = asyncio.create_task(wakeup.wait(until=until))
    await asyncio.sleep(0)
    loop.call_at(until, wakeup.set)  # after the time-out's own call, in the same turn

    woken = await sleeping

    assert [woken, await wakeup.wait(until=loop.time() + 0.01)].count(True) == 1


async def test_no_call_is_lost_when_the_sleeper_is_cancelled() -> None:
    wakeup = Wakeup()
    sleeping = asyncio.create_task(wakeup.wait())
    await asyncio.sleep(0)
    wakeup.set()
    sleeping.cancel()
    await asyncio.wait([sleeping])

    assert sleeping.cancelled()
    assert await wakeup.wait(until=0.0) is True
