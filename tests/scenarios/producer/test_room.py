"""Behaviour B16: the buffer is bounded; who finds no room waits in turn, and not for ever."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from kafka_aio.errors import BufferFull, KafkaTimeoutError, RecordTooLarge
from kafka_aio.testing import VirtualLoop
from tests.scenarios.producer.delivering import (
    TOPIC,
    delivering,
    now,
    on_virtual_time,
    submitted,
    values,
)

SMALL: dict[str, Any] = {"batch_size": 1_000, "buffer_memory": 2_000}
LARGE = bytes(800)
"""One of them fills a batch."""


@on_virtual_time
async def test_who_finds_no_room_waits_until_there_is_some() -> None:
    async with delivering(**SMALL) as (broker, producer):
        held = broker.faults.hold("Produce")
        await submitted(producer, LARGE, LARGE)
        waiting = asyncio.create_task(submitted(producer, LARGE))
        await asyncio.sleep(20)
        assert (producer.statistics().waiting, producer.statistics().buffered_bytes) == (1, 2_000)
        held.release()
        (delivery,) = await waiting

        assert (await delivery).offset == 2
        assert producer.statistics().buffered_bytes == 0


@on_virtual_time
async def test_after_max_block_ms_he_is_told_why_there_is_none() -> None:
    async with delivering(**SMALL, max_block_ms=7_000) as (broker, producer):
        broker.faults.hold("Produce")
        await submitted(producer, LARGE, LARGE)
        start = now()
        with pytest.raises(KafkaTimeoutError) as caught:
            await producer.submit(TOPIC, LARGE)

        assert now() - start == 7.0
        assert "within 7 s (max_block_ms): all 2000 bytes (buffer_memory) are taken" in str(
            caught.value
        )
        assert "no answer yet" in str(caught.value)
        assert producer.statistics().waiting == 0


@on_virtual_time
async def test_who_does_not_want_to_wait_is_told_at_once() -> None:
    async with delivering(**SMALL) as (broker, producer):
        broker.faults.hold("Produce")
        await submitted(producer, LARGE, LARGE)

        with pytest.raises(BufferFull, match="2000 of 2000 bytes"):
            producer.submit_nowait(TOPIC, LARGE)


@on_virtual_time
async def test_those_who_wait_are_served_in_the_order_of_their_coming() -> None:
    async with delivering(**SMALL) as (broker, producer):
        held = broker.faults.hold("Produce")
        await submitted(producer, LARGE, LARGE)
        records = [b"%d" % number + LARGE for number in range(10)]
        waiting = []
        for value in records:
            waiting.append(asyncio.create_task(submitted(producer, value)))
            await asyncio.sleep(0.01)
        held.release()
        for delivery in [each for task in waiting for each in await task]:
            await delivery

        assert values(broker)[2:] == records


@on_virtual_time
async def test_nobody_new_is_served_before_those_who_wait() -> None:
    async with delivering(**SMALL) as (broker, producer):
        held = broker.faults.hold("Produce")
        await submitted(producer, LARGE, LARGE)
        waiting = asyncio.create_task(submitted(producer, b"first" + LARGE))
        await asyncio.sleep(1)
        held.release(1)
        while producer.statistics().delivered == 0:  # noqa: ASYNC110 - the very turn
            await asyncio.sleep(0)
        with pytest.raises(BufferFull):
            producer.submit_nowait(TOPIC, LARGE)
        held.release()

        (delivery,) = await waiting
        assert (await delivery).offset == 2


@on_virtual_time
async def test_one_who_gives_up_leaks_nothing_and_holds_up_nobody() -> None:
    async with delivering(**SMALL) as (broker, producer):
        held = broker.faults.hold("Produce")
        await submitted(producer, LARGE, LARGE)
        waiting = [
            asyncio.create_task(submitted(producer, b"%d" % number + LARGE)) for number in range(4)
        ]
        await asyncio.sleep(1)
        waiting[0].cancel()
        waiting[2].cancel()
        await asyncio.sleep(1)
        assert producer.statistics().waiting == 2
        held.release()
        for task in (waiting[1], waiting[3]):
            (delivery,) = await task
            await delivery

        assert [(value or b"")[:1] for value in values(broker)[2:]] == [b"1", b"3"]
        assert producer.statistics().buffered_bytes == 0


@on_virtual_time
async def test_one_who_gives_up_when_he_was_called_passes_it_on() -> None:
    async with delivering(batch_size=1_000, buffer_memory=1_000) as (broker, producer):
        held = broker.faults.hold("Produce")
        await submitted(producer, LARGE)  # nothing else ends that would call again
        first = asyncio.create_task(submitted(producer, LARGE))
        second = asyncio.create_task(submitted(producer, b"second" + LARGE))
        await asyncio.sleep(1)
        called = producer._sender.call_waiters

        def cancel_at_the_call() -> None:
            called()
            first.cancel()

        producer._sender.call_waiters = cancel_at_the_call  # type: ignore[method-assign]  # the one moment
        held.release()
        (delivery,) = await second
        await delivery

        assert first.cancelled()
        assert producer.statistics().buffered_bytes == 0


@on_virtual_time
async def test_the_room_of_what_expires_is_given_to_those_who_wait() -> None:
    hasty: dict[str, Any] = {"delivery_timeout_ms": 10_000, "request_timeout_ms": 9_000}
    async with delivering(**SMALL, **hasty) as (broker, producer):
        await broker.stop_node(1)
        await asyncio.sleep(1)
        await submitted(producer, LARGE, LARGE)
        start = now()
        await submitted(producer, LARGE)

        assert 9.9 < now() - start < 10.1


@pytest.mark.parametrize(
    ("options", "option"),
    [({"max_request_size": 800}, "max_request_size is 800"), (SMALL, "buffer_memory is 2000")],
)
@on_virtual_time
async def test_what_will_never_have_room_is_refused_at_once(
    options: dict[str, Any], option: str
) -> None:
    async with delivering(**options) as (_, producer):
        start = now()
        with pytest.raises(RecordTooLarge, match=option):
            await producer.submit(TOPIC, bytes(3_000))

        assert now() == start


@on_virtual_time
async def test_a_batch_is_never_larger_than_the_memory_there_is() -> None:
    async with delivering(batch_size=16_384, buffer_memory=1_000) as (_, producer):
        start = now()
        await submitted(producer, *[bytes(300)] * 10)

        assert now() - start < 1


@pytest.mark.parametrize("seed", range(5))
def test_under_stress_no_byte_is_lost_and_nobody_forgotten(seed: int) -> None:
    async def main() -> None:
        async with delivering(topics={TOPIC: 3}, **SMALL) as (broker, producer):
            broker.faults.disconnect("Produce", probability=0.1)
            broker.faults.delay("Produce", 0.2, probability=0.3)
            delivered: list[int] = []

            async def one(number: int) -> None:
                await asyncio.sleep(loop.rng.uniform(0, 1))
                size = loop.rng.randrange(1, 1_500)
                await producer.send(TOPIC, bytes(size), partition=number % 3)
                delivered.append(number)

            tasks = [asyncio.create_task(one(number)) for number in range(200)]
            await asyncio.sleep(0.7)
            impatient = loop.rng.sample(tasks, 60)
            for task in impatient:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            patient = [number for number, task in enumerate(tasks) if task not in impatient]
            await producer.flush()

            assert set(patient) <= set(delivered)
            found = producer.statistics()
            assert (found.buffered_bytes, found.waiting, found.batches) == (0, 0, 0)

    with VirtualLoop(seed=seed, time_limit=7_200) as loop:
        loop.run_until_complete(main())
