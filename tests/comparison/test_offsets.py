"""OffsetForLeaderEpoch and DeleteRecords."""

from __future__ import annotations

import pytest

from kafka_aio.protocol.messages.offsets import (
    OffsetForLeaderEpochRequest,
    OffsetForLeaderPartition,
    OffsetForLeaderTopic,
)
from kafka_aio.protocol.messages.topics import (
    DeleteRecordsPartition,
    DeleteRecordsRequest,
    DeleteRecordsTopic,
)
from tests.comparison.batches import batch
from tests.comparison.sides import Both


def ends(topic: str, epoch: int, partition: int = 0, current: int = -1) -> OffsetForLeaderTopic:
    asked = OffsetForLeaderPartition(
        partition=partition, current_leader_epoch=current, leader_epoch=epoch
    )
    return OffsetForLeaderTopic(topic=topic, partitions=[asked])


def deletes(topic: str, offset: int, partition: int = 0) -> DeleteRecordsRequest:
    wanted = DeleteRecordsPartition(partition_index=partition, offset=offset)
    topics = [DeleteRecordsTopic(name=topic, partitions=[wanted])]
    return DeleteRecordsRequest(topics=topics, timeout_ms=10_000)


@pytest.mark.parametrize("epoch", [-2, -1, 0, 1, 5])
def test_where_an_epoch_ended(both: Both, epoch: int) -> None:
    name = both.name("epochs")
    for side in both:
        topic = side.topic(name)
        side.ask_in_each_version(OffsetForLeaderEpochRequest(topics=[ends(name, epoch)]))
        topic.produce(batch(1_000, 2_000))
        side.ask_in_each_version(OffsetForLeaderEpochRequest(topics=[ends(name, epoch)]))

    both.agree()


@pytest.mark.parametrize("current", [-1, 0, 1])
@pytest.mark.parametrize("partition", [0, 1, -1])
def test_epochs_of_what_does_not_exist(both: Both, partition: int, current: int) -> None:
    name = both.name("epochs")
    for side in both:
        side.topic(name)
        for topic in (name, both.name("nowhere")):
            asked = ends(topic, 0, partition, current)
            side.ask_in_each_version(OffsetForLeaderEpochRequest(replica_id=-1, topics=[asked]))

    both.agree()


@pytest.mark.parametrize("offset", [0, 1, 2, 3, 4, -1, -2])
def test_records_are_deleted(both: Both, offset: int) -> None:
    name = both.name("delete")
    for side in both:
        topic = side.topic(name)
        topic.produce(batch(1_000, 2_000))
        topic.produce(batch(3_000))
        side.ask_in_each_version(deletes(name, offset))
        side.ask(deletes(name, 0))

    both.agree()


@pytest.mark.parametrize("partition", [1, -1])
def test_records_of_what_does_not_exist(both: Both, partition: int) -> None:
    name = both.name("delete")
    for side in both:
        side.topic(name)
        side.ask_in_each_version(deletes(name, 0, partition))
        side.ask_in_each_version(deletes(both.name("nowhere"), 0))

    both.agree()


@pytest.mark.parametrize("policy", ["compact", "compact,delete"])
def test_records_of_a_compacted_topic(both: Both, policy: str) -> None:
    name = both.name("delete")
    for side in both:
        topic = side.topic(name, configs={"cleanup.policy": policy})
        topic.produce(batch(1_000, key=b"key"))
        side.ask_in_each_version(deletes(name, 1))

    both.agree()


def test_records_of_an_internal_topic(both: Both) -> None:
    for side in both:
        side.coordinated(both.name("group"))
        side.ask_in_each_version(deletes("__consumer_offsets", 0))

    both.agree()
