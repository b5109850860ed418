from __future__ import annotations

from math import inf

import pytest

from kafka_aio.errors import ProtocolError
from kafka_aio.metadata import Leader, Update
from kafka_aio.metadata.endpoint import MAX_NODES
from kafka_aio.protocol.messages.metadata import MetadataResponse
from kafka_aio.types import Node, PartitionInfo
from tests.unit.metadata.samples import (
    A0,
    A1,
    ID_A,
    ID_B,
    KAFKA,
    OTHER,
    answer,
    broker,
    led,
    new,
    partition,
    state,
    tell,
    tell_all,
    topic,
)


def test_before_the_first_answer_the_bootstrap_servers_are_the_nodes() -> None:
    metadata = new()

    assert metadata.nodes == {-1: Node(-1, "first", 9092), -2: Node(-2, "::1", 9093)}
    assert metadata.node(-2) == Node(-2, "::1", 9093)
    assert metadata.controller_id is None
    assert metadata.cluster_id is None
    assert metadata.refresh_at == -inf


def test_an_answer_brings_the_nodes_the_cluster_and_the_controller() -> None:
    metadata = new()

    update = tell(metadata, answer(controller=2))

    assert metadata.nodes == {1: KAFKA, 2: OTHER}
    assert metadata.node(1) == KAFKA
    assert metadata.node(-1) is None
    assert metadata.cluster_id == "cluster"
    assert metadata.controller_id == 2
    assert update == Update(gone_nodes=(-1, -2))


@pytest.mark.parametrize("controller", [-1, 7])
def test_a_controller_that_is_no_node_is_not_known(controller: int) -> None:
    metadata = new()

    tell(metadata, answer(controller=controller))

    assert metadata.controller_id is None


def test_node_0_can_be_the_controller() -> None:
    metadata = new()

    tell(metadata, answer(brokers=[broker(0)], controller=0))

    assert metadata.controller_id == 0


def test_no_controller_is_not_mistaken_for_the_first_bootstrap_server() -> None:
    assert new().controller_id is None


def test_an_answer_tells_leaders_and_partitions() -> None:
    metadata = new("a")

    tell(metadata, answer(led("a", {1: 2, 0: 1}, epoch=5)))

    assert metadata.leader(A0) == Leader(node=1, epoch=5)
    assert metadata.leader(A1) == Leader(node=2, epoch=5)
    assert metadata.epoch(A0) == 5
    assert metadata.partition_count("a") == 2
    assert metadata.topics == ["a"]


def test_partitions_are_told_in_order_with_their_replicas() -> None:
    metadata = new("a")
    first = partition(0, leader=1, replicas=[1, 2])
    last = partition(1, leader=-1, replicas=[2, 7])

    tell(metadata, answer(topic("a", last, first)))

    down = Node(7, "", -1)
    assert metadata.partitions("a") == (
        PartitionInfo("a", 0, KAFKA, (KAFKA, OTHER), (KAFKA, OTHER)),
        PartitionInfo("a", 1, None, (OTHER, down), (OTHER, down)),
    )
    assert metadata.replicas("a") == [[1, 2], [2, 7]]


def test_partitions_are_made_once_for_each_version() -> None:
    metadata = new("a")
    tell(metadata, answer(led("a", {0: 1})))
    before = metadata.partitions("a")

    assert metadata.partitions("a") is before
    tell(metadata, answer(led("a", {0: 2})))
    assert metadata.partitions("a") == (PartitionInfo("a", 0, OTHER),)


def test_of_what_was_never_asked_nothing_is_known() -> None:
    metadata = new()
    tell(metadata, answer())

    assert metadata.replicas("a") == []
    assert metadata.leader(A0) is None
    assert metadata.epoch(A0) == -1
    assert metadata.partitions("a") is None
    assert metadata.partition_count("a") is None
    assert metadata.topic_id("a") is None
    assert metadata.topic_name(ID_A) is None
    assert metadata.topic_error("a") == 0
    assert not metadata.is_internal("a")
    assert metadata.node(7) is None


def test_a_partition_that_does_not_exist_has_no_leader() -> None:
    metadata = new("a")
    tell(metadata, answer(led("a", {0: 1})))

    assert metadata.leader(A1) is None
    assert metadata.epoch(A1) == -1


def test_topics_have_names_and_ids_both_ways() -> None:
    metadata = new("a", "b")

    tell(metadata, answer(topic("a", partition(), id=ID_A), topic("b", partition(), internal=True)))

    assert metadata.topic_id("a") == ID_A
    assert metadata.topic_name(ID_A) == "a"
    assert metadata.topic_id("b") is None
    assert (metadata.is_internal("a"), metadata.is_internal("b")) == (False, True)


def test_a_topic_created_anew_has_its_new_id_alone_and_its_epochs_start_over() -> None:
    metadata = new("a")
    tell(metadata, answer(topic("a", partition(0, 1, epoch=9), id=ID_A)))

    tell(metadata, answer(topic("a", partition(0, 2, epoch=0), id=ID_B)))

    assert metadata.topic_id("a") == ID_B
    assert metadata.topic_name(ID_A) is None
    assert metadata.leader(A0) == Leader(2, 0)


def test_a_topic_with_an_error_is_told_with_its_code() -> None:
    metadata = new("a", "b")
    tell(metadata, answer(topic("a", partition(), id=ID_A), led("b", {0: 1})))

    update = tell(metadata, answer(topic("a", code=29), led("b", {0: 1})))

    assert update.topic_errors == (("a", 29),)
    assert metadata.topic_error("a") == 29
    assert metadata.partitions("a") is None
    assert metadata.partition_count("a") is None
    assert metadata.leader(A0) is None
    assert metadata.topic_id("a") is None
    assert metadata.topic_name(ID_A) is None
    assert metadata.topics == ["b"]


def test_an_error_is_over_when_the_topic_is_there() -> None:
    metadata = new("a")
    tell(metadata, answer(topic("a", code=3)))

    update = tell(metadata, answer(led("a", {0: 1})))

    assert update.topic_errors == ()
    assert metadata.topic_error("a") == 0
    assert metadata.leader(A0) == Leader(1, 0)


def test_an_older_epoch_is_refused_and_told() -> None:
    metadata = new("a")
    tell(metadata, answer(led("a", {0: 1, 1: 1}, epoch=7)))

    late = topic("a", partition(0, leader=2, epoch=6), partition(1, leader=2, epoch=8))
    update = tell(metadata, answer(late))

    assert update.older == (A0,)
    assert metadata.leader(A0) == Leader(1, 7)
    assert metadata.leader(A1) == Leader(2, 8)


def test_epochs_of_old_brokers_are_ignored() -> None:
    metadata = new("a")
    tell(metadata, answer(led("a", {0: 1}, epoch=7)))

    update = tell(metadata, answer(led("a", {0: 2}, epoch=6)), reliable_epochs=False)

    assert update.older == ()
    assert metadata.leader(A0) == Leader(2, -1)


def test_the_epochs_of_a_deleted_topic_are_kept_until_it_comes_back() -> None:
    metadata = new("a")
    tell(metadata, answer(led("a", {0: 1}, epoch=10)))

    tell(metadata, answer(topic("a", code=3)))
    behind = tell(metadata, answer(led("a", {0: 1}, epoch=9)))

    assert metadata.epoch(A0) == 10
    assert behind.older == (A0,)
    assert metadata.leader(A0) is None
    assert metadata.partition_count("a") == 1


def test_a_leader_that_is_no_node_is_no_leader_until_it_is() -> None:
    metadata = new("a")

    tell(metadata, answer(led("a", {0: 7})))
    before = metadata.leader(A0), metadata.partitions("a")
    tell(metadata, answer(brokers=[broker(7)]), requested=["b"])

    assert before == (None, (PartitionInfo("a", 0, None),))
    assert metadata.leader(A0) == Leader(7, 0)


def test_a_leader_whose_node_has_gone_is_no_leader() -> None:
    metadata = new("a")
    tell(metadata, answer(led("a", {0: 1, 1: 2})))

    update = tell(metadata, answer(brokers=[broker(1)]), requested=["b"])

    assert update.gone_nodes == (2,)
    assert metadata.leader(A0) == Leader(1, 0)
    assert metadata.leader(A1) is None


def test_a_node_that_moved_is_told_but_not_one_that_changed_its_rack() -> None:
    metadata = new()
    tell(metadata, answer(brokers=[broker(1), broker(2), broker(3)]))

    moved = [broker(1, "elsewhere"), broker(2, port=9999), broker(3, rack="r"), broker(4)]
    update = tell(metadata, answer(brokers=moved))

    assert update == Update(moved_nodes=(1, 2))
    assert metadata.node(1) == Node(1, "elsewhere", 9092)
    assert metadata.node(3) == Node(3, "kafka", 9092, "r")


def test_a_broker_that_cannot_be_dialled_is_left_out_and_told() -> None:
    metadata = new("a")

    update = tell(metadata, answer(led("a", {0: 1}), brokers=[broker(1, port=0), broker(2)]))

    assert list(metadata.nodes) == [2]
    assert metadata.leader(A0) is None
    assert len(update.refused_nodes) == 1


@pytest.mark.parametrize(
    "nonsense",
    [
        answer(led("a", {0: 2}, epoch=9), brokers=[]),
        answer(led("a", {0: 2}, epoch=9), brokers=[broker(1, host="")]),
        answer(led("a", {0: 2}, epoch=9), brokers=[broker(1)] * (MAX_NODES + 1)),
        answer(led("a", {0: 2}, epoch=9), led("b", {-1: 1}), brokers=[broker(7)]),
    ],
)
def test_an_answer_that_cannot_be_accepted_changes_nothing(nonsense: MetadataResponse) -> None:
    metadata = new("a", "b")
    tell(metadata, answer(led("a", {0: 1}, epoch=3), topic("b", partition(), id=ID_B)))
    before = state(metadata)

    with pytest.raises(ProtocolError, match="Metadata: "):
        tell(metadata, nonsense, now=50.0)

    assert state(metadata) == before


def test_an_answer_about_all_that_is_wanted_replaces_everything() -> None:
    metadata = new("a")
    tell(metadata, answer(topic("b", partition(), id=ID_B)), requested=["b"])
    had = metadata.topics

    tell(metadata, answer(led("a", {0: 1})))

    assert had == ["b"]
    assert metadata.topics == ["a"]
    assert metadata.topic_name(ID_B) is None


def test_an_answer_about_some_topics_replaces_those() -> None:
    metadata = new("a", "b")
    tell(metadata, answer(led("a", {0: 1}), topic("b", partition(), partition(1), id=ID_B)))

    tell(metadata, answer(topic("b", partition(), id=ID_A)), requested=["b"])

    assert metadata.leader(A0) == Leader(1, 0)
    assert metadata.partition_count("b") == 1
    assert metadata.topic_name(ID_A) == "b"
    assert metadata.topic_name(ID_B) is None


def test_topics_that_nobody_asked_for_are_not_read() -> None:
    metadata = new("a")

    tell(metadata, answer(led("a", {0: 1}), led("b", {0: 1}), topic(None, code=100), topic("")))

    assert metadata.topics == ["a"]


def test_a_wanted_topic_that_is_missing_from_its_answer_does_not_exist() -> None:
    metadata = new("a")
    tell(metadata, answer(led("a", {0: 1}, epoch=5)))

    update = tell(metadata, answer())

    assert update.topic_errors == (("a", 3),)
    assert metadata.topic_error("a") == 3
    assert metadata.epoch(A0) == 5


def test_a_deleted_topic_that_nobody_wants_vanishes() -> None:
    metadata = new()
    tell_all(metadata, answer(led("a", {0: 1}), led("b", {0: 1})))

    update = tell_all(metadata, answer(led("b", {0: 1})))

    assert update.topic_errors == ()
    assert metadata.topics == ["b"]
    assert metadata.topic_error("a") == 0


def test_of_two_answers_about_one_topic_the_last_is_taken() -> None:
    metadata = new("a")

    tell(metadata, answer(led("a", {0: 1}), led("a", {0: 2})))

    assert metadata.leader(A0) == Leader(2, 0)


def test_each_answer_has_a_version_of_its_own() -> None:
    metadata = new("a")
    versions = [metadata.version]
    for response in (answer(led("a", {0: 1})), answer(led("a", {0: 1})), answer()):
        tell(metadata, response)
        versions.append(metadata.version)

    assert versions == sorted(set(versions))


def test_an_answer_of_very_many_topics_leaves_those_that_were_asked_for() -> None:
    metadata = new("a")
    many = [led(f"t{number}", {0: 1}) for number in range(20_000)]

    tell(metadata, answer(*many, led("a", {0: 1})))

    assert metadata.topics == ["a"]


def test_a_repr_tells_the_state_in_one_line() -> None:
    metadata = new("a", "b")
    tell(metadata, answer(led("a", {0: 1})), requested=["a"])
    first = repr(metadata)
    metadata.want_all()

    assert first == (
        "<Metadata v2: 2 nodes, 1 topics, 2 wanted, 1 new, "
        "<Refresh asked for, 0 failures, 0 repeats>>"
    )
    assert ", all wanted, 1 new, " in repr(metadata)


def test_topics_are_taken_out_of_an_answer_to_make_room() -> None:
    metadata = new("a")
    response = answer(led("a", {0: 1}), led("b", {0: 1}))

    tell_all(metadata, response)

    assert metadata.topics == ["a", "b"]
    assert response.topics == []
