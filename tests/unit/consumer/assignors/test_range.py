from __future__ import annotations

from kafka_aio.consumer.assignors.assignor import Member
from kafka_aio.consumer.assignors.range import RangeAssignor
from tests.unit.consumer.assignors.judged import names, on, plain

RANGE = RangeAssignor()


def test_each_member_gets_a_run_of_each_topic_and_the_first_the_longer_ones() -> None:
    members = [Member("b", ["x", "y"]), Member("a", ["y", "x"])]

    assert names(RANGE.assign(members, plain(x=3, y=5))) == {
        "b": ["x-2", "y-3", "y-4"],
        "a": ["x-0", "x-1", "y-0", "y-1", "y-2"],
    }


def test_no_more_members_than_needed_get_a_longer_run() -> None:
    members = [Member("a", ["x"]), Member("b", ["x"]), Member("c", ["x"])]

    assert names(RANGE.assign(members, plain(x=4))) == {
        "a": ["x-0", "x-1"],
        "b": ["x-2"],
        "c": ["x-3"],
    }


def test_a_topic_is_shared_by_those_who_want_it() -> None:
    members = [Member("a", ["x"]), Member("b", ["x", "y", "gone"]), Member("c", ["gone"])]

    assert names(RANGE.assign(members, plain(x=2, y=2, z=2))) == {
        "a": ["x-0"],
        "b": ["x-1", "y-0", "y-1"],
        "c": [],
    }
    assert RANGE.assign([], plain(x=1)) == {}


def test_static_members_come_first_by_the_name_that_stays() -> None:
    members = [
        Member("a", ["x"]),
        Member("b", ["x"], instance_id="2"),
        Member("c", ["x"], instance_id="1"),
    ]

    assert names(RANGE.assign(members, plain(x=2))) == {"a": [], "b": ["x-1"], "c": ["x-0"]}


# KIP-881.


def test_members_get_what_is_in_their_rack_up_to_their_share() -> None:
    members = [Member("a", ["x"], rack="A"), Member("b", ["x"], rack="B")]

    assert names(RANGE.assign(members, {"x": on("B", "A", "B", "B")})) == {
        "a": ["x-1", "x-3"],
        "b": ["x-0", "x-2"],
    }


def test_the_same_numbers_of_like_topics_stay_together_where_racks_are_matched() -> None:
    members = [Member("a", ["x", "y"], rack="A"), Member("b", ["x", "y"], rack="B")]

    found = RANGE.assign(members, {"x": on("B", "A"), "y": on("AB", "AB")})

    assert names(found) == {"a": ["x-1", "y-1"], "b": ["x-0", "y-0"]}


def test_a_number_that_is_near_in_one_topic_alone_is_given_without_regard_to_racks() -> None:
    members = [Member("a", ["x", "y"], rack="A"), Member("b", ["x", "y"], rack="B")]

    found = RANGE.assign(members, {"x": on("A", "B"), "y": on("B", "A")})

    assert names(found) == {"a": ["x-0", "y-0"], "b": ["x-1", "y-1"]}


def test_a_member_without_a_rack_is_near_to_everything() -> None:
    members = [Member("a", ["x"]), Member("b", ["x"], rack="B")]

    assert names(RANGE.assign(members, {"x": on("B", "A")})) == {"a": ["x-0"], "b": ["x-1"]}


def test_racks_do_not_matter_where_all_partitions_are_in_the_same() -> None:
    members = [Member("a", ["x", "y"], rack="B"), Member("b", ["x", "y"], rack="A")]

    assert names(RANGE.assign(members, {"x": on("A", "A")})) == {"a": ["x-0"], "b": ["x-1"]}
    # Neither do they if they matter in another topic.
    assert names(RANGE.assign(members, {"x": on("A", "A"), "y": on("A", "B", "A")})) == {
        "a": ["x-0", "y-1"],
        "b": ["x-1", "y-0", "y-2"],
    }


def test_racks_do_not_matter_where_nobody_is_in_one_of_them() -> None:
    members = [Member("a", ["x"], rack="A"), Member("b", ["x"])]

    assert names(RANGE.assign(members, {"x": on("C", "D")})) == {"a": ["x-0"], "b": ["x-1"]}


def test_it_has_nothing_to_add_to_a_subscription() -> None:
    assert RANGE.name == "range"
    assert not RANGE.is_cooperative
    assert RANGE.user_data([], 3) is None
