"""What a consumer owns, and where it is in it. Pure.

A consumer either subscribes (to topics by name, by a pattern of its own, or by one of the broker's)
and its group assigns partitions to it, or it is assigned partitions by hand. Each is one mode, and
`unsubscribe` leads out of it.

The group touches this at few points: `assigned`, `revoking`, `revoked`, `lost` and, when a callback
of the user's has ended, `release`. Whoever asks a broker about a partition keeps its era, and gives
it back with the answer: `find` then knows whether the answer is old.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from enum import Enum
from typing import Final, NamedTuple

from kafka_aio.consumer.position import (
    EARLIEST,
    LATEST,
    NO_EPOCH,
    Moves,
    OwnedPartition,
    Phase,
    Position,
    Reset,
)
from kafka_aio.errors import KafkaError, StateError
from kafka_aio.metadata import Leader
from kafka_aio.metadata.topic import check_name
from kafka_aio.types import OffsetAndMetadata, SubscriptionPattern, TopicPartition, check_number


class Mode(Enum):
    """How a consumer comes to its partitions."""

    NONE = "nothing"
    TOPICS = "topics"
    PATTERN = "a pattern"
    SERVER_PATTERN = "a pattern of the broker's"
    MANUAL = "partitions assigned by hand"


_BY_GROUP: Final = (Mode.TOPICS, Mode.PATTERN, Mode.SERVER_PATTERN)

Wanted = Collection[str] | re.Pattern[str] | SubscriptionPattern
"""What one can subscribe to."""


class Change(NamedTuple):
    """What an assignment changed."""

    added: tuple[TopicPartition, ...] = ()
    removed: tuple[TopicPartition, ...] = ()


class Subscription:
    """The mode of a consumer, and the partitions that it owns."""

    def __init__(self, policy: Reset | None = LATEST) -> None:
        """Begin with nothing.

        Args:
            policy: Where to begin without a committed offset, and where to go on when the position
                is outside the log; None means that the user is told, and has to seek.
        """
        self.policy = policy
        self.mode = Mode.NONE
        self.topics: frozenset[str] = frozenset()
        """The topics subscribed to: those named, or those of the cluster that match the pattern."""
        self.pattern: re.Pattern[str] | None = None
        self.server_pattern: SubscriptionPattern | None = None
        self.epoch = 0
        """Grows whenever partitions come or go."""
        self._owned: dict[TopicPartition, OwnedPartition] = {}
        self._called: set[TopicPartition] = set()  # those with a callback that has not ended
        self._moves = Moves()

    def __repr__(self) -> str:
        phases = [each.phase for each in self._owned.values()]
        fetching = phases.count(Phase.FETCHING)
        return f"<Subscription to {self.mode.value}: {len(phases)} partitions, {fetching} fetching>"

    @property
    def is_by_group(self) -> bool:
        """Whether the group assigns the partitions."""
        return self.mode in _BY_GROUP

    # What is wanted

    def subscribe(self, wanted: Wanted) -> None:
        """Want these topics from now on, in place of those before; an empty list: `unsubscribe`.

        The partitions owned stay until the group takes them. Those of a topic that is not wanted
        any more are held meanwhile.

        Raises:
            StateError: The consumer is in another mode.
            TypeError, ValueError: These are not names of topics.
        """
        if isinstance(wanted, re.Pattern):
            if not isinstance(wanted.pattern, str):
                raise TypeError("a pattern of topic names is made of a str, not of bytes")
            if not wanted.pattern:
                raise ValueError("an empty pattern matches no topic: re.compile('.*') matches all")
            self._enter(Mode.PATTERN)
            self.pattern = wanted
            self.topics = frozenset(filter(self.wants_topic, self.topics))
        elif isinstance(wanted, SubscriptionPattern):
            self._enter(Mode.SERVER_PATTERN)
            self.server_pattern = wanted
        else:
            topics = _topic_names(wanted)
            if not topics:
                self.unsubscribe()
                return
            self._enter(Mode.TOPICS)
            self.topics = topics
        self._hold()

    def match(self, topics: Iterable[str]) -> bool:
        """Take the topics of the cluster that the pattern matches; whether they are other ones.

        The whole name has to match, as in Kafka.

        Raises:
            StateError: The consumer does not subscribe by a pattern of its own.
        """
        if self.mode is not Mode.PATTERN:
            raise StateError(f"the consumer has no pattern: it is subscribed to {self.mode.value}")
        matching = frozenset(filter(self.wants_topic, topics))
        is_other = matching != self.topics
        self.topics = matching
        return is_other

    def wants_topic(self, topic: str) -> bool:
        """Whether partitions of a topic may be assigned by the group."""
        if self.pattern is not None:
            return self.pattern.fullmatch(topic) is not None
        return self.mode is Mode.SERVER_PATTERN or topic in self.topics

    def assign(self, partitions: Iterable[TopicPartition]) -> Change:
        """Own these by hand, in place of those before; an empty list: `unsubscribe`.

        What is owned already stays where it is.

        Raises:
            StateError: The consumer is subscribed.
            TypeError, ValueError: These are not partitions.
        """
        wanted = dict.fromkeys(map(checked_partition, partitions))
        if not wanted:
            return Change(removed=self.unsubscribe())
        self._enter(Mode.MANUAL)
        return self._own(wanted, held=False)

    def unsubscribe(self) -> tuple[TopicPartition, ...]:
        """Want nothing and own nothing; what was owned."""
        self.mode = Mode.NONE
        self.topics = frozenset()
        self.pattern = self.server_pattern = None
        return self.lost()

    def _enter(self, mode: Mode) -> None:
        if self.mode not in (Mode.NONE, mode):
            raise StateError(
                f"the consumer has {self.mode.value} already, and cannot have {mode.value} too:"
                " call unsubscribe() first, or use another consumer"
            )
        self.mode = mode

    # What the group gives and takes

    def assigned(self, partitions: Iterable[TopicPartition]) -> Change:
        """The group's assignment, whole. New ones are held until `release`: the callback comes.

        Raises:
            StateError: The consumer is not subscribed.
        """
        if not self.is_by_group:
            raise StateError(f"the group assigns partitions to a consumer of {self.mode.value}")
        return self._own(dict.fromkeys(partitions), held=True)

    def release(self, partitions: Iterable[TopicPartition]) -> None:
        """The callback about them has ended, well or not: records may be handed over."""
        self._called.difference_update(partitions)
        self._hold()

    def revoking(self, partitions: Iterable[TopicPartition]) -> None:
        """They are about to be revoked: hold them, so that what is committed stays true."""
        self._called.update(each.partition for each in self._present(partitions))
        self._hold()

    def revoked(self, partitions: Iterable[TopicPartition]) -> None:
        """They are owned no more: nothing is kept of them."""
        gone = [self._owned.pop(each) for each in set(partitions) if each in self._owned]
        for each in gone:
            self._moves.discard(each)
            self._called.discard(each.partition)
        self.epoch += bool(gone)

    def lost(self) -> tuple[TopicPartition, ...]:
        """All of them may be another's by now; which they were."""
        gone = tuple(self._owned)
        self.revoked(gone)
        return gone

    def _own(self, wanted: Collection[TopicPartition], *, held: bool) -> Change:
        removed = tuple(each for each in self._owned if each not in wanted)
        added = tuple(each for each in wanted if each not in self._owned)
        self.revoked(removed)
        for each in added:
            self._owned[each] = OwnedPartition(each, self._moves)
        self._called.update(added if held else ())
        self._hold()
        self.epoch += bool(added)
        return Change(added, removed)

    def _hold(self) -> None:
        """Hold what waits for a callback, and what the group has given and nobody wants."""
        for name, each in self._owned.items():
            is_wanted = not self.is_by_group or self.wants_topic(name.topic)
            each.is_held = name in self._called or not is_wanted

    # Where we are

    def __contains__(self, partition: object) -> bool:
        return partition in self._owned

    def __iter__(self) -> Iterator[OwnedPartition]:
        return iter(self._owned.values())

    def __len__(self) -> int:
        return len(self._owned)

    @property
    def partitions(self) -> Mapping[TopicPartition, OwnedPartition]:
        """Those that are owned, by their names; to be looked at only."""
        return self._owned

    @property
    def assignment(self) -> frozenset[TopicPartition]:
        return frozenset(self._owned)

    def __getitem__(self, partition: TopicPartition) -> OwnedPartition:
        """One that is owned.

        Raises:
            StateError: It is not.
            TypeError, ValueError: This is no partition.
        """
        try:
            found = self._owned.get(partition)
        except TypeError:  # a list, for one
            found = None
        if found is None:
            checked_partition(partition)
            whose = "the group has not given it" if self.is_by_group else "assign() it first"
            raise StateError(f"{partition} is not assigned to this consumer: {whose}")
        return found

    def find(self, partition: TopicPartition, era: int) -> OwnedPartition | None:
        """The partition, if it is still in that era; None if what is known of it there is old."""
        found = self._owned.get(partition)
        return found if found is not None and found.era == era else None

    def failed(
        self,
        errors: Mapping[TopicPartition, KafkaError],
        eras: Mapping[TopicPartition, int],
        *,
        now: float,
    ) -> None:
        """What brokers were asked about these, in these eras, has come to nothing."""
        for name, error in errors.items():
            if (found := self.find(name, eras[name])) is not None:
                found.failed(error, now=now)

    def fetchable(self) -> list[OwnedPartition]:
        """Those to fetch: with a position that is good, a leader, and neither paused nor held."""
        return [each for each in self._owned.values() if each.is_fetchable]

    def leaderless(self) -> list[TopicPartition]:
        """Those that wait for a leader: a reason to refresh the metadata."""
        return [name for name, each in self._owned.items() if each.leader is None]

    def initialising(self, of: Iterable[TopicPartition] | None = None) -> list[OwnedPartition]:
        """Those that need their committed offset, or a reset.

        Held ones are left out, because the callback may seek; unless they are asked `of`, as
        `position` does within the callback.
        """
        if of is None:
            found = [each for each in self._owned.values() if not each.is_held]
        else:
            found = self._present(of)
        return [each for each in found if each.phase is Phase.INITIALISING]

    def paused(self) -> frozenset[TopicPartition]:
        return frozenset(name for name, each in self._owned.items() if each.is_paused)

    def pause(self, partitions: Iterable[TopicPartition]) -> None:
        """Hand over no records of them; those fetched are kept.

        Raises:
            StateError: One is not owned; none is paused.
        """
        for each in [self[name] for name in partitions]:
            each.is_paused = True

    def resume(self, partitions: Iterable[TopicPartition]) -> None:
        """Hand over records of them again.

        Raises:
            StateError: One is not owned; none is resumed.
        """
        for each in [self[name] for name in partitions]:
            each.is_paused = False

    def seek(self, partition: TopicPartition, to: int | OffsetAndMetadata) -> None:
        """Go to an offset; with a leader epoch, the leader is asked about it first.

        Raises:
            StateError: The partition is not owned.
            TypeError, ValueError: The offset is none.
        """
        if isinstance(to, OffsetAndMetadata):
            epoch = NO_EPOCH if to.leader_epoch is None else to.leader_epoch
            position = Position(to.offset, epoch)
        else:
            position = Position(to)
        check_number(f"{partition}: an offset to seek", position.offset, bits=64)
        self[partition].seek(position)

    def seek_to_beginning(self, partitions: Iterable[TopicPartition] | None = None) -> None:
        """Go to the first offset of them, or of all; which it is, is asked for later.

        Raises:
            StateError: One is not owned; none is changed.
        """
        self._reset(partitions, EARLIEST)

    def seek_to_end(self, partitions: Iterable[TopicPartition] | None = None) -> None:
        """Go to the end of them, or of all; which it is, is asked for later.

        Raises:
            StateError: One is not owned; none is changed.
        """
        self._reset(partitions, LATEST)

    def _reset(self, partitions: Iterable[TopicPartition] | None, to: Reset) -> None:
        names = list(self._owned if partitions is None else partitions)
        for each in [self[name] for name in names]:
            each.reset(to)

    def advance(self, partition: TopicPartition, era: int, position: Position) -> bool:
        """All before this was handed over, or left out; whether that was still of interest.

        Raises:
            StateError: It would go back.
        """
        found = self.find(partition, era)
        if found is None:
            return False
        found.advance(position)
        return True

    def ask(self) -> None:
        """Records are asked for: what was handed over before is dealt with, and committable."""
        for each in self._moves.take():
            each.ask()

    def dealt_with(self, offsets: Mapping[TopicPartition, OffsetAndMetadata]) -> None:
        """The user commits these: so all before them is dealt with, as far as it was read."""
        for name, each in offsets.items():
            owned = self._owned.get(name)
            if owned is None or owned.position is None or each.offset > owned.position.offset:
                continue
            if owned.committable is None or owned.committable.offset < each.offset:
                epoch = NO_EPOCH if each.leader_epoch is None else each.leader_epoch
                owned.committable = Position(each.offset, epoch)

    def positions(self) -> dict[TopicPartition, OffsetAndMetadata]:
        """What `commit()` commits: all that was handed over."""
        return {
            name: each.position.to_commit()
            for name, each in self._owned.items()
            if each.position is not None
        }

    def committable(self) -> dict[TopicPartition, OffsetAndMetadata]:
        """What auto-commit commits: what was handed over before records were last asked for."""
        return {
            name: each.committable.to_commit()
            for name, each in self._owned.items()
            if each.committable is not None
        }

    def lead(self, leader_of: Callable[[TopicPartition], Leader | None]) -> None:
        """The metadata has changed: take the leaders from it (`Metadata.leader`)."""
        for name, each in self._owned.items():
            each.lead(leader_of(name))

    def _present(self, partitions: Iterable[TopicPartition]) -> list[OwnedPartition]:
        return [self._owned[each] for each in partitions if each in self._owned]


def _topic_names(topics: Collection[str]) -> frozenset[str]:
    if isinstance(topics, str):
        raise TypeError(f"topics are given as a list: [{topics!r}]")
    if isinstance(topics, Mapping) or not isinstance(topics, Iterable):
        kind = type(topics).__qualname__
        raise TypeError(f"topics are given as a list of str, or as a pattern, not as <{kind}>")
    names = list(topics)
    for name in names:
        check_name(name)
    return frozenset(names)


def checked_partition(partition: object) -> TopicPartition:
    """The partition that is meant.

    Raises:
        TypeError, ValueError: It is none.
    """
    if not isinstance(partition, tuple) or len(partition) != 2:
        raise TypeError(f"a partition is a TopicPartition(topic, number), not {partition!r:.60}")
    name, number = partition
    check_name(name)
    is_number = isinstance(number, int) and not isinstance(number, bool)
    if not is_number or not 0 <= number < 2**31:
        raise ValueError(
            f"{name}: the number of a partition is 0 or more and below 2**31, not {number!r:.60}"
        )
    return TopicPartition(name, number)
