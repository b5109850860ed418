"""Fetching from nodes that lead, fail, come back and forget: sessions, leaders, truncation."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from kafka_aio.broker import EmbeddedBroker
from kafka_aio.consumer import LogTruncated
from kafka_aio.errors import (
    FencedLeaderEpoch,
    FetchSessionIdNotFound,
    InvalidFetchSessionEpoch,
    NotLeaderOrFollower,
    OffsetNotAvailable,
    UnknownLeaderEpoch,
    UnknownServerError,
    UnknownTopicOrPartition,
)
from kafka_aio.types import OffsetAndMetadata, TopicPartition
from tests.scenarios.consumer.world import (
    T0,
    T1,
    T2,
    TOPIC,
    consuming,
    failure,
    fetches,
    nothing_comes,
    offsets,
    places,
    read,
    values,
)
from tests.scenarios.producer.delivering import on_virtual_time


def leader_of(broker: EmbeddedBroker, partition: int = 0) -> int:
    return broker._state.topics.by_name[TOPIC].partitions[partition].leader


def other_than(broker: EmbeddedBroker, node: int) -> int:
    return next(each for each in broker._state.nodes if each != node)


def sessions(broker: EmbeddedBroker) -> int:
    """How many fetch sessions the nodes keep."""
    return sum(len(each) for each in broker._state.sessions._by_node.values())


# B48
@on_virtual_time
async def test_fetches_after_the_first_name_only_what_has_changed() -> None:
    names = [TopicPartition(TOPIC, number) for number in range(100)]
    async with consuming(*names, topics={TOPIC: 100}) as (broker, consumer):
        await nothing_comes(consumer, 10)
        fetched = broker.statistics().apis["Fetch"]
        before, requests = fetched.bytes_in, fetched.requests
        await nothing_comes(consumer, 20)
        fetched = broker.statistics().apis["Fetch"]
        size = (fetched.bytes_in - before) / (fetched.requests - requests)

        assert requests > 5
        assert size < 200  # 100 partitions would take thousands


# B48
@pytest.mark.parametrize("error", [FetchSessionIdNotFound, InvalidFetchSessionEpoch])
@on_virtual_time
async def test_a_session_that_the_broker_refuses_is_begun_anew(error: Any) -> None:
    async with consuming(T0, T1) as (broker, consumer):
        broker.produce(TOPIC, values(2))
        found = await read(consumer, 2)
        await asyncio.sleep(1)
        node_sessions = next(iter(broker._state.sessions._by_node.values()))
        if error is FetchSessionIdNotFound:
            node_sessions._by_id.clear()
        else:
            for session in node_sessions._by_id.values():
                session.epoch += 5
        broker.produce(TOPIC, values(2))
        broker.produce(TOPIC, values(1), partition=1)
        found += await read(consumer, 3)

        assert sorted(places(found)) == [(0, 0), (0, 1), (0, 2), (0, 3), (1, 0)]


# B48
@on_virtual_time
async def test_sessions_end_with_the_consumer() -> None:
    async with consuming(T0, T1, T2, nodes=3) as (broker, consumer):
        await nothing_comes(consumer, 5)
        before = sessions(broker)
        await consumer.aclose()

        assert before == 3
        assert sessions(broker) == 0


@on_virtual_time
async def test_nodes_that_do_not_answer_do_not_keep_it_from_closing() -> None:
    async with consuming(T0, T1, T2, nodes=3) as (broker, consumer):
        await nothing_comes(consumer, 5)
        with broker.faults.hold("Fetch"):
            await asyncio.sleep(1)
            began_at = asyncio.get_running_loop().time()
            await consumer.aclose()

            assert asyncio.get_running_loop().time() - began_at < 2


@on_virtual_time
async def test_a_new_leader_is_followed_without_loss() -> None:
    async with consuming(T0, nodes=3) as (broker, consumer):
        found = []
        for number in range(6):
            broker.produce(TOPIC, values(5))
            found += await read(consumer, 3)
            broker.move_leader(TOPIC, 0, other_than(broker, leader_of(broker)))
            found += await read(consumer, 2)
            assert number >= 0

        assert offsets(found) == list(range(30))


@on_virtual_time
async def test_a_new_leader_is_found_at_once_as_the_old_one_names_it() -> None:
    async with consuming(T0, nodes=3, metadata_max_age_ms=10_000_000) as (broker, consumer):
        broker.produce(TOPIC, values(1))
        await read(consumer, 1)
        await asyncio.sleep(1)
        with broker.faults.hold("Metadata"):
            broker.move_leader(TOPIC, 0, other_than(broker, leader_of(broker)))
            broker.produce(TOPIC, values(1))

            assert offsets(await read(consumer, 1, within=3)) == [1]


@pytest.mark.parametrize(
    "error",
    [
        NotLeaderOrFollower,
        FencedLeaderEpoch,
        UnknownLeaderEpoch,
        UnknownTopicOrPartition,
        OffsetNotAvailable,
        UnknownServerError,
    ],
)
@on_virtual_time
async def test_errors_that_pass_are_no_matter_of_the_users(error: Any) -> None:
    async with consuming(T0, T1) as (broker, consumer):
        with broker.faults.fail("Fetch", error, topic=TOPIC, partition=0, times=3) as fault:
            broker.produce(TOPIC, values(2))
            broker.produce(TOPIC, values(2), partition=1)
            found = await read(consumer, 4)

            assert fault.hits == 3
            assert sorted(places(found)) == [(0, 0), (0, 1), (1, 0), (1, 1)]


@on_virtual_time
async def test_a_node_that_stops_and_comes_back_costs_no_record() -> None:
    async with consuming(T0) as (broker, consumer):
        broker.produce(TOPIC, values(5))
        found = await read(consumer, 3)
        await broker.stop_node(1)
        await asyncio.sleep(20)
        seen = consumer.health()
        found += await read(consumer, 2)
        await broker.start_node(1)
        broker.produce(TOPIC, values(2))
        found += await read(consumer, 2)

        assert offsets(found) == list(range(7))
        assert not seen.is_healthy
        assert "node 1" in seen.reason or "t-0" in seen.reason
        await asyncio.sleep(5)
        assert consumer.health().is_healthy


@on_virtual_time
async def test_partitions_of_a_dead_node_are_read_from_others() -> None:
    async with consuming(T0, T1, T2, nodes=3) as (broker, consumer):
        for number in range(3):
            broker.produce(TOPIC, values(2), partition=number)
        await read(consumer, 6)
        await broker.stop_node(leader_of(broker))
        for number in range(3):
            broker.produce(TOPIC, values(2), partition=number)
        found = await read(consumer, 6)

        assert sorted(places(found)) == [(number, at) for number in range(3) for at in (2, 3)]
        await asyncio.sleep(30)
        assert consumer.health().is_healthy, consumer.health()


@on_virtual_time
async def test_a_node_that_hangs_does_not_stall_the_others() -> None:
    async with consuming(T0, T1, T2, nodes=3) as (broker, consumer):
        await nothing_comes(consumer, 1)
        slow = leader_of(broker, 0)
        with broker.faults.hold("Fetch", node=slow):
            await asyncio.sleep(1)
            for number in range(3):
                broker.produce(TOPIC, values(200), partition=number)
            found = await read(consumer, 400, within=3)

        assert {partition for partition, _ in places(found)} == {1, 2}
        assert offsets(await read(consumer, 200)) == list(range(200))


# B49
@on_virtual_time
async def test_a_log_that_was_truncated_is_gone_on_with_where_it_parts() -> None:
    async with consuming(T0, nodes=2) as (broker, consumer):
        broker.produce(TOPIC, values(10))
        found = await read(consumer, 10)
        broker.truncate(TOPIC, 0, 6, leader=other_than(broker, leader_of(broker)))
        broker.produce(TOPIC, [b"new"] * 8)
        found = await read(consumer, 8)

        assert offsets(found) == list(range(6, 14))
        assert {record.value for record in found} == {b"new"}


# B49
@on_virtual_time
async def test_what_is_at_hand_of_a_log_that_was_truncated_is_not_handed_over() -> None:
    async with consuming(T0, nodes=2) as (broker, consumer):
        broker.produce(TOPIC, values(10))
        await read(consumer, 8)
        broker.truncate(TOPIC, 0, 6, leader=other_than(broker, leader_of(broker)))
        broker.produce(TOPIC, [b"new"] * 8)
        await asyncio.sleep(2)
        found = await read(consumer, 8)

        assert offsets(found) == list(range(6, 14))
        assert {record.value for record in found} == {b"new"}


# B49
@on_virtual_time
async def test_a_log_that_was_truncated_is_told_of_if_there_is_no_policy() -> None:
    async with consuming(T0, T1, nodes=2, auto_offset_reset="none") as (broker, consumer):
        for name in (T0, T1):
            consumer.seek(name, 0)
        broker.produce(TOPIC, values(10))
        await read(consumer, 10)
        broker.truncate(TOPIC, 0, 6)
        broker.produce(TOPIC, [b"new"] * 8)
        error = await failure(read(consumer, 1))
        broker.produce(TOPIC, values(1), partition=1)
        others: list[Any] = []
        told = 1
        while not others:
            try:
                others += await read(consumer, 1)
            except LogTruncated:  # until the user seeks
                told += 1

        assert told < 5
        assert isinstance(error, LogTruncated)
        assert error.partition == T0
        assert error.diverged is not None
        assert error.diverged.offset == 6
        assert places(others) == [(1, 0)]
        consumer.seek(T0, error.diverged.offset)
        assert offsets(await read(consumer, 8)) == list(range(6, 14))


# B49
@on_virtual_time
async def test_a_committed_offset_is_held_against_the_leader_before_it_is_read() -> None:
    async with consuming(T0, group_id="g", nodes=2) as (broker, consumer):
        broker.produce(TOPIC, values(10))
        await read(consumer, 10)
        await consumer.commit()
        await consumer.aclose()
        broker.truncate(TOPIC, 0, 6)
        broker.produce(TOPIC, [b"new"] * 8)
        async with consuming_again(broker) as another:
            found = await read(another, 8)

        assert offsets(found) == list(range(6, 14))


# B49
@on_virtual_time
async def test_what_was_fetched_and_not_handed_over_is_not_lost_when_the_leader_moves() -> None:
    async with consuming(T0, nodes=2) as (broker, consumer):
        broker.produce(TOPIC, values(10))
        found = await read(consumer, 4)
        before = fetches(broker)
        broker.move_leader(TOPIC, 0, other_than(broker, leader_of(broker)))
        await asyncio.sleep(2)
        found += await read(consumer, 6)

        assert offsets(found) == list(range(10))
        assert fetches(broker) > before


@on_virtual_time
async def test_a_seek_with_an_epoch_is_held_against_the_leader() -> None:
    async with consuming(T0, nodes=2) as (broker, consumer):
        broker.produce(TOPIC, values(10))
        (record, *_) = await read(consumer, 10)
        broker.truncate(TOPIC, 0, 6)
        broker.produce(TOPIC, [b"new"] * 8)
        await read(consumer, 8)
        consumer.seek(T0, OffsetAndMetadata(9, leader_epoch=record.leader_epoch))

        assert offsets(await read(consumer, 1)) == [6]


@on_virtual_time
async def test_a_topic_that_was_deleted_and_made_anew_is_read_from_its_beginning() -> None:
    async with consuming(T0, settings={"auto.create.topics.enable": False}) as (broker, consumer):
        broker.produce(TOPIC, values(3))
        await read(consumer, 3)
        broker.delete_topic(TOPIC)
        await nothing_comes(consumer, 20)
        broker.create_topic(TOPIC, 3)
        broker.produce(TOPIC, [b"new"] * 2)
        found = await read(consumer, 2, within=60)

        assert [record.value for record in found] == [b"new"] * 2


def consuming_again(broker: EmbeddedBroker) -> Any:
    from tests.scenarios.consumer.world import consumer_of

    consumer = consumer_of(broker, group_id="g")
    consumer.assign([T0])
    return consumer
