from __future__ import annotations

import pytest

from kafka_aio.consumer.assignors.assignor import Member
from kafka_aio.consumer.assignors.cooperative_sticky import CooperativeStickyAssignor
from tests.unit.consumer.assignors.judged import names, plain, tp

COOPERATIVE = CooperativeStickyAssignor()


def test_what_moves_is_first_taken_and_then_given() -> None:
    owner = Member("a", ["x"], owned=tp("x-0", "x-1", "x-2", "x-3"), generation=1)
    newcomer = Member("b", ["x"])

    taken = COOPERATIVE.assign([owner, newcomer], plain(x=4))

    assert names(taken) == {"a": ["x-0", "x-1"], "b": []}

    owner = Member("a", ["x"], owned=taken["a"], generation=2)
    given = COOPERATIVE.assign([owner, newcomer], plain(x=4))

    assert names(given) == {"a": ["x-0", "x-1"], "b": ["x-2", "x-3"]}


def test_what_nobody_owns_is_given_at_once() -> None:
    owner = Member("a", ["x"], owned=tp("x-0"), generation=1)

    found = COOPERATIVE.assign([owner, Member("b", ["x", "y"])], plain(x=2, y=1))

    assert names(found) == {"a": ["x-0", "x-1"], "b": ["y-0"]}


def test_what_its_owner_does_not_want_any_more_waits_until_it_is_given_back() -> None:
    owner = Member("a", ["y"], owned=tp("x-0", "y-0"), generation=1)

    found = COOPERATIVE.assign([owner, Member("b", ["x"])], plain(x=1, y=1))

    assert names(found) == {"a": ["y-0"], "b": []}


# B58.


@pytest.mark.parametrize("stale", [-1, 4])
@pytest.mark.parametrize("topics", [["x"], ["x", "y"]])
def test_the_owner_of_the_highest_generation_keeps_what_others_claim(
    stale: int, topics: list[str]
) -> None:
    owner = Member("a", ["x"], owned=tp("x-0", "x-1"), generation=5)
    other = Member("b", topics, owned=tp("x-0", "x-1"), generation=stale)

    found = COOPERATIVE.assign([other, owner], plain(x=4))

    assert names(found) == {"a": ["x-0", "x-1"], "b": ["x-2", "x-3"]}


@pytest.mark.parametrize("topics", [["x"], ["x", "y"]])
def test_what_two_claim_in_the_same_generation_both_have_to_give_back(topics: list[str]) -> None:
    one = Member("a", ["x"], owned=tp("x-0", "x-1"), generation=5)
    two = Member("b", topics, owned=tp("x-0", "x-2"), generation=5)

    found = COOPERATIVE.assign([one, two], plain(x=4))

    assert names(found)["a"] == ["x-1"]
    assert names(found)["b"] == ["x-2", "x-3"]


def test_a_claim_that_does_not_hold_has_to_be_given_back_before_a_third_gets_it() -> None:
    owner = Member("a", ["x"], owned=tp("x-0", "x-1", "x-2"), generation=5)
    stale = Member("b", ["x"], owned=tp("x-2"), generation=4)

    found = COOPERATIVE.assign([owner, stale, Member("c", ["x"])], plain(x=3))

    assert names(found) == {"a": ["x-0"], "b": [], "c": []}


# User data.


def test_members_that_do_not_know_the_field_tell_the_generation_in_their_user_data() -> None:
    newer = Member("a", ["x"], owned=tp("x-0"), user_data=COOPERATIVE.user_data([], 6) or b"")
    older = Member("b", ["x"], owned=tp("x-0"), generation=5)

    found = COOPERATIVE.assign([newer, older], plain(x=2))

    assert names(found) == {"a": ["x-0"], "b": ["x-1"]}


def test_user_data_is_the_generation() -> None:
    assert COOPERATIVE.name == "cooperative-sticky"
    assert COOPERATIVE.is_cooperative
    assert COOPERATIVE.user_data(tp("x-0"), 258) == b"\0\0\1\2"
    assert COOPERATIVE.user_data([], -1) == b"\xff\xff\xff\xff"
