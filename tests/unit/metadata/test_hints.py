from __future__ import annotations

import pytest

from kafka_aio.errors import ProtocolError
from kafka_aio.metadata import Leader, Update
from kafka_aio.metadata.endpoint import MAX_NODES
from kafka_aio.types import Node, PartitionInfo, TopicPartition
from tests.unit.metadata.samples import (
    A0,
    A1,
    B0,
    KAFKA,
    OTHER,
    answer,
    ask,
    broker,
    endpoints,
    led,
    new,
    partition,
    state,
    tell,
    topic,
)


def test_a_hint_brings_a_new_leader_and_its_address() -> None:
    metadata = new("a")
    tell(metadata, answer(led("a", {0: 1, 1: 1}, epoch=5)))
    version = metadata.version

    update = metadata.hint({A0: Leader(7, 6)}, endpoints((7, "new", 9092), (8, "unused", 9092)))

    assert update == Update(new_leaders=(A0,))
    assert metadata.leader(A0) == Leader(7, 6)
    assert metadata.leader(A1) == Leader(1, 5)
    assert metadata.nodes == {1: KAFKA, 2: OTHER, 7: Node(7, "new", 9092)}
    assert metadata.partitions("a") == (
        PartitionInfo("a", 0, Node(7, "new", 9092)),
        PartitionInfo("a", 1, KAFKA),
    )
    assert metadata.version > version


def test_a_hint_of_a_known_node_needs_no_address() -> None:
    metadata = new("a")
    tell(metadata, answer(led("a", {0: 1}, epoch=5)))

    metadata.hint({A0: Leader(2, 6)}, [])

    assert metadata.leader(A0) == Leader(2, 6)


def test_a_hint_can_move_a_node() -> None:
    metadata = new("a")
    tell(metadata, answer(led("a", {0: 1}, epoch=5)))

    update = metadata.hint({A0: Leader(2, 6)}, endpoints((2, "moved", 9092)))

    assert update == Update(new_leaders=(A0,), moved_nodes=(2,))
    assert metadata.node(2) == Node(2, "moved", 9092)


@pytest.mark.parametrize(
    ("partition", "leader"),
    [
        (A0, Leader(2, 5)),
        (A0, Leader(2, 4)),
        (A0, Leader(2, -1)),
        (A0, Leader(-1, 6)),
        (A0, Leader(8, 6)),
        (A0, Leader(9, 6)),
        (A1, Leader(2, 6)),
        (B0, Leader(2, 6)),
    ],
    ids=[
        "same",
        "older",
        "no epoch",
        "no leader",
        "no address",
        "bad port",
        "no part.",
        "no topic",
    ],
)
def test_a_hint_that_cannot_be_believed_changes_nothing(
    partition: TopicPartition, leader: Leader
) -> None:
    metadata = new("a")
    tell(metadata, answer(led("a", {0: 1}, epoch=5)))
    before = state(metadata)

    update = metadata.hint({partition: leader}, endpoints((9, "bad", 0), (2, "moved", 1)))

    assert update == Update()
    assert state(metadata) == before


def test_where_there_were_no_epochs_any_hint_is_newer() -> None:
    metadata = new("a")
    tell(metadata, answer(topic("a", partition(0, leader=1))))

    metadata.hint({A0: Leader(2, 0)}, [])

    assert metadata.leader(A0) == Leader(2, 0)


def test_an_answer_that_is_behind_a_hint_is_refused() -> None:
    metadata = new("a")
    tell(metadata, answer(led("a", {0: 1}, epoch=5)))
    metadata.hint({A0: Leader(2, 6)}, [])

    update = tell(metadata, answer(led("a", {0: 1}, epoch=5)))

    assert update.older == (A0,)
    assert metadata.leader(A0) == Leader(2, 6)


def test_hints_cannot_fill_the_memory_with_nodes() -> None:
    metadata = new("a")
    tell(metadata, answer(led("a", {0: 1}, epoch=5)))
    many = endpoints(*((node, "x", 1) for node in range(10, MAX_NODES + 10)))

    refused = metadata.hint({A0: Leader(10, 6)}, many)
    taken = metadata.hint({A0: Leader(10, 6)}, many[:-2])

    assert refused == Update()
    assert taken == Update(new_leaders=(A0,))
    assert len(metadata.nodes) == 3


def test_a_newer_epoch_seen_elsewhere_makes_the_leader_unknown_until_a_refresh() -> None:
    metadata = new("a")
    ask(metadata)
    tell(metadata, answer(led("a", {0: 1}, epoch=5)), now=100.0)
    version = metadata.version

    assert metadata.saw_epoch(A0, 6)
    assert metadata.leader(A0) is None
    assert metadata.partitions("a") == (PartitionInfo("a", 0, None),)
    assert metadata.version > version
    assert metadata.refresh_at == 101.0
    assert not metadata.saw_epoch(A0, 6)
    tell(metadata, answer(led("a", {0: 1}, epoch=5)), now=101.0)
    assert metadata.leader(A0) is None
    tell(metadata, answer(led("a", {0: 2}, epoch=6)), now=102.0)
    assert metadata.leader(A0) == Leader(2, 6)


@pytest.mark.parametrize(("partition", "epoch"), [(A0, 5), (A0, 4), (A0, -1), (A1, 9), (B0, 9)])
def test_an_epoch_that_is_not_newer_or_of_an_unknown_partition_changes_nothing(
    partition: TopicPartition, epoch: int
) -> None:
    metadata = new("a")
    tell(metadata, answer(led("a", {0: 1}, epoch=5)))
    before = state(metadata)

    assert not metadata.saw_epoch(partition, epoch)
    assert state(metadata) == before


def test_a_coordinator_that_is_no_node_yet_becomes_one() -> None:
    metadata = new("a")
    tell(metadata, answer(led("a", {0: 7})))
    version = metadata.version

    metadata.learn_node(7, "new", 9092)

    assert metadata.nodes == {1: KAFKA, 2: OTHER, 7: Node(7, "new", 9092)}
    assert metadata.leader(A0) == Leader(7, 0)
    assert metadata.version > version


def test_a_coordinator_that_is_a_node_stays_where_it_was() -> None:
    metadata = new("a")
    tell(metadata, answer(led("a", {0: 1}), brokers=[broker(0), broker(1)]))
    before = state(metadata)

    metadata.learn_node(0, "elsewhere", 1)
    metadata.learn_node(1, "elsewhere", 1)

    assert state(metadata) == before


@pytest.mark.parametrize(("node", "port"), [(-1, 9092), (7, 0)])
def test_a_coordinator_that_cannot_be_dialled_is_refused(node: int, port: int) -> None:
    metadata = new("a")
    before = state(metadata)

    with pytest.raises(ProtocolError, match=rf"coordinator {node} at 'kafka', port {port}: "):
        metadata.learn_node(node, "kafka", port)

    assert state(metadata) == before
