"""Members with different topics that begin far from even (B58)."""

from __future__ import annotations

import random

import pytest

from kafka_aio.consumer.assignors.balance import share_between_some
from kafka_aio.types import TopicPartition
from tests.unit.consumer.assignors.judged import check_balance, check_circles, moves


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


@pytest.mark.parametrize("seed", range(300))
def test_shares_become_even_from_any_beginning_and_nothing_goes_round_in_a_circle(
    seed: int,
) -> None:
    uneven = Uneven(seed)

    shares = uneven.share()

    everything = sorted(each for some in uneven.partitions.values() for each in some)
    assert sorted(each for mine in shares.values() for each in mine) == everything
    check_balance(shares, wanted_by_each(uneven))
    check_circles(moves(uneven.before, shares))


def wanted_by_each(uneven: Uneven) -> dict[str, list[str]]:
    return {
        member_id: [topic for topic, some in uneven.wanting.items() if member_id in some]
        for member_id in uneven.ids
    }


def test_who_has_most_gives_first() -> None:
    x, y = ([TopicPartition(topic, number) for number in range(6)] for topic in "xy")
    had = {**dict.fromkeys(x[:4], "a"), **dict.fromkeys([*x[4:], *y], "b")}
    wanting = {"x": ["a", "b", "c"], "y": ["b"]}

    shares = share_between_some(["a", "b", "c"], {"x": x, "y": y}, wanting, had)

    # Only when b has no more of x does a give one.
    assert {each: sorted(mine) for each, mine in shares.items()} == {"a": x[:3], "b": y, "c": x[3:]}
