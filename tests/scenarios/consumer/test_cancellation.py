"""Each call of the consumer's is cancelled in each turn of the loop that it waits in."""

from __future__ import annotations

import asyncio
import gc
import random
from collections import Counter
from collections.abc import Callable, Coroutine
from contextlib import suppress
from functools import partial
from typing import Any

import pytest

from kafka_aio import Consumer
from kafka_aio.broker import EmbeddedBroker
from kafka_aio.records.compression import Codec
from kafka_aio.testing import VirtualLoop
from tests.scenarios.consumer.world import (
    T0,
    TOPIC,
    batch_of,
    committed,
    consumer_of,
    large_batch,
    offsets,
    places,
    polled,
    values,
    write,
)
from tests.scenarios.producer.api_world import Cut, cut_everywhere

LARGE = large_batch()


async def by_anext(consumer: Consumer[Any, Any]) -> list[Any]:
    return [await anext(consumer)]


async def by_poll(consumer: Consumer[Any, Any]) -> list[Any]:
    return [record for records in (await consumer.poll()).values() for record in records]


async def by_batch(consumer: Consumer[Any, Any]) -> list[Any]:
    return (await anext(consumer.batches())).records


READS = pytest.mark.parametrize("way", [by_anext, by_poll, by_batch])


async def take(
    consumer: Consumer[Any, Any],
    way: Callable[[Consumer[Any, Any]], Coroutine[Any, Any, list[Any]]],
    found: list[Any],
    count: int,
) -> None:
    """Read until there are so many; what one call has returned is kept at once."""
    while len(found) < count:
        found += await way(consumer)


def tasks_of_consumers() -> list[asyncio.Task[Any]]:
    return [task for task in asyncio.all_tasks() if "kafka_aio consumer" in task.get_name()]


@READS
def test_reading_that_is_cancelled_loses_and_repeats_nothing(way: Any) -> None:
    async def scenario(cut: Cut) -> int:
        async with EmbeddedBroker(topics={TOPIC: 1}) as broker, consumer_of(broker) as consumer:
            consumer.assign([T0])
            broker.produce(TOPIC, values(3))
            broker.produce(TOPIC, values(3))
            found: list[Any] = []
            await cut(take(consumer, way, found, 6))
            before = len(found)
            position = await consumer.position(T0)
            async with asyncio.timeout(10):
                await take(consumer, way, found, 6)

            assert position == before
            assert offsets(found) == list(range(6))
            return before

    assert cut_everywhere(scenario)[0] == 0


@READS
def test_reading_that_is_cancelled_while_a_thread_inflates_loses_nothing(way: Any) -> None:
    async def scenario(cut: Cut) -> None:
        async with EmbeddedBroker(topics={TOPIC: 1}) as broker, consumer_of(broker) as consumer:
            consumer.assign([T0])
            write(broker, LARGE)
            found: list[Any] = []
            await cut(take(consumer, way, found, 10))
            async with asyncio.timeout(10):
                await take(consumer, way, found, 20)

            assert offsets(found) == list(range(len(found)))

    cut_everywhere(scenario)


@pytest.mark.parametrize("protocol", ["classic", "consumer"])
def test_the_first_poll_of_a_group_that_is_cancelled_leaves_a_good_member(protocol: str) -> None:
    async def scenario(cut: Cut) -> None:
        options: dict[str, Any] = {"group_id": "g", "group_protocol": protocol}
        async with (
            EmbeddedBroker(topics={TOPIC: 2}) as broker,
            consumer_of(broker, TOPIC, **options) as consumer,
        ):
            for number in range(2):
                broker.produce(TOPIC, values(2), partition=number)
            found: list[Any] = []
            await cut(take(consumer, by_poll, found, 4))
            found += await polled(consumer, 4 - len(found), within=120)
            await consumer.commit()

            assert sorted(places(found)) == [(0, 0), (0, 1), (1, 0), (1, 1)]
            assert sorted(committed(broker).values()) == [2, 2]
            assert len(broker.group("g").members) == 1

    cut_everywhere(scenario)


def test_a_commit_that_is_cancelled_is_carried_out_or_not_and_the_next_works() -> None:
    async def scenario(cut: Cut) -> bool:
        async with (
            EmbeddedBroker(topics={TOPIC: 1}) as broker,
            consumer_of(broker, group_id="g", enable_auto_commit=False) as consumer,
        ):
            consumer.assign([T0])
            broker.produce(TOPIC, values(5))
            await polled(consumer, 3)
            await cut(consumer.commit())
            await asyncio.sleep(5)
            before = committed(broker)
            await polled(consumer, 2)
            await consumer.commit()

            assert before in ({}, {T0: 3})
            assert committed(broker) == {T0: 5}
            assert consumer.statistics().commits == 0
            return bool(before)

    assert True in cut_everywhere(scenario)


CALLS: dict[str, Callable[[Consumer[Any, Any]], Coroutine[Any, Any, Any]]] = {
    "position": lambda c: c.position(T0),
    "committed": lambda c: c.committed([T0]),
    "seek_to_committed": lambda c: c.seek_to_committed(T0),
    "beginning_offsets": lambda c: c.beginning_offsets([T0]),
    "offsets_for_times": lambda c: c.offsets_for_times({T0: 0}),
    "partitions_for": lambda c: c.partitions_for(TOPIC),
    "list_topics": lambda c: c.list_topics(),
}


@pytest.mark.parametrize("name", CALLS)
def test_questions_that_are_cancelled_leave_nothing_behind(name: str) -> None:
    async def scenario(cut: Cut) -> None:
        async with (
            EmbeddedBroker(topics={TOPIC: 1}) as broker,
            consumer_of(broker, group_id="g", auto_offset_reset="earliest") as consumer,
        ):
            consumer.assign([T0])
            broker.produce(TOPIC, values(2))
            if name == "seek_to_committed":
                await consumer.commit({T0: 0})
            await cut(CALLS[name](consumer))
            async with asyncio.timeout(10):
                await CALLS[name](consumer)

            assert offsets(await polled(consumer, 2)) == [0, 1]
            assert consumer._parts.positioner._waiting == []
            assert consumer._parts.positioner._urgent == set()

    cut_everywhere(scenario)


@pytest.mark.parametrize("protocol", ["classic", "consumer"])
def test_unsubscribing_that_is_cancelled_can_be_done_again(protocol: str) -> None:
    async def scenario(cut: Cut) -> None:
        options: dict[str, Any] = {"group_id": "g", "group_protocol": protocol}
        async with (
            EmbeddedBroker(topics={TOPIC: 2}) as broker,
            consumer_of(broker, TOPIC, **options) as consumer,
        ):
            broker.produce(TOPIC, values(4))
            found = await polled(consumer, 2, within=120)
            await consumer.poll(timeout=0, max_records=1)
            await cut(consumer.unsubscribe())
            await consumer.unsubscribe()
            await asyncio.sleep(1)
            gone = len(broker.group("g").members)
            consumer.subscribe([TOPIC])
            at = committed(broker).get(T0, 0)
            again = await polled(consumer, 4 - at, within=120)

            assert gone == 0
            assert at in (0, 2)  # it was cut before that, or not
            assert offsets(found) == [0, 1]
            assert offsets(again) == list(range(at, 4))

    cut_everywhere(scenario)


@pytest.mark.parametrize("protocol", ["classic", "consumer"])
def test_after_an_unsubscribing_that_was_cancelled_one_can_read_on(protocol: str) -> None:
    async def scenario(cut: Cut) -> None:
        options: dict[str, Any] = {"group_id": "g", "group_protocol": protocol}
        async with (
            EmbeddedBroker(topics={TOPIC: 2}) as broker,
            consumer_of(broker, TOPIC, **options) as consumer,
        ):
            broker.produce(TOPIC, values(4))
            found = await polled(consumer, 2, within=120)
            await cut(consumer.unsubscribe())
            assert not consumer.subscription()
            assert not consumer.assignment()
            consumer.subscribe([TOPIC])
            async with asyncio.timeout(120):
                while not found or found[-1].offset < 3:
                    found += await polled(consumer, 1)

            assert set(offsets(found)) == set(range(4))
            assert len(broker.group("g").members) == 1

    cut_everywhere(scenario)


@pytest.mark.parametrize("protocol", ["classic", "consumer"])
def test_closing_that_is_cancelled_closes_all_the_same(protocol: str) -> None:
    async def scenario(cut: Cut) -> None:
        options: dict[str, Any] = {"group_id": "g", "group_protocol": protocol}
        async with EmbeddedBroker(topics={TOPIC: 2}) as broker:
            consumer = consumer_of(broker, TOPIC, **options)
            await consumer.start()
            broker.produce(TOPIC, values(4))
            await polled(consumer, 2, within=120)
            await cut(consumer.aclose())
            await consumer.aclose()

            assert tasks_of_consumers() == []
            assert consumer.health().state == "closed"

    cut_everywhere(scenario)


def test_starting_that_is_cancelled_leaves_nothing_behind() -> None:
    async def scenario(cut: Cut) -> None:
        async with EmbeddedBroker(topics={TOPIC: 1}) as broker:
            consumer = consumer_of(broker, TOPIC, group_id="g")
            if await cut(consumer.start()) is not None:
                assert tasks_of_consumers() == []
            await consumer.aclose()

            assert tasks_of_consumers() == []

    cut_everywhere(scenario)


@pytest.mark.parametrize("seed", range(3))
def test_a_thousand_calls_that_are_cut_at_random_moments_lose_no_record(seed: int) -> None:
    rng = random.Random(seed)

    async def produce(broker: EmbeddedBroker, rounds: int) -> None:
        for _ in range(rounds):
            codec = rng.choice([Codec.NONE, Codec.GZIP])
            count = rng.randrange(1, 40)
            write(broker, batch_of(values(count), codec=codec), partition=rng.randrange(3))
            await asyncio.sleep(rng.expovariate(100))

    async def commit(consumer: Consumer[Any, Any]) -> list[Any]:
        await consumer.commit()
        return []

    async def main() -> None:
        options: dict[str, Any] = {
            "group_id": "g",
            "auto_commit_interval_ms": 100,
            "fetch_max_wait_ms": 20,
        }
        async with (
            EmbeddedBroker(topics={TOPIC: 3}) as broker,
            consumer_of(broker, TOPIC, **options) as consumer,
        ):
            producing = asyncio.create_task(produce(broker, 2_000))
            found: list[Any] = []
            cuts: Counter[bool] = Counter()
            ways = [by_anext, by_poll, by_batch, commit]
            for _ in range(1_000):
                for _ in range(rng.randrange(3)):
                    await asyncio.sleep(0)
                way = partial(rng.choice(ways), consumer)
                is_cut = True
                with suppress(TimeoutError):
                    found += await asyncio.wait_for(way(), rng.choice([0, 1e-4, 1e-3, 0.02]))
                    is_cut = False
                cuts[is_cut] += 1
                at = committed(broker)
                got = Counter(which for which, _ in places(found))
                assert all(at[name] <= got[name.partition] for name in at)
            await producing
            ends = broker.end_offsets(TOPIC)
            async with asyncio.timeout(600):
                await take(consumer, by_poll, found, sum(ends.values()))

            assert min(cuts.values()) > 50
            for name, end in ends.items():
                got_here = [at for which, at in places(found) if which == name.partition]
                assert got_here == list(range(end))

    with VirtualLoop(seed=seed, time_limit=7_200) as loop:
        loop.run_until_complete(main())
        gc.collect()
