"""An error of a broker that lasts: health, the log, `position` and ranges say which it is."""

from __future__ import annotations

import asyncio
import logging
from contextlib import suppress
from typing import Any

import pytest

from kafka_aio import Consumer
from kafka_aio.consumer.fetches import _Replica
from kafka_aio.errors import (
    CorruptMessage,
    CorruptRecord,
    GroupAuthorizationFailed,
    KafkaError,
    KafkaStorageError,
    KafkaTimeoutError,
    LeaderNotAvailable,
    NotCoordinator,
    NotLeaderOrFollower,
    TopicAuthorizationFailed,
    UnknownMemberId,
    UnknownServerError,
    UnknownTopicId,
    UnknownTopicOrPartition,
    UnstableOffsetCommit,
)
from kafka_aio.types import OffsetAndMetadata
from tests.scenarios.consumer.world import (
    T0,
    T1,
    TOPIC,
    consuming,
    failure,
    in_batches,
    nothing_comes,
    now,
    offsets,
    places,
    polled,
    ranged,
    read,
    values,
)
from tests.scenarios.producer.delivering import on_virtual_time

READS = pytest.mark.parametrize("way", [read, polled, in_batches])
OF_POSITIONS = [
    ("OffsetFetch", UnstableOffsetCommit),
    ("OffsetFetch", NotCoordinator),
    ("OffsetFetch", UnknownMemberId),
    ("OffsetFetch", UnknownServerError),
    ("OffsetFetch", GroupAuthorizationFailed),
    ("ListOffsets", UnknownTopicOrPartition),
    ("ListOffsets", LeaderNotAvailable),
    ("ListOffsets", CorruptMessage),
    ("ListOffsets", TopicAuthorizationFailed),
]
OF_RECORDS = [
    ("Fetch", UnknownServerError),
    ("Fetch", KafkaStorageError),
    ("Fetch", UnknownTopicId),
    ("Fetch", TopicAuthorizationFailed),
    ("OffsetForLeaderEpoch", UnknownServerError),
    ("OffsetForLeaderEpoch", TopicAuthorizationFailed),
]


def place_of(api: str) -> dict[str, Any]:
    return {"group": "g"} if api == "OffsetFetch" else {"topic": TOPIC, "partition": 0}


def warnings_of(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [each.getMessage() for each in caplog.records if each.levelno >= logging.WARNING]


async def asking(consumer: Consumer[Any, Any], seconds: float) -> list[Any]:
    """What comes meanwhile, whatever goes wrong."""
    found: list[Any] = []
    until = now() + seconds
    while now() < until:
        with suppress(KafkaError):
            for records in (await consumer.poll(timeout=1)).values():
                found += records
    return found


@pytest.mark.parametrize(("api", "error"), OF_POSITIONS + OF_RECORDS)
@on_virtual_time
async def test_an_error_that_lasts_shows_and_is_warned_of_until_it_has_passed(
    api: str, error: Any, caplog: pytest.LogCaptureFixture
) -> None:
    async with consuming(T0, T1, group_id="g", enable_auto_commit=False) as (broker, consumer):
        with broker.faults.fail(api, error, **place_of(api)):
            if api == "OffsetForLeaderEpoch":
                consumer.seek(T0, OffsetAndMetadata(0, leader_epoch=0))
            await asking(consumer, 5)
            early, soon = consumer.health(), warnings_of(caplog)
            await asking(consumer, 60)
            late, said = consumer.health(), warnings_of(caplog)
        broker.produce(TOPIC, values(2))
        found = await asking(consumer, 5)
        await asyncio.sleep(60)

        assert (early.is_healthy, soon) == (True, [])
        assert not late.is_healthy
        assert "t-0: " in late.reason
        assert error.name in late.reason
        assert 1 <= len(said) < 6
        assert error.name in said[0]
        assert offsets(found) == [0, 1]
        assert consumer.health().is_healthy
        assert warnings_of(caplog) == said


@pytest.mark.parametrize("api", ["Fetch", "ListOffsets"])
@on_virtual_time
async def test_an_error_that_comes_and_goes_is_no_trouble(
    api: str, caplog: pytest.LogCaptureFixture
) -> None:
    async with consuming(T0) as (broker, consumer):
        for _ in range(30):
            with broker.faults.fail(api, NotLeaderOrFollower, topic=TOPIC, partition=0):
                if api == "ListOffsets":
                    consumer.seek_to_beginning(T0)
                await nothing_comes(consumer, 3)
                assert consumer.health().is_healthy
            await nothing_comes(consumer, 1)

        assert warnings_of(caplog) == []


@on_virtual_time
async def test_an_error_of_a_partition_that_is_paused_is_no_trouble() -> None:
    async with consuming(T0) as (broker, consumer):
        with broker.faults.fail("Fetch", KafkaStorageError, topic=TOPIC, partition=0):
            await nothing_comes(consumer, 30)
            before = consumer.health()
            consumer.pause(T0)
            await nothing_comes(consumer, 30)
            paused = consumer.health()
        consumer.resume(T0)
        await nothing_comes(consumer, 2)

        assert not before.is_healthy
        assert paused.is_healthy
        assert consumer.health().is_healthy


@pytest.mark.parametrize(("api", "error"), OF_POSITIONS)
@on_virtual_time
async def test_a_position_that_is_not_known_names_the_last_error(api: str, error: Any) -> None:
    async with consuming(T0, T1, group_id="g") as (broker, consumer):
        with broker.faults.fail(api, error, **place_of(api)):
            found = await failure(consumer.position(T0, timeout=2))

        assert error.name in str(found)


@pytest.mark.parametrize("error", [UnknownServerError, KafkaStorageError, UnknownTopicId])
@on_virtual_time
async def test_a_range_that_does_not_come_in_time_names_the_last_error(error: Any) -> None:
    async with consuming(T1, default_api_timeout_ms=5_000) as (broker, consumer):
        broker.produce(TOPIC, values(3))
        with broker.faults.fail("Fetch", error, topic=TOPIC, partition=0):
            found = await failure(ranged(consumer.read_range(T0, 0, 3)))

        assert isinstance(found, KafkaTimeoutError)
        assert "nothing came of offset 0" in str(found)
        assert error.name in str(found)


# B43: what the broker finds to be damaged.


@READS
@on_virtual_time
async def test_damage_that_the_broker_finds_is_told_once_with_its_place_and_can_be_passed(
    way: Any,
) -> None:
    async with consuming(T0, T1) as (broker, consumer):
        broker.produce(TOPIC, values(3))
        found = await way(consumer, 3)
        with broker.faults.fail("Fetch", CorruptMessage, topic=TOPIC, partition=0) as fault:
            error = await failure(way(consumer, 1))
            hits = fault.hits
            broker.produce(TOPIC, values(3))
            broker.produce(TOPIC, values(2), partition=1)
            others = await way(consumer, 2)
            await nothing_comes(consumer, 60)
            position, health = await consumer.position(T0), consumer.health()

            assert fault.hits == hits
        assert offsets(found) == [0, 1, 2]
        assert isinstance(error, CorruptRecord)
        assert (error.topic, error.partition, error.offset) == (TOPIC, 0, 3)
        assert "t-0 at offset 3" in str(error)
        assert "CORRUPT_MESSAGE" in str(error)
        assert places(others) == [(1, 0), (1, 1)]
        assert position == 3
        assert "t-0" in health.reason
        consumer.seek(T0, 4)
        assert places(await way(consumer, 2)) == [(0, 4), (0, 5)]


@READS
@on_virtual_time
async def test_damage_that_the_broker_finds_is_told_after_the_records_before_it(way: Any) -> None:
    async with consuming(T0) as (broker, consumer):
        broker.produce(TOPIC, values(3))
        await asyncio.sleep(1)  # they are fetched
        with broker.faults.fail("Fetch", CorruptMessage, topic=TOPIC, partition=0):
            await asyncio.sleep(5)
            found = await way(consumer, 3)
            error = await failure(way(consumer, 1))

        assert offsets(found) == [0, 1, 2]
        assert isinstance(error, CorruptRecord)
        assert error.offset == 3


@on_virtual_time
async def test_damage_that_a_replica_finds_leads_back_to_the_leader() -> None:
    topics = {TOPIC: {"partitions": 1, "replication_factor": 2}}
    async with consuming(T0, nodes=2, topics=topics) as (broker, consumer):
        await nothing_comes(consumer, 1)
        leader = consumer._subscription[T0].leader
        assert leader is not None
        follower = 3 - leader.node
        replicas = consumer._parts.fetcher.fetches._replicas
        with broker.faults.fail("Fetch", CorruptMessage, topic=TOPIC, node=follower) as fault:
            replicas[T0] = _Replica(follower, leader, now() + 60)
            await nothing_comes(consumer, 2)
            broker.produce(TOPIC, values(3))
            found = await read(consumer, 3)

        assert fault.hits == 1
        assert offsets(found) == [0, 1, 2]


@on_virtual_time
async def test_damage_that_the_broker_finds_ends_a_range_after_the_records_before_it() -> None:
    async with consuming(T1, max_partition_fetch_bytes=1) as (broker, consumer):
        broker.produce(TOPIC, values(3))
        broker.produce(TOPIC, values(3))
        batches = consumer.read_range(T0, 0, 6)
        with broker.faults.fail("Fetch", CorruptMessage, topic=TOPIC, partition=0, after=1):
            found = (await anext(batches)).records
            error = await failure(ranged(batches))

        assert offsets(found) == [0, 1, 2]
        assert isinstance(error, CorruptRecord)
        assert (error.topic, error.partition, error.offset) == (TOPIC, 0, 3)
        assert offsets(await ranged(consumer.read_range(T0, 4, 6))) == [4, 5]
