"""Every call of our consumer on real Kafka, new and old, in groups of both protocols and alone."""

from __future__ import annotations

import asyncio
import os
import re
import time
from collections.abc import Sequence
from typing import Any, NamedTuple

import pytest

from kafka_aio import (
    Admin,
    CommitFailed,
    Consumer,
    ConsumerConfig,
    DeserializationError,
    KafkaError,
    KafkaTimeoutError,
    NewTopic,
    OffsetAndMetadata,
    StateError,
    SubscriptionPattern,
    TopicPartition,
    WakeupError,
)
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
from tests.groups.kinds import prepare
from tests.kafka.cluster import Cluster

pytestmark = [pytest.mark.kafka, pytest.mark.timeout(120)]
if "KAFKA_AIO_LOOP" not in os.environ:  # whole clients run on both in tests/scenarios
    pytestmark.append(pytest.mark.loop("asyncio"))


class Grouped(NamedTuple):
    """A Kafka, and a protocol of groups that it has."""

    kafka: Cluster
    protocol: str

    def consumer(self, *topics: str, **options: Any) -> Consumer:
        return consumer_of(self.kafka, *topics, group_protocol=self.protocol, **options)

    async def topic_with(self, purpose: str, counts: Sequence[int]) -> str:
        """A topic, and a group of the same name whose members hear of changes soon."""
        topic = await topic_with(self.kafka, purpose, counts)
        if self.protocol == "consumer":
            await prepare(self.kafka.bootstrap, topic)
        return topic


@pytest.fixture(
    scope="session",
    params=[("kafka", "classic"), ("kafka", "consumer"), ("oldest_kafka", "classic")],
    ids="-".join,
)
def grouped(request: pytest.FixtureRequest) -> Grouped:
    which, protocol = request.param
    return Grouped(request.getfixturevalue(which), protocol)


class Listener:
    """Notes what it is told."""

    def __init__(self) -> None:
        self.heard: list[tuple[str, int]] = []

    async def assigned(self, partitions: tuple[TopicPartition, ...]) -> None:
        await asyncio.sleep(0)
        self.heard.append(("assigned", len(partitions)))

    def revoked(self, partitions: tuple[TopicPartition, ...]) -> None:
        self.heard.append(("revoked", len(partitions)))

    async def lost(self, partitions: tuple[TopicPartition, ...]) -> None:
        self.heard.append(("lost", len(partitions)))


async def test_a_group_goes_on_where_it_was(grouped: Grouped) -> None:
    topic = await grouped.topic_with("goes-on", [10, 10])
    first, second = partitions_of(topic, 2)
    listener = Listener()
    async with grouped.consumer(group_id=topic, enable_auto_commit=False) as consumer:
        consumer.subscribe([topic], listener)
        taken = await take(consumer, 20)
        assert consumer.subscription() == {topic}
        assert consumer.assignment() == {first, second} == taken.keys()
        assert await consumer.committed([first, second]) == {first: None, second: None}
        await consumer.commit({first: OffsetAndMetadata(4, "half"), second: 6})
        found = await consumer.committed([first, second])
        assert found == {first: OffsetAndMetadata(4, "half"), second: OffsetAndMetadata(6, "")}
        assert await consumer.seek_to_committed(first) == {first: OffsetAndMetadata(4, "half")}
        assert [await consumer.position(each) for each in (first, second)] == [4, 10]
        assert await offsets_of(consumer, 6) == [4, 5, 6, 7, 8, 9]
        await consumer.seek_to_committed()
    async with grouped.consumer(topic, group_id=topic) as consumer:
        taken = await take(consumer, 10)

    assert [record.offset for record in taken[first]] == [4, 5, 6, 7, 8, 9]
    assert [record.offset for record in taken[second]] == [6, 7, 8, 9]
    assert listener.heard == [("assigned", 2), ("revoked", 2)]


async def test_commits_are_awaited_or_called_back_and_keep_their_order(grouped: Grouped) -> None:
    topic = await grouped.topic_with("commits", [10])
    (name,) = partitions_of(topic, 1)
    heard: list[Any] = []
    async with grouped.consumer(topic, group_id=topic, enable_auto_commit=False) as consumer:
        await take(consumer, 10)
        begun = consumer.commit_nowait({name: 3}, lambda offsets, error: heard.append(offsets))
        later = consumer.commit_nowait({name: 5})
        await begun
        await later
        await consumer.commit()

        assert heard == [{name: OffsetAndMetadata(3, "")}]
        found = await consumer.committed([name])
        committed = found[name]
        assert committed is not None
        assert committed.offset == 10


async def test_auto_commit_is_for_what_was_asked_past(grouped: Grouped) -> None:
    topic = await grouped.topic_with("auto", [10])
    (name,) = partitions_of(topic, 1)
    async with grouped.consumer(topic, group_id=topic, auto_commit_interval_ms=50) as consumer:
        await offsets_of(consumer, 4)
        await offsets_of(consumer, 3)

        async def is_committed() -> bool:
            return (await consumer.committed([name]))[name] is not None

        await wait_for(is_committed)
        await asyncio.sleep(0.3)
        found = (await consumer.committed([name]))[name]
    async with grouped.consumer(group_id=topic) as consumer:
        after = (await consumer.committed([name]))[name]

    assert found is not None
    assert after is not None
    assert (found.offset, after.offset) == (4, 7)


async def test_what_a_consumer_tells_of_itself(grouped: Grouped) -> None:
    topic = await grouped.topic_with("itself", [5, 7])
    first, second = partitions_of(topic, 2)
    async with grouped.consumer(topic, group_id=topic) as consumer:
        await take(consumer, 12)
        me = consumer.group_metadata()
        statistics = consumer.statistics()

        assert (me.group_id, me.group_instance_id) == (topic, None)
        assert me.generation_id > 0
        assert me.member_id
        assert consumer.lag() == {first: 0, second: 0}
        assert consumer.current_lag(first) == 0
        assert (statistics.records, statistics.assigned, statistics.lag) == (12, 2, 0)
        assert consumer.metrics()["records"] == 12
        assert consumer.metrics()["assigned_partitions"] == 2
        assert consumer.health().is_healthy
        assert consumer.health().group == "stable"
        consumer.seek(second, 3)
        assert consumer.current_lag(second) == 4
    assert not consumer.health().is_healthy


async def test_a_rebalance_can_be_asked_for(each_kafka: Cluster) -> None:
    topic = await topic_with(each_kafka, "rebalance", [3])
    async with consumer_of(each_kafka, topic, group_id=topic) as consumer:
        await take(consumer, 3)
        before = consumer.group_metadata().generation_id
        consumer.enforce_rebalance("the test wants it")
        async with asyncio.timeout(SECONDS):
            while (
                consumer.group_metadata().generation_id <= before  # the group has begun again,
                or consumer.health().group != "stable"  # and come to its end
            ):
                await consumer.poll(timeout=0.05)

        assert consumer.assignment() == {TopicPartition(topic, 0)}
        assert await nothing_comes(consumer)


async def test_topics_are_left_and_others_read(grouped: Grouped) -> None:
    topic = await grouped.topic_with("left", [3])
    other = await grouped.topic_with("other", [4])
    listener = Listener()
    async with grouped.consumer(group_id=topic) as consumer:
        consumer.subscribe([topic], listener)
        await take(consumer, 3)
        consumer.subscribe([topic, other], listener)
        assert len((await take(consumer, 4))[TopicPartition(other, 0)]) == 4
        consumer.subscribe([other], listener)
        await write(grouped.kafka, topic, [1])
        assert await nothing_comes(consumer)
        assert consumer.assignment() == {TopicPartition(other, 0)}
        await consumer.unsubscribe()
        assert (consumer.subscription(), consumer.assignment()) == (frozenset(), frozenset())
        with pytest.raises(StateError, match="nothing to read"):
            await consumer.poll(timeout=0)
        consumer.assign([TopicPartition(topic, 0)])
        assert await offsets_of(consumer, 1) == [3]

    assert [what for what, _ in listener.heard].count("assigned") >= 3
    assert listener.heard[-1] == ("revoked", 1)


async def test_who_asks_too_late_is_out_and_comes_again(grouped: Grouped) -> None:
    topic = await grouped.topic_with("too-late", [6])
    listener = Listener()
    async with (
        grouped.consumer(
            group_id=topic, max_poll_interval_ms=1_000, auto_commit_interval_ms=100
        ) as consumer,
        Admin(bootstrap_servers=grouped.kafka.bootstrap) as admin,
    ):
        consumer.subscribe([topic], listener)
        assert await offsets_of(consumer, 2) == [0, 1]
        assert await offsets_of(consumer, 2) == [2, 3]

        async def is_out() -> bool:
            found = (await admin.describe_groups([topic]))[topic]
            return not isinstance(found, KafkaError) and not found.members

        await wait_for(is_out)
        with pytest.raises(CommitFailed, match="not a member"):
            await consumer.commit()
        assert await offsets_of(consumer, 4) == [2, 3, 4, 5]

    assert listener.heard == [("assigned", 1), ("lost", 1), ("assigned", 1), ("revoked", 1)]


@pytest.mark.parametrize("leaves", [None, True, False])
async def test_who_closes_leaves_the_group_or_stays(grouped: Grouped, leaves: bool | None) -> None:
    topic = await grouped.topic_with("leaving", [1])
    consumer = grouped.consumer(topic, group_id=topic)
    await consumer.start()
    try:
        await take(consumer, 1)
    finally:
        await consumer.aclose(timeout=10, leave_group=leaves)

    async with Admin(bootstrap_servers=grouped.kafka.bootstrap) as admin:
        found = (await admin.describe_groups([topic]))[topic]
    assert not isinstance(found, KafkaError)
    assert len(found.members) == (1 if leaves is False else 0)


async def test_records_one_by_one_and_in_batches(each_kafka: Cluster) -> None:
    topic = await topic_with(each_kafka, "ways", [600])
    (name,) = partitions_of(topic, 1)
    async with consumer_of(each_kafka) as consumer:
        consumer.assign([name])
        one_by_one = []
        async for record in consumer:
            one_by_one.append((record.offset, record.value))
            if len(one_by_one) == 600:
                break
        consumer.seek_to_beginning()
        rows, records = 0, []
        async for batch in consumer.batches():
            rows += batch.to_arrow().num_rows
            records += [(record.offset, record.value) for record in batch.records]
            if rows == 600:
                break
        consumer.seek(name, 598)
        assert (await anext(consumer)).offset == 598
        assert [record.offset for record in (await consumer.poll())[name]] == [599]

    assert one_by_one == records == [(number, b"%d" % number) for number in range(600)]


async def test_a_range_ends_exactly_where_it_should(each_kafka: Cluster) -> None:
    topic = await topic_with(each_kafka, "ranges", [1_000, 1_000])
    first, second = partitions_of(topic, 2)
    async with consumer_of(each_kafka) as consumer:

        async def read(name: TopicPartition, start: int, end: int) -> list[int]:
            batches = [batch async for batch in consumer.read_range(name, start, end)]
            return [record.offset for batch in batches for record in batch.records]

        found = tuple(
            await asyncio.gather(
                read(first, 0, 1_000),
                read(second, 10, 11),
                read(first, 500, 777),
                read(first, 7, 7),
            )
        )

        assert found == (list(range(1_000)), [10], list(range(500, 777)), [])
        assert consumer.assignment() == frozenset()
        with pytest.raises(KafkaError, match="1001"):
            await read(first, 0, 1_001)


async def test_what_logs_hold(each_kafka: Cluster) -> None:
    topic = await topic_with(each_kafka, "logs", [5, 0])
    first, second = partitions_of(topic, 2)
    now = time.time_ns() // 1_000_000
    async with consumer_of(each_kafka) as consumer:
        assert await consumer.beginning_offsets([first, second]) == {first: 0, second: 0}
        assert await consumer.end_offsets([first, second]) == {first: 5, second: 0}
        found = await consumer.offsets_for_times({first: now - 60_000, second: now - 60_000})
        at = found[first]
        assert at is not None
        assert at.offset == 0
        assert abs(at.timestamp - now) < 30_000
        assert found[second] is None
        assert await consumer.offsets_for_times({first: now + 60_000}) == {first: None}
        assert [each.partition for each in await consumer.partitions_for(topic)] == [0, 1]
        topics = await consumer.list_topics()
        assert len(topics[topic]) == 2


async def test_a_topic_that_is_not_there_is_named_and_not_created(each_kafka: Cluster) -> None:
    async with consumer_of(each_kafka, allow_auto_create_topics=False) as consumer:
        with pytest.raises(KafkaTimeoutError, match="missing-topic"):
            await consumer.partitions_for("missing-topic", timeout=0.5)
        with pytest.raises(KafkaTimeoutError, match="missing-topic"):
            await consumer.end_offsets([TopicPartition("missing-topic", 0)], timeout=0.5)

        assert "missing-topic" not in await consumer.list_topics()


async def test_one_task_reads_and_another_wakes_it(each_kafka: Cluster) -> None:
    topic = await new_topic(each_kafka, "wakeup")
    async with consumer_of(each_kafka) as consumer:
        consumer.assign(partitions_of(topic, 1))
        reading = asyncio.create_task(consumer.poll())
        await asyncio.sleep(0.2)
        with pytest.raises(StateError, match="another task"):
            await anext(consumer)
        consumer.wakeup()
        with pytest.raises(WakeupError):
            await reading

        assert await consumer.poll(timeout=0) == {}


async def test_topics_that_match_a_pattern_are_found_as_they_come(grouped: Grouped) -> None:
    prefix = f"pattern-{time.time_ns()}"
    first = await grouped.topic_with(prefix, [2])
    await grouped.topic_with(f"not-{prefix}", [2])
    async with grouped.consumer(group_id=first, metadata_max_age_ms=500) as consumer:
        consumer.subscribe(re.compile(rf"{prefix}-.*"))
        before = await take(consumer, 2)
        second = await grouped.topic_with(prefix, [3])
        after = await take(consumer, 3)

        assert before.keys() == {TopicPartition(first, 0)}
        assert after.keys() == {TopicPartition(second, 0)}
        assert consumer.subscription() == {first, second}


async def test_a_broker_matches_patterns_too(kafka: Cluster) -> None:
    prefix = f"server-side-{time.time_ns()}"
    first = await topic_with(kafka, prefix, [2])
    await topic_with(kafka, f"not-{prefix}", [2])
    await prepare(kafka.bootstrap, first)
    async with consumer_of(kafka, group_id=first, group_protocol="consumer") as consumer:
        consumer.subscribe(SubscriptionPattern(f"{prefix}-[0-9]+"))
        before = await take(consumer, 2)

        assert before.keys() == {TopicPartition(first, 0)}
        assert consumer.assignment() == {TopicPartition(first, 0)}


async def test_new_partitions_of_a_topic_are_shared_out(grouped: Grouped) -> None:
    topic = await grouped.topic_with("growing", [1])
    async with (
        grouped.consumer(topic, group_id=topic, metadata_max_age_ms=500) as consumer,
        Admin(bootstrap_servers=grouped.kafka.bootstrap) as admin,
    ):
        await take(consumer, 1)
        await admin.create_partitions({topic: 3})
        async with asyncio.timeout(SECONDS):
            while len(consumer.assignment()) < 3:
                await consumer.poll(timeout=0.1)
        await write(grouped.kafka, topic, [0, 0, 4])

        assert (await take(consumer, 4)).keys() == {TopicPartition(topic, 2)}


class Interceptor:
    """Counts, and notes."""

    def __init__(self) -> None:
        self.records = 0
        self.commits: list[dict[TopicPartition, OffsetAndMetadata]] = []

    def on_consume(self, records: list[Any]) -> None:
        self.records += len(records)

    def on_commit(self, offsets: dict[TopicPartition, OffsetAndMetadata]) -> None:
        self.commits.append(offsets)


async def test_code_of_the_users_is_called(each_kafka: Cluster) -> None:
    topic = await topic_with(each_kafka, "user-code", [3, 1])
    first, second = partitions_of(topic, 2)
    await write(each_kafka, topic, [1], value_serializer=lambda _: b"poison")
    interceptor = Interceptor()
    async with consumer_of(
        each_kafka, topic, group_id=topic, value_deserializer=int, interceptors=[interceptor]
    ) as consumer:
        values: dict[TopicPartition, list[Any]] = {first: [], second: []}

        async def read(count: int) -> None:
            async with asyncio.timeout(SECONDS):
                while sum(map(len, values.values())) < count:
                    for name, records in (await consumer.poll()).items():
                        values[name] += [record.value for record in records]

        with pytest.raises(DeserializationError) as raised:
            await read(5)
        assert (raised.value.topic, raised.value.partition, raised.value.offset) == (topic, 0, 3)
        consumer.seek(first, 4)
        await write(each_kafka, topic, [1, 1])
        await read(6)
        await consumer.commit()

    assert values == {first: [0, 1, 2, 0], second: [0, 0]}
    assert interceptor.records == 6
    assert [{name: at.offset for name, at in each.items()} for each in interceptor.commits] == [
        {first: 5, second: 2}
    ]


async def test_options_by_kafkas_names_and_as_a_configuration(kafka: Cluster) -> None:
    topic = await topic_with(kafka, "options", [1])
    options = {"bootstrap.servers": kafka.bootstrap, "auto.offset.reset": "earliest"}
    config = ConsumerConfig(bootstrap_servers=kafka.bootstrap, auto_offset_reset="earliest")

    async with Consumer.from_kafka(options, topic) as consumer:
        assert await offsets_of(consumer, 1) == [0]
    async with Consumer(config, topic) as consumer:
        assert await offsets_of(consumer, 1) == [0]


async def test_a_thousand_partitions_for_one_consumer(kafka: Cluster) -> None:
    topic = f"thousand-{time.time_ns()}"
    async with Admin(bootstrap_servers=kafka.bootstrap) as admin:
        await admin.create_topics([NewTopic(topic, 1_000, 1)])
    await write(kafka, topic, [1] * 1_000)
    async with consumer_of(kafka, topic, group_id=topic) as consumer:
        taken = await take(consumer, 1_000)
        await consumer.commit()
        committed = await consumer.committed(list(taken))
        assert len(consumer.assignment()) == 1_000

    assert {len(records) for records in taken.values()} == {1}
    assert len(taken) == 1_000
    assert {each and each.offset for each in committed.values()} == {1}
