"""Each call of the producer's API is cancelled in each turn of the loop that it waits in."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Coroutine, Sequence
from contextlib import suppress
from itertools import compress
from typing import Any

import pytest

from kafka_aio.broker import EmbeddedBroker
from kafka_aio.errors import (
    DeliveryError,
    KafkaConnectionError,
    KafkaError,
    Persistence,
    StateError,
)
from kafka_aio.producer import Producer
from kafka_aio.testing import VirtualLoop
from kafka_aio.types import RecordMetadata
from tests.scenarios.producer.api_world import (
    TOPIC,
    Cut,
    cut_everywhere,
    ended,
    is_at_rest,
    producer_of,
    until,
    values,
)

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


def tasks_of_producers() -> list[asyncio.Task[Any]]:
    return [task for task in asyncio.all_tasks() if "kafka_aio producer" in task.get_name()]


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
def test_cancelled_while_it_waits_for_memory_it_leaks_nothing_and_the_next_one_is_served(
    call: Callable[[Producer[Any, Any], bytes], Coroutine[Any, Any, object]],
) -> None:
    async def scenario(cut: Cut) -> bool:
        async with (
            EmbeddedBroker(topics={TOPIC: 1}) as broker,
            producer_of(broker, **FULL) as producer,
        ):
            await producer.partitions_for(TOPIC)
            hold = broker.faults.hold("Produce")
            taken = [producer.submit_nowait(TOPIC, b"y" * 800) for _ in range(2)]
            await broker.wait_hits(hold)

            async def after_it() -> object:
                await asyncio.sleep(0.5)
                return await producer.send(TOPIC, b"z" * 800)

            next_one = asyncio.create_task(after_it())
            waiting: list[int] = []
            loop = asyncio.get_running_loop()
            loop.call_later(1, hold.release, 1)  # there is memory for one of them
            loop.call_later(1.5, lambda: waiting.append(producer.statistics().waiting))
            loop.call_later(2, hold.release)
            was_cut = await cut(call(producer, LARGE))
            await next_one
            await check_it_works(producer)
            accepted = LARGE in values(broker)

            assert [await delivery for delivery in taken]
            assert waiting == [accepted]  # if it was not, it was the next one's turn
            expected = [*[b"y" * 800] * 2, *[LARGE] * accepted, b"z" * 800, b"after"]
            assert values(broker) == expected
            assert accepted == (not was_cut) or (accepted and call is send)
            return accepted

    assert set(cut_everywhere(scenario)) == {False, True}


@pytest.mark.parametrize("timeout", [None, 10])
def test_a_flush_that_is_cancelled_flushes_all_the_same(timeout: float | None) -> None:
    async def scenario(cut: Cut) -> None:
        async with (
            EmbeddedBroker(topics={TOPIC: 2}) as broker,
            producer_of(broker, linger_ms=60_000) as producer,
        ):
            await producer.partitions_for(TOPIC)
            deliveries = [producer.submit_nowait(TOPIC, b"a", partition=at) for at in (0, 1)]
            await cut(producer.flush(timeout=timeout))
            async with asyncio.timeout(1):
                for delivery in deliveries:
                    await delivery

            assert producer._sender._flushes == []
            await check_it_works(producer)
            assert Counter(values(broker)) == {b"a": 2, b"after": 1}

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

            assert not tasks_of_producers()
            assert producer.health().state == "closed"
            with pytest.raises(StateError, match="the producer is closed: make a new one"):
                await producer.send(TOPIC, b"a")
            with pytest.raises(StateError, match="was started before; make a new one"):
                await producer.start()
            producer.statistics()
            await producer.aclose()
            await until(lambda: broker.statistics().connections == 0)
            return True

    assert cut_everywhere(scenario).count(False) == 1


def test_a_start_that_is_cancelled_while_nobody_answers_leaves_nothing_open() -> None:
    async def scenario(cut: Cut) -> None:
        VirtualLoop.running().network.black_hole()
        producer: Producer[Any, Any] = Producer(bootstrap_servers="10.0.0.1:9092,10.0.0.2:9092")
        with suppress(KafkaConnectionError):
            await cut(producer.start(timeout=5))

        assert producer.health().state == "closed"
        await until(lambda: not tasks_of_producers())

    cut_everywhere(scenario)


async def close(producer: Producer[Any, Any], timeout: float | None) -> None:
    with suppress(DeliveryError):  # whom it concerns is asked
        await producer.aclose(timeout=timeout)


def is_in_log(outcome: RecordMetadata | KafkaError) -> bool | None:
    """As a delivery says it: None where it does not know."""
    if isinstance(outcome, RecordMetadata):
        return True
    assert isinstance(outcome, StateError)
    return None if outcome.persistence is Persistence.POSSIBLY_PERSISTED else False


@pytest.mark.parametrize("timeout", [None, 3, 0])
def test_a_close_that_is_cancelled_closes_all_the_same(timeout: float | None) -> None:
    one_by_one = {**FULL, "max_in_flight_requests_per_connection": 1}

    async def scenario(cut: Cut) -> tuple[bool | None, ...]:
        async with EmbeddedBroker(topics={TOPIC: 1}) as broker:
            producer = producer_of(broker, **one_by_one)
            await producer.start()
            await producer.partitions_for(TOPIC)
            slow = broker.faults.delay("Produce", 2)
            records = [b"%d" % number + LARGE for number in range(2)]
            deliveries = [producer.submit_nowait(TOPIC, value) for value in records]
            await broker.wait_hits(slow)
            waiting = asyncio.create_task(ended(producer.send(TOPIC, LARGE)))
            await until(lambda: producer.statistics().waiting == 1)
            was_cut = await cut(close(producer, timeout))
            outcomes = [await ended(each) for each in deliveries]
            await producer.aclose()  # waits for the end of what goes on without the first call

            assert producer.health().state == "closed"
            assert not tasks_of_producers()
            assert is_at_rest(producer)
            assert str(await waiting) == "the producer is closed: make a new one"
            await until(lambda: broker.statistics().connections == 0)
            await asyncio.sleep(10)  # what the broker has got, it has carried out
            said = [is_in_log(outcome) for outcome in outcomes]
            are_there = [value in values(broker) for value in records]
            assert values(broker) == list(compress(records, are_there))
            assert all(
                word in (None, is_there) for word, is_there in zip(said, are_there, strict=True)
            )
            assert was_cut or timeout is not None or said == [True, True]
            return tuple(said)

    found = cut_everywhere(scenario)

    assert (None, False) in found  # it gave up at once
    assert timeout == 0 or (True, False) in found or (True, None) in found
    assert (found[-1] == (True, True)) == (timeout is None)


async def block(broker: EmbeddedBroker, records: Sequence[bytes], accepted: list[bytes]) -> None:
    async with producer_of(broker, linger_ms=1) as producer:
        for value in records[:-1]:
            await producer.submit(TOPIC, value)
            accepted.append(value)
            await asyncio.sleep(0.001)
        await producer.send(TOPIC, records[-1])


def test_a_block_that_is_cancelled_delivers_what_it_has_accepted() -> None:
    async def scenario(cut: Cut) -> list[bytes | None]:
        async with EmbeddedBroker(topics={TOPIC: 1}) as broker:
            accepted: list[bytes] = []
            await cut(block(broker, [b"a", b"b", b"c"], accepted))

            await until(lambda: not tasks_of_producers())
            await until(lambda: broker.statistics().connections == 0)
            assert values(broker)[: len(accepted)] == accepted
            return values(broker)

    found = cut_everywhere(scenario)

    assert {b"".join(filter(None, each)) for each in found} == {b"", b"a", b"ab", b"abc"}


async def test_a_block_that_is_cancelled_leaves_nothing_open_on_real_sockets_too() -> None:
    async with EmbeddedBroker(topics={TOPIC: 1}) as broker:
        for turns in range(80):
            before = len(values(broker))
            records = [b"%d %d" % (turns, number) for number in range(3)]
            accepted: list[bytes] = []
            running = asyncio.create_task(block(broker, records, accepted))
            for _ in range(turns + 1):
                await asyncio.sleep(0)
            running.cancel()
            await asyncio.wait([running])
            await until(lambda: not tasks_of_producers())

            stored = values(broker)[before:]
            assert stored == records[: len(stored)]
            assert len(stored) >= len(accepted)
        await block(broker, [b"the last"], [])

        assert values(broker)[-1] == b"the last"
