"""Both sticky assignors in groups that change at random (B58)."""

from __future__ import annotations

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kafka_aio.consumer.assignors.assignor import Assignor
from kafka_aio.consumer.assignors.cooperative_sticky import CooperativeStickyAssignor
from kafka_aio.consumer.assignors.range import RangeAssignor
from kafka_aio.consumer.assignors.round_robin import RoundRobinAssignor
from kafka_aio.consumer.assignors.sticky import StickyAssignor
from tests.unit.consumer.assignors.judged import (
    Group,
    all_partitions,
    check_balance,
    check_stickiness,
    check_validity,
    moves,
)

SEEDS = st.integers(0, 2**32)
CHANGES = 2


@settings(max_examples=100)
@given(seed=SEEDS)
def test_shares_are_valid_even_and_stay_where_they_can(seed: int) -> None:
    rng = random.Random(seed)
    group = Group.at_random(StickyAssignor(), rng)

    for _ in range(1 + CHANGES):
        before = group.rebalance()

        check_validity(group)
        check_balance(group.owned, group.subscribed)
        check_stickiness(group, before)
        assert group.rebalance() == group.owned
        group.change(rng)


@settings(max_examples=100)
@given(seed=SEEDS)
def test_members_of_the_same_topics_keep_as_much_as_even_shares_allow(seed: int) -> None:
    rng = random.Random(seed)
    group = Group.at_random(StickyAssignor(), rng)
    topics = group.some_topics(rng)
    group.subscribed = dict.fromkeys(group.subscribed, topics)
    group.rebalance()
    group.change(rng)
    group.subscribed = dict.fromkeys(group.subscribed, topics)

    before = group.rebalance()

    check_validity(group)
    total = len(all_partitions(group.topics, group.subscribed.values()))
    share, larger = divmod(total, len(group.subscribed))
    sizes = sorted((len(mine) for mine in group.owned.values()), reverse=True)
    assert sizes == [share + 1] * larger + [share] * (len(sizes) - larger)
    had = sorted((len(mine) for mine in before.values()), reverse=True)
    must_move = sum(max(0, size - share - (rank < larger)) for rank, size in enumerate(had))
    assert len(moves(before, group.owned)) == must_move


@pytest.mark.parametrize(
    "assignor", [StickyAssignor(), CooperativeStickyAssignor()], ids=lambda each: each.name
)
@settings(max_examples=100)
@given(seed=SEEDS)
def test_claims_of_an_old_generation_lose(assignor: Assignor, seed: int) -> None:
    rng = random.Random(seed)
    group = Group.at_random(assignor, rng)
    come_to_rest(group)
    present = dict(group.owned)
    for member_id in rng.sample(list(present), rng.randint(1, 10)):
        # It missed some generations, and claims what others have got meanwhile.
        del present[member_id]
        group.owned[member_id] = []
        group.joined[member_id] = rng.randint(-1, group.generation - 1)
    honest = assignor.assign(group.members(), group.topics)
    taken = [each for mine in present.values() for each in mine]
    for member_id in group.joined:
        group.owned[member_id] = rng.sample(taken, rng.randint(0, len(taken)))

    found = assignor.assign(group.members(), group.topics)

    assert found == honest  # all get what they would get without these claims


@settings(max_examples=20)
@given(seed=SEEDS)
def test_the_order_in_which_members_come_does_not_matter(seed: int) -> None:
    rng = random.Random(seed)
    assignors = RangeAssignor(), RoundRobinAssignor(), StickyAssignor(), CooperativeStickyAssignor()
    for assignor in assignors:
        group = Group.at_random(assignor, rng)
        group.rebalance()
        group.change(rng)
        members = group.members()
        shuffled = rng.sample(members, len(members))

        assert assignor.assign(members, group.topics) == assignor.assign(shuffled, group.topics)


@settings(max_examples=100)
@given(seed=SEEDS)
def test_nothing_is_given_away_before_it_is_revoked(seed: int) -> None:
    rng = random.Random(seed)
    group = Group.at_random(CooperativeStickyAssignor(), rng)

    for _ in range(1 + CHANGES):
        come_to_rest(group)

        check_validity(group)
        check_balance(group.owned, group.subscribed)
        group.change(rng)


def come_to_rest(group: Group) -> None:
    """Join again as long as something moves, as the members of a cooperative group do."""
    for _ in range(10):
        before = group.rebalance()
        check_validity(group, complete=not group.assignor.is_cooperative)
        if group.assignor.is_cooperative:
            assert not moves(before, group.owned)
        if group.owned == before:
            return
    raise AssertionError("there is no end of it")


@pytest.mark.parametrize("all_want_the_same", [True, False])
def test_a_large_group_does_not_take_forever(all_want_the_same: bool) -> None:
    rng = random.Random(5)
    topics = {f"topic-{number}": [frozenset("AB")] * 500 for number in range(40)}
    for partitions in topics.values():
        partitions[::2] = [frozenset("C")] * 250
    group = Group(StickyAssignor(), topics, {}, places="ABC")
    wanted = list(topics)

    for _ in range(2):
        for _ in range(100):
            group.add(f"member-{rng.getrandbits(32)}", rng)
        if all_want_the_same:
            group.subscribed = dict.fromkeys(group.subscribed, wanted)
        group.rebalance()

    # 20,000 partitions, and half of them change hands: more than minutes, if it were quadratic.
    check_validity(group)
    check_balance(group.owned, group.subscribed)
