"""Which topics count for a member of a group, and so have to be known. Pure.

Those that it subscribes to, those of the partitions that it owns and, while it leads a classic
group, those of all members. Patterns of the client's need all topics of the cluster; so does, for a
while, an assignment with a topic of which only the id is known.
"""

from __future__ import annotations

from collections.abc import Iterable

from kafka_aio.consumer.assignors.assignor import Topics
from kafka_aio.consumer.membership.classic import ClassicMember
from kafka_aio.consumer.membership.consumer import ConsumerMember
from kafka_aio.consumer.membership.member import Membership, Wanted
from kafka_aio.consumer.subscription import Mode, Subscription
from kafka_aio.metadata import Metadata
from kafka_aio.types import PartitionInfo


class Interest:
    """What a member wants of the metadata, and finds there."""

    def __init__(
        self, subscription: Subscription, metadata: Metadata, *, exclude_internal: bool = True
    ) -> None:
        self._subscription = subscription
        self._metadata = metadata
        self._exclude_internal = exclude_internal
        self._followed: frozenset[str] = frozenset()
        self._follows_all = False
        self._shared: dict[str, int | None] = {}
        """How many partitions each topic had when we shared them out."""

    def __repr__(self) -> str:
        followed = "all" if self._follows_all else len(self._followed)
        return f"<Interest: {followed} topics followed, {len(self._shared)} shared out>"

    def wanted(self) -> Wanted:
        """What to want of the group."""
        if self._subscription.mode is Mode.SERVER_PATTERN:
            pattern = self._subscription.server_pattern
            return Wanted(regex=None if pattern is None else pattern.pattern)
        if self._subscription.mode is Mode.PATTERN and self._follows_all:
            self._subscription.match(self._visible())
        return Wanted(self._subscription.topics)

    def has_changed(self) -> bool:
        """Whether other topics match the pattern now; False where there is none."""
        if self._subscription.mode is not Mode.PATTERN or not self._follows_all:
            return False
        return self._subscription.match(self._visible())

    def _visible(self) -> list[str]:
        """The topics that a pattern may match."""
        is_internal = self._metadata.is_internal
        hides = self._exclude_internal
        return [name for name in self._metadata.topics if not (hides and is_internal(name))]

    def follow(self, membership: Membership, *, now: float) -> bool:
        """Want the topics that count of the metadata; whether something new has to be fetched."""
        owned = {each.topic for each in self._subscription.assignment}
        is_by_group = self._subscription.is_by_group
        topics = self._subscription.topics | owned | watched(membership) if is_by_group else owned
        needs_all = self._subscription.mode is Mode.PATTERN or has_unresolved(membership)
        self._metadata.may_create = self._subscription.mode is not Mode.SERVER_PATTERN
        has_new = needs_all and not self._follows_all
        if needs_all != self._follows_all:
            self._follows_all = needs_all
            self._metadata.want_all(needs_all)
        if topics != self._followed:
            self._metadata.unwant(self._followed - topics)
            has_new = self._metadata.want(topics - self._followed, now=now) or has_new
            self._followed = frozenset(topics)
        return has_new

    # What the leader of a classic group does.

    def unknown(self, topics: Iterable[str]) -> list[str]:
        """Those that the metadata does not have."""
        return [name for name in sorted(topics) if self._metadata.partition_count(name) is None]

    def share_out(self, topics: Iterable[str]) -> Topics:
        """What an assignor is given of these topics; what it is, is remembered."""
        self._shared = self._counts(topics)
        known = ((name, self._metadata.partitions(name)) for name in sorted(topics))
        return {name: [_racks(each) for each in infos] for name, infos in known if infos}

    def must_share_out_anew(self, membership: Membership) -> bool:
        """Whether we lead the group, and its topics have other partitions; says so once."""
        topics = watched(membership)
        if not topics or topics != self._shared.keys():  # others are about to be shared out
            return False
        counts = self._counts(topics)
        is_other = counts != self._shared
        self._shared = counts
        return is_other

    def _counts(self, topics: Iterable[str]) -> dict[str, int | None]:
        return {name: self._metadata.partition_count(name) for name in topics}


def watched(membership: Membership) -> frozenset[str]:
    """The topics of the group, if we share them out."""
    return membership.watched if isinstance(membership, ClassicMember) else frozenset()


def has_unresolved(membership: Membership) -> bool:
    """Whether there is a topic of which only the id is known."""
    return isinstance(membership, ConsumerMember) and bool(membership.unresolved)


def _racks(partition: PartitionInfo) -> frozenset[str]:
    return frozenset(node.rack for node in partition.replicas if node.rack)
