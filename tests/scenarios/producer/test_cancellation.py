"""Each call of the producer's API is cancelled at each of its await points."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any

import pytest

from kafka_aio.broker import EmbeddedBroker
from kafka_aio.errors import StateError
from kafka_aio.producer import Producer
from tests.scenarios.producer.api_world import (
    TOPIC,
    cut_everywhere,
    ended,
    is_at_rest,
    producer_of,
    until,
    values,
)

Cut = Callable[[Coroutine[Any, Any, object]], Awaitable[bool]]

LARGE = b"x" * 800
FULL = {"batch_size": 1_000, "buffer_memory": 2_000}
"""Two of these are all that there is room for."""


async def submit(producer: Producer[Any, Any], value: bytes) -> object:
    return await producer.submit(TOPIC, value)


async def send(producer: Producer[Any, Any], value: bytes) -> object:
    return await producer.send(TOPIC, value)


def is_accepted(producer: Producer[Any, Any], before: int = 0) -> bool:
    """Whether a record came in after so many others."""
    found = producer.statistics()
    buffered = sum(
        batch.record_count or batch.builder.count for batch in producer._accumulator.incomplete
    )
    return found.delivered + buffered > before


async def check_it_works(producer: Producer[Any, Any]) -> None:
    async with asyncio.timeout(30):
        after = await producer.submit(TOPIC, b"after")
        await producer.flush()
        await after
    assert is_at_rest(producer)
    assert producer.health().is_healthy


@pytest.mark.parametrize("call", [send, submit])
def test_cancelled_before_it_is_accepted_nothing_is_sent_and_afterwards_it_is_all_the_same(
    call: Callable[[Producer[Any, Any], bytes], Coroutine[Any, Any, object]],
) -> None:
    async def scenario(cut: Cut) -> bool:
        async with EmbeddedBroker(topics={TOPIC: 1}) as broker, producer_of(broker) as producer:
            was_cut = await cut(call(producer, b"cut"))
            accepted = is_accepted(producer)
            await check_it_works(producer)

            assert values(broker) == ([b"cut"] if accepted else []) + [b"after"]
            assert was_cut or accepted
            return accepted

    assert set(cut_everywhere(scenario)) == {False, True}


# B16
@pytest.mark.parametrize("call", [send, submit])
def test_cancelled_while_it_waits_for_memory_it_leaks_nothing(
    call: Callable[[Producer[Any, Any], bytes], Coroutine[Any, Any, object]],
) -> None:
    async def scenario(cut: Cut) -> bool:
        async with (
            EmbeddedBroker(topics={TOPIC: 1}) as broker,
            producer_of(broker, **FULL) as producer,
        ):
            await producer.partitions_for(TOPIC)
            with broker.faults.hold("Produce") as hold:
                taken = [producer.submit_nowait(TOPIC, b"y" * 800) for _ in range(2)]
                await broker.wait_hits(hold)
                free = asyncio.get_running_loop().call_later(1, hold.remove)
                was_cut = await cut(call(producer, LARGE))
                accepted = is_accepted(producer, len(taken))
                next_one = asyncio.create_task(producer.send(TOPIC, b"next"))
                await asyncio.sleep(0)
            free.cancel()
            await next_one
            await check_it_works(producer)

            assert [await delivery for delivery in taken]
            assert (LARGE in values(broker)) == accepted
            assert values(broker)[-2:] == [b"next", b"after"]
            assert was_cut or accepted
            return accepted

    assert set(cut_everywhere(scenario)) == {False, True}


def test_a_flush_that_is_cancelled_flushes_all_the_same() -> None:
    async def scenario(cut: Cut) -> None:
        async with (
            EmbeddedBroker(topics={TOPIC: 1}) as broker,
            producer_of(broker, linger_ms=60_000) as producer,
        ):
            await producer.partitions_for(TOPIC)
            delivery = producer.submit_nowait(TOPIC, b"a")
            await cut(producer.flush())
            async with asyncio.timeout(1):
                await delivery

            assert producer._sender._flushes == []
            await check_it_works(producer)
            assert values(broker) == [b"a", b"after"]

    cut_everywhere(scenario)


def test_a_delivery_that_is_no_longer_awaited_is_delivered() -> None:
    async def scenario(cut: Cut) -> None:
        async with EmbeddedBroker(topics={TOPIC: 1}) as broker, producer_of(broker) as producer:
            await producer.partitions_for(TOPIC)
            delivery = producer.submit_nowait(TOPIC, b"a")

            async def wait() -> object:
                return await delivery

            await cut(wait())
            assert (await delivery).offset == 0
            await check_it_works(producer)

    cut_everywhere(scenario)


def test_a_question_for_partitions_that_is_cancelled_can_be_asked_again() -> None:
    async def scenario(cut: Cut) -> None:
        async with EmbeddedBroker(topics={TOPIC: 3}) as broker, producer_of(broker) as producer:
            await cut(producer.partitions_for(TOPIC))
            again = await producer.partitions_for(TOPIC)

            assert [each.partition for each in again] == [0, 1, 2]
            await check_it_works(producer)

    cut_everywhere(scenario)


def test_a_start_that_is_cancelled_leaves_nothing_open() -> None:
    async def scenario(cut: Cut) -> bool:
        async with EmbeddedBroker(topics={TOPIC: 1}) as broker:
            producer = producer_of(broker)
            if not await cut(producer.start()):
                await check_it_works(producer)
                await producer.aclose()
                return False
            others = asyncio.all_tasks() - {asyncio.current_task()}

            assert not [task for task in others if "producer" in task.get_name()]
            assert producer.health().state == "closed"
            with pytest.raises(StateError, match="the producer is closed: make a new one"):
                await producer.send(TOPIC, b"a")
            with pytest.raises(StateError, match="was started before; make a new one"):
                await producer.start()
            producer.statistics()
            await producer.aclose()
            await until(lambda: broker.statistics().connections == 0)
            return True

    assert cut_everywhere(scenario).count(False) == 2


def test_a_close_that_is_cancelled_closes_all_the_same() -> None:
    async def scenario(cut: Cut) -> bool:
        async with EmbeddedBroker(topics={TOPIC: 1}) as broker:
            producer = producer_of(broker, linger_ms=60_000)
            await producer.start()
            await producer.partitions_for(TOPIC)
            delivery = producer.submit_nowait(TOPIC, b"a")
            was_cut = await cut(producer.aclose())
            outcome = await ended(delivery)
            await producer.aclose()  # waits for the end of what goes on without the first call
            others = asyncio.all_tasks() - {asyncio.current_task()}

            assert not [task for task in others if "producer" in task.get_name()]
            assert is_at_rest(producer)
            assert producer.health().state == "closed"
            is_delivered = not isinstance(outcome, BaseException)
            assert was_cut or is_delivered
            if not is_delivered:
                assert isinstance(outcome, StateError)
            else:
                assert values(broker) == [b"a"]
            await until(lambda: broker.statistics().connections == 0)
            return is_delivered

    assert set(cut_everywhere(scenario)) == {False, True}
