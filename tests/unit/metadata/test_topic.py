from __future__ import annotations

import pytest

from kafka_aio.errors import ProtocolError
from kafka_aio.metadata.partitions import Leader
from kafka_aio.metadata.topic import UNKNOWN, Topic, read_topic
from kafka_aio.protocol.messages.metadata import MetadataResponsePartition
from kafka_aio.protocol.schema import NO_UUID, Uuid
from tests.unit.metadata.samples import ID_A, ID_B, partition, topic


def known(*partitions: MetadataResponsePartition, id: Uuid = NO_UUID) -> Topic:
    return read_topic(topic("orders", *partitions, id=id), UNKNOWN)


def deleted(*partitions: MetadataResponsePartition) -> Topic:
    return read_topic(topic("orders", code=3), known(*partitions))


def numbers(found: Topic) -> list[int]:
    return [each.partition_index for each in found.partitions]


def leaders(found: Topic) -> dict[int, Leader]:
    """Of the partitions that have one."""
    each = {number: found.partitions.leader(number) for number in range(20)}
    return {number: leader for number, leader in each.items() if leader}


def epochs(found: Topic) -> dict[int, int]:
    """Of the partitions that have one."""
    each = {number: found.seen.epoch(number) for number in range(20)}
    return {number: epoch for number, epoch in each.items() if epoch != -1}


def test_partitions_have_leaders_and_epochs() -> None:
    found = known(partition(0, leader=1, epoch=5), partition(1, leader=2, epoch=0), id=ID_A)

    assert found.exists
    assert found.id == ID_A
    assert numbers(found) == [0, 1]
    assert leaders(found) == {0: Leader(1, 5), 1: Leader(2, 0)}
    assert epochs(found) == {0: 5, 1: 0}


def test_a_partition_without_a_leader_exists_and_has_its_epoch() -> None:
    found = known(partition(0, leader=-1, epoch=5, code=5))

    assert numbers(found) == [0]
    assert leaders(found) == {}
    assert epochs(found) == {0: 5}


def test_node_0_can_lead_in_epoch_0() -> None:
    assert leaders(known(partition(0, leader=0, epoch=0))) == {0: Leader(0, 0)}


def test_without_epochs_a_leader_is_known_all_the_same() -> None:
    found = known(partition(0, leader=1, epoch=-1))

    assert leaders(found) == {0: Leader(1, -1)}
    assert epochs(found) == {}


def test_epochs_that_are_not_reliable_are_not_read() -> None:
    before = known(partition(0, leader=1, epoch=9))

    found = read_topic(topic("orders", partition(0, 2, epoch=5)), before, reliable_epochs=False)

    assert leaders(found) == {0: Leader(2, -1)}
    assert epochs(found) == {}
    assert found.older == ()


@pytest.mark.parametrize("epoch", [7, 8])
def test_an_epoch_that_is_the_same_or_newer_is_taken(epoch: int) -> None:
    before = known(partition(0, leader=1, epoch=7))

    found = read_topic(topic("orders", partition(0, leader=2, epoch=epoch)), before)

    assert leaders(found) == {0: Leader(2, epoch)}
    assert found.older == ()


def test_an_older_epoch_leaves_the_partition_as_it_was_and_takes_the_others() -> None:
    before = known(partition(0, 1, epoch=7, replicas=[1, 2, 3]), partition(1, 1, epoch=7))

    late = topic("orders", partition(0, 2, epoch=6, replicas=[1]), partition(1, 2, epoch=8))
    found = read_topic(late, before)

    assert leaders(found) == {0: Leader(1, 7), 1: Leader(2, 8)}
    assert epochs(found) == {0: 7, 1: 8}
    assert [each.isr_nodes for each in found.partitions] == [[1, 2, 3], []]
    assert found.older == (0,)


def test_epochs_that_have_gone_are_forgotten() -> None:
    before = known(partition(0, leader=1, epoch=7))

    found = read_topic(topic("orders", partition(0, leader=2, epoch=-1)), before)

    assert leaders(found) == {0: Leader(2, -1)}
    assert epochs(found) == {}


@pytest.mark.parametrize(("old", "new"), [(ID_A, ID_B), (NO_UUID, ID_A)])
def test_with_another_id_epochs_start_over(old: Uuid, new: Uuid) -> None:
    before = known(partition(0, leader=1, epoch=7), id=old)

    found = read_topic(topic("orders", partition(0, leader=2, epoch=0), id=new), before)

    assert leaders(found) == {0: Leader(2, 0)}
    assert epochs(found) == {0: 0}
    assert found.older == ()


@pytest.mark.parametrize(("old", "new"), [(ID_A, ID_A), (ID_A, NO_UUID), (NO_UUID, NO_UUID)])
def test_with_the_same_id_or_none_epochs_are_compared(old: Uuid, new: Uuid) -> None:
    before = known(partition(0, leader=1, epoch=7), id=old)

    found = read_topic(topic("orders", partition(0, leader=2, epoch=0), id=new), before)

    assert leaders(found) == {0: Leader(1, 7)}
    assert found.id == new
    assert found.older == (0,)


def test_a_topic_with_an_error_keeps_nothing_but_its_epochs() -> None:
    before = known(partition(0, leader=1, epoch=7), id=ID_A)

    found = read_topic(topic("orders", partition(0), code=3, id=ID_A, internal=True), before)

    assert found == Topic(code=3, is_internal=True, seen=before.seen)
    assert not found.exists
    assert epochs(found) == {0: 7}


def test_a_topic_created_anew_after_an_error_starts_over() -> None:
    before = known(partition(0, leader=1, epoch=10), id=ID_A)
    deleted = read_topic(topic("orders", code=3), before)

    found = read_topic(topic("orders", partition(0, leader=2, epoch=5), id=ID_B), deleted)

    assert leaders(found) == {0: Leader(2, 5)}


def test_after_an_error_a_partition_that_is_behind_is_there_but_has_no_leader() -> None:
    before = known(partition(0, leader=1, epoch=10))
    gone = read_topic(topic("orders", code=3), before)

    found = read_topic(topic("orders", partition(0, leader=2, epoch=5)), gone)

    assert numbers(found) == [0]
    assert leaders(found) == {}
    assert epochs(found) == {0: 10}


def test_fewer_partitions_are_taken_as_told() -> None:
    before = known(partition(0, epoch=1), partition(1, epoch=1))

    found = read_topic(topic("orders", partition(0, epoch=1)), before)

    assert numbers(found) == [0]
    assert epochs(found) == {0: 1}


def test_of_partitions_with_one_number_the_last_is_taken() -> None:
    found = known(partition(0, leader=1), partition(0, leader=2))

    assert leaders(found) == {0: Leader(2, -1)}


def test_a_partition_with_a_negative_number_is_nonsense() -> None:
    with pytest.raises(ProtocolError, match="topic 'orders' has a partition -1"):
        known(partition(-1))


@pytest.mark.parametrize(
    ("before", "after", "is_progress"),
    [
        (UNKNOWN, known(partition(0, epoch=1)), True),
        (known(partition(0, epoch=1)), known(partition(0, epoch=2)), True),
        (known(partition(0, epoch=1)), known(partition(0, epoch=1), partition(1)), True),
        (known(partition(0), id=ID_A), known(partition(0), id=ID_B), True),
        (known(partition(0, leader=1)), known(partition(0, leader=2)), True),
        (known(partition(0, epoch=1)), known(partition(0, epoch=-1)), True),
        (Topic(code=3), known(partition(0)), True),
        (known(partition(0)), Topic(code=3), True),
        (known(partition(0, epoch=1)), known(partition(0, epoch=1)), False),
        (known(partition(0, leader=1, epoch=1)), known(partition(0, leader=2, epoch=1)), False),
        (known(partition(0, leader=1)), known(partition(0, leader=1)), False),
        (Topic(code=3), Topic(code=3), False),
        (UNKNOWN, Topic(code=29), False),
        (deleted(partition(0, epoch=1)), read_topic(topic("orders"), UNKNOWN), True),
        (deleted(partition(0)), read_topic(topic("orders"), UNKNOWN), False),
    ],
)
def test_progress_is_what_tells_more_than_was_known(
    before: Topic, after: Topic, is_progress: bool
) -> None:
    assert after.is_progress(before) == is_progress
