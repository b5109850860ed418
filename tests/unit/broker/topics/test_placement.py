from __future__ import annotations

import pytest

from kafka_aio.broker.nodes import Node
from kafka_aio.broker.topics.placement import check_replicas, check_topic_name, collision_key, place
from kafka_aio.errors import InvalidReplicaAssignment, InvalidReplicationFactor, InvalidTopic


def nodes(*ids: int, down: tuple[int, ...] = ()) -> dict[int, Node]:
    return {node: Node(node, "host", 9092, is_up=node not in down) for node in ids}


@pytest.mark.parametrize("name", ["a", "A-b_c.9", "x" * 249, "...", "_"])
def test_names_that_a_topic_may_have(name: str) -> None:
    check_topic_name(name)


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("", "the empty string is not allowed"),
        (".", "'.' is not allowed"),
        ("..", "'..' is not allowed"),
        ("x" * 250, f"the length of '{'x' * 250}' is longer than the max allowed length 249"),
        (
            "a b",
            "'a b' contains one or more characters other than ASCII alphanumerics,"
            " '.', '_' and '-'",
        ),
        (
            "ä",
            "'ä' contains one or more characters other than ASCII alphanumerics, '.', '_' and '-'",
        ),
        (
            "a\n",
            "'a\n' contains one or more characters other than ASCII alphanumerics,"
            " '.', '_' and '-'",
        ),
    ],
)
def test_names_that_no_topic_may_have(name: str, why: str) -> None:
    with pytest.raises(InvalidTopic) as raised:
        check_topic_name(name)

    assert raised.value.message == f"Topic name is invalid: {why}"


def test_a_dot_and_an_underscore_are_one_in_metrics() -> None:
    assert collision_key("a.b_c") == collision_key("a_b.c") == "a_b_c"
    assert collision_key("a.b") == collision_key("a_b") == "a_b"
    assert collision_key("a-b") == ""


def test_leaders_are_spread_in_turn() -> None:
    placed = place(nodes(1, 2, 3), 4, 2, first=0)

    assert placed == [[1, 2], [2, 3], [3, 1], [1, 2]]


def test_the_next_topic_goes_on_where_the_last_one_ended() -> None:
    placed = place(nodes(1, 2, 3), 2, 3, first=4)

    assert placed == [[2, 3, 1], [3, 1, 2]]


def test_nodes_that_are_down_come_last_and_never_lead() -> None:
    placed = place(nodes(1, 2, 3, down=(2,)), 2, 3, first=0)

    assert placed == [[1, 3, 2], [3, 1, 2]]


def test_more_replicas_than_nodes_cannot_be() -> None:
    with pytest.raises(InvalidReplicationFactor) as raised:
        place(nodes(1, 2), 1, 3, first=0)

    assert raised.value.message == (
        "The target replication factor of 3 cannot be reached because only 2 broker(s) are"
        " registered or some brokers have all their log directories cordoned."
    )


def test_with_no_node_up_there_is_no_place() -> None:
    with pytest.raises(InvalidReplicationFactor) as raised:
        place(nodes(1, down=(1,)), 1, 1, first=0)

    expected = "All brokers are currently fenced, or have all their log directories cordoned."
    assert raised.value.message == expected


@pytest.mark.parametrize(("replicas", "factor"), [([1], None), ([2, 1], None), ([2, 1], 2)])
def test_replicas_that_somebody_may_choose(replicas: list[int], factor: int | None) -> None:
    check_replicas(replicas, [1, 2], factor)


@pytest.mark.parametrize(
    ("replicas", "factor", "why"),
    [
        ([], None, "an empty replica list."),
        ([2, 7, 1], None, "broker 7, but no such broker is registered."),
        ([1, 2, 1], None, "the broker 1 more than once."),
        (
            [1, 2],
            1,
            "a partition with 2 replica(s), but this is not consistent with previous partitions,"
            " which have 1 replica(s).",
        ),
    ],
)
def test_replicas_that_nobody_may_choose(replicas: list[int], factor: int | None, why: str) -> None:
    with pytest.raises(InvalidReplicaAssignment) as raised:
        check_replicas(replicas, [1, 2], factor)

    assert raised.value.message == f"The manual partition assignment includes {why}"
