"""Which topics count for a member of a group, and so have to be known. Pure.

Those that it subscribes to, those of the partitions that it owns and, while it leads a classic
group, those of all members. Patterns of the client's need all topics of the cluster; so does, for a
while, an assignment with a topic of which only the id is known.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from kafka_aio.consumer.assignors.assignor import Topics
from kafka_aio.consumer.membership.classic import ClassicMember
from kafka_aio.consumer.membership.consumer import ConsumerMember
from kafka_aio.consumer.membership.member import Membership, Wanted
from kafka_aio.consumer.subscription import Mode, Subscription
from kafka_aio.metadata import Metadata


class Interest:
    """What a member wants of the metadata, and finds there."""

    def __init__(
        self,
        subscription: Subscription,
        metadata: Metadata,
        *,
        exclude_internal: bool = True,
        by_rack: bool = False,
    ) -> None:
        """Begin with nothing.

        Args:
            subscription: What the user wants.
            metadata: The cluster as last seen.
            exclude_internal: No pattern of the client's matches Kafka's own topics.
            by_rack: The member has a rack: the racks of replicas matter to a group that it leads,
                beside the numbers of partitions (KIP-881).
        """
        self._subscription = subscription
        self._metadata = metadata
        self._exclude_internal = exclude_internal
        self._by_rack = by_rack
        self._followed: frozenset[str] = frozenset()
        self._follows_all = False
        self._shared: Mapping[str, int | Sequence[frozenset[str]] | None] = {}
        """What matters of each topic, as it was when we shared them out."""
        self._racks: dict[int, str] = {}
        """Where the nodes with replicas are. One that is down is told without: it has not moved."""

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
        racks = self._racks_by_topic(topics)
        self._shared = racks if self._by_rack else self._counts(topics)
        return {name: each for name, each in racks.items() if each}

    def must_share_out_anew(self, membership: Membership) -> bool:
        """Whether we lead the group, and its topics have other partitions or, where these matter,
        replicas in other racks; says so once."""
        topics = watched(membership)
        if not topics or topics != self._shared.keys():  # others are about to be shared out
            return False
        before = self._shared
        self._shared = self._racks_by_topic(topics) if self._by_rack else self._counts(topics)
        return self._shared != before

    def _counts(self, topics: Iterable[str]) -> dict[str, int | None]:
        return {name: self._metadata.partition_count(name) for name in topics}

    def _racks_by_topic(self, topics: Iterable[str]) -> dict[str, list[frozenset[str]]]:
        """The racks of the replicas of each partition; none where a topic is not known."""
        replicas = {name: self._metadata.replicas(name) for name in sorted(topics)}
        nodes = {node for each in replicas.values() for nodes in each for node in nodes}
        racks = {node: self._rack(node) or self._racks.get(node) for node in nodes}
        self._racks = {node: rack for node, rack in racks.items() if rack}
        return {name: [self._racks_of(nodes) for nodes in each] for name, each in replicas.items()}

    def _racks_of(self, nodes: Iterable[int]) -> frozenset[str]:
        return frozenset(self._racks[node] for node in nodes if node in self._racks)

    def _rack(self, node_id: int) -> str | None:
        node = self._metadata.node(node_id)
        return None if node is None else node.rack


def watched(membership: Membership) -> frozenset[str]:
    """The topics of the group, if we share them out."""
    return membership.watched if isinstance(membership, ClassicMember) else frozenset()


def has_unresolved(membership: Membership) -> bool:
    """Whether there is a topic of which only the id is known."""
    return isinstance(membership, ConsumerMember) and bool(membership.unresolved)
