"""Partitions brought to members in the racks of their replicas, while shares stay (KIP-881). Pure.

It begins with even shares and keeps them even: somebody gives a partition to a member that is near
to it, that member gives one of its own to the next, and so on round a circle until the first one
gets something too. Each exchange brings at least one partition more to a near member, and takes
none from one. First those are looked for in which nobody gives away what it had before. But where
they do not help, nearness is worth more than to keep what one had, as it is in Java.

Where all members want the same topics, there are no even shares with more partitions near to their
members than those found: an exchange is an augmenting path of a matching.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from kafka_aio.consumer.assignors.assignor import Member, Topics
from kafka_aio.types import TopicPartition

Rack = str | None
"""None is where members are that told no rack: they are near to everything."""
Shares = dict[str, list[TopicPartition]]
Held = dict[str, dict[TopicPartition, None]]
"""Partitions by topic, in the order in which they came."""

NOTHING = ""
"""The topic of what a member has that has one partition less than others: it can be exchanged."""


class Racks:
    """Where the members and the replicas are."""

    def __init__(self, members: Sequence[Member], topics: Topics) -> None:
        """`topics` are those that somebody wants."""
        self._topics = topics
        self._rack: dict[str, Rack] = {member.id: member.rack or None for member in members}
        self.members: dict[Rack, list[str]] = {}
        for member_id, rack in self._rack.items():
            self.members.setdefault(rack, []).append(member_id)

    @property
    def matter(self) -> bool:
        """Whether some partition is nearer to one member than to another."""
        placed = {racks for partitions in self._topics.values() for racks in partitions}
        told = {rack for rack in self.members if rack is not None}
        return any(not told.isdisjoint(racks) for racks in placed) and any(
            not told <= racks for racks in placed
        )

    def of(self, member_id: str) -> Rack:
        return self._rack[member_id]

    def near(self, partition: TopicPartition) -> tuple[Rack, ...]:
        """The racks whose members are near to it, in an order that is always the same."""
        if partition.topic == NOTHING:
            return tuple(self.members)
        racks = self._topics[partition.topic][partition.partition]
        return tuple(rack for rack in self.members if rack is None or rack in racks)


def bring_near_to_all(shares: Shares, racks: Racks, had: Mapping[TopicPartition, str]) -> Shares:
    """Exchange partitions between members that all want the same topics.

    Args:
        shares: Who has what; nobody has two more than another.
        racks: Where members and replicas are.
        had: Who had a partition before.
    """
    most = max(len(mine) for mine in shares.values())
    filled = {
        each: mine if len(mine) == most else [*mine, TopicPartition(NOTHING, number)]
        for number, (each, mine) in enumerate(shares.items())
    }
    everything = frozenset(each.topic for mine in filled.values() for each in mine)
    exchange = _Exchange(filled, racks, dict.fromkeys(shares, everything), had)
    exchange.run()
    return exchange.shares()


def bring_near_to_some(
    shares: Shares,
    racks: Racks,
    had: Mapping[TopicPartition, str],
    wanting: Mapping[str, Sequence[str]],
) -> Shares:
    """Exchange partitions between members that want different topics.

    Args:
        shares: Who has what; nobody has what another could have who has at least two fewer.
        racks: Where members and replicas are.
        had: Who had a partition before.
        wanting: Who wants each topic.
    """
    count = {member_id: len(mine) for member_id, mine in shares.items()}
    may_have: dict[str, set[str]] = {member_id: set() for member_id in shares}
    for topic, ids in wanting.items():
        least = min(count[each] for each in ids)
        for member_id in ids:
            if count[member_id] <= least + 1:
                may_have[member_id].add(topic)
    exchange = _Exchange(
        shares, racks, {each: frozenset(some) for each, some in may_have.items()}, had
    )
    exchange.run()
    return exchange.shares()


@dataclass(slots=True)
class _Stock:
    """A part of what a member has."""

    near: dict[Rack, Held] = field(default_factory=dict)
    """What is near to it: by each of the racks where others would be near too."""
    far: Held = field(default_factory=dict)


class _Exchange:
    """Who has what, while it is exchanged."""

    def __init__(
        self,
        shares: Shares,
        racks: Racks,
        may_have: Mapping[str, frozenset[str]],
        had: Mapping[TopicPartition, str],
    ) -> None:
        self._racks = racks
        self._may_have = may_have
        self._had = had
        self._takers = {
            topic: frozenset(each for each, topics in may_have.items() if topic in topics)
            for topic in frozenset[str]().union(*may_have.values())
        }
        self._have_nothing: set[str] = set()
        """Who has one partition less: it cannot have two less."""
        self._holder: dict[TopicPartition, str] = {}
        self._near: dict[TopicPartition, tuple[Rack, ...]] = {}
        self._stocks = {member_id: (_Stock(), _Stock()) for member_id in shares}
        """Of each member what it did not have before, and what it had."""
        for member_id, partitions in shares.items():
            for partition in partitions:
                self._near[partition] = racks.near(partition)
                self._put(partition, member_id)

    def shares(self) -> Shares:
        found: Shares = {member_id: [] for member_id in self._stocks}
        for partition, member_id in self._holder.items():
            if partition.topic != NOTHING:
                found[member_id].append(partition)
        return found

    def _places(self, partition: TopicPartition, member_id: str) -> Iterator[Held]:
        """Where a partition is to be found, if this member has it."""
        stock = self._stocks[member_id][self._had.get(partition) == member_id]
        near = self._near[partition]
        if self._racks.of(member_id) not in near:
            yield stock.far
        else:
            for rack in near:
                yield stock.near.setdefault(rack, {})

    def _put(self, partition: TopicPartition, member_id: str) -> None:
        self._holder[partition] = member_id
        if partition.topic == NOTHING:
            self._have_nothing.add(member_id)
        for held in self._places(partition, member_id):
            held.setdefault(partition.topic, {})[partition] = None

    def _take(self, partition: TopicPartition) -> None:
        holder = self._holder[partition]
        if partition.topic == NOTHING:
            self._have_nothing.discard(holder)
        for held in self._places(partition, holder):
            del held[partition.topic][partition]
            if not held[partition.topic]:
                del held[partition.topic]

    def run(self) -> None:
        for only_strange in (True, False):
            while self._bring_some_near(only_strange=only_strange):
                pass

    def _bring_some_near(self, *, only_strange: bool) -> bool:
        """Try it with each partition that is not near to the one who has it."""
        found = False
        hopeless: set[tuple[object, ...]] = set()
        for partition in self._far():
            holder = self._holder[partition]
            near = self._near[partition]
            if self._racks.of(holder) in near:
                continue  # others were exchanged for it meanwhile
            # All that the search depends on: where many are alike, one search is enough.
            alike = (
                *(self._racks.of(holder), self._may_have[holder], holder in self._have_nothing),
                *(self._takers[partition.topic], near),
            )
            if alike in hopeless:
                continue
            circle = self._circle(partition, only_strange=only_strange)
            if not circle:
                hopeless.add(alike)
            for each, taker in circle:
                self._take(each)
                self._put(each, taker)
                found = True
        return found

    def _far(self) -> list[TopicPartition]:
        return [
            partition
            for is_kept in (False, True)
            for stocks in self._stocks.values()
            for some in stocks[is_kept].far.values()
            for partition in some
        ]

    def _circle(
        self, partition: TopicPartition, *, only_strange: bool
    ) -> list[tuple[TopicPartition, str]]:
        """Who gets what in an exchange that begins with this partition; nothing if none helps."""
        first = self._holder[partition]
        gets: dict[str, TopicPartition] = {}
        for giver in self._reached(partition, gets, only_strange=only_strange):
            last = self._last(self._offered(giver, only_strange=only_strange), first)
            if last is not None:
                circle = [(last, first)]
                while giver != first:
                    circle.append((gets[giver], giver))
                    giver = self._holder[gets[giver]]
                return circle
        return []

    def _reached(
        self, partition: TopicPartition, gets: dict[str, TopicPartition], *, only_strange: bool
    ) -> Iterator[str]:
        """Who can get something if others give, those first to whom it takes the fewest gifts."""
        waiting = {rack: dict.fromkeys(ids) for rack, ids in self._racks.members.items()}
        holder = self._holder[partition]
        del waiting[self._racks.of(holder)][holder]
        only_this: Held = {partition.topic: {partition: None}}
        offers = deque((rack, only_this) for rack in self._near[partition])
        while offers:
            rack, held = offers.popleft()
            for taker in list(waiting[rack]):
                gift = self._gift(held, taker)
                if gift is not None:
                    del waiting[rack][taker]
                    gets[taker] = gift
                    yield taker
                    for stock in self._offered(taker, only_strange=only_strange):
                        offers.extend(stock.near.items())

    def _offered(self, member_id: str, *, only_strange: bool) -> Sequence[_Stock]:
        return self._stocks[member_id][: 1 if only_strange else 2]

    def _last(self, stocks: Sequence[_Stock], first: str) -> TopicPartition | None:
        """What the last giver has for the first: it is near to that one, or not to the giver."""
        rack = self._racks.of(first)
        for stock in stocks:
            for held in (stock.far, stock.near.get(rack, {})):
                gift = self._gift(held, first)
                if gift is not None:
                    return gift
        return None

    def _gift(self, held: Held, taker: str) -> TopicPartition | None:
        """What this member may have of these."""
        may_have = self._may_have[taker]
        for topic in held:
            if topic in may_have and not (topic == NOTHING and taker in self._have_nothing):
                return next(iter(held[topic]))
        return None
