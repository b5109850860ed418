from __future__ import annotations

from math import inf

import pytest

from kafka_aio.consumer.membership.alone import Alone
from kafka_aio.consumer.membership.member import Assign, Revoke, Wanted
from kafka_aio.errors import StateError
from kafka_aio.types import TopicPartition

COUNTS = {"a": 2, "b": 1}


def alone(*topics: str, counts: dict[str, int] | None = None) -> Alone:
    member = Alone((counts or COUNTS).get)
    member.subscribe(Wanted(frozenset(topics)), now=0.0)
    return member


def parts(topic: str, *numbers: int) -> tuple[TopicPartition, ...]:
    return tuple(TopicPartition(topic, number) for number in numbers)


def run(member: Alone) -> list[Assign | Revoke]:
    """All steps, one after the other."""
    found = []
    while steps := member.poll(now=0.0):
        (step,) = steps
        assert isinstance(step, Assign | Revoke)
        assert member.poll(now=0.0) == []
        member.done(step, now=0.0)
        found.append(step)
    return found


def test_it_owns_nothing_before_records_are_asked_for() -> None:
    assert run(alone("a")) == []


def test_it_owns_all_partitions_of_its_topics() -> None:
    member = alone("a", "b")
    member.asked(now=0.0)

    (step,) = run(member)

    assert isinstance(step, Assign)
    assert step.partitions == step.added == parts("a", 0, 1) + parts("b", 0)
    assert member.owned == frozenset(step.partitions)
    assert (member.state, member.generation, member.deadline) == ("alone", -1, inf)


def test_a_topic_that_is_not_there_is_waited_for() -> None:
    counts = {"a": 1}
    member = alone("a", "new", counts=counts)
    member.asked(now=0.0)
    run(member)

    counts["new"] = 1
    (step,) = run(member)

    assert isinstance(step, Assign)
    assert step.added == parts("new", 0)


def test_a_topic_that_grows_is_followed_and_one_that_is_not_known_for_a_while_is_kept() -> None:
    counts = {"a": 1}
    member = alone("a", counts=counts)
    member.asked(now=0.0)
    run(member)

    del counts["a"]
    assert run(member) == []
    counts["a"] = 2
    (step,) = run(member)

    assert isinstance(step, Assign)
    assert step.added == parts("a", 1)


def test_what_is_not_wanted_any_more_is_revoked_before_others_come() -> None:
    member = alone("a")
    member.asked(now=0.0)
    run(member)
    member.subscribe(Wanted(frozenset({"b"})), now=0.0)

    revoke, assign = run(member)

    assert isinstance(revoke, Revoke)
    assert isinstance(assign, Assign)
    assert (revoke.partitions, assign.partitions) == (parts("a", 0, 1), parts("b", 0))


def test_after_leaving_it_owns_nothing_and_a_late_end_of_a_step_changes_nothing() -> None:
    member = alone("a")
    member.asked(now=0.0)
    (step,) = member.poll(now=0.0)
    assert isinstance(step, Assign)

    assert member.leave("bye") is None
    member.done(step, now=0.0)

    assert (member.owned, member.state) == (frozenset(), "unjoined")


def test_the_broker_matches_patterns_for_groups_only() -> None:
    with pytest.raises(StateError, match="set group_id"):
        alone().subscribe(Wanted(regex="a.*"), now=0.0)
