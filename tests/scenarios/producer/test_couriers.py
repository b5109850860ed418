"""Couriers carry what they are given, in its order, and are used again."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest

from kafka_aio.errors import StateError
from kafka_aio.net.tasks import Tasks
from kafka_aio.producer.couriers import Couriers


@pytest.fixture
async def tasks() -> AsyncIterator[Tasks]:
    made = Tasks("test")
    await made.start()
    yield made
    await made.aclose()


async def test_loads_set_out_in_their_order_and_each_has_a_courier(tasks: Tasks) -> None:
    set_out: list[int] = []
    gate = asyncio.Event()

    async def carry(load: int) -> None:
        set_out.append(load)
        await gate.wait()

    couriers = Couriers(tasks, carry)
    for load in range(5):
        couriers.send(load)
    await asyncio.sleep(0.01)

    assert set_out == [0, 1, 2, 3, 4]
    assert repr(couriers) == "<Couriers: 5 of 5 on their way>"


async def test_a_courier_that_is_back_carries_the_next(tasks: Tasks) -> None:
    carried: list[tuple[int, str]] = []

    async def carry(load: int) -> None:
        task = asyncio.current_task()
        assert task is not None
        await asyncio.sleep(0)
        carried.append((load, task.get_name()))

    couriers = Couriers(tasks, carry)
    for load in range(10):
        couriers.send(load)
        while len(carried) <= load:  # noqa: ASYNC110 - one at a time, in turns of the loop
            await asyncio.sleep(0)
        await asyncio.sleep(0)

    assert [load for load, _ in carried] == list(range(10))
    assert len({name for _, name in carried}) == 1
    assert repr(couriers) == "<Couriers: 0 of 1 on their way>"


async def test_a_load_that_fails_ends_the_client() -> None:
    tasks = Tasks("test")
    await tasks.start()

    async def carry(load: int) -> None:
        raise StateError(f"lost {load}")

    Couriers(tasks, carry).send(7)
    await asyncio.sleep(0.01)

    with pytest.raises(StateError, match="lost 7"):
        tasks.check()
    await tasks.aclose()
