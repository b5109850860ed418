"""Groups to assign to, and what may be asked of every assignment (B58)."""

from __future__ import annotations

import random
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from graphlib import TopologicalSorter

from kafka_aio.consumer.assignors.assignor import Assignment, Assignor, Member, Topics
from kafka_aio.types import TopicPartition

EVERYWHERE: frozenset[str] = frozenset()


def plain(**counts: int) -> Topics:
    """Topics with so many partitions each, without racks."""
    return {topic: [EVERYWHERE] * count for topic, count in counts.items()}


def on(*racks: str) -> list[frozenset[str]]:
    """The racks of the partitions of a topic, each written as its letters."""
    return [frozenset(each) for each in racks]


def tp(*names: str) -> list[TopicPartition]:
    """Partitions, each written as `topic-number`."""
    return [TopicPartition(topic, int(number)) for topic, number in (n.split("-") for n in names)]


def names(assignment: Assignment) -> dict[str, list[str]]:
    return {
        member_id: [str(partition) for partition in partitions]
        for member_id, partitions in assignment.items()
    }


@dataclass
class Group:
    """Members that join again and again, with what they were assigned the last time."""

    assignor: Assignor
    topics: dict[str, list[frozenset[str]]]
    subscribed: dict[str, list[str]]
    racks: dict[str, str] = field(default_factory=dict)
    """Where members are that tell it."""
    places: str = ""
    """The letters of the racks that there are."""
    generation: int = 0
    joined: dict[str, int] = field(default_factory=dict)
    """The generation that a member was last in, if that is not the last of all."""
    owned: Assignment = field(default_factory=dict)

    @classmethod
    def at_random(cls, assignor: Assignor, rng: random.Random, places: str = "") -> Group:
        group = cls(assignor, {}, {}, places=places)
        for number in range(rng.randint(10, 20)):
            partitions = [group.some_racks(rng) for _ in range(rng.randint(1, 10))]
            group.topics[f"topic-{number}"] = partitions
        for number in range(rng.randint(20, 40)):
            group.add(f"member-{number}", rng)
        return group

    def some_racks(self, rng: random.Random) -> frozenset[str]:
        return frozenset(rng.sample(self.places, rng.randint(0, len(self.places))))

    def add(self, member_id: str, rng: random.Random) -> None:
        self.subscribed[member_id] = self.some_topics(rng)
        if self.places and rng.random() < 0.9:
            self.racks[member_id] = rng.choice(self.places)

    def some_topics(self, rng: random.Random) -> list[str]:
        return rng.sample(list(self.topics), rng.randint(1, len(self.topics)))

    def change(self, rng: random.Random) -> None:
        """Some members leave, some come, some subscribe to other topics; a topic grows."""
        for member_id in rng.sample(list(self.subscribed), rng.randint(0, 5)):
            del self.subscribed[member_id]
            self.owned.pop(member_id, None)
        for _ in range(rng.randint(0, 5)):
            self.add(f"member-{rng.getrandbits(32)}", rng)
        for member_id in rng.sample(list(self.subscribed), rng.randint(0, 5)):
            self.subscribed[member_id] = self.some_topics(rng)
        self.topics[rng.choice(list(self.topics))].append(self.some_racks(rng))

    def members(self) -> list[Member]:
        found = []
        for member_id, topics in self.subscribed.items():
            owned = self.owned.get(member_id, [])
            generation = self.generation if member_id in self.owned else -1
            generation = self.joined.get(member_id, generation)
            keeps = self.assignor.is_cooperative
            found.append(
                Member(
                    member_id,
                    topics,
                    owned=owned if keeps else (),
                    generation=generation if keeps else -1,
                    rack=self.racks.get(member_id),
                    user_data=self.assignor.user_data(owned, generation) or b"",
                )
            )
        return found

    def rebalance(self) -> Assignment:
        """Assign once; what each had before is returned."""
        before = self.owned
        self.owned = self.assignor.assign(self.members(), self.topics)
        self.generation += 1
        self.joined.clear()
        return before


def check_validity(group: Group, *, complete: bool = True) -> None:
    """Only what is subscribed and exists, nothing twice, and nothing left over."""
    assert group.owned.keys() == group.subscribed.keys()
    given = [partition for partitions in group.owned.values() for partition in partitions]
    assert len(given) == len(set(given))
    for member_id, partitions in group.owned.items():
        assert {each.topic for each in partitions} <= set(group.subscribed[member_id])
        assert partitions == sorted(partitions)
    wanted = all_partitions(group.topics, group.subscribed.values())
    assert set(given) == wanted if complete else set(given) <= wanted


def all_partitions(topics: Topics, wanted: Iterable[Sequence[str]]) -> set[TopicPartition]:
    return {
        TopicPartition(topic, number)
        for topic in {topic for each in wanted for topic in each}
        for number in range(len(topics[topic]))
    }


def check_balance(owned: Assignment, subscribed: Mapping[str, Sequence[str]]) -> None:
    """Nobody has a partition that another one could have who has at least two fewer."""
    for member_id, partitions in owned.items():
        topics = {each.topic for each in partitions}
        for other, wanted in subscribed.items():
            if len(partitions) > len(owned[other]) + 1:
                assert topics.isdisjoint(wanted), f"{member_id} could give some to {other}"


def moves(before: Assignment, after: Assignment) -> list[tuple[str, str]]:
    """From whom to whom partitions went, of those who are still there."""
    had = {each: member_id for member_id, mine in before.items() for each in mine}
    return [
        (had[each], member_id)
        for member_id, mine in after.items()
        for each in mine
        if had.get(each, member_id) != member_id and had[each] in after
    ]


def check_stickiness(group: Group, before: Assignment) -> None:
    """No circle of moves between members that could all have kept what they had."""
    still = {
        member_id: [each for each in mine if each.topic in group.subscribed.get(member_id, ())]
        for member_id, mine in before.items()
    }
    check_circles(moves(still, group.owned))


def check_circles(moves: Iterable[tuple[str, str]]) -> None:
    graph: dict[str, set[str]] = {}
    for giver, taker in moves:
        graph.setdefault(taker, set()).add(giver)
    TopologicalSorter(graph).prepare()  # raises CycleError
