"""Sticky assignment that looks at racks (KIP-881)."""

from __future__ import annotations

import random
from itertools import product

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from kafka_aio.consumer.assignors.assignor import Assignment, Assignor, Member, Topics
from kafka_aio.consumer.assignors.cooperative_sticky import CooperativeStickyAssignor
from kafka_aio.consumer.assignors.nearness import Racks
from kafka_aio.consumer.assignors.sticky import StickyAssignor
from kafka_aio.types import TopicPartition
from tests.unit.consumer.assignors.judged import (
    Group,
    check_balance,
    check_validity,
    moves,
    names,
    on,
    plain,
    tp,
)

STICKY = StickyAssignor()
SEEDS = st.integers(0, 2**32)


def member(member_id: str, topics: str, rack: str | None, had: str = "") -> Member:
    user_data = STICKY.user_data(tp(*had.split()), 1) if had else None
    return Member(member_id, topics.split(), rack=rack, user_data=user_data or b"")


def assign(topics: Topics, *members: Member) -> dict[str, list[str]]:
    return names(STICKY.assign(members, topics))


# All members want the same.


def test_members_get_what_is_in_their_rack_as_far_as_shares_stay_even() -> None:
    found = assign({"x": on("B", "A", "B", "B")}, member("a", "x", "A"), member("b", "x", "B"))

    assert "x-1" in found["a"]
    assert (len(found["a"]), len(found["b"])) == (2, 2)


def test_the_larger_share_is_where_more_is_near() -> None:
    found = assign({"x": on("B", "A", "B")}, member("a", "x", "A"), member("b", "x", "B"))

    assert found == {"a": ["x-1"], "b": ["x-0", "x-2"]}


def test_no_share_becomes_smaller_by_two_where_more_is_near() -> None:
    members = [member("a", "x", "A"), member("b", "x", "B"), member("c", "x", "C")]

    found = assign({"x": on("A", "A", "A", "A", "A", "B", "C")}, *members)

    assert [len(mine) for mine in found.values()] == [3, 2, 2]
    assert "x-5" in found["b"]
    assert "x-6" in found["c"]


def test_a_member_without_a_rack_takes_what_is_near_to_nobody() -> None:
    found = assign({"x": on("C", "A", "", "A")}, member("a", "x", "A"), member("b", "x", None))

    assert found == {"a": ["x-1", "x-3"], "b": ["x-0", "x-2"]}


def test_nearness_is_worth_more_than_to_keep_what_one_had() -> None:
    members = [member("a", "x", "A", "x-0 x-1"), member("b", "x", "B", "x-2 x-3")]

    found = assign({"x": on("B", "A", "A", "B")}, *members)

    assert found == {"a": ["x-1", "x-2"], "b": ["x-0", "x-3"]}


def test_nothing_moves_that_does_not_come_nearer() -> None:
    members = [member("a", "x", "A", "x-2 x-3"), member("b", "x", "B", "x-0 x-1")]

    found = assign({"x": on("C", "B", "A", "C")}, *members)

    assert found == {"a": ["x-2", "x-3"], "b": ["x-0", "x-1"]}


def test_what_nobody_had_is_exchanged_rather_than_what_somebody_had() -> None:
    members = [member("a", "x", "A", "x-0 x-1"), member("b", "x", "B", "x-2 x-3")]

    # x-4 and x-5 go to a and b, which are not near; all others are near to both.
    found = assign({"x": on("AB", "AB", "AB", "AB", "B", "A")}, *members)

    assert found == {"a": ["x-0", "x-1", "x-5"], "b": ["x-2", "x-3", "x-4"]}


def test_who_has_something_new_exchanges_rather_than_who_would_give_what_it_had() -> None:
    members = [member("a", "x", "A"), member("b", "x", "B", "x-0"), member("c", "x", "B")]

    assert assign({"x": on("AB", "B", "AB")}, *members) == {
        "a": ["x-2"],
        "b": ["x-0"],
        "c": ["x-1"],
    }


def test_three_members_exchange_where_two_cannot() -> None:
    members = [
        member("a", "x", "A", "x-0"),
        member("b", "x", "B", "x-1"),
        member("c", "x", "C", "x-2"),
    ]

    # Only x-0 is not near. It can go to b, whose x-1 is near to c, whose x-2 is near to a.
    assert assign({"x": on("B", "BC", "CA")}, *members) == {
        "a": ["x-2"],
        "b": ["x-0"],
        "c": ["x-1"],
    }


@given(seed=SEEDS)
@settings(max_examples=50)
def test_there_are_no_even_shares_in_which_more_is_near(seed: int) -> None:
    rng = random.Random(seed)
    racks = [rng.choice(["A", "B", "C", None]) for _ in range(rng.randint(1, 3))]
    places = [rng.sample("ABCD", rng.randint(0, 2)) for _ in range(rng.randint(1, 6))]
    members = [Member(str(number), ["x"], rack=rack) for number, rack in enumerate(racks)]
    topics = {"x": [frozenset(each) for each in places]}
    assume(Racks(members, topics).matter)
    first = STICKY.assign(members, topics)
    owned = first if rng.random() < 0.5 else rng.choice(list(even_shares(members, topics)))
    again = [
        Member(each.id, ["x"], rack=each.rack, user_data=STICKY.user_data(owned[each.id], 1) or b"")
        for each in members
    ]

    best = max(near(members, topics, shares) for shares in even_shares(members, topics))

    assert near(members, topics, first) == best
    assert near(members, topics, STICKY.assign(again, topics)) == best


def even_shares(members: list[Member], topics: Topics) -> list[Assignment]:
    partitions = [TopicPartition("x", number) for number in range(len(topics["x"]))]
    found = []
    for choice in product([each.id for each in members], repeat=len(partitions)):
        shares: Assignment = {each.id: [] for each in members}
        for partition, member_id in zip(partitions, choice, strict=True):
            shares[member_id].append(partition)
        sizes = [len(mine) for mine in shares.values()]
        if max(sizes) - min(sizes) < 2:
            found.append(shares)
    return found


def near(members: list[Member], topics: Topics, shares: Assignment) -> int:
    return sum(
        member.rack is None or member.rack in topics[each.topic][each.partition]
        for member in members
        for each in shares[member.id]
    )


# They want different topics.


def test_members_exchange_what_both_of_them_want() -> None:
    members = [member("a", "x", "A"), member("b", "x y", "B"), member("c", "y", "C")]

    found = assign({"x": on("B", "A"), "y": on("C", "B", "C", "C")}, *members)

    assert found["a"] == ["x-0", "x-1"]  # x-0 is in the rack of b, but then a had too few
    assert "y-1" in found["b"]
    assert [len(mine) for mine in found.values()] == [2, 2, 2]


def test_an_exchange_does_not_leave_shares_uneven() -> None:
    members = [
        member("a", "w x y", "A", "w-0 w-1 w-2 w-3 x-0"),
        member("b", "x y z", "B", "z-0 z-1 z-2 y-0"),
        member("c", "v y", "C", "v-0 v-1 v-2"),
    ]
    topics = {
        "v": on("C", "C", "C"),
        "w": on("A", "A", "A", "A"),
        "x": on("B"),
        "y": on("A"),
        "z": on("B", "B", "B"),
    }

    found = assign(topics, *members)

    # If a and b exchanged x-0 and y-0, then a had two more than c, which wants y-0 too.
    assert "x-0" in found["a"]
    assert "y-0" in found["b"]


# Where racks do not matter.


@pytest.mark.parametrize(
    ("racks", "places"),
    [
        ("AB", ["AB", "AB", "AB", "AB"]),  # everything is everywhere
        ("AB", ["C", "D", "C", "D"]),  # nobody is there
        ("A", ["C", "D", "C", "D", "D"]),  # nor there
        ("", ["A", "B", "B", "A"]),  # nobody tells
    ],
)
def test_where_racks_make_no_difference_all_is_as_without(racks: str, places: list[str]) -> None:
    rack = dict(zip("ab", racks, strict=False))
    members = [member(each, "x", rack.get(each)) for each in "ab"]
    without = [member(each, "x", None) for each in "ab"]

    assert assign({"x": on(*places)}, *members) == assign(plain(x=len(places)), *without)


# Groups that change at random.


@pytest.mark.parametrize("all_want_the_same", [True, False])
@pytest.mark.parametrize("assignor", [STICKY, CooperativeStickyAssignor()], ids=lambda a: a.name)
@given(seed=SEEDS)
@settings(max_examples=25)
def test_shares_are_valid_and_even_and_come_to_rest(
    assignor: Assignor, all_want_the_same: bool, seed: int
) -> None:
    rng = random.Random(seed)
    group = Group.at_random(assignor, rng, "ABC")
    wanted = group.some_topics(rng)

    for _ in range(3):
        if all_want_the_same:
            group.subscribed = dict.fromkeys(group.subscribed, wanted)
        come_to_rest(group)

        check_validity(group)
        check_balance(group.owned, group.subscribed)
        group.change(rng)


def come_to_rest(group: Group) -> None:
    for _ in range(10 if group.assignor.is_cooperative else 2):
        before = group.rebalance()
        if group.assignor.is_cooperative:
            assert not moves(before, group.owned)
        if group.owned == before:
            return
    assert group.rebalance() == group.owned
