from __future__ import annotations

from typing import Any

import pytest

from kafka_aio.broker import EmbeddedBroker
from kafka_aio.errors import (
    ConfigError,
    GroupIdNotFound,
    InvalidReplicationFactor,
    InvalidTopic,
    LeaderNotAvailable,
    NotLeaderOrFollower,
    ReplicaNotAvailable,
    StateError,
    TopicAlreadyExists,
    UnknownTopicOrPartition,
)
from kafka_aio.protocol.messages.offsets import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from kafka_aio.records.codec import Record
from kafka_aio.types import OffsetAndMetadata, RecordMetadata, TimestampType, TopicPartition
from tests.embedded.client import (
    METADATA,
    VERSIONS,
    Client,
    connected,
    fetch,
    leaders,
    produce,
    values,
)

PARTITION = TopicPartition("t", 0)


# Topics and records.


async def test_topics_come_and_go(broker: EmbeddedBroker) -> None:
    broker.create_topic("new", 2)
    with pytest.raises(TopicAlreadyExists):
        broker.create_topic("new")
    assert broker.end_offsets("new") == {("new", 0): 0, ("new", 1): 0}

    broker.delete_topic("new")

    with pytest.raises(UnknownTopicOrPartition):
        broker.delete_topic("new")
    with pytest.raises(InvalidTopic):
        broker.create_topic("not/allowed")


async def test_what_is_written_can_be_read(broker: EmbeddedBroker, client: Client) -> None:
    broker.create_topic("two", 2)
    stamped = Record("", 0, 0, 123, b"k", b"v", (("h", b"x"),))

    written = broker.produce("two", ["a", ("key", b"b"), None, stamped], partition=1)
    broker.produce("two", ["zero"])

    assert [metadata.offset for metadata in written] == [0, 1, 2, 3]
    assert written[3] == RecordMetadata("two", 1, 3, 123, TimestampType.CREATE_TIME)
    assert values(broker, "two") == [b"zero", b"a", b"b", None, b"v"]
    first, second, _, last = broker.records("two", 1)
    assert (first.key, second.key) == (None, b"key")
    assert (last.headers, last.timestamp, last.offset) == ((("h", b"x"),), 123, 3)
    assert broker.end_offsets("two") == {("two", 0): 1, ("two", 1): 4}


async def test_a_topic_may_stamp_its_records(broker: EmbeddedBroker) -> None:
    broker.create_topic("log", configs={"message.timestamp.type": "LogAppendTime"})

    (written,) = broker.produce("log", [Record("", 0, 0, 5, None, b"v")])

    assert written.timestamp_type is TimestampType.LOG_APPEND_TIME
    assert written.timestamp > 1_600_000_000_000
    assert broker.records("log")[0].timestamp == written.timestamp


@pytest.mark.parametrize("call", ["produce", "records", "end_offsets"])
async def test_what_is_not_there_is_said(broker: EmbeddedBroker, call: str) -> None:
    arguments: dict[str, list[Any]] = {"produce": [[b"v"]], "records": [], "end_offsets": []}

    with pytest.raises(UnknownTopicOrPartition, match="missing"):
        getattr(broker, call)("missing", *arguments[call])


async def test_a_partition_that_is_not_there_is_said(broker: EmbeddedBroker) -> None:
    with pytest.raises(UnknownTopicOrPartition, match="t-1"):
        broker.produce("t", [b"v"], partition=1)
    with pytest.raises(UnknownTopicOrPartition, match="t-7"):
        broker.records("t", 7)


async def test_what_was_deleted_is_not_read(broker: EmbeddedBroker) -> None:
    broker.produce("t", ["a", "b", "c"])
    broker._state.topics.by_name["t"].partitions[0].log.delete_before(2)

    assert values(broker) == [b"c"]


async def test_many_records_are_written_in_several_batches(broker: EmbeddedBroker) -> None:
    written = broker.produce("t", [bytes(1000)] * 2000)

    assert [metadata.offset for metadata in written] == list(range(2000))
    assert broker.end_offsets("t") == {PARTITION: 2000}


async def test_a_truncated_log_ends_earlier_in_a_new_epoch(
    broker: EmbeddedBroker, client: Client
) -> None:
    for value in ("a", "b", "c"):
        broker.produce("t", [value])

    broker.truncate("t", 0, 1)
    broker.produce("t", ["d"])

    assert values(broker) == [b"a", b"d"]
    assert [record.leader_epoch for record in broker.records("t")] == [0, 1]


async def test_records_before_the_offset_stay_though_they_are_of_the_same_batch(
    broker: EmbeddedBroker,
) -> None:
    broker.produce("t", list("abcde"))

    broker.truncate("t", 0, 2)
    broker.produce("t", ["new"])

    assert values(broker) == [b"a", b"b", b"new"]
    assert [record.offset for record in broker.records("t")] == [0, 1, 2]
    assert [record.leader_epoch for record in broker.records("t")] == [0, 0, 1]


@pytest.mark.parametrize("offset", [-1, "1", 1.5, True, None])
async def test_an_offset_that_is_none_is_told(broker: EmbeddedBroker, offset: Any) -> None:
    broker.produce("t", ["a"])

    with pytest.raises(ConfigError, match="offset is a number from 0"):
        broker.truncate("t", 0, offset)

    assert values(broker) == [b"a"]


async def test_who_cannot_lead_is_told_why() -> None:
    async with EmbeddedBroker(nodes=3) as broker:
        broker.create_topic("t", replication_factor=2)
        first, second = broker._state.topics.by_name["t"].partitions[0].replicas
        (other,) = {1, 2, 3} - {first, second}
        await broker.stop_node(second)

        with pytest.raises(ReplicaNotAvailable, match=f"node {second} is stopped"):
            broker.move_leader("t", 0, second)
        with pytest.raises(ReplicaNotAvailable, match=f"node {second} is stopped"):
            broker.truncate("t", 0, 0, leader=second)
        text = f"node {other} has no replica of t-0; those that have are {first}, {second}"
        with pytest.raises(ReplicaNotAvailable, match=text):
            broker.move_leader("t", 0, other)
        with pytest.raises(ConfigError, match="there is no node 9: they are 1, 2, 3"):
            broker.move_leader("t", 0, 9)
        with pytest.raises(ConfigError, match="there is no node 9"):
            broker.truncate("t", 0, 0, leader=9)
        with pytest.raises(ConfigError, match="there is no node 9"):
            broker.move_coordinator("g", 9)


async def test_what_nobody_leads_is_not_truncated(broker: EmbeddedBroker) -> None:
    await broker.stop_node(1)

    with pytest.raises(LeaderNotAvailable, match="nobody leads t-0: start node 1"):
        broker.truncate("t", 0, 0)


@pytest.mark.parametrize("arguments", [("a",), ("b", 1), ("c", 2)])
async def test_no_topic_is_created_while_all_nodes_are_stopped(
    broker: EmbeddedBroker, arguments: Any
) -> None:
    await broker.stop_node(1)

    with pytest.raises(StateError, match="all nodes are stopped: start one first"):
        broker.create_topic(*arguments)
    with pytest.raises(StateError, match="all nodes are stopped: start one first"):
        broker.create_topic(*arguments, replication_factor=1)


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ({"partitions": "3"}, "topic 'new': partitions is a number, not '3'"),
        ({"partitions": True}, "topic 'new': partitions is a number, not True"),
        ({"replication_factor": "1"}, "topic 'new': replication_factor is a number, not '1'"),
        ({"configs": ["a"]}, r"topic 'new': configs is a mapping, not \['a'\]"),
    ],
)
async def test_a_topic_of_wrong_arguments_is_told(
    broker: EmbeddedBroker, arguments: Any, text: str
) -> None:
    with pytest.raises(ConfigError, match=text):
        broker.create_topic("new", **arguments)


async def test_the_name_of_a_topic_is_a_text(broker: EmbeddedBroker) -> None:
    with pytest.raises(ConfigError, match="the name of a topic is a text, not 1"):
        broker.create_topic(1)  # type: ignore[arg-type]  # the mistake


async def test_what_a_test_writes_wakes_who_waits_for_it(
    broker: EmbeddedBroker, client: Client
) -> None:
    client.send(fetch(max_wait_ms=60_000), version=12)
    assert await client.is_silent()

    broker.produce("t", ["a"])

    answer = await client.answer(fetch(), version=12)
    assert answer.responses[0].partitions[0].high_watermark == 1


# Groups.


async def test_what_a_group_has_committed_is_told(broker: EmbeddedBroker, client: Client) -> None:
    partition = OffsetCommitRequestPartition(
        partition_index=0, committed_offset=5, committed_metadata="note"
    )
    topic = OffsetCommitRequestTopic(name="t", partitions=[partition])
    with pytest.raises(GroupIdNotFound):
        broker.committed("g")

    await client.ask(OffsetCommitRequest(group_id="g", member_id="", topics=[topic]), version=9)

    assert broker.committed("g") == {PARTITION: OffsetAndMetadata(5, "note")}
    group = broker.group("g")
    assert (group.id, group.kind, group.state, group.members) == ("g", "classic", "Empty", ())


async def test_a_group_that_is_not_there_is_said(broker: EmbeddedBroker) -> None:
    with pytest.raises(GroupIdNotFound):
        broker.group("g")


# Nodes.


async def test_a_leader_moves_and_who_waits_there_is_told() -> None:
    async with EmbeddedBroker(nodes=2, topics={"t": 1}) as broker:
        before = broker._state.topics.by_name["t"].partitions[0].leader
        other = 3 - before
        async with connected(broker, before) as old, connected(broker, other) as new:
            # Later versions read from followers too (KIP-392).
            old.send(fetch(max_wait_ms=60_000), version=10)
            assert await old.is_silent()

            broker.move_leader("t", 0, other)

            answer = await old.answer(fetch(), version=10)
            assert answer.responses[0].partitions[0].error_code == NotLeaderOrFollower.code
            written = await new.ask(produce(b"a"), version=12)
            assert written.responses[0].partition_responses[0].error_code == 0
            assert leaders(await old.ask(METADATA)) == {("t", 0): other}


async def test_a_coordinator_moves() -> None:
    async with EmbeddedBroker(nodes=3) as broker:
        for node in (3, 1, 2):
            broker.move_coordinator("g", node)

            assert broker._state.groups.coordinator_of("g") == node


async def test_a_node_that_stops_is_gone_and_comes_back_on_its_port() -> None:
    async with EmbeddedBroker(nodes=3, topics={"t": 3}) as broker:
        addresses = broker.bootstrap_servers
        async with connected(broker, 1) as first, connected(broker, 2) as second:
            await first.ask(VERSIONS)
            await second.ask(VERSIONS)

            await broker.stop_node(1)
            await broker.stop_node(1)

            await first.wait_closed()
            with pytest.raises(ConnectionRefusedError):
                async with connected(broker, 1):
                    pass
            metadata = await second.ask(METADATA)
            assert [each.node_id for each in metadata.brokers] == [2, 3]
            assert 1 not in leaders(metadata).values()

            await broker.start_node(1)
            await broker.start_node(1)

            metadata = await second.ask(METADATA)
            assert [each.node_id for each in metadata.brokers] == [1, 2, 3]
        async with connected(broker, 1) as again:
            assert (await again.ask(VERSIONS)).error_code == 0
        assert broker.bootstrap_servers == addresses


async def test_all_nodes_may_stop() -> None:
    async with EmbeddedBroker(nodes=2, topics={"t": 1}) as broker:
        broker.produce("t", [b"kept"])
        await broker.stop_node(1)
        await broker.stop_node(2)
        with pytest.raises(NotLeaderOrFollower):
            broker.produce("t", [b"lost"])

        await broker.start_node(2)

        broker.produce("t", [b"more"])
        assert values(broker) == [b"kept", b"more"]


async def test_a_node_that_is_not_there_is_said(broker: EmbeddedBroker) -> None:
    with pytest.raises(ConfigError, match="no node 7: they are 1"):
        await broker.stop_node(7)
    with pytest.raises(ConfigError, match="no node 0"):
        await broker.start_node(0)
    with pytest.raises(ConfigError, match="no node 2"):
        broker.close_connections(2)


async def test_connections_are_closed_by_node_or_all() -> None:
    async with (
        EmbeddedBroker(nodes=2) as broker,
        connected(broker, 1) as first,
        connected(broker, 2) as second,
    ):
        await first.ask(VERSIONS)
        await second.ask(VERSIONS)

        assert broker.close_connections(1) == 1

        await first.wait_closed()
        await second.ask(VERSIONS)
        assert broker.close_connections() == 1
        await second.wait_closed()


async def test_requests_bytes_and_connections_are_counted(
    broker: EmbeddedBroker, client: Client
) -> None:
    await client.ask(produce(b"a"), version=12)
    await client.ask(produce(bytes(1000)), version=12)
    before = broker.statistics()
    await client.ask(VERSIONS)

    after = broker.statistics()
    assert (before.requests, after.requests) == (2, 3)
    assert before.apis["Produce"].bytes_in > 1000
    assert 50 < before.apis["Produce"].bytes_out < 300
    assert after.apis["ApiVersions"].requests == 1
    assert (after.connections, after.connections_made) == (1, 1)


async def test_options_of_a_topic_are_texts() -> None:
    async with EmbeddedBroker() as broker:
        with pytest.raises(TypeError, match=r"topic 't': retention\.bytes is a text"):
            broker.create_topic("t", configs={"retention.bytes": 1000})  # type: ignore[dict-item]  # on purpose


async def test_no_replica_at_all_is_refused() -> None:
    async with EmbeddedBroker() as broker:
        with pytest.raises(InvalidReplicationFactor):
            broker.create_topic("t", replication_factor=0)
