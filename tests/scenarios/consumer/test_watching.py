"""What a consumer tells of itself: health, warnings, statistics."""

from __future__ import annotations

import asyncio
import logging
from typing import Any

import pytest

from kafka_aio.broker import EmbeddedBroker
from kafka_aio.errors import CoordinatorNotAvailable, GroupAuthorizationFailed, UnknownMemberId
from kafka_aio.types import TopicPartition
from tests.scenarios.consumer.grouped import PROTOCOLS, joined, member, reading
from tests.scenarios.consumer.world import (
    T0,
    T1,
    T2,
    TOPIC,
    batch_of,
    consumer_of,
    consuming,
    failure,
    in_batches,
    nothing_comes,
    offsets,
    read,
    values,
    write,
)
from tests.scenarios.producer.delivering import on_virtual_time

NO_CREATION = {"auto.create.topics.enable": False}


def warnings_of(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [each.getMessage() for each in caplog.records if each.name.endswith("consumer.watch")]


def loud(caplog: pytest.LogCaptureFixture) -> list[str]:
    """All that is told to who looks at warnings alone."""
    return [each.getMessage() for each in caplog.records if each.levelno >= logging.WARNING]


@pytest.mark.parametrize("options", [{}, {"group_id": "g"}])
@on_virtual_time
async def test_a_topic_that_does_not_exist_is_warned_of_and_read_once_it_is_there(
    options: dict[str, Any], caplog: pytest.LogCaptureFixture
) -> None:
    async with consuming(T0, settings=NO_CREATION, **options) as (broker, consumer):
        await consumer.unsubscribe()
        consumer.subscribe(["orders"])
        await nothing_comes(consumer, 3)
        early = warnings_of(caplog)
        await nothing_comes(consumer, 100)
        said, seen = warnings_of(caplog), consumer.health()
        broker.create_topic("orders")
        broker.produce("orders", values(2))
        found = await read(consumer, 2, within=400)
        await asyncio.sleep(30)

        assert early == []
        assert 2 <= len(said) < 8
        assert "'orders'" in said[0]
        assert not seen.is_healthy
        assert "'orders'" in seen.reason
        assert offsets(found) == [0, 1]
        assert consumer.health().is_healthy
        assert warnings_of(caplog) == said


@on_virtual_time
async def test_a_partition_that_does_not_exist_shows() -> None:
    async with consuming(TopicPartition(TOPIC, 7), settings=NO_CREATION) as (_, consumer):
        await nothing_comes(consumer, 2)
        health = consumer.health()

        assert not health.is_healthy
        assert "t-7" in health.reason
        assert "0 to 2" in health.reason


@on_virtual_time
async def test_a_partition_that_nobody_leads_shows_until_somebody_does() -> None:
    topics = {TOPIC: {"partitions": 3, "replication_factor": 1}}
    async with consuming(T0, T1, T2, nodes=3, topics=topics) as (broker, consumer):
        broker.produce(TOPIC, values(1))
        await read(consumer, 1)
        leader = broker._state.topics.by_name[TOPIC].partitions[0].leader
        await broker.stop_node(leader)
        await nothing_comes(consumer, 20)
        health = consumer.health()
        await broker.start_node(leader)
        broker.produce(TOPIC, values(1))
        found = await read(consumer, 1)
        await asyncio.sleep(5)

        assert not health.is_healthy
        assert "t-0" in health.reason
        assert offsets(found) == [1]
        assert consumer.health().is_healthy


@on_virtual_time
async def test_a_partition_that_is_stuck_shows_until_somebody_seeks() -> None:
    async with consuming(T0) as (broker, consumer):
        write(broker, batch_of(values(3)), damage=True)
        await failure(read(consumer, 1))
        before = consumer.health()
        consumer.seek(T0, 3)

        assert not before.is_healthy
        assert "t-0" in before.reason
        assert consumer.health().is_healthy


@on_virtual_time
async def test_a_node_that_fails_shows_though_another_answers() -> None:
    async with consuming(T0, T1, T2, nodes=3, request_timeout_ms=2_000) as (broker, consumer):
        await nothing_comes(consumer, 1)
        node = broker._state.topics.by_name[TOPIC].partitions[0].leader
        with broker.faults.hold("Fetch", node=node):
            await nothing_comes(consumer, 30)
            health = consumer.health()

        assert not health.is_healthy
        assert f"node {node}" in health.reason


@on_virtual_time
async def test_a_group_that_cannot_be_joined_shows(caplog: pytest.LogCaptureFixture) -> None:
    async with consuming(group_id="g") as (broker, consumer):
        with broker.faults.fail("FindCoordinator", CoordinatorNotAvailable):
            await nothing_comes(consumer, 60)
            health = consumer.health()

            assert not health.is_healthy
            assert "'g'" in health.reason
            assert any("'g'" in text for text in warnings_of(caplog))
        broker.produce(TOPIC, values(1))
        await read(consumer, 1)
        assert consumer.health().is_healthy


@on_virtual_time
async def test_a_group_that_lets_nobody_in_shows_to_who_never_waits() -> None:
    async with consuming(group_id="g") as (broker, consumer):
        with broker.faults.hold("JoinGroup"):
            for _ in range(50):
                await consumer.poll(timeout=0)
                await asyncio.sleep(0.7)
            health = consumer.health()

        assert not health.is_healthy
        assert "'g' has not let us in" in health.reason


@pytest.mark.parametrize("protocol", PROTOCOLS)
@on_virtual_time
async def test_who_does_not_ask_in_time_is_warned_once_and_shows_until_it_asks(
    protocol: str, caplog: pytest.LogCaptureFixture
) -> None:
    async with (
        EmbeddedBroker(topics={TOPIC: 1}) as broker,
        joined(broker, protocol, max_poll_interval_ms=60_000) as consumer,
    ):
        await asyncio.sleep(55)
        before, early = consumer.health(), loud(caplog)
        await asyncio.sleep(1_000)
        out, said = consumer.health(), loud(caplog)
        await nothing_comes(consumer, 10)

        assert (before.is_healthy, early) == (True, [])
        assert not out.is_healthy
        assert "group 'g'" in out.reason
        assert "max_poll_interval_ms=60000" in out.reason
        assert len(said) == 1
        for text in ("group 'g'", " 60.0 s", "max_poll_interval_ms=60000", "max_poll_records"):
            assert text in said[0]
        assert consumer.health().is_healthy


@pytest.mark.parametrize("protocol", PROTOCOLS)
@on_virtual_time
async def test_who_was_thrown_out_and_does_not_ask_shows(protocol: str) -> None:
    beats = "ConsumerGroupHeartbeat" if protocol == "consumer" else "Heartbeat"
    async with EmbeddedBroker(topics={TOPIC: 1}) as broker:
        broker.produce(TOPIC, values(2))
        async with member(broker, protocol, max_poll_interval_ms=60_000) as consumer:
            await consumer.poll(max_records=1)
            broker.faults.fail(beats, UnknownMemberId, times=1)
            await asyncio.sleep(100)
            out = consumer.health()
            await consumer.poll()
            await asyncio.sleep(2)

            assert not out.is_healthy
            assert "max_poll_interval_ms=60000" in out.reason
            assert consumer.health().is_healthy


@on_virtual_time
async def test_who_leaves_the_group_by_itself_is_not_said_to_be_out_of_it() -> None:
    async with (
        EmbeddedBroker(topics={TOPIC: 1}) as broker,
        joined(broker, max_poll_interval_ms=60_000) as consumer,
    ):
        await asyncio.sleep(100)
        out = consumer.health()
        await consumer.unsubscribe()

        assert not out.is_healthy
        assert consumer.health().is_healthy


@pytest.mark.parametrize("protocol", PROTOCOLS)
@on_virtual_time
async def test_a_callback_that_does_not_end_shows_whether_somebody_asks_or_not(
    protocol: str, caplog: pytest.LogCaptureFixture
) -> None:
    class Hangs:
        """It does, for a while."""

        async def assigned(self, partitions: Any) -> None:
            await asyncio.sleep(200)

    async with (
        EmbeddedBroker(topics={TOPIC: 1}) as broker,
        member(broker, protocol, Hangs()) as consumer,
    ):
        with reading(consumer):
            await asyncio.sleep(50)
            early = consumer.health()
            await asyncio.sleep(50)
            asking = consumer.health()
        await asyncio.sleep(50)
        idle = consumer.health()
        await asyncio.sleep(100)

        assert early.is_healthy
        for late in (asking, idle):
            assert not late.is_healthy
            assert "'assigned'" in late.reason
        assert any("'assigned'" in text for text in warnings_of(caplog))
        assert consumer.health().is_healthy


@pytest.mark.parametrize("options", [{}, {"group_id": "g"}])
@on_virtual_time
async def test_a_cluster_that_is_gone_shows_soon(options: dict[str, Any]) -> None:
    async with consuming(**options) as (broker, consumer):
        await nothing_comes(consumer, 2)
        await broker.stop_node(1)
        await nothing_comes(consumer, 5)
        gone = consumer.health()
        await broker.start_node(1)
        await nothing_comes(consumer, 60)

        assert not gone.is_healthy
        assert "127.0.0.1" in gone.reason
        assert consumer.health().is_healthy


@on_virtual_time
async def test_health_says_what_state_it_is_in() -> None:
    async with consuming(group_id="g") as (broker, consumer):
        broker.produce(TOPIC, values(1))
        await read(consumer, 1)
        reading = consumer.health()
        await consumer.aclose()

        assert (reading.is_healthy, reading.state, reading.reason) == (True, "open", "")
        assert reading.group
        assert consumer.health().state == "closed"
        assert consumer_of(broker).health().state == "new"


@on_virtual_time
async def test_statistics_and_metrics_count() -> None:
    async with consuming(T0, T1, group_id="g") as (broker, consumer):
        new = consumer_of(broker)
        broker.produce(TOPIC, values(10))
        await read(consumer, 4)
        consumer.pause(T1)
        await asyncio.sleep(1)
        found, metrics = consumer.statistics(), consumer.metrics()

        assert (found.records, found.assigned, found.paused, found.lag) == (4, 2, 1, 6)
        assert found.buffered_bytes > 0
        assert (metrics["records"], metrics["assigned_partitions"]) == (4, 2)
        assert metrics["bytes_in"] > 0
        assert new.statistics().records == 0
        assert new.metrics() == {}


@pytest.mark.parametrize("protocol", PROTOCOLS)
@on_virtual_time
async def test_metrics_count_what_is_fetched_committed_and_shared_out(protocol: str) -> None:
    async with EmbeddedBroker(topics={TOPIC: 2}) as broker:
        broker.produce(TOPIC, values(3), partition=0)
        async with joined(broker, protocol, enable_auto_commit=False) as consumer:
            await consumer.poll(timeout=10)
            await consumer.commit({T0: 1})
            with broker.faults.fail("OffsetCommit", GroupAuthorizationFailed):
                await failure(consumer.commit({T0: 2}))
            with reading(consumer):
                await asyncio.sleep(30)
            broker.produce(TOPIC, [b"x" * 1_000])
            await asyncio.sleep(1)  # who read has ended
            await in_batches(consumer, 1)
            found = consumer.metrics()

            assert found["fetch_requests"] > 1
            assert found["fetched_bytes"] > 1_000
            assert (found["commits"], found["commits_failed"]) == (1, 1)
            assert found["heartbeats"] >= 5
            assert found["rebalances"] == 1
            assert found["batches"] == 1


@on_virtual_time
async def test_the_lag_of_each_partition_is_told_under_its_own_name() -> None:
    async with consuming(T0, T1, T2) as (broker, consumer):
        broker.produce(TOPIC, values(5), partition=0)
        broker.produce(TOPIC, values(7), partition=1)
        consumer.seek(T0, 1)
        consumer.pause(T2)
        await asyncio.sleep(1)
        found = consumer.metrics()

        lags = {name: value for name, value in found.items() if name.startswith("partition_lag")}
        assert lags == {
            'partition_lag{partition="0",topic="t"}': 4,
            'partition_lag{partition="1",topic="t"}': 7,
        }
        assert found["lag"] == 11
