"""Which topics a member of a group follows, and what it finds of them."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple

import pytest

from kafka_aio.backoff import Backoff
from kafka_aio.consumer.assignors.assignor import Member
from kafka_aio.consumer.assignors.range import RangeAssignor
from kafka_aio.consumer.interest import Interest
from kafka_aio.consumer.membership.alone import Alone
from kafka_aio.consumer.membership.classic import ClassicMember
from kafka_aio.consumer.membership.leading import Led
from kafka_aio.consumer.membership.member import Wanted
from kafka_aio.consumer.subscription import Subscription
from kafka_aio.metadata import Metadata
from kafka_aio.protocol.messages.metadata import (
    MetadataResponse,
    MetadataResponseBroker,
    MetadataResponsePartition,
    MetadataResponseTopic,
)
from kafka_aio.types import SubscriptionPattern, TopicPartition

ALONE = Alone(lambda _: None)


def metadata_of(**topics: int) -> Metadata:
    """A cluster with these topics; those that begin with "__" are Kafka's own."""
    metadata = Metadata(max_age=300.0, backoff=Backoff(0.1, 1.0))
    learn(metadata, **topics)
    return metadata


class Placed(NamedTuple):
    """Where things are."""

    racks: Mapping[int, str] = MappingProxyType({1: "r1", 2: "r2"})
    """Those of the nodes that are up."""
    replicas: Sequence[int] = (1, 2, 9)
    """Those of each partition; node 9 was never up."""


PLACED = Placed()


def learn(metadata: Metadata, placed: Placed = PLACED, /, **topics: int) -> None:
    metadata.update(
        MetadataResponse(
            brokers=[
                MetadataResponseBroker(node_id=node, host="h", port=9092, rack=rack)
                for node, rack in placed.racks.items()
            ],
            cluster_id="c",
            controller_id=1,
            topics=[
                MetadataResponseTopic(
                    error_code=0,
                    name=name,
                    is_internal=name.startswith("__"),
                    partitions=[
                        MetadataResponsePartition(
                            error_code=0,
                            partition_index=number,
                            leader_id=1,
                            leader_epoch=1,
                            replica_nodes=list(placed.replicas),
                            isr_nodes=[1],
                            offline_replicas=[],
                        )
                        for number in range(count)
                    ],
                )
                for name, count in topics.items()
            ],
        ),
        requested=None,
        now=0.0,
        jitter=0.0,
    )


def test_topics_by_name_are_wanted_and_followed() -> None:
    metadata, subscription = metadata_of(), Subscription()
    interest = Interest(subscription, metadata)
    subscription.subscribe(["t", "u"])
    has_new = interest.follow(ALONE, now=0.0)
    again = interest.follow(ALONE, now=0.0)

    assert interest.wanted() == Wanted(frozenset({"t", "u"}))
    assert (has_new, again) == (True, False)
    assert set(metadata.wanted) == {"t", "u"}


def test_what_is_not_wanted_any_more_is_not_followed_unless_it_is_owned() -> None:
    metadata, subscription = metadata_of(), Subscription()
    interest = Interest(subscription, metadata)
    subscription.subscribe(["t", "u", "v"])
    interest.follow(ALONE, now=0.0)
    subscription.assigned([TopicPartition("u", 0)])
    subscription.subscribe(["t"])
    interest.follow(ALONE, now=0.0)

    assert set(metadata.wanted) == {"t", "u"}


def test_what_is_assigned_by_hand_is_followed_too() -> None:
    metadata, subscription = metadata_of(), Subscription()
    interest = Interest(subscription, metadata)
    subscription.assign([TopicPartition("u", 0)])
    interest.follow(ALONE, now=0.0)

    assert set(metadata.wanted) == {"u"}


def test_a_pattern_of_the_brokers_is_passed_on() -> None:
    subscription = Subscription()
    subscription.subscribe(SubscriptionPattern("t.*"))

    assert Interest(subscription, metadata_of()).wanted() == Wanted(regex="t.*")


def test_a_pattern_matches_once_all_topics_are_asked_for() -> None:
    metadata, subscription = metadata_of(t1=1), Subscription()
    interest = Interest(subscription, metadata)
    subscription.subscribe(re.compile("t.*|__.*"))
    too_soon = interest.wanted()
    interest.follow(ALONE, now=0.0)
    requested = metadata.request(now=0.0).topics
    learn(metadata, t1=1, t2=1, x=1, __own=1)
    is_other = interest.has_changed()
    again = interest.has_changed()

    assert too_soon == Wanted()
    assert requested is None  # all of them
    assert (is_other, again) == (True, False)
    assert interest.wanted() == Wanted(frozenset({"t1", "t2"}))


def test_kafkas_own_topics_are_matched_if_they_are_not_excluded() -> None:
    metadata, subscription = metadata_of(__own=1), Subscription()
    interest = Interest(subscription, metadata, exclude_internal=False)
    subscription.subscribe(re.compile("__.*"))
    interest.follow(ALONE, now=0.0)

    assert interest.wanted() == Wanted(frozenset({"__own"}))


def test_without_a_pattern_all_topics_are_asked_for_no_more() -> None:
    metadata, subscription = metadata_of(), Subscription()
    interest = Interest(subscription, metadata)
    subscription.subscribe(re.compile("t.*"))
    interest.follow(ALONE, now=0.0)
    subscription.unsubscribe()
    interest.follow(ALONE, now=0.0)

    assert metadata.request(now=0.0).topics == []
    assert not interest.has_changed()


def test_an_assignor_gets_the_topics_that_exist_with_the_racks_of_their_replicas() -> None:
    interest = Interest(Subscription(), metadata_of(t=2, u=1))

    assert interest.unknown({"t", "x"}) == ["x"]
    assert interest.share_out({"t", "x"}) == {"t": [frozenset({"r1", "r2"})] * 2}


def test_the_leader_shares_out_anew_when_partitions_come_and_says_so_once() -> None:
    metadata = metadata_of(t=2, u=1)
    interest = Interest(Subscription(), metadata)
    leader = leading("t")
    before = interest.must_share_out_anew(leader)
    interest.share_out({"t"})
    learn(metadata, t=2, u=5)
    of_others = interest.must_share_out_anew(leader)
    learn(metadata, t=3, u=5)

    assert (before, of_others) == (False, False)
    assert interest.must_share_out_anew(leader)
    assert not interest.must_share_out_anew(leader)
    assert not interest.must_share_out_anew(ALONE)


def test_a_leader_that_learns_of_topics_to_share_out_does_not_share_out_twice() -> None:
    metadata = metadata_of(t=2)
    interest = Interest(Subscription(), metadata)
    interest.share_out({"t"})
    learn(metadata, t=2, u=1)
    before_they_are_shared_out = interest.must_share_out_anew(leading("t", "u"))
    interest.share_out({"t", "u"})
    learn(metadata, t=2, u=2)

    assert not before_they_are_shared_out
    assert interest.must_share_out_anew(leading("t", "u"))


def test_topics_of_which_none_exists_yet_are_shared_out_when_one_does() -> None:
    metadata = metadata_of()
    interest = Interest(Subscription(), metadata)
    shared = interest.share_out({"t"})
    learn(metadata, t=1)

    assert shared == {}
    assert interest.must_share_out_anew(leading("t"))


@pytest.mark.parametrize("by_rack", [True, False])
def test_replicas_in_other_racks_are_shared_out_anew_if_racks_matter(by_rack: bool) -> None:
    metadata = metadata_of(t=2)
    interest = Interest(Subscription(), metadata, by_rack=by_rack)
    leader = leading("t")
    interest.share_out({"t"})
    learn(metadata, Placed(replicas=(2, 1, 9)), t=2)
    in_other_order = interest.must_share_out_anew(leader)
    learn(metadata, Placed({1: "r1", 2: "r2", 3: "r3"}, (3, 2)), t=2)
    moved = interest.must_share_out_anew(leader), interest.must_share_out_anew(leader)
    learn(metadata, Placed({1: "r1", 2: "r2", 3: "r7"}, (3, 2)), t=2)

    assert not in_other_order
    assert moved == (by_rack, False)
    assert interest.must_share_out_anew(leader) == by_rack
    assert interest.share_out({"t"}) == {"t": [frozenset({"r2", "r7"})] * 2}


def test_a_node_that_is_down_for_a_while_is_in_the_rack_where_it_was() -> None:
    metadata = metadata_of(t=2)
    interest = Interest(Subscription(), metadata, by_rack=True)
    leader = leading("t")
    interest.share_out({"t"})
    learn(metadata, Placed({2: "r2"}), t=2)
    is_down = interest.must_share_out_anew(leader)
    shared = interest.share_out({"t"})
    metadata.learn_node(1, "h", 9092)  # as coordinator, which is told without a rack
    is_coming = interest.must_share_out_anew(leader)
    learn(metadata, t=2)
    is_up = interest.must_share_out_anew(leader)

    assert (is_down, is_coming, is_up) == (False, False, False)
    assert shared == {"t": [frozenset({"r1", "r2"})] * 2}


def leading(*topics: str) -> ClassicMember:
    """A member of a classic group that leads it."""
    member = ClassicMember(
        group_id="g",
        assignors=[RangeAssignor()],
        session_timeout=45.0,
        heartbeat_interval=3.0,
        rebalance_timeout=300.0,
        backoff=Backoff(0.1, 1.0),
    )
    member._led = Led(ids=("m",), members=(Member("m", topics),))
    return member


def test_no_topic_is_created_because_the_broker_matched_it() -> None:
    metadata, subscription = metadata_of(t=1), Subscription()
    interest = Interest(subscription, metadata)
    subscription.subscribe(SubscriptionPattern("t.*"))
    subscription.assigned([TopicPartition("t", 0)])
    interest.follow(ALONE, now=0.0)
    by_pattern = metadata.request(now=1.0)
    subscription.unsubscribe()
    subscription.subscribe(["t"])
    interest.follow(ALONE, now=2.0)

    assert [topic.name for topic in by_pattern.topics or ()] == ["t"]
    assert not by_pattern.allow_auto_topic_creation
    assert metadata.request(now=3.0).allow_auto_topic_creation
