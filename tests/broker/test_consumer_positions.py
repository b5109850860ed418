"""Where our consumer reads on real Kafka: seeks, resets, pauses, logs that lose their start."""

from __future__ import annotations

import asyncio
import os
import time
from typing import Any

import pytest

from kafka_aio import (
    Admin,
    NoOffsetForPartition,
    OffsetAndMetadata,
    Producer,
    StateError,
    TopicPartition,
)
from kafka_aio.errors import OffsetOutOfRange
from tests.broker.consuming import (
    SECONDS,
    consumer_of,
    new_topic,
    nothing_comes,
    offsets_of,
    partitions_of,
    take,
    topic_with,
    wait_for,
    write,
)
from tests.kafka.cluster import Cluster
from tests.kafka.proxy import Proxy

# Whole clients run on both in tests/scenarios; here on one, unless somebody asks for both.
pytestmark = [] if "KAFKA_AIO_LOOP" in os.environ else [pytest.mark.loop("uvloop")]


async def test_a_seek_goes_anywhere(each_kafka: Cluster) -> None:
    topic = await topic_with(each_kafka, "seeks", [100])
    (name,) = partitions_of(topic, 1)
    async with consumer_of(each_kafka) as consumer:
        with pytest.raises(StateError, match="not assigned"):
            consumer.seek(name, 0)
        consumer.assign([name])
        assert await consumer.position(name) == 0
        assert await offsets_of(consumer, 3) == [0, 1, 2]
        consumer.seek(name, 50)
        assert await consumer.position(name) == 50
        assert await offsets_of(consumer, 2) == [50, 51]
        consumer.seek(name, OffsetAndMetadata(7, "", leader_epoch=0))
        assert await offsets_of(consumer, 2) == [7, 8]
        consumer.seek_to_end(name)
        assert await consumer.position(name) == 100
        assert await nothing_comes(consumer)
        consumer.seek_to_beginning(name)
        assert await offsets_of(consumer, 2) == [0, 1]
        consumer.seek(name, 99)
        await write(each_kafka, topic, [2])
        assert await offsets_of(consumer, 3) == [99, 100, 101]


@pytest.mark.parametrize(("policy", "begins_at"), [("earliest", 0), ("latest", 5)])
async def test_without_a_commit_the_policy_says_where_to_begin(
    each_kafka: Cluster, policy: str, begins_at: int
) -> None:
    topic = await topic_with(each_kafka, f"reset-{policy}", [5])
    (name,) = partitions_of(topic, 1)
    async with consumer_of(each_kafka, auto_offset_reset=policy) as consumer:
        consumer.assign([name])

        assert await consumer.position(name) == begins_at
        await write(each_kafka, topic, [1])
        assert await offsets_of(consumer, 6 - begins_at) == list(range(begins_at, 6))


@pytest.mark.parametrize(("policy", "goes_on_at"), [("earliest", 0), ("latest", 5)])
async def test_a_position_outside_the_log_is_reset(
    each_kafka: Cluster, policy: str, goes_on_at: int
) -> None:
    topic = await topic_with(each_kafka, f"outside-{policy}", [5])
    (name,) = partitions_of(topic, 1)
    async with consumer_of(each_kafka, auto_offset_reset=policy) as consumer:
        consumer.assign([name])
        consumer.seek(name, 1_000)
        assert await consumer.poll(timeout=0) == {}
        reading = asyncio.create_task(take(consumer, 6 - goes_on_at))

        async def is_reset() -> bool:  # the lag does not tell: beyond the end it is 0, too
            return await consumer.position(name) != 1_000

        await wait_for(is_reset)
        await write(each_kafka, topic, [1])

        assert [record.offset for record in (await reading)[name]] == list(range(goes_on_at, 6))


async def test_without_a_policy_the_user_is_asked(each_kafka: Cluster) -> None:
    topic = await topic_with(each_kafka, "reset-none", [5])
    (name,) = partitions_of(topic, 1)
    async with consumer_of(each_kafka, group_id=topic, auto_offset_reset="none") as consumer:
        consumer.assign([name])
        with pytest.raises(NoOffsetForPartition, match=topic):
            await consumer.poll(timeout=SECONDS)
        consumer.seek(name, 3)
        assert await offsets_of(consumer, 2) == [3, 4]
        consumer.seek(name, 1_000)
        with pytest.raises(OffsetOutOfRange, match="1000"):
            await consumer.poll(timeout=SECONDS)
        consumer.seek(name, 4)
        assert await offsets_of(consumer, 1) == [4]


async def test_a_policy_can_be_a_duration(each_kafka: Cluster) -> None:
    topic = await new_topic(each_kafka, "reset-duration")
    (name,) = partitions_of(topic, 1)
    now = time.time_ns() // 1_000_000
    ages = [7_200, 5_400, 1_800, 60, 0]  # in seconds
    async with Producer(bootstrap_servers=each_kafka.bootstrap) as producer:
        for age in ages:
            await producer.send(topic, b"%d" % age, partition=0, timestamp=now - 1_000 * age)
    found: list[Any] = []
    for policy in ("by_duration:PT1H", "by_duration:PT90M1S", "by_duration:PT0S"):
        async with consumer_of(each_kafka, auto_offset_reset=policy) as consumer:
            consumer.assign([name])
            found.append(await consumer.position(name))

    assert found[:2] == [2, 1]
    assert found[2] == 5


async def test_records_that_are_deleted_are_not_waited_for(each_kafka: Cluster) -> None:
    topic = await topic_with(each_kafka, "deleted", [100])
    (name,) = partitions_of(topic, 1)
    async with (
        Admin(bootstrap_servers=each_kafka.bootstrap) as admin,
        consumer_of(each_kafka, max_partition_fetch_bytes=1) as consumer,
        consumer_of(each_kafka, auto_offset_reset="none") as strict,
    ):
        await admin.delete_records({name: 60})
        consumer.assign([name])
        consumer.seek(name, 10)  # from the beginning it may have been there before they went
        assert await consumer.beginning_offsets([name]) == {name: 60}
        assert await offsets_of(consumer, 2) == [60, 61]
        strict.assign([name])
        strict.seek(name, 10)
        with pytest.raises(OffsetOutOfRange, match="10"):
            await strict.poll(timeout=SECONDS)
        with pytest.raises(OffsetOutOfRange, match="60"):
            await anext(aiter(strict.read_range(name, 59, 100)))


async def test_what_is_paused_is_kept_and_not_fetched_again(kafka: Cluster) -> None:
    topic = await topic_with(kafka, "paused", [300, 300])
    names = partitions_of(topic, 2)
    (node,) = kafka.nodes
    async with (
        Proxy(("127.0.0.1", node.ports["PROXY"]), listen_port=node.proxy_port) as proxy,
        consumer_of(
            kafka, bootstrap_servers=kafka.addresses("PROXY"), request_timeout_ms=60_000
        ) as consumer,
    ):
        consumer.assign(names)
        ((paused, _),) = (await take(consumer, 10)).items()  # one fetch has brought all of both
        consumer.pause(paused)
        assert consumer.paused() == {paused}
        with proxy.stall():
            others = await take(consumer, 300)
            assert await nothing_comes(consumer)
            consumer.resume(paused)
            rest = await take(consumer, 290)

    assert others.keys() == {name for name in names if name != paused}
    assert rest.keys() == {paused}
    assert [record.offset for record in rest[paused]] == list(range(10, 300))


async def test_a_paused_partition_does_not_keep_others_waiting(each_kafka: Cluster) -> None:
    topic = await topic_with(each_kafka, "others", [2_000, 2_000, 2_000])
    first, second, third = partitions_of(topic, 3)
    async with consumer_of(each_kafka, fetch_max_bytes=4_000) as consumer:
        consumer.assign([first, second, third])
        await take(consumer, 1)
        consumer.pause(first, second)
        begin = await consumer.position(third)
        assert len((await take(consumer, 2_000 - begin))[third]) == 2_000 - begin
        consumer.resume(second)
        begin = await consumer.position(second)
        assert len((await take(consumer, 2_000 - begin))[second]) == 2_000 - begin
        consumer.seek(first, 1_999)
        consumer.resume(first)

        assert await offsets_of(consumer, 1) == [1_999]


async def test_an_assignment_by_hand_is_changed_in_part(each_kafka: Cluster) -> None:
    topic = await topic_with(each_kafka, "by-hand", [10, 10])
    first, second = partitions_of(topic, 2)
    async with consumer_of(each_kafka) as consumer:
        consumer.assign([first])
        assert await offsets_of(consumer, 4) == [0, 1, 2, 3]
        consumer.assign([first, second])
        taken = await take(consumer, 16)
        consumer.assign([second])
        consumer.seek(second, 5)

        assert [record.offset for record in taken[first]] == [4, 5, 6, 7, 8, 9]
        assert await offsets_of(consumer, 5) == [5, 6, 7, 8, 9]
        with pytest.raises(StateError, match="unsubscribe"):
            consumer.subscribe([topic])
        with pytest.raises(StateError, match="not assigned"):
            await consumer.position(TopicPartition(topic, 0))
