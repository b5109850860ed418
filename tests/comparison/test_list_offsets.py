"""ListOffsets: what both say of a partition's offsets."""

from __future__ import annotations

import pytest

from kafka_aio.protocol.messages.offsets import (
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsTopic,
)
from kafka_aio.records.codec import BatchBuilder
from tests.comparison.sides import Both


def asks(topic: str, timestamp: int, partition: int = 0, epoch: int = -1) -> ListOffsetsRequest:
    wanted = ListOffsetsPartition(
        partition_index=partition, current_leader_epoch=epoch, timestamp=timestamp
    )
    return ListOffsetsRequest(
        replica_id=-1, topics=[ListOffsetsTopic(name=topic, partitions=[wanted])]
    )


def batch(*timestamps: int) -> memoryview:
    builder = BatchBuilder(100_000)
    for timestamp in timestamps:
        builder.append(None, b"value", timestamp)
    return builder.finish()


@pytest.mark.parametrize("timestamp", [-2, -1, 0, 1_500, 2_000, 2_001, 9_000])
def test_offsets_of_timestamps(both: Both, timestamp: int) -> None:
    name = both.name("list-offsets")
    for side in both:
        topic = side.topic(name)
        topic.produce(batch(1_000, 2_000, 1_500))
        topic.produce(batch(3_000))
        side.ask_in_each_version(asks(name, timestamp))

    both.agree()


@pytest.mark.parametrize("epoch", [0, 1])
@pytest.mark.parametrize("partition", [0, 7, -1])
def test_a_partition_or_an_epoch_that_is_not_there(both: Both, partition: int, epoch: int) -> None:
    name = both.name("list-offsets")
    for side in both:
        side.topic(name)
        side.ask(asks(name, -1, partition, epoch))
        side.ask(asks("nowhere", -1, partition, epoch))

    both.agree()
