"""Offsets of groups and of logs, on the embedded broker."""

from __future__ import annotations

import asyncio
from datetime import timedelta

import pytest

from kafka_aio import (
    KafkaError,
    OffsetAndMetadata,
    OffsetAndTimestamp,
    OffsetChange,
    OffsetReset,
    OffsetSpec,
    TopicPartition,
)
from kafka_aio.errors import (
    GroupIdNotFound,
    GroupSubscribedToTopic,
    KafkaTimeoutError,
    NonEmptyGroup,
    NotLeaderOrFollower,
    OffsetOutOfRange,
    UnknownTopicOrPartition,
)
from tests.kafka import members
from tests.scenarios.admin.world import GROUP, T0, T1, T2, cluster, on_virtual_time, settled
from tests.scenarios.consumer.world import consumer_of, read

NOWHERE = TopicPartition("nowhere", 0)
T9 = TopicPartition("t", 9)


@on_virtual_time
async def test_offsets_are_committed_listed_and_forgotten() -> None:
    async with cluster() as (broker, admin):
        done = await admin.alter_group_offsets(
            GROUP, {T0: 3, T1: OffsetAndMetadata(4, "note", 0), NOWHERE: 1}
        )
        everything = await admin.list_group_offsets([GROUP, "none"])
        some = await admin.list_group_offsets([GROUP], [T2, T0])
        forgotten = await admin.delete_group_offsets(GROUP, [T0, NOWHERE])

        assert (done[T0], done[T1]) == (None, None)
        assert isinstance(done[NOWHERE], UnknownTopicOrPartition)
        assert everything == {
            GROUP: {T0: OffsetAndMetadata(3), T1: OffsetAndMetadata(4, "note", 0)},
            "none": {},
        }
        assert some == {GROUP: {T0: OffsetAndMetadata(3), T2: None}}
        assert forgotten[T0] is None
        assert isinstance(forgotten[NOWHERE], UnknownTopicOrPartition)
        assert list(broker.committed(GROUP)) == [T1]


@on_virtual_time
async def test_of_a_group_with_members_nothing_is_changed() -> None:
    async with cluster() as (broker, admin):
        await members.join(admin, "old", [T0])
        await members.consume(admin, "new", "t")
        for group in ("old", "new"):
            committed = await admin.alter_group_offsets(group, {T0: 3})
            forgotten = await admin.delete_group_offsets(group, [T0])
            reset = await settled(
                admin.reset_group_offsets(group, OffsetReset.earliest(), topics=["t"])
            )

            assert isinstance(committed[T0], NonEmptyGroup)
            assert isinstance(forgotten[T0], GroupSubscribedToTopic)
            assert isinstance(reset, NonEmptyGroup)
            assert str(reset).startswith(f"group '{group}': The group still has members; stop")
            assert broker.committed(group) == {}


@on_virtual_time
async def test_a_group_that_does_not_exist_has_no_offsets_to_forget() -> None:
    async with cluster() as (_, admin):
        found = await admin.delete_group_offsets("none", [T0])

        assert isinstance(found[T0], GroupIdNotFound)


@on_virtual_time
async def test_a_reset_is_where_consumers_go_on() -> None:
    async with cluster() as (broker, admin):
        broker.produce("t", [b"%d" % number for number in range(10)], partition=0)
        async with consumer_of(broker, "t", group_id=GROUP) as consumer:
            await read(consumer, 10)
            await consumer.commit()
        looked = await admin.reset_group_offsets(GROUP, OffsetReset.shift(-3), dry_run=True)
        untouched = broker.committed(GROUP)[T0].offset
        moved = await admin.reset_group_offsets(GROUP, OffsetReset.shift(-3), partitions=[T0])
        async with consumer_of(broker, "t", group_id=GROUP) as consumer:
            again = await read(consumer, 3)

        assert looked[T0] == moved[T0] == OffsetChange(10, 7)
        assert untouched == 10
        assert [record.value for record in again] == [b"7", b"8", b"9"]


@on_virtual_time
async def test_offsets_go_back_by_time() -> None:
    async with cluster() as (broker, admin):
        for _ in range(3):
            broker.produce("t", [b"x"], partition=0)
            await asyncio.sleep(600)

        found = [
            (await admin.reset_group_offsets(GROUP, to, partitions=[T0, T1]))
            for to in (
                OffsetReset.duration(timedelta(minutes=11)),
                OffsetReset.duration(timedelta(minutes=21)),
                OffsetReset.duration(5),
                OffsetReset.duration(timedelta(days=9)),
            )
        ]

        assert [changes[T0] for changes in found] == [
            OffsetChange(None, 2),
            OffsetChange(2, 1),
            OffsetChange(1, 3),
            OffsetChange(3, 0),
        ]
        assert found[-1][T1] == OffsetChange(0, 0)
        assert broker.committed(GROUP)[T0] == OffsetAndMetadata(0)


@on_virtual_time
async def test_a_reset_of_all_is_of_what_is_committed() -> None:
    async with cluster() as (broker, admin):
        broker.produce("t", [b"x"] * 5, partition=1)
        nothing = await admin.reset_group_offsets(GROUP, OffsetReset.latest())
        await admin.alter_group_offsets(GROUP, {T1: 2})

        some = await admin.reset_group_offsets(GROUP, OffsetReset.latest())
        shifted = await admin.reset_group_offsets(
            GROUP, OffsetReset.shift(-1), topics=["t"], dry_run=True
        )
        missing = await settled(
            admin.reset_group_offsets(GROUP, OffsetReset.latest(), topics=["nowhere"])
        )

        assert nothing == {}
        assert some == {T1: OffsetChange(2, 5)}
        assert shifted[T1] == OffsetChange(5, 4)
        assert isinstance(shifted[T0], KafkaError)
        assert isinstance(missing, UnknownTopicOrPartition)


# Logs.


@on_virtual_time
async def test_offsets_of_logs_are_listed() -> None:
    async with cluster(nodes=3) as (broker, admin):
        for number in range(3):
            broker.produce("t", [b"x"] * number, partition=number)

        latest = await admin.list_offsets(dict.fromkeys([T2, T1, T9, NOWHERE], OffsetSpec.latest()))
        newest = await admin.list_offsets({T0: OffsetSpec.max_timestamp()})
        none = await admin.list_offsets({T2: OffsetSpec.at(2**50), T1: OffsetSpec.latest_tiered()})

        assert list(latest) == [T2, T1, T9, NOWHERE]
        assert latest[T2] == OffsetAndTimestamp(2, -1, 0)
        assert isinstance(latest[T9], UnknownTopicOrPartition)
        assert isinstance(latest[NOWHERE], UnknownTopicOrPartition)
        assert newest == {T0: None}
        assert none == {T2: None, T1: None}


@on_virtual_time
async def test_a_leader_that_moves_is_followed() -> None:
    async with cluster(nodes=3) as (broker, admin):
        broker.produce("t", [b"x"] * 5, partition=0)
        fault = broker.faults.fail("ListOffsets", NotLeaderOrFollower, times=2)
        for node in (1, 2, 3):
            broker.move_leader("t", 0, node)

            found = await admin.list_offsets({T0: OffsetSpec.latest()})
            deleted = await admin.delete_records({T0: node})

            latest = found[T0]
            assert isinstance(latest, OffsetAndTimestamp)
            assert latest.offset == 5
            assert deleted == {T0: node}
        assert fault.hits == 2


@on_virtual_time
async def test_records_are_deleted() -> None:
    async with cluster() as (broker, admin):
        for partition in (0, 1):
            broker.produce("t", [b"x"] * 5, partition=partition)

        found = await admin.delete_records({T0: 2, T1: -1, T9: 0})
        beyond = await admin.delete_records({T0: 6})
        earliest = await admin.list_offsets(dict.fromkeys([T0, T1], OffsetSpec.earliest()))

        assert (found[T0], found[T1]) == (2, 5)
        assert isinstance(found[T9], UnknownTopicOrPartition)
        assert isinstance(beyond[T0], OffsetOutOfRange)
        assert earliest == {T0: OffsetAndTimestamp(2, -1, 0), T1: OffsetAndTimestamp(5, -1, 0)}


@pytest.mark.parametrize("api", ["ListOffsets", "Metadata"])
def test_a_broker_that_does_not_answer_ends_a_call_with_its_time(api: str) -> None:
    @on_virtual_time
    async def run() -> None:
        async with cluster(request_timeout_ms=5_000) as (broker, admin):
            broker.faults.drop(api)
            loop = asyncio.get_running_loop()
            began_at = loop.time()

            error = await settled(admin.list_offsets({T0: OffsetSpec.latest()}, timeout=30))

            assert isinstance(error, KafkaTimeoutError)
            assert 20 < loop.time() - began_at <= 31

    run()
