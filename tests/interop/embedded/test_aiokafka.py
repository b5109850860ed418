from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from typing import Any

import pytest
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, TopicPartition
from aiokafka.admin import AIOKafkaAdminClient, NewPartitions, NewTopic, RecordsToDelete
from aiokafka.admin.config_resource import ConfigResource, ConfigResourceType
from aiokafka.coordinator.assignors.range import RangePartitionAssignor
from aiokafka.coordinator.assignors.roundrobin import RoundRobinPartitionAssignor
from aiokafka.coordinator.assignors.sticky.sticky_assignor import StickyPartitionAssignor
from aiokafka.helpers import create_ssl_context

from kafka_aio.broker import BrokerThread
from tests.interop.embedded.waiting import SECONDS, USERS

SENT_AT = 1_700_000_000_000


def run(work: Awaitable[Any]) -> Any:
    """In a loop of its own, as what this client leaves in a loop is not ours to judge."""

    async def limited() -> Any:
        async with asyncio.timeout(SECONDS):
            return await work

    return asyncio.run(limited())


async def producer(stack: AsyncExitStack, broker: BrokerThread, **options: Any) -> AIOKafkaProducer:
    made = AIOKafkaProducer(bootstrap_servers=broker.bootstrap_servers, **options)
    stack.push_async_callback(made.stop)
    await made.start()
    return made


async def consumer(
    stack: AsyncExitStack, broker: BrokerThread, *topics: str, **options: Any
) -> AIOKafkaConsumer:
    made = AIOKafkaConsumer(
        *topics,
        bootstrap_servers=broker.bootstrap_servers,
        auto_offset_reset="earliest",
        enable_auto_commit=False,
        heartbeat_interval_ms=200,
        metadata_max_age_ms=500,
        **options,
    )
    stack.push_async_callback(made.stop)
    await made.start()
    return made


async def read(consumer: AIOKafkaConsumer, count: int) -> list[Any]:
    found: list[Any] = []
    while len(found) < count:
        for records in (await consumer.getmany(timeout_ms=200)).values():
            found.extend(records)
    return found


async def until(is_so: Callable[[], bool]) -> None:
    while not is_so():  # noqa: ASYNC110 - neither side tells us
        await asyncio.sleep(0.02)


@pytest.mark.parametrize("idempotent", [False, True])
@pytest.mark.parametrize("codec", [None, "gzip", "snappy", "lz4", "zstd"])
def test_what_it_writes_with_any_codec_it_reads_again(
    broker: BrokerThread, codec: str | None, idempotent: bool
) -> None:
    topic = f"codec-{codec}-{idempotent}"
    broker.create_topic(topic)

    async def act() -> list[Any]:
        async with AsyncExitStack() as stack:
            writer = await producer(
                stack, broker, compression_type=codec, enable_idempotence=idempotent, linger_ms=20
            )
            sent = [
                await writer.send(
                    topic, b"v%d" % n, b"k%d" % n, timestamp_ms=SENT_AT, headers=[("a", b"1")]
                )
                for n in range(100)
            ]
            assert [(await each).offset for each in sent] == list(range(100))
            reader = await consumer(stack, broker)
            reader.assign([TopicPartition(topic, 0)])
            return await read(reader, 100)

    records = run(act())

    assert [(each.key, each.value) for each in records] == [
        (b"k%d" % n, b"v%d" % n) for n in range(100)
    ]
    assert {(each.timestamp, each.headers) for each in records} == {(SENT_AT, (("a", b"1"),))}


@pytest.mark.parametrize("acks", [0, 1, "all"])
def test_records_arrive_whatever_it_wants_to_hear_of_them(
    broker: BrokerThread, acks: int | str
) -> None:
    topic = f"acks-{acks}"
    broker.create_topic(topic)

    async def act() -> None:
        async with AsyncExitStack() as stack:
            writer = await producer(stack, broker, acks=acks)
            for number in range(5):
                await writer.send_and_wait(topic, b"%d" % number)
            await until(lambda: len(broker.records(topic)) == 5)

    run(act())

    assert [record.value for record in broker.records(topic)] == [b"0", b"1", b"2", b"3", b"4"]


@pytest.mark.parametrize(
    "assignor", [RangePartitionAssignor, RoundRobinPartitionAssignor, StickyPartitionAssignor]
)
def test_members_that_come_and_go_share_the_partitions(broker: BrokerThread, assignor: Any) -> None:
    topic = f"share-{assignor.name}"
    broker.create_topic(topic, 4)
    for partition in range(4):
        broker.produce(topic, [b"a", b"b"], partition=partition)
    options = {"group_id": topic, "partition_assignment_strategy": [assignor]}

    async def act() -> int:
        async with AsyncExitStack() as stack:
            first = await consumer(stack, broker, topic, **options)
            await read(first, 8)
            await first.commit()
            second = await consumer(stack, broker, topic, **options)
            await until(lambda: [len(x.assignment()) for x in (first, second)] == [2, 2])
            await first.stop()
            await until(lambda: len(second.assignment()) == 4)
            broker.produce(topic, [b"c"], partition=3)
            (record,) = await read(second, 1)
            await second.commit()
            offset: int = record.offset
            return offset

    offset = run(act())

    assert offset == 2
    assert sum(each.offset for each in broker.committed(topic).values()) == 9
    assert broker.group(topic).state == "Empty"


def test_offsets_are_found_by_time_and_by_the_ends_of_the_log(broker: BrokerThread) -> None:
    broker.create_topic("times")
    partition = TopicPartition("times", 0)

    async def act() -> list[Any]:
        async with AsyncExitStack() as stack:
            writer = await producer(stack, broker)
            for number in range(5):
                await writer.send_and_wait("times", b"x", timestamp_ms=SENT_AT + 1000 * number)
            reader = await consumer(stack, broker, group_id="times")
            reader.assign([partition])
            found = await reader.offsets_for_times({partition: SENT_AT + 1500})
            await reader.commit({partition: 4})
            reader.seek(partition, 3)
            records = await read(reader, 2)
            return [
                found[partition].offset,
                (await reader.beginning_offsets([partition]))[partition],
                (await reader.end_offsets([partition]))[partition],
                await reader.committed(partition),
                [record.offset for record in records],
            ]

    assert run(act()) == [2, 0, 5, 4, [3, 4]]


def test_a_pattern_takes_in_topics_that_are_made_later(broker: BrokerThread) -> None:
    broker.create_topic("pattern-a")

    async def act() -> set[str]:
        async with AsyncExitStack() as stack:
            reader = await consumer(stack, broker, group_id="pattern")
            reader.subscribe(pattern="^pattern-.*")
            await until(lambda: len(reader.assignment()) == 1)
            broker.create_topic("pattern-b")
            await until(lambda: len(reader.assignment()) == 2)
            return {partition.topic for partition in reader.assignment()}

    assert run(act()) == {"pattern-a", "pattern-b"}


async def administrator(stack: AsyncExitStack, broker: BrokerThread) -> AIOKafkaAdminClient:
    admin = AIOKafkaAdminClient(bootstrap_servers=broker.bootstrap_servers)
    stack.push_async_callback(admin.close)
    await admin.start()
    return admin


def test_it_administers_topics_and_their_configs(broker: BrokerThread) -> None:
    changed = ConfigResource(ConfigResourceType.TOPIC, "made", {"retention.ms": "1000"})

    async def act() -> list[Any]:
        async with AsyncExitStack() as stack:
            admin = await administrator(stack, broker)
            cluster = await admin.describe_cluster()
            await admin.create_topics([NewTopic("made", 1, 2)])
            await admin.create_partitions({"made": NewPartitions(2)})
            topics = await admin.describe_topics(["made"])
            await admin.alter_configs([changed])
            (configs,) = await admin.describe_configs([changed])
            broker.produce("made", [b"a", b"b"])
            low = await admin.delete_records({TopicPartition("made", 0): RecordsToDelete(1)})
            await admin.delete_topics(["made"])
            return [cluster, topics, configs, low]

    cluster, (topic,), configs, low = run(act())

    ((_, _, _, _, entries),) = configs.resources
    assert len(cluster["brokers"]) == 2
    assert [len(each["replicas"]) for each in topic["partitions"]] == [2, 2]
    assert ("retention.ms", "1000") in [entry[:2] for entry in entries]
    assert low == {TopicPartition("made", 0): 1}
    assert "made" not in broker.topics()


def test_it_administers_groups(broker: BrokerThread) -> None:
    broker.create_topic("administered")
    broker.produce("administered", [b"a", b"b"])

    async def act() -> list[Any]:
        async with AsyncExitStack() as stack:
            admin = await administrator(stack, broker)
            reader = await consumer(stack, broker, "administered", group_id="administered")
            await read(reader, 2)
            await reader.commit()
            listed = await admin.list_consumer_groups()
            (described,) = await admin.describe_consumer_groups(["administered"])
            offsets = await admin.list_consumer_group_offsets("administered")
            return [listed, described.groups, offsets]

    listed, ((_, name, state, kind, *_),), offsets = run(act())

    assert ("administered", "consumer") in listed
    assert (name, state, kind) == ("administered", "Stable", "consumer")
    assert offsets[TopicPartition("administered", 0)].offset == 2


@pytest.mark.parametrize("mechanism", ["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"])
def test_it_logs_in_over_tls(secured_broker: BrokerThread, mechanism: str) -> None:
    topic = f"secured-{mechanism}"
    secured_broker.create_topic(topic)

    async def act() -> None:
        async with AsyncExitStack() as stack:
            writer = await producer(
                stack,
                secured_broker,
                security_protocol=secured_broker.security_protocol,
                ssl_context=create_ssl_context(cadata=secured_broker.certificates.ca_pem),
                sasl_mechanism=mechanism,
                sasl_plain_username="alice",
                sasl_plain_password=USERS["alice"],
            )
            await writer.send_and_wait(topic, b"x")

    run(act())

    assert [record.value for record in secured_broker.records(topic)] == [b"x"]
