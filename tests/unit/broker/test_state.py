from __future__ import annotations

import pytest

from kafka_aio.broker.state import State
from kafka_aio.broker.topics.partitions import NOBODY, Partition
from kafka_aio.errors import LeaderNotAvailable, ReplicaNotAvailable, UnknownTopicOrPartition
from tests.unit.broker.clusters import answer_to, made, send
from tests.unit.broker.producing import batch, fetching, produce, wants


def partitions(state: State, topic: str = "t") -> list[Partition]:
    return state.topics.by_name[topic].partitions


def leaders(state: State, topic: str = "t") -> list[int]:
    return [each.leader for each in partitions(state, topic)]


def test_a_seed_gives_the_same_cluster() -> None:
    one, other = made(1, {"t": 1}, seed=3), made(1, {"t": 1}, seed=3)

    assert one.cluster_id == other.cluster_id
    assert list(one.topics.by_id) == list(other.topics.by_id)
    assert one.cluster_id != made(seed=4).cluster_id


def test_partitions_of_a_node_that_goes_down_are_led_by_others() -> None:
    state = made(3, {"t": 3})

    state.node_down(2)

    assert leaders(state) == [1, 3, 3]
    assert [each.isr for each in partitions(state)] == [[1, 3], [3, 1], [3, 1]]


def test_the_controller_moves_when_its_node_goes_down() -> None:
    state = made(3)
    at_first = state.controller

    state.node_down(1)
    then = state.controller
    state.node_up(1)

    assert (at_first, then, state.controller) == (1, 2, 2)


def test_with_all_nodes_down_nobody_leads_and_the_first_to_come_back_does() -> None:
    state = made(2, {"t": 2})
    state.node_down(1)
    state.node_down(2)
    nobody = state.controller, leaders(state)

    state.node_up(2)

    assert nobody == (NOBODY, [NOBODY, NOBODY])
    assert state.controller == 2
    assert leaders(state) == [2, 2]


def test_a_node_goes_down_once() -> None:
    state = made(2, {"t": 1})

    state.node_down(1)
    state.node_down(1)
    state.node_up(1)
    state.node_up(1)

    assert partitions(state)[0].partition_epoch == 2


def test_nodes_that_are_up() -> None:
    state = made(3)

    state.node_down(2)

    assert [node.id for node in state.live_nodes] == [1, 3]
    assert repr(state) == "<State of 2 of 3 nodes, 0 topics>"


def test_whoever_waits_for_a_partition_hears_of_its_new_leader() -> None:
    state = made(2, {"t": 1})
    waiting = send(state, fetching(wants(), wait_ms=5_000), version=12, node=1)
    at_first = answer_to(state, waiting)

    state.move_leader("t", 0, 2)

    assert at_first is None
    assert answer_to(state, waiting) is not None


def test_a_leader_is_moved_in_the_next_epoch() -> None:
    state = made(3, {"t": 1})

    state.move_leader("t", 0, 3)

    assert leaders(state) == [3]
    assert partitions(state)[0].leader_epoch == 1
    assert partitions(state)[0].isr == [1, 2, 3]


@pytest.mark.parametrize(("topic", "partition"), [("t", 1), ("t", -1), ("u", 0)])
def test_a_leader_of_nothing_cannot_be_moved(topic: str, partition: int) -> None:
    state = made(2, {"t": 1})

    with pytest.raises(UnknownTopicOrPartition, match=f"{topic}-{partition}"):
        state.move_leader(topic, partition, 2)


@pytest.mark.parametrize(
    ("node", "text"),
    [
        (2, "node 2 is stopped: it cannot lead t-0"),
        (3, "node 3 has no replica of t-0; those that have are 1, 2"),
        (9, "node 9 has no replica"),
    ],
)
def test_only_a_replica_that_is_up_can_lead(node: int, text: str) -> None:
    state = made(3)
    state.topics.create("t", replicas=[(0, [1, 2])])
    state.node_down(2)

    with pytest.raises(ReplicaNotAvailable, match=text):
        state.move_leader("t", 0, node)

    assert leaders(state) == [1]


def test_a_truncated_log_goes_on_in_the_next_epoch() -> None:
    state = made(1, {"t": 1})
    for _ in range(3):
        produce(state, batch())

    state.truncate("t", 0, 1)

    log = partitions(state)[0].log
    assert log.end_offset == 1
    assert partitions(state)[0].leader_epoch == 1
    assert log.end_of_epoch(0) == (0, 1)


def test_a_log_may_be_truncated_by_another_leader() -> None:
    state = made(2, {"t": 1})

    state.truncate("t", 0, 0, leader=2)

    assert leaders(state) == [2]


def test_nothing_is_lost_when_the_new_leader_cannot_lead() -> None:
    state = made(1, {"t": 1})
    produce(state, batch())

    with pytest.raises(ReplicaNotAvailable):
        state.truncate("t", 0, 0, leader=2)

    assert partitions(state)[0].log.end_offset == 1


def test_what_nobody_leads_cannot_be_truncated() -> None:
    state = made(1, {"t": 1})
    produce(state, batch())
    state.node_down(1)

    with pytest.raises(LeaderNotAvailable, match="nobody leads t-0: start node 1"):
        state.truncate("t", 0, 0)

    assert partitions(state)[0].log.end_offset == 1
