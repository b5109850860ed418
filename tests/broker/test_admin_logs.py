"""`Admin` about offsets and logs on real Kafka, new and old, and beside Kafka's own program."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest
from confluent_kafka import Producer as ConfluentProducer

from kafka_aio import (
    Admin,
    KafkaError,
    NewTopic,
    OffsetAndMetadata,
    OffsetAndTimestamp,
    OffsetChange,
    OffsetReset,
    OffsetSpec,
    TopicPartition,
)
from kafka_aio.errors import (
    OffsetOutOfRange,
    PolicyViolation,
    UnknownTopicOrPartition,
    UnsupportedByBroker,
)
from tests.broker.filled import FIRST, PATIENCE, described, filled, fresh
from tests.kafka.cluster import Cluster

GROUPS_TOOL = "org.apache.kafka.tools.consumer.group.ConsumerGroupCommand"


@pytest.fixture
async def admin(each_kafka: Cluster) -> AsyncIterator[Admin]:
    async with Admin(bootstrap_servers=each_kafka.bootstrap, client_id="tests") as admin:
        yield admin


@pytest.fixture
async def newest(kafka: Cluster) -> AsyncIterator[Admin]:
    """Of the Kafka that knows groups of the consumer protocol."""
    async with Admin(bootstrap_servers=kafka.bootstrap, client_id="tests") as admin:
        yield admin


@pytest.fixture
def healed(kafka_cluster: Cluster) -> Iterator[Cluster]:
    yield kafka_cluster
    kafka_cluster.heal()


# Resets.

RESETS: dict[str, tuple[OffsetReset, tuple[str, ...], list[int]]] = {
    "earliest": (OffsetReset.earliest(), ("--to-earliest",), [1, 1]),
    "latest": (OffsetReset.latest(), ("--to-latest",), [5, 5]),
    "current": (OffsetReset.current(), ("--to-current",), [3, 5]),
    "offset": (OffsetReset.offset(4), ("--to-offset", "4"), [4, 4]),
    "offset before the log": (OffsetReset.offset(0), ("--to-offset", "0"), [1, 1]),
    "offset after the log": (OffsetReset.offset(99), ("--to-offset", "99"), [5, 5]),
    "time": (
        OffsetReset.timestamp(FIRST + 1_500),
        ("--to-datetime", "2023-11-14T22:13:21.500"),
        [2, 2],
    ),
    "time after the log": (
        OffsetReset.timestamp(FIRST + 99_000),
        ("--to-datetime", "2023-11-14T22:15:00.000"),
        [5, 5],
    ),
    "duration": (OffsetReset.duration(60), ("--by-duration", "PT1M"), [5, 5]),
}


@pytest.mark.parametrize("kind", RESETS)
async def test_offsets_are_reset(admin: Admin, kind: str) -> None:
    to, _, offsets = RESETS[kind]
    partitions, group = await filled(admin), fresh("reset")
    topic = partitions[0].topic
    await admin.alter_group_offsets(group, {partitions[0]: 3})
    await admin.delete_records(dict.fromkeys(partitions, 1))

    looked = await admin.reset_group_offsets(group, to, topics=[topic], dry_run=True)
    untouched = (await admin.list_group_offsets([group]))[group]
    moved = await admin.reset_group_offsets(group, to, topics=[topic])
    committed = (await admin.list_group_offsets([group]))[group]

    assert looked == moved
    assert moved == {
        partitions[0]: OffsetChange(3, offsets[0]),
        partitions[1]: OffsetChange(None, offsets[1]),
    }
    assert untouched == {partitions[0]: OffsetAndMetadata(3)}
    assert committed == {
        each: OffsetAndMetadata(offset) for each, offset in zip(partitions, offsets, strict=True)
    }


@pytest.mark.loop("asyncio")  # a JVM for each
@pytest.mark.parametrize("kind", ["current", "offset before the log", "time", "time after the log"])
async def test_a_reset_goes_where_kafkas_own_program_would_go(
    admin: Admin, each_kafka: Cluster, kind: str
) -> None:
    _, words, offsets = RESETS[kind]
    partitions, group = await filled(admin), fresh("reset")
    topic = partitions[0].topic
    await admin.alter_group_offsets(group, {partitions[0]: 3})
    await admin.delete_records(dict.fromkeys(partitions, 1))
    arguments = ("--bootstrap-server", each_kafka.bootstrap, "--reset-offsets", "--group", group)

    printed = await asyncio.to_thread(
        each_kafka.tool, GROUPS_TOOL, *arguments, "--topic", topic, *words, "--dry-run", "--export"
    )

    theirs = {
        TopicPartition(name, int(number)): int(offset)
        for name, number, offset in (
            line.split(",") for line in printed.splitlines() if line.count(",") == 2
        )
    }
    assert theirs == dict(zip(partitions, offsets, strict=True))


@pytest.mark.loop("asyncio")
async def test_a_shift_goes_where_kafkas_own_program_would_go(
    admin: Admin, each_kafka: Cluster
) -> None:
    (first, second), group = await filled(admin), fresh("shift")
    await admin.alter_group_offsets(group, {first: 3, second: 1})
    arguments = ("--bootstrap-server", each_kafka.bootstrap, "--reset-offsets", "--group", group)

    printed = await asyncio.to_thread(
        each_kafka.tool,
        GROUPS_TOOL,
        *(*arguments, "--all-topics", "--shift-by", "-2", "--execute", "--export"),
    )
    ours = await admin.reset_group_offsets(group, OffsetReset.shift(3))
    nothing = await admin.reset_group_offsets(
        fresh("new"), OffsetReset.shift(1), partitions=[first]
    )

    assert sorted(printed.split()) == [f"{first.topic},0,1", f"{first.topic},1,0"]
    assert ours == {first: OffsetChange(1, 4), second: OffsetChange(0, 3)}
    assert isinstance(nothing[first], KafkaError)


# Logs.


async def test_offsets_of_logs_are_listed(admin: Admin) -> None:
    (first, second), nowhere = await filled(admin), TopicPartition(fresh("nowhere"), 0)
    await admin.delete_records({second: 2})
    wanted = [first, second, nowhere, TopicPartition(first.topic, 9)]

    async def listed(spec: OffsetSpec) -> list[Any]:
        found = await admin.list_offsets(dict.fromkeys(wanted, spec))
        assert list(found) == wanted
        assert isinstance(found[wanted[2]], UnknownTopicOrPartition)
        assert isinstance(found[wanted[3]], UnknownTopicOrPartition)
        return [found[first], found[second]]

    def at(offset: int) -> OffsetAndTimestamp:
        return OffsetAndTimestamp(offset, FIRST + 1_000 * offset, 0)

    assert [each.offset for each in await listed(OffsetSpec.earliest())] == [0, 2]
    assert [each.offset for each in await listed(OffsetSpec.latest())] == [5, 5]
    assert [each.offset for each in await listed(OffsetSpec.earliest_local())] == [0, 2]
    assert await listed(OffsetSpec.max_timestamp()) == [at(4), at(4)]
    assert await listed(OffsetSpec.at(FIRST + 500)) == [at(1), at(2)]
    assert await listed(OffsetSpec.at(FIRST + 5_000)) == [None, None]
    assert await listed(OffsetSpec.latest_tiered()) == [None, None]


async def test_an_offset_that_an_old_broker_does_not_know_is_an_error(
    oldest_kafka: Cluster, newest: Admin
) -> None:
    spec = OffsetSpec.earliest_pending_upload()
    async with Admin(bootstrap_servers=oldest_kafka.bootstrap) as oldest:
        (old,), (new,) = await filled(oldest, 1), await filled(newest, 1)

        refused = await oldest.list_offsets({old: spec})
        known = await newest.list_offsets({new: spec})

    assert isinstance(refused[old], UnsupportedByBroker)
    assert known == {new: None}


async def test_with_read_committed_the_latest_is_where_a_transaction_begins(
    admin: Admin, each_kafka: Cluster
) -> None:
    (partition,) = await filled(admin, 1)
    options = {"bootstrap.servers": each_kafka.bootstrap, "transactional.id": fresh("open")}

    def begin() -> ConfluentProducer:
        producer = ConfluentProducer(options)
        producer.init_transactions(PATIENCE)
        producer.begin_transaction()
        producer.produce(partition.topic, b"open", partition=0)
        assert producer.flush(PATIENCE) == 0
        return producer

    producer = await asyncio.to_thread(begin)
    latest = {partition: OffsetSpec.latest()}
    everything = (await admin.list_offsets(latest))[partition]
    committed = (await admin.list_offsets(latest, isolation_level="read_committed"))[partition]
    await asyncio.to_thread(producer.abort_transaction, PATIENCE)

    assert isinstance(everything, OffsetAndTimestamp)
    assert isinstance(committed, OffsetAndTimestamp)
    assert (everything.offset, committed.offset) == (6, 5)


async def test_records_are_deleted(admin: Admin) -> None:
    first, second = await filled(admin)
    compacted = fresh("compacted")
    await admin.create_topics([NewTopic(compacted, 1, configs={"cleanup.policy": "compact"})])
    kept, nowhere = TopicPartition(compacted, 0), TopicPartition(fresh("nowhere"), 0)

    found = await admin.delete_records({first: 2, second: -1, kept: 0, nowhere: 0})
    beyond = await admin.delete_records({first: 9})
    earliest = await admin.list_offsets(dict.fromkeys([first, second], OffsetSpec.earliest()))

    assert (found[first], found[second]) == (2, 5)
    assert isinstance(found[kept], PolicyViolation)
    assert isinstance(found[nowhere], UnknownTopicOrPartition)
    assert isinstance(beyond[first], OffsetOutOfRange)
    offsets = [each.offset for each in earliest.values() if isinstance(each, OffsetAndTimestamp)]
    assert offsets == [2, 5]


# Nodes that fail.


async def test_when_a_coordinator_was_killed_another_is_asked(healed: Cluster) -> None:
    topic, group = await asyncio.to_thread(healed.create_topic, "led", 3), fresh("moves")
    partition = TopicPartition(topic, 0)
    async with Admin(bootstrap_servers=healed.bootstrap) as admin:
        await admin.alter_group_offsets(group, {partition: 0})
        before = await described(admin, group)
        assert before.coordinator is not None
        await asyncio.to_thread(healed.node(before.coordinator.id).kill)

        # Otherwise it tells what is below its high watermark, which may lag for a moment.
        offsets = await admin.list_group_offsets([group], require_stable=True)
        committed = await admin.alter_group_offsets(group, {partition: 1})
        latest = await admin.list_offsets(
            {TopicPartition(topic, number): OffsetSpec.latest() for number in range(3)}
        )
        after = await described(admin, group)
        listed = await admin.list_groups()

        assert offsets == {group: {partition: OffsetAndMetadata(0)}}
        assert committed == {partition: None}
        assert all(isinstance(each, OffsetAndTimestamp) for each in latest.values())
        assert after.coordinator is not None
        assert after.coordinator.id != before.coordinator.id
        assert group in {each.group_id for each in listed.groups}
        assert set(listed.errors) <= {before.coordinator.id}
