"""Every call of the consumer's ends in time, whatever the brokers do."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from kafka_aio import Consumer
from kafka_aio.errors import KafkaTimeoutError, StateError
from kafka_aio.types import TopicPartition
from tests.scenarios.consumer.world import (
    T0,
    T1,
    TOPIC,
    consuming,
    failure,
    nothing_comes,
    now,
    offsets,
    read,
    values,
)
from tests.scenarios.producer.delivering import on_virtual_time

ABSENT = TopicPartition("absent", 0)
Call = Callable[[Consumer[Any, Any], Any], Awaitable[Any]]

CALLS: dict[str, tuple[str, Call]] = {
    "commit": ("OffsetCommit", lambda c, t: c.commit({T0: 1}, timeout=t)),
    "committed": ("OffsetFetch", lambda c, t: c.committed([T0], timeout=t)),
    "position": ("ListOffsets", lambda c, t: c.position(T1, timeout=t)),
    "seek_to_committed": ("OffsetFetch", lambda c, t: c.seek_to_committed(T0, timeout=t)),
    "beginning_offsets": ("ListOffsets", lambda c, t: c.beginning_offsets([T0], timeout=t)),
    "end_offsets": ("ListOffsets", lambda c, t: c.end_offsets([T0], timeout=t)),
    "offsets_for_times": ("ListOffsets", lambda c, t: c.offsets_for_times({T0: 0}, timeout=t)),
    "list_topics": ("Metadata", lambda c, t: c.list_topics(timeout=t)),
}


@pytest.mark.parametrize("timeout", [0, 2, None])
@pytest.mark.parametrize("name", CALLS)
@on_virtual_time
async def test_a_broker_that_does_not_answer_is_a_timeout(name: str, timeout: float | None) -> None:
    api, call = CALLS[name]
    options: dict[str, Any] = {"group_id": "g", "default_api_timeout_ms": 5_000}
    async with consuming(T0, **options) as (broker, consumer):
        broker.produce(TOPIC, values(1))
        await read(consumer, 1)
        await consumer.commit()
        with broker.faults.hold(api):
            consumer.assign([T0, T1])
            if name == "position":
                consumer.seek_to_end(T1)
            began_at = now()
            error = await failure(call(consumer, timeout))
            took = now() - began_at

        assert isinstance(error, KafkaTimeoutError), error
        limit = 5 if timeout is None else timeout
        assert limit <= took < limit + 0.5
        assert await call(consumer, 30) is not error  # and it works again


LOOKS: dict[str, Call] = {
    "position": lambda c, t: c.position(ABSENT, timeout=t),
    "beginning_offsets": lambda c, t: c.beginning_offsets([ABSENT], timeout=t),
    "end_offsets": lambda c, t: c.end_offsets([ABSENT, T0], timeout=t),
    "offsets_for_times": lambda c, t: c.offsets_for_times({ABSENT: 0}, timeout=t),
    "partitions_for": lambda c, t: c.partitions_for("absent", timeout=t),
}


@pytest.mark.parametrize("timeout", [0, 2, None])
@pytest.mark.parametrize("name", LOOKS)
@on_virtual_time
async def test_a_topic_that_is_not_there_is_a_timeout_that_names_it(
    name: str, timeout: float | None
) -> None:
    options: dict[str, Any] = {"default_api_timeout_ms": 5_000, "group_id": "g"}
    settings = {"auto.create.topics.enable": False}
    async with consuming(T0, settings=settings, **options) as (_, consumer):
        consumer.assign([T0, ABSENT])
        began_at = now()
        error = await failure(LOOKS[name](consumer, timeout))

        assert isinstance(error, KafkaTimeoutError)
        assert "absent" in str(error)
        limit = 5 if timeout is None else timeout
        assert now() - began_at < limit + 0.5


@on_virtual_time
async def test_without_time_nobody_says_that_a_topic_is_not_there() -> None:
    async with consuming(T0, topics={TOPIC: 3, "u": 1}) as (_, consumer):
        error = await failure(consumer.end_offsets([TopicPartition("u", 0)], timeout=0))

        assert isinstance(error, KafkaTimeoutError)
        assert "no such topic" not in str(error)


@pytest.mark.parametrize("name", LOOKS)
@on_virtual_time
async def test_a_topic_that_is_made_meanwhile_is_found(name: str) -> None:
    options: dict[str, Any] = {"group_id": "g"}
    settings = {"auto.create.topics.enable": False}
    async with consuming(T0, settings=settings, **options) as (broker, consumer):
        consumer.assign([T0, ABSENT])
        asyncio.get_running_loop().call_later(8, broker.create_topic, "absent")
        began_at = now()
        await LOOKS[name](consumer, None)

        assert 8 <= now() - began_at < 12


@pytest.mark.parametrize("api", ["Metadata", "ListOffsets"])
@on_virtual_time
async def test_offsets_are_found_when_a_broker_that_was_silent_speaks_again(api: str) -> None:
    async with consuming(T0, topics={TOPIC: 3, "other": 1}) as (broker, consumer):
        other = TopicPartition("other", 0)
        broker.produce("other", values(3))
        hold = broker.faults.hold(api)
        asyncio.get_running_loop().call_later(15, hold.release)

        assert await consumer.end_offsets([other]) == {other: 3}


@on_virtual_time
async def test_poll_without_time_gives_what_is_there_and_never_waits() -> None:
    async with consuming(T0) as (broker, consumer):
        assert await consumer.poll(timeout=0) == {}
        broker.produce(TOPIC, values(3))
        await asyncio.sleep(2)
        began_at = now()
        found = await consumer.poll(timeout=0)

        assert offsets(found[T0]) == [0, 1, 2]
        assert await consumer.poll(timeout=0) == {}
        assert now() == began_at


@on_virtual_time
async def test_poll_waits_as_long_as_it_is_told_and_no_longer() -> None:
    async with consuming(T0) as (broker, consumer):
        began_at = now()
        await nothing_comes(consumer, 7)
        waited = now() - began_at
        asyncio.get_running_loop().call_later(20, broker.produce, TOPIC, values(1))
        found = await consumer.poll()

        assert waited == pytest.approx(7, abs=0.1)
        assert offsets(found[T0]) == [0]


@on_virtual_time
async def test_closing_ends_in_time_though_no_broker_answers() -> None:
    async with consuming(group_id="g") as (broker, consumer):
        broker.produce(TOPIC, values(3))
        await read(consumer, 2)
        for api in ("OffsetCommit", "LeaveGroup", "Fetch"):
            broker.faults.hold(api)
        began_at = now()
        await consumer.aclose(timeout=3)

        assert now() - began_at < 6


@on_virtual_time
async def test_unsubscribing_ends_in_time_though_no_broker_answers() -> None:
    async with consuming(group_id="g", default_api_timeout_ms=4_000) as (broker, consumer):
        broker.produce(TOPIC, values(3))
        await read(consumer, 2)
        for api in ("OffsetCommit", "LeaveGroup"):
            broker.faults.hold(api)
        began_at = now()
        await consumer.unsubscribe()

        assert now() - began_at < 6
        assert consumer.assignment() == frozenset()


@on_virtual_time
async def test_a_position_that_is_waited_for_is_told_when_somebody_seeks() -> None:
    async with consuming(T0) as (broker, consumer):
        broker.faults.hold("ListOffsets")
        consumer.seek_to_end(T0)
        waiting = asyncio.create_task(consumer.position(T0))
        await asyncio.sleep(1)
        consumer.seek(T0, 5)

        async with asyncio.timeout(1):
            assert await waiting == 5


@on_virtual_time
async def test_a_position_that_is_waited_for_is_an_error_when_the_partition_goes() -> None:
    async with consuming(T0) as (broker, consumer):
        broker.faults.hold("ListOffsets")
        consumer.seek_to_end(T0)
        waiting = asyncio.create_task(failure(consumer.position(T0)))
        await asyncio.sleep(1)
        consumer.assign([T1])

        async with asyncio.timeout(1):
            assert isinstance(await waiting, StateError)


@pytest.mark.parametrize("timeout", ["1", True, float("nan")])
@on_virtual_time
async def test_what_is_no_number_of_seconds_is_refused(timeout: Any) -> None:
    async with consuming(T0, group_id="g") as (_, consumer):
        calls = [*CALLS.values(), ("", lambda c, t: c.poll(timeout=t))]
        for _, call in calls:
            with pytest.raises((TypeError, ValueError), match="number of seconds"):
                await call(consumer, timeout)
