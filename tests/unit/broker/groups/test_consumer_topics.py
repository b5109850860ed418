from __future__ import annotations

import pytest

from kafka_aio.broker.state import State
from tests.unit.broker.clusters import made, pass_time
from tests.unit.broker.groups.consumers import Consumer, epochs, group, owning, settle, told


@pytest.fixture
def state() -> State:
    return made(topics={"t": 4, "u": 2})


# Names


def test_other_names_are_a_reason_and_the_same_ones_are_not(state: State) -> None:
    consumer = Consumer(state, "m")
    consumer.beat()

    consumer.send(2, subscribed_topic_names=["t", "t"])
    same = epochs(state)
    consumer.send(2, subscribed_topic_names=["u", "t"])

    assert same == (2, 2)
    assert epochs(state) == (3, 3)


def test_who_unsubscribes_gives_back_before_the_next_target(state: State) -> None:
    state = made(topics={"t": 1, "u": 1}, group_consumer_assignment_interval_ms=1_000)
    consumer = Consumer(state, "m", topics=["t", "u"])
    consumer.beat()

    answer = consumer.send(2, subscribed_topic_names=["t"])

    assert (told(state, answer), answer.member_epoch) == ({"t": [0]}, 2)
    assert epochs(state) == (3, 2)


def test_a_topic_that_comes_is_assigned_at_the_next_heartbeat(state: State) -> None:
    consumer = Consumer(state, "m", topics=["new", "t"])
    consumer.beat()
    state.topics.create("new", partitions=1, replication_factor=1)

    consumer.beat()

    assert consumer.owned == {"t": [0, 1, 2, 3], "new": [0]}
    assert (consumer.epoch, epochs(state)) == (3, (3, 3))


def test_a_topic_that_grows_is_assigned_at_the_next_heartbeat(state: State) -> None:
    consumer = Consumer(state, "m", topics=["u"])
    consumer.beat()
    state.topics.grow(state.topics.by_name["u"], 4)

    consumer.beat()

    assert consumer.owned == {"u": [0, 1, 2, 3]}


def test_a_topic_that_goes_is_given_back(state: State) -> None:
    consumer = Consumer(state, "m", topics=["t", "u"])
    consumer.beat()
    gone = state.topics.by_name["u"]
    state.topics.delete(gone)

    asked = consumer.beat(reports=False)
    given_back = consumer.send(2, topic_partitions=owning(state, {"t": [0, 1, 2, 3]}))

    assert told(state, asked) == {"t": [0, 1, 2, 3]}
    assert given_back.member_epoch == 3
    assert group(state).state_name == "Stable"


def test_a_topic_that_is_made_anew_is_another_one(state: State) -> None:
    consumer = Consumer(state, "m", topics=["u"])
    consumer.beat()
    state.topics.delete(state.topics.by_name["u"])
    state.topics.create("u", partitions=2, replication_factor=1)

    answer = consumer.send(2, topic_partitions=[])

    assert told(state, answer) == {"u": [0, 1]}
    assert answer.member_epoch == 3


def test_topics_that_nobody_wants_are_no_reason(state: State) -> None:
    consumer = Consumer(state, "m")
    consumer.beat()
    state.topics.create("new", partitions=1, replication_factor=1)

    consumer.beat()

    assert epochs(state) == (2, 2)


def test_a_group_knows_what_it_is_subscribed_to(state: State) -> None:
    by_name, by_pattern = Consumer(state, "m"), Consumer(state, "n", pattern="u.*")
    settle(by_name, by_pattern)

    assert [group(state).is_subscribed(name) for name in ("t", "u", "x")] == [True, True, False]


# Patterns


def test_a_pattern_is_resolved_after_the_heartbeat(state: State) -> None:
    consumer = Consumer(state, "m", pattern="[tu]")

    joining = consumer.beat()
    unresolved = epochs(state)
    pass_time(state, now=0.0)
    resolved = epochs(state)
    consumer.beat()

    assert (joining.member_epoch, told(state, joining)) == (1, {})
    assert (unresolved, resolved) == ((1, 1), (2, 1))
    assert (consumer.epoch, consumer.owned) == (2, {"t": [0, 1, 2, 3], "u": [0, 1]})


def test_a_pattern_matches_internal_topics_too(state: State) -> None:
    consumer = Consumer(state, "m", pattern=".*")

    settle(consumer)

    assert set(consumer.owned) == {"__consumer_offsets", "t", "u"}


def test_a_pattern_that_somebody_has_is_resolved_already(state: State) -> None:
    first, second = Consumer(state, "m", pattern="u"), Consumer(state, "n", pattern="u")
    now = settle(first)

    joining = second.beat(now=now)

    assert epochs(state) == (3, 3)
    assert joining.member_epoch == 3


def test_a_new_topic_that_matches_is_found(state: State) -> None:
    consumer = Consumer(state, "m", pattern="u.*")
    now = settle(consumer)
    state.topics.create("u.2", partitions=1, replication_factor=1)

    settle(consumer, now=now)

    assert consumer.owned == {"u": [0, 1], "u.2": [0]}
    assert epochs(state) == (3, 3)


def test_a_new_topic_that_does_not_match_is_no_reason(state: State) -> None:
    consumer = Consumer(state, "m", pattern="u.*")
    now = settle(consumer)
    state.topics.create("other", partitions=1, replication_factor=1)

    settle(consumer, now=now)

    assert epochs(state) == (2, 2)


def test_a_topic_that_matched_and_is_gone_counts_once(state: State) -> None:
    consumer = Consumer(state, "m", pattern="[tu]")
    now = settle(consumer)
    state.topics.delete(state.topics.by_name["u"])

    settle(consumer, now=now)

    assert consumer.owned == {"t": [0, 1, 2, 3]}
    assert epochs(state) == (3, 3)


def test_a_pattern_that_grows_its_topics_is_a_reason_at_the_next_heartbeat(state: State) -> None:
    consumer = Consumer(state, "m", pattern="u")
    now = settle(consumer)
    state.topics.grow(state.topics.by_name["u"], 3)

    consumer.beat(now=now)

    assert consumer.owned == {"u": [0, 1, 2]}


def test_a_member_may_have_names_and_a_pattern(state: State) -> None:
    consumer = Consumer(state, "m", topics=["t"], pattern="u|t")

    settle(consumer)

    assert consumer.owned == {"t": [0, 1, 2, 3], "u": [0, 1]}


def test_a_member_may_change_from_a_pattern_to_names(state: State) -> None:
    consumer = Consumer(state, "m", pattern="u")
    now = settle(consumer)

    answer = consumer.send(
        2, now=now, subscribed_topic_names=["t"], subscribed_topic_regex="", topic_partitions=[]
    )

    assert (answer.member_epoch, told(state, answer)) == (3, {"t": [0, 1, 2, 3]})
    assert not group(state).is_subscribed("u")


def test_a_member_that_gives_its_pattern_up_is_a_reason(state: State) -> None:
    consumer = Consumer(state, "m", pattern="u")
    now = settle(consumer)

    answer = consumer.send(2, now=now, subscribed_topic_regex="", topic_partitions=[])

    assert (answer.member_epoch, told(state, answer)) == (3, {})


def test_a_new_pattern_takes_away_what_the_old_one_matched(state: State) -> None:
    consumer = Consumer(state, "m", pattern="u")
    now = settle(consumer)

    answer = consumer.send(2, now=now, subscribed_topic_regex="t")

    assert told(state, answer) == {}
    assert [list(member.revoking.values()) for member in group(state).members] == [[2, 2]]


def test_a_new_pattern_is_resolved_though_it_is_in_the_place_of_an_old_one(state: State) -> None:
    consumer = Consumer(state, "m", pattern="u")
    now = settle(consumer)
    consumer.pattern, consumer.reported = "t", None

    settle(consumer, now=now)

    assert consumer.owned == {"t": [0, 1, 2, 3]}


def test_a_wrong_pattern_changes_nothing(state: State) -> None:
    consumer = Consumer(state, "m")
    consumer.beat()

    answer = consumer.send(2, subscribed_topic_regex="*", subscribed_topic_names=["u"])

    assert "missing argument to repetition operator" in answer.error_message
    assert [member.topics for member in group(state).members] == [("t",)]
    assert epochs(state) == (2, 2)


# Targets


def test_the_assignor_is_the_one_that_most_members_want(state: State) -> None:
    wishes = {"m": "range", "n": None, "o": "uniform", "p": "range"}
    for name, wish in wishes.items():
        Consumer(state, name, assignor=wish).beat()

    assert group(state).assignor == "range"
    assert [group(state).target_of(name)[0][1] for name in "mnop"] == [0, 1, 2, 3]


def test_the_first_assignor_wins_a_tie(state: State) -> None:
    Consumer(state, "m", assignor="range").beat()
    Consumer(state, "n", assignor="uniform").beat()

    assert group(state).assignor == "uniform"


def test_a_target_is_not_followed_by_another_too_soon() -> None:
    state = made(topics={"t": 2}, group_consumer_assignment_interval_ms=1_000)
    first, second = Consumer(state, "m"), Consumer(state, "n")
    first.beat()

    second.beat(now=0.9)
    soon = (epochs(state), group(state).state_name)
    second.beat(now=1.0)

    assert soon == ((3, 2), "Assigning")
    assert epochs(state) == (3, 3)


def test_a_group_may_have_an_interval_between_targets_of_its_own(state: State) -> None:
    state.configs.groups["g"] = {"consumer.assignment.interval.ms": "9000"}
    Consumer(state, "m").beat()

    Consumer(state, "n").beat(now=8.0)

    assert epochs(state) == (3, 2)
