"""What counts as handed over, what as dealt with, and what of it is committed."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from kafka_aio import Admin, Consumer, NoOffsetForPartition
from kafka_aio.broker import EmbeddedBroker
from kafka_aio.errors import LeaderNotAvailable, TopicAuthorizationFailed
from kafka_aio.types import OffsetAndMetadata
from tests.scenarios.consumer.grouped import PROTOCOLS, options_of
from tests.scenarios.consumer.world import (
    T0,
    T1,
    T2,
    TOPIC,
    batch_of,
    committed,
    consumer_of,
    consuming,
    offsets,
    polled,
    read,
    values,
    write,
)
from tests.scenarios.producer.api_world import ended
from tests.scenarios.producer.delivering import on_virtual_time

GROUP: dict[str, Any] = {"group_id": "g"}
OFTEN: dict[str, Any] = {"group_id": "g", "auto_commit_interval_ms": 100}


@on_virtual_time
async def test_the_position_is_that_of_the_next_record_in_each_way_of_reading() -> None:
    async with consuming(T0) as (broker, consumer):
        for _ in range(2):
            broker.produce(TOPIC, values(10))
        positions = [await consumer.position(T0)]
        await read(consumer, 1)
        positions.append(await consumer.position(T0))
        await read(consumer, 2)
        positions.append(await consumer.position(T0))
        await consumer.poll(max_records=2)
        positions.append(await consumer.position(T0))
        batch = await anext(consumer.batches())
        positions.append(await consumer.position(T0))

        assert positions == [0, 1, 3, 5, 20]
        assert offsets(batch.records) == list(range(5, 20))


@on_virtual_time
async def test_auto_commit_leaves_out_the_record_in_the_body() -> None:
    async with consuming(T0, **OFTEN) as (broker, consumer):
        broker.produce(TOPIC, values(5))
        seen = []
        async for record in consumer:
            await asyncio.sleep(1)
            seen.append((record.offset, committed(broker).get(T0, 0)))
            if record.offset == 4:
                break

        assert seen == [(offset, offset) for offset in range(5)]


@on_virtual_time
async def test_auto_commit_leaves_out_what_the_last_poll_gave() -> None:
    async with consuming(T0, **OFTEN) as (broker, consumer):
        broker.produce(TOPIC, values(6))
        seen = []
        for _ in range(3):
            await consumer.poll(max_records=2)
            await asyncio.sleep(1)
            seen.append(committed(broker).get(T0, 0))
        await consumer.poll(timeout=1)

        assert seen == [0, 2, 4]
        assert committed(broker) == {T0: 6}


@on_virtual_time
async def test_auto_commit_leaves_out_the_batch_in_the_body() -> None:
    async with consuming(T0, **OFTEN) as (broker, consumer):
        seen = []
        broker.produce(TOPIC, values(4))
        async for _ in consumer.batches():
            await asyncio.sleep(1)
            seen.append(committed(broker).get(T0, 0))
            if len(seen) == 3:
                break
            broker.produce(TOPIC, values(4))

        assert seen == [0, 4, 8]


@pytest.mark.parametrize("given", [None, {T0: 10}, {T0: 8}])
@on_virtual_time
async def test_auto_commit_does_not_go_back_behind_a_commit_of_the_user_s(given: Any) -> None:
    async with consuming(T0, **GROUP) as (broker, consumer):
        broker.produce(TOPIC, values(10))
        await consumer.poll(max_records=7)
        await consumer.poll(max_records=3)
        await consumer.commit(given)
        expected = committed(broker)

        await consumer.aclose()

        assert committed(broker) == expected == (given or {T0: 10})


@on_virtual_time
async def test_commit_commits_all_that_was_handed_over() -> None:
    async with consuming(T0, enable_auto_commit=False, **GROUP) as (broker, consumer):
        broker.produce(TOPIC, values(5))
        seen = []
        async for record in consumer:
            await consumer.commit()
            seen.append(committed(broker)[T0])
            if record.offset == 4:
                break

        assert seen == [1, 2, 3, 4, 5]


@on_virtual_time
async def test_offsets_can_be_committed_with_a_text_and_a_callback() -> None:
    told: list[Any] = []

    async def callback(*what: Any) -> None:
        told.append(what)

    async with consuming(T0, T1, enable_auto_commit=False, **GROUP) as (broker, consumer):
        broker.produce(TOPIC, values(5))
        await consumer.commit({T0: OffsetAndMetadata(3, "half", leader_epoch=0)})
        commit = consumer.commit_nowait({T1: 7}, callback)
        await commit
        await asyncio.sleep(0.1)
        found = await consumer.committed([T0, T1])

        assert found == {
            T0: OffsetAndMetadata(3, "half", leader_epoch=0),
            T1: OffsetAndMetadata(7),
        }
        assert told == [({T1: OffsetAndMetadata(7)}, None)]


@on_virtual_time
async def test_a_seek_in_the_body_counts_for_what_is_committed() -> None:
    async with consuming(T0, **OFTEN) as (broker, consumer):
        broker.produce(TOPIC, values(10))
        await read(consumer, 5)
        consumer.seek(T0, 2)
        await consumer.commit()
        back = committed(broker)
        found = await read(consumer, 1)
        consumer.seek(T0, 8)
        await asyncio.sleep(1)
        ahead = committed(broker)
        found += await read(consumer, 1)
        await asyncio.sleep(1)

        assert back == {T0: 2}
        assert offsets(found) == [2, 8]
        assert ahead == {T0: 2}  # record 2 is in the body
        assert committed(broker) == {T0: 8}


@on_virtual_time
async def test_seek_to_committed_goes_back_to_it() -> None:
    async with consuming(T0, T1, enable_auto_commit=False, **GROUP) as (broker, consumer):
        broker.produce(TOPIC, values(10))
        await read(consumer, 5)
        await consumer.commit({T0: 3})
        await read(consumer, 2)
        found = await consumer.seek_to_committed()

        assert found == {T0: OffsetAndMetadata(3), T1: None}
        assert offsets(await read(consumer, 7)) == list(range(3, 10))


@on_virtual_time
async def test_what_is_committed_is_gone_to_though_nothing_is_of_another() -> None:
    options = {**GROUP, "enable_auto_commit": False, "auto_offset_reset": "none"}
    async with consuming(T0, T1, **options) as (broker, consumer):
        consumer.seek(T0, 0)
        consumer.seek(T1, 0)
        broker.produce(TOPIC, values(10))
        await consumer.commit({T0: 3})
        await read(consumer, 5)
        with pytest.raises(NoOffsetForPartition, match="t-1"):
            await consumer.seek_to_committed()

        assert offsets(await read(consumer, 3)) == [3, 4, 5]


@on_virtual_time
async def test_without_an_interval_auto_commit_is_soon_and_leaves_the_loop_alone() -> None:
    async with consuming(T0, group_id="g", auto_commit_interval_ms=0) as (broker, consumer):
        broker.produce(TOPIC, values(3))
        await read(consumer, 3)
        await consumer.poll(timeout=0)
        await asyncio.sleep(0.1)

        assert committed(broker) == {T0: 3}


@pytest.mark.parametrize("by", ["unsubscribe", "assign"])
@on_virtual_time
async def test_what_was_reset_meanwhile_is_committed_again_when_it_is_read_again(by: str) -> None:
    async with consuming(T0, **OFTEN) as (broker, consumer):
        broker.produce(TOPIC, values(3))
        await read(consumer, 3)
        await consumer.poll(timeout=1)
        if by == "assign":
            consumer.assign([T1])
            await asyncio.sleep(1)
        else:
            await consumer.unsubscribe()
        before = committed(broker)
        async with Admin(bootstrap_servers=broker.bootstrap_servers) as admin:
            await admin.alter_group_offsets("g", {T0: 0})
        consumer.assign([T0])
        await read(consumer, 3)
        await consumer.poll(timeout=1)

        assert before[T0] == 3
        assert committed(broker)[T0] == 3


@on_virtual_time
async def test_no_record_is_handed_over_while_the_group_is_left() -> None:
    async with EmbeddedBroker(topics={TOPIC: 1}) as broker:
        broker.produce(TOPIC, values(1_000))
        consumer = consumer_of(broker, **GROUP)
        found: list[Any] = []
        at_end: list[int] = []

        class Listener:
            async def revoked(self, _: object) -> None:
                at_end.append(len(found))
                await asyncio.sleep(1)

        async def reading() -> None:
            async for record in consumer:
                found.append(record)
                await asyncio.sleep(0.01)

        consumer.subscribe([TOPIC], Listener())
        async with consumer:
            task = asyncio.create_task(reading())
            await asyncio.sleep(2)
            await consumer.unsubscribe()
            task.cancel()

        assert 0 < at_end[0] < 1_000
        assert len(found) <= at_end[0] + 1  # one was taken before it began


@on_virtual_time
async def test_seeks_to_the_ends_take_effect() -> None:
    async with consuming(T0) as (broker, consumer):
        broker.produce(TOPIC, values(10))
        await read(consumer, 5)
        consumer.seek_to_end()
        end = await consumer.position(T0)
        broker.produce(TOPIC, values(1))
        last = await read(consumer, 1)
        consumer.seek_to_beginning(T0)

        assert end == 10
        assert offsets(last) == [10]
        assert offsets(await read(consumer, 1)) == [0]


class Stop(Exception):
    """Leaves the block."""


async def _block(broker: EmbeddedBroker, how: str, way: Any, **options: Any) -> None:
    """Take two records one by one, or as one poll after another, and leave."""
    consumer: Consumer[Any, Any] = consumer_of(broker, **GROUP, **options)
    consumer.assign([T0])
    async with consumer:
        await way(consumer, 1)
        await way(consumer, 1)
        if how == "raise":
            raise Stop
        if how == "cancel":
            current = asyncio.current_task()
            assert current is not None
            current.cancel()
            await asyncio.sleep(1)


@pytest.mark.parametrize("way", [read, polled])
@pytest.mark.parametrize(("how", "expected"), [("end", 2), ("raise", 1), ("cancel", 1)])
@on_virtual_time
async def test_the_end_of_the_block_commits_what_is_dealt_with(
    how: str, expected: int, way: Any
) -> None:
    async with EmbeddedBroker(topics={TOPIC: 1}) as broker:
        broker.produce(TOPIC, values(5))
        outcome = await ended(asyncio.create_task(_block(broker, how, way)))

        kinds = {"end": type(None), "raise": Stop, "cancel": asyncio.CancelledError}
        assert type(outcome) is kinds[how]
        assert committed(broker) == {T0: expected}


@pytest.mark.parametrize(("seeks_back", "expected"), [(False, 3), (True, 2)])
@on_virtual_time
async def test_a_record_whose_exception_is_caught_inside_of_the_block_counts_as_dealt_with(
    seeks_back: bool, expected: int
) -> None:
    async with EmbeddedBroker(topics={TOPIC: 1}) as broker:
        broker.produce(TOPIC, values(5))
        async with consumer_of(broker, TOPIC, **GROUP) as consumer:
            try:
                async with asyncio.timeout(3):
                    async for record in consumer:
                        await asyncio.sleep(100 if record.offset == 2 else 0)
            except TimeoutError:
                if seeks_back:
                    consumer.seek(T0, 2)

        assert committed(broker) == {T0: expected}


@pytest.mark.parametrize("how", ["end", "raise", "cancel"])
@on_virtual_time
async def test_without_auto_commit_nothing_is_committed_at_the_end(how: str) -> None:
    async with EmbeddedBroker(topics={TOPIC: 1}) as broker:
        broker.produce(TOPIC, values(5))
        await ended(asyncio.create_task(_block(broker, how, read, enable_auto_commit=False)))

        assert committed(broker) == {}


@on_virtual_time
async def test_what_was_not_committed_is_read_again_and_the_rest_is_not() -> None:
    async with EmbeddedBroker(topics={TOPIC: 1}) as broker:
        broker.produce(TOPIC, values(5))
        await ended(asyncio.create_task(_block(broker, "raise", read)))
        async with consumer_of(broker, TOPIC, **GROUP) as again:
            found = await read(again, 4)

        assert offsets(found) == [1, 2, 3, 4]


@pytest.mark.parametrize("protocol", PROTOCOLS)
@on_virtual_time
async def test_no_record_comes_before_the_assigned_callback_has_ended(protocol: str) -> None:
    events: list[Any] = []

    class Listener:
        async def assigned(self, partitions: Any) -> None:
            events.append("begins")
            await asyncio.sleep(3)
            for name in partitions:
                consumer.seek(name, 2)
            consumer.pause(T1)
            events.append([await consumer.position(T0), await consumer.committed([T0])])
            await consumer.commit({T0: 1})
            await asyncio.sleep(1)
            events.append("ends")

    async with EmbeddedBroker(topics={TOPIC: 2}) as broker:
        for number in range(2):
            broker.produce(TOPIC, values(4), partition=number)
        consumer: Consumer[Any, Any] = consumer_of(broker, **GROUP, **options_of(protocol))
        consumer.subscribe([TOPIC], Listener())
        async with consumer:
            async with asyncio.timeout(120):
                async for record in consumer:
                    events.append((record.partition, record.offset))
                    if record.offset == 3:
                        break

        assert events == ["begins", [2, {T0: None}], "ends", (0, 2), (0, 3)]


@on_virtual_time
async def test_a_commit_of_any_task_has_what_async_for_has_handed_over() -> None:
    async with consuming(T0, enable_auto_commit=False, **GROUP) as (broker, consumer):
        broker.produce(TOPIC, values(100))
        await read(consumer, 42)
        await asyncio.create_task(consumer.commit())

        assert committed(broker) == {T0: 42}


@on_virtual_time
async def test_partitions_that_are_assigned_anew_by_hand_are_committed_before_they_go() -> None:
    async with consuming(T0, **GROUP) as (broker, consumer):
        broker.produce(TOPIC, values(5))
        await read(consumer, 3)
        consumer.assign([T1])
        await asyncio.sleep(1)

        assert committed(broker) == {T0: 2}


@on_virtual_time
async def test_the_lag_follows_what_is_handed_over() -> None:
    async with consuming(T0, T1) as (broker, consumer):
        broker.produce(TOPIC, values(10))
        before = consumer.lag()
        await read(consumer, 4)
        await asyncio.sleep(1)

        assert before == {T0: None, T1: None}
        assert consumer.lag() == {T0: 6, T1: 0}
        assert consumer.current_lag(T0) == 6
        assert consumer.statistics().lag == 6
        assert consumer.statistics().records == 4
        assert consumer.metrics()["lag"] == 6


@pytest.mark.parametrize("isolation_level", ["read_uncommitted", "read_committed"])
@on_virtual_time
async def test_the_lag_of_what_was_paused_before_it_was_fetched_is_asked_for(
    isolation_level: str,
) -> None:
    async with consuming(T0, T1, T2, isolation_level=isolation_level) as (broker, consumer):
        broker.produce(TOPIC, values(10))
        consumer.pause(T0)
        consumer.seek(T0, 4)
        await consumer.poll(timeout=1)
        before = broker.statistics().apis["ListOffsets"].requests
        lags = [consumer.current_lag(T0), consumer.lag()[T0]]
        await asyncio.sleep(0.1)
        lags += [consumer.current_lag(T0), consumer.lag()[T0]]
        await asyncio.sleep(0.1)

        assert lags == [None, None, 6, 6]
        assert broker.statistics().apis["ListOffsets"].requests == before + 1


@on_virtual_time
async def test_the_lag_that_nobody_tells_is_asked_for_again_later() -> None:
    async with consuming(T0, default_api_timeout_ms=5_000) as (broker, consumer):
        broker.produce(TOPIC, values(10))
        consumer.pause(T0)
        consumer.seek(T0, 0)
        await consumer.poll(timeout=1)
        with broker.faults.fail("ListOffsets", TopicAuthorizationFailed):
            unknown = [consumer.lag()]
            await asyncio.sleep(1)
            unknown.append(consumer.lag())
            await asyncio.sleep(1)
        with broker.faults.fail("ListOffsets", LeaderNotAvailable):
            unknown.append(consumer.lag())
            await asyncio.sleep(10)
            unknown.append(consumer.lag())
        await asyncio.sleep(5)

        assert unknown == [{T0: None}] * 4
        assert consumer.lag() == {T0: 10}
        assert consumer.health().state == "open"


@on_virtual_time
async def test_what_is_passed_over_while_async_for_waits_is_committed() -> None:
    async with consuming(T0, **OFTEN) as (broker, consumer):
        broker.produce(TOPIC, values(3))
        reading = asyncio.ensure_future(read(consumer, 4))
        await asyncio.sleep(1)
        found = [committed(broker)]
        write(broker, batch_of(values(1), control=True))
        await asyncio.sleep(1)
        found.append(committed(broker))
        broker.produce(TOPIC, values(1))
        await reading
        write(broker, batch_of(values(1), control=True))
        await asyncio.sleep(1)
        found.append(committed(broker))

        assert found == [{T0: 3}, {T0: 4}, {T0: 4}]  # the record at 4 is in the body


@on_virtual_time
async def test_what_is_passed_over_behind_records_is_not_committed_before_they_are() -> None:
    async with consuming(T0, **OFTEN) as (broker, consumer):
        broker.produce(TOPIC, values(3))
        write(broker, batch_of(values(1), control=True))
        await asyncio.sleep(1)
        polled_at_once = await consumer.poll(timeout=1)
        await asyncio.sleep(1)
        found = committed(broker)

        assert offsets(polled_at_once[T0]) == [0, 1, 2]
        assert found.get(T0, 0) == 0
