from __future__ import annotations

import re
from collections.abc import Callable

import pytest

from kafka_aio.consumer.position import EARLIEST, LATEST, Phase, Position
from kafka_aio.consumer.subscription import Change, Mode, Subscription, Wanted
from kafka_aio.errors import KafkaStorageError, StateError
from kafka_aio.types import OffsetAndMetadata, SubscriptionPattern, TopicPartition
from tests.unit.consumer.owned import A0, A1, B0, FIRST, fetching, led_by

PATTERN = re.compile("a|b.*")
ENTER: dict[Mode, Callable[[Subscription], object]] = {
    Mode.TOPICS: lambda subscription: subscription.subscribe(["a"]),
    Mode.PATTERN: lambda subscription: subscription.subscribe(PATTERN),
    Mode.SERVER_PATTERN: lambda subscription: subscription.subscribe(SubscriptionPattern("a.*")),
    Mode.MANUAL: lambda subscription: subscription.assign([A0]),
}


def grouped(*partitions: TopicPartition) -> Subscription:
    """Assigned by the group, with the callback still to come."""
    subscription = Subscription()
    subscription.subscribe(["a", "b"])
    subscription.assigned(partitions)
    subscription.lead(lambda _: FIRST)
    return subscription


def names(subscription: Subscription) -> list[TopicPartition]:
    return [each.partition for each in subscription.fetchable()]


@pytest.mark.parametrize("first", ENTER)
@pytest.mark.parametrize("second", ENTER)
def test_a_consumer_is_in_one_mode_until_it_unsubscribes(first: Mode, second: Mode) -> None:
    subscription = Subscription()
    ENTER[first](subscription)

    if second is not first:
        with pytest.raises(StateError, match=r"call unsubscribe\(\) first"):
            ENTER[second](subscription)
        assert subscription.mode is first
        subscription.unsubscribe()
        assert subscription.mode is Mode.NONE
    ENTER[second](subscription)
    assert subscription.mode is second


def test_the_text_of_a_wrong_mode_says_what_there_is() -> None:
    subscription = Subscription()
    subscription.subscribe(["a"])

    with pytest.raises(StateError, match="has topics already, and cannot have partitions assigned"):
        subscription.assign([A0])


def test_a_second_subscribe_takes_the_place_of_the_first() -> None:
    subscription = grouped(A0)
    subscription.subscribe(["b"])

    assert subscription.topics == {"b"}
    assert subscription.assignment == {A0}


@pytest.mark.parametrize("mode", ENTER)
def test_an_empty_list_unsubscribes(mode: Mode) -> None:
    subscription = Subscription()
    ENTER[mode](subscription)
    subscription.subscribe([])

    assert subscription.mode is Mode.NONE
    assert not subscription.topics
    assert len(subscription) == 0


def test_to_assign_nothing_unsubscribes() -> None:
    subscription = fetching(A0)

    assert subscription.assign([]) == Change(removed=(A0,))
    assert subscription.mode is Mode.NONE


@pytest.mark.parametrize(
    ("wanted", "error", "text"),
    [
        ("orders", TypeError, r"a list: \['orders'\]"),
        ({"orders": 1}, TypeError, "not as <dict>"),
        (7, TypeError, "not as <int>"),
        ([7], TypeError, "named by a str"),
        ([""], ValueError, "cannot be the name"),
        (re.compile(b"a"), TypeError, "not of bytes"),
        (re.compile(""), ValueError, "an empty pattern matches no topic"),
    ],
)
def test_what_is_no_topic_is_refused_and_nothing_changes(
    wanted: Wanted, error: type[Exception], text: str
) -> None:
    subscription = Subscription()

    with pytest.raises(error, match=text):
        subscription.subscribe(wanted)
    assert subscription.mode is Mode.NONE


@pytest.mark.parametrize(
    ("partition", "error"),
    [
        ("a", TypeError),
        (("a", -1), ValueError),
        (("a", "0"), ValueError),
        (("a", 2**31), ValueError),
        ((1, 0), TypeError),
    ],
)
def test_what_is_no_partition_is_refused_and_nothing_changes(
    partition: TopicPartition, error: type[Exception]
) -> None:
    subscription = Subscription()

    with pytest.raises(error):
        subscription.assign([A0, partition])
    assert subscription.mode is Mode.NONE
    assert len(subscription) == 0


def test_a_pattern_takes_the_topics_whose_whole_name_matches() -> None:
    subscription = Subscription()
    subscription.subscribe(PATTERN)

    assert subscription.match(["a", "ab", "b", "bc", "c"])
    assert subscription.topics == {"a", "b", "bc"}
    assert not subscription.match(["bc", "b", "a"])
    assert subscription.match(["a"])


def test_another_pattern_keeps_of_the_topics_what_it_matches_too() -> None:
    subscription = Subscription()
    subscription.subscribe(PATTERN)
    subscription.match(["a", "b"])
    subscription.subscribe(re.compile("a"))

    assert subscription.topics == {"a"}


def test_without_a_pattern_nothing_is_matched() -> None:
    subscription = Subscription()
    subscription.subscribe(["a"])

    with pytest.raises(StateError, match="has no pattern"):
        subscription.match(["a"])


@pytest.mark.parametrize(
    ("wanted", "a", "c"),
    [(["a"], True, False), (PATTERN, True, False), (SubscriptionPattern("a"), True, True)],
)
def test_the_group_may_assign_what_is_wanted(wanted: Wanted, a: bool, c: bool) -> None:
    # What the broker's pattern matches only the broker knows.
    subscription = Subscription()
    subscription.subscribe(wanted)

    assert (subscription.wants_topic("a"), subscription.wants_topic("c")) == (a, c)


def test_the_group_assigns_to_those_who_subscribe_only() -> None:
    with pytest.raises(StateError, match="by hand"):
        fetching(A0).assigned([A1])
    with pytest.raises(StateError, match="nothing"):
        Subscription().assigned([A1])


def test_no_record_of_a_new_partition_is_fetched_before_its_callback_has_ended() -> None:
    subscription = grouped(A0, A1)
    subscription.seek(A0, 1)
    subscription.seek(A1, 1)

    assert names(subscription) == []

    subscription.release([A0, B0])

    assert names(subscription) == [A0]


def test_positions_are_not_looked_for_before_the_callback_has_ended_unless_it_asks() -> None:
    # The callback may seek: then it does not matter that no offset is committed.
    subscription = grouped(A0, A1)

    assert subscription.initialising() == []
    assert [each.partition for each in subscription.initialising(of=[A1, B0])] == [A1]

    subscription.release([A0])

    assert [each.partition for each in subscription.initialising()] == [A0]


def test_what_stays_assigned_stays_where_it_is() -> None:
    subscription = grouped(A0, A1)
    subscription.release([A0, A1])
    subscription.seek(A0, 7)
    subscription.pause([A0])
    kept = subscription[A0]

    change = subscription.assigned([A0, B0])

    assert change == Change(added=(B0,), removed=(A1,))
    assert subscription[A0] is kept
    assert (kept.position, kept.is_paused, kept.is_held) == (Position(7), True, False)
    assert subscription[B0].is_held


def test_what_is_assigned_again_by_hand_stays_where_it_is() -> None:
    subscription = fetching(A0, A1)

    assert subscription.assign([A0, B0, B0]) == Change(added=(B0,), removed=(A1,))
    assert subscription[A0].position == Position(10)
    assert not subscription[B0].is_held


@pytest.mark.parametrize("others", [["b"], ["b", "c"]])
def test_what_is_not_wanted_any_more_is_held_until_it_is_wanted_again(others: list[str]) -> None:
    subscription = grouped(A0, B0)
    subscription.release([A0, B0])
    for each in (A0, B0):
        subscription.seek(each, 1)
    subscription.subscribe(others)
    before = names(subscription), set(subscription.assignment), set(subscription.positions())
    subscription.subscribe(["a"])

    assert before == ([B0], {A0, B0}, {A0, B0})
    assert names(subscription) == [A0]


def test_another_pattern_holds_what_it_does_not_match() -> None:
    subscription = Subscription()
    subscription.subscribe(PATTERN)
    subscription.match(["a", "b"])
    subscription.assigned([A0, B0])
    subscription.release([A0, B0])
    subscription.subscribe(re.compile("b.*"))

    assert [each.partition for each in subscription if each.is_held] == [A0]


def test_no_callback_that_ends_releases_what_is_not_wanted() -> None:
    subscription = grouped(A0, B0)
    subscription.subscribe(["b"])
    subscription.release([A0, B0])
    subscription.assigned([A0, A1, B0])
    subscription.release([A0, A1, B0])

    assert [each.partition for each in subscription if each.is_held] == [A0, A1]


def test_what_is_wanted_again_waits_for_its_callback() -> None:
    subscription = grouped(A0)
    subscription.subscribe(["b"])
    subscription.subscribe(["a"])
    before = subscription[A0].is_held
    subscription.release([A0])
    after = subscription[A0].is_held
    subscription.revoking([A0])
    subscription.subscribe(["a", "b"])

    assert (before, after) == (True, False)
    assert subscription[A0].is_held


def test_what_comes_back_by_hand_is_not_held() -> None:
    subscription = grouped(A0)
    subscription.revoking([A0])
    subscription.unsubscribe()
    subscription.assign([A0])

    assert not subscription[A0].is_held


def test_partitions_about_to_be_revoked_are_not_fetched_but_can_be_committed() -> None:
    subscription = fetching(A0, A1)
    subscription.revoking([A0, B0])

    assert names(subscription) == [A1]
    assert subscription.positions()[A0] == OffsetAndMetadata(10)


def test_of_what_is_revoked_nothing_is_kept() -> None:
    # B46
    subscription = grouped(A0)
    subscription.seek(A0, 7)
    subscription.pause([A0])
    gone, era = subscription[A0], subscription[A0].era
    subscription.revoked([A0, B0])

    assert A0 not in subscription
    assert subscription.positions() == {}
    assert not subscription.advance(A0, era, Position(9))
    subscription.ask()
    assert subscription.committable() == {}
    assert gone.committable is None

    subscription.assigned([A0])

    assert subscription[A0].position is None
    assert not subscription[A0].is_paused
    assert subscription.find(A0, era) is None
    assert not subscription.advance(A0, era, Position(9))


def test_all_may_be_lost_at_once() -> None:
    subscription = grouped(A0, B0)

    assert subscription.lost() == (A0, B0)
    assert len(subscription) == 0
    assert subscription.mode is Mode.TOPICS


def test_the_epoch_grows_when_partitions_come_or_go_only() -> None:
    subscription = grouped(A0)
    epoch = subscription.epoch
    subscription.assigned([A0])
    subscription.revoked([B0])
    subscription.seek(A0, 1)
    assert subscription.epoch == epoch

    subscription.assigned([A0, B0])
    assert (epoch := epoch + 1) == subscription.epoch
    subscription.revoked([B0])
    assert subscription.epoch == epoch + 1


@pytest.mark.parametrize("word", ["pause", "resume", "seek_to_beginning", "seek_to_end"])
def test_what_is_not_owned_cannot_be_moved_and_nothing_changes(word: str) -> None:
    subscription = fetching(A0)

    with pytest.raises(StateError, match="b-0 is not assigned to this consumer: assign"):
        getattr(subscription, word)([A0, B0])
    assert names(subscription) == [A0]


def test_a_partition_of_the_group_that_is_not_owned_has_its_own_text() -> None:
    with pytest.raises(StateError, match="the group has not given it"):
        grouped(A0).seek(B0, 1)


def test_paused_partitions_are_not_fetched_and_stay_in_their_era() -> None:
    # B47
    subscription = fetching(A0, A1)
    era = subscription[A0].era
    subscription.pause([A0])

    assert names(subscription) == [A1]
    assert subscription.paused() == {A0}

    subscription.resume([A0])

    assert names(subscription) == [A0, A1]
    assert subscription.paused() == frozenset()
    assert subscription[A0].era == era


def test_a_seek_makes_what_was_asked_before_old() -> None:
    # B46
    subscription = fetching(A0)
    era = subscription[A0].era
    subscription.pause([A0])
    subscription.seek(A0, 3)
    subscription.resume([A0])

    assert subscription.find(A0, era) is None
    assert not subscription.advance(A0, era, Position(20))
    assert subscription[A0].position == Position(3)


def test_a_seek_may_bring_its_epoch() -> None:
    subscription = led_by(FIRST, A0)
    subscription.seek(A0, OffsetAndMetadata(3, leader_epoch=2))

    assert subscription[A0].position == Position(3, 2)
    assert subscription[A0].phase is Phase.AWAITING_VALIDATION

    subscription.seek(A0, OffsetAndMetadata(4))

    assert subscription[A0].position == Position(4)
    assert subscription[A0].phase is Phase.FETCHING


def test_what_is_no_offset_cannot_be_sought() -> None:
    subscription = fetching(A0)

    with pytest.raises(ValueError, match="0 or more, not -1"):
        subscription.seek(A0, -1)
    with pytest.raises(ValueError, match=r"a-0: an offset to seek is below 2\*\*63"):
        subscription.seek(A0, 2**63)
    assert subscription[A0].position == Position(10)


def test_the_beginning_and_the_end_are_resets_of_some_or_of_all() -> None:
    subscription = fetching(A0, A1)
    subscription.seek_to_beginning()
    subscription.seek_to_end([A1])

    assert [each.reset_to for each in subscription] == [EARLIEST, LATEST]
    assert {each.phase for each in subscription} == {Phase.AWAITING_RESET}


def test_only_what_was_handed_over_before_the_last_request_for_records_is_committable() -> None:
    # Issue 7, Delivers 5
    subscription = fetching(A0, A1)
    subscription.ask()
    subscription.advance(A0, subscription[A0].era, Position(15, 5))

    assert subscription.committable()[A0] == OffsetAndMetadata(10)
    assert subscription.positions()[A0] == OffsetAndMetadata(15, leader_epoch=5)

    subscription.ask()

    assert subscription.committable() == {
        A0: OffsetAndMetadata(15, leader_epoch=5),
        A1: OffsetAndMetadata(10),
    }


def test_a_seek_back_takes_the_committable_offset_with_it_and_one_forward_does_not() -> None:
    subscription = fetching(A0)
    subscription.ask()

    subscription.seek(A0, 20)
    assert subscription.committable() == {A0: OffsetAndMetadata(10)}

    subscription.seek(A0, 5)
    assert subscription.committable() == {A0: OffsetAndMetadata(5)}

    subscription.seek(A0, 20)
    subscription.ask()
    assert subscription.committable() == {A0: OffsetAndMetadata(20)}


def test_what_was_dealt_with_stays_committable_during_a_reset() -> None:
    subscription = fetching(A0)
    subscription.ask()
    subscription.seek_to_end()
    subscription.ask()

    assert subscription.positions() == {}
    assert subscription.committable() == {A0: OffsetAndMetadata(10)}


def test_a_partition_without_a_leader_is_named_and_not_fetched() -> None:
    subscription = fetching(A0, A1)
    subscription.lead(lambda partition: FIRST if partition == A1 else None)

    assert subscription.leaderless() == [A0]
    assert names(subscription) == [A1]


def test_a_subscription_shows_what_it_has() -> None:
    subscription = led_by(FIRST, A0, A1)
    subscription.seek(A0, 1)

    text = "<Subscription to partitions assigned by hand: 2 partitions, 1 fetching>"
    assert repr(subscription) == text


def test_errors_are_kept_of_those_that_are_still_in_the_era_they_were_asked_in() -> None:
    subscription = fetching(A0, A1, B0)
    eras = {each.partition: each.era for each in subscription}
    subscription.seek(A1, 3)
    subscription.assign([A0, A1])
    subscription.failed(dict.fromkeys([A0, A1, B0], KafkaStorageError()), eras, now=7.0)

    assert [each.partition for each in subscription if each.trouble is not None] == [A0]
