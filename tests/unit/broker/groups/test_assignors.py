from __future__ import annotations

import random
from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_aio.broker.groups.assignors import (
    ASSIGNORS,
    Assignor,
    Candidate,
    Slot,
    assign_ranges,
    uniform,
)
from kafka_aio.protocol.schema import Uuid


def topic(number: int) -> Uuid:
    return Uuid(number.to_bytes(16, "big"))


A, B, C = topic(1), topic(2), topic(3)


def slots(topic_id: Uuid, *indexes: int) -> set[Slot]:
    return {(topic_id, index) for index in indexes}


def member(
    name: str, *topics: Uuid, has: set[Slot] | None = None, instance: str | None = None
) -> Candidate:
    return Candidate(
        id=name, instance_id=instance, topics=frozenset(topics), slots=frozenset(has or ())
    )


# Uniform, all members alike


def test_uniform_gives_a_lone_member_everything() -> None:
    assert uniform([member("m", A, B)], {A: 2, B: 1}) == {"m": slots(A, 0, 1) | slots(B, 0)}


def test_uniform_counts_partitions_over_all_topics() -> None:
    assigned = uniform([member("m", A, B, C), member("n", A, B, C)], {A: 1, B: 1, C: 2})

    assert sorted(map(len, assigned.values())) == [2, 2]


def test_a_new_member_gets_the_last_partitions_of_those_who_have_too_many() -> None:
    assigned = uniform([member("m", A, has=slots(A, 0, 1, 2, 3)), member("n", A)], {A: 4})

    assert assigned == {"m": slots(A, 0, 1), "n": slots(A, 2, 3)}


def test_who_has_one_more_keeps_it_even_if_others_come_first() -> None:
    assigned = uniform(
        [member("a", A, has=slots(A, 0)), member("b", A, has=slots(A, 1, 2)), member("c", A)],
        {A: 4},
    )

    assert assigned == {"a": slots(A, 0), "b": slots(A, 1, 2), "c": slots(A, 3)}


def test_what_a_member_left_behind_goes_to_those_who_stay() -> None:
    assigned = uniform([member("m", A, has=slots(A, 0)), member("n", A, has=slots(A, 2))], {A: 4})

    assert assigned == {"m": slots(A, 0, 1), "n": slots(A, 2, 3)}


def test_more_members_than_partitions_leaves_some_without() -> None:
    assigned = uniform([member(name, A) for name in "mno"], {A: 2})

    assert sorted(map(len, assigned.values())) == [0, 1, 1]


def test_members_without_topics_get_nothing() -> None:
    assert uniform([member("m", has=slots(A, 0))], {}) == {"m": set()}


# Uniform, members that want different topics


def test_uniform_gives_a_topic_to_its_subscribers_only() -> None:
    assigned = uniform([member("m", A), member("n", A, B)], {A: 4, B: 1})

    assert {slot for slot in assigned["m"] if slot[0] == B} == set()
    assert sorted(map(len, assigned.values())) == [2, 3]


def test_what_is_not_wanted_any_more_goes_to_somebody_else() -> None:
    assigned = uniform([member("m", B, has=slots(A, 0, 1)), member("n", A)], {A: 2, B: 2})

    assert assigned == {"m": slots(B, 0, 1), "n": slots(A, 0, 1)}


def test_uniform_moves_from_the_rich_to_the_poor_what_both_want() -> None:
    assigned = uniform(
        [member("m", A, B, has=slots(A, 0, 1, 2, 3) | slots(B, 0, 1)), member("n", A)],
        {A: 4, B: 2},
    )

    assert assigned == {"m": slots(A, 0) | slots(B, 0, 1), "n": slots(A, 1, 2, 3)}


def test_who_is_rich_in_what_nobody_else_wants_stays_rich() -> None:
    assigned = uniform([member("m", A), member("n", A, B)], {A: 1, B: 5})

    assert assigned == {"m": slots(A, 0), "n": slots(B, 0, 1, 2, 3, 4)}


def test_topics_with_many_partitions_for_few_subscribers_are_given_out_first() -> None:
    assigned = uniform([member("m", A, B), member("n", B)], {A: 1, B: 3})

    assert assigned == {"m": slots(A, 0) | slots(B, 0), "n": slots(B, 1, 2)}


def test_what_one_topic_evens_out_may_be_evened_out_further_by_another() -> None:
    assigned = uniform(
        [
            member("m", A, has=slots(B, 2)),
            member("n", B, has=slots(B, 0, 1)),
            member("o", A, B, has=slots(A, 0, 1)),
        ],
        {A: 2, B: 3},
    )

    assert assigned == {"m": slots(A, 1), "n": slots(B, 0, 1), "o": slots(A, 0) | slots(B, 2)}


def test_a_partition_that_does_not_exist_any_more_is_nobodys() -> None:
    members = [member("m", A, has=slots(A, 0, 7)), member("n", A, B)]

    assigned = uniform(members, {A: 1, B: 1})

    assert assigned == {"m": slots(A, 0), "n": slots(B, 0)}


# Ranges


def test_ranges_are_the_same_in_topics_of_one_size() -> None:
    assigned = assign_ranges([member("m", A, B), member("n", A, B)], {A: 3, B: 3})

    assert assigned == {
        "m": slots(A, 0, 1) | slots(B, 0, 1),
        "n": slots(A, 2) | slots(B, 2),
    }


def test_ranges_of_a_topic_are_among_its_subscribers() -> None:
    assigned = assign_ranges([member("m", A), member("n", A, B), member("o", B)], {A: 2, B: 3})

    assert assigned == {
        "m": slots(A, 0),
        "n": slots(A, 1) | slots(B, 0, 1),
        "o": slots(B, 2),
    }


def test_static_members_come_first_and_keep_their_place_under_another_id() -> None:
    counts = {A: 3}
    before = assign_ranges(
        [member("a", A), member("x", A, instance="1"), member("y", A, instance="2")], counts
    )
    after = assign_ranges(
        [member("a", A), member("z", A, instance="1"), member("b", A, instance="2")], counts
    )

    assert before == {"x": slots(A, 0), "y": slots(A, 1), "a": slots(A, 2)}
    assert after == {"z": slots(A, 0), "b": slots(A, 1), "a": slots(A, 2)}


def test_with_few_partitions_the_last_members_get_no_range() -> None:
    assert assign_ranges([member("m", A), member("n", A)], {A: 1}) == {
        "m": slots(A, 0),
        "n": set(),
    }


# All of them, on anything

counts_of_topics = st.dictionaries(st.integers(0, 5).map(topic), st.integers(1, 8), max_size=5)


@st.composite
def groups(draw: st.DrawFn, *, are_alike: bool = False) -> tuple[list[Candidate], dict[Uuid, int]]:
    """Members and topics. What members had so far is nobody else's, and may be of the past."""
    counts = draw(counts_of_topics)
    names = draw(st.lists(st.text("abc", min_size=1, max_size=4), unique=True, max_size=7))
    wants = st.sets(st.sampled_from(sorted(counts))) if counts else st.just(set[Uuid]())
    all_want = draw(wants)
    rng = random.Random(draw(st.integers(0, 2**16)))  # far quicker than a draw for each partition
    had: dict[str, set[Slot]] = {name: set() for name in ("nobody", *names)}
    for each in (*counts, topic(9)):
        for index in range(9):
            had[rng.choice(list(had))].add((each, index))
    members = [
        member(
            name,
            *(all_want if are_alike else draw(wants)),
            has=had[name],
            instance=rng.choice([None, f"i-{name}"]),
        )
        for name in names
    ]
    return members, counts


def of_topics(slots: set[Slot], topics: frozenset[Uuid]) -> int:
    return sum(slot[0] in topics for slot in slots)


@pytest.mark.parametrize("assignor", ASSIGNORS.values())
@given(group=groups())
def test_each_partition_that_somebody_wants_goes_to_one_who_wants_it(
    assignor: Assignor, group: tuple[list[Candidate], dict[Uuid, int]]
) -> None:
    members, counts = group

    assigned = assignor(members, counts)

    given_out = [slot for each in assigned.values() for slot in each]
    wanted = {each for one in members for each in one.topics}
    assert assigned.keys() == {one.id for one in members}
    assert all(slot[0] in one.topics for one in members for slot in assigned[one.id])
    assert sorted(given_out) == sorted(
        (each, index) for each in wanted for index in range(counts[each])
    )


@pytest.mark.parametrize("assignor", ASSIGNORS.values())
@given(group=groups(), seed=st.integers(0, 9))
def test_the_order_of_members_and_topics_means_nothing(
    assignor: Assignor, group: tuple[list[Candidate], dict[Uuid, int]], seed: int
) -> None:
    members, counts = group
    shuffled = random.Random(seed).sample(members, len(members))
    turned: Mapping[Uuid, int] = dict(reversed(counts.items()))

    assert assignor(shuffled, turned) == assignor(members, counts)


@given(group=groups(are_alike=True))
def test_uniform_among_equals_differs_by_one_and_moves_as_few_as_possible(
    group: tuple[list[Candidate], dict[Uuid, int]],
) -> None:
    members, counts = group

    assigned = uniform(members, counts)

    sizes = [len(each) for each in assigned.values()]
    assert not sizes or max(sizes) - min(sizes) <= 1
    if members:
        exist = {(each, at) for each in members[0].topics for at in range(counts[each])}
        least, extras = divmod(len(exist), len(members))
        had = [len(one.slots & exist) for one in members]
        most_kept = sum(min(each, least) for each in had)
        most_kept += min(extras, sum(each > least for each in had))
        assert sum(len(one.slots & assigned[one.id]) for one in members) == most_kept


@given(group=groups())
def test_no_move_of_one_partition_would_make_uniform_more_even(
    group: tuple[list[Candidate], dict[Uuid, int]],
) -> None:
    members, counts = group

    assigned = uniform(members, counts)

    for rich in members:
        for poor in members:
            could_move = of_topics(assigned[rich.id], poor.topics)
            difference = len(assigned[rich.id]) - len(assigned[poor.id])
            assert not could_move or difference <= 1


@given(group=groups())
def test_an_assignment_stays_when_nothing_changes(
    group: tuple[list[Candidate], dict[Uuid, int]],
) -> None:
    members, counts = group
    assigned = uniform(members, counts)
    again = [
        Candidate(id=one.id, topics=one.topics, slots=frozenset(assigned[one.id]))
        for one in members
    ]

    assert uniform(again, counts) == assigned
