from __future__ import annotations

from typing import Any

import pytest

from kafka_aio.broker.log.partition_log import PartitionLog
from kafka_aio.broker.state import State
from kafka_aio.broker.topics.topics import CONSUMER_OFFSETS
from kafka_aio.errors import KafkaStorageError
from kafka_aio.protocol.messages.offsets import (
    EpochEndOffset,
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsTopic,
    OffsetForLeaderEpochRequest,
    OffsetForLeaderPartition,
    OffsetForLeaderTopic,
)
from kafka_aio.protocol.messages.topics import (
    DeleteRecordsPartition,
    DeleteRecordsRequest,
    DeleteRecordsTopic,
)
from tests.unit.broker.clusters import call, made
from tests.unit.broker.producing import batch, produce

NONE = (0, -1, -1, -1)


def filled(nodes: int = 1) -> State:
    """Two batches of epoch 0, one of epoch 1; node 1 leads."""
    state = made(nodes, {"t": 1})
    leader = state.topics.by_name["t"].partitions[0].leader
    produce(state, batch(b"a", b"b", b"c", timestamp=1_000), node=leader)
    produce(state, batch(b"d", timestamp=500), node=leader)
    state.move_leader("t", 0, 1)
    produce(state, batch(b"e", b"f", timestamp=1_001), node=1)
    return state


def log_of(state: State) -> PartitionLog:
    return state.topics.by_name["t"].partitions[0].log


def listing(
    *timestamps: int, topic: str = "t", partition: int = 0, epoch: int = -1, replica: int = -1
) -> ListOffsetsRequest:
    wanted = [
        ListOffsetsPartition(
            partition_index=partition, current_leader_epoch=epoch, timestamp=timestamp
        )
        for timestamp in timestamps
    ]
    return ListOffsetsRequest(
        replica_id=replica, topics=[ListOffsetsTopic(name=topic, partitions=wanted)]
    )


def listed(state: State, *timestamps: int, version: int = 11, node: int = 1, **more: Any) -> Any:
    """Error, timestamp, offset and epoch."""
    response = call(state, listing(*timestamps, **more), version=version, node=node)
    (answer,) = response.topics[0].partitions
    return answer.error_code, answer.timestamp, answer.offset, answer.leader_epoch


@pytest.mark.parametrize(
    ("timestamp", "found"),
    [
        (-1, (0, -1, 6, 1)),
        (-2, (0, -1, 0, 0)),
        (-3, (0, 1_002, 2, 0)),
        (-4, (0, -1, 0, 0)),
        (-5, NONE),
        (-6, NONE),
        (0, (0, 1_000, 0, 0)),
        (1_001, (0, 1_001, 1, 0)),
        (1_002, (0, 1_002, 2, 0)),
        (1_003, NONE),
    ],
)
def test_an_offset_is_found_by_its_timestamp(timestamp: int, found: tuple[int, ...]) -> None:
    assert listed(filled(), timestamp) == found


@pytest.mark.parametrize(
    ("timestamp", "found"),
    [(-1, (0, -1, 0, 0)), (-2, (0, -1, 0, 0)), (-3, NONE), (-4, (0, -1, 0, 0)), (5, NONE)],
)
def test_an_empty_log_has_only_a_begin_and_an_end(timestamp: int, found: tuple[int, ...]) -> None:
    assert listed(made(topics={"t": 1}), timestamp) == found


@pytest.mark.parametrize(("timestamp", "first"), [(-3, 7), (-4, 8), (-5, 9), (-6, 11)])
def test_a_name_is_known_from_some_version_on(timestamp: int, first: int) -> None:
    codes = [listed(filled(), timestamp, version=version)[0] for version in range(1, 12)]

    assert codes == [35] * (first - 1) + [0] * (12 - first)


def test_a_name_that_nobody_knows_is_refused() -> None:
    assert listed(filled(), -7) == (35, -1, -1, -1)


@pytest.mark.parametrize("version", range(1, 12))
def test_every_version_is_answered(version: int) -> None:
    state = filled()

    assert listed(state, -1, version=version) == (0, -1, 6, 1 if version >= 4 else -1)
    assert listed(state, 1_001, version=version)[:3] == (0, 1_001, 1)


def test_deleted_records_are_not_found() -> None:
    state = filled()
    log_of(state).delete_before(2)

    assert listed(state, -2) == (0, -1, 2, 0)
    assert listed(state, 0) == (0, 1_002, 2, 0)
    log_of(state).delete_before(5)
    assert listed(state, -2) == (0, -1, 5, 1)


@pytest.mark.parametrize(("topic", "partition"), [("nowhere", 0), ("t", 1), ("t", -1)])
def test_what_is_not_there_is_unknown(topic: str, partition: int) -> None:
    state = filled()

    assert listed(state, -1, topic=topic, partition=partition) == (3, -1, -1, -1)


def test_an_epoch_is_compared() -> None:
    state = filled()

    assert listed(state, -1, epoch=1)[0] == 0
    assert listed(state, -1, epoch=0)[0] == 74
    assert listed(state, -1, epoch=2)[0] == 75


def test_a_follower_answers_debuggers_only() -> None:
    state = filled(nodes=2)

    assert listed(state, -1, node=2)[0] == 6
    assert listed(state, -1, node=2, replica=-2)[:3] == (0, -1, 6)


def test_a_partition_that_is_named_twice_is_refused_once() -> None:
    assert listed(filled(), -1, -2) == (42, -1, -1, -1)


def test_a_fault_on_purpose_is_told() -> None:
    state = filled()
    state.faults.fail("ListOffsets", KafkaStorageError, topic="t")

    assert listed(state, -1)[0] == 56


# OffsetForLeaderEpoch


def ended(
    state: State,
    epoch: int,
    *,
    current: int = -1,
    version: int = 4,
    node: int = 1,
    topic: str = "t",
    partition: int = 0,
) -> tuple[int, int, int]:
    wanted = OffsetForLeaderPartition(
        partition=partition, current_leader_epoch=current, leader_epoch=epoch
    )
    request = OffsetForLeaderEpochRequest(
        topics=[OffsetForLeaderTopic(topic=topic, partitions=[wanted])]
    )
    response = call(state, request, version=version, node=node)
    (answer,) = response.topics[0].partitions
    assert isinstance(answer, EpochEndOffset)
    assert (response.topics[0].topic, answer.partition) == (topic, partition)
    return answer.error_code, answer.leader_epoch, answer.end_offset


@pytest.mark.parametrize("version", [2, 3, 4])
def test_the_end_of_an_epoch_is_told(version: int) -> None:
    state = filled()

    assert ended(state, 0, version=version) == (0, 0, 4)
    assert ended(state, 1, version=version) == (0, 1, 6)


def test_an_epoch_that_is_not_known_has_no_end() -> None:
    assert ended(filled(), 5) == (0, -1, -1)
    assert ended(filled(), -1) == (0, -1, -1)


def test_who_cannot_tell_says_why() -> None:
    state = filled(nodes=2)

    assert ended(state, 0, current=0) == (74, -1, -1)
    assert ended(state, 0, current=2) == (75, -1, -1)
    assert ended(state, 0, node=2) == (6, -1, -1)
    assert ended(state, 0, topic="nowhere") == (3, -1, -1)
    assert ended(state, 0, partition=3) == (3, -1, -1)


# DeleteRecords


def deleted(
    state: State,
    offset: int,
    *,
    version: int = 2,
    node: int = 1,
    topic: str = "t",
    partition: int = 0,
) -> tuple[int, int]:
    wanted = DeleteRecordsPartition(partition_index=partition, offset=offset)
    request = DeleteRecordsRequest(
        topics=[DeleteRecordsTopic(name=topic, partitions=[wanted])], timeout_ms=1_000
    )
    response = call(state, request, version=version, node=node)
    (answer,) = response.topics[0].partitions
    assert (response.topics[0].name, answer.partition_index) == (topic, partition)
    return answer.error_code, answer.low_watermark


@pytest.mark.parametrize("version", [0, 1, 2])
def test_records_before_an_offset_are_deleted(version: int) -> None:
    state = filled()

    assert deleted(state, 0, version=version) == (0, 0)
    assert deleted(state, 2, version=version) == (0, 2)
    assert log_of(state).start_offset == 2


def test_all_records_are_deleted_by_minus_one() -> None:
    state = filled()

    assert deleted(state, -1) == (0, 6)
    assert log_of(state).size == 0


def test_what_is_deleted_stays_so() -> None:
    state = filled()
    deleted(state, 3)

    assert deleted(state, 1) == (0, 3)


@pytest.mark.parametrize("offset", [7, -2])
def test_an_offset_that_cannot_be_is_out_of_range(offset: int) -> None:
    state = filled()

    assert deleted(state, offset) == (1, -1)
    assert log_of(state).start_offset == 0


def test_who_cannot_delete_says_why() -> None:
    state = filled(nodes=2)
    state.topics.auto_create(CONSUMER_OFFSETS)
    state.topics.create("compacted", partitions=1, configs={"cleanup.policy": "compact"})
    leader = state.topics.by_name["compacted"].partitions[0].leader

    assert deleted(state, 0, node=2) == (6, -1)
    assert deleted(state, 0, topic="nowhere") == (3, -1)
    assert deleted(state, 0, partition=3) == (3, -1)
    assert deleted(state, 0, topic=CONSUMER_OFFSETS) == (17, -1)
    assert deleted(state, 0, topic="compacted", node=leader) == (44, -1)
