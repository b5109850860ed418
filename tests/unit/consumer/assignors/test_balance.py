"""Members with different topics that begin far from even (B58)."""

from __future__ import annotations

import random
from graphlib import TopologicalSorter

import pytest

from kafka_aio.consumer.assignors.balance import share_between_some
from kafka_aio.types import TopicPartition
from tests.unit.consumer.assignors.judged import check_balance, moves


class Uneven:
    """A few members of which some had much more than others."""

    def __init__(self, seed: int) -> None:
        rng = random.Random(seed)
        self.ids = [f"member-{number}" for number in range(rng.randint(3, 7))]
        greed = [rng.random() ** 3 for _ in self.ids]
        self.wanting: dict[str, list[str]] = {}
        self.partitions: dict[str, list[TopicPartition]] = {}
        self.had: dict[TopicPartition, str] = {}
        for topic in (f"topic-{number}" for number in range(rng.randint(2, 6))):
            some = [each for each in self.ids if rng.random() < 0.5]
            self.wanting[topic] = some or [rng.choice(self.ids)]
            count = rng.randint(1, 6)
            self.partitions[topic] = [TopicPartition(topic, number) for number in range(count)]
            weights = [greed[self.ids.index(each)] for each in self.wanting[topic]]
            for partition in self.partitions[topic]:
                if rng.random() < 0.8:
                    self.had[partition] = rng.choices(self.wanting[topic], weights)[0]

    def share(self) -> dict[str, list[TopicPartition]]:
        return share_between_some(self.ids, self.partitions, self.wanting, self.had)

    @property
    def before(self) -> dict[str, list[TopicPartition]]:
        found: dict[str, list[TopicPartition]] = {member_id: [] for member_id in self.ids}
        for partition, member_id in self.had.items():
            found[member_id].append(partition)
        return found


@pytest.mark.parametrize("seed", range(100))
def test_shares_become_even_from_any_beginning(seed: int) -> None:
    uneven = Uneven(seed)

    shares = uneven.share()

    everything = sorted(each for some in uneven.partitions.values() for each in some)
    assert sorted(each for mine in shares.values() for each in mine) == everything
    check_balance(shares, wanted_by_each(uneven))


@pytest.mark.parametrize("seed", [15154, 24802, 62075])
def test_what_went_round_in_a_circle_is_back_where_it_was(seed: int) -> None:
    uneven = Uneven(seed)  # of the few in which there is a circle on the way

    shares = uneven.share()

    graph: dict[str, set[str]] = {}
    for giver, taker in moves(uneven.before, shares):
        graph.setdefault(taker, set()).add(giver)
    assert list(TopologicalSorter(graph).static_order())  # raises CycleError
    check_balance(shares, wanted_by_each(uneven))


@pytest.mark.parametrize(("seed", "count"), [(3360, 8), (6151, 5), (8326, 10)])
def test_what_moves_on_goes_back_to_the_one_who_had_it_rather(seed: int, count: int) -> None:
    uneven = Uneven(seed)  # of those in which one more would move otherwise

    assert len(moves(uneven.before, uneven.share())) == count


def wanted_by_each(uneven: Uneven) -> dict[str, list[str]]:
    return {
        member_id: [topic for topic, some in uneven.wanting.items() if member_id in some]
        for member_id in uneven.ids
    }
