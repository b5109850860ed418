from __future__ import annotations

from collections.abc import Sequence

import pytest

from kafka_aio.consumer.assignors.assignor import Member
from kafka_aio.consumer.assignors.claims import Claim
from kafka_aio.consumer.assignors.sticky import StickyAssignor, decode_claim, encode_claim
from tests.unit.consumer.assignors.judged import names, plain, tp

STICKY = StickyAssignor()
V0 = b"\0\0\0\1\0\1x\0\0\0\2\0\0\0\0\0\0\0\2"
"""That a member had x-0 and x-2, in the version without a generation."""


def member(member_id: str, topics: Sequence[str], had: str = "", generation: int = 1) -> Member:
    owned = tp(*had.split())
    return Member(member_id, topics, user_data=STICKY.user_data(owned, generation) or b"")


# All members want the same.


def test_a_new_group_goes_round() -> None:
    members = [Member("b", ["x", "y"]), Member("a", ["x", "y"])]

    assert names(STICKY.assign(members, plain(x=2, y=3))) == {
        "b": ["x-1", "y-1"],
        "a": ["x-0", "y-0", "y-2"],
    }


def test_who_stays_keeps_all_and_gets_more_when_another_leaves() -> None:
    members = [member("a", ["x"], "x-0 x-3"), member("c", ["x"], "x-2 x-5")]

    assert names(STICKY.assign(members, plain(x=6))) == {
        "a": ["x-0", "x-1", "x-3"],
        "c": ["x-2", "x-4", "x-5"],
    }


def test_who_had_most_keeps_the_larger_share() -> None:
    members = [member("a", ["x"], "x-0"), member("b", ["x"], "x-1 x-2"), Member("c", ["x"])]

    assert names(STICKY.assign(members, plain(x=4))) == {
        "a": ["x-0"],
        "b": ["x-1", "x-2"],
        "c": ["x-3"],
    }


def test_who_has_to_give_something_up_keeps_some_of_each_topic() -> None:
    members = [member("a", ["x", "y"], "x-0 x-1 y-0 y-1"), Member("b", ["x", "y"])]

    assert names(STICKY.assign(members, plain(x=2, y=2))) == {
        "a": ["x-0", "y-0"],
        "b": ["x-1", "y-1"],
    }


# They want different topics.


def test_what_few_want_is_made_up_for_by_what_many_want() -> None:
    members = [Member("a", ["x", "y"]), Member("b", ["y"])]

    assert names(STICKY.assign(members, plain(x=2, y=2))) == {
        "a": ["x-0", "x-1"],
        "b": ["y-0", "y-1"],
    }


def test_as_little_is_moved_as_it_takes() -> None:
    members = [member("a", ["x", "y"], "x-0 x-1 y-0 y-1 y-2"), Member("b", ["y"])]

    found = names(STICKY.assign(members, plain(x=2, y=3)))

    assert found == {"a": ["x-0", "x-1", "y-0"], "b": ["y-1", "y-2"]}


def test_what_nobody_had_moves_rather_than_what_somebody_had() -> None:
    members = [
        member("a", ["w", "x", "z"], "x-0"),
        Member("b", ["x", "z"]),
        member("c", ["v", "w"], "v-0 v-1 v-2 v-3 v-4"),
        member("d", ["v", "w"], "v-5 v-6 v-7 v-8 v-9"),
    ]

    found = names(STICKY.assign(members, plain(v=10, w=2, x=1, z=3)))

    # z-1 was a's for a moment; then a got w-0 and w-1, which b does not want.
    assert found["a"] == ["w-0", "w-1", "x-0"]
    assert found["b"] == ["z-0", "z-1", "z-2"]


def test_what_is_no_longer_wanted_or_does_not_exist_is_not_kept() -> None:
    members = [member("a", ["y"], "x-0 y-0 y-7 gone-0"), Member("b", ["x", "gone"])]

    assert names(STICKY.assign(members, plain(x=1, y=1))) == {"a": ["y-0"], "b": ["x-0"]}


def test_a_group_without_members_or_topics() -> None:
    assert STICKY.assign([], plain(x=1)) == {}
    assert STICKY.assign([Member("a", ["gone"]), Member("b", [])], {}) == {"a": [], "b": []}


# B58: claims that do not hold.


@pytest.mark.parametrize("topics", [["x"], ["x", "y"]])
@pytest.mark.parametrize("stale", [-1, 4])
@pytest.mark.parametrize("stale_comes_first", [True, False])
def test_the_claim_of_the_highest_generation_holds(
    topics: list[str], stale: int, stale_comes_first: bool
) -> None:
    newer = member("a", ["x"], "x-0 x-2", 5)
    older = member("b", topics, "x-0 x-2 x-1", stale)
    members = [older, newer] if stale_comes_first else [newer, older]

    found = STICKY.assign(members, plain(x=4))

    assert names(found) == {"a": ["x-0", "x-2"], "b": ["x-1", "x-3"]}


@pytest.mark.parametrize("topics", [["x"], ["x", "y"]])
def test_what_two_claim_in_the_same_generation_was_nobodys(topics: list[str]) -> None:
    members = [
        member("a", ["x"], "x-1 x-2 x-3", 5),
        member("b", topics, "x-0 x-2", 5),
        member("c", ["x"], "x-2 x-4 x-5", 5),
    ]

    found = STICKY.assign(members, plain(x=6))

    assert names(found) == {"a": ["x-1", "x-3"], "b": ["x-0", "x-2"], "c": ["x-4", "x-5"]}


def test_a_later_generation_settles_what_two_older_claims_left_open() -> None:
    members = [
        member("a", ["x"], "x-0", 3),
        member("b", ["x"], "x-0", 3),
        member("c", ["x"], "x-0", 4),
    ]

    assert names(STICKY.assign(members, plain(x=3)))["c"] == ["x-0"]


# User data.


def test_a_member_tells_what_it_had_and_since_when() -> None:
    data = STICKY.user_data(tp("x-2", "x-0"), 7)

    assert data == V0 + b"\0\0\0\7"
    assert decode_claim(data) == Claim(tp("x-0", "x-2"), 7)


def test_older_members_do_not_tell_their_generation() -> None:
    assert decode_claim(V0) == Claim(tp("x-0", "x-2"), -1)


def test_a_member_that_was_never_in_the_group_has_nothing_to_tell() -> None:
    assert STICKY.user_data([], -1) is None
    assert STICKY.user_data([], 3) == b"\0\0\0\0\0\0\0\3"


@pytest.mark.parametrize("data", [b"", b"\0", V0[:-1], b"\x7f\xff\xff\xff", b"\xff" * 40])
def test_what_cannot_be_understood_counts_as_nothing(data: bytes) -> None:
    assert decode_claim(data) == Claim()


def test_a_claim_is_read_as_it_was_written() -> None:
    claim = Claim(tp("x-0", "y-1", "y-2"), 2**31 - 1)

    assert decode_claim(encode_claim(claim)) == claim


def test_it_is_named_as_in_java() -> None:
    assert STICKY.name == "sticky"
    assert not STICKY.is_cooperative
