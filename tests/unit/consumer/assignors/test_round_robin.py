from __future__ import annotations

from kafka_aio.consumer.assignors.assignor import Member
from kafka_aio.consumer.assignors.round_robin import RoundRobinAssignor
from tests.unit.consumer.assignors.judged import names, plain

ROUND_ROBIN = RoundRobinAssignor()


def test_partitions_of_all_topics_go_round() -> None:
    members = [Member("b", ["y", "x"]), Member("a", ["x", "y"])]

    assert names(ROUND_ROBIN.assign(members, plain(x=3, y=3))) == {
        "b": ["x-1", "y-0", "y-2"],
        "a": ["x-0", "x-2", "y-1"],
    }


def test_a_member_without_use_for_a_topic_is_passed_over() -> None:
    members = [Member("a", ["x"]), Member("b", ["x", "y"]), Member("c", ["x", "y", "z"])]

    assert names(ROUND_ROBIN.assign(members, plain(x=1, y=2, z=3))) == {
        "a": ["x-0"],
        "b": ["y-0"],
        "c": ["y-1", "z-0", "z-1", "z-2"],
    }


def test_static_members_come_first_by_the_name_that_stays() -> None:
    members = [
        Member("a", ["x"]),
        Member("b", ["x"], instance_id="2"),
        Member("c", ["x"], instance_id="1"),
    ]

    assert names(ROUND_ROBIN.assign(members, plain(x=3))) == {
        "a": ["x-2"],
        "b": ["x-1"],
        "c": ["x-0"],
    }


def test_topics_that_nobody_wants_or_that_do_not_exist_are_left_out() -> None:
    members = [Member("a", ["x", "gone"]), Member("b", ["gone"])]

    assert names(ROUND_ROBIN.assign(members, plain(x=1, y=1))) == {"a": ["x-0"], "b": []}
    assert ROUND_ROBIN.assign([], plain(x=1)) == {}


def test_it_has_nothing_to_add_to_a_subscription() -> None:
    assert ROUND_ROBIN.name == "roundrobin"
    assert not ROUND_ROBIN.is_cooperative
    assert ROUND_ROBIN.user_data([], 3) is None
